"""What the browser keeps, and what becomes of it where the browser keeps nothing."""

from __future__ import annotations

from typing import Any

import pytest
from browsing import Web
from fake_service import FakeService
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.web

FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
BLOCKED = """
Object.defineProperty(window, "localStorage", { get() { throw new DOMException("blocked", "SecurityError"); } });
"""
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"


def prepared(web: Web, service: FakeService, script: str) -> Page:
    """The page in a browser that a script has changed before."""
    page = web.open("about:blank")
    page.add_init_script(script)
    page.goto(service.url)
    page.select_option("#from", "en")
    page.select_option("#to", "zh")
    return page


@pytest.mark.parametrize("storage", [FULL, BLOCKED], ids=["full", "blocked"])
def test_terms_that_cannot_be_saved_serve_until_the_page_is_closed(
    storage: str, web: Web, service: FakeService
) -> None:
    page = prepared(web, service, storage)
    page.click("#open-glossary")
    page.keyboard.type("heron")
    page.keyboard.press("Tab")
    page.keyboard.type("鹭鸶")
    page.get_by_role("button", name="Close").click()
    page.fill("#source", "A heron.")
    expect(page.locator("#output")).to_have_text("A HERON.")
    assert service.bodies("/v1/translate")[-1]["glossary"] == [{"source": "heron", "target": "鹭鸶"}]
    page.click("#open-glossary")
    expect(page.locator("#glossary tbody tr")).to_have_count(2)


@pytest.mark.usefixtures("refusals")
@pytest.mark.parametrize("storage", [FULL, BLOCKED.replace("local", "session")], ids=["full", "blocked"])
def test_a_key_that_cannot_be_saved_serves_until_the_page_is_closed(
    storage: str, web: Web, service: FakeService
) -> None:
    page = prepared(web, service, storage)
    service.key = "secret-7"
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text("This service requires a key.")
    page.fill("#key", "secret-7")
    page.keyboard.press("Enter")
    expect(page.locator("#output")).to_have_text("HELLO")


def test_a_text_outlasts_a_reload_before_it_is_translated_and_a_way_back(page: Page, service: FakeService) -> None:
    service.hold.clear()
    page.fill("#source", "A heron waits.")
    page.reload()
    service.hold.set()
    expect(page.locator("#output")).to_have_text("A HERON WAITS.")
    page.goto("about:blank")
    page.go_back()
    expect(page.locator("#source")).to_have_value("A heron waits.")
    page.click("#clear")
    page.reload()
    expect(page.locator("#to")).to_have_value("zh")
    expect(page.locator("#source")).to_have_value("")


def test_a_text_too_long_to_be_kept_does_not_bring_back_the_one_before(page: Page) -> None:
    page.fill("#source", "A heron waits.")
    page.reload()
    expect(page.locator("#source")).to_have_value("A heron waits.")
    page.fill("#source", "A longer text about herons.")
    page.evaluate(f"() => {{ {FULL} }}")
    page.reload()
    expect(page.locator("#to")).to_have_value("zh")
    expect(page.locator("#source")).to_have_value("")


def test_terms_of_two_tabs_are_all_kept(page: Page, service: FakeService) -> None:
    other = page.context.new_page()
    other.goto(service.url)
    other.select_option("#to", "zh")
    for tab in (page, other):
        tab.click("#open-glossary")
    for n_rows, tab, term in ((1, page, "heron"), (2, other, "river")):
        expect(tab.locator("#glossary tbody tr")).to_have_count(n_rows)
        tab.locator("#glossary tbody tr >> nth=-1").locator("input >> nth=0").fill(term)
    kept = page.evaluate("Object.values(JSON.parse(localStorage.getItem('yiwen.glossary'))).flat()")
    assert [term["source"] for term in kept] == ["heron", "river"]


def test_what_is_saved_after_all_is_read_from_storage_again(page: Page) -> None:
    found = page.evaluate("""async () => {
        const { load, save } = await import("./page/store.js");
        const { setItem } = Storage.prototype;
        Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
        const told = [save("x", 1), load("x")];
        Storage.prototype.setItem = setItem;
        told.push(save("x", 2));
        localStorage.setItem("yiwen.x", "3");
        return [...told, load("x")];
    }""")
    assert found == [False, 1, True, 3]


def test_a_short_text_does_not_take_the_place_of_a_long_one_that_begins_alike(page: Page) -> None:
    def kept(*sources: str) -> Any:
        return page.evaluate(
            """async (sources) => {
                localStorage.removeItem("yiwen.history");
                const { keep } = await import("./page/history.js");
                for (const source of sources) keep({ from: "en", to: "zh", source, target: "x", time: 0 });
                return JSON.parse(localStorage.getItem("yiwen.history")).entries.map((entry) => entry.source);
            }""",
            list(sources),
        )

    assert kept("A heron stands in the river.", "A") == ["A", "A heron stands in the river."]
    assert kept("A heron stands in the river.", "A heron stands in the") == ["A heron stands in the"]
    assert kept("A", "A heron stands in the river.") == ["A heron stands in the river."]


def test_full_storage_gives_up_the_oldest_of_the_history(page: Page) -> None:
    kept = page.evaluate("""async () => {
        const { keep } = await import("./page/history.js");
        const { setItem } = Storage.prototype;
        Storage.prototype.setItem = function (name, value) {
            if (value.length > 1000) throw new DOMException("full", "QuotaExceededError");
            setItem.call(this, name, value);
        };
        const sources = ["one", "two", "three", "four"].map((name) => name.padEnd(150, "."));
        for (const source of sources) keep({ from: "en", to: "zh", source, target: source, time: 0 });
        return JSON.parse(localStorage.getItem("yiwen.history")).entries.map((entry) => entry.source);
    }""")
    assert [source.rstrip(".") for source in kept] == ["four", "three"]


def test_what_is_removed_from_the_history_leaves_the_focus_beside_it(page: Page) -> None:
    entries = [{"from": "en", "to": "zh", "source": name, "target": name, "time": 0} for name in ("a", "b", "c")]
    page.evaluate("(entries) => localStorage.setItem('yiwen.history', JSON.stringify({entries}))", entries)
    page.click("#open-history")
    for left, focused in (("ac", 1), ("a", 0)):
        page.locator("#history li >> nth=1").get_by_role("button", name="Remove").click()
        expect(page.locator("#history .entry .clip:last-child")).to_have_text(list(left))
        expect(page.locator(f"#history li >> nth={focused}").get_by_role("button", name="Remove")).to_be_focused()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#history-title")).to_be_focused()


def test_a_theme_chosen_in_another_tab_is_the_one_that_is_changed(page: Page) -> None:
    page.evaluate("""localStorage.setItem("yiwen.settings", JSON.stringify({ theme: "dark" }))""")
    page.click("#theme")
    expect(page.locator("#theme-name")).to_have_text("Theme: same as the system")


@pytest.mark.parametrize(
    ("works", "word", "status"),
    [("true", "Copied", "tiny"), ("false", "Copy", "The browser does not allow copying here")],
)
def test_copying_without_a_clipboard_says_what_came_of_it_and_leaves_the_focus(
    works: str, word: str, status: str, web: Web, service: FakeService
) -> None:
    page = prepared(web, service, NO_CLIPBOARD + f"document.execCommand = () => {works};")
    page.fill("#source", "A heron.")
    expect(page.locator("#output")).to_have_text("A HERON.")
    page.press("#copy", "Enter")
    expect(page.locator("#status-text")).to_contain_text(status)
    expect(page.locator("#copy-word")).to_have_text(word)
    expect(page.locator("#copy")).to_be_focused()
