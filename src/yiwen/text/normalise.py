"""Normalisation: one line of text in, one line of clean Unicode out, for training and translating alike.

Unicode NFC (UAX #15) and spaces, no more: case, full-width punctuation, quotes and digits stay as they are,
because a translator has to write them too.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from yiwen.errors import ConfigError

_SPACES = "".join(char for char in map(chr, range(0x3001)) if char.isspace() and char != " ")
"""Every space and line break of Unicode but U+0020."""

_INVISIBLE = (
    "\u00ad\u061c\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\ufff9\ufffa\ufffb"  # format characters
    + "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x2070))))  # bidirectional overrides and isolates
    + "".join(map(chr, (*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0))))  # controls
    + "".join(map(chr, range(0xFDD0, 0xFDF0)))  # noncharacters, for internal use: `subword` uses one
    + "".join(chr(plane + low) for plane in range(0, sys.maxunicode, 0x10000) for low in (0xFFFE, 0xFFFF))
)
"""Removed: they show nothing and mean nothing in a sentence. What shapes letters stays: the joiners
U+200C and U+200D (Persian, emoji), U+180E (Mongolian)."""

_TABLE = (
    dict.fromkeys(map(ord, _SPACES), " ")
    | dict.fromkeys(map(ord, _INVISIBLE), "")
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates cannot be written as UTF-8
)
_MANY_SPACES = re.compile(" {2,}")


def normalise(text: str) -> str:
    """Compose the characters (NFC), turn every kind of space into single U+0020, drop what cannot be seen.

    The result holds no control character and no line break, and neither begins nor ends with a space.
    Applying it twice changes nothing more.

    >>> normalise(" Cafe\\u0301\\u3000au\\u00a0lait。\\r")
    'Café au lait。'
    """
    if not text.isprintable():  # true of every text without a character of the table, and quick
        text = text.translate(_TABLE)
    text = unicodedata.normalize("NFC", text)
    if "  " in text:
        text = _MANY_SPACES.sub(" ", text)
    return text.strip(" ")


def normalise_with_spans(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """`normalise`, and for each character of the result the place in the text that it came from.

    >>> normalise_with_spans(" e\\u0301  a")
    ('é a', [(1, 3), (3, 4), (5, 6)])
    """
    if normalise(text) == text:
        return text, [(i, i + 1) for i in range(len(text))]
    clusters: list[tuple[str, int, int]] = []
    for i, original in enumerate(text):
        char = original.translate(_TABLE)
        if clusters and char and _joins(clusters[-1][0], char):
            before, start, _ = clusters.pop()
            clusters.append((before + char, start, i + 1))
        elif char:
            clusters.append((char, i, i + 1))
    composed = [(char, (i, j)) for cluster, i, j in clusters for char in unicodedata.normalize("NFC", cluster)]
    lasts = [" ", *(char for char, _ in composed)]
    kept = [(char, span) for (char, span), last in zip(composed, lasts, strict=False) if char != " " or last != " "]
    if kept and kept[-1][0] == " ":
        kept.pop()
    return "".join(char for char, _ in kept), [span for _, span in kept]


def _joins(cluster: str, char: str) -> bool:
    """Whether composing changes what stands on both sides of the border between a cluster and the next character."""
    if unicodedata.combining(unicodedata.normalize("NFD", char)[0]):
        return True
    apart = unicodedata.normalize("NFC", cluster) + unicodedata.normalize("NFC", char)
    return unicodedata.normalize("NFC", cluster + char) != apart


def as_texts(values: Any, taker: str) -> list[str]:
    """Texts as they come, in a list, an array, a generator or a column of a data frame.

    Args:
        values: What was given.
        taker: Who takes it, for the message.

    Raises:
        ConfigError: If it is something else.
    """
    is_table = isinstance(values, str | Mapping | set | frozenset)  # in no order, or names instead of texts
    is_table |= hasattr(values, "columns") or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1
    texts: list[Any] = []
    if not is_table:  # the texts that a column of Arrow gives one by one are no str
        texts = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    wrong = next((f"; item {n} is {text!r:.60}" for n, text in enumerate(texts) if not isinstance(text, str)), "")
    if is_table or wrong:
        remedy = f"give a column of strings, not a table, a set or a single text{wrong}"
        raise ConfigError(f"{taker} takes a list of texts; {remedy}")
    return texts
