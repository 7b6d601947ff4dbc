"""What a document is here: a list of parts that nobody touches and of units, texts with marks inside.

A format is one function from text to such a list. Everything that is no text travels as the piece of source that it
is, so what is not translated comes back to the byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, groupby
from typing import Final, Literal, NamedTuple, cast

from yiwen.documents.kept import breaks_message, is_prose, kept
from yiwen.errors import DataError

Span = tuple[int, int]
Wrap = tuple[str, str]
Escape = Callable[[str], str]

DEEPEST: Final = 64
"""Formatting inside formatting; what lies deeper keeps its order and no longer its words."""
WORK: Final = 20_000_000
"""Characters of one unit times what is in it: more would take minutes to put back."""
CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
is_cjk: Final = re.compile(f"[{CJK}]").match
SENTENCE_END: Final = re.compile(r"[.!?。！？…:：;；][\"'”’」』)）]*\s*$")
_BLANK: Final = " \t\r\n\f"


class Token(NamedTuple):
    """A piece of running text as a format sees it."""

    kind: Literal["text", "open", "close", "point", "break"]
    """`break`: a line or a cue ends here, and the translation is cut there again; `point`: anything without text."""
    raw: str
    """The source."""
    text: str = ""
    """What a reader sees of it; of a `break`, what stays of it where no word is left for the other side; of a `close`,
    how it is written where what it closes has changed."""
    key: str = ""
    """An `open` ends with the `close` of the same key."""
    is_kept: bool = False
    """Text that is no prose: code."""
    wrap: Wrap = ("", "")
    """Goes around each piece of text inside, in formats whose formatting belongs to pieces of text."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something inside of a text: formatting around words, a code between them, or a break."""

    start: int
    end: int
    parent: int = -1
    """Number of the mark around it."""
    is_break: bool = False
    is_number: bool = False
    """It is around a number that stands for a placeholder, and replaces one word at most."""
    is_code: bool = False
    """What is inside is written as it was: `before` is all of it."""
    before: str = ""
    after: str = ""
    wrap: Wrap = ("", "")


@dataclass(frozen=True, slots=True)
class Unit:
    """A text to translate, and how its translation is written down."""

    text: str
    marks: tuple[Mark, ...] = ()
    keep: tuple[Span, ...] = ()
    """What of the text has to come out as it is."""
    raw: str | None = None
    """The source, which stays where the translation is the text itself; None: always written."""
    escape: Escape = str
    """Makes text safe in the format."""
    wrap: Wrap = ("", "")
    finish: Escape = str
    """Makes the whole what the format wants: quotes it, say."""

    def literals(self) -> list[str]:
        """The texts that have to come out as they are."""
        return [self.text[start:end] for start, end in self.keep]

    def with_stand_ins(self) -> Unit:
        """The same with a number for each of `keep`, which become its last marks."""
        numbers = (str(number) for number in count(7) if str(number) not in self.text)
        text, at = "", 0
        keep: list[Span] = []
        for (start, end), number in zip(self.keep, numbers, strict=False):
            text += self.text[at:start]
            keep.append((len(text), len(text) + len(number)))
            text, at = text + number, end
        ends = [end for _, end in self.keep]

        def moved(place: int) -> int:
            n = bisect_right(ends, place)
            return place + (keep[n - 1][1] - ends[n - 1] if n else 0)

        spans, numbered = [(moved(mark.start), moved(mark.end)) for mark in self.marks], set(keep)
        marks = [
            replace(mark, start=start, end=end, is_number=(start, end) in numbered)
            for mark, (start, end) in zip(self.marks, spans, strict=True)
        ]
        for start, end in keep:
            around = [n for n, m in enumerate(marks[: len(self.marks)]) if m.start <= start and end <= m.end]
            marks.append(Mark(start, end, around[-1] if around else -1, is_number=True))
        return Unit(text + self.text[at:], tuple(marks), tuple(keep))

    def check(self) -> None:
        """Refuse what would take minutes to put back.

        Raises:
            DataError: If there is too much inside of the text.
        """
        if len(self.text) * (len(self.marks) + len(self.keep) / 5) > WORK:  # what is kept mostly needs no place
            raise DataError(
                f"a paragraph of {len(self.text):,} characters holds {len(self.marks):,} marks and {len(self.keep):,} "
                f"placeholders; characters times marks may be {WORK:,}: split the paragraph"
            )

    def written(self, text: str, spans: Sequence[Sequence[int]]) -> str:
        """The source that says `text`, each mark where `spans` puts it."""
        if text == self.text and self.raw is not None:
            return self.raw

        def piece(wrap: Wrap, text: str) -> str:
            return f"{wrap[0]}{self.escape(text)}{wrap[1]}" if text else ""

        marks = list(self.marks)
        if len(spans) > len(marks):  # the translation holds numbers where placeholders belong
            for mark, literal in zip(self.with_stand_ins().marks[len(marks) :], self.literals(), strict=True):
                code = piece(self.marks[mark.parent].wrap if mark.parent >= 0 else self.wrap, literal)
                marks.append(replace(mark, is_code=True, before=code))
        children: dict[int, list[int]] = defaultdict(list)
        for number, mark in enumerate(marks):
            children[mark.parent].append(number)

        def inside(parent: int, wrap: Wrap, start: int, end: int) -> str:
            out, has_words, around = [""], start < end, ""
            for number in sorted(children[parent], key=lambda number: tuple(spans[number])):
                mark, (first, last) = marks[number], spans[number]
                out.append(piece(wrap, text[start:first]))
                sign = "" if mark.is_break or mark.is_code or first == last else mark.after
                if sign and mark.before == sign == around and not out[-1]:  # `**a****b**` marks nothing
                    out[-2:] = [out[-2].removesuffix(sign), inside(number, mark.wrap, first, last) + sign]
                elif mark.is_break:
                    is_between_words = not mark.before and text[:first][-1:].isalnum()
                    out.append(mark.after if first == len(text) else mark.before or text[first:last] * is_between_words)
                else:  # a code that took the place of no word stands between two, with all that is around it alone
                    is_apart = has_words and first == last and (mark.is_code or (mark.start, mark.end) in self.keep)
                    sides = (text[:first][-1:], text[last:][:1]) if is_apart else ("", "")
                    inner = "" if mark.is_code else inside(number, mark.wrap, first, last)
                    is_last = parent >= 0 and mark.start == mark.end and first == end  # no blank before `**`
                    after = mark.after.rstrip() if is_last else mark.after
                    out.append(f"{mark.before}{inner}{after}".join(" " * side.isalnum() for side in sides))
                start, around = last, sign
            return "".join([*out, piece(wrap, text[start:end])])

        return self.finish(inside(-1, self.wrap, 0, len(text)))


