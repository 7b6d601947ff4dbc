"""Every translation is checked; if one has a fault, so are the search's other hypotheses, then those of a wider search.

The likeliest without a fault is taken, else the one with the fewest. A fault that stays is told, and no translation is
ever dropped for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from yiwen.bundle import Bundle
from yiwen.engines.engine import Engine, Ids, Sentences
from yiwen.evaluation.calibration import Usual
from yiwen.evaluation.checks import check
from yiwen.search.config import WIDEST, SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

Source = tuple[str, Ids]
"""A text that is translated, as the model reads it, and its subwords."""
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
    """How the answers were found, and others may be."""
    words: Set[int] = frozenset()
    """Places of the single words, as for `by_rules`."""
    settled: Set[int] = frozenset()
    """Places of the answers that a search was told terms for, which no other would hold."""
    lacks: Callable[[int, str], bool] = lambda place, text: False
    """Whether a translation of the source at a place lacks a term, so that it takes no other's place."""
    stop: StopFlag | None = None
    """Polled between batches."""


def by_rules(places: Sequence[int], words: Set[int], search: SearchConfig) -> list[tuple[list[int], SearchConfig]]:
    """Places of sources, those at which a search goes by other rules apart.

    The mean over its subwords makes a phrase better than a word, so the hypotheses of a beam for a single word are
    compared by their whole probability, which is their score then: nothing is to be added to them.
    """
    apart = words if search.beam_size > 1 and not search.sampling else frozenset()
    phrases, alone = [i for i in places if i not in apart], [i for i in places if i in apart]
    parts = [(phrases, search), (alone, search.changed(penalty="none"))]
    return [(part, rules) for part, rules in parts if part]


def prefixes_of(places: Iterable[int], prefixes: Sentences | None) -> list[Ids] | None:
    """What the translations of the sources at these places have to start with, if any has to."""
    return None if prefixes is None else [prefixes[i] for i in places]


def with_spares(search: SearchConfig) -> SearchConfig:
    """The same search, which hands out what it found besides where that costs nothing and nobody asked for several.

    All hypotheses of a beam but the last: CTranslate2 would have to search again to be sure of that one.
    """
    return search.changed(n_best=search.beam_size - 1) if _may_choose(search) and search.beam_size > 2 else search


def review(
    answers: Sequence[Answer], sources: Sequence[Source], *, rules: Rules, prefixes: Sentences | None = None
) -> list[Answer]:
    """Check what a search has found, and put better translations in the place of those with a fault.

    Nothing is put in another's place where the user asked for several translations or for random ones.

    Args:
        answers: What was found, one a source.
        sources: What was translated.
        rules: The model and how it was asked.
        prefixes: What each translation had to start with.
    """
    reviewed = _checked(answers, sources, rules)
    if not _may_choose(rules.search):
        return reviewed
    faulty = [i for i, answer in enumerate(reviewed) if answer.flags and i not in rules.settled]
    _repair(reviewed, sources, {i: reviewed[i].hypotheses[1:] for i in faulty}, rules)
    again = [i for i in faulty if {*reviewed[i].flags} - {REPAIRED}]
    wider = with_spares(rules.search.changed(beam_size=min(max(2 * rules.search.beam_size, WIDER), WIDEST)))
    for places, wanted in by_rules(again, rules.words, wider):
        ids = [sources[i][1] for i in places]
        second = rules.engine.search(ids, config=wanted, prefixes=prefixes_of(places, prefixes), stop=rules.stop)
        _repair(reviewed, sources, dict(zip(places, second, strict=True)), rules)
    return reviewed


def _may_choose(search: SearchConfig) -> bool:
    return search.n_best == 1 and not search.sampling and not search.mbr


def _repair(
    reviewed: list[Answer], sources: Sequence[Source], others: Mapping[int, Sequence[Hypothesis]], rules: Rules
) -> None:
    """Put the first of the others with the fewest faults in an answer's place, if those are fewer than it has."""
    placed = [(i, hypothesis) for i, group in others.items() for hypothesis in group]
    texts = rules.bundle.target.decode([hypothesis.ids for _, hypothesis in placed])
    found = [Answer([hypothesis], [text]) for (_, hypothesis), text in zip(placed, texts, strict=True)]
    checked = _checked(found, [sources[i] for i, _ in placed], rules)
    for (i, _), other in zip(placed, checked, strict=True):
        if len(other.flags) < len({*reviewed[i].flags} - {REPAIRED}) and not rules.lacks(i, other.texts[0]):
            reviewed[i] = replace(other, flags=(*other.flags, REPAIRED))


def _checked(answers: Sequence[Answer], sources: Sequence[Source], rules: Rules) -> list[Answer]:
    """Answers with their faults and their confidence."""
    info, usual = rules.bundle.info, rules.usual
    checked = []
    for answer, (source, ids) in zip(answers, sources, strict=True):
        best = answer.hypotheses[0]
        more = [] if best.is_finished else ["cut"]
        more += [] if usual is None else usual.faults(ids, best.ids)
        flags = check(source, answer.texts[0], src_lang=info.src_lang, tgt_lang=info.tgt_lang, more=more)
        confidence = None if usual is None else usual.confidence(best.log_prob, ids, best.ids)
        checked.append(Answer(answer.hypotheses, answer.texts, flags, confidence))
    return checked
