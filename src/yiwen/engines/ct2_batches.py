"""Sentences searched once, in batches: enough for nearly all of them. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from yiwen.data.order import longest_first
from yiwen.engines.ct2_rules import exponent, settled_beam, settled_greedy
from yiwen.engines.ct2_runtime import Runtime
from yiwen.engines.engine import Sentences
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

_SPARE: Final = 2
"""Steps past the longest limit of a batch: no hypothesis within its limit meets the end of the call."""


def search_once(
    runtime: Runtime,
    sources: Sentences,
    limits: Sequence[int],
    free: Sequence[int],
    config: SearchConfig,
    *,
    with_scores: bool,
    stop: StopFlag | None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Search the sentences at the places `free`; gives the places that this settles and what was found for each."""
    is_greedy = config.beam_size == 1
    options: dict[str, Any] = {"return_scores": with_scores, "return_end_token": False} if is_greedy else {}
    # What may not end yet: before the soft-max instead of after it, the likeliest of the rest stay the same.
    least = config.min_len if is_greedy and not with_scores else 0

    def submit(batch: list[int]) -> list[Any]:
        longest = max(limits[i] for i in batch) + _SPARE
        chosen = [sources[i] for i in batch]
        return runtime.submit(
            chosen, config, max_decoding_length=longest, min_decoding_length=min(least, longest), **options
        )

    batches = longest_first(list(map(len, sources)), runtime.batch_tokens // config.beam_size, only=free)
    for batch, calls in runtime.in_flight(batches, submit, stop, "translation"):
        of_batch = [limits[i] for i in batch]
        if is_greedy:
            settled = _greedy(runtime, calls, of_batch, config, with_scores=with_scores)
        else:
            seen = zip(runtime.seen(calls, config), of_batch, strict=True)
            settled = (settled_beam(of_one, limit=limit, config=config) for of_one, limit in seen)
        for i, found in zip(batch, settled, strict=True):
            if found is not None:
                yield i, found


def _greedy(
    runtime: Runtime, calls: list[Any], limits: Sequence[int], config: SearchConfig, *, with_scores: bool
) -> Iterator[list[Hypothesis] | None]:
    """What each call settles; None where it does not."""
    alpha = exponent(config)
    for call, limit in zip(calls, limits, strict=True):
        result = call.result()
        ids = tuple(map(runtime.target_ids.__getitem__, result.hypotheses[0]))
        # The call goes on past every limit, so what is within its limit has ended.
        log_prob = result.scores[0] * (len(ids) + 1) ** alpha if with_scores else None
        yield settled_greedy(ids, log_prob, limit=limit, config=config)
