"""Glossary, history, languages of the interface, keyboard, screen readers, and how it all looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import OPTIONS, Web
from fake_service import FakeService
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.web

TEXT = "The river is quiet this morning. Two herons stand in the shallow water.\n\nWe will be there by 9:45."
REPORT: Any = {"name": "report.v2.txt", "mimeType": "text/plain", "buffer": b"Hello"}


def test_terms_are_kept_for_their_pair_and_sent_along(page: Page, service: FakeService) -> None:
    page.select_option("#from", "en")
    page.select_option("#to", "zh")
    page.click("#open-glossary")
    expect(page.locator("#glossary .lead")).to_have_text("English → Chinese")
    page.keyboard.type("heron")
    page.keyboard.press("Tab")
    page.keyboard.type("鹭鸶")
    page.get_by_role("button", name="Add a term").click()
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.setData("text/plain", "river\\t江\\r\\nyiwen\\tyiwen");
        const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
        document.activeElement.dispatchEvent(event);
    }""")
    expect(page.locator("#glossary tbody tr")).to_have_count(3)
    expect(page.locator("#glossary tbody tr >> nth=1").locator("input >> nth=0")).to_be_focused()
    page.get_by_role("button", name="Close").click()
    page.fill("#source", "A heron and yiwen.")
    expect(page.locator("#output")).to_have_text("A HERON AND YIWEN.")
    terms = [{"source": "heron", "target": "鹭鸶"}, {"source": "yiwen", "target": "yiwen"}]
    assert service.bodies("/v1/translate")[-1]["glossary"] == terms
    page.reload()
    page.fill("#source", "The River.")
    expect(page.locator("#output")).to_have_text("THE RIVER.")
    assert service.bodies("/v1/translate")[-1]["glossary"] == [{"source": "river", "target": "江"}]
    page.select_option("#to", "ar")
    expect(page.locator("#output")).to_have_attribute("lang", "ar")
    assert service.bodies("/v1/translate")[-1]["glossary"] == []


def test_history_is_kept_restored_cleared_and_turned_off(page: Page) -> None:
    page.fill("#source", "One")
    expect(page.locator("#announce")).to_have_text("ONE")
    page.fill("#source", "One heron")
    expect(page.locator("#announce")).to_have_text("ONE HERON")
    page.click("#clear")
    page.click("#open-history")
    expect(page.locator("#history .entry")).to_have_count(1)
    page.locator("#history .entry").click()
    expect(page.locator("#source")).to_have_value("One heron")
    expect(page.locator("#output .sentence")).to_have_text("ONE HERON")
    page.click("#open-history")
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator("#history .none")).to_be_visible()
    page.uncheck("#history-on")
    page.keyboard.press("Escape")
    page.fill("#source", "Two")
    expect(page.locator("#announce")).to_have_text("TWO")
    assert "Two" not in page.evaluate("JSON.stringify(localStorage)")


def test_the_interface_speaks_chinese_where_the_browser_does_and_when_asked(web: Web, service: FakeService) -> None:
    page = web.open(service.url, locale="zh-CN")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("#source")).to_have_attribute("placeholder", "输入或粘贴文本")
    page.fill("#source", "The river is quiet this morning.")
    expect(page.locator("#from option:checked")).to_have_text("英语（检测到）")
    page.click("#alternatives")
    page.click("summary >> nth=1")
    expect(page.locator(".heat caption")).to_have_text("第 2 层，所有头的平均")
    visible = page.locator("body").inner_text()
    assert set(re.findall(r"[A-Za-z]{3,}", visible)) <= {
        "yiwen",
        "English",
        "The",
        "river",
        "quiet",
        "this",
        "morning",
        "tiny",
    }
    page.click("#interface-language")
    expect(page.locator("#tab-text")).to_have_text("Text")
    page.reload()
    expect(page.locator("#tab-text")).to_have_text("Text")


