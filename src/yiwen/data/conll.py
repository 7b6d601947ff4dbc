"""The CoNLL form: a word a line with its tag in another column, sentences separated by an empty line.

A sentence is handed on as its words with blanks between them, and its tags likewise. `-DOCSTART-` lines and comments
of the form `# key = value`, `# id ...`, `# newdoc` and `# newpar` are no words, nor is any other line with `#` and
without a tab among lines with tabs, nor what CoNLL-U has beside its words: ranges of several (3-4) and nodes without
text (8.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from yiwen.data import lines
from yiwen.errors import DataError

_NO_WORD = re.compile(rb"#\s*(?:[\w.]+(?:\s+id)?\s*=|new(?:doc|par)\s*$|id\s)|-DOCSTART-|\d+[-.]\d+(?:\t.*){9}$")


def read_conll(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[lines.Columns]:
    """Sentences as (words, tags) in lists of `size`; the first and the last column unless columns have numbers.

    A line without a tag makes its sentence torn: one tag is missing, which is counted where pairs are cleaned.
    """
    given = src_column, tgt_column  # if not named, the first and the last; of text alone both sides are the first
    numbers = {("src", "tgt"): ("1", "0"), ("src", "src"): ("1", "1")}.get(given, given)
    if "0" in given or not all(number.isdecimal() for number in numbers):
        remedy = f"give numbers from 1 instead of {src_column!r} and {tgt_column!r}, or none for the first and the last"
        raise DataError(f"{path}: columns of a CoNLL file have no names; {remedy}")
    for block in lines.blocks(_sentences(lines.lines_of(path)), size):
        src, tgt = (int(number) - 1 for number in numbers)
        yield [_column(rows, src) for rows in block], [_column(rows, tgt) for rows in block]


def _sentences(stream: Iterator[bytes]) -> Iterator[list[list[bytes]]]:
    rows = (line for line in stream if not _NO_WORD.match(line))
    for is_empty, sentence in groupby(rows, key=lambda line: not line.strip()):
        if not is_empty:
            words = [*sentence]
            if any(b"\t" in line for line in words):
                words = [line for line in words if b"\t" in line or line[:1] != b"#"]
            yield [line.split(b"\t") if b"\t" in line else line.split() for line in words]


def _column(rows: list[list[bytes]], index: int) -> bytes:
    """What stands in a column, -1 being the last, of the lines that have it; a word alone has no last column."""
    return b" ".join(row[index] for row in rows if max(index, 1) < len(row) or index == 0)
