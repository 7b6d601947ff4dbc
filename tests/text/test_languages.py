"""Many spellings of a language are one code; Simplified and Traditional Chinese are two."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from yiwen.errors import ConfigError
from yiwen.evaluation.metrics import bleu_tokenizer
from yiwen.text.languages import UNSPACED, base, canonical, name_of, table
from yiwen.text.scripts import SCRIPTS, is_leftwards, script_of

SPELLINGS = {
    "zh-Hans": "zh ZH zh-CN zh_CN zh-SG zh_hans zh-Hans-HK zho chi cmn chs zh-CHS cn Chinese 中文 简体中文 汉语",
    "zh-Hant": "zh-TW zh_tw zh-HK zh-MO ZH-HANT zh-Hant-TW cmn-Hant cht zh-CHT zh_CHT 繁體中文 繁体中文 正體中文",
    "yue": "yue yue-HK zh-yue cantonese",
    "en": "en EN en-US en_GB eng english English 英文 英语 英語",
    "de": "de de-AT deu ger German deutsch",
    "pt": "pt pt-BR pt_PT por",
    "sr": "sr sr-Cyrl srp",
    "sr-Latn": "sr-Latn sr_latn sr@latin sr_RS@latin",
    "uz-Cyrl": "uz-Cyrl uz@cyrillic",
    "ca": "ca ca@valencia",
    "he": "he iw heb",
    "no": "no Norwegian",
    "nb": "nb",
    "fa": "fa pes prs Farsi Persian",
    "fil": "fil tl Tagalog",
    "ko": "ko ko-KR kor_Hang",  # as FLORES and NLLB write it
    "ja": "ja jpn ja-JP jp 日本語",
    "cs": "cs cz cze Czech",
}


@pytest.mark.parametrize("code", SPELLINGS)
def test_every_spelling_of_a_language_gives_its_one_code(code: str) -> None:
    assert {spelling: canonical(spelling) for spelling in SPELLINGS[code].split()} == dict.fromkeys(
        SPELLINGS[code].split(), code
    )
    assert canonical(f" {code} ") == canonical(canonical(code)) == code


def test_codes_whose_names_we_know_are_those_that_langcodes_gives() -> None:
    codes = [*table()["names"]]
    assert [canonical(code) for code in codes] == [canonical(code.upper()) for code in codes]  # which it is asked for


def test_a_usual_code_is_known_without_langcodes() -> None:
    script = "import sys; from yiwen.text.languages import canonical as of; print(of('zh'), of('de'), *sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert (found[:2], "langcodes" in found) == (["zh-Hans", "de"], False)


def test_a_member_of_a_language_is_that_language_and_what_means_a_country_its_own() -> None:
    found = [canonical(code) for code in ("arb_Arab", "pes", "zsm", "lvs", "npi", "vn", "by", "rs", "ge", "yue", "nn")]
    assert found == ["ar", "fa", "ms", "lv", "ne", "vi", "be", "sr", "ka", "yue", "nn"]


@pytest.mark.parametrize("nonsense", ["", "-", "e", "zh Hans", "englisch?", "en_US.UTF-8", "klingonish", "1"])
def test_what_is_no_language_is_refused_and_still_has_a_base(nonsense: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a language; use a code such as en, de, zh-Hans or zh-Hant"):
        canonical(nonsense)
    assert isinstance(base(nonsense), str)


def test_languages_are_named_in_english_and_in_themselves() -> None:
    assert name_of("zh_CN") == ("Chinese (Simplified)", "简体中文")
    assert name_of("zh-HK") == ("Chinese (Traditional)", "繁體中文")
    assert name_of("de-CH") == ("German", "Deutsch")
    assert name_of("sr-Latn") == ("Serbian (Latin)", "Srpski (latinica)")
    assert name_of("kk-Latn")[0] == "Kazakh"
    assert name_of("tlh") == ("tlh", "tlh")
    named = [language for _, languages in SCRIPTS.values() for language in languages.split()]
    assert sum(name_of(code) != (code, code) for code in named) > 80


def test_scripts_and_tokenisers_follow_every_spelling() -> None:
    for code in ("zh", "zh-Hant", "cmn", "chinese", "zh_TW"):
        assert (base(code) in UNSPACED, script_of(code), bleu_tokenizer(code)) == (True, "Han", "zh")
    assert (script_of("deu"), bleu_tokenizer("jpn"), bleu_tokenizer("kor")) == ("Latin", "char", "char")


@pytest.mark.parametrize("code", [None, 7, b"en"])
def test_what_is_no_text_is_no_language(code: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"a language is a .*; give its code, such as en, de, zh-Hans or zh-Hant, not"
    ):
        canonical(code)


def test_which_languages_are_written_from_right_to_left() -> None:
    leftwards = "ar arb_Arab arz fa pes ur ps ug ckb sd he iw yi Arabic ku-Arab pa-Arab azb pnb dv syr nqo"
    rightwards = "en zh zh-Hant ja ru hi ka sd-Deva ar-Latn az pa ff ku tlh quenya-x xx"
    assert [code for code in leftwards.split() if not is_leftwards(code)] == []
    assert [code for code in ("", *rightwards.split()) if is_leftwards(code)] == []


@pytest.mark.parametrize("reads", [canonical, base, script_of])
def test_codes_that_callers_make_up_are_not_all_remembered(reads: Any) -> None:
    for i in range(1100):
        reads(f"en-x-a{i}")
    assert reads.cache_info().currsize <= 1024
