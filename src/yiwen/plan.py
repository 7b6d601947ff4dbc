"""How a text is cut up before translation, and how the parts are put back together: nothing is dropped or moved.

    text -> stretches: a line, or with by_sentence a sentence, as long as the model has seen that much at a time
         -> each as the model reads it -> ids ... -> translations -> text

What stands between two lines comes back as it was, blank lines too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from yiwen.text.glossary import inside_terms
from yiwen.text.languages import RUN_ON, base
from yiwen.text.normalise import normalise
from yiwen.text.reading import Reader, Reading
from yiwen.text.scripts import MARKS
from yiwen.text.segment import Span, clauses, sentences, words

_DRAWN_TOGETHER = re.compile(f"\u200d|.[\u200d{MARKS}]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that was translated by itself, and where its translation stands."""

    src_start: int
    """Its first character in the source text ..."""
    src_end: int
    """... and the one behind its last."""
    tgt_start: int
    """The first character of its translation in the translated text ..."""
    tgt_end: int
    """... and the one behind its last."""
    flags: tuple[str, ...] = ()
    """As in `Translation.flags`, of this part alone."""
    confidence: float | None = None
    """As in `Translation.confidence`, of this part alone."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text that is translated by itself, or stays as it is."""

    start: int
    """Its first character in the text ..."""
    end: int
    """... and the one behind its last."""
    reading: Reading
    """As the model reads it, or what is written where it is not for the model."""
    ids: list[int]
    """Subwords for the model; none where it is not for it."""
    flags: tuple[str, ...] = ()
    """What is known of it before it is translated, and afterwards of its translation."""
    confidence: float | None = None
    """The model's, in its translation."""


def cut(text: str, reader: Reader, *, by_sentence: bool) -> list[Span]:
    """Offsets of the lines of a text, or of its sentences; none ends inside of a term of the glossary."""
    if by_sentence:
        return sentences(text, reader.src_lang, inside_terms(reader.glossary, text))
    return [line.span() for line in re.finditer("^.*$", text, re.MULTILINE)]


def plan(
    texts: Sequence[str], *, reader: Reader, limit: int, by_sentence: bool, wholes: Sequence[bool]
) -> list[list[Stretch]]:
    """What becomes of texts.

    Args:
        texts: Raw text.
        reader: How the model reads them.
        limit: Subwords that the model can take at a time.
        by_sentence: Whether each sentence is translated by itself, as long as that can be, or each line.
        wholes: Which texts are not cut into sentences, and translated whatever they are.
    """
    read: list[list[tuple[int, int, Reading]]] = []
    for text, whole in zip(texts, wholes, strict=True):
        line_end = "\r" if "\n" in text else ""
        spans = cut(text, reader, by_sentence=by_sentence and not whole)
        read.append([(i, j, reader.read(text[i:j].removesuffix(line_end), must=whole)) for i, j in spans])
    encoded = iter(reader.subword.encode([reading.text for parts in read for *_, reading in parts if reading.text]))
    plans: list[list[Stretch]] = []
    for text, parts in zip(texts, read, strict=True):
        stretches: list[Stretch] = []
        for start, end, reading in parts:
            ids = next(encoded) if reading.text else []
            if len(ids) <= limit:
                stretches.append(Stretch(start, end, reading, ids, reading.flags))
                continue
            for left, right in fitting(text[start:end], reader, limit):
                part = reader.read(text[start + left : start + right], must=True)
                if part.text:  # what shows nothing stands between two pieces, not in them
                    (ids,) = reader.subword.encode([part.text])
                    stretches.append(Stretch(start + left, start + right, part, ids, ("segmented", *part.flags)))
        plans.append(stretches)
    return plans


def fitting(text: str, reader: Reader, limit: int) -> list[Span]:
    """Cut a line that is too long: whole sentences, as many as fit, else behind commas, before words, anywhere."""

    def fits(start: int, end: int, part: str) -> bool:
        (ids,) = reader.subword.encode([reader.read(part[start:end], must=True).text])
        return len(ids) <= limit or end - start == 1

    def packed(part: str, cutters: tuple[Callable[[str, frozenset[int]], list[Span]], ...]) -> list[Span]:
        found, is_open = list[Span](), False  # whether the last one found may become longer
        for start, end in cutters[0](part, inside_terms(reader.glossary, part)):
            if not fits(start, end, part):
                inner = packed(part[start:end], cutters[1:] or cutters)
                found += [(start + left, start + right) for left, right in inner]
                is_open = False
            elif is_open and fits(found[-1][0], end, part):
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
                is_open = True
        return found

    def halves(part: str, _: frozenset[int]) -> list[Span]:
        half = len(part) // 2
        middle = next((n for n in range(half, 0, -1) if not _DRAWN_TOGETHER.match(part, n - 1)), half)
        return [(0, middle), (middle, len(part))]

    return packed(text, (lambda line, uncut: sentences(line, reader.src_lang, uncut), clauses, words, halves))


def join(
    text: str, stretches: Sequence[Stretch], translations: Sequence[str], *, tgt_lang: str, by_sentence: bool
) -> tuple[str, tuple[Piece, ...]]:
    """Put the translations of the stretches where these stood.

    With by_sentence, white space at the edges of lines comes back too; else lines are as normalised text is.
    """
    parts, pieces = list[str](), list[Piece]()
    n_written = done = 0
    for stretch, translation in zip(stretches, translations, strict=True):
        gap = between(text[done : stretch.start], parts, translation, tgt_lang, by_sentence)
        parts += (gap, translation)
        start = n_written + len(gap)
        n_written = start + len(translation)
        done = stretch.end
        if stretch.ids or normalise(stretch.reading.output):  # anything but a blank line
            pieces.append(Piece(stretch.start, stretch.end, start, n_written, stretch.flags, stretch.confidence))
    parts.append(between(text[done:], [], "", tgt_lang, by_sentence))
    return "".join(parts), tuple(pieces)


def between(gap: str, before: Sequence[str], after: str, tgt_lang: str, by_sentence: bool) -> str:
    """What stands between two translations, from what stood between their sources; `before` is all that was written."""
    has_line_end = "\n" in gap
    if has_line_end or not before or not after:
        return gap if by_sentence else "\n" * has_line_end
    is_glued = before[-1][-1:].isascii() and before[-1][-1:].isalnum() and after[0].isascii() and after[0].isalnum()
    return "" if base(tgt_lang) in RUN_ON and not is_glued else " "
