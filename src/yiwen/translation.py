"""What comes back from a translator: a translation and what there is to know about it, or how likely a given one is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from yiwen.evaluation.review import Answer
from yiwen.plan import Piece, Stretch, join
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.mbr import by_agreement
from yiwen.text.reading import Reader


@dataclass(frozen=True)
class Alternative:
    """One more translation of the same text."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A translated text and what there is to know about it. `str()` of it is the text."""

    text: str
    """The translation, as many lines as the source."""
    score: float
    """Log-probability a subword (by the search's length penalty; of a single word that a beam was searched for, the
    whole one, by which its translations are compared), the mean over its segments; 0 where nothing had to be
    translated, NaN where it was neither asked for nor free."""
    alternatives: tuple[Alternative, ...] = ()
    """All n-best translations, best first, where more than one was asked for and the text is one segment."""
    flags: tuple[str, ...] = ()
    """What a careful reader should know: `segmented` (longer than the model has seen, so translated in pieces),
    `invalid_utf8` (bytes that are no text were replaced), `passed_through` (numbers, signs, addresses: no language),
    `already_target` (in the target language, so kept), `recased` (read in usual case), `glossary` (a term of the
    glossary is missing), the faults of
    `evaluation.checks` (`cut`, `loop`, `length_ratio`, `numbers`, `omission`, `placeholders`), and `repaired` (a
    second search found one with fewer)."""
    sentences: tuple[Piece, ...] = ()
    """Where each part that was translated by itself stands in the source and in the translation."""
    confidence: float | None = None
    """Probability that it is good, of the least sure of its parts; None where the bundle is not calibrated or no
    log-probability is known."""

    def __str__(self) -> str:
        return self.text

    def flagged(self, flag: str) -> Translation:
        """The same with one flag more."""
        return replace(self, flags=tuple(sorted({*self.flags, flag})))


@dataclass(frozen=True)
class Score:
    """How likely the model finds a given translation."""

    log_prob: float
    """Natural logarithm of its probability, end included."""
    n_tokens: int
    """Subwords, end included."""

    @property
    def per_token(self) -> float:
        """Log-probability a subword: comparable between texts of different length."""
        return self.log_prob / self.n_tokens


def chosen(group: list[Hypothesis], texts: list[str], lacks: Callable[[str], bool], *, config: SearchConfig) -> Answer:
    """The hypotheses that are wanted, best first: as the search found them, or by how much they agree.

    Those that agree may all lack a term of the glossary: such candidates come behind the others, equal ones last.
    """
    if not config.mbr:
        return Answer(group, texts)
    places = by_agreement(texts)
    first = {texts[place]: place for place in reversed(places)}
    places.sort(key=lambda place: (first[texts[place]] != place, lacks(texts[place])))
    wanted = places[: config.n_best]
    return Answer([group[place] for place in wanted], [texts[place] for place in wanted])


def assemble(
    text: str, stretches: Sequence[Stretch], answers: Iterator[Answer], *, reader: Reader, by_sentence: bool
) -> Translation:
    """Put the translation of one text together; takes an answer for each stretch that the model was asked."""
    done, written, given = list[Stretch](), list[str](), list[Answer]()
    for stretch in stretches:
        if not stretch.ids:
            done.append(stretch)
            written.append(stretch.reading.output)
            continue
        answer = next(answers)
        written.append(reader.write(stretch.reading, answer.texts[0]))
        flags = {*stretch.flags, *answer.flags}
        if not answer.hypotheses[0].is_finished:
            flags.add("cut")
        if reader.lacks_term(stretch.reading, answer.texts[0]):
            flags.add("glossary")
        done.append(replace(stretch, flags=tuple(sorted(flags)), confidence=answer.confidence))
        given.append(answer)
    whole, pieces = join(text, done, written, tgt_lang=reader.tgt_lang, by_sentence=by_sentence)
    scores = [answer.hypotheses[0].score for answer in given]
    alternatives: list[Alternative] = []
    if len(pieces) == len(given) == 1 < len(given[0].texts):  # blank lines around it are no pieces
        (reading,) = (stretch.reading for stretch in done if stretch.ids)
        before, after = whole[: pieces[0].tgt_start], whole[pieces[0].tgt_end :]
        for said, hypothesis in zip(given[0].texts, given[0].hypotheses, strict=True):
            alternatives.append(Alternative(before + reader.write(reading, said) + after, hypothesis.score))
    return Translation(
        text=whole,
        score=math.fsum(scores) / len(scores) if scores else 0.0,
        alternatives=tuple(alternatives),
        flags=tuple(sorted({flag for stretch in done for flag in stretch.flags})),
        sentences=pieces,
        confidence=min((answer.confidence for answer in given if answer.confidence is not None), default=None),
    )
