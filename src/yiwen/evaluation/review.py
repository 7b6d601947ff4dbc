"""Every translation is checked; where it has a fault, the search's other hypotheses are, and then those of a wider one.

The likeliest without a fault is taken, else the one with the fewest. A fault that stays is told, and no translation is
ever dropped for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from yiwen.bundle import Bundle
from yiwen.engines.engine import Engine, Ids
from yiwen.evaluation.calibration import Usual
from yiwen.evaluation.checks import check
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

WIDER: Final = 4
"""Fewest hypotheses of the second search, which has twice those of the first."""
REPAIRED: Final = "repaired"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one source."""

    hypotheses: list[Hypothesis]
    """Best first."""
    texts: list[str]
    """The first of them as text: as many as were asked for."""
    flags: tuple[str, ...] = ()
    """Faults of the best one, and `repaired` where another one had more."""
    confidence: float | None = None
    """Probability that the best one is good, where the bundle is calibrated and log-probabilities are known."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a review goes by."""

    bundle: Bundle
    engine: Engine
    usual: Usual | None
    """The bundle's calibration, if it has one."""
    search: SearchConfig
    """How the answers were found."""


def with_spares(search: SearchConfig) -> SearchConfig:
    """The same search, which hands out what it found besides where that costs nothing and nobody asked for several.

    All hypotheses of a beam but the last: CTranslate2 would have to search again to be sure of that one.
    """
    return search.changed(n_best=search.beam_size - 1) if _may_choose(search) and search.beam_size > 2 else search


def review(
    answers: Sequence[Answer],
    sources: Sequence[str],
    src_ids: Sequence[Ids],
    *,
    rules: Rules,
    prefixes: Sequence[Ids] | None = None,
    stop: StopFlag | None = None,
) -> list[Answer]:
    """Check what a search has found, and put better translations in the place of those with a fault.

    Nothing is put in another's place where the user asked for several translations or for random ones.

    Args:
        answers: What was found, one a source.
        sources: The texts that were translated, as the model reads them.
        src_ids: Their subwords.
        rules: The model and how it was asked.
        prefixes: What each translation had to start with.
        stop: Polled between batches.
    """
    search = rules.search
    reviewed = [_checked(*each, rules) for each in zip(answers, sources, src_ids, strict=True)]
    if not _may_choose(search):
        return reviewed
    for i, answer in enumerate(reviewed):
        if answer.flags:
            reviewed[i] = _better(answer, answer.hypotheses[1:], sources[i], src_ids[i], rules)
    again = [i for i, answer in enumerate(reviewed) if {*answer.flags} - {REPAIRED}]
    if again:
        second = rules.engine.search(
            [src_ids[i] for i in again],
            config=with_spares(search.changed(beam_size=max(2 * search.beam_size, WIDER))),
            prefixes=None if prefixes is None else [prefixes[i] for i in again],
            stop=stop,
        )
        for i, group in zip(again, second, strict=True):
            reviewed[i] = _better(reviewed[i], group, sources[i], src_ids[i], rules)
    return [replace(answer, hypotheses=answer.hypotheses[:1]) for answer in reviewed]


def _may_choose(search: SearchConfig) -> bool:
    return search.n_best == 1 and not search.sampling and not search.mbr


def _better(answer: Answer, others: Sequence[Hypothesis], source: str, src_ids: Ids, rules: Rules) -> Answer:
    """The first of the others with the fewest faults, if that is fewer than the answer has."""
    best = answer
    for hypothesis, text in zip(others, rules.bundle.target.decode([h.ids for h in others]), strict=True):
        other = _checked(Answer([hypothesis], [text]), source, src_ids, rules)
        if len(other.flags) < len({*best.flags} - {REPAIRED}):
            best = replace(other, flags=(*other.flags, REPAIRED))
    return best


def _checked(answer: Answer, source: str, src_ids: Ids, rules: Rules) -> Answer:
    """An answer with its faults and its confidence."""
    best, info, usual = answer.hypotheses[0], rules.bundle.info, rules.usual
    n_src, n_tgt = len(src_ids), len(best.ids)
    flags = check(
        source,
        answer.texts[0],
        src_lang=info.src_lang,
        tgt_lang=info.tgt_lang,
        is_finished=best.is_finished,
        has_odd_length=usual is not None and usual.is_odd_length(n_src, n_tgt),
        is_incomplete=usual is not None and usual.is_incomplete(src_ids, best.ids),
    )
    confidence = None if usual is None else usual.confidence(best.log_prob, n_src, n_tgt)
    return replace(answer, flags=flags, confidence=confidence)
