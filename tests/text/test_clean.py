"""Each fault is found, and good pairs are left alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.errors import ConfigError
from yiwen.text import clean
from yiwen.text.clean import CleaningConfig, checks, fault_of, has_few_letters
from yiwen.text.normalise import normalise
from yiwen.text.scripts import script_of

EN_ZH = checks(CleaningConfig(), src_lang="en", tgt_lang="zh")
EN_DE = checks(CleaningConfig(), src_lang="en", tgt_lang="de")


@pytest.mark.parametrize(
    ("src", "tgt"),
    [
        ("Hi!", "你好！"),
        ("A dog runs.", "一只狗在跑。"),
        ("It's 7:30.", "现在七点半。"),
        ("See concurrent.futures.", "请参阅 concurrent.futures。"),
        ("<b>Stop</b> here", "在此<b>停下</b>"),
        ("It costs 10000000000000 dollars.", "它要 10000000000000 美元。"),
        ("He said that he would come as soon as he possibly could.", "他说会尽快来。"),
    ],
)
def test_good_pairs_have_no_fault(src: str, tgt: str) -> None:
    assert fault_of(src, tgt, EN_ZH) is None


@pytest.mark.parametrize(
    ("src", "tgt", "reason"),
    [
        ("", "你好", "empty side"),
        ("Hello", "", "empty side"),
        ("word " * 1001, "词", "length"),
        ("Yes.", "……！", "too few letters"),
        ("12:30", "十二点半", "too few letters"),
        ("Visual Studio Code", "visual studio code", "copied source"),
        ("A dog &amp; a cat", "一只狗和一只猫", "markup"),
        ("A <i>dog</i> runs", "一只狗在跑", "markup"),
        ("A dog runs", "一只<i>狗</i>在跑", "markup"),
        ("A dog and a cat", "一只狗 &amp; 一只猫", "markup"),
        ("Nooooooooooooo!", "不！", "repeated characters"),
        ("A dog runs.", "一只狗在跑。。。。。。。。。。。。。", "repeated characters"),
        ("Good morning.", "Guten Morgen.", "wrong script"),
        ("早上好。", "早晨好。", "wrong script"),
        ("Yes.", "是的，我们昨天晚上在火车站旁边的那家小饭馆里一起吃了很长时间的饭。", "length ratio"),
    ],
)
def test_each_fault_is_named(src: str, tgt: str, reason: str) -> None:
    assert fault_of(src, tgt, EN_ZH) == reason


@pytest.mark.parametrize(
    ("settings", "good", "bad"),
    [
        ({"max_length": 10}, ("ten column", "你好你好你"), ("more than 10", "你好你好你")),
        ({"max_length": 10}, ("ten column", "你好你好你"), ("ten column", "你好你好你a")),
        ({"min_length": 3}, ("ant", "你a"), ("ab", "你a")),
        ({"min_length": 3}, ("ant", "你a"), ("ant", "你")),
        ({"max_repeats": 3}, ("Nooo", "不"), ("Noooo", "不")),
        ({"max_repeats": 1}, ("No", "不"), ("Noo", "不")),
        ({"max_ratio": 4.0}, ("b", "a" * 28), ("b", "a" * 29)),  # 36 = 4 x 9
        ({"min_letters": 0.5}, ("ab..", "2 你!"), ("ab...", "2 你!")),
        ({"min_letters": 0.5}, ("ab..", "2 你!"), ("ab..", "2 你!!")),
    ],
)
def test_what_a_limit_names_still_passes(settings: dict[str, Any], good: tuple[str, str], bad: tuple[str, str]) -> None:
    off = {"max_ratio": 0.0, "max_repeats": 0, "min_letters": 0.0, "min_script": 0.0}
    active = checks(CleaningConfig(**off | settings), src_lang="en", tgt_lang="zh")
    assert (fault_of(*good, active), fault_of(*bad, active) is None) == (None, False)


def test_vowel_signs_are_no_signs() -> None:
    assert not has_few_letters("big city", "မြို့ကြီး", least=0.3)
    assert not has_few_letters("it is over", "ပြီးပြီ", least=0.3)


@pytest.mark.parametrize("tgt", ["命令 <选项> <文件名>", "Befehl <Größe> <Dateiname>", "команда <ключи> <файл>"])
def test_what_a_reader_has_to_fill_in_may_be_translated(tgt: str) -> None:
    assert not clean.has_markup("command <options> <file>", tgt)
    assert not clean.has_markup("Dream of the Red Chamber", "<红楼梦>")  # a title
    assert clean.has_markup("command <options> <file>", tgt.replace("<", "").replace(">", ""))
    assert clean.has_markup("<b>Run</b> it", f"{tgt} &amp; los")


def test_chinese_is_measured_by_width_and_not_by_words() -> None:
    src, tgt = "The weather will be fine tomorrow in all of the country.", "明天全国各地都将是晴天。"
    assert len(src.split()) > 4 * len(tgt.split())
    assert not clean.is_ratio_wrong(src, tgt, greatest=4.0)


def test_copies_are_wanted_where_both_languages_are_the_same() -> None:
    kinds_of_chinese = ("zh-Hans", "zh-Hant"), ("zh_TW", "zh"), ("yue", "zh"), ("zh-Hant", "lzh")  # 你好 is 你好 in all
    for codes in (("en", "en"), ("en-GB", "en-US"), ("pt", "pt-BR"), *kinds_of_chinese):
        same = checks(CleaningConfig(), src_lang=codes[0], tgt_lang=codes[1])
        text = "你好" if codes in kinds_of_chinese else "a b c"
        assert fault_of(text, text, same) is None
    assert fault_of("a b c", "A B C", EN_DE) == "copied source"
    assert fault_of("Große Straße", "GROSSE STRASSE", EN_DE) == "copied source"  # two letters for one


def test_a_tag_before_a_source_is_not_judged() -> None:
    assert fault_of("<2de> Visual Studio Code", "Visual Studio Code", EN_DE) == "copied source"
    assert fault_of("<2de>", "Guten Morgen", EN_DE) == "empty side"
    strict = CleaningConfig(max_length=10, max_ratio=1.0, min_letters=1.0, min_script=1.0)
    assert fault_of("<2en> 你好你好你", "ten column", checks(strict, src_lang="zh", tgt_lang="en")) is None


def test_every_check_but_the_lengths_can_be_turned_off() -> None:
    off = CleaningConfig(
        max_ratio=0, max_repeats=0, min_letters=0, min_script=0, drop_copied=False, drop_markup=False
    )  # fmt: skip
    assert [reason for reason, _ in checks(off, src_lang="en", tgt_lang="zh")] == ["empty side", "length"]


@pytest.mark.parametrize(("code", "text"), [("az", "əsas"), ("ha", "ɗaki"), ("to", "ʻoku ʻi ʻapi")])
def test_words_that_begin_with_a_latin_letter_of_few_languages_are_in_latin_script(code: str, text: str) -> None:
    assert fault_of("a good word", text, checks(CleaningConfig(), src_lang="en", tgt_lang=code)) is None


def test_a_language_of_unknown_script_is_not_judged() -> None:
    assert "wrong script" not in dict(checks(CleaningConfig(), src_lang="tlh", tgt_lang="sr"))
    with_german = checks(CleaningConfig(), src_lang="tlh", tgt_lang="de")
    assert fault_of("Нека.", "Guten Morgen.", with_german) is None
    assert fault_of("Нека.", "Доброе утро.", with_german) == "wrong script"


@given(st.text(), st.text())
def test_any_text_is_judged_without_an_error(src: str, tgt: str) -> None:
    src, tgt = normalise(src), normalise(tgt)
    reason = fault_of(src, tgt, EN_ZH)
    assert (reason == "empty side") == (not src or not tgt)


@given(st.text(st.sampled_from("ab 1.é中，")))
def test_the_quick_way_of_counting_letters_agrees_with_the_slow_one(text: str) -> None:
    letters = sum(map(str.isalpha, text))
    signs = sum(not (character.isspace() or character.isalnum()) for character in text)
    assert clean._letter_share(text) == (letters / (letters + signs) if letters else 0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_length": 0}, "min_length is 0; use 1 or more"),
        ({"min_length": 9, "max_length": 8}, "max_length is 8; use as much as min_length=9 or more"),
        ({"max_ratio": 0.5}, r"max_ratio is 0.5; use 0 \(any ratio\) or 1 or more"),
        ({"max_repeats": -1}, "max_repeats is -1; use 0"),
        ({"min_letters": 2.0}, "min_letters is 2.0; use a share, 0"),
        ({"min_script": -0.1}, "min_script is -0.1; use a share, 0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CleaningConfig(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "languages"), [("multi30k", "en de"), ("tatoeba-en-zh", "en zh")])
def test_clean_corpora_lose_less_than_one_pair_in_a_hundred(name: str, languages: str) -> None:
    folder = Path(os.environ.get("YIWEN_DATA", "")) / name
    if not os.environ.get("YIWEN_DATA") or not folder.is_dir():
        pytest.skip("YIWEN_DATA names no folder with the test data")
    src_lang, tgt_lang = languages.split()
    sides = [(folder / f"train.{code}").read_bytes().split(b"\n")[:5000] for code in (src_lang, tgt_lang)]
    active = checks(CleaningConfig(), src_lang=src_lang, tgt_lang=tgt_lang)
    faults = [
        fault_of(normalise(src.decode()), normalise(tgt.decode()), active) for src, tgt in zip(*sides, strict=True)
    ]
    assert sum(fault is not None for fault in faults) < 50


@pytest.mark.parametrize("code", ["hi-Latn", "zh-Latn", "az-Cyrl", "ms-Arab"])
def test_a_language_in_another_script_than_usual_is_not_judged(code: str) -> None:
    assert script_of(code) is None
