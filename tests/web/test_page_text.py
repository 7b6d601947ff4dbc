"""Text is translated as it is typed: what is asked, what is shown, what the reader can do with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browsing import Web, stop_clock
from fake_service import FakeService, Refusal
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.web

Write = Callable[[str], None]


def test_typing_translates_once_after_the_last_key(page: Page, service: FakeService) -> None:
    stop_clock(page)
    for letter in "A heron waits.":
        page.clock.run_for(250)
        page.press("#source", "Space" if letter == " " else letter)
    assert service.texts() == []
    page.clock.run_for(300)
    expect(page.locator("#output")).to_have_text("A HERON WAITS.")
    assert service.texts() == ["A heron waits."]


def test_a_newer_text_cancels_the_question_that_runs(page: Page, service: FakeService) -> None:
    service.hold.clear()
    with page.expect_event("requestfailed") as cancelled:
        with page.expect_request("**/v1/translate"):
            page.fill("#source", "one")
        page.fill("#source", "two")
    assert cancelled.value.failure == "net::ERR_ABORTED"
    service.hold.set()
    expect(page.locator("#output")).to_have_text("TWO")


def test_the_language_is_detected_and_the_target_nobody_chose_gives_way(web: Web, service: FakeService) -> None:
    page = web.open(service.url)
    page.fill("#source", "The river is quiet this morning.")
    expect(page.locator("#from option:checked")).to_have_text("English (detected)")
    expect(page.locator("#to option:checked")).to_have_text("Chinese")
    expect(page.locator("#output")).to_have_text("今天早晨河水很平静。")


def test_a_text_in_the_chosen_target_language_is_said_to_be_so(page: Page, service: FakeService) -> None:
    page.select_option("#to", "en")
    page.fill("#source", "Hello")
    expect(page.locator("#output")).to_have_text("Hello")
    expect(page.locator("#status-text")).to_have_text("This text is already in English.")
    expect(page.locator("#swap")).to_be_disabled()
    page.get_by_role("button", name="Into Chinese instead").click()
    expect(page.locator("#to")).to_have_value("zh")
    expect(page.locator("#output")).to_have_text("HELLO")
    expect(page.locator("#swap")).to_be_enabled()


def test_a_text_in_no_language_is_its_own_translation(page: Page, service: FakeService) -> None:
    page.fill("#source", "42 + 17 😀")
    expect(page.locator("#output")).to_have_text("42 + 17 😀")
    expect(page.locator("#from option:checked")).to_have_text("Detect language")
    page.hover("#output .sentence")
    page.click("#output .sentence")
    expect(page.locator("#sentence")).to_be_hidden()
    assert len(service.bodies("/v1/translate")) == 1


def test_swapping_takes_the_translation_over_and_translates_it_back(
    page: Page, service: FakeService, write: Write
) -> None:
    write("The river is quiet this morning.")
    service.output = "The river is calm."
    page.click("#swap")
    expect(page.locator("#output")).to_have_text("The river is calm.")
    expect(page.locator("#source")).to_have_value("今天早晨河水很平静。")
    expect(page.locator("#from")).to_have_value("zh")
    expect(page.locator("#to")).to_have_value("en")


def test_languages_can_be_swapped_only_where_a_model_leads_back(web: Web, service: FakeService) -> None:
    one_way = [{"code": "en", "name": "English", "native": "English", "targets": ["zh"]}]
    web_page = web.open("about:blank")
    web_page.route("**/v1/languages", lambda route: route.fulfill(json=one_way))
    web_page.goto(service.url)
    expect(web_page.locator("#from")).to_have_value("en")
    expect(web_page.locator("#swap")).to_be_disabled()


def test_only_the_changed_line_of_a_long_text_is_translated_again(
    page: Page, service: FakeService, write: Write
) -> None:
    lines = [f"Line {index} about herons." for index in range(97)]
    write("\n".join(lines))
    expect(page.locator("#output .sentence")).to_have_count(97)
    n_asked = len(service.texts())
    assert n_asked == 97
    lines[53] = "Another line."
    page.fill("#source", "\n".join(lines))
    expect(page.locator("#output")).to_contain_text("ANOTHER LINE.")
    assert service.texts()[n_asked:] == ["Another line."]


def test_lines_and_blanks_between_sentences_stand_in_the_translation_too(page: Page, write: Write) -> None:
    write("  One heron.  Two herons.\n\n\tThree\n")
    assert page.evaluate("document.querySelector('#output').textContent") == "  ONE HERON.  TWO HERONS.\n\n\tTHREE"


def test_ten_thousand_characters_in_one_line_are_cut_between_sentences(
    page: Page, service: FakeService, write: Write
) -> None:
    text = "".join(f"Number {index} 😀 of these herons stands there. " for index in range(263))
    assert len(text) > 10_000
    write(text)
    expect(page.locator("#output .sentence")).to_have_count(263)
    assert max(map(len, service.texts())) <= 2000
    assert all(piece.endswith(".") for piece in service.texts())
    expect(page.locator("#count")).to_have_text(f"{len(text)} characters")


def test_hovering_a_word_lights_its_partner_and_both_sentences(page: Page, write: Write, service: FakeService) -> None:
    write("A 😀 heron. The river is quiet this morning.")
    page.hover("#output .sentence >> nth=1")
    page.hover("#output .token:text('河水')")
    expect(page.locator("#mirror .lit")).to_have_text("The river")
    expect(page.locator("#mirror .near")).to_have_text("The river is quiet this morning.")
    box = page.locator("#mirror .token:text('this')").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#output .lit")).to_have_text("今天")
    page.hover("h1")
    expect(page.locator(".lit")).to_have_count(0)
    assert len([body for body in service.bodies("/v1/translate") if body.get("alignment")]) == 1


def test_flags_and_confidence_stand_where_they_belong(page: Page, write: Write) -> None:
    write("The river is quiet this morning. We will be there by 9:45.")
    expect(page.locator("#output .flagged")).to_have_text("我们会九点前到。")
    expect(page.locator("#output .flagged")).to_have_attribute("title", "The numbers differ from those of the source.")
    expect(page.locator("#confidence")).to_contain_text("87 %")
    page.get_by_role("button", name="Sentences to check: 1").click()
    expect(page.locator("#sentence .remarks")).to_have_text("The numbers differ from those of the source.")
    expect(page.locator("#sentence-confidence")).to_have_text("Confidence 87 %")


def test_an_alternative_takes_the_sentences_place(page: Page, write: Write) -> None:
    write("A heron waits. Two herons stand in the shallow water.")
    page.click("#output .sentence >> nth=1")
    page.get_by_role("button", name="两只苍鹭站在浅浅的水里。 (3)").click()
    expect(page.locator("#output")).to_have_text("A HERON WAITS. 两只苍鹭站在浅浅的水里。 (3)")
    expect(page.locator("#output .edited")).to_have_count(1)
    page.hover("#output .sentence >> nth=0")
    expect(page.locator("#output .token").first).to_be_attached()
    expect(page.locator("#output .edited")).to_have_text("两只苍鹭站在浅浅的水里。 (3)")


def test_a_click_during_which_the_words_arrive_is_not_lost(page: Page, service: FakeService, write: Write) -> None:
    write("A heron waits. Two herons stand in the shallow water.")
    service.hold.clear()
    page.hover("#output .sentence >> nth=1")
    page.mouse.down()
    with page.expect_response("**/v1/translate"):
        service.hold.set()
    page.mouse.up()
    expect(page.locator("#sentence .quote")).to_have_text("Two herons stand in the shallow water.")
    expect(page.locator("#output .token").first).to_be_attached()


def test_other_ways_from_a_word_on_keep_what_stands_before_it(page: Page, service: FakeService, write: Write) -> None:
    write("Two herons stand in the shallow water.")
    page.hover("#output .sentence")
    page.click("#output .token:text('浅浅的')")
    expect(page.get_by_role("heading", name="Keeping “两只苍鹭站在”")).to_be_visible()
    expect(page.locator("#sentence .kept", has_text="两只苍鹭站在")).to_have_count(4)
    assert [body["prefix"] for body in service.bodies("/v1/translate") if body.get("prefix")] == ["两只苍鹭站在"]


def test_a_correction_is_sent_and_shown(page: Page, service: FakeService, write: Write) -> None:
    write("The river is quiet this morning.")
    page.click("#alternatives")
    page.click("summary:has-text('Correct')")
    page.click("text=Send correction")
    expect(page.locator("#sentence form [role=status]")).to_contain_text("change it first")
    page.fill("#correction", "今早河面很静。")
    page.click("text=Send correction")
    expect(page.locator("#sentence form [role=status]")).to_contain_text("Thank you")
    expect(page.locator("#output")).to_have_text("今早河面很静。")
    assert service.bodies("/v1/corrections") == [
        {
            "source": "en", "target": "zh", "source_text": "The river is quiet this morning.",
            "translation": "今天早晨河水很平静。", "correction": "今早河面很静。",
        }
    ]  # fmt: skip


def test_heads_are_fetched_when_asked_for_and_drawn(page: Page, service: FakeService, write: Write) -> None:
    write("The river is quiet this morning.")
    page.click("#alternatives")
    assert service.bodies("/v1/attention") == []
    page.click("summary:has-text('Where the model looked')")
    expect(page.locator(".head")).to_have_count(2 * (1 + 3))
    expect(page.locator(".heat caption")).to_have_text("Layer 2, mean of all heads")
    page.get_by_role("button", name="Layer 1, head 2").click()
    expect(page.locator(".heat tbody tr")).to_have_count(10)
    cells = page.locator(".heat tbody tr >> nth=0").locator("td")
    assert cells.evaluate_all("cells => cells.map((cell) => cell.style.getPropertyValue('--weight'))") == [
        "0.000",
        "1.000",
        "0.000",
        "0.000",
        "0.000",
        "0.000",
        "0.000",
    ]


@pytest.mark.usefixtures("refusals")
def test_an_engine_without_attention_says_so_in_its_place(page: Page, service: FakeService, write: Write) -> None:
    service.refuse("/v1/attention", Refusal(404, "this engine shows no heads; use --engine torch"))
    write("Hello there.")
    page.click("#alternatives")
    page.click("summary:has-text('Where the model looked')")
    expect(page.locator("#sentence")).to_contain_text("The service cannot do this: this engine shows no heads")


def test_copying_takes_the_whole_translation(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.fill("#source", "A heron.\nIt waits.")
    page.click("#copy")
    expect(page.locator("#copy-word")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "A HERON.\nIT WAITS."


def test_that_it_was_copied_is_said_for_a_while_after_the_last_copy(page: Page, write: Write) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    write("A heron.")
    stop_clock(page)
    for _ in range(2):
        page.click("#copy")
        expect(page.locator("#copy-word")).to_have_text("Copied")
        page.clock.run_for(1500)
    expect(page.locator("#copy-word")).to_have_text("Copied")
    page.clock.run_for(1500)
    expect(page.locator("#copy-word")).to_have_text("Copy")


def test_clearing_empties_both_sides(page: Page, write: Write) -> None:
    write("A heron.")
    page.click("#clear")
    expect(page.locator("#output")).to_be_empty()
    expect(page.locator("#source")).to_be_focused()
    expect(page.locator("#copy")).to_be_disabled()


def test_text_that_runs_from_right_to_left_does_so_on_both_sides(page: Page, write: Write) -> None:
    page.select_option("#to", "en")
    write("مرحبا بالعالم")
    assert page.evaluate("getComputedStyle(document.querySelector('#source')).direction") == "rtl"
    assert page.evaluate("getComputedStyle(document.querySelector('#mirror')).direction") == "rtl"
    page.fill("#source", "Hello")
    assert page.evaluate("getComputedStyle(document.querySelector('#source')).direction") == "ltr"


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "</textarea><script>alert(1)</script>", "&lt;b&gt;", "javascript:alert(1)"]
)
def test_markup_in_a_text_is_text(page: Page, write: Write, text: str) -> None:
    write(text)
    expect(page.locator("#mirror")).to_have_text(text)
    page.click("#alternatives")
    expect(page.locator("#sentence .choice").first).to_be_visible()
    assert page.locator("#output img, #output b, main script, #sentence img").count() == 0


def test_letters_of_an_input_method_are_sent_when_they_have_become_characters(page: Page, service: FakeService) -> None:
    page.select_option("#to", "en")
    stop_clock(page)
    page.focus("#source")
    keyboard = page.context.new_cdp_session(page)
    for letters in ("n", "ni", "ni'h", "ni'hao"):
        keyboard.send("Input.imeSetComposition", {"text": letters, "selectionStart": 1, "selectionEnd": 1})
        page.clock.run_for(400)
    assert service.texts() == []
    keyboard.send("Input.insertText", {"text": "你好"})
    page.clock.run_for(300)
    expect(page.locator("#output")).to_have_text("你好")
    assert service.texts() == ["你好"]


def test_a_word_that_a_phones_keyboard_holds_is_translated_after_a_pause(page: Page, service: FakeService) -> None:
    stop_clock(page)
    page.focus("#source")
    keyboard = page.context.new_cdp_session(page)
    for letters in ("Her", "Heron"):
        keyboard.send("Input.imeSetComposition", {"text": letters, "selectionStart": 5, "selectionEnd": 5})
        page.clock.run_for(1400)
    assert service.texts() == []
    page.clock.run_for(200)
    expect(page.locator("#output")).to_have_text("HERON")
    keyboard.send("Input.insertText", {"text": "Herons "})
    page.clock.run_for(300)
    expect(page.locator("#output")).to_have_text("HERONS ")
    page.clock.run_for(3000)
    assert service.texts() == ["Heron", "Herons"]


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""


def test_nothing_jumps_while_a_translation_arrives_and_is_looked_at(web: Web, service: FakeService) -> None:
    page = web.open("about:blank")
    page.add_init_script(SHIFTS)
    page.goto(service.url)
    page.select_option("#to", "zh")
    page.locator("#source").press_sequentially("The river is quiet this morning.", delay=10)
    expect(page.locator("#output .sentence")).to_have_count(1)
    page.hover("#output .sentence")
    expect(page.locator("#mirror .near")).to_have_count(1)
    page.fill("#source", "We will be there by 9:45.")
    expect(page.locator("#check")).to_be_visible()
    assert page.evaluate("window.shifted") < 0.002


def test_what_is_typed_before_the_languages_are_swapped_stays(page: Page, service: FakeService, write: Write) -> None:
    write("A heron waits.")
    service.hold.clear()
    page.fill("#source", "Quite another text.")
    page.click("#swap")
    expect(page.locator("#source")).to_have_value("Quite another text.")
    service.hold.set()
    page.fill("#source", "今天")
    expect(page.locator("#output")).to_have_text("今天")
    page.click("#swap")
    page.click("#swap")
    expect(page.locator("#source")).to_have_value("今天")


def test_a_sentence_looked_at_closes_with_its_language_and_a_choice_stays_with_its_text(
    page: Page, write: Write
) -> None:
    write("A heron waits.")
    page.click("#output .sentence")
    page.get_by_role("button", name="A HERON WAITS. (3)").click()
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#status-text")).to_contain_text("tiny")
    expect(page.locator("#output")).to_have_text("A HERON WAITS. (3)")
    page.select_option("#to", "ar")
    expect(page.locator("#sentence")).to_be_hidden()
    expect(page.locator("#output")).to_have_text("A HERON WAITS.")
