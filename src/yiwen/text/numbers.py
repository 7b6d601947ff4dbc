"""Numbers in a text as values, however they are written: digits, number words, Chinese numerals.

    >>> found = numbers_in("１,５００ people came in May, twenty-one of them left", "en")
    >>> [sorted(values) for values in found.digits], dict(found.words), found.hints
    ([[1.5, 1500.0]], {21.0: 1}, frozenset({5}))
    >>> sorted(numbers_in("两千人，二〇二五年", "zh").words)
    [2000.0, 2025.0]

Number words are known in English, German and French, numerals in Chinese and Japanese; elsewhere digits are, and words
for thousands and millions behind them (`numbers.toml`).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from yiwen.text.languages import RUN_ON, base

_WORDS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ENGLISH: Final[str] = _WORDS["en"]["words"]
"""zero to nineteen, twenty to ninety."""
TELLS_TIME: Final = re.compile(_WORDS.pop("tells_time"), re.IGNORECASE)
_MINUS: Final = re.compile(_WORDS.pop("minus"), re.VERBOSE)
_MAY_BE_MINUS: Final = re.compile(_WORDS.pop("may_be_minus"), re.IGNORECASE)
_ALIKE: Final = _WORDS.pop("alike")
_SCALES_OF: Final = _WORDS.pop("scales_of")
_HAN_DIGITS: Final = dict(zip("〇零一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_HAN_UNITS: Final = dict(zip("十百千万萬亿億천만억", (10.0, 1e2, 1e3, 1e4, 1e4, 1e8, 1e8, 1e3, 1e4, 1e8), strict=True))
_UNIT_BELOW: Final = {"百": "十", "千": "百", "万": "千", "萬": "千", "亿": "千万", "億": "千万"}
_FORMAL: Final = "壹壱贰貳弐叁參参肆伍陆陸柒捌玖"
"""As contracts write digits; they are words by themselves (大陆), so only before a unit."""
_SUM: Final = re.compile(f"[{_FORMAL}][拾佰仟万萬亿億][{_FORMAL}拾佰仟零万萬亿億]*")
_TO_DIGITS: Final = {ord(sign): str(digit) for sign, digit in _HAN_DIGITS.items()}
_PLAIN: Final = str.maketrans(f"{_FORMAL}拾佰仟", "一一二二二三三三四五六六七八九十百千")
_HAN_HINTS: Final = _WORDS.pop("zh_hints")
_COUNTED: Final = _WORDS.pop("zh_counted")
_BEFORE_UNIT: Final = re.compile("(?<![{0}])([{0}]++)({1})".format("".join(_HAN_DIGITS), "|".join(_COUNTED)))
_SHORT: Final = re.compile(r"(?<![\d.])[1-9](?:(?=[成打])|\.?[1-9]?(?=折))")  # 8.5折 is 八五折
_TO_HAN: Final = str.maketrans("123456789", "一二三四五六七八九", ".")
_HAN: Final = "".join([*_HAN_DIGITS, *_HAN_UNITS])
_NUMERAL: Final = re.compile(f"[一三]刻|(?![百千]分之)[{_HAN}]+|半[年打]?|[双雙]|(?<=一)[对對]")
_POINT: Final = re.compile(f"(?<![{_HAN}])([{_HAN}]+)[点點块塊米度]([{''.join(_HAN_DIGITS)}]+)([万萬亿億]?)(?!刻)")
_TO_THE_HOUR: Final = re.compile(f"差([{_HAN}]+)分[钟鐘]?[到就]?([{_HAN}]+)[点點]")
_FRACTION: Final = re.compile(f"(?![〇零]{{1,20}}分)([{_HAN}]{{1,20}})分之([{_HAN}]{{1,20}})")
_ABOUT: Final = re.compile("(.*)(一[二两兩]|[二两兩]三|三[两兩四五]|四五|五六|六七|七八|八九)(.*)")
_SCALE: Final = {word: n for code in ("de", "fr", "en") for word, n in _WORDS[code]["scales"].items()}
"""Of all languages; where they differ (a German Billion is a trillion), as in English."""
_SCALES: Final = {float(scale) for scale in (*_SCALE.values(), *_HAN_UNITS.values()) if scale > 10}
_WHOLE: Final = r"(?:\d{1,3}(?>(?:,\d{3})+)(?!\d)|\d++)"
_SECTION: Final = rf"({_WHOLE}(?:[百千천](?: ?\d++百|\d++)?)?)"
_COMPOUND: Final = re.compile(  # 1億2千万, 1億2,345万; Korean puts a blank behind its units, and 兆 is 万亿 here
    rf"(?<![\d.,])(?=\d)(?:{_SECTION}万[亿億] ?)?(?:((?:{_WHOLE}[万萬만] ?)?{_SECTION})(?:[亿億]|억 ?))?"
    rf"(?:{_SECTION}(?:[万萬]|만 ?))?"
    r"((?:\d,\d{3}|\d{3,}+|\d++[千천](?: ?\d++百|\d{3})?)(?![.,]?\d|[百千万萬亿億천만억]))?"
)
_ROMAN: Final = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI".split()  # noqa: SIM905
_CENTURY: Final = re.compile(rf"\b(?:({'|'.join(_ROMAN)})(?:e|ème|er)s?|({'|'.join(n for n in _ROMAN if n[1:])}))\b")
_DIGIT: Final = re.compile(r"\d")
_SEPARATOR: Final = re.compile(r"[.,'’．]")
_SCALED: Final = rf"(?: ?[多余餘个個]?([{''.join(_HAN_UNITS)}]+)|[- ]?({'|'.join(_SCALE)})[ns]?\b)"
_DIGITS: Final = re.compile(
    r"((?:(?<![\w.])\.)?\d+(?:[.,．]\d+|['’]\d{3})*(?:(?:(?<!\d{4}) \d{3}(?!\d))+(?:[.,]\d+)?)?)"  # 3.14.2; 1 500,5; .5
    rf"(?:{_SCALED}|(?= ?(?:[-–~～至到或]|to|or|and|bis|oder|und|à|ou|et) ?\d[\d.,]*{_SCALED}))?",  # 2 to 3 million
    re.IGNORECASE,
)
_ENDING: Final = "(?:s?te[nrms]?|e(?:[nms]|rn?)?|i?ème|th|n|mal|fach|(?:jähr|köpf|stünd|täg|prozent)ig(?:e[nrms]?)?)?s?"
_BETWEEN: Final = "(?:[- ]|[- ]?(?:and|et)[- ]|und)?"


class Numbers(NamedTuple):
    """The numbers of one text."""

    digits: tuple[frozenset[float], ...]
    """Each number in digits with the values that it may have: 1.500 is read in two ways, 3万 and 3 million too."""
    words: Counter[float]
    """Values of number words and Chinese numerals, and how often each is said."""
    hints: frozenset[float]
    """Values that other words may stand for: May is 5, twice is 2."""


def knows_words(language: str) -> bool:
    """True where numbers in words are known of the language."""
    return base(language) in (*_WORDS, *RUN_ON)


def numbers_in(text: str, language: str, *, is_strict: bool = False) -> Numbers:
    """Find the numbers of a text; strictly, 3 million is not 3 as well, as where the other text's words are unknown."""
    language = base(language)
    for sign, forms in _forms(language):
        for form, alike in forms if sign.search(text) else ():
            text = form.sub(alike, text)
    digits, scales = list[frozenset[float]](), _SCALE | _WORDS.get(language, _WORDS["en"])["scales"]
    if _DIGIT.search(text):
        text = _COMPOUND.sub(_in_digits, _SHORT.sub(lambda found: found[0].translate(_TO_HAN), text))
        for number, han, word, next_han, next_word in _DIGITS.findall(text):
            scale = math.prod(_HAN_UNITS[sign] for sign in han or next_han) * scales.get((word or next_word).lower(), 1)
            digits += _readings(number, scale, is_strict=is_strict and not (next_han or next_word))
        # The Thai count years from 543 before ours.
        digits = [values | {n - 543 for n in values if language == "th" and 2400 <= n < 2700} for values in digits]
        text = _DIGITS.sub(" ", text)  # the 万 of 3万 is no number of its own
    words, hints = Counter[float](), set[float]()
    if language in RUN_ON:
        words, hints = _in_chinese(_SUM.sub(lambda found: found[0].translate(_PLAIN), text))
    elif language in _WORDS:
        words, hints = _in_words(text.lower(), _lexicon(language))
    if re.search("[IVX][IVXeè]", text):  # quicker to look for
        hints |= {float(_ROMAN.index(one or other) + 1) for one, other in _CENTURY.findall(text)}
    if words or hints:
        hints |= _joined({*words}, hints, {*words}.union(*digits))
    return Numbers(tuple(digits), words, frozenset(hints))


