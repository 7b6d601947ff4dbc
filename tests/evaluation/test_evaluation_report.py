"""The HTML report: one file, no script, everything escaped, all sections there."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from yiwen.evaluation.lines import Line, details_of
from yiwen.evaluation.metrics import evaluate
from yiwen.evaluation.report import _differences, bars, page, reliability, section, table, translation_sections
from yiwen.evaluation.significance import Comparison, Difference, compare

NASTY = '<img src=x onerror=alert(1)> </td></script> "quoted" & \u202e 你好'
VOID = {"meta", "rect", "circle", "line", "path"}


class Reader(HTMLParser):
    """Checks that tags are balanced; keeps tags, their attributes and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def whole_page() -> str:
    texts = ["ein Hund", NASTY, "zwei Katzen hier", "drei Vögel"]
    others = ["ein Hund", "x", "zwei Katzen", "vier Vögel dort"]
    lines = [
        Line(
            number=i + 1,
            source=NASTY,
            reference=texts[0],
            translation=text,
            chrf=20.0 * i,
            flags=("loop",),
            confidence=0.25 * i,
            other=other,
            other_chrf=30.0,
        )
        for i, (text, other) in enumerate(zip(texts, others, strict=True))
    ]
    references = ["ein Hund", "y", "zwei Katzen hier", "drei Vögel dort"]
    sections = translation_sections(
        evaluate(texts, references, tgt_lang="de", n_bootstrap=0),
        compare(texts, others, references, tgt_lang="de", n_bootstrap=100),
        details_of(lines, tgt_lang="de", good_at=50.0),
        note=NASTY,
    )
    return page(f"report of {NASTY}", sections)


def test_the_page_is_whole_and_in_both_languages() -> None:
    reader = read(whole_page())
    for heading in ("Scores · 得分", "Compared · 对比", "Flags · 标记", "Confidence · 置信度", "Lowest scores"):
        assert heading in reader.text
    assert "By length of the source · 按原文长度" in reader.text
    assert "Gains against the other model" in reader.text
    assert "Losses against the other model" in reader.text
    # The first line is good; sure of the four the model was by 0, 25, 50 and 75 %.
    assert "Expected calibration error 62.5 %" in reader.text
    assert sum(tag == "svg" for tag, _ in reader.tags) == 2
    assert "chrF2 by words or Chinese characters (lines); orange: the other model" in reader.text


def test_gains_come_before_losses_and_each_stands_beside_what_the_other_model_wrote() -> None:
    _, gains, losses = re.split("Gains against the other model|Losses against the other model", whole_page())
    rows = re.compile(
        r'<tr><td class="number">(\d)</td><td class="number">([\d.]+)</td>.*?<td class="number">([\d.]+)</td></tr>'
    )
    assert rows.findall(gains) == [("4", "60.00", "30.00"), ("3", "40.00", "30.00")]
    assert rows.findall(losses) == [("1", "0.00", "30.00"), ("2", "20.00", "30.00")]


def test_whatever_a_test_set_or_a_model_writes_is_text() -> None:
    html = whole_page()
    reader = read(html)
    assert NASTY in reader.text
    assert {"img", "script", "link", "iframe", "a"}.isdisjoint(tag for tag, _ in reader.tags)
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]
    assert not re.search(r"https?://|url\(|@import", html)
    policy = {
        attributes.get("http-equiv"): attributes.get("content") for tag, attributes in reader.tags if tag == "meta"
    }
    assert policy["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_numbers_stand_to_the_right_and_text_to_the_left() -> None:
    html = table(("name", "n", "score"), [("a<b", 1234, 5.25)])
    assert '<td dir="auto">a&lt;b</td><td class="number">1,234</td><td class="number">5.25</td>' in html
    assert '<tr><th>name</th><th class="number">n</th><th class="number">score</th></tr>' in html
    assert read(section("Title & more", "标题", html, note="<note>")).text.count("<note>") == 1


def test_bars_are_as_high_as_their_values() -> None:
    reader = read(bars("chrF2", ["1+", "6+"], [[50.0, 100.0], [25.0, None]]))
    places = [(attributes["y"], attributes["height"]) for tag, attributes in reader.tags if tag == "rect"]
    assert places == [("110.0", "80.0"), ("150.0", "40.0"), ("30.0", "160.0")]  # they stand on 190
    assert read(bars("nothing", [], [])).text.strip().startswith("nothing")


def test_a_perfectly_calibrated_point_stands_on_the_diagonal() -> None:
    reader = read(reliability([(7, 0.5, 0.5), (0, 0.0, 0.0), (5, 1.0, 0.0)]))
    points = [(attributes["cx"], attributes["cy"]) for tag, attributes in reader.tags if tag == "circle"]
    assert points == [("180.0", "160.0"), ("320.0", "300.0")]


def test_scores_have_the_decimals_of_their_intervals() -> None:
    differences = [
        Difference(name="BLEU", system=33.04, baseline=32.96, p_value=0.01, interval=(-0.5, 0.66), signature="s"),
        Difference(name="COMET", system=60.0, baseline=50.0, p_value=0.3, interval=(9.0, 11.0), signature="s"),
    ]
    shown = _differences(Comparison(tgt_lang="de", n_lines=7, differences=tuple(differences)))
    assert "difference, 95 %" in shown  # no gain: of TER less is better
    assert re.findall(r">([^<>]+)</td>", shown) == [
        "BLEU", "33.04", "32.96", "-0.50 to +0.66", "0.0100", "yes · 是",
        "COMET", "60.00", "50.00", "+9.00 to +11.00", "0.3000", "no · 否",
    ]  # fmt: skip
