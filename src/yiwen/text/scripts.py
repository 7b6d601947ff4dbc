"""Writing systems: which script a language is written in, and how much of a text is in it.

Blocks after the Unicode character database, scripts after CLDR's likely subtags. A language that is missing here,
or written in two scripts (Serbian, Kazakh), is never judged.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from yiwen.errors import ConfigError
from yiwen.text.chinese import HAN
from yiwen.text.languages import base, canonical

_KANA = "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\ua720-\ua7ff"

SCRIPTS: Final[dict[str, tuple[str, str]]] = {
    "Latin": (
        _LATIN,
        "af az bs ca ceb cs cy da de en eo es et eu fi fil fo fr fy ga gd gl ha hr ht hu id ig is it jv la lb lt lv "
        "mg mi ms mt nb nl nn no oc pl pt qu rm ro sc sk sl sm sn so sq st su sv sw tl tn to tr tt-latn vi wo xh yo zu",
    ),
    "Han": (HAN, "zh yue lzh wuu cmn nan hak"),
    "Japanese": (HAN + _KANA, "ja"),
    "Korean": (HAN + _HANGUL, "ko"),
    "Cyrillic": ("\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f", "be bg ky mk ru tg uk ba ce cv os sah tt"),
    "Greek": ("\u0370-\u03ff\u1f00-\u1fff", "el grc"),
    "Arabic": ("\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefc", "ar arz fa ps ur ug ckb sd"),
    "Hebrew": ("\u0590-\u05ff\ufb1d-\ufb4f", "he yi"),
    "Armenian": ("\u0530-\u058f", "hy"),
    "Georgian": ("\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f", "ka"),
    "Devanagari": ("\u0900-\u097f\ua8e0-\ua8ff", "hi mr ne sa mai bho"),
    "Bengali": ("\u0980-\u09ff", "bn as"),
    "Gurmukhi": ("\u0a00-\u0a7f", "pa"),
    "Gujarati": ("\u0a80-\u0aff", "gu"),
    "Odia": ("\u0b00-\u0b7f", "or"),
    "Tamil": ("\u0b80-\u0bff", "ta"),
    "Telugu": ("\u0c00-\u0c7f", "te"),
    "Kannada": ("\u0c80-\u0cff", "kn"),
    "Malayalam": ("\u0d00-\u0d7f", "ml"),
    "Sinhala": ("\u0d80-\u0dff", "si"),
    "Thai": ("\u0e00-\u0e7f", "th"),
    "Lao": ("\u0e80-\u0eff", "lo"),
    "Tibetan": ("\u0f00-\u0fff", "bo dz"),
    "Burmese": ("\u1000-\u109f\uaa60-\uaa7f", "my"),
    "Khmer": ("\u1780-\u17ff", "km"),
    "Ethiopic": ("\u1200-\u139f", "am ti"),
}
"""Script -> (the inside of a regular expression's brackets, language codes)."""

UNSPACED_LETTERS: Final = HAN + _KANA + "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff"
"""Scripts that put no spaces between words: each letter counts as a word of its own."""

_UNIT = re.compile(rf"[{UNSPACED_LETTERS}]|[^\W\d_{UNSPACED_LETTERS}]+")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
_LETTER = re.compile(r"[^\W\d_]")


def is_unspaced(character: str) -> bool:
    """True for a character of a script that puts no blanks between words."""
    return _UNSPACED_LETTER.match(character) is not None


@cache
def script_of(language: str) -> str | None:
    """The script that a language is written in, or None where that is unknown or not certain.

    >>> script_of("zh-Hant"), script_of("de-AT"), script_of("hi-Latn"), script_of("xx")
    ('Han', 'Latin', None, None)
    """
    try:
        is_usual = canonical(language).partition("-")[2] in ("", "Hans", "Hant")
    except ConfigError:  # an invented language
        is_usual = True
    scripts = (script for script, (_, languages) in SCRIPTS.items() if base(language) in languages.split())
    return next(scripts, None) if is_usual else None


def script_share(text: str, script: str) -> float:
    """Share of the words that are in the script; a Chinese character or a Thai letter counts as a word.

    So a sentence that names a long identifier is not taken for a foreign one. Text without letters has share 1.

    >>> script_share("请参阅 concurrent.futures", "Han")
    0.6
    """
    if script == "Latin" and text.isascii():
        return 1.0
    letters = _letters(script)
    if not _LETTER.search(letters.sub("", text)):  # the usual case, told quickly
        return 1.0
    units = _UNIT.findall(text)
    return sum(letters.match(unit) is not None for unit in units) / len(units)


@cache
def _letters(script: str) -> re.Pattern[str]:
    return re.compile(f"[{SCRIPTS[script][0]}]+")
