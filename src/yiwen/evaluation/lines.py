"""A test set line by line: where a model is good and bad, what is odd, and whether its confidence can be believed."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from yiwen.evaluation.calibration import reliability_of, sentence_scores
from yiwen.evaluation.checks import n_words
from yiwen.evaluation.metrics import Bins, Side, quick_score

Told = tuple[str, tuple[str, ...], float | None]
"""A translation, its flags and its confidence."""
EDGES: Final = (0, 6, 11, 16, 21, 31, 51)
"""Where buckets of source length begin, in words or Chinese characters."""
N_SHOWN: Final = 15
"""Lines shown of a kind."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a test set and what became of it."""

    number: int
    source: str
    reference: str
    translation: str
    chrf: float
    """Sentence chrF2."""
    flags: tuple[str, ...]
    confidence: float | None
    other: str | None = None
    """What the model wrote that this one is compared with."""
    other_chrf: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Details:
    """What there is to know of a test set beside its scores."""

    buckets: tuple[tuple[int, int, float, float | None], ...]
    """By source length: fewest words, lines, chrF2 of the model, of the one it is compared with."""
    flagged: dict[str, tuple[int, ...]]
    """By flag: the lines that carry it."""
    worst: tuple[Line, ...]
    """Lines with the lowest chrF2."""
    better: tuple[Line, ...]
    """Lines that gain most against the other model ..."""
    worse: tuple[Line, ...]
    """... and those that lose most."""
    calibration_error: float | None
    """Mean distance between confidence and share of good lines; None where no confidence is known."""
    reliability: Bins
    """How often lines were good that the model was so sure of."""


def lines_beside(
    test: tuple[Side, Side], told: Sequence[Told], others: Side | None, *, tgt_lang: str, lowercase: bool = False
) -> list[Line]:
    """The lines of a test set as translated by a model and, where there are `others`, by another one.

    Args:
        test: Sources and references.
        told: What the model made of them.
        others: What the other one did.
        tgt_lang: Target language.
        lowercase: Ignore case.
    """
    sources, references = test
    scores = partial(sentence_scores, references=references, tgt_lang=tgt_lang, lowercase=lowercase)
    chrf, their_chrf = scores([text for text, *_ in told]), scores(others) if others else []
    return [
        Line(
            number=i + 1,
            source=sources[i],
            reference=references[i],
            translation=text,
            chrf=chrf[i],
            flags=flags,
            confidence=confidence,
            other=others[i] if others else None,
            other_chrf=their_chrf[i] if others else 0.0,
        )
        for i, (text, flags, confidence) in enumerate(told)
    ]


def details_of(lines: Sequence[Line], *, tgt_lang: str, good_at: float | None, lowercase: bool = False) -> Details:
    """Look at all lines of a test set.

    Args:
        lines: The lines.
        tgt_lang: Target language.
        good_at: Sentence chrF2 from which on a translation counts as good; None where no confidence is known.
        lowercase: Ignore case, as the lines' own scores have to, too.
    """
    buckets: dict[int, list[Line]] = defaultdict(list)
    flagged: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        buckets[EDGES[bisect(EDGES, n_words(line.source)) - 1]].append(line)
        for flag in line.flags:
            flagged[flag].append(line.number)

    def scores(inside: list[Line]) -> tuple[float, float | None]:
        references = [line.reference for line in inside]
        score = partial(quick_score, references=references, tgt_lang=tgt_lang, metric="chrf", lowercase=lowercase)
        others = [line.other for line in inside if line.other is not None]
        return score([line.translation for line in inside]), score(others) if others else None

    # Confidence was learnt from scores with case, also where these ignore it.
    cased = sentence_scores([line.translation for line in lines], [line.reference for line in lines], tgt_lang=tgt_lang)
    both = zip(lines, cased, strict=True)
    sure = [(line.confidence, chrf >= good_at) for line, chrf in both if good_at and line.confidence is not None]
    error, reliability = reliability_of(*zip(*sure, strict=True)) if sure else (None, ())
    scored = [line for line in lines if line.reference or line.translation.strip()]  # chrF of nothing is 0, if right
    # The greatest gain first.
    by_gain = sorted((line for line in lines if line.other is not None), key=lambda line: line.other_chrf - line.chrf)
    return Details(
        buckets=tuple((edge, len(inside), *scores(inside)) for edge, inside in sorted(buckets.items())),
        flagged={flag: tuple(numbers) for flag, numbers in sorted(flagged.items())},
        worst=tuple(sorted(scored, key=lambda line: line.chrf)[:N_SHOWN]),
        better=tuple(line for line in by_gain[:N_SHOWN] if line.chrf > line.other_chrf),
        worse=tuple(line for line in by_gain[::-1][:N_SHOWN] if line.chrf < line.other_chrf),
        calibration_error=error,
        reliability=reliability,
    )
