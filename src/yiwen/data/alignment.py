"""Two files that should be parallel and are not: where did they begin to drift apart?

Translations have like lengths. If line k was lost on one side, lengths agree before k as they stand and after k with
one side shifted. The k that explains all lengths best is the likely place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from yiwen.data import lines
from yiwen.errors import DataError

_BREAKS: Final = (
    ("lone carriage return", re.compile(rb"\r")),
    ("NUL byte", re.compile(rb"\x00")),
    ("U+2028 or U+0085 line separator", re.compile(rb"\xe2\x80[\xa8\xa9]|\xc2\x85")),
    ("form feed or vertical tab", re.compile(rb"[\x0b\x0c]")),
)
"""What some other program takes for a line end, or chokes on, and we do not."""


class Side(NamedTuple):
    """What one file's lines look like."""

    lengths: np.ndarray
    """Bytes of each line, (N,)."""
    breaks: dict[str, tuple[int, int]]
    """Doubtful character -> (how many in the file, first line with one)."""


def unequal_sides(src_path: Path, tgt_path: Path) -> DataError:
    """The error for two files of unequal line counts, with the likely first place of drift."""
    src, tgt = survey(src_path), survey(tgt_path)
    n_src, n_tgt = len(src.lengths), len(tgt.lengths)
    shorter, short_path = (src, src_path) if n_src < n_tgt else (tgt, tgt_path)
    message = f"{src_path} has {n_src} lines and {tgt_path} has {n_tgt}: they must be equal"
    line = first_drift(src.lengths, tgt.lengths)
    if line > min(n_src, n_tgt):
        message += f"; they agree up to the last line of {short_path.name}, which seems to have been cut off"
    else:
        message += f"; judged by the lengths they drift apart from about line {line}, look there"
    for name, (count, first) in shorter.breaks.items():
        message += f"; {short_path.name} holds {count} x {name}, first in line {first}"
        message += " (just the number missing)" if count == abs(n_src - n_tgt) else ""
    return DataError(f"{message}; only LF ends a line here")


def survey(path: Path) -> Side:
    """Read a file once for its line lengths and doubtful characters."""
    lengths: list[np.ndarray] = []
    breaks: dict[str, tuple[int, int]] = {}
    for block in lines.blocks(lines.lines_of(path), 50_000):
        joined = b"\n".join(block)
        for name, pattern in _BREAKS:
            if found := [*pattern.finditer(joined)]:
                first = sum(map(len, lengths)) + joined.count(b"\n", 0, found[0].start()) + 1
                count, earlier = breaks.get(name, (0, first))
                breaks[name] = (count + len(found), earlier)
        lengths.append(np.fromiter(map(len, block), np.int32, len(block)))
    return Side(np.concatenate([np.zeros(0, np.int32), *lengths]), breaks)


def first_drift(src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> int:
    """The line, from 1, from which the sides' lengths agree only when one is shifted by the difference in count.

    Args:
        src_lengths: Bytes of each source line, (N,).
        tgt_lengths: Bytes of each target line, (M,), M != N.

    Returns:
        The line after which shifted is better than straight; min(N, M) + 1 where straight is best to the end.
    """
    if len(src_lengths) < len(tgt_lengths):
        src_lengths, tgt_lengths = tgt_lengths, src_lengths
    n = len(tgt_lengths)
    if n == 0:
        return 1
    longer, shorter = np.log1p(src_lengths.astype(np.float32)), np.log1p(tgt_lengths.astype(np.float32))
    middle = np.median(longer) - np.median(shorter)
    straight = np.minimum(np.abs(longer[:n] - shorter - middle), 1.0)
    shifted = np.minimum(np.abs(longer[-n:] - shorter - middle), 1.0)
    # cost(k) = straight before k, shifted from k on; smallest where the drift began
    cost = np.concatenate(([0.0], np.cumsum(straight - shifted, dtype=np.float64)))
    return int(np.argmin(cost)) + 1