def loses_minus(text: str, other: str) -> bool:
    """True where a text has a number below zero and the other one nothing that could say so."""
    return _MINUS.search(text) is not None and not _MAY_BE_MINUS.search(other)


@cache
def _forms(language: str) -> list[tuple[re.Pattern[str], list[tuple[re.Pattern[str], str]]]]:
    """What a language writes otherwise than others, and as what it is read: 14.30 Uhr as 14:30, 3 тыс. as 3千.

    By a sign that every text holds in which one of them is, and that is quicker to look for.
    """
    scales = {rf"(?<=[\d百千万천만]) ?(?:{words})": sign for sign, words in _SCALES_OF.get(language, {}).items()}
    groups = [*_ALIKE["any"].items(), *_ALIKE["digits"].items(), *_ALIKE.get(language, {}).items()]
    found = []
    for sign, forms in (*groups, (r"[\d百千万천만]", scales)):
        compiled = [(re.compile(form, re.IGNORECASE), alike) for form, alike in forms.items()]
        found.append((re.compile(sign), compiled))
    return found


def _in_chinese(text: str) -> tuple[Counter[float], set[float]]:
    """Values of Chinese numerals, and hints."""
    decimals = [(_numeral(n)[0], part.translate(_TO_DIGITS), unit) for n, part, unit in _POINT.findall(text)]
    # 三点一四, 一米七五, 四点五亿
    hints = {round((n + float(f"0.{part}")) * _HAN_UNITS.get(unit, 1.0), 9) for n, part, unit in decimals}
    found = _NUMERAL.findall(text)
    words = Counter(value for each in found if each not in _HAN_HINTS for value in _numeral(each))
    for minutes, hour in _TO_THE_HOUR.findall(text):  # 差十分六点 is 5:50
        hints |= {60 - _numeral(minutes)[0], _numeral(hour)[0] - 1 or 12.0}
    for run, unit in _BEFORE_UNIT.findall(text):
        digits = run.translate(_TO_DIGITS)
        values = {*map(float, digits), float(f"{digits[0]}.{digits[1:]}0")}  # 七八成 is 70 or 80 %, 八五折 85 %
        hints |= {times * value + more for value in values for times, more in _COUNTED[unit]}
    shares = [_numeral(part)[0] / _numeral(whole)[0] for whole, part in _FRACTION.findall(text)]
    hints |= {value for share in shares for value in (share, 100 * share, float(round(100 * share)))}  # 四分之三: 75 %
    return words, hints.union(*(_HAN_HINTS.get(each, ()) for each in found))


