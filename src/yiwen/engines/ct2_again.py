"""One sentence searched again, in such a way that everything our search would see is seen. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from yiwen.engines.ct2_rules import Seen, hypotheses, replay
from yiwen.engines.ct2_runtime import Runtime
from yiwen.engines.engine import Ids
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis


def greedy_again(runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """Greedy search where a prefix, a limit or the shortest length plays a part.

    What is forbidden before the soft-max instead of after it leaves the likeliest of the rest the same; the
    log-probabilities are those of a second pass.
    """
    call = runtime.submit(
        [source],
        config,
        prefix=prefix,
        max_decoding_length=limit + 1,
        min_decoding_length=min(config.min_len, limit + 1),
    )
    (seen,) = runtime.seen(call, config)
    return _scored_again(runtime, source, [Seen(seen[0].ids[:limit], 0.0, seen[0].is_finished)], config)


def beam_again(runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """Beam search by `replay`: CTranslate2 goes on to the limit and hands out all that it registered."""
    found = replay(*_everything(runtime, source, prefix, limit, config), limit=limit, config=config)
    if found:
        return found
    # All end before `min_len`: then none is to end before the limit.
    found = replay(*_everything(runtime, source, prefix, limit, config, least=limit), limit=limit, config=config)
    return _scored_again(runtime, source, [Seen(h.ids, h.log_prob, h.is_finished) for h in found], config)


def _everything(
    runtime: Runtime, source: Ids, prefix: Ids, limit: int, config: SearchConfig, *, least: int = 0
) -> tuple[list[Seen], list[Seen]]:
    """All hypotheses that end within the limit, `least` subwords or more behind it, and those that go on at it."""
    p, width = len(prefix), config.beam_size
    sums = config.changed(length_penalty=0.0)
    of_prefix = lacking = 0.0  # what the sums lack: for the prefix alone, for what goes on behind it
    ends: list[Seen] = []

    def run(steps: int) -> list[Seen]:
        call = runtime.submit(
            [source],
            sums,
            prefix=prefix,
            max_decoding_length=steps,
            min_decoding_length=min(steps, max(least, p + 1 if p else 0)),
            patience=steps + 1,
            num_hypotheses=(steps + 1) * width,  # all
        )
        (seen,) = runtime.seen(call, sums)
        return [h for h in seen if h.is_possible]

    if p:
        # A forced token costs CTranslate2 nothing, and an end right behind the prefix is lost unless it is the
        # likeliest: forbid it there, and look by its log-probability whether it was among the W best.
        first = run(p + 1)
        (row,) = runtime.score([source], [prefix])
        *tokens, of_end = row
        of_prefix = math.fsum(tokens)
        lacking = of_prefix + math.log1p(-math.exp(min(of_end, -1e-7)))
        if limit > p and of_end > -0.01:  # too near to 1 in float32: what an end leaves is told by one of the others
            (longer,) = runtime.score([source], [first[0].ids])
            lacking = of_prefix + longer[p] - first[0].log_prob
        if sum(h.log_prob + lacking > of_prefix + of_end for h in first) < width:
            ends.append(Seen(tuple(prefix), of_prefix + of_end, True))
    ends += [Seen(h.ids, h.log_prob + lacking, True) for h in run(limit + 1) if h.is_finished]
    if limit <= p:
        lacking = of_prefix
    return ends, [Seen(h.ids, h.log_prob + lacking, False) for h in run(limit) if not h.is_finished]


def _scored_again(runtime: Runtime, source: Ids, seen: Sequence[Seen], config: SearchConfig) -> list[Hypothesis]:
    """The hypotheses with log-probabilities of a forced pass."""
    rows = runtime.score([source] * len(seen), [h.ids for h in seen])
    sums = [math.fsum(row if h.is_finished else row[:-1]) for h, row in zip(seen, rows, strict=True)]
    return hypotheses((replace(h, log_prob=total) for h, total in zip(seen, sums, strict=True)), config)
