"""Every translation is checked; one with a fault is looked for once more, more carefully, and the better one is kept.

A fault that stays is told, and no translation is ever dropped for it.
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

WIDER: Final = 8
"""Fewest hypotheses of the second search: the first of them without a fault is taken, else with the fewest."""
REPAIRED: Final = "repaired"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one source."""

    hypotheses: list[Hypothesis]
    """Best first."""
    texts: list[str]
    """The same as text."""
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


def review(
    answers: Sequence[Answer],
    sources: Sequence[str],
    src_ids: Sequence[Ids],
    *,
    rules: Rules,
    prefixes: Sequence[Ids] | None = None,
    stop: StopFlag | None = None,
) -> list[Answer]:
    """Check what a search has found, and search again where the best translation has a fault.

    Nothing is searched again where the user asked for several translations or for random ones.

    Args:
        answers: What was found, one a source.
        sources: The texts that were translated, as the model reads them.
        src_ids: Their subwords.
        rules: The model and how it was asked.
        prefixes: What each translation had to start with.
        stop: Polled between batches.
    """
    reviewed = [_checked(*each, rules) for each in zip(answers, sources, src_ids, strict=True)]
    search = rules.search
    again = [i for i, answer in enumerate(reviewed) if answer.flags]
    if not again or search.n_best > 1 or search.sampling:
        return reviewed
    width = max(2 * search.beam_size, WIDER)
    second = rules.engine.search(
        [src_ids[i] for i in again],
        config=search.changed(beam_size=width, n_best=width, mbr=0),
        prefixes=None if prefixes is None else [prefixes[i] for i in again],
        stop=stop,
    )
    for i, group in zip(again, second, strict=True):
        texts = rules.bundle.target.decode([hypothesis.ids for hypothesis in group])
        others = [
            _checked(Answer([h], [text]), sources[i], src_ids[i], rules) for h, text in zip(group, texts, strict=True)
        ]
        best = min(others, key=lambda other: len(other.flags))  # the likeliest of those with the fewest
        if len(best.flags) < len(reviewed[i].flags):
            reviewed[i] = replace(best, flags=(*best.flags, REPAIRED))
    return reviewed


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
