"""What the reader puts in a sentence's place stays with that sentence, and the panel of a sentence minds its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_service import FakeService
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.web

Write = Callable[[str], None]


def send_correction(page: Page, text: str) -> Route:
    """Correct the first sentence; the answer is held back."""
    held: list[Route] = []
    page.route("**/v1/corrections", lambda route: held.append(route))
    page.click("#output .sentence >> nth=0")
    page.click("summary:has-text('Correct')")
    page.fill("#correction", text)
    with page.expect_request("**/v1/corrections"):
        page.click("text=Send correction")
    expect(page.locator("#sentence form [role=status]")).to_have_text("Working…")
    return held[0]


def answer(page: Page, held: Route) -> None:
    with page.expect_response("**/v1/corrections"):
        held.fulfill(json={})


def with_words(route: Route, links: Any) -> Any:
    """What the service says, and which words go together."""
    answer = route.fetch().json()
    for translation in answer["translations"]:
        translation["alignment"] = links
    return answer


def test_a_correction_answered_late_goes_to_its_own_sentence(page: Page, write: Write) -> None:
    write("A heron waits. The river is quiet.")
    held = send_correction(page, "Corrected.")
    page.click("#output .sentence >> nth=1")
    expect(page.locator("#sentence .choice[aria-pressed=true]")).to_have_count(1)
    answer(page, held)
    expect(page.locator("#output")).to_have_text("Corrected. THE RIVER IS QUIET.")
    expect(page.locator("#sentence .choice[aria-pressed=true]")).to_have_text("THE RIVER IS QUIET.")


def test_a_correction_begins_with_the_translation_that_was_chosen(page: Page, write: Write) -> None:
    write("A heron waits.")
    page.click("#output .sentence")
    page.click("summary:has-text('Correct')")
    expect(page.locator("#correction")).to_have_value("A HERON WAITS.")
    page.click("#sentence .choice >> nth=1")
    expect(page.locator("#correction")).to_have_value("A HERON WAITS. (2)")
    page.fill("#correction", "Mine.")
    page.click("#sentence .choice >> nth=0")
    expect(page.locator("#correction")).to_have_value("Mine.")


def test_a_correction_is_sent_once_however_often_the_button_is_pressed(page: Page, write: Write) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    write("A heron waits.")
    held = send_correction(page, "Corrected.")
    page.click("text=Send correction")
    page.click("text=Send correction")
    answer(page, held)
    expect(page.locator("#sentence form [role=status]")).to_contain_text("Thank you")
    assert sum(url.endswith("/v1/corrections") for url in asked) == 1


def test_a_correction_answered_late_leaves_another_text_alone(page: Page, write: Write) -> None:
    write("A heron waits. The river is quiet.")
    held = send_correction(page, "Corrected.")
    page.fill("#source", "Quite another text.")
    expect(page.locator("#output")).to_have_text("QUITE ANOTHER TEXT.")
    answer(page, held)
    page.hover("#output .sentence")
    expect(page.locator("#output .token").first).to_be_attached()
    expect(page.locator("#output")).to_have_text("QUITE ANOTHER TEXT.")
    page.fill("#source", "The river is quiet. A heron waits.")
    expect(page.locator("#output")).to_have_text("THE RIVER IS QUIET. Corrected.")


def test_a_choice_stays_with_its_sentence_while_the_text_around_it_changes(page: Page, write: Write) -> None:
    write("A heron waits. The river is quiet.")
    page.click("#output .sentence >> nth=0")
    page.get_by_role("button", name="A HERON WAITS. (3)").click()
    page.fill("#source", "Good morning. A heron waits. The river is cold.")
    expect(page.locator("#output")).to_have_text("GOOD MORNING. A HERON WAITS. (3) THE RIVER IS COLD.")
    expect(page.locator("#output .edited")).to_have_text("A HERON WAITS. (3)")


def test_of_sentences_that_are_alike_only_the_chosen_one_is_replaced(page: Page, write: Write) -> None:
    write("Wait. Wait. Wait.")
    page.click("#output .sentence >> nth=1")
    page.get_by_role("button", name="WAIT. (3)").click()
    page.hover("#output .sentence >> nth=0")
    expect(page.locator("#output .token").first).to_be_attached()
    expect(page.locator("#output")).to_have_text("WAIT. WAIT. (3) WAIT.")


def test_a_sentence_looked_at_closes_where_it_is_translated_anew(
    page: Page, service: FakeService, write: Write
) -> None:
    write("A heron waits.")
    page.click("#output .sentence")
    expect(page.locator("#sentence .choice").first).to_be_visible()
    service.output = "鹭鸶"
    terms = {"en>zh": [{"source": "heron", "target": "鹭鸶"}]}
    page.evaluate("(lists) => localStorage.setItem('yiwen.glossary', JSON.stringify(lists))", terms)
    page.press("#source", "Control+Enter")
    expect(page.locator("#output")).to_have_text("鹭鸶")
    expect(page.locator("#sentence")).to_be_hidden()


@pytest.mark.parametrize("told", [{"isComposing": True}, {"keyCode": 229}], ids=["by name", "by number, as in Safari"])
def test_escape_that_gives_up_the_letters_of_an_input_method_leaves_the_sentence_open(
    told: dict[str, Any], page: Page, write: Write
) -> None:
    write("A heron waits.")
    page.click("#output .sentence")
    page.click("summary:has-text('Correct')")
    page.dispatch_event("#correction", "keydown", {"key": "Escape", **told})
    expect(page.locator("#sentence")).to_be_visible()
    page.dispatch_event("#correction", "keydown", {"key": "Escape"})
    expect(page.locator("#sentence")).to_be_hidden()


def test_a_screen_reader_hears_the_remark_on_a_sentence(page: Page, write: Write) -> None:
    write("The river is quiet this morning. We will be there by 9:45.")
    sure, doubtful = page.locator("#output .sentence").all()
    expect(sure).to_have_accessible_description(page.locator("#output-hint").text_content() or "")
    expect(doubtful).to_have_accessible_description("The numbers differ from those of the source.")


def test_a_word_waited_for_is_not_lit_in_a_sentence_that_was_gone_to_meanwhile(
    page: Page, service: FakeService, write: Write
) -> None:
    write("A heron waits. The river is quiet.")
    service.hold.clear()
    page.focus("#output .sentence >> nth=0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    service.hold.set()
    expect(page.locator("#output .sentence >> nth=0").locator(".token")).to_have_count(4)
    expect(page.locator("#output .sentence >> nth=1").locator(".token")).to_have_count(5)
    expect(page.locator("#output .sentence >> nth=1")).to_be_focused()
    expect(page.locator("#output .near")).to_have_text("THE RIVER IS QUIET.")
    expect(page.locator("#output .lit")).to_have_count(0)


def test_who_marks_text_to_copy_it_keeps_it_marked_and_is_not_asked_about_alternatives(
    page: Page, service: FakeService, write: Write
) -> None:
    write("A heron waits. The river is quiet.")
    box = page.locator("#output .sentence >> nth=0").bounding_box()
    assert box is not None
    service.hold.clear()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 70, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    marked = page.evaluate("getSelection().toString()")
    assert marked in "A HERON WAITS."
    assert len(marked) >= 3
    service.hold.set()
    expect(page.locator("#output .token").first).to_be_attached()
    assert page.evaluate("getSelection().toString()") == marked
    expect(page.locator("#sentence")).to_be_hidden()
    page.click("#output .sentence >> nth=1")
    expect(page.locator("#sentence .quote")).to_have_text("The river is quiet.")


def test_left_is_onwards_in_a_translation_that_runs_from_right_to_left(
    page: Page, service: FakeService, write: Write
) -> None:
    service.output = "مرحبا بالعالم"
    page.select_option("#from", "en")
    page.select_option("#to", "ar")
    links = {"source": [[0, 5], [6, 11]], "target": [[0, 5], [6, 13]], "links": [[0, 0, 1.0], [1, 1, 1.0]]}
    page.route("**/v1/translate", lambda route: route.fulfill(json=with_words(route, links)))
    write("Hello world")
    page.focus("#output .sentence")
    for key, word in (("ArrowLeft", "مرحبا"), ("ArrowLeft", "بالعالم"), ("ArrowRight", "مرحبا")):
        page.keyboard.press(key)
        expect(page.locator("#output .lit")).to_have_text(word)
