"""Sentences searched once, in batches: enough for nearly all of them. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from yiwen.data.order import longest_first
from yiwen.engines.ct2_rules import Seen, exponent, hypotheses, is_settled, settled_greedy
from yiwen.engines.ct2_runtime import Runtime, in_flight
from yiwen.engines.engine import Ids
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

_SPARE: Final = 2
"""Steps past the longest limit of a batch: no hypothesis within its limit meets the end of the call."""


def greedy_once(
    runtime: Runtime,
    sources: Sequence[Ids],
    limits: Sequence[int],
    free: Sequence[int],
    found: list[list[Hypothesis]],
    config: SearchConfig,
    *,
    with_scores: bool,
    stop: StopFlag | None,
) -> list[int]:
    """Search the sentences at the places `free` and fill `found`; returns the places of those left open."""
    left_open: list[int] = []
    alpha = exponent(config)
    id_of = runtime.target_ids.__getitem__

    def submit(batch: list[int]) -> list[Any]:
        longest = max(limits[i] for i in batch) + _SPARE
        # What may not end yet: before the soft-max instead of after it, the likeliest of the rest stay the same.
        shortest = 0 if with_scores else min(config.min_len, longest)
        return runtime.submit(
            [sources[i] for i in batch],
            config,
            max_decoding_length=longest,
            min_decoding_length=shortest,
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
            hypothesis = settled_greedy(ids, log_prob, limit=limits[i], config=config)
            if hypothesis is None:
                left_open.append(i)
            else:
                found[i] = [hypothesis]
    return left_open


def beam_twice(
    runtime: Runtime,
    sources: Sequence[Ids],
    limits: Sequence[int],
    free: Sequence[int],
    found: list[list[Hypothesis]],
    config: SearchConfig,
    *,
    stop: StopFlag | None,
) -> list[int]:
    """Search the sentences at the places `free` and fill `found`; returns the places of those left open."""
    left_open: list[int] = []
    waiting = dict.fromkeys(free, -math.inf)
    for min_len in (0, 1):
        unsettled = _beam_once(runtime, sources, limits, waiting, found, config, min_len=min_len, stop=stop)
        # Where the one rule in the way is that nothing may end at once, CTranslate2 may be told so.
        waiting = {i: end for i, end in unsettled.items() if min_len == 0 and config.min_len == 1 and end < 0.0}
        left_open += [i for i in unsettled if i not in waiting]
    return left_open


def _beam_once(
    runtime: Runtime,
    sources: Sequence[Ids],
    limits: Sequence[int],
    ends: dict[int, float],
    found: list[list[Hypothesis]],
    config: SearchConfig,
    *,
    min_len: int,
    stop: StopFlag | None,
) -> dict[int, float]:
    """Search in batches and fill `found` where the result is ours.

    Args:
        sources, limits, found: All sentences: their ids, longest translations and results, filled in here.
        ends: The sentences to search, by place, with the log-probability of ending at once.
        config: Search rules.
        min_len: 1 to forbid an end at once.
        stop: Polled between batches.

    Returns:
        The sentences that are not settled, by place, with the log-probability of ending at once; 0 where unknown.
    """
    unsettled: dict[int, float] = {}

    def submit(batch: list[int]) -> list[Any]:
        longest = max(limits[i] for i in batch) + _SPARE
        read = [sources[i] for i in batch]
        return runtime.submit(read, config, max_decoding_length=longest, min_decoding_length=min_len)

    batches = longest_first(list(map(len, sources)), runtime.batch_tokens // config.beam_size, only=ends)
    for batch, calls in in_flight(batches, submit, runtime.replicas, stop, "translation"):
        for i, group in zip(batch, runtime.seen(calls, config), strict=True):
            # What the soft-max gave to the others when the end was taken from it.
            raised = -math.log1p(-math.exp(ends[i])) if min_len else 0.0
            seen = [Seen(h.ids, h.log_prob - raised, h.is_finished) for h in group]
            if is_settled(seen, limit=limits[i], config=config, raised=raised):
                found[i] = hypotheses(seen, config)[: config.n_best]
            else:
                unsettled[i] = min((h.log_prob for h in seen if h.is_finished and not h.ids), default=0.0)
    return unsettled
