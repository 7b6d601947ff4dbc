"""What can be seen to be wrong with a translation without knowing the right one: pure predicates over two texts.

    cut            the length limit ended it
    loop           it says a phrase again and again that the source says less often
    length_ratio   it is far shorter or longer than translations of such a text are
    omission       it weighs less than translations of such a text do, as where a clause is missing, or is blank
    numbers        a number of one side is missing on the other
    placeholders   so is a placeholder, a tag or an address

Every check compares the two sides, so that what is odd in the source is no fault of the translation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, pairwise
from typing import Final

from yiwen.text.numbers import TELLS_TIME, Numbers, knows_words, loses_minus, numbers_in
from yiwen.text.protect import AROUND, LINKED
from yiwen.text.scripts import MARKS, SPACED_MARKS, UNSPACED_LETTERS, is_unspaced

FAULTS: Final = frozenset("cut glossary invalid_utf8 length_ratio loop numbers omission placeholders".split())  # noqa: SIM905
"""Flags that say that a translation is wrong. The others (`repaired`, `segmented` ...) say how it came about."""

PLACEHOLDER: Final = re.compile(
    rf"(?:https?://|(?<![A-Za-z\d])www\.)[^{AROUND}]*[^{AROUND}.,;:!?)\]]"
    r"|(?<![A-Za-z\d_.+-])[A-Za-z\d_.+-]{1,64}@[A-Za-z\d-]+(?:\.[A-Za-z\d-]+)+"
    rf"|\{{\{{[^{{}}]*\}}\}}|\{{(?![和或及与]\}})[^{{}}\s，、；]*\}}|\$\{{[^{{}}]*\}}|{LINKED}"
    r"|⟦\d⟧|</?[A-Za-z][^<>]*>|&(?:[a-zA-Z]{2,8}|#\d{1,7});|(?<!\d)%L?[1n](?![A-Za-z\d$]|[.,]\d)"
    r"|(?<![\d%])%(?:\(\w+\)|\d+\$)?[-+#\d]*(?:\.\d+)?(?:(?<!\d\s%)(?:hh?|ll?|[Lqjzt]))?[sdifxXeEgGcru@](?![A-Za-z])"
    r"|(?<![A-Za-z\d_/.@:-])(?:[A-Za-z][A-Za-z\d]{0,60}_[A-Za-z\d_]+|__[A-Za-z\d]+__|[A-Za-z][A-Za-z\d]+(?=\(\)|（）)"
    r"|(?=[\d-]{0,60}[A-Za-z])[A-Za-z\d-]{2,60}(?:\.[A-Za-z\d-]{1,20}){0,3}\.(?:txt|md|html?|xml|json|ya?ml|toml|ini|conf|csv"
    r"|py|js|css|sh|exe|dll|zip|gz|pdf|docx?|xlsx?|png|svg|log|sql|cpp|java|[ch]))(?![A-Za-z\d_-]|\.[A-Za-z\d])"
)
"""Placeholders, their symbols, tags, entities, addresses, names in programs and of files but photographs. Not 6 %zu."""
_MAY_HOLD_ONE: Final = re.compile(r"[{<&%@⟦_]|://|www\.|\(\)|（）|\.[a-z]")
_CHAIN: Final = re.compile(r"(?<![\w.])(?!\d\d?\.\d\d?\.(?:19|20)\d\d(?!\d))\d+(?:\.\d+){2,}(?![.,]?\d|\w)", re.ASCII)
"""Versions, addresses and sections: 2.3.1 is not 2.3.2, though every number of it stands on either side. No dates."""
_WORD: Final = re.compile(
    rf"[{UNSPACED_LETTERS}][{MARKS}]*|[^\W_{UNSPACED_LETTERS}]+(?:[{SPACED_MARKS}]+[^\W_{UNSPACED_LETTERS}]*)*"
)


def check(source: str, translation: str, *, src_lang: str, tgt_lang: str, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of the faults of a translation, sorted.

    Args:
        source: Normalised text.
        translation: Its translation.
        src_lang, tgt_lang: Languages; they tell which number words are known.
        more: Those that its subwords tell: `cut`, and what a calibration says (`Usual.faults`), where there is one.
    """
    found = {
        "omission": not translation.strip() and bool(source.strip()),  # of a subword that stands for a blank alone
        "loop": has_loop(source, translation),
        "numbers": changes_numbers(source, translation, src_lang=src_lang, tgt_lang=tgt_lang),
        "placeholders": changes_placeholders(source, translation),
    }
    return tuple(sorted({*more, *(name for name, is_there in found.items() if is_there)}))


def changes_placeholders(source: str, translation: str) -> bool:
    """True where the sides do not hold the same placeholders, tags and addresses, each as often."""
    may_hold_one = any(map(_MAY_HOLD_ONE.search, (source, translation)))
    return may_hold_one and sorted(PLACEHOLDER.findall(source)) != sorted(PLACEHOLDER.findall(translation))


