"""What a document is here: a list of parts that nobody touches and of units, texts with marks inside.

A format is one function from text to such a list. Everything that is no text travels as the piece of source that it
is, so what is not translated comes back to the byte.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from yiwen.errors import DataError

Span = tuple[int, int]
Wrap = tuple[str, str]


DEEPEST: Final = 64
"""Formatting inside formatting; what lies deeper keeps its order and no longer its words."""
WORK: Final = 20_000_000
"""Characters of one unit times what is in it: more would take minutes to put back."""
_BLANK: Final = " \t\r\n\f"
CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
is_cjk: Final = re.compile(f"[{CJK}]").match

SENTENCE_END: Final = re.compile(r"[.!?。！？…:：;；][\"'”’」』)）]*\s*$")
KEEP: Final = re.compile(
    r"""(?:https?|ftp)://[^\s<>"'）】」，。；]*[^\s<>"'）】」，。；.,;:!?)]
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                    # an address
    | \$?\{\{[^{}]*\}\} | \$\{[^{}]*\} | %\{[^{}]*\}
    | \{[^{}\s,]*\} | \{\w+,\s*\w+(?:,(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)?\}   # {name}; ICU {n, plural, one {# x}}
    | %(?:\(\w+\)|\d+\$)?[-+0]*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcsp@](?!\w)
    | %%
    | &(?:\w+|\#\d+|\#x[0-9a-fA-F]+);""",
    re.VERBOSE,
)
"""Parts of a text that have to come out as they went in: addresses, placeholders, entities of another language."""


class Token(NamedTuple):
    """A piece of running text as a format sees it."""

    kind: Literal["text", "open", "close", "point", "break"]
    """`break`: a line or a cue ends here, and the translation is cut there again; `point`: anything without text."""
    raw: str
    """The source."""
    text: str = ""
    """What a reader sees of it; of a `break`, what stays of it where no word is left for the other side."""
    key: str = ""
    """An `open` ends with the `close` of the same key."""
    is_kept: bool = False
    """Text that is no prose: code."""
    wrap: Wrap = ("", "")
    """Goes around each piece of text inside, in formats whose formatting belongs to pieces of text."""


@dataclass(frozen=True)
class Mark:
    """Something inside of a text: formatting around words, a code between them, or a break."""

    start: int
    end: int
    parent: int = -1
    """Number of the mark around it."""
    is_break: bool = False
    before: str = ""
    after: str = ""
    wrap: Wrap = ("", "")


@dataclass(frozen=True)
class Unit:
    """A text to translate, and how its translation is written down."""

    text: str
    marks: tuple[Mark, ...] = ()
    keep: tuple[Span, ...] = ()
    """What of the text has to come out as it is."""
    raw: str | None = None
    """The source, which stays where the translation is the text itself; None: always written."""
    escape: Callable[[str], str] = str
    """Makes text safe in the format."""
    wrap: Wrap = ("", "")
    finish: Callable[[str], str] = str
    """Makes the whole what the format wants: quotes it, say."""

    def check(self) -> None:
        """Refuse what would take minutes to put back.

        Raises:
            DataError: If there is too much inside of the text.
        """
        inside = len(self.marks) + len(self.keep) / 50  # what is kept is only searched for
        if len(self.text) * inside > WORK:
            raise DataError(
                f"a paragraph of {len(self.text):,} characters holds {len(self.marks):,} marks and {len(self.keep):,} "
                f"placeholders; characters times marks may be {WORK:,}: split the paragraph"
            )

    def written(self, text: str, spans: Sequence[Span]) -> str:
        """The source that says `text`, each mark where `spans` puts it."""
        if text == self.text and self.raw is not None:
            return self.raw
        children: dict[int, list[int]] = defaultdict(list)
        for number, mark in enumerate(self.marks):
            children[mark.parent].append(number)

        def piece(wrap: Wrap, start: int, end: int) -> str:
            return f"{wrap[0]}{self.escape(text[start:end])}{wrap[1]}" if start < end else ""

        def inside(parent: int, wrap: Wrap, start: int, end: int) -> str:
            out = []
            for number in sorted(children[parent], key=lambda number: spans[number]):
                mark, (first, last) = self.marks[number], spans[number]
                out.append(piece(wrap, start, first))
                if mark.is_break:
                    out.append(mark.after if first == len(text) else mark.before)
                else:
                    out += [mark.before, inside(number, mark.wrap, first, last), mark.after]
                start = last
            return "".join([*out, piece(wrap, start, end)])

        return self.finish(inside(-1, self.wrap, 0, len(text)))


