"""From the texts of a document to their translations with the marks in place.

Placeholders come out as they went in. Where a translation lost one, the text is translated once more with numbers in
their places, which models know how to carry over, and each placeholder is put where its number went.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from yiwen.documents.placing import Piece, linked, place
from yiwen.documents.unit import Span, Unit
from yiwen.errors import DataError
from yiwen.evaluation.checks import changes_placeholders

_NUMBER: Final = re.compile(r"(\d+)")
AT_ONCE: Final = 256
"""Texts that are translated together: enough to sort by length, few enough that progress is seen."""


class HasText(Protocol):
    """What a translation has to be here; `sentences` (see `yiwen.translator.Piece`) and `flags` are used if there."""

    @property
    def text(self) -> str: ...


Translate = Callable[[Sequence[str]], Sequence[HasText]]
Align = Callable[[Sequence[str], Sequence[str]], Sequence[Any]]
"""As `Translator.align`."""
Flag = Callable[[Iterable[str]], None]
"""Told what is wrong with texts as they are written down: the flags of all of them."""


Answer = tuple[str, list[Span]]
"""A translation and where the marks of its unit go."""


@dataclass(frozen=True)
class _Draft:
    text: str
    pieces: list[Piece]
    flags: tuple[str, ...]


def translated(
    units: Sequence[Unit],
    *,
    translate: Translate,
    align: Align | None,
    progress: Callable[[float], None] | None,
    flag: Flag | None = None,
) -> Iterator[Answer]:
    """Translate units in blocks, in order; equal texts of a block once."""
    for start in range(0, len(units), AT_ONCE):
        block = list(units[start : start + AT_ONCE])
        drafts = _drafts([unit.text for unit in block], translate)
        told = [_flags(unit, draft.text, draft.flags) for unit, draft in zip(block, drafts, strict=True)]
        broken = [n for n, unit in enumerate(block) if not _has_kept(unit, drafts[n].text)]
        again = [block[n].with_stand_ins() for n in broken]
        for number, unit, draft in zip(broken, again, _drafts([unit.text for unit in again], translate), strict=True):
            stands_for = dict(zip(unit.literals(), block[number].literals(), strict=True))
            told[number] = _flags_again(block[number], unit, draft, stands_for, first=told[number])
            block[number], drafts[number] = unit, _said_once(draft, stands_for)
        if flag is not None:
            flag(itertools.chain.from_iterable(told))
        yield from _placed(block, drafts, align)
        if progress is not None:
            progress(min(1.0, (start + AT_ONCE) / len(units)))


def _drafts(texts: Sequence[str], translate: Translate) -> list[_Draft]:
    unique = list(dict.fromkeys(texts))
    found = {}
    for text, translation in zip(unique, translate(unique) if unique else (), strict=True):
        pieces = [(p.src_start, p.src_end, p.tgt_start, p.tgt_end) for p in getattr(translation, "sentences", ())]
        pieces = pieces or [(0, len(text), 0, len(translation.text))]
        found[text] = _Draft(translation.text, pieces, tuple(getattr(translation, "flags", ())))
    return [found[text] for text in texts]


def _flags(unit: Unit, target: str, flags: Iterable[str]) -> list[str]:
    """The flags of a draft, but of placeholders what is true of this text."""
    is_wrong = changes_placeholders(unit.text, target)
    return [*(name for name in flags if name != "placeholders"), *(["placeholders"] if is_wrong else [])]


def _flags_again(unit: Unit, asked: Unit, draft: _Draft, stands_for: dict[str, str], *, first: list[str]) -> list[str]:
    """The flags of a draft with numbers for placeholders, once these stand there; `first` are those without."""
    places = _finder(asked, draft.text)
    put_in = [literal for number, literal in stands_for.items() if not places(number)]
    text = "".join(stands_for.get(word, word) for word in _NUMBER.split(draft.text))
    own = [name for name in draft.flags if name != "numbers" or name in first]
    return _flags(unit, " ".join([text, *put_in]), own)


def _has_kept(unit: Unit, target: str) -> bool:
    """Every placeholder stands there as often as in the text."""
    here, there = _finder(unit, unit.text), _finder(unit, target)
    return all(len(here(literal)) == len(there(literal)) for literal in set(unit.literals()))


def _finder(unit: Unit, text: str) -> Callable[[str], list[int]]:
    """Where a literal starts in a text; a number that is no part of a longer one in the unit is none here either."""
    own = set(_NUMBER.findall(unit.text))
    numbers: dict[str, list[int]] = defaultdict(list)
    for found in _NUMBER.finditer(text):
        numbers[found[0]].append(found.start())

    @cache
    def places(literal: str) -> list[int]:
        if literal in own:
            return numbers[literal]
        found, at = [], text.find(literal)
        while at >= 0:
            found.append(at)
            at = text.find(literal, at + len(literal))
        return found

    return places


def _said_once(draft: _Draft, stands_for: dict[str, str]) -> _Draft:
    """Where the model says the number of a placeholder once more, the placeholder itself stands then."""
    text, at, seen = "", 0, set[str]()
    moves = [(0, 0)]  # places from which on the text has moved, and how far
    for found in _NUMBER.finditer(draft.text):
        if found[0] in seen:
            text += draft.text[at : found.start()] + stands_for[found[0]]
            at = found.end()
            moves.append((at, len(text) - at))
        elif found[0] in stands_for:
            seen.add(found[0])

    def moved(place: int) -> int:
        return place + max(move for move in moves if move[0] <= place)[1]

    pieces = [(*piece[:2], moved(piece[2]), moved(piece[3])) for piece in draft.pieces]
    return _Draft(text + draft.text[at:], pieces, draft.flags)


def _placed(units: Sequence[Unit], drafts: Sequence[_Draft], align: Align | None) -> Iterator[Answer]:
    """Find the place of every mark; only sentences with something to place are aligned."""
    wanted = [
        (number, piece)
        for number, (unit, draft) in enumerate(zip(units, drafts, strict=True))
        for piece in draft.pieces
        if any(not m.is_break and m.start <= piece[1] and piece[0] <= m.end for m in unit.marks)
    ]
    sides = [(units[n].text[p[0] : p[1]], drafts[n].text[p[2] : p[3]]) for n, p in wanted]
    known = dict(zip(wanted, _aligned(sides, align), strict=True))
    for number, (unit, draft) in enumerate(zip(units, drafts, strict=True)):
        spans: list[Span] = []
        if unit.marks:
            pieces = [(piece, known.get((number, piece))) for piece in draft.pieces]
            words = linked(unit.text, draft.text, pieces, list(_same(unit, draft.text)))
            spans = place(unit.marks, words, draft.pieces)
        yield draft.text, spans


def _same(unit: Unit, target: str) -> Iterator[tuple[Span, Span]]:
    """Where each placeholder stands in the text and in the translation; of equal ones the first is the first."""
    n_before: Counter[str] = Counter()
    here, there = _finder(unit, unit.text), _finder(unit, target)
    for source, literal in zip(unit.keep, unit.literals(), strict=True):
        if len(here(literal)) == len(there(literal)):
            start = there(literal)[n_before[literal]]
            n_before[literal] += 1
            yield source, (start, start + len(literal))


def _aligned(sides: Sequence[tuple[str, str]], align: Align | None) -> list[Any]:
    """An alignment of each pair of texts; None where there is none, or nothing to find out."""
    out: list[Any] = [None] * len(sides)
    numbers = [n for n, (source, target) in enumerate(sides) if source != target and target.strip()]
    if align is None or not numbers:
        return out
    try:
        found = list(align([sides[n][0] for n in numbers], [sides[n][1] for n in numbers]))
    except DataError:  # one is longer than the model has positions for
        if len(numbers) == 1:
            return out
        found = [_aligned([sides[n]], align)[0] for n in numbers]
    for number, alignment in zip(numbers, found, strict=True):
        out[number] = alignment
    return out
