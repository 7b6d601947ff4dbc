"""A language is told by its script where that is enough, and a text is never taken for one that it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from yiwen.text import langid
from yiwen.text.langid import Detected, detect, is_in

DATA = Path(os.environ.get("YIWEN_DATA", "/nowhere"))


@pytest.mark.parametrize(
    ("text", "among", "language"),
    [
        ("The man over there is reading a book about Berlin.", (), "en"),
        ("Der Mann, der da ist, liest ein Buch über Berlin.", (), "de"),
        ("L'homme qui est là lit un livre sur Berlin.", (), "fr"),
        ("这是一本书。", (), "zh-Hans"),
        ("這是一本書。", (), "zh-Hant"),
        ("这是 Python 的书。", ("en", "zh_TW"), "zh-Hans"),
        ("これは本です。", (), "ja"),
        ("東京へ行く", ("zh", "ja"), "ja"),
        ("東京大学", ("en", "ja"), "ja"),
        ("東京大学", ("en", "zh", "ja"), "zh-Hans"),
        ("我昨天在优の良品买了很多东西。", ("zh", "ja"), "zh-Hans"),
        ("이것은 책입니다.", (), "ko"),
        ("ON SELECT 룰은 OLD를 사용할 수 없음", ("en", "ko"), "ko"),  # most letters are Latin, most words are not
        ("The Korean greeting 안녕하세요 means hello.", ("en", "ko"), "en"),
        ("그는 「ありがとう」라고 말했다.", ("ja", "ko"), "ko"),
        ("hello", ("en", "zh"), "en"),
        ("Jeg liker å lese bøker om vinteren, men ikke når det er varmt ute.", ("nb", "sv", "en"), "nb"),
        ("Gusto kong magbasa ng mga aklat tuwing tag-ulan sa bahay namin.", ("nb", "fil"), "fil"),
        ("Kei te pai ahau, he pai te ra.", ("mi", "sm"), "und"),
        ("Кућа је на пијаци.", ("ru", "sr"), "sr"),
        ("Kuća je na pijaci.", ("ru", "sr-Latn", "en"), "sr-Latn"),
        ("Kuća je na pijaci, a ljudi su u gradu.", ("sr", "sr-Latn"), "sr-Latn"),
        ("Кућа је на пијаци.", ("sr-Latn", "sr"), "sr"),
        ("你好", ("en", "de"), "und"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", (), "und"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", ("en", "de"), "und"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", ("en", "chr"), "chr"),
        ("42 + 1 = 43", (), "und"),
        ("https://example.com/the/path", (), "und"),
        ("", (), "und"),
    ],
)
def test_the_language_of_a_text_is_told(text: str, among: tuple[str, ...], language: str) -> None:
    found = detect(text, among)
    assert found.language == language
    assert 0.0 <= found.confidence <= 1.0
    assert (found == Detected("und", 0.0)) == (language == "und")


def test_a_short_text_says_less_than_a_long_one() -> None:
    assert (
        detect("Er isst.", ("de", "nl")).confidence < detect("Er isst heute mit uns zu Abend.", ("de", "nl")).confidence
    )


@pytest.mark.parametrize(
    ("text", "src", "tgt", "expected"),
    [
        ("我喜欢用 Python 写程序。", "en", "zh", True),
        ("你好", "en", "zh-Hant", True),
        ("The word 你好 means hello.", "en", "zh", False),
        ("Der Mann liest ein Buch über die Stadt.", "en", "de", True),
        ("The man reads a book about the city.", "en", "de", False),
        ("Ein Mann.", "en", "de", False),  # too short to be sure
        ("Hello world", "zh", "en", True),
        ("Hello 世界", "zh", "en", False),
        ("東京都", "zh", "ja", False),
        ("東京へ行く", "zh", "ja", True),
        ("彼は「안녕하세요」と言った。", "ja", "ko", False),
        ("我昨天在优の良品买了很多东西。", "zh", "ja", False),
        ("그는 「ありがとう」라고 말했다.", "ko", "ja", False),
        ("他说「안녕하세요」就走了。", "zh", "ko", False),
        ("東京大学で教授会議がある。", "zh", "ja", True),
        ("이것은 책입니다.", "ja", "ko", True),
        ("דאָס איז אַ גוט בוך, און איך האָב עס געלייענט נעכטן.", "yi", "he", False),  # a language unknown to the model
        ("Jeg liker å lese bøker om vinteren, men ikke når det er varmt ute.", "en", "nb", True),
        ("这是一本书。", "zh-Hans", "zh-Hant", False),
        ("Что это такое?", "sr", "ru", False),  # Serbian has two scripts: never judged
    ],
)
def test_a_text_in_the_target_language_is_known_for_certain_or_not_at_all(
    text: str, src: str, tgt: str, expected: bool
) -> None:
    assert is_in(text, tgt, rather_than=src) is expected


@pytest.mark.parametrize(("n_letters", "p", "expected"), [(30, 0.991, True), (29, 0.991, False), (30, 0.989, False)])
def test_it_takes_thirty_letters_and_ninety_nine_per_cent(
    n_letters: int, p: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = SimpleNamespace(rank=lambda prose: [("de", p), ("en", 1 - p), ("fr", 0.0)])
    monkeypatch.setattr(langid, "_identifier", lambda: identifier)
    letters = "baum" * 8
    assert is_in(f"{letters[:15]} {letters[15:n_letters]}", "de", rather_than="en") is expected


@pytest.mark.skipif(not (DATA / "multi30k").is_dir(), reason="YIWEN_DATA has no text in several languages")
def test_fewer_than_one_clean_line_in_a_thousand_is_taken_for_the_target_language() -> None:
    n_lines = n_wrong = n_found = n_there = 0
    for name, src, tgt in (
        ("multi30k/val.en", "en", "de"),
        ("multi30k/val.de", "de", "en"),
        ("multi30k/val.fr", "fr", "en"),
        ("news-en-de/newstest2013.en", "en", "fr"),
        ("news-en-de/newstest2013.de", "de", "en"),
        ("tatoeba-en-zh/dev.zh", "zh", "en"),
        ("pydocs-en-zh/dev.zh", "zh", "en"),
        ("pydocs-en-zh/dev.en", "en", "zh"),
    ):
        lines = (DATA / name).read_text("utf-8").split("\n")[:1000]
        n_lines += len(lines)
        n_wrong += sum(is_in(line, tgt, rather_than=src) for line in lines)
        found = [is_in(line, src, rather_than=tgt) for line in lines if len(line) >= 60]
        n_there += len(found)
        n_found += sum(found)
    print(f"{n_wrong} of {n_lines} taken for the target language; {n_found} of {n_there} found where they are in it")
    assert n_wrong < n_lines / 1000
    assert n_found > 0.9 * n_there


def test_the_model_is_loaded_only_when_a_text_needs_it() -> None:
    program = (
        "import sys; from yiwen.text.langid import detect, is_in; detect('你好', ('en', 'zh'));"
        "is_in('A man is in the house with the dog.', 'de', rather_than='en'); print('py3langid' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\n", done.stderr
