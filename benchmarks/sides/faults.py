"""Faults planted into good translations: what `benchmarks/checks.py` looks for."""

from __future__ import annotations

import random
import re
from typing import Final

from yiwen.text.numbers import numbers_in
from yiwen.text.scripts import HAN

Pair = tuple[str, str]
"""Source and translation."""

_UNIT = re.compile(f"[{HAN}]|[^\\s{HAN}]+\\s*|\\s+")
_OPENING: Final = {
    "en": "and but or while as who which that because when if where so",
    "de": "und aber oder während als wenn weil dass wobei damit um",
    "fr": "et mais ou tandis pendant qui que quand si où pour",
}
"""Words that a clause begins with, also where no comma stands before it."""
_NUMBER_WORDS: Final = {
    "en": "two three four five six seven eight nine ten eleven twelve",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze",
    "zh": "两 三 四 五 六 七 八 九 十",
}
_PLACEHOLDERS: Final = (
    "{name}",
    "{{user}}",
    "%s",
    "%(count)d",
    "<b>",
    '<x id="1"/>',
    "${HOME}",
    "https://example.org/a?b=1",
    "info@example.org",
)


def omitted_clause(src: str, tgt: str, *, tgt_lang: str, rng: random.Random) -> Pair | None:
    """The translation without one clause: from one border to another, a fifth to two thirds of it, 3 words or more."""
    units = _UNIT.findall(tgt)
    opening = set(_OPENING.get(tgt_lang, "").split())
    borders = {0, len(units)}
    for i in range(1, len(units)):
        if units[i].strip().lower() in opening or (units[i - 1].strip() or "x")[-1] in ",;:，、；：。.!?！？":
            borders.add(i)
    n_words = sum(unit.strip() != "" for unit in units)
    least = 5 if tgt_lang == "zh" else 3
    cuts = [
        (a, b)
        for a in sorted(borders)
        for b in sorted(borders)
        if a < b and max(least, 0.2 * n_words) <= sum(u.strip() != "" for u in units[a:b]) <= 0.67 * n_words
    ]
    if not cuts:
        return None
    a, b = rng.choice(cuts)
    end = (units[-1].strip() or "x")[-1] if b == len(units) else ""
    left = "".join(units[:a] + units[b:]).rstrip(" ,，、;；")
    return src, left + (end if end in ".。!！?？" else "")


def repeated_phrase(src: str, tgt: str, *, tgt_lang: str, rng: random.Random) -> Pair | None:
    """The translation with a phrase said two to four times: 2 to 5 words, 4 to 10 Chinese characters."""
    units = _UNIT.findall(tgt)
    least, most = (4, 10) if tgt_lang == "zh" else (2, 5)
    if len(units) < least + 1:
        return None
    size = rng.randint(least, min(most, len(units) - 1))
    start = rng.randint(0, len(units) - 1 - size)  # the full stop at the end is not repeated
    phrase = "".join(units[start : start + size])
    if not phrase[-1:].isspace() and tgt_lang != "zh":
        phrase += " "
    return src, "".join(units[:start]) + phrase * rng.randint(2, 4) + "".join(units[start + size :])


def changed_number(src: str, tgt: str, *, src_lang: str, tgt_lang: str, rng: random.Random) -> Pair | None:
    """The translation with one number, of those that the source has too, become another."""
    wanted = numbers_in(src, src_lang)
    known = {*wanted.words}.union(*wanted.digits)
    words = _NUMBER_WORDS.get(tgt_lang, "").split()
    pattern = "|".join(words)
    number = re.compile(rf"\d+|{pattern}" if tgt_lang == "zh" else rf"\d+|\b(?:{pattern})\b", re.IGNORECASE)
    places = [
        match
        for match in number.finditer(tgt)
        if {v for v in _values(tgt[: match.end()], match, tgt_lang) if v > 1} & known
    ]
    if not places:
        return None
    match = rng.choice(places)
    old = match.group()
    if old.isdigit():
        digit = rng.randrange(len(old))
        new = old[:digit] + rng.choice([d for d in "123456789" if d != old[digit]]) + old[digit + 1 :]
    else:
        new = rng.choice([word for word in words if word != old.lower()])
        new = new.capitalize() if old[0].isupper() else new
    return src, tgt[: match.start()] + new + tgt[match.end() :]


def lost_placeholder(src: str, tgt: str, *, rng: random.Random) -> tuple[Pair, Pair]:
    """A pair with a placeholder put into both sides, and the same with the translation's lost."""
    placeholder = rng.choice(_PLACEHOLDERS)
    with_it = [_inserted(text, placeholder, rng) for text in (src, tgt)]
    return (with_it[0], with_it[1]), (with_it[0], tgt)


def _inserted(text: str, placeholder: str, rng: random.Random) -> str:
    units = _UNIT.findall(text)
    place = rng.randint(0, len(units))
    return f"{''.join(units[:place]).rstrip()} {placeholder} {''.join(units[place:]).lstrip()}".strip()


def _values(upto: str, match: re.Match[str], language: str) -> frozenset[float]:
    found = numbers_in(upto[match.start() :], language)
    return frozenset(found.words).union(*found.digits)
