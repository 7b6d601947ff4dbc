"""Which way is fastest, measured instead of guessed: once per machine, the answer kept in the user's cache folder.

Answers lie in XDG_CACHE_HOME/yiwen, else ~/.cache/yiwen: a small JSON file for each question. Removing them is safe.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from yiwen.files import write_json

if TYPE_CHECKING:
    import torch

T = TypeVar("T", str, int)

TIE: Final = 1.05
"""How many times faster a way must be for us to leave the usual one: clocks on a busy machine are no better."""

HOPELESS: Final = 3.0
"""How many times slower a way must be once not to be tried again: what it would take, the others get."""
FEWEST_ROUNDS: Final = 3
"""Where a second core starts another program, one round may say anything."""

_ROWS: Final = 64
_LENGTHS: Final = (16, 24, 48)
"""Sentences, and subwords of short, usual and long ones: what attention is timed on."""


def remembered(question: Mapping[str, str | int], *, is_answer: Callable[[Any], bool], measure: Callable[[], T]) -> T:
    """The answer to a question about this machine: from the cache, or measured now and kept there.

    A cache that cannot be read or written costs the measurement again and nothing else.

    Args:
        question: Everything that the answer depends on: the processor, the version of torch, the sizes tried ...
        is_answer: Whether what stands in the cache can be one.
        measure: Finds the answer.
    """
    path = _cache_folder() / f"{hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:20]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        entry = json.loads(path.read_text(encoding="utf-8"))
        if entry["question"] == question and is_answer(entry["answer"]):
            return cast(T, entry["answer"])
    answer = measure()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"question": question, "answer": answer})
    return answer


def faster_attention(*, precision: str, threads: int) -> str:
    """`plain` or `fused`: what takes less time on a CPU, forward and backward, for batches of sentences."""
    import torch

    from yiwen.model.attention import fused_attention, plain_attention

    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    generator = torch.Generator().manual_seed(1)
    plain = fused = 0.0
    with computing_with(threads):
        for length in _LENGTHS:
            drawn = torch.randn(3, _ROWS, 4, length, 64, generator=generator, device="cpu").to(dtype)
            q, k, v = (each.requires_grad_() for each in drawn)
            bias = torch.zeros(_ROWS, 1, 1, length, dtype=dtype, device="cpu")
            ways = [partial(attend, q, k, v, bias) for attend in (plain_attention, fused_attention)]
            seconds = best_seconds([partial(_with_gradients, way) for way in ways])
            plain, fused = plain + seconds[0], fused + seconds[1]
    return "fused" if fused * TIE < plain else "plain"


def faster_products(*, precision: str, threads: int) -> str:
    """`torch` or `onednn`: what takes less time on a CPU for the two products of a feed-forward layer.

    oneDNN where they are equal: inside a whole model it saves a little more, having added bias and ReLU on the way.
    """
    ways = _feed_forward_ways(precision)
    if len(ways) == 1:
        return "torch"
    with computing_with(threads):
        plain, onednn = best_seconds(ways, limit=1.0)  # of three rounds of a new process each third said the slower
    return "torch" if plain * TIE < onednn else "onednn"


def faster_precision(*, threads: int) -> str:
    """`float32` or `bf16`: what takes less time on a CPU for a feed-forward layer, each computed by who is faster.

    For a processor that multiplies bf16 itself: some do it at half the rate of float32. bf16 where they are equal,
    which needs less memory.
    """
    float32, bf16 = _feed_forward_ways("float32"), _feed_forward_ways("bf16")
    with computing_with(threads):
        seconds = best_seconds([*float32, *bf16], limit=1.0)
    return "float32" if min(seconds[: len(float32)]) * TIE < min(seconds[len(float32) :]) else "bf16"


def _feed_forward_ways(precision: str) -> list[Callable[[], None]]:
    """A feed-forward layer, forward and backward: by PyTorch and, where it can, by oneDNN."""
    import torch

    from yiwen.model.linear import has_onednn, onednn_product, torch_product

    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    generator = torch.Generator().manual_seed(1)
    shapes = ((1024, 256), (1024, 256), (256, 1024), (1024,), (256,))
    drawn = (torch.randn(*n, generator=generator, device="cpu").requires_grad_() for n in shapes)
    x, inner, outer, inner_bias, outer_bias = drawn

    def layer(product: Callable[..., torch.Tensor]) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            return product(product(x, inner, inner_bias, True), outer, outer_bias, False)

    products = (torch_product, onednn_product) if has_onednn(dtype) else (torch_product,)
    return [partial(_with_gradients, partial(layer, product)) for product in products]


def best_seconds(ways: Sequence[Callable[[], object]], *, rounds: int = 9, limit: float = 0.1) -> list[float]:
    """Least time of each way, in seconds; they take turns, so that what else runs hits all of them.

    Args:
        ways: What to time; each runs once before the clock counts.
        rounds: Turns at most.
        limit: Seconds after which no new round begins, but for `FEWEST_ROUNDS`.
    """
    best = [math.inf] * len(ways)
    for way in ways:
        way()
    began = time.perf_counter()
    for number in range(rounds):
        if number >= FEWEST_ROUNDS and time.perf_counter() - began > limit:
            break
        quickest = min(best)
        for place, way in enumerate(ways):
            if best[place] > HOPELESS * quickest:
                continue
            start = time.perf_counter()
            way()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def _with_gradients(way: Callable[[], torch.Tensor]) -> None:
    y = way()
    y.backward(y.detach())  # type: ignore[no-untyped-call]


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Compute with so many threads inside the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _cache_folder() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # The specification tells us to ignore a relative path.
    try:
        return (Path(chosen) if Path(chosen).is_absolute() else Path("~/.cache").expanduser()) / "yiwen"
    except RuntimeError:  # a user without a home has no cache: nothing can be written below this
        return Path(os.devnull) / "yiwen"
