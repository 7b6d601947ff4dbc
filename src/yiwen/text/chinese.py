"""What is particular to Chinese (and Japanese and Korean) characters: which they are and how wide they stand."""

from __future__ import annotations

import re

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a regular expression's brackets."""

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_WIDE = re.compile(
    f"[{HAN}\u1100-\u115f\u3000-\u30ff\u3100-\u31ff\u3200-\u33ff\ua960-\ua97f\uac00-\ud7a3\uff01-\uff60]"
)


def is_han(character: str) -> bool:
    """True for a Chinese character (one used in Japanese or Korean too)."""
    return _HAN_CHARACTER.fullmatch(character) is not None


def visual_length(text: str) -> int:
    """Columns that a terminal gives the text: two for a Chinese, Japanese or Korean character, one for any other.

    A Chinese character says about as much as half an English word, so texts in the two languages have like visual
    lengths, where words or characters have not.

    >>> visual_length("你好 world")
    10
    """
    if text.isascii():
        return len(text)
    return len(text) + len(_WIDE.findall(text))
