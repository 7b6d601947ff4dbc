"""CTranslate2 itself: opening a model, and handing it batches so that no replica of it waits. Imports no torch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import ctranslate2

from yiwen.engines.engine import Ids
from yiwen.engines.exported import COMPUTE_TYPES
from yiwen.errors import CheckpointError, ConfigError
from yiwen.stop import StopFlag

BATCH_TOKENS: Final = 2048
"""Source positions times hypotheses that travel together."""
_AHEAD: Final = 4
"""Batches handed over ahead of time for each replica: enough to keep it busy, few enough to stop soon."""


def open_translator(folder: Path, dtype: str, device: str, replicas: int, threads: int) -> Any:
    """Load a model.

    Args:
        folder: The exported model.
        dtype: A key of `COMPUTE_TYPES`: computed in that or not at all, never in what happens to be possible.
        device: `cpu`, `cuda` or `cuda:1` ...
        replicas: Batches translated at once.
        threads: Processor threads of each.

    Raises:
        CheckpointError: If it cannot be loaded.
        ConfigError: If the device is unknown or cannot compute with this number type.
    """
    kind, _, index = device.partition(":")
    if kind not in ("cpu", "cuda") or (index and not (kind == "cuda" and index.isdecimal())):
        raise ConfigError(f"device={device!r} is unknown to CTranslate2; use 'cpu', 'cuda' or 'cuda:1' ...")
    compute_type = COMPUTE_TYPES[dtype]
    if kind == "cuda" and int(index or 0) >= ctranslate2.get_cuda_device_count():
        raise ConfigError(
            f"device={device!r}, but CTranslate2 sees {ctranslate2.get_cuda_device_count() or 'no'} CUDA devices; "
            "use 'cpu'"
        )
    possible = ctranslate2.get_supported_compute_types(kind, int(index or 0))
    if compute_type not in possible:
        names = [name for name, value in COMPUTE_TYPES.items() if value in possible]
        raise ConfigError(
            f"{folder} is exported as {dtype}, which CTranslate2 {ctranslate2.__version__} cannot compute on this "
            f"{kind}; export again with --dtype {' or '.join(names)}"
        )
    try:
        return ctranslate2.Translator(
            str(folder),
            device=kind,
            device_index=int(index or 0),
            compute_type=compute_type,
            inter_threads=replicas,
            intra_threads=threads,
            max_queued_batches=-1,
        )
    except (RuntimeError, ValueError) as error:
        raise CheckpointError(f"{folder} cannot be loaded by CTranslate2 ({error}); export the model again") from error


def batches_of(chosen: Iterable[int], sequences: Sequence[Ids], width: int) -> Iterator[list[int]]:
    """Places of sequences of like length, longest first, at most BATCH_TOKENS positions times `width` at a time."""
    order = sorted(chosen, key=lambda i: -len(sequences[i]))
    start = 0
    while start < len(order):
        n = max(1, BATCH_TOKENS // (width * (len(sequences[order[start]]) + 1)))
        yield order[start : start + n]
        start += n


def in_flight(
    batches: Iterator[list[int]],
    submit: Callable[[list[int]], list[Any]],
    replicas: int,
    stop: StopFlag | None,
    doing: str,
) -> Iterator[tuple[list[int], list[Any]]]:
    """Submit batches, a few for each replica ahead of time, and yield each with its calls in the same order."""
    waiting: deque[tuple[list[int], list[Any]]] = deque()
    for batch in batches:
        if stop is not None:
            stop.check(doing)
        waiting.append((batch, submit(batch)))
        if len(waiting) >= _AHEAD * replicas:
            yield waiting.popleft()
    while waiting:
        if stop is not None:
            stop.check(doing)
        yield waiting.popleft()
