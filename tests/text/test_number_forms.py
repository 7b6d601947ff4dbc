"""What a language writes otherwise is looked for where its sign is: every form has an example, which has the sign."""

from __future__ import annotations

import pytest

from yiwen.text.numbers import _forms

ANY = (
    *("1\u00a0000", "٬", "٫", "1،000", "星期三", "一百多万", "三到五百", "三十到五十万"),
    *("14.30 Uhr", "๑๔.๓๐ น.", "ora 14.30, godz. 14.30", "1430 UTC", "COVID-19", "5 K", "$3m", "£3 B", "€3tn"),
    *("12。5", "5 km2"),
)
EXAMPLES = {
    "en": (
        *(
            "two BILLION, six million",
            "two million, five thousand",
            "five thousand, four hundred",
            "Two Dozen",
            "5 Mln",
        ),
        *("HUNDREDS AND HUNDREDS", "thousandſ upon thousandſ", "twenty one", "THIRTY - TWO", "24/7"),
        *("67 thousand MILLIONS", "80, 000", "25m Voters", "1/2"),
    ),
    "de": (*(f"HALB {hour}" for hour in range(1, 13)), "1/2"),
    "fr": ("350 autres milliards", "7 millions et DEMI", "Deux milliards et demi", "pourcent", "1/2"),
    "zh": (
        *("20世纪八十年代", "20世紀80年代", "19世纪80年代", "18世纪80年代"),
        *("二十世纪八十年代", "十九世纪八十年代", "十八世紀八十年代", "5，000", "二○○八年", "一O二", "廿", "四万万"),
        *("十三五规划", "八成五", "五成半", "2块5", "37度5", "1米75", "卅", "拾万", "5兆美元", "9秒58", "五四运动"),
        *(
            "五一劳动节",
            "三八妇女节",
            "七七事变",
            "八点差一刻",
            "差一刻",
            "九一八",
            "九一一事件",
            "两年",
            "两天",
            "2万5",
            "1/2",
        ),
    ),
    "ja": ("5，000", "5兆", "2、3", "2人", "10代", "1/2"),
    "fa": ("۳/۵ درصد", "3 هزار", "3 میلیون", "3 میلیارد", "3 تریلیون"),
    "nl": ("14.30 uur", "3 duizend", "3 MILJOEN", "3 miljard", "3 biljoen"),
    "ko": ("3시 반", "3십", "3백", "3조"),
    "ha": ("dubu 3", "miliyan 3"),
    "sw": ("elfu 3", "milioni 3", "bilioni 3"),
}


@pytest.mark.parametrize("language", EXAMPLES)
def test_what_a_form_is_found_in_has_its_sign(language: str) -> None:
    for sign, forms in _forms(language):
        for form, _ in forms:
            found = [text for text in (*ANY, *EXAMPLES[language]) if form.search(text)]
            assert found, f"{form.pattern} has no example"
            assert all(map(sign.search, found)), form.pattern
