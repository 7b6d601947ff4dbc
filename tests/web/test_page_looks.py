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
    for chosen in (".tabs [aria-selected=true]", ".head[aria-pressed=true]"):
        assert style(page, chosen, "outline-style") == "solid"
    service.progress = [0.4]
    page.click("#tab-documents")
    page.set_input_files("#file", files=[DOCUMENT])
    expect(page.locator("progress")).to_have_css("forced-color-adjust", "none")


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
