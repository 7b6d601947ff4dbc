"""Cleaning: which pairs of a corpus are not worth learning from, one pure predicate for each reason.

The predicates look at one normalised pair. Duplicates and pairs that overlap with the held-out text need the whole
corpus and are found in `data.split`. The faults are those that harm most in Khayrallah and Koehn 2018: copied
source, wrong language, misaligned and broken text. The defaults leave clean corpora alone.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from yiwen.config import check_bounds
from yiwen.errors import ConfigError
from yiwen.text.chinese import visual_length
from yiwen.text.languages import CHINESE, base, canonical
from yiwen.text.scripts import MARKS, script_of, script_share

_ENTITY = r"&(?:[A-Za-z]{2,8}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});"
_TAGS = [re.compile(rf"</?{letter}[^<>]*>|{_ENTITY}") for letter in ("[A-Za-z]", r"[^\W\d_]")]
"""Tags of HTML, and what looks like one in any script."""
_TOLD = re.compile(r"\A<2[\w-]+>(?: |\Z)")
"""What tells a model something, such as <2de> or <2bt>, and is no text."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SPACES_AND_DIGITS = re.compile(rf"[\s\d{MARKS}]+")
_ASCII_LETTERS = string.ascii_letters.encode()
_ASCII_SPACES_AND_DIGITS = f"{string.whitespace}{string.digits}".encode()

Check = Callable[[str, str], bool]
"""True where the pair (src, tgt) has the fault."""


@dataclass(frozen=True, kw_only=True)
class CleaningConfig:
    """Which pairs are dropped before training. Each is counted, with examples, in the report."""

    min_length: int = 1
    """Least length of a side, in columns (a Chinese character has two)."""
    max_length: int = 5000
    """Greatest length of a side, in columns."""
    max_ratio: float = 4.0
    """Greatest ratio between the sides' lengths in columns, each plus 8 to spare short pairs; 0 = any."""
    max_repeats: int = 12
    """Greatest number of times that a character other than a digit may occur in a row; 0 = any."""
    min_letters: float = 0.3
    """Least share of letters in a side, spaces and digits not counted; 0 = any, also none."""
    min_script: float = 0.2
    """Least share of words in the script of the side's language, where that is known; 0 = any."""
    drop_copied: bool = True
    """Drop pairs whose sides are the same but for case (not where both languages are the same or kinds of Chinese)."""
    drop_markup: bool = True
    """Drop pairs with HTML tags or entities unless both sides hold the same number of them."""
    drop_duplicates: bool = True
    """Keep only the first of equal pairs."""

    def __post_init__(self) -> None:
        check_bounds(
            "data.cleaning.",
            self,
            ("min_length", 1, math.inf, "1 or more"),
            ("max_length", self.min_length, math.inf, f"as much as min_length={self.min_length} or more"),
            ("max_repeats", 0, math.inf, "0 (any number) or more, say 12"),
            ("min_letters min_script", 0, 1, "a share, 0 (off) to 1, say 0.2"),
        )
        if self.max_ratio != 0 and not self.max_ratio >= 1:
            raise ConfigError(f"data.cleaning.max_ratio is {self.max_ratio}; use 0 (any ratio) or 1 or more, say 4")