Part = str | Unit
"""What a document is a list of."""


def is_prose(text: str, keep: Iterable[Span] = ()) -> bool:
    """True where there is a letter to translate."""
    at = 0
    for start, end in (*sorted(keep), (len(text), 0)):
        if any(character.isalpha() for character in text[at:start]):
            return True
        at = max(at, end)
    return False


def kept(text: str) -> tuple[Span, ...]:
    """What of a text has to come out as it is."""
    return tuple(match.span() for match in KEEP.finditer(text))


def string_unit(tokens: Sequence[Token], finish: Callable[[str], str], *, raw: str | None = None) -> list[Part]:
    """A whole string of a file as one unit, which `finish` quotes; nothing where there is nothing to translate."""
    parts = units_of(tokens)
    number = next((number for number, part in enumerate(parts) if isinstance(part, Unit)), -1)
    if number < 0:
        return []
    lead, unit, trail = parts[:number], parts[number], parts[number + 1 :]
    before, after = ("".join(map(str, side)) for side in (lead, trail))
    assert isinstance(unit, Unit)
    return [replace(unit, raw=raw, finish=lambda text: finish(f"{before}{text}{after}"))]


def running(
    tokens: Iterable[Token | str], *, escape: Callable[[str], str] = str, is_collapsed: bool = False
) -> list[Part]:
    """Running texts and what stands between them, which comes as strings."""
    out: list[Part] = []
    text: list[Token] = []
    for token in (*tokens, ""):
        if isinstance(token, Token):
            text.append(token)
        else:
            out += [*units_of(text, escape=escape, is_collapsed=is_collapsed), token]
            text = []
    return out


def units_of(
    tokens: Sequence[Token],
    *,
    escape: Callable[[str], str] = str,
    is_collapsed: bool = False,
    wrap: Wrap = ("", ""),
) -> list[Part]:
    """Running text as at most one unit, and what stands before and after it.

    Formatting around the whole, blanks and codes at the edges stay outside, so that most units have no marks at all.

    Args:
        tokens: The running text.
        escape: Makes text safe in the format.
        is_collapsed: Blanks in a row count as one, as in HTML.
        wrap: Goes around each piece of text outside of marks.

    """
    partner = _pairs(tokens)
    first, last = 0, len(tokens) - 1

    def is_edge(number: int) -> bool:
        return (tokens[number].kind != "text" and number not in partner) or _is_blank(tokens[number])

    while first <= last:
        if is_edge(first):
            first += 1
        elif is_edge(last):
            last -= 1
        elif partner.get(first) == last:
            first, last = first + 1, last - 1
        else:
            break
    lead, core, trail = (tokens[:first], list(tokens[first : last + 1]), tokens[last + 1 :])
    sides = ["".join(token.raw for token in side) for side in (lead, trail)]
    if not core:
        return [side for side in sides if side]
    if core[0].kind == "text":
        blank, core[0] = _stripped(core[0], is_left=True)
        sides[0] += blank
    if core[-1].kind == "text":
        blank, core[-1] = _stripped(core[-1], is_left=False)
        sides[1] = blank + sides[1]
    raw = "".join(token.raw for token in core)
    text, marks, code = _assembled(core, {a - first: b - first for a, b in partner.items()}, is_collapsed)
    keep = tuple(
        sorted({*code, *(span for span in kept(text) if not any(a < span[1] and span[0] < b for a, b in code))})
    )
    if not is_prose(text, keep):
        return [sides[0] + raw + sides[1]]
    unit = Unit(text, marks, keep, raw=raw, escape=escape, wrap=wrap)
    return [part for part in (sides[0], unit, sides[1]) if part != ""]


