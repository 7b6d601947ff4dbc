"""Writing systems: which script a language is written in, and how much of a text is in it.

Blocks after the Unicode character database, scripts after CLDR's likely subtags. A language that is missing here,
or written in two scripts (Serbian, Kazakh), is never judged.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from yiwen.text.languages import base, meant

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a regular expression's brackets."""
_TABLE: Final = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8").replace("{HAN}", HAN)
SCRIPTS: Final[dict[str, list[str]]] = tomllib.loads(_TABLE)
"""Script -> [the inside of a regular expression's brackets, language codes]."""

UNSPACED_LETTERS: Final = SCRIPTS["Japanese"][0] + "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff"
"""Scripts that put no spaces between words: each letter counts as a word of its own."""

MARKS: Final = "".join(sign for sign in map(chr, range(0x20F1)) if unicodedata.category(sign)[0] == "M")
"""Vowel signs and accents, which belong to the letter before them; `\\w` leaves them out."""
VOWELS_BEFORE: Final = "เแโใไເແໂໃໄ"
"""Vowels of Thai and Lao that are written before the letter they belong to."""
SPACED_MARKS: Final = re.sub(f"[{UNSPACED_LETTERS}]", "", MARKS)
"""Those of scripts with spaces between words."""

_UNIT = re.compile(rf"[{UNSPACED_LETTERS}]|[^\W\d_{UNSPACED_LETTERS}]+")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
LETTER: Final = re.compile(r"[^\W\d_]")
"""Of any script."""


def is_unspaced(character: str) -> bool:
    """True for a character of a script that puts no blanks between words."""
    return _UNSPACED_LETTER.match(character) is not None


@lru_cache(1024)
def script_of(language: str) -> str | None:
    """The script that a language is written in, or None where that is unknown or not certain.

    >>> script_of("zh-Hant"), script_of("de-AT"), script_of("hi-Latn"), script_of("xx")
    ('Han', 'Latin', None, None)
    """
    is_usual = meant(language).partition("-")[2] in ("", "Hans", "Hant")
    scripts = (script for script, (_, languages) in SCRIPTS.items() if base(language) in languages.split())
    return next(scripts, None) if is_usual else None


def is_leftwards(language: str) -> bool:
    """True of a language that is known to be written from right to left: by its usual script or the one that is named.

    >>> [is_leftwards(code) for code in ("ar", "fa-IR", "he", "ku-Arab", "ar-Latn", "en", "xx", "")]
    [True, True, True, True, False, False, False, False]
    """
    return (script_of(language) or language[-4:]) in ("Arabic", "Hebrew", "Syriac", "Thaana", "NKo", "Arab", "Hebr")


def turns_leftwards(src_lang: str, tgt_lang: str) -> bool | None:
    """Whether a translation is written from right to left; None where the text is, too, or neither, or who knows.

    >>> turns_leftwards("en", "ar"), turns_leftwards("ar", "en"), turns_leftwards("ar", "he"), turns_leftwards("", "ar")
    (True, False, None, True)
    """
    is_same = is_leftwards(src_lang) == is_leftwards(tgt_lang) and src_lang != ""
    return None if is_same or not tgt_lang else is_leftwards(tgt_lang)


def script_share(text: str, script: str) -> float:
    """Share of the words that are in the script; a Chinese character or a Thai letter counts as a word.

    So a sentence that names a long identifier is not taken for a foreign one. Text without letters has share 1.

    >>> script_share("请参阅 concurrent.futures", "Han")
    0.6
    """
    letters = _letters(script)
    if (script == "Latin" and text.isascii()) or not LETTER.search(letters.sub("", text)):  # usual, and told quickly
        return 1.0
    units = _UNIT.findall(text)
    return sum(letters.match(unit) is not None for unit in units) / len(units)


@cache
def _letters(script: str) -> re.Pattern[str]:
    return re.compile(f"[{SCRIPTS[script][0]}]+")