def checks(config: CleaningConfig, *, src_lang: str, tgt_lang: str) -> tuple[tuple[str, Check], ...]:
    """The checks that the config asks for, as (reason, predicate), in the order in which they are tried."""
    scripts = script_of(src_lang), script_of(tgt_lang)
    src, tgt = (code and canonical(code) for code in (src_lang, tgt_lang))
    may_be_copied = src == tgt or {base(src), base(tgt)} <= CHINESE
    # To ask for two alike first, and for a digit last, takes half the time of ([^\s\d])\1{n}.
    repeated = re.compile(rf"(\S)(?=\1)\1{{{config.max_repeats}}}(?<!\d)")
    in_wrong_script = partial(is_script_wrong, scripts=scripts, least=config.min_script)
    known: list[tuple[str, bool, Check]] = [
        ("empty side", True, lambda src, tgt: not src or not tgt),
        ("length", True, partial(is_length_wrong, least=config.min_length, greatest=config.max_length)),
        ("repeated characters", config.max_repeats > 0, lambda src, tgt: bool(repeated.search(f"{src}\n{tgt}"))),
        ("too few letters", config.min_letters > 0, partial(has_few_letters, least=config.min_letters)),
        ("copied source", config.drop_copied and not may_be_copied, is_copied),
        ("markup", config.drop_markup, has_markup),
        ("wrong script", config.min_script > 0 and any(scripts), in_wrong_script),
        ("length ratio", config.max_ratio > 0, partial(is_ratio_wrong, greatest=config.max_ratio)),
    ]
    return tuple((reason, has_fault) for reason, is_wanted, has_fault in known if is_wanted)


def fault_of(src: str, tgt: str, active: tuple[tuple[str, Check], ...]) -> str | None:
    """The first reason to drop the pair, or None for a good one. A tag such as <2de> before a text is not judged."""
    src, tgt = _TOLD.sub("", src), _TOLD.sub("", tgt)
    return next((reason for reason, has_fault in active if has_fault(src, tgt)), None)


def is_length_wrong(src: str, tgt: str, *, least: int, greatest: int) -> bool:
    """True where a side is shorter than `least` or longer than `greatest` columns."""
    shorter, longer = sorted((visual_length(src), visual_length(tgt)))
    return shorter < least or longer > greatest


def is_ratio_wrong(src: str, tgt: str, *, greatest: float) -> bool:
    """True where one side is more than `greatest` times as long as the other, 8 columns added to each.

    >>> is_ratio_wrong("Hi!", "Guten Tag, mein Herr!", greatest=4.0)  # 29 / 11
    False
    """
    shorter, longer = sorted((visual_length(src), visual_length(tgt)))
    return longer + 8 > greatest * (shorter + 8)


def has_few_letters(src: str, tgt: str, *, least: float) -> bool:
    """True where a side is mostly signs, or has no letter at all. Spaces and digits are not counted."""
    return _letter_share(src) < least or _letter_share(tgt) < least


def is_copied(src: str, tgt: str) -> bool:
    """True where nothing was translated: the sides differ at most in case."""
    return src.casefold() == tgt.casefold()


def has_markup(src: str, tgt: str) -> bool:
    """True where the sides hold HTML tags or entities and not the same number of them.

    >>> has_markup("<b>Yes", "是"), has_markup("the <file>", "<文件>")  # what is to be filled in may be translated
    (True, False)
    """
    has_signs = "<" in src or "&" in src or "<" in tgt or "&" in tgt  # of few lines, which is quicker to see
    return has_signs and all(len(tag.findall(src)) != len(tag.findall(tgt)) for tag in _TAGS)


def is_script_wrong(src: str, tgt: str, *, scripts: tuple[str | None, str | None], least: float) -> bool:
    """True where too few words of a side are in the script of its language; None = a script we do not know."""
    return any(script and script_share(side, script) < least for side, script in zip((src, tgt), scripts, strict=True))


def _letter_share(text: str) -> float:
    """Letters per character that is neither space nor digit; 0 where there is no letter.

    Combining marks (Hindi vowels) are neither.
    """
    if text.isascii():
        raw = text.encode()
        rest = raw.translate(None, _ASCII_LETTERS)
        n_letters, n_signs = len(raw) - len(rest), len(rest.translate(None, _ASCII_SPACES_AND_DIGITS))
    else:
        others = _LETTERS.sub("", text)
        n_letters, n_signs = len(text) - len(others), len(_SPACES_AND_DIGITS.sub("", others))
    return n_letters / (n_letters + n_signs) if n_letters else 0.0