def test_the_theme_follows_the_system_until_one_is_chosen(web: Web, service: FakeService) -> None:
    page = web.open(service.url, color_scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(background) == "rgb(19, 20, 22)"
    page.click("#theme")
    expect(page.locator("#theme-name")).to_have_text("Theme: light")
    assert page.evaluate(background) == "rgb(245, 243, 238)"
    page.reload()
    assert page.evaluate(background) == "rgb(245, 243, 238)"


def test_everything_can_be_done_from_the_keyboard(page: Page) -> None:
    press = page.keyboard.press
    press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    press("Enter")
    page.keyboard.type(TEXT)
    expect(page.locator("#output .sentence")).to_have_count(3)
    press("Tab")  # clear
    press("Tab")
    expect(page.locator("#output .sentence >> nth=0")).to_be_focused()
    press("ArrowRight")
    expect(page.locator("#output .lit")).to_have_text("今天")
    expect(page.locator("#mirror .lit")).to_have_text("this")
    expect(page.locator("#announce")).to_have_text("今天: this")
    press("ArrowRight")
    press("ArrowRight")
    expect(page.locator("#mirror .lit")).to_have_text("The river")
    press("ArrowDown")
    expect(page.locator("#output .sentence >> nth=1")).to_be_focused()
    press("Enter")
    expect(page.locator("#sentence-title")).to_be_focused()
    expect(page.locator("#sentence .choice")).to_have_count(4)
    press("Tab")  # close
    press("Tab")
    press("Tab")
    press("Enter")
    expect(page.locator("#output")).to_contain_text("两只苍鹭站在浅浅的水里。 (2)")
    press("Escape")
    expect(page.locator("#sentence")).to_be_hidden()
    expect(page.locator("#output .sentence >> nth=1")).to_be_focused()
    page.focus("#tab-text")
    press("ArrowRight")
    expect(page.locator("#view-documents")).to_be_visible()
    press("Shift+Tab")
    page.focus("#open-history")
    press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(page.locator("#open-history")).to_be_focused()


def test_the_caret_in_the_source_lights_the_translation(page: Page, write: Callable[[str], None]) -> None:
    write(TEXT)
    page.focus("#source")
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#mirror .near")).to_have_text("The river is quiet this morning.")
    expect(page.locator("#output .lit")).to_have_text("河水")
    page.keyboard.press("Control+End")
    expect(page.locator(".lit, .near")).to_have_count(0)


def test_screen_readers_hear_the_result_once_it_has_settled(page: Page) -> None:
    page.fill("#source", "A heron.")
    expect(page.locator("#announce")).to_have_text("A HERON.")
    expect(page.locator("#announce")).to_have_attribute("aria-live", "polite")


def walk(page: Page) -> list[Callable[[], object]]:
    """The states of the page, each reached from the one before."""

    def translate() -> None:
        page.select_option("#to", "zh")
        page.fill("#source", TEXT)
        expect(page.locator("#output .sentence")).to_have_count(3)
        page.hover("#output .sentence >> nth=0")
        page.hover("#output .token:text('河水')")
        expect(page.locator("#mirror .lit")).to_have_count(1)

    def look() -> None:
        page.click("#output .token:text('平静')")
        page.click("summary >> nth=0")
        page.click("summary >> nth=1")
        expect(page.locator(".heat")).to_be_visible()

    def glossary() -> None:
        page.click("#open-glossary")
        page.keyboard.type("heron")

    def history() -> None:
        page.keyboard.press("Escape")
        expect(page.locator("#announce")).to_contain_text("今天早晨")
        page.click("#open-history")
        expect(page.locator(".entry")).to_have_count(1)

    def documents() -> None:
        page.keyboard.press("Escape")
        page.click("#tab-documents")
        page.set_input_files("#file", files=[REPORT])
        expect(page.locator(".document")).to_be_visible()

    return [lambda: None, translate, look, glossary, history, documents]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_and_nothing_sticks_out(
    browser: Browser, service: FakeService, tmp_path: Path, width: int, theme: Any
) -> None:
    # axe writes markup of its own into the page, which Trusted Types forbid; everywhere else they stay on.
    options = {**OPTIONS, "viewport": {"width": width, "height": 844}, "color_scheme": theme, "bypass_csp": True}
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(service.url)
    service.progress = [0.4]
    for number, step in enumerate(walk(page)):
        step()
        page.screenshot(path=tmp_path / f"{width}-{theme}-{number}.png", full_page=True)
        results = Axe().run(page)
        assert results.violations_count == 0, f"{step}: {results.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_what_the_policy_forbids_is_reported(web: Web, service: FakeService) -> None:
    page = web.open(service.url)
    foreign = "Object.assign(document.createElement('img'), {src: 'http://127.0.0.1:9/x.png'})"
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.evaluate(f"document.body.append({foreign})")
    page.evaluate("async () => { while (!window.violations.length) await new Promise(requestAnimationFrame); }")
    found = web.close()
    assert "img-src" in found
    assert any("Content Security Policy" in text for text in found)
    web.pages.clear()
    web.complaints.clear()
