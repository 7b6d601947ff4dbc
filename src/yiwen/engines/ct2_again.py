"""One sentence searched again, in such a way that everything our search would see is seen. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from yiwen.engines.ct2_rules import IMPOSSIBLE, Seen, hypotheses, replay
from yiwen.engines.ct2_runtime import Runtime
from yiwen.engines.engine import Ids
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis


def greedy_again(runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """Greedy search where a prefix or the shortest length plays a part.

    What is forbidden before the softmax instead of after it leaves the likeliest of the rest the same; the
    log-probabilities are those of a second pass.
    """
    lengths = {"max_decoding_length": limit + 1, "min_decoding_length": min(config.min_len, limit + 1)}
    (seen,) = runtime.seen(runtime.submit([source], config, prefix=prefix, **lengths), config)
    return hypotheses(_rescored(runtime, source, [Seen(seen[0].ids[:limit], 0.0, seen[0].is_finished)]), config)


def beam_again(runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """Beam search by `replay`: CTranslate2 goes on to the limit and hands out all that it registered."""
    ends, going_on = _everything(runtime, source, prefix, limit, config)
    if len(prefix) < limit <= config.min_len and len(going_on) < config.beam_size:
        going_on = _going_on(runtime, source, prefix, limit, config)
    return replay(ends, going_on, limit=limit, config=config)


def _everything(
    runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig
) -> tuple[list[Seen], list[Seen]]:
    """All hypotheses that end within the limit, and those that go on at it (W less those that ended one before)."""
    n_prefix, sums = len(prefix), replace(config, length_penalty=0.0)
    # The prefix's log-probability, which CTranslate2's sums lack, and what they lack of what goes on behind it.
    of_prefix = lacking = 0.0
    ends: list[Seen] = []

    def begun(steps: int) -> list[Any]:
        lengths = {"max_decoding_length": steps, "min_decoding_length": min(steps, n_prefix + 1) if n_prefix else 0}
        every = {"patience": steps + 1, "num_hypotheses": (steps + 1) * config.beam_size}  # that it registers
        return runtime.submit([source], sums, prefix=prefix, **lengths, **every)

    def seen(calls: list[Any]) -> list[Seen]:
        return [h for h in runtime.seen(calls, sums)[0] if h.log_prob > IMPOSSIBLE]

    beyond, within = begun(limit + 1), begun(limit)  # before one is waited for: two replicas run them side by side
    if n_prefix:
        # A forced token costs CTranslate2 nothing, and an end right behind the prefix is lost unless it is the
        # likeliest: forbid it there, and look by its log-probability whether it was among the W best.
        first = seen(begun(n_prefix + 1))
        *tokens, of_end = runtime.score([source], [prefix])[0]
        of_prefix = math.fsum(tokens)
        lacking = of_prefix + math.log1p(-math.exp(min(of_end, -1e-7)))
        if limit > n_prefix and of_end > -0.01:  # too near to 1 in float32: what an end leaves is told by another one
            (longer,) = runtime.score([source], [first[0].ids])
            lacking = of_prefix + longer[n_prefix] - first[0].log_prob
        if sum(h.log_prob + lacking > of_prefix + of_end for h in first) < config.beam_size:
            ends.append(Seen(tuple(prefix), of_prefix + of_end, True))
    ends += [Seen(h.ids, h.log_prob + lacking, True) for h in seen(beyond) if h.is_finished]
    lacking_at_limit = lacking if limit > n_prefix else of_prefix  # a prefix as long as that is all that goes on
    return ends, [Seen(h.ids, h.log_prob + lacking_at_limit, False) for h in seen(within) if not h.is_finished]


def _going_on(runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Seen]:
    """The W hypotheses that go on at the limit where none ends before it: the W best of all that the last ones became.

    One step a call, because CTranslate2 forbids an end before the softmax: that raises what one hypothesis becomes
    alike, but one hypothesis more than another.
    """
    found = [Seen(tuple(prefix), 0.0, False)]
    for length in range(len(prefix) + 1, limit + 1):
        one_step = {"max_decoding_length": length, "min_decoding_length": length, "use_vmap": False}
        calls = [call for h in found for call in runtime.submit([source], config, prefix=h.ids, **one_step)]
        grown = [h for group in runtime.seen(calls, config) for h in group if h.log_prob > IMPOSSIBLE]
        found = sorted(_rescored(runtime, source, grown), key=lambda h: -h.log_prob)[: config.beam_size]
    return found


def _rescored(runtime: Runtime, source: Ids, seen: Sequence[Seen]) -> list[Seen]:
    """The hypotheses with log-probabilities of a forced pass."""
    rows = runtime.score([source] * len(seen), [h.ids for h in seen])
    both = zip(seen, rows, strict=True)
    return [replace(h, log_prob=math.fsum(row if h.is_finished else row[:-1])) for h, row in both]