def _in_words(text: str, lexicon: _Lexicon) -> tuple[Counter[float], set[float]]:
    """Values of number words in a text in small letters, and hints."""
    words, hints = Counter[float](), set[float]()
    for found, before, hour in lexicon.pattern.findall(text):
        values = set() if found in lexicon.hints else _spelt(found, lexicon)
        words.update(values)
        hints.update(lexicon.hints.get(found, ()))
        if hour in lexicon.hints:  # twenty-first
            hints |= {value + more for value in values if value > 19 for more in lexicon.hints[hour]}
        elif hour:  # twenty to eight is 7:40, and the two of two to three million is 2,000,000
            ends = _spelt(hour, lexicon)
            if before:
                hints |= {60 - n for n in values} | {n - 1 for n in ends}
            sizes = [size for size in _SCALES if any(1 <= end // size < 1000 for end in ends)]
            hints |= {n * size for n in values for size in sizes}
    return words, hints


def _joined(words: set[float], hints: set[float], numbers: set[float]) -> set[float]:
    """What numbers may be together with the words around them."""
    fractions = {value for value in hints if value % 1}
    found = {value + 0.5 for value in numbers} if 0.5 in hints else set()  # eight and a half is 8.5
    found |= {n * scale for n in words & {10, 100} for scale in words & _SCALES - {100}}  # tens of thousands
    # Half a million is 500,000, two and a half million 2,500,000, and two dozen are 24.
    found |= {(n + part) * scale for n in {0, *words} for part in fractions for scale in words & {*_SCALE.values()}}
    # So are two decades 20, and five grand 5,000.
    return found | {n * size for size in {10.0, 12.0, 100.0, 1000.0} & hints for n in words}


def _in_digits(found: re.Match[str]) -> str:
    parts = zip(found.group(1, 2, 4, 5), (1e12, 1e8, 1e4, 1.0), strict=True)
    numbers = [(size, *each) for part, size in parts for each in re.findall(r"([\d,]+)(\D?)", part or "")]
    value = sum(size * float(number.replace(",", "")) * _HAN_UNITS.get(unit, 1.0) for size, number, unit in numbers)
    return f"{value:.0f}" if len(numbers) > 1 else found[0]


def _readings(number: str, scale: float, *, is_strict: bool) -> list[frozenset[float]]:
    """The values that a number in digits may have; several numbers where it is a version or a date."""
    parts = _SEPARATOR.split(number.replace(" ", ""))
    sizes = [*map(len, parts)]
    indian = re.fullmatch(r"\d{1,3}(?:,\d\d)+,\d{3}(\.\d+)?", number)  # 12,34,567.89
    is_grouped = (sizes[0] <= 3 and {*sizes[1:]} <= {3}) or (indian is not None and indian[1] is None)
    if len(parts) > 2 and not (is_grouped or indian) and any(len(part) != 3 for part in parts[1:-1]):
        return [frozenset((_exact(part),)) for part in parts if part]
    values = {_exact("".join(parts))} if is_grouped else set()
    if not is_grouped or (len(parts) == 2 and parts[1] != "000"):  # nobody writes 9 as 9.000
        values.add(_exact(f"{''.join(parts[:-1])}.{parts[-1]}" if len(parts) > 1 else parts[0]))
    factors = {scale} if is_strict and scale >= 10_000 else {1, scale}
    # Rounded: 8.063 billion and 80.63亿 are the same number.
    return [frozenset(n if factor == 1 else float(f"{n * factor:.15g}") for n in values for factor in factors)]


def _exact(digits: str) -> float:
    """The value of digits, as an int where a float would be that of its neighbours, too: of an account, say."""
    return int(digits) if 15 < len(digits) < 100 and digits.isdecimal() else float(digits)


def _numeral(numeral: str) -> tuple[float, ...]:
    """Values of a Chinese numeral: 两千零五 is 2005, 两千五 is 2500, 二〇一〇 is 2010, 三四十 is 30 or 40."""
    has_units = any(sign in _HAN_UNITS for sign in numeral)
    if (has_units or len(numeral) == 2) and (about := _ABOUT.fullmatch(numeral)):
        return tuple(value for digit in about[2] for value in _numeral(f"{about[1]}{digit}{about[3]}"))
    if not has_units:
        return (_exact(numeral.translate(_TO_DIGITS)),)
    if len(numeral) > 2 and _HAN_DIGITS.get(numeral[-1]):  # the last unit goes without saying
        numeral += _UNIT_BELOW.get(numeral[-2], "")
    total = section = digit = 0.0
    for sign in numeral:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif (unit := _HAN_UNITS[sign]) < 10_000:
            section, digit = section + (digit or 1) * unit, 0
        elif unit == 10_000:
            total, section, digit = total + (section + digit or 1) * unit, 0, 0
        else:
            total, section, digit = (total + section + digit or 1) * unit, 0, 0
    return (total + section + digit,)


def _spelt(number: str, lexicon: _Lexicon) -> set[float]:
    """Values of number words in a row: twenty-one, einundzwanzig, two hundred and five; five and ten are two."""
    found, total, current = set(), 0.0, 0.0  # floats: a hundred hundreds are no error
    for word in lexicon.part.finditer(number):
        value, rest = lexicon.values[word[0]], current % 100
        has_tens = rest >= 20 and rest % 10 == 0
        is_reversed = number[: word.start()].endswith(("und", "and ", "and-"))  # but eight-thirty is half past eight
        if value >= 1000:
            total, current = total + max(current, 1.0) * value, 0.0
        elif value == 100:
            current = max(current, 1.0) * 100
        elif rest == 0 or (has_tens and value < 20) or (is_reversed and rest < 10 and value >= 20):
            current += value
        else:
            found.add(total + current)
            total, current = 0.0, float(value)
    return {*found, total + current}


class _Lexicon(NamedTuple):
    """The number words of a language."""

    pattern: re.Pattern[str]
    """Number words in a row or another word that hints at a number; and the hour that it is short of, if any."""
    part: re.Pattern[str]
    """One number word."""
    values: dict[str, int]
    hints: dict[str, tuple[float, ...]]


@cache
def _lexicon(language: str) -> _Lexicon:
    known = _WORDS[language]
    values = dict(zip(known["words"].split(), (*range(20), *range(20, 100, 10)), strict=True))
    values |= known["more"] | known["scales"]
    hints = known["hours"] | {word: (n,) for n, row in enumerate(known["hints"].split(), 1) for word in row.split("/")}
    part, hint = "|".join(sorted(values, key=len, reverse=True)), "|".join(hints)
    # Dreizehn is not drei and zehn as well: that would be 2^n ways for n of them.
    number = rf"(?>{part})(?:[ns]?{_BETWEEN}(?>{part}))*"
    hour = rf"(?=(?:-? (?:({known['before']})|or|bis|oder|à|ou) |-)({number}|{hint})\b|)"
    return _Lexicon(re.compile(rf"\b(?=\w)({number}{_ENDING}|{hint})\b{hour}"), re.compile(part), values, hints)
