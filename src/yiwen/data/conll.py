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
from typing import Final

from yiwen.data import lines
from yiwen.errors import DataError

_NO_WORD = re.compile(rb"#\s*(?:[\w.]+(?:\s+id)?\s*=|new(?:doc|par)\s*$|id\s)|-DOCSTART-|\d+[-.]\d+(?:\t.*){9}$")
_NOT_NAMED: Final = {("src", "tgt"): (0, -1), ("src", "src"): (0, 0)}
"""The columns where nobody named any: the first and the last; of text alone both sides are the first."""


def read_conll(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[lines.Columns]:
    """Sentences as (words, tags) in lists of `size`; the first and the last column unless columns have numbers.

    A line without a tag makes its sentence torn: one tag is missing, which is counted where pairs are cleaned.
    """
    columns = src_column, tgt_column
    if columns in _NOT_NAMED:
        src_index, tgt_index = _NOT_NAMED[columns]
    elif all(column.isdecimal() and column != "0" for column in columns):
        src_index, tgt_index = (int(column) - 1 for column in columns)
    else:
        raise DataError(
            f"{path}: columns of a CoNLL file have no names; give their numbers from 1 instead of {src_column!r} and "
            f"{tgt_column!r}, or none for the first and the last"
        )
    for block in lines.blocks(_sentences(lines.lines_of(path)), size):
        yield [_column(rows, src_index) for rows in block], [_column(rows, tgt_index) for rows in block]


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
    least = 2 if index == -1 else index + 1  # cells of such a line
    return b" ".join(row[index] for row in rows if len(row) >= least)