def has_loop(source: str, translation: str) -> bool:
    """True where the translation repeats something at once, and more often than the source repeats anything.

    A Chinese character counts as a word, and so does a letter of Thai or Burmese with its marks. Short things are
    doubled in good language (very very, 看看, 研究研究, မြန်မြန်): a single word has to come three times, of letters
    that count as words a phrase of three or fewer so too, a single one four. What a mark sets apart from itself and
    nothing from the rest is taken up again, as nouns are: 用默认单位，默认单位可以改.
    """
    times = _repeats(translation, is_strict=True)
    return times > 1 and times > _repeats(source, is_strict=False) * 1.5


def n_words(text: str) -> int:
    """Words of a text; a Chinese character is one, and a letter of Thai with its marks."""
    return len(_WORD.findall(text))


def _repeats(text: str, *, is_strict: bool) -> int:
    """How many times in a row the text says what it repeats most; 1 where it repeats nothing worth mentioning."""
    words = _WORD.findall(text.lower())
    between: list[str] = []  # what stands before, between and behind the words, once it is asked for
    last, distances = dict[tuple[str, str], int](), {1}
    for place, pair in enumerate(pairwise(words)):
        distances.add(place - last.get(pair, place))
        last[pair] = place
    most = 1
    for size in distances - {0}:
        run = 0
        for place, (word, later) in enumerate(zip(words, words[size:], strict=False), 1):
            run = run + 1 if word == later else 0
            times = run // size + 1
            if times > most:
                between = between or _WORD.split(text.lower())
                marks = between[place - size : place + size + 1 : size]
                if not is_strict or times >= _least(words[place : place + size], *marks):
                    most = times
    return most


def _least(phrase: Sequence[str], *marks: str) -> int:
    """How often a phrase has to come in a row to be called a loop, by what stands before, between and behind two."""
    has_no_blanks = all(is_unspaced(word[0]) for word in phrase)
    if len(phrase) == 1:
        return 4 if has_no_blanks and phrase[0] != "的" else 3
    is_doubled = has_no_blanks and (len(phrase) <= 3 or "的" in (phrase[0], phrase[-1]))  # 研究研究, 目录的子目录的
    is_taken_up = [bool(mark.strip()) for mark in marks] == [False, True, False]
    return 3 if is_doubled or is_taken_up else 2


def changes_numbers(source: str, translation: str, *, src_lang: str, tgt_lang: str) -> bool:
    """True where a number in digits has nothing like it on the other side, or number words on both sides have not.

    A number word may go (two, both, a pair), but not become another. 0 and 1 are never asked for, nor what languages
    without known number words may have spelt out.
    """
    # Which language a model of several is to write, and which symbol or argument stands there, is no number.
    source, translation = (re.sub(r"<2[\w-]+>|⟦\d⟧|\{\d+\}|&#\d{1,7};", " ", side) for side in (source, translation))
    is_known = knows_words(src_lang) and knows_words(tgt_lang)
    src = numbers_in(source, src_lang, is_strict=is_known)
    if not (src.digits or src.words or re.search(r"\d", translation)):
        return False
    src_chains, tgt_chains = (set(_CHAIN.findall(side)) for side in (source, translation))
    is_minus_lost = is_known and (loses_minus(source, translation) or loses_minus(translation, source))
    if is_minus_lost or (src_chains - tgt_chains and tgt_chains - src_chains):
        return True
    tgt = numbers_in(translation, tgt_lang, is_strict=is_known)
    may_be_spelt = range(2 if is_known else 13)
    tells_time = any(map(TELLS_TIME.search, (source, translation)))
    in_src, in_tgt = (_all_of(numbers, tells_time=tells_time) for numbers in (src, tgt))
    for numbers, other in ((src.digits, in_tgt), (tgt.digits, in_src)):
        if any(max(values) not in may_be_spelt and not _has(other, values) for values in numbers):
            return True
    return _loses_word(src, tgt, in_tgt) and _loses_word(tgt, src, in_src)


def _loses_word(one: Numbers, other: Numbers, in_other: frozenset[float]) -> bool:
    """True where the other text lacks a number word of one, or says it less often (two men, two dogs; two men)."""
    rarer = {*(one.words - other.words - Counter(chain(*other.digits)))} - other.hints
    return any(value > 1 and not _has(in_other - rarer, (value,)) for value in one.words)


def _all_of(numbers: Numbers, *, tells_time: bool) -> frozenset[float]:
    """The values of a text's numbers; where there are hours, those that 3 p.m. has elsewhere (15 Uhr), too."""
    values = numbers.hints.union(numbers.words, *numbers.digits)
    return values | {n + half for n in values for half in (-12, 12) if tells_time and max(n, n + half) <= 24}


def _has(known: frozenset[float], values: Collection[float]) -> bool:
    return not (known.isdisjoint(values) and known.isdisjoint(_short(values)) and _short(known).isdisjoint(values))


def _short(years: Collection[float]) -> set[float]:
    """'94 and the 20th century for 1994."""
    return {short for year in years if 1000 <= year < 2100 for short in (year % 100, year // 100 + 1)}
