"""From the texts of a document to their translations with the marks in place.

Placeholders come out as they went in. Where a translation lost one, the text is translated once more with numbers in
their places, which models know how to carry over, and each placeholder is put where its number went.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from yiwen.documents.placing import linked, place
from yiwen.documents.unit import Answer, Span, Unit
from yiwen.errors import ConfigError, DataError, expect
from yiwen.plan import Piece
from yiwen.text.scripts import UNSPACED_LETTERS

_EDGE: Final = re.compile(rf"(?!(?<=[^\W\d_{UNSPACED_LETTERS}])[^\W_{UNSPACED_LETTERS}]|(?<=\d)\d)")
"""A place that is not behind a letter and before another or a digit, nor between two digits of a number."""
AT_ONCE: Final = 256
"""Texts that are translated together: enough to sort by length, few enough that progress is seen."""


@runtime_checkable
class HasText(Protocol):
    """What a translation has to be here; `sentences` (see `yiwen.plan.Piece`) and `flags` are used if there."""

    @property
    def text(self) -> str: ...


Translate = Callable[[Sequence[str]], Sequence[HasText]]
Align = Callable[[Sequence[str], Sequence[str]], Sequence[Any]]
"""As `Translator.align`."""
Flag = Callable[[Iterable[str]], None]
"""Told what is wrong with a text as it is written down."""


@dataclass(frozen=True)
class _Draft:
    text: str
    pieces: list[Piece]
    flags: tuple[str, ...]
    put: tuple[Span, ...] = ()
    """Where placeholders stand that no mark is for."""


def translated(
    units: Sequence[Unit],
    *,
    translate: Translate,
    align: Align | None,
    progress: Callable[[float], None] | None,
    flag: Flag | None = None,
    again: Translate | None = None,
) -> Iterator[Answer]:
    """Translate units in blocks, in order; equal texts of a block once."""
    for unit in units:
        unit.check()
    for start in range(0, len(units), AT_ONCE):
        firsts = units[start : start + AT_ONCE]
        block = list(firsts)
        drafts = _drafts([unit.text for unit in block], translate)
        broken = [n for n, unit in enumerate(block) if len([*_same(unit, drafts[n].text)]) < len(unit.keep)]
        numbered = [block[n].with_stand_ins() for n in broken]
        second = _drafts([unit.text for unit in numbered], again or translate)
        for number, unit, draft in zip(broken, numbered, second, strict=True):
            drafts[number] = _said_once(draft, unit, block[number].literals())
            block[number] = unit
        if flag is not None:
            for first, unit, draft in zip(firsts, block, drafts, strict=True):
                flag(_flags(first, unit, draft))
        yield from _placed(block, drafts, align)
        if progress is not None:
            progress(min(1.0, (start + AT_ONCE) / len(units)))


def _drafts(texts: Sequence[str], translate: Translate) -> list[_Draft]:
    unique, found = list(dict.fromkeys(texts)), dict[str, _Draft]()
    answers = [*expect(translate(unique), Iterable, "what came back", "a list of translations")] if unique else []
    if len(answers) != len(unique):
        raise ConfigError(f"of {len(unique)} texts {len(answers)} translations came back; return one each, in order")
    for text, translation in zip(unique, answers, strict=True):
        expect(translation, HasText, "a translation", "what has a `text`, as Translator.translate returns")
        sentences = getattr(translation, "sentences", ())
        pieces = [Piece(each.src_start, each.src_end, each.tgt_start, each.tgt_end) for each in sentences]
        pieces = pieces or [Piece(0, len(text), 0, len(translation.text))]
        found[text] = _Draft(translation.text, pieces, tuple(getattr(translation, "flags", ())))
    return [found[text] for text in texts]


def _flags(first: Unit, unit: Unit, draft: _Draft) -> Iterator[str]:
    """The flags of a draft, `placeholders` by how they stand once all are put in, one without a place at the end."""
    from yiwen.evaluation.checks import changes_placeholders  # the process that parses would import it, too

    text = draft.text
    for number, literal in zip(unit.literals(), first.literals(), strict=True):
        text = text.replace(number, literal, 1) if number in text else f"{text} {literal}"
    yield from (name for name in draft.flags if name != "placeholders")
    if changes_placeholders(first.text, text):
        yield "placeholders"


def _said_once(draft: _Draft, unit: Unit, literals: Sequence[str]) -> _Draft:
    """The draft with the placeholder itself where the model repeats the number that stands for it."""
    stands_for, seen = dict(zip(unit.literals(), literals, strict=True)), set[str]()

    def once(found: re.Match[str]) -> str:
        is_again = found[0] in seen
        seen.add(found[0])
        return stands_for.get(found[0], found[0]) if is_again else found[0]

    text = re.sub(r"\d+", once, draft.text)
    put = tuple(found.span() for literal in literals for found in re.finditer(re.escape(literal), text))
    return draft if text == draft.text else _Draft(text, [Piece(0, len(unit.text), 0, len(text))], draft.flags, put)


def _placed(units: Sequence[Unit], drafts: Sequence[_Draft], align: Align | None) -> Iterator[Answer]:
    """Find the place of every mark; only sentences with something to place are aligned."""
    wanted = dict[tuple[int, Piece], tuple[str, str]]()  # by the number of a unit and a piece of it
    for number, (unit, draft) in enumerate(zip(units, drafts, strict=True)):
        placed = [mark for mark in unit.marks if not mark.is_break]
        for piece in draft.pieces:
            if any(mark.start <= piece.src_end and piece.src_start <= mark.end for mark in placed):
                source = unit.text[piece.src_start : piece.src_end]
                wanted[number, piece] = source, draft.text[piece.tgt_start : piece.tgt_end]
    known = _aligned(wanted, align)
    for number, (unit, draft) in enumerate(zip(units, drafts, strict=True)):
        spans: list[Span] = []
        if unit.marks:
            pieces = [(piece, known.get((number, piece))) for piece in draft.pieces]
            same = [*_same(unit, draft.text), *(((0, 0), span) for span in draft.put)]
            spans = place(unit.marks, linked(unit.text, draft.text, pieces, same), draft.pieces)
        yield draft.text, spans


def _same(unit: Unit, target: str) -> Iterator[tuple[Span, Span]]:
    """Where each placeholder stands in the text and in the translation, if both hold it equally often: in order."""
    sides = [unit.text, target]
    for source, literal in sorted(zip(unit.keep, unit.literals(), strict=True), key=lambda found: -len(found[1])):
        is_torn = source[0] not in _starts(literal, sides[0])
        src, tgt = (_starts(literal, side, is_torn=is_torn) for side in sides)
        if len(src) == len(tgt) and source[0] in src:
            starts, size = (source[0], tgt[src.index(source[0])]), len(literal)
            yield source, (starts[1], starts[1] + size)
            # `id` is not looked for inside of `user-id`.
            sides = [side[:at] + "\0" * size + side[at + size :] for side, at in zip(sides, starts, strict=True)]


def _starts(literal: str, text: str, *, is_torn: bool = False) -> list[int]:
    """Where something kept starts, and not in a word (unless it is torn from one): no variable `n` is in "and"."""
    found = [match.span() for match in re.finditer(re.escape(literal), text)]
    return [start for start, end in found if is_torn or (_EDGE.match(text, start) and _EDGE.match(text, end))]


def _aligned(wanted: Mapping[tuple[int, Piece], tuple[str, str]], align: Align | None) -> dict[tuple[int, Piece], Any]:
    """Alignments of pairs of texts; none where there is nothing to find out."""
    sides = {place: both for place, both in wanted.items() if both[0] != both[1] and both[1].strip()}
    if align is None or not sides:
        return {}
    try:
        found = align([source for source, _ in sides.values()], [target for _, target in sides.values()])
    except DataError:  # one is longer than the model has positions for
        alone = ({place: both} for place, both in sides.items() if len(sides) > 1)
        return {place: one for each in alone for place, one in _aligned(each, align).items()}
    return dict(zip(sides, found, strict=True))
