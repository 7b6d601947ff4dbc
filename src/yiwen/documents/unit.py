"""What a document is here: a list of parts that nobody touches and of units, texts with marks inside.

A format is one function from text to such a list. Everything that is no text travels as the piece of source that it
is, so what is not translated comes back to the byte. `assembling` makes units of what a format finds, `writing` writes
their translations down.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, chain, count, islice, pairwise
from typing import Final, Literal, NamedTuple

from yiwen.errors import DataError

Span = tuple[int, int]
Wrap = tuple[str, str]
Escape = Callable[[str], str]

WORK: Final = 20_000_000
"""Characters of one unit times what is in it: more would take minutes to put back."""
CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
is_cjk: Final = re.compile(f"[{CJK}]").match
ends_cjk: Final = re.compile(f"[{CJK}，。！？；：、）】」』》]").match
"""Of the last character of a line: what follows in the next one stands there without a blank."""
SENTENCE_END: Final = re.compile(r"[.!?。！？…:：;；؟۔।॥։።♪♫][\"'”’」』)）]*\s*$")


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
    """Parents before their children."""
    keep: tuple[Span, ...] = ()
    """What of the text has to come out as it is."""
    raw: str = ""
    """The source, which stays where the translation is the text itself."""
    escape: Escape = str
    """Makes text safe in the format."""
    wrap: Wrap = ("", "")
    """Goes around each piece of text outside of marks."""
    finish: Escape = str
    """Makes the whole what the format wants: quotes it, say."""

    def literals(self) -> list[str]:
        """The texts that have to come out as they are."""
        return [self.text[start:end] for start, end in self.keep]

    def with_stand_ins(self) -> Unit:
        """The same with a number for each of `keep`, which become its last marks."""
        numbers = (str(number) for number in count(7) if str(number) not in self.text)
        edges = [0, *chain.from_iterable(self.keep), len(self.text)]
        parts = [self.text[start:end] for start, end in pairwise(edges)]
        parts[1::2] = islice(numbers, len(self.keep))
        starts = [0, *accumulate(map(len, parts))]
        keep = tuple(zip(starts[1:-1:2], starts[2:-1:2], strict=True))

        def moved(place: int) -> int:
            n = bisect_right(edges, place) - 1
            return starts[n] + place - edges[n]

        marks = [replace(mark, is_number=(mark.start, mark.end) in self.keep) for mark in self.marks]
        marks = [replace(mark, start=moved(mark.start), end=moved(mark.end)) for mark in marks]

        def around(start: int, end: int) -> int:
            return max((n for n, mark in enumerate(marks) if mark.start <= start and end <= mark.end), default=-1)

        marks += [Mark(*span, around(*span), is_number=True) for span in keep]
        return Unit("".join(parts), tuple(marks), keep)

    def check(self) -> None:
        """Refuse what would take minutes to put back.

        Raises:
            DataError: If there is too much inside of the text.
        """
        if len(self.text) * (len(self.marks) + len(self.keep) / 5) > WORK:  # what is kept mostly needs no place
            held = f"{len(self.marks):,} marks and {len(self.keep):,} placeholders"
            rule = f"characters times marks may be {WORK:,}: split the paragraph"
            raise DataError(f"a paragraph of {len(self.text):,} characters holds {held}; {rule}")


Part = str | Unit
"""What a document is a list of."""
Parser = Callable[[str], list[Part]]
Answer = tuple[str, list[Span]]
"""A translation and where the marks of its unit go."""