def _assembled(
    tokens: Sequence[Token], partner: dict[int, int], is_collapsed: bool
) -> tuple[str, tuple[Mark, ...], list[Span]]:
    """The text of tokens, their marks and what is code."""
    pieces: list[str] = []
    length, end = 0, " "
    marks: list[Mark] = []
    code: list[Span] = []
    stack: list[int] = []  # numbers of the marks that are open
    closing: dict[int, int] = {}  # closing token -> mark

    def add(piece: str) -> None:
        nonlocal length, end
        if piece:
            pieces.append(piece)
            length, end = length + len(piece), piece[-1]

    for number, token in enumerate(tokens):
        parent = stack[-1] if stack else -1
        if token.kind == "text":
            piece = token.text
            if is_collapsed:
                piece = re.sub(f"[{_BLANK}]+", " ", piece)
                if piece[:1] == " " == end:
                    piece = piece[1:]
                    if marks and marks[-1].start == marks[-1].end == length and not marks[-1].is_break:
                        marks[-1] = replace(marks[-1], before=f"{marks[-1].before} ")  # a blank on each side of a point
            if token.is_kept and piece.strip():
                code.append((length, length + len(piece.rstrip())))
            add(piece)
        elif token.kind == "break":
            start = length
            add("" if is_cjk(end) else " ")
            marks.append(Mark(start, length, parent, is_break=True, before=token.raw, after=token.text))
        elif token.kind == "open" and number in partner:
            closing[partner[number]] = len(marks)
            stack.append(len(marks))
            marks.append(
                Mark(length, length, parent, before=token.raw, after=tokens[partner[number]].raw, wrap=token.wrap)
            )
        elif token.kind == "close" and number in closing:
            mark = marks[stack.pop()]
            marks[closing[number]] = Mark(
                mark.start, length, mark.parent, before=mark.before, after=mark.after, wrap=mark.wrap
            )
        else:
            marks.append(Mark(length, length, parent, before=token.raw))
    text = "".join(pieces)
    return text, tuple(_without_blanks(mark, text) for mark in marks), code


def _without_blanks(mark: Mark, text: str) -> Mark:
    """A mark that starts and ends at words."""
    inner = text[mark.start : mark.end]
    if mark.is_break or not inner.strip(_BLANK):
        return mark
    start = mark.start + len(inner) - len(inner.lstrip(_BLANK))
    end = mark.end - len(inner) + len(inner.rstrip(_BLANK))
    return Mark(start, end, mark.parent, before=mark.before, after=mark.after, wrap=mark.wrap)


def _is_blank(token: Token) -> bool:
    return token.kind == "text" and not token.text.strip(_BLANK)


def _stripped(token: Token, *, is_left: bool) -> tuple[str, Token]:
    """The blanks at one side of a text, and the rest."""
    raw, text = (part.lstrip(_BLANK) if is_left else part.rstrip(_BLANK) for part in (token.raw, token.text))
    blank = token.raw[: len(token.raw) - len(raw)] if is_left else token.raw[len(raw) :]
    return blank, token._replace(raw=raw, text=text)


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Which token opens what which other closes, in both directions; tags without a partner are left out."""
    partner: dict[int, int] = {}
    stack: list[int] = []
    n_open: dict[str, int] = defaultdict(int)
    for number, token in enumerate(tokens):
        if token.kind == "open" and len(stack) < DEEPEST:
            stack.append(number)
            n_open[token.key] += 1
        elif token.kind == "close" and n_open[token.key]:
            while tokens[stack[-1]].key != token.key:  # never closed
                n_open[tokens[stack.pop()].key] -= 1
            n_open[token.key] -= 1
            partner[number] = stack[-1]
            partner[stack.pop()] = number
    return partner
