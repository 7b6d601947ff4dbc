"""Times and dates of the demo grammar, as fillers in both languages.

These are counted out; those that follow no count (yesterday, next week) are in demo_lexicon.toml.
"""

from __future__ import annotations

from yiwen.data.demo_words import Filler, chinese_number, english_number, phrase, words

_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def months() -> tuple[Filler, ...]:
    """in March, 三月, and 3月 before a day in digits."""
    chinese = ({"": words(f"{chinese_number(number)}月"), "digits": words(f"{number}月")} for number in range(1, 13))
    return tuple(Filler(en, {"": words(f"~in {en}")}, zh) for en, zh in zip(_MONTHS, chinese, strict=True))


def dates() -> tuple[Filler, ...]:
    """on March 5, 三月五日: every day of the year but 29 February and the 31sts."""
    return tuple(_date(month, day) for month in range(1, 13) for day in range(1, 29 if month == 2 else 31))


def _date(month: int, day: int) -> Filler:
    name = _MONTHS[month - 1]
    en = {"": words(f"~on {name}/m {day}/d"), "bare": words(f"{name}/m {day}/d")}
    zh = {"": words(f"{chinese_number(month)}月/m {chinese_number(day)}日/d")}
    return Filler(f"{name} {day}", en, zh, combinations=((name, str(day)),))


def years() -> tuple[Filler, ...]:
    """in 1987, 1987年."""
    digits = [str(year) for year in range(1940, 2026)]
    return tuple(Filler(n, {"": words(f"~in {n}"), "bare": words(n)}, {"": words(f"{n}年")}) for n in digits)


def clock_times(part: str, chinese: str, first: int, last: int) -> tuple[Filler, ...]:
    """at half past eight in the morning, 早上八点半; every five minutes of the hours of one part of the day."""
    return tuple(_clock(hour, minute, part, chinese) for hour in range(first, last) for minute in range(0, 60, 5))


def _clock(hour: int, minute: int, part: str, zh_part: str) -> Filler:
    """One time of day. From minute 35 on English counts to the next hour: ten to nine is 八点五十分."""
    en_hour = english_number(hour if minute <= 30 else hour + 1)
    side, n = ("past", minute) if minute <= 30 else ("to", 60 - minute)
    amount = {15: "~a quarter/m", 30: "half/m"}.get(n, f"{english_number(n)}/m")
    en = f"{amount} {side}/o {en_hour}/h" if minute else f"{en_hour}/h o'clock/o"
    zh_hour = "两" if hour == 2 else chinese_number(hour)
    irregular = {0: "", 5: "零五分/m", 15: "一刻/m", 30: "半/m", 45: "三刻/m"}
    zh_minute = irregular.get(minute, f"{chinese_number(minute)}分/m")
    zh = f"{zh_part}/p {zh_hour}/h 点/o {zh_minute}"
    return phrase(f"~at {en} ~in ~the {part}/p", zh, combinations=((f"{side} {minute}", en_hour, part),))
