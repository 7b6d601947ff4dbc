"""Our search rules, where they differ from CTranslate2's: when a result of its can be taken as it is, and else how
ours follows from all that it saw. Pure functions; no runtime, no torch.

CTranslate2 and `search/beam.py` extend the same hypotheses: neither a length limit nor a shortest length nor the
number of results changes which of them go on to the next step. They differ in what they hand out at the end:

- CTranslate2 has one limit a call, counts eos in it and cuts after the last token; ours is per sentence;
- it forbids an early end before the soft-max, which raises all other probabilities; ours forbids it afterwards, so
  that a log-probability is what `score` gives. Hence no shortest length is asked of it;
- it knows no penalty but length^alpha;
- pad and bos are tokens like others to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor
from yiwen.text.subword import BOS_ID, PAD_ID

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

    @property
    def is_possible(self) -> bool:
        """True where our search could hold it, too."""
        return self.log_prob > IMPOSSIBLE and PAD_ID not in self.ids and BOS_ID not in self.ids


def exponent(config: SearchConfig) -> float:
    """The length penalty to ask CTranslate2 for.

    Never 0: it would then stop by another rule, as soon as the likeliest hypothesis ends. 1e-9 divides a float32
    by 1 at any length.
    """
    return config.length_penalty if config.penalty == "average" and config.length_penalty != 0 else 1e-9


def is_settled(seen: Sequence[Seen], *, limit: int, config: SearchConfig) -> bool:
    """True where CTranslate2's W best of a call without a shortest length are provably ours as well.

    Its search stops after the step T at which W hypotheses have ended, and hands out the W best of these. Fewer than
    W ended before T, so one that ended at T is among them: if none is longer than our limit, our search reached T
    too. A hypothesis that is too short for us, pad or bos may have taken a place: where one is among the W best, no.
    Where one was registered but is not among them, W others were, no earlier than at T, and these are the W best.
    """
    n = config.beam_size
    if len(seen) < n or not all(h.is_finished and h.is_possible for h in seen):
        return False
    if not all(config.min_len <= len(h.ids) <= limit for h in seen):
        return False
    if config.penalty != "gnmt" or n == 1:
        return True
    # It ordered by sums: one it left out has at most the smallest, and any length up to T. Could that be among ours?
    smallest, longest = min(h.log_prob for h in seen), max(len(h.ids) for h in seen) + 1
    best_left_out = max(smallest / length_divisor(length, config) for length in (1, longest))
    return sorted((h.score for h in hypotheses(seen, config)), reverse=True)[config.n_best - 1] >= best_left_out


def hypotheses(seen: Iterable[Seen], config: SearchConfig) -> list[Hypothesis]:
    """Hypotheses with our scores, best first."""
    scored = (
        Hypothesis(h.ids, h.log_prob / length_divisor(len(h.ids) + h.is_finished, config), h.log_prob, h.is_finished)
        for h in seen
    )
    return sorted(scored, key=lambda h: -h.score)


def replay(ends: Iterable[Seen], going_on: Iterable[Seen], *, limit: int, config: SearchConfig) -> list[Hypothesis]:
    """The n_best that `search/beam.py` finds, from everything that happens up to its limit.

    Args:
        ends: All hypotheses that ended among the W best continuations of a step, of at most `limit` subwords.
        going_on: Those of `limit` subwords that would be continued; CTranslate2 shows W less those that ended one
            subword earlier, which is enough where these count. (Where the shortest length forbids even them, the
            list may be shorter than that of `search/beam.py`.)
        limit: Longest translation in subwords.
        config: Beam size W, shortest length, penalty, n_best.
    """
    found: list[Seen] = []
    by_length: dict[int, list[Seen]] = {}
    for hypothesis in ends:
        by_length.setdefault(len(hypothesis.ids), []).append(hypothesis)
    for length in range(config.min_len, limit + 1):
        found += by_length.get(length, [])
        if len(found) >= config.beam_size:
            break
    else:
        ended = {hypothesis.ids for hypothesis in found}
        cut = sorted((h for h in going_on if h.ids not in ended), key=lambda h: -h.log_prob)
        found += cut[: max(0, config.beam_size - len(found))]
    return hypotheses(found, config)[: config.n_best]
