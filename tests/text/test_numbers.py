"""Numbers as values: however they are written, in the languages whose number words are known and in others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.text.numbers import Numbers, knows_words, numbers_in


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("12", {12}),
        ("１２", {12}),
        ("3.14", {3.14}),
        ("3,14", {3.14}),
        (".22", {0.22}),
        (".241", {0.241, 241}),
        ("No.5", {5}),
        ("1.500", {1.5, 1500}),
        ("1,234,567", {1234567}),
        ("1.234.567,89", {1234567.89}),
        ("10 000", {10000}),
        ("1 234,56", {1234.56}),
        ("1 234 567.8", {1234567.8}),
        ("1'500'000", {1500000}),
        ("3万", {3, 30000}),
        ("1850多万", {1850, 18500000}),
        ("80.63亿", {80.63, 8063000000}),
        ("80.63 billion", {80.63, 80630000000}),
        ("3 Milliarden", {3, 3000000000}),
        ("5千万", {5, 50000000}),
        ("3万5000", {35000}),
        ("1億2345万6789", {123456789}),
        ("3만 5천", {35000}),
        ("1만 2000명", {12000}),
        ("1억 2345만", {123450000}),
        ("12,34,567", {1234567}),
        ("٣٫٥", {3.5}),
        ("3만", {3, 30000}),
    ],
)
def test_a_number_in_digits_has_its_values(text: str, values: set[float]) -> None:
    (found,) = numbers_in(text, "xx").digits
    assert found == values


def test_a_number_and_its_unit_are_one_value_where_words_are_known_on_both_sides() -> None:
    for text, value in (("3 million", 3e6), ("80.63亿", 8.063e9), ("1亿2050万", 1.205e8)):
        assert numbers_in(text, "en", is_strict=True).digits == (frozenset({value}),)
    assert numbers_in("1万2万", "zh", is_strict=True).digits == (frozenset({1e4}), frozenset({2e4}))
    assert numbers_in("3千", "zh", is_strict=True).digits == (frozenset({3.0, 3000.0}),)


def test_versions_dates_and_times_are_several_numbers() -> None:
    dates = ("2025-11-20", [2025, 11, 20]), ("20.11.2025", [20, 11, 2025])
    for text, numbers in (("3.14.2", [3, 14, 2]), (".1.2", [1, 2]), *dates):
        assert [set(values) for values in numbers_in(text, "en").digits] == [{number} for number in numbers]
    for time in ("10:30", "10.30 Uhr", "10.30 a.m.", "10'30"):
        assert [set(values) for values in numbers_in(time, "de").digits] == [{10}, {30}]
    assert [set(values) for values in numbers_in("10.30 Euro", "de").digits] == [{10.3}]


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("en", "Twelve men and twenty-one women", {12, 21}),
        ("en", "between five and ten", {5, 10}),
        ("en", "two hundred and five thousand", {205000}),
        ("en", "two hundred and thirty-one, a thousand, a hundred", {231, 1000, 100}),
        ("en", "the nineteenth century and the eighties", {19, 80}),
        ("en", "someone often, a weight, a stone", set()),
        ("de", "Zwei Männer, einundzwanzig Frauen", {2, 21}),
        ("de", "zweihundertfünf, fünf Millionen, die vierte", {205, 5000000, 4}),
        ("fr", "vingt et un, quatre-vingt-onze, deux cents", {21, 91, 200}),
        ("fr", "cinq millions, deuxième, douze", {5000000, 2, 12}),
        ("zh", "两千零五人，二〇二五年，十二", {2005, 2025, 12}),
        ("zh", "三四个，三亿五千万，三万亿", {3, 4, 350000000, 3000000000000}),
        ("zh", "百分之五，星期三", {5}),
        ("zh", "十七八岁，三四十人，一百二三十元，两三百", {17, 18, 30, 40, 120, 130, 200, 300}),
        ("zh", "三千五，一万二，两百五，三亿五", {3500, 12000, 250, 350000000}),
        ("zh", "三千零五，二百五十，两千零五", {3005, 250, 2005}),
        ("zh-Hant", "兩千萬，三億", {20000000, 300000000}),
        ("zh", "上万人，亿人", {10000, 100000000}),
        ("zh", "人民币壹拾万元整，叁万伍仟元，贰佰元，大陆，参加", {100000, 35000, 200}),
        ("ja", "二十三", {23}),
        ("ja", "金額は壱万円、弐拾参円", {10000, 23}),
        ("it", "dodici", set()),
    ],
)
def test_numbers_in_words_have_their_values(language: str, text: str, values: set[float]) -> None:
    found = numbers_in(text, language)
    assert found.words - {1} == values
    assert found.digits == ()


@pytest.mark.parametrize("word", ["dreizehn", "vierzehn", "cent mille", "twenty"])
def test_a_run_of_number_words_is_read_in_one_way_and_in_no_time(word: str) -> None:
    for language in ("de", "fr", "en"):  # read in two ways each, three thousand of them would take for ever
        numbers_in(word * 3000 + "q", language)


@pytest.mark.parametrize("figure", ["1", "一"])
def test_a_run_of_figures_is_looked_through_once(figure: str) -> None:
    assert len(numbers_in(figure * 200_000 + "q", "zh", is_strict=True).digits) == figure.isascii()


def test_a_run_of_figures_and_units_is_looked_through_once() -> None:
    assert numbers_in("1亿1" * 20_000, "zh").digits


def test_other_words_hint_at_numbers() -> None:
    assert numbers_in("on the second of May, at noon", "en").hints == {2, 5, 12}
    assert numbers_in("um halb, im Januar, beide", "de").hints == {0.5, 30, 1, 2}
    assert numbers_in("eight and a half of 10", "en").hints == {0.5, 1, 2, 30, 8.5, 10.5}
    assert numbers_in("一双，两点半", "zh") == Numbers(
        (), frozenset({1.0, 2.0}), frozenset({0.5, 1.0, 2.0, 30.0, 1.5, 2.5})
    )


def test_a_time_before_the_hour_hints_at_the_hour_and_the_minutes() -> None:
    found = numbers_in("at twenty-five to eight or a quarter to nine", "en")
    assert found.words == {25, 8, 9}
    assert found.hints >= {35, 7, 45, 8}
    assert numbers_in("um zehn vor drei", "de").hints == {50, 2}
    assert numbers_in("三点一刻，五点三刻", "zh") == Numbers((), frozenset({3.0, 5.0}), frozenset({15.0, 45.0}))
    assert numbers_in("two to Berlin", "en").hints == frozenset()


def test_a_number_before_another_may_be_of_the_same_unit() -> None:
    assert numbers_in("2 to 3 million", "en", is_strict=True).digits == (frozenset({2.0, 2e6}), frozenset({3e6}))
    assert numbers_in("3至5万", "zh", is_strict=True).digits == (frozenset({3.0, 3e4}), frozenset({5e4}))
    assert numbers_in("five or six thousand", "en").hints >= {5000}
    assert 55 not in numbers_in("five or six", "en").hints  # no time of day
    assert numbers_in("drei- bis viertausend", "de").hints >= {3000}
    assert numbers_in("三到五万，四、五百", "zh").words == {3e4, 5e4, 400, 500}


def test_the_unit_behind_a_number_is_no_number_of_its_own() -> None:
    assert numbers_in("3万人", "zh").words == frozenset()
    assert numbers_in("3 million people", "en").words == frozenset()


def test_languages_without_number_words_are_told() -> None:
    assert [knows_words(language) for language in ("en-GB", "de_AT", "zh-Hans", "ja", "it", "xx")] == [
        *(True, True, True, True),
        *(False, False),
    ]


@given(st.integers(min_value=2, max_value=9999))
def test_a_chinese_numeral_is_the_number_that_it_spells(value: int) -> None:
    digits, units = "零一二三四五六七八九", ("千", "百", "十", "")
    spelt, was_zero = "", False
    for place, digit in enumerate(f"{value:04d}"):
        if digit != "0":
            spelt += "零" * (was_zero and bool(spelt)) + digits[int(digit)] + units[place]
        was_zero = digit == "0"
    assert value in numbers_in(f"共{spelt}个", "zh").words


@given(st.text(max_size=40), st.sampled_from(["en", "de", "fr", "zh", "ja", "it"]))
def test_any_text_can_be_asked(text: str, language: str) -> None:
    assert all(values for values in numbers_in(text, language).digits)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("亿" * 41, "zh"),
        ("亿" * 41 + "点五", "zh"),
        ("3" + "亿" * 40, "zh"),
        (f"{'9' * 5000}万2千，1" + "亿" * 40, "zh"),
        ("hundred " * 200, "en"),
    ],
)
def test_numbers_without_end_are_no_error(text: str, language: str) -> None:
    found = numbers_in(text, language)
    assert math.inf in found.words.union(*found.digits)
