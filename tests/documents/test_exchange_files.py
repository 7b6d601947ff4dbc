"""XLIFF: which targets are filled, what is said of them then, and what of a text stays. Strings of programs."""

from __future__ import annotations

import pytest
from papers import XLIFF, XLIFF2, texts_of, translated_here

from yiwen.errors import DataError

ONE = '<xliff version="1.2"><file source-language="en"><body><trans-unit id="1">{}</trans-unit></body></file></xliff>'
TWO = '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="1">{}</unit></file></xliff>'


@pytest.mark.parametrize("source", [XLIFF, XLIFF2])
def test_targets_of_another_language_are_refused(source: str) -> None:
    message = "wants its targets in de, not in zh-Hans; translate it into de, or correct its trgLang or target-language"
    with pytest.raises(DataError, match=message):
        translated_here(source, "xliff", tgt_lang="zh-Hans")
    assert translated_here(source, "xliff", tgt_lang="de-AT") == translated_here(source, "xliff", tgt_lang="")


@pytest.mark.parametrize(
    ("source", "unit", "written"),
    [
        (ONE, '<source>a b</source><target state="final"></target>', 'state="needs-review-translation">A B</target>'),
        (ONE, '<source>a b</source><target state="final">c</target>', 'state="final">c</target>'),
        (TWO, '<segment state="initial"><source>a b</source><target>a b</target></segment>', "<target>A B</target>"),
        (TWO, '<segment state="initial"><source>a b</source></segment>', '<segment state="translated">'),
        (TWO, '<segment state="final"><source>a b</source><target>c</target></segment>', '<segment state="final">'),
        (TWO, "<segment><source>a b</source><target>c</target></segment>", "<target>c</target>"),
    ],
)
def test_a_target_that_is_filled_says_that_nobody_has_seen_it(source: str, unit: str, written: str) -> None:
    assert written in translated_here(source.format(unit), "xliff", tgt_lang="de").decode()


def test_a_target_of_empty_segments_is_filled_segment_by_segment() -> None:
    segments = '<mrk mtype="seg" mid="1">{}</mrk> <mrk mtype="seg" mid="2">{}</mrk>'
    unit = f"<source>A one. B two.</source><seg-source>{segments}</seg-source>".format("A one.", "B two.")
    source = ONE.format(f"{unit}<target>{segments.format('', '')}</target>")
    out = translated_here(source, "xliff", tgt_lang="de").decode()
    assert f"<target>{segments.format('A ONE.', 'B TWO.')}</target>" in out
    assert translated_here(out, "xliff", tgt_lang="de").decode() == out


@pytest.mark.parametrize("protected", ['mtype="protected"', 'translate="no"'])
def test_a_part_that_is_not_to_be_translated_stays(protected: str) -> None:
    source = ONE.format(f"<source>Buy <mrk {protected}>Acme &amp; Co</mrk> now</source>")
    out = translated_here(source, "xliff", lambda text: text.replace("Acme & Co", "").upper(), tgt_lang="de").decode()
    assert f"<target>BUY <mrk {protected}>Acme &amp; Co</mrk> NOW</target>" in out


@pytest.mark.parametrize("br", ["<br>", "<br/>", "<BR />"])
def test_a_break_in_a_string_stands_between_two_words(br: str) -> None:
    source = f'{{"a": "First line.{br}second <b>one</b>"}}'
    assert texts_of(source, "json") == ["First line. second one"]
    assert translated_here(source, "json").decode() == f'{{"a": "FIRST LINE.{br}SECOND <b>ONE</b>"}}'
