"""Widths and scripts."""

from __future__ import annotations

import re

import pytest

from yiwen.text.chinese import visual_length
from yiwen.text.scripts import HAN, SCRIPTS, script_of, script_share


def test_chinese_characters_are_told_from_their_neighbours() -> None:
    assert re.fullmatch(f"[{HAN}]+", "一中文龥㐀𠀀〇")
    assert not re.search(f"[{HAN}]", "aあ、。1ｅ한")


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("abc", 3), ("你好，世界", 10), ("Übung", 5), ("日本 go", 7), ("한글", 4)]
)
def test_wide_characters_count_twice(text: str, columns: int) -> None:
    assert visual_length(text) == columns


def test_scripts_of_languages() -> None:
    found = {code: script_of(code) for code in ("en", "de-AT", "zh", "zh_Hant", "JA", "ru", "sr", "tlh")}
    assert found == {
        "en": "Latin", "de-AT": "Latin", "zh": "Han", "zh_Hant": "Han", "JA": "Japanese", "ru": "Cyrillic",
        "sr": None, "tlh": None,
    }  # fmt: skip


def test_no_language_is_listed_under_two_scripts() -> None:
    codes = [code for _, languages in SCRIPTS.values() for code in languages.split()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("text", "script", "share"),
    [
        ("请参阅 concurrent.futures", "Han", 3 / 5),
        ("只有汉字。", "Han", 1.0),
        ("no such letters", "Han", 0.0),
        ("2024: 100 %", "Han", 1.0),
        ("日本語のテキスト", "Japanese", 1.0),
        ("Über den Wolken", "Latin", 1.0),
        ("мир und мир", "Latin", 1 / 3),
    ],
)
def test_share_of_a_script_counts_words_not_letters(text: str, script: str, share: float) -> None:
    assert script_share(text, script) == pytest.approx(share)
