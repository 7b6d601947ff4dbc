"""How the translation of a unit is written down: its text escaped, and each mark where it goes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from yiwen.documents.unit import Answer, Mark, Part, Unit, Wrap

_SIGN: Final = r"(?:_|[^\w\s*])"
_UNMARKED: Final = re.compile(rf"[\w*]\0(?:\*+{_SIGN}|~~[^\w\s~])|(?:{_SIGN}\*+|[^\w\s~]~~)\0[\w*]|!\0\[[^\[^]|`\0`")
"""Stars of Markdown beside a sign, which mark nothing where a word touches them (CommonMark); ! of a link; code."""
_ALONE: Final = re.compile(r"""[\s("'\[{“«][^\w\s]""")
"""What stands around a point that is a word of its own, before a sign."""


def all_written(parts: Iterable[Part], answers: Iterator[Answer]) -> str:
    """The source of parts, of each unit with the next of the answers."""
    return "".join(_written(part, *next(answers)) if isinstance(part, Unit) else part for part in parts)


def _written(unit: Unit, text: str, spans: Sequence[Sequence[int]]) -> str:
    """The source of a unit that says `text`.

    Args:
        unit: The unit.
        text: Its translation.
        spans: Where each mark stands in that; of a unit with stand-ins, these too.
    """
    if text == unit.text:
        return unit.raw
    marks = [*unit.marks]
    if len(spans) > len(marks):  # the translation holds numbers where placeholders belong
        for mark, literal in zip(unit.with_stand_ins().marks[len(unit.marks) :], unit.literals(), strict=True):
            wrap = unit.marks[mark.parent].wrap if mark.parent >= 0 else unit.wrap
            marks.append(replace(mark, is_code=True, before=_wrapped(unit, literal, wrap)))
    children: dict[int, list[int]] = defaultdict(list)
    for number in sorted(range(len(marks)), key=lambda number: tuple(spans[number])):
        children[marks[number].parent].append(number)
    return unit.finish(_Writing(unit, text, marks, spans, children).inside(-1, unit.wrap, 0, len(text)))


def _wrapped(unit: Unit, text: str, wrap: Wrap) -> str:
    return f"{wrap[0]}{unit.escape(text)}{wrap[1]}" if text else ""


def _joined(parts: Sequence[str]) -> str:
    """All parts, with a blank between a word and stars that would mark nothing beside it."""
    neighbours = pairwise(["", *filter(None, parts)])
    return "".join(f" {part}" if _UNMARKED.search(f"{last[-5:]}\0{part[:5]}") else part for last, part in neighbours)


@dataclass(frozen=True)
class _Writing:
    """A translation and where the marks are in it."""

    unit: Unit
    text: str
    marks: Sequence[Mark]
    spans: Sequence[Sequence[int]]
    children: dict[int, list[int]]
    """Numbers of the marks directly inside of a mark, or of none (-1), in the order in which they are written."""

    def inside(self, parent: int, wrap: Wrap, start: int, end: int) -> str:
        """What is written from start to end: all that a mark holds, or the whole (-1)."""
        out, at, closing = list[str](), start, ""  # and how the formatting ends that was written last
        for number in self.children[parent]:
            mark, (first, last) = self.marks[number], self.spans[number]
            between = _wrapped(self.unit, self.text[at:first], wrap)
            source = self._break(mark, first, last) if mark.is_break else self._marked(number, start, end)
            is_formatting = first < last and not mark.is_break  # nothing stands behind code
            if is_formatting and not between and mark.before == mark.after == closing != "":
                out[-1] = out[-1].removesuffix(closing) + source.removeprefix(closing)  # `**a****b**` marks nothing
            else:
                out += [between, source]
            at, closing = last, mark.after if is_formatting else ""
        return _joined([*out, _wrapped(self.unit, self.text[at:end], wrap)])

    def _marked(self, number: int, start: int, end: int) -> str:
        """A mark with all that it holds; what is around it holds [start, end)."""
        mark, (first, last) = self.marks[number], self.spans[number]
        inner = "" if mark.is_code else self.inside(number, mark.wrap, first, last)
        # No blank stands before `**`, nor `**` around nothing.
        is_last = mark.parent >= 0 and first == end and number == self.children[mark.parent][-1]
        after = mark.after.rstrip() if is_last else mark.after
        source = f"{mark.before}{inner}{after}" if inner or mark.before != after else ""
        is_alone = mark.start == mark.end > 0 and source and _ALONE.match(self.unit.text, mark.start - 1)
        is_word = mark.is_code or is_alone or (mark.start, mark.end) in self.unit.keep
        took_no_word = is_word and first == last and start < end
        return self._between_words(source, start, first, end) if took_no_word else source

    def _break(self, mark: Mark, first: int, last: int) -> str:
        if first == len(self.text):
            return mark.after
        blank = self.text[first:last] if self.text[:first][-1:].isalnum() else ""
        return mark.before or blank  # a break that the source has not is one between words alone

    def _between_words(self, source: str, start: int, at: int, end: int) -> str:
        """Source with a blank on each side where a word of [start, end) touches it."""
        before, behind = (" " if side.isalnum() else "" for side in (self.text[start:at][-1:], self.text[at:end][:1]))
        return f"{before}{source.removeprefix(before).removesuffix(behind)}{behind}"
