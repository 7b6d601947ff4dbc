"""Sentences searched once, in batches: enough for nearly all of them. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from yiwen.data.order import longest_first
from yiwen.engines.ct2_rules import exponent, settled_beam, settled_greedy
from yiwen.engines.ct2_runtime import Runtime, in_flight
from yiwen.engines.engine import Sentences
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

_SPARE: Final = 2
"""Steps past the longest limit of a batch: no hypothesis within its limit meets the end of the call."""


def greedy_once(
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
    alpha = exponent(config)
    id_of = runtime.target_ids.__getitem__

    def submit(batch: list[int]) -> list[Any]:
        longest = max(limits[i] for i in batch) + _SPARE
        return runtime.submit(
            [sources[i] for i in batch],
            config,
            max_decoding_length=longest,
            # What may not end yet: before the soft-max instead of after it, the likeliest of the rest stay the same.
            min_decoding_length=0 if with_scores else min(config.min_len, longest),
            return_scores=with_scores,
            return_end_token=False,
        )

    batches = longest_first(list(map(len, sources)), runtime.batch_tokens, only=free)
    for batch, calls in in_flight(batches, submit, runtime.replicas, stop, "translation"):
        for i, call in zip(batch, calls, strict=True):
            result = call.result()
            ids = tuple(map(id_of, result.hypotheses[0]))
            # The call goes on past every limit, so what is within its limit has ended.
            log_prob = result.scores[0] * (len(ids) + 1) ** alpha if with_scores else None
            if (hypothesis := settled_greedy(ids, log_prob, limit=limits[i], config=config)) is not None:
                yield i, [hypothesis]


def beam_once(
    runtime: Runtime,
    sources: Sentences,
    limits: Sequence[int],
    free: Sequence[int],
    config: SearchConfig,
    *,
    stop: StopFlag | None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The same with a beam."""

    def submit(batch: list[int]) -> list[Any]:
        longest = max(limits[i] for i in batch) + _SPARE
        return runtime.submit([sources[i] for i in batch], config, max_decoding_length=longest)

    batches = longest_first(list(map(len, sources)), runtime.batch_tokens // config.beam_size, only=free)
    for batch, calls in in_flight(batches, submit, runtime.replicas, stop, "translation"):
        for i, seen in zip(batch, runtime.seen(calls, config), strict=True):
            if (settled := settled_beam(seen, limit=limits[i], config=config)) is not None:
                yield i, settled
