"""Times and dates of the demo grammar, as fillers in both languages."""

from __future__ import annotations

from functools import cache

from yiwen.data.demo_words import Filler, chinese_number, english_number, made_of, number, phrase, words

_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
WEEKDAYS = tuple((en, f"星期{zh}") for en, zh in zip(_DAYS, "一二三四五六天", strict=True))
_PARTS_OF_DAY = {
    "morning": ("早上", range(6, 12)),
    "afternoon": ("下午", range(1, 6)),
    "evening": ("晚上", range(6, 11)),
}

ON_WEEKDAY = tuple(phrase(f"~on {en}", zh) for en, zh in WEEKDAYS)
HABITS = (
    phrase("every/e day", "每/e 天"),
    *(phrase(f"every/e {en}", f"每天/e {zh}") for en, (zh, _) in _PARTS_OF_DAY.items()),
    *(phrase(f"every/e {en}", f"每个/e {zh}") for en, zh in WEEKDAYS),
)
MONTH_NAMES = tuple(
    Filler(en, {"": words(f"~in {en}")}, {"": words(f"{chinese_number(month)}月"), "digits": words(f"{month}月")})
    for month, en in enumerate(_MONTHS, 1)
)


@cache
def past_times() -> tuple[Filler, ...]:
    """yesterday, last Friday, three weeks ago, on March 5."""
    units = (("day", "天"), ("week", "个星期"), ("month", "个月"), ("year", "年"))
    return (
        *made_of(["yesterday 昨天", "last_year 去年"], phrase),
        phrase("last/l night", "昨天/l 晚上"),
        *(phrase(f"{en}/d {part}", f"{zh}/d {_PARTS_OF_DAY[part][0]}") for en, zh, part in (
            ("yesterday", "昨天", "morning"), ("yesterday", "昨天", "afternoon"), ("this", "今天", "morning"),
        )),
        *(phrase(f"last/l {en}", f"上个/l {zh}") for en, zh in (("week", "星期"), ("month", "月"), *WEEKDAYS)),
        *(_ago(count, en, zh) for count in range(2, 7) for en, zh in units),
        *dates()[::5],
    )  # fmt: skip


def _ago(count: int, en: str, zh: str) -> Filler:
    return phrase(f"{english_number(count)}/n {en}s ago/a", f"{number(count).chinese}/n {zh} 前/a")


@cache
def future_times() -> tuple[Filler, ...]:
    """tomorrow evening, next Friday, next year."""
    return (
        *made_of(["tomorrow 明天", "next_year 明年", "tonight 今天晚上"], phrase),
        *(phrase(f"tomorrow/d {en}", f"明天/d {zh}") for en, (zh, _) in _PARTS_OF_DAY.items()),
        *(phrase(f"next/l {en}", f"下个/l {zh}") for en, zh in (("week", "星期"), ("month", "月"), *WEEKDAYS)),
    )


@cache
def dates() -> tuple[Filler, ...]:
    """on March 5, 三月五日: every day of the year but 29 February and the 31sts."""
    return tuple(_date(month, day) for month in range(1, 13) for day in range(1, 29 if month == 2 else 31))


def _date(month: int, day: int) -> Filler:
    name = _MONTHS[month - 1]
    en = {"": words(f"~on {name}/m {day}/d"), "bare": words(f"{name}/m {day}/d")}
    zh = {"": words(f"{chinese_number(month)}月/m {chinese_number(day)}日/d")}
    return Filler(f"{name} {day}", en, zh, combinations=((name, str(day)),))


@cache
def years() -> tuple[Filler, ...]:
    """in 1987, 1987年."""
    return tuple(
        Filler(str(year), {"": words(f"~in {year}"), "bare": words(str(year))}, {"": words(f"{year}年")})
        for year in range(1940, 2026)
    )


@cache
def clock_times(part: str) -> tuple[Filler, ...]:
    """at half past eight in the morning, 早上八点半; every five minutes of the hours of one part of the day."""
    zh_part, hours = _PARTS_OF_DAY[part]
    return tuple(_clock(hour, minute, part, zh_part) for hour in hours for minute in range(0, 60, 5))


def _clock(hour: int, minute: int, part: str, zh_part: str) -> Filler:
    """One time of day. From minute 35 on English counts to the next hour: ten to nine is 八点五十分."""
    en_hour = english_number(hour if minute <= 30 else hour + 1)
    side, n = ("past", minute) if minute <= 30 else ("to", 60 - minute)
    amount = {15: "~a quarter/m", 30: "half/m"}.get(n, f"{english_number(n)}/m")
    en = f"{amount} {side}/o {en_hour}/h" if minute else f"{en_hour}/h o'clock/o"
    zh_hour = "两" if hour == 2 else chinese_number(hour)
    zh_minute = {0: "", 5: "零五分/m", 15: "一刻/m", 30: "半/m", 45: "三刻/m"}.get(
        minute, f"{chinese_number(minute)}分/m"
    )
    return phrase(
        f"~at {en} ~in ~the {part}/p",
        f"{zh_part}/p {zh_hour}/h 点/o {zh_minute}",
        combinations=((f"{side} {minute}", en_hour, part),),
    )
