"""Our search rules, where they differ from CTranslate2's: when its result can be used as it is, and else how
ours follows from all that it saw. Pure functions; no runtime, no torch.

CTranslate2 and `search/beam.py` extend the same hypotheses: neither a length limit nor a shortest length nor the
number of results changes which of them go on to the next step. They differ in what they hand out at the end:

- CTranslate2 has one limit a call, counts eos in it and cuts after the last token; ours is per sentence;
- it forbids an early end before the softmax, which raises all other probabilities; ours forbids it afterwards, so
  that a log-probability is what `score` gives. Hence no shortest length is asked of it. An end at once takes a place
  in both, and we hand out the others;
- it knows no penalty but length^alpha.

Neither ever finds pad or bos: an export forbids them by a bias (`export.ct2_spec`), as the torch engine does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis, best_first
from yiwen.search.penalties import length_divisor, scored

IMPOSSIBLE = -1e9
"""Sums below this are CTranslate2's marks for hypotheses that do not exist."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A hypothesis as CTranslate2 registered it."""

    ids: tuple[int, ...]
    """Without eos."""
    log_prob: float
    is_finished: bool
    """Whether it ended with eos."""


def exponent(config: SearchConfig) -> float:
    """The length penalty to ask CTranslate2 for.

    Never 0: it would then stop by another rule, as soon as the likeliest hypothesis ends. 1e-9 divides a float32
    by 1 at any length.
    """
    return config.length_penalty if config.penalty == "average" and config.length_penalty != 0 else 1e-9


def settled_greedy(seen: Sequence[Seen], *, limit: int, config: SearchConfig) -> list[Hypothesis] | None:
    """Our greedy translation, where CTranslate2's tells it; None where that has to be searched again.

    Greedy search takes the likeliest subword of each step whatever comes later: up to our limit its and ours differ
    only where an end that is too early was the likeliest. Where it went on we cut, and its sum is not a number.

    Args:
        seen: The one that it found, longer than `limit` where it had not ended there. Its log-probability is not a
            number where nobody asked for it: then the end was forbidden for as long as we forbid it.
        limit: Longest translation in subwords.
        config: Our rules.
    """
    (found,) = seen
    if math.isnan(found.log_prob) or len(found.ids) > limit:
        return [Hypothesis(found.ids[:limit], math.nan, math.nan, len(found.ids) <= limit)]
    return [scored(found.ids, found.log_prob, config)] if config.min_len <= len(found.ids) else None


def settled_beam(seen: Sequence[Seen], *, limit: int, config: SearchConfig) -> list[Hypothesis] | None:
    """Our n_best, where CTranslate2's W best tell them; None where that has to be searched again.

    Its search stops after the step T at which W hypotheses have ended, and hands out the W best of all that ended.
    These are ours, too, unless

    - fewer than W ended, for then its search went on to the end of the call;
    - one is longer than our limit. Fewer than W ended before T, so one of the W best ended at T: where none is too
      long, our search reaches T;
    - one is too short, and has taken a place that is free in ours. Where it ended but is not among the W best, these
      do without it. An empty one takes a place in ours, but is never handed out: n_best must be had without it;
    - it left one out, because more than W ended, that is better in our order.

    Args:
        seen: What it handed out.
        limit: Longest translation in subwords.
        config: Our rules.
    """
    if len(seen) < config.beam_size or not all(h.is_finished and h.log_prob > IMPOSSIBLE for h in seen):
        return None
    handed_out = [h for h in seen if h.ids or not config.min_len]
    if len(handed_out) < config.n_best or not all(config.min_len <= len(h.ids) <= limit for h in handed_out):
        return None
    found = best_first(hypotheses(handed_out, config))[: config.n_best]
    if config.penalty == "gnmt":
        # It ordered by sums: one that it left out has at most the smallest, and any length up to T, eos counted.
        smallest, longest = min(h.log_prob for h in seen), max(len(h.ids) for h in seen) + 1
        if found[-1].score < max(smallest / length_divisor(length, config) for length in (1, longest)):
            return None
    return found


def hypotheses(seen: Iterable[Seen], config: SearchConfig) -> list[Hypothesis]:
    """The same with our scores."""
    return [scored(h.ids, h.log_prob, config, is_finished=h.is_finished) for h in seen]


def replay(ends: Iterable[Seen], going_on: Iterable[Seen], *, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """The n_best that `search/beam.py` finds, from everything that happens up to its limit.

    Args:
        ends: All hypotheses that ended among the W best continuations of a step, of at most `limit` subwords.
        going_on: Those of `limit` subwords that would be continued; CTranslate2 shows W less those that ended one
            subword earlier, which is enough where these count.
        limit: Longest translation in subwords.
        config: Beam size W, shortest length, penalty, n_best.
    """
    found: list[Seen] = []
    by_length: dict[int, list[Seen]] = {}
    for hypothesis in ends:
        by_length.setdefault(len(hypothesis.ids), []).append(hypothesis)
    n_empty = len(by_length.get(0, [])) if config.min_len else 0
    n_first = None
    for length in range(config.min_len, limit + 1):
        found += by_length.get(length, [])
        if n_first is None and len(found) + n_empty >= config.beam_size:
            n_first = len(found)
        if n_first is not None and len(found) >= config.n_best:
            break
    else:
        ended = {hypothesis.ids for hypothesis in found}
        cut = sorted((h for h in going_on if h.ids not in ended), key=lambda h: -h.log_prob)
        found += cut[: config.beam_size - len(found)]
    return best_first(hypotheses(found, config), n_first)[: config.n_best]