Part = str | Unit
"""What a document is a list of."""


def running(tokens: Iterable[Token | Part], units: Callable[[list[Token]], list[Part]]) -> list[Part]:
    """Running texts, as `units` makes parts of them, and what stands between, which comes as parts of its own."""
    out: list[Part] = []
    for group in (list(group) for _, group in groupby(tokens, key=lambda token: isinstance(token, Token))):
        out += units(cast(list[Token], group)) if isinstance(group[0], Token) else cast(list[Part], group)
    return out


def string_unit(tokens: Sequence[Token], finish: Escape, *, raw: str | None = None) -> list[Part]:
    """A whole string of a file as one unit, which `finish` quotes; nothing where there is nothing to translate."""
    match units_of(tokens):
        case [str(before), Unit() as unit, str(after)]:
            return [replace(unit, raw=raw, finish=lambda text: finish(f"{before}{text}{after}"))]
    return []


def units_of(
    tokens: Sequence[Token], *, escape: Escape = str, is_collapsed: bool = False, wrap: Wrap = ("", "")
) -> list[Part]:
    """Running text as at most one unit, and what stands before and after it.

    Formatting around the whole, blanks and codes at the edges stay outside, so that most units have no marks at all.

    Args:
        tokens: The running text.
        escape: Makes text safe in the format.
        is_collapsed: Blanks in a row count as one, as in HTML.
        wrap: Goes around each piece of text outside of marks.
    """
    tokens = _apart(tokens)
    partner = pairs(tokens)
    is_said = (token.kind == "text" and bool(token.text.strip(_BLANK)) for token in tokens)
    n_said = [0, *accumulate(is_said)]  # texts before each token
    first, last = 0, len(tokens) - 1

    def is_edge(number: int) -> bool:
        token = tokens[number]
        if token.kind == "text":
            return not token.text.strip(_BLANK)
        return number not in partner or n_said[number] == n_said[partner[number]]

    while first <= last and (is_edge(first) or is_edge(last) or (partner.get(first) == last and not tokens[last].text)):
        is_pair = not is_edge(first) and not is_edge(last)
        first, last = first + (is_edge(first) or is_pair), last - (not is_edge(first) or is_pair)
    lead, core, trail = tokens[:first], list(tokens[first : last + 1]), tokens[last + 1 :]
    before, after = ("".join(token.raw for token in side) for side in (lead, trail))
    if core and core[0].kind == "text":
        raw = core[0].raw.lstrip(_BLANK)
        before += core[0].raw[: len(core[0].raw) - len(raw)]
        core[0] = core[0]._replace(raw=raw, text=core[0].text.lstrip(_BLANK))
    if core and core[-1].kind == "text":
        raw = core[-1].raw.rstrip(_BLANK)
        after = core[-1].raw[len(raw) :] + after
        core[-1] = core[-1]._replace(raw=raw, text=core[-1].text.rstrip(_BLANK))
    raw = "".join(token.raw for token in core)
    text, marks, code = _assembled(core, {a - first: b - first for a, b in partner.items()}, is_collapsed)
    keep = tuple(sorted([*code, *kept(text, {edge for mark in marks for edge in (mark.start, mark.end)}, code)]))
    if not is_prose(text, keep) or breaks_message(text, keep):
        return [f"{before}{raw}{after}"]
    return [before, Unit(text, marks, keep, raw=raw, escape=escape, wrap=wrap), after]


