"""Segmentation: where the sentences and the clauses of a text are, as offsets, so that nothing can be lost.

Rules rather than a model, because they can be read and never surprise. A boundary that is missed makes a longer
sentence, which a translator bears; one too many tears a sentence apart. So where in doubt there is none: inside of
brackets, quotes and code of up to 120 characters, behind abbreviations and initials, before a small letter.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import Final

from yiwen.text.languages import RUN_ON, base
from yiwen.text.scripts import HAN, MARKS, SCRIPTS

Span = tuple[int, int]

_CLOSERS: Final = "\"'”’»」』）)】\\]》〉"
_END: Final = re.compile(rf"(?:[.!?。！？｡…‥।॥؟۔።፧։។៕။༎᠃]+(?:[{_CLOSERS}]|“(?!\S)|\s»(?!\w))*)+")
_COMMA: Final = re.compile(rf"[，；：、،؛፣፤།]+[{_CLOSERS}]*|——|[,;:](?=[\s{HAN}])|\s[-–—](?=\s)")
_PAIRS: Final = ("“”", "《》", "「」", "『』", "（）", "【】", '""', "``", "()", "[]")
_PAIRED: Final = re.compile("|".join(rf"\{left}[^\{left}\{right}\n]{{0,120}}\{right}" for left, right in _PAIRS))
_INNER: Final = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_JAPANESE: Final = SCRIPTS["Japanese"][0]
_READ_AS: Final = {"el": ("[;\u037e]", "?"), "he": ('(?<=[א-ת])"(?=[א-ת])', "ו"), "ja": ("．", ".")}
"""What a language writes otherwise: Greek asks with a semicolon, and Hebrew has a quote inside of abbreviations."""
_NEXT_WORD: Final = re.compile(r"[\s\"'“‘«¿¡(\[（「『—–•*-]*(\w*)")
_LAST_WORD: Final = re.compile(rf"[\w.{MARKS}-]*\Z")
_FAR: Final = 40
"""Characters before a full stop that are looked at: lines may be long."""
_ITEM: Final = re.compile(r"(?<!\S)\(?(\d{1,3}|[A-Za-z]|[ivx]{1,5})\Z")
"""What numbers an item of a list, up to its full stop."""
_SPEAKS: Final = re.compile(r"[^，。！？\s]{0,8}[说說道问問喊叫答嚷笑骂罵]|[とっ]")
"""What shows that a sentence goes on behind a quotation: 他说。"""
_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NEVER_LAST: Final = re.compile(_TABLE["never_last"], re.IGNORECASE)
"""Abbreviations that no sentence ends with ..."""
_OF_LANGUAGE: Final = {lang: re.compile(own, re.IGNORECASE) for lang, own in _TABLE["of_language"].items()}
"""... and those that are words elsewhere."""
_NUMBERED: Final = re.compile(_TABLE["numbered"], re.IGNORECASE)
"""Those that a number follows: Art. 5."""
_SELDOM_LAST: Final = re.compile(_TABLE["seldom_last"], re.IGNORECASE)
"""Those that a sentence ends with where the next word is one that begins many; so initials, a.m. and U.S."""
_STARTER: Final = re.compile(_TABLE["starters"], re.IGNORECASE)
_ORDINAL: Final = frozenset(_TABLE["ordinal"].split())
"""Languages that write the 3rd as 3."""


def sentences(text: str, lang: str, uncut: frozenset[int] = frozenset()) -> list[Span]:
    """Offsets of the sentences; what stands between them, before and behind is white space.

    At the offsets `uncut` none ends.

    >>> text = "Mr. Smith paid $3.50. “Really?” he asked.\\n他笑了。你呢？"
    >>> [text[start:end] for start, end in sentences(text, "en")]
    ['Mr. Smith paid $3.50.', '“Really?” he asked.', '他笑了。', '你呢？']
    """
    bounds = [0]
    form, plain = _READ_AS.get(base(lang), ("(?!)", ""))
    for line in re.sub(form, plain, text).split("\n"):
        bounds += [bounds[-1] + bound for bound in (*_boundaries(line, base(lang)), len(line) + 1)]
    return _trimmed(text, bounds, uncut)


def clauses(text: str, uncut: frozenset[int] = frozenset()) -> list[Span]:
    """Offsets of what commas, semicolons, colons and dashes set apart, these included."""
    return _trimmed(text, [0, *(found.end() for found in _COMMA.finditer(text)), len(text)], uncut)


def words(text: str, uncut: frozenset[int] = frozenset()) -> list[Span]:
    """Offsets of what blanks set apart."""
    return _trimmed(text, [0, *(found.end() for found in re.finditer(r"\s+", text)), len(text)], uncut)


def _trimmed(text: str, bounds: list[int], uncut: frozenset[int]) -> list[Span]:
    kept = pairwise(bound for bound in bounds if bound not in uncut)
    return [inner.span() for start, end in kept if (inner := _INNER.search(text, start, end))]


def _boundaries(line: str, lang: str) -> list[int]:
    """Where a sentence of the line ends and another begins."""
    paired = [found.span() for found in _PAIRED.finditer(line)]
    quotes = [found.start() for found in re.finditer('"', line)]
    bounds, item = list[int](), 0
    for found in _END.finditer(line, 0, len(line.rstrip())):
        start = bounds[-1] if bounds else 0
        before = line[max(start, found.start() - _FAR) : found.start()]
        number = _ITEM.search(before)
        if number and found.start() - start <= _FAR and not before[: number.start()].strip():  # 1. at the beginning
            item = int(number[1]) if number[1].isdigit() else 0
        elif number and item and number[1] == str(item + 1):  # and 2. behind it, in the same line
            item += 1
            bounds.append(found.start() - len(number[0]))
        elif not _is_inside(line, start, found, paired) and _is_end(line, before, found, lang):
            place = bisect_left(paired, (found.start(), 0))
            left = min(found.end(), *(left for left, _ in paired[place : place + 1]), len(line))
            is_open = re.match(r'"[^\s.,;:!?]', line[left : left + 2]) and bisect_left(quotes, left) % 2 == 0
            bounds.append(left if is_open else found.end())  # 他走了。"你好。"
    return bounds


def _is_inside(line: str, start: int, found: re.Match[str], paired: list[Span]) -> bool:
    """True for signs inside of brackets or quotes of a sentence that goes on: He left (why?) and ..."""
    left, right = paired[bisect_left(paired, (found.start(), 0)) - 1] if paired else (0, 0)
    if not left < found.start() < right or found.end() > right:
        return False
    before = line[max(start, left - _FAR) : left].rstrip()
    if found.end() < right or line[left] == "《" or (line[left] in "([（【" and before):
        return True
    goes_on = before[-1:].isalnum() or _SPEAKS.match(line, right) is not None
    return goes_on and not (line[right : right + 1].isspace() or before.endswith("："))


def _is_end(line: str, before: str, found: re.Match[str], lang: str) -> bool:
    """Whether a sentence ends with the signs found; `before` is what stands before these."""
    signs, rest = found[0], line[found.end() : found.end() + 2 * _FAR]
    if any(sign in "。！？｡။।።؟" for sign in signs):
        return True
    if not rest[:1].isspace():  # half-width in Chinese and Japanese
        is_between = re.search(f"[{_JAPANESE}]\\Z", before) and re.match(f"[“「]?[{_JAPANESE}]", rest)
        return lang in RUN_ON and (signs == "." or not signs.strip("!?")) and bool(is_between)
    last_word = (_LAST_WORD.search(before) or [""])[0]
    next_word = (_NEXT_WORD.match(rest) or ["", ""])[1]
    is_small = next_word[:1] != next_word[:1].title()  # Georgian has small letters alone, and begins with them
    if is_small or next_word == last_word:
        return False
    if signs[0] != ".":
        return True
    is_ordinal = lang in _ORDINAL and last_word.isdigit() and len(last_word) < 3
    if is_ordinal or _SELDOM_LAST.fullmatch(last_word):
        is_me = last_word == "I" and before[:-2].endswith(("and", "or", "than", "as", "do", "am", "did"))  # no initial
        return is_me or _STARTER.fullmatch(next_word) is not None
    abbreviations = (_NEVER_LAST, _OF_LANGUAGE.get(lang), _NUMBERED if next_word[:1].isdigit() else None)
    return not any(each and each.fullmatch(last_word) for each in abbreviations)
