"""How the page and the report of an evaluation look on paper, in colours of the reader's own, and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import Web
from fake_service import FakeService
from playwright.sync_api import Page, expect

from yiwen.evaluation import report
from yiwen.evaluation.lines import Line

pytestmark = pytest.mark.web

DOCUMENT: Any = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Hello"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_paper_both_texts_stand_in_full_black_on_white(theme: str, web: Web, service: FakeService) -> None:
    page = web.open(service.url, color_scheme=theme)
    page.select_option("#to", "zh")
    page.fill("#source", "\n".join(f"Line {index} about herons." for index in range(70)))
    expect(page.locator("#output .sentence")).to_have_count(70)
    page.emulate_media(media="print")
    for text in ("#mirror", "#output"):
        expect(page.locator(text)).to_have_css("color", "rgb(29, 30, 33)")
        assert page.locator(text).inner_text().strip().count("\n") == 69
    # What is cut at the end of a page is a grid or clipped; what goes on over pages is neither.
    for box in (".panes", ".source", ".target", ".editor"):
        expect(page.locator(box)).to_have_css("display", "block")
        expect(page.locator(box)).to_have_css("overflow", "visible")
    expect(page.locator("#source")).to_be_hidden()
    expect(page.locator(".foot >> nth=0")).to_be_hidden()


def style(page: Page, selector: str, name: str, pseudo: str = "") -> str:
    """A property as the browser shows it."""
    body = "(node, [name, pseudo]) => getComputedStyle(node, pseudo || null).getPropertyValue(name)"
    return str(page.locator(selector).first.evaluate(body, [name, pseudo]))


def test_in_forced_colours_everything_that_is_only_a_colour_is_there(web: Web, service: FakeService) -> None:
    page = web.open(service.url, forced_colors="active")
    page.select_option("#to", "zh")
    page.fill("#source", "The river is quiet this morning.")
    page.click("#output .sentence")
    page.click("summary:has-text('Where the model looked')")
    page.get_by_role("button", name="Layer 1, head 2").click()
    expect(page.locator(".heat tbody tr")).to_have_count(10)
    cells = [style(page, f".heat tbody td >> nth={place}", "background-color") for place in (0, 1)]
    assert cells[0] != cells[1]
    assert "gradient" in style(page, "#confidence", "background-image", "::before")
    assert "gradient" in style(page, "#from", "background-image")
    for chosen in (".tabs [aria-selected=true]", ".head[aria-pressed=true]", ".pick"):
        assert style(page, chosen, "outline-style") == "solid"
    service.progress = [0.4]
    page.click("#tab-documents")
    page.set_input_files("#file", files=[DOCUMENT])
    expect(page.locator("progress")).to_have_css("forced-color-adjust", "none")


def test_on_paper_everything_that_is_only_a_colour_is_there(page: Page) -> None:
    page.fill("#source", "The river is quiet this morning.")
    page.click("#output .sentence")
    page.click("summary:has-text('Where the model looked')")
    page.locator(".heat").wait_for()
    page.emulate_media(media="print")
    assert style(page, ".heat tbody td", "print-color-adjust") == "exact"
    assert style(page, "#sentence-confidence", "print-color-adjust", "::before") == "exact"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_table_of_an_evaluation_can_be_read_at_every_width(width: int, web: Web, tmp_path: Path) -> None:
    text = "Two herons stand in the shallow water of the river this morning. " * 3
    line = Line(
        number=12, source=text, reference=text, translation="x" * 300, chrf=34.5, flags=("length_ratio", "repetition"),
        confidence=None, other=text, other_chrf=21.0,
    )  # fmt: skip
    path = tmp_path / "report.html"
    path.write_text(report.page("x", [report.section("Lines", "句子", report.line_table([line]))]), encoding="utf-8")
    page = web.open(f"file://{path}", viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts = page.locator("td[dir=auto]").evaluate_all("cells => cells.map((cell) => cell.clientWidth)")
    assert min(texts) >= 80
    flags = page.locator("td", has_text="length_ratio")
    assert flags.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_nothing_in_the_foot_of_a_pane_lies_over_anything_else_at_any_width(
    language: str, web: Web, service: FakeService
) -> None:
    page = web.open(service.url, locale=language)
    page.select_option("#to", "zh")
    page.fill("#source", "We will be there by 9:45.")
    expect(page.locator("#check")).to_be_visible()
    expect(page.locator("#confidence")).to_be_visible()
    body = """(foot) => [foot, ...foot.children].filter((each) => each.offsetWidth && each.className !== "space")
        .map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right])"""
    for width in (320, 500, 769, 820, 900, 1000, 1100, 1200, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        (left, right), *parts = page.locator(".target .foot").evaluate(body)
        ends = [left, *(end for _, end in parts)]
        assert all(start >= end - 0.5 for end, (start, _) in zip(ends, parts, strict=False)), (width, parts)
        assert ends[-1] <= right, (width, parts)


def test_the_words_beside_the_weights_of_a_long_sentence_stay_in_sight(web: Web, service: FakeService) -> None:
    page = web.open(service.url, viewport={"width": 400, "height": 800})
    page.select_option("#to", "zh")
    page.fill("#source", " ".join(f"heron{index}" for index in range(20)) + ".")
    page.click("#output .sentence")
    page.click("summary:has-text('Where the model looked')")
    page.locator(".heat").wait_for()
    page.locator(".scroll").evaluate("(box) => { box.style.maxHeight = '10rem'; box.scrollTo(9999, 9999); }")
    shown, column, row = (
        page.locator(which).bounding_box() or {}
        for which in (".scroll", ".heat thead th >> nth=-1", ".heat th[scope=row] >> nth=-1")
    )
    assert row["x"] == pytest.approx(shown["x"], abs=6)
    assert column["y"] == pytest.approx(shown["y"], abs=6)


def test_no_field_is_so_small_that_a_phone_zooms_in_to_it(web: Web, service: FakeService) -> None:
    page = web.open(service.url, viewport={"width": 390, "height": 800})
    page.fill("#source", "Two herons.")
    page.click("#output .sentence")
    page.click("#open-glossary")
    page.locator(".terms .field").first.wait_for()
    fields = page.locator("textarea, input:not([type=file], [type=checkbox]), select")
    sizes = fields.evaluate_all("fields => fields.map((field) => parseFloat(getComputedStyle(field).fontSize))")
    assert len(sizes) >= 7
    assert min(sizes) >= 16


@pytest.mark.parametrize("width", [400, 1280])
def test_both_columns_of_a_glossary_share_all_of_its_width(width: int, web: Web, service: FakeService) -> None:
    page = web.open(service.url, viewport={"width": width, "height": 800})
    page.click("#open-glossary")
    page.locator(".terms .field").nth(1).wait_for()
    widths = page.locator(".terms .field").evaluate_all("fields => fields.map((field) => field.offsetWidth)")
    assert widths[0] == widths[1]
    assert sum(widths) > 0.75 * page.locator(".terms").evaluate("(table) => table.offsetWidth")


def test_a_number_and_its_unit_stand_in_one_line(web: Web, service: FakeService) -> None:
    service.progress = [0.4]
    page = web.open(service.url, viewport={"width": 360, "height": 800})
    page.click("#tab-documents")
    page.set_input_files("#file", files=[DOCUMENT])
    said = page.locator(".document [role=status]")
    expect(said).to_contain_text("40 %")
    assert str(said.evaluate("(node) => node.textContent")).endswith("40\u00a0%")


@pytest.mark.parametrize(
    ("language", "words"), [("en-US", "The translation appears here"), ("zh-CN", "译文显示在这里")]
)
def test_an_empty_translation_says_what_it_is_for(language: str, words: str, web: Web, service: FakeService) -> None:
    page = web.open(service.url, locale=language)
    assert words in style(page, "#output", "content", "::before")
    page.fill("#source", "你好。" if language == "zh-CN" else "Hello.")
    expect(page.locator("#output")).not_to_be_empty()
    assert style(page, "#output", "content", "::before") == "none"
    page.click("#clear")
    assert words in style(page, "#output", "content", "::before")


def test_remarks_are_marked_by_a_wavy_line_and_choices_by_dots(page: Page) -> None:
    page.fill("#source", "We will be there by 9:45.")
    expect(page.locator("#output .flagged")).to_have_css("text-decoration-style", "wavy")
    page.click("#output .flagged")
    page.click(".choice >> nth=1")
    expect(page.locator("#output .edited")).to_have_css("text-decoration-style", "dotted")


def test_each_box_is_in_the_language_of_its_text(page: Page) -> None:
    both = "nodes => nodes.map((node) => node.getAttribute('lang'))"
    page.fill("#source", "The river is quiet this morning.")
    expect(page.locator("#output")).to_have_attribute("lang", "zh")
    assert page.locator("#mirror, #source").evaluate_all(both) == ["en", "en"]
    page.click("#clear")
    expect(page.locator("#output")).to_have_text("")
    assert page.locator("#mirror, #source").evaluate_all(both) == [None, None]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_flag_of_an_evaluation_stands_in_one_line(width: int, web: Web, tmp_path: Path) -> None:
    flags = ["length_ratio", "already_target", "passed_through"]
    table = report.table(("flag", "lines", "which"), [(flag, 3, "1, 2, 3 " * 30) for flag in flags])
    path = tmp_path / "report.html"
    path.write_text(report.page("x", [report.section("Flags", "标记", table)]), encoding="utf-8")
    page = web.open(f"file://{path}", viewport={"width": width, "height": 844})
    lines = """cells => cells.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length;
    })"""
    assert page.locator("td:first-child").evaluate_all(lines) == [1, 1, 1]


def test_no_word_of_a_chart_of_an_evaluation_is_cut(web: Web, tmp_path: Path) -> None:
    charts = [report.bars("chrF2", ["1+ (1,000)"], [[100.0]]), report.reliability([(1, 1.0, 1.0), (1, 0.0, 0.0)])]
    path = tmp_path / "report.html"
    path.write_text(report.page("x", [report.section("Charts", "图", *charts)]), encoding="utf-8")
    page = web.open(f"file://{path}")
    body = """(svgs) => svgs.flatMap((svg) => [...svg.querySelectorAll("text")].filter((text) => {
        const [inner, outer] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
        return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom;
    }).map((text) => text.textContent))"""
    assert page.locator("svg").evaluate_all(body) == []