def _apart(tokens: Sequence[Token]) -> list[Token]:
    """Tokens with a break between sentences that only tags set apart: a model would read of tea.He."""
    out: list[Token] = []
    end, place = "", 0
    for token in tokens:
        if token.kind == "text":
            if end and end in ".!?:;" and out[-1].kind != "text" and token.text[:1].isupper():
                out.insert(place, Token("break", ""))
            end = token.text[-1:]
        elif token.kind == "break":
            end = ""
        out.append(token)
        if token.kind in ("text", "close"):
            place = len(out)
    return out


def _assembled(
    tokens: Sequence[Token], partner: dict[int, int], is_collapsed: bool
) -> tuple[str, tuple[Mark, ...], list[Span]]:
    """The text of tokens, their marks and what is code."""
    pieces: list[str] = []
    length, end = 0, " "
    marks: list[Mark] = []
    code: list[Span] = []
    stack: list[int] = []  # numbers of the marks that are open
    for number, token in enumerate(tokens):
        parent = stack[-1] if stack else -1
        piece = token.text if token.kind == "text" else ""
        if is_collapsed:
            piece = re.sub(f"[{_BLANK}]+", " ", piece)
        if piece[:1] == " " == end:
            rest = piece[1:] if piece.strip() else ""
            if marks and marks[-1].start == marks[-1].end == length and not marks[-1].is_break:
                # A point between blanks takes one with it: a translation would not know of two.
                marks[-1] = replace(marks[-1], after=marks[-1].after + (" " if rest or is_collapsed else token.raw))
                piece = rest
            elif is_collapsed:
                piece = rest
        if token.kind == "break":
            piece = "" if is_cjk(end) else " "
            marks.append(Mark(length, length + len(piece), parent, is_break=True, before=token.raw, after=token.text))
        elif token.kind == "open" and number in partner:
            stack.append(len(marks))
            after = tokens[partner[number]].text or tokens[partner[number]].raw
            marks.append(Mark(length, length, parent, before=token.raw, after=after, wrap=token.wrap))
        elif token.kind == "close" and number in partner:
            opened = stack.pop()
            marks[opened] = replace(marks[opened], end=length)
        elif token.kind != "text":
            marks.append(Mark(length, length, parent, before=token.raw))
        if token.is_kept and piece.strip():
            first = length + len(piece) - len(piece.lstrip(_BLANK))
            code.append((first, first + len(piece.strip(_BLANK))))
            marks.append(Mark(*code[-1], parent, is_code=True, before=token.raw.strip(_BLANK)))
        pieces.append(piece)
        length, end = length + len(piece), piece[-1:] or end
    text = "".join(pieces)
    return text, tuple(_without_blanks(mark, text) for mark in marks), code


def _without_blanks(mark: Mark, text: str) -> Mark:
    """A mark that starts and ends at words."""
    inner = text[mark.start : mark.end]
    if mark.is_break or not inner.strip(_BLANK):
        return mark
    start = mark.start + len(inner) - len(inner.lstrip(_BLANK))
    return replace(mark, start=start, end=mark.end - len(inner) + len(inner.rstrip(_BLANK)))


def pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Which token opens what which other closes, in both directions; tags without a partner are left out."""
    partner: dict[int, int] = {}
    crossed: dict[str, int] = {}
    stack: list[int] = []
    n_open: dict[str, int] = defaultdict(int)
    for number, token in enumerate(tokens):
        if token.kind == "open" and len(stack) < DEEPEST:
            stack.append(number)
            n_open[token.key] += 1
        elif token.kind == "close" and n_open[token.key]:
            while (key := tokens[stack[-1]].key) != token.key:  # never closed, or later
                n_open[key] -= 1
                crossed[key] = number
                stack.pop()
            n_open[token.key] -= 1
            partner[number] = stack[-1]
            partner[stack.pop()] = number
        elif token.kind == "close" and token.key in crossed:  # <b>a<i>b</b>c</i>: none is a pair, all keep their order
            partner.pop(partner.pop(crossed.pop(token.key), -1), None)
    return partner
