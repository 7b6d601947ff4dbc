"""What goes wrong is said in words, mends itself where it can, and costs no text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from browsing import REFUSED, Web, stop_clock
from fake_service import CUT, FakeService, Refusal
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.web, pytest.mark.usefixtures("refusals")]


def test_too_many_requests_are_counted_down_and_asked_again_not_before(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(429, "120 requests a minute are the limit", retry_after="2"))
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text("Too many requests in a short time.")
    expect(page.locator("#countdown")).to_have_text("Trying again in 2 s.")
    page.fill("#source", "Hello there")
    expect(page.locator("#countdown")).to_have_text("Trying again in 1 s.")
    assert len(service.bodies("/v1/translate")) == 1
    expect(page.locator("#output")).to_have_text("HELLO THERE")
    assert service.texts()[:2] == ["Hello", "Hello there"]
    expect(page.locator("#countdown")).to_be_empty()


def test_a_text_typed_while_the_page_waits_is_told_what_for(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(429, "120 requests a minute are the limit", retry_after="30"))
    page.fill("#source", "Hello")
    expect(page.locator("#countdown")).to_contain_text("Trying again in")
    page.click("#clear")
    expect(page.locator("#status-text")).to_be_empty()
    page.fill("#source", "Good morning")
    expect(page.locator("#status-text")).to_have_text("Too many requests in a short time.")
    expect(page.locator("#countdown")).to_contain_text("Trying again in")
    page.click("#interface-language")
    expect(page.locator("#status-text")).to_have_text("短时间内请求过多。")
    assert service.texts() == ["Hello"]


def test_a_glossary_of_another_pair_is_not_in_the_way(page: Page, service: FakeService) -> None:
    """The language is to be told from the text, so that the lists of all pairs are sent; then there are two models."""
    terms = {"en>zh": [{"source": "Python", "target": "Python"}]}
    page.evaluate("(lists) => localStorage.setItem('yiwen.glossary', JSON.stringify(lists))", terms)
    page.reload()
    page.select_option("#from", "auto")
    page.select_option("#to", "zh")
    service.refuse("/v1/translate", Refusal(400, "leave the glossary out", code="glossary"))
    page.fill("#source", "Python")
    expect(page.locator("#output")).to_have_text("PYTHON")
    assert [body["glossary"] for body in service.bodies("/v1/translate")[-2:]] == [terms["en>zh"], []]


def test_what_is_too_large_for_one_request_is_asked_for_in_halves(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(413, "3 texts in a request, the limit is 2", code="too_long"))
    page.fill("#source", "One\nTwo\nThree")
    expect(page.locator("#output")).to_have_text("ONE TWO THREE")
    assert [body["text"] for body in service.bodies("/v1/translate")] == [
        ["One", "Two", "Three"],
        ["One"],
        ["Two", "Three"],
    ]


def test_one_paragraph_that_is_too_large_is_refused_once(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(413, "too long", code="too_long"))
    page.fill("#source", "One")
    expect(page.locator("#status-text")).to_have_text("This is too long for the service: too long")
    assert service.texts() == ["One"]


def test_where_fewer_alternatives_are_given_one_is_asked_for(page: Page, service: FakeService) -> None:
    service.max_alternatives = 2
    page.fill("#source", "Hello")
    expect(page.locator("#output")).to_have_text("HELLO")
    page.click("#alternatives")
    expect(page.locator("#sentence .choice")).to_have_text(["HELLO"])
    assert [n for body in service.bodies("/v1/translate") if (n := body.get("alternatives"))] == [4, 1]


def test_a_busy_service_is_asked_again(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(503, "draining", retry_after="1"), Refusal(504, "deadline"))
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text("The service is busy or just starting.")
    expect(page.locator("#output")).to_have_text("HELLO")


def test_a_service_that_is_not_there_yet_is_waited_for(web: Web, service: FakeService) -> None:
    service.refuse("/v1/languages", Refusal(503, "loading", retry_after="2"))
    page = web.open(service.url)
    expect(page.locator("#status-text")).to_have_text("The service is busy or just starting.")
    assert page.locator("#swap").is_disabled()
    expect(page.locator("#to option")).to_have_count(3)
    page.select_option("#to", "zh")
    page.fill("#source", "Hello")
    expect(page.locator("#output")).to_have_text("HELLO")


def test_a_service_that_is_back_sooner_is_asked_for_its_languages_once(web: Web, service: FakeService) -> None:
    service.refuse("/v1/languages", Refusal(503, "loading", retry_after="9"))
    page = web.open("about:blank")
    stop_clock(page)
    page.goto(service.url)
    expect(page.locator("#countdown")).to_have_text("Trying again in 9 s.")
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#to option")).to_have_count(3)
    page.clock.run_for(10_000)
    page.select_option("#to", "zh")
    page.fill("#source", "Hello")
    page.clock.run_for(300)
    expect(page.locator("#output")).to_have_text("HELLO")
    assert len(service.bodies("/v1/languages")) == 2


@pytest.mark.parametrize(
    ("code", "message", "shown"),
    [
        (400, "'xx' is not translated here", "The service refused this: 'xx' is not translated here"),
        (403, "add it to allow_origins", "The service refused this: add it to allow_origins"),
        (413, "90 characters", "This is too long for the service: 90 characters"),
        (456, "", "This key’s quota is used up."),
        (500, "", "The service ran into an internal error."),
    ],
)
def test_a_refusal_that_lasts_is_explained_and_tried_again_by_hand(
    page: Page, service: FakeService, code: int, message: str, shown: str
) -> None:
    service.refuse("/v1/translate", Refusal(code, message))
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text(shown)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#output")).to_have_text("HELLO")


@pytest.mark.parametrize(
    ("status", "code", "message", "shown"),
    [
        (
            400,
            "language",
            "'fr' to 'de' is not translated here",
            "服务拒绝了这一请求：这里没有这个翻译方向，请另选语言。",
        ),
        (
            413,
            "too_long",
            "9 characters in a text, the limit is 5",
            "内容过长，服务无法处理：上限为 5 个字符，请分成几部分。",
        ),
        (
            413,
            "too_long",
            "a document has at most 100 bytes; send a shorter one",
            "内容过长，服务无法处理：上限为 100 字节，请分成几部分。",
        ),
        (422, "unheard_of", "a reason", "服务拒绝了这一请求：a reason"),
    ],
)
def test_the_chinese_page_says_in_chinese_why_something_is_refused(
    page: Page, service: FakeService, status: int, code: str, message: str, shown: str
) -> None:
    page.click("#interface-language")
    service.refuse("/v1/translate", Refusal(status, message, code=code))
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text(shown)


def test_a_button_of_the_status_line_that_goes_away_leaves_the_focus_there(page: Page, service: FakeService) -> None:
    service.refuse("/v1/translate", Refusal(500))
    page.fill("#source", "Hello")
    expect(page.locator("#status-action")).to_be_visible()
    page.focus("#status-action")
    page.keyboard.press("Enter")
    expect(page.locator("#output")).to_have_text("HELLO")
    expect(page.locator("#status-text")).to_be_focused()


def test_offline_everything_but_translating_works_and_goes_on_when_back(page: Page, web: Web) -> None:
    web.expected = (REFUSED, "Failed to load resource: net::ERR_INTERNET_DISCONNECTED")
    page.fill("#source", "Before.")
    expect(page.locator("#output")).to_have_text("BEFORE.")
    expect(page.locator("#announce")).to_have_text("BEFORE.")
    page.context.set_offline(True)
    expect(page.locator("#status-text")).to_contain_text("You are offline.")
    with page.expect_event("requestfailed"):
        page.fill("#source", "After.")
    expect(page.locator("#status-text")).to_contain_text("You are offline.")
    expect(page.locator("#output")).to_have_text("BEFORE.")
    page.click("#open-history")
    expect(page.locator("#history .entry")).to_have_count(1)
    page.keyboard.press("Escape")
    page.click("#interface-language")
    expect(page.locator("#status-text")).to_contain_text("已离线。文本")
    page.click("#interface-language")
    page.click("#theme")
    page.click("#open-glossary")
    page.keyboard.press("Escape")
    page.context.set_offline(False)
    expect(page.locator("#output")).to_have_text("AFTER.")


def test_a_wanted_key_is_asked_for_kept_for_the_tab_and_sent(page: Page, service: FakeService, web: Web) -> None:
    service.key = "secret-7"
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text("This service requires a key.")
    page.fill("#key", "secret 7")
    page.click("#key-form button")
    assert page.evaluate("document.querySelector('#key').validationMessage").startswith("A key holds only letters")
    page.fill("#key", "wrong")
    page.click("#key-form button")
    expect(page.locator("#status-text")).to_have_text("The service does not accept this key.")
    page.fill("#key", "secret-7")
    page.keyboard.press("Enter")
    expect(page.locator("#output")).to_have_text("HELLO")
    expect(page.locator("#key-form")).to_be_hidden()
    assert page.evaluate("sessionStorage.getItem('yiwen.key')") == "secret-7"
    assert "secret" not in page.evaluate("JSON.stringify(localStorage)")


def test_without_languages_the_page_says_so(web: Web, service: FakeService) -> None:
    page = web.open("about:blank")
    page.route("**/v1/languages", lambda route: route.fulfill(json=[]))
    page.goto(service.url)
    expect(page.locator("#status-text")).to_have_text("The service offers no language.")


def test_words_that_cannot_be_aligned_now_are_asked_for_later_not_at_every_move(
    page: Page, service: FakeService
) -> None:
    page.fill("#source", "Two herons stand.")
    expect(page.locator("#output .sentence")).to_be_visible()
    n_before = len(service.bodies("/v1/translate"))
    service.refuse("/v1/translate", *[Refusal(429, "slowly", retry_after="1")] * 9)
    stop_clock(page)
    for n_asked in (1, 2):
        with page.expect_response("**/v1/translate"):
            page.hover("#output .sentence", position={"x": 10, "y": 10})
        for position in range(20, 70, 10):
            page.hover("#output .sentence", position={"x": position, "y": 10})
            page.clock.run_for(900)
        expect(page.locator("#output .near")).to_have_count(1)
        assert len(service.bodies("/v1/translate")) == n_before + n_asked
        page.clock.run_for(5000)


def test_storage_that_holds_nonsense_costs_nothing(web: Web, service: FakeService) -> None:
    page = web.open(service.url)
    for name, value in (("settings", "{"), ("glossary", '{"en>zh": 7, "en>ar": [{"source": 1}]}'), ("history", "[3]")):
        page.evaluate("([name, value]) => localStorage.setItem(`yiwen.${name}`, value)", [name, value])
    page.reload()
    page.select_option("#to", "zh")
    page.fill("#source", "Hello")
    expect(page.locator("#output")).to_have_text("HELLO")
    page.click("#open-history")
    expect(page.locator("#history .none")).to_be_visible()


def test_an_answer_that_breaks_off_is_asked_for_again(page: Page, service: FakeService, web: Web) -> None:
    web.expected = ("Failed to load resource: net::ERR_CONTENT_LENGTH_MISMATCH",)
    service.refuse("/v1/translate", CUT)
    page.fill("#source", "Hello")
    expect(page.locator("#status-text")).to_have_text("The service does not answer.")
    expect(page.locator("#output")).to_have_text("HELLO")
    service.refuse("/v1/documents/a1/result", CUT)
    page.click("#tab-documents")
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"One."})
    page.get_by_role("button", name="Download").click()
    with page.expect_download():
        page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def test_a_translation_of_another_text_stays_dim_after_a_refusal(page: Page, service: FakeService) -> None:
    page.fill("#source", "Hello")
    expect(page.locator("#output")).to_have_text("HELLO")
    service.refuse("/v1/translate", Refusal(413, "too long"))
    page.fill("#source", "Hello there")
    expect(page.locator("#status-text")).to_contain_text("too long")
    expect(page.locator("#target-pane")).to_have_class("pane target pending")
    page.fill("#source", "")
    expect(page.locator("#target-pane")).to_have_class("pane target")


SOON = format_datetime(datetime.now(UTC) + timedelta(days=2), usegmt=True)
PAST = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("named", "least", "most"),
    [("7", 7, 7), ("0", 1, 1), (PAST, 1, 1), (SOON, 100_000, 172_800), ("later", None, None)],
    ids=["seconds", "now", "past", "soon", "words"],
)
def test_when_to_come_again_is_read_in_every_form_and_never_at_once(
    page: Page, service: FakeService, named: str, least: int | None, most: int | None
) -> None:
    service.refuse("/v1/languages", Refusal(503, "draining", retry_after=named))
    told = page.evaluate("""async () => {
        const { languages } = await import("./page/api.js");
        return languages().catch((error) => error.retryAfter);
    }""")
    assert told is None if least is None or most is None else least <= told <= most


def test_offline_a_text_from_the_history_can_be_copied(page: Page, web: Web) -> None:
    web.expected = (REFUSED, "Failed to load resource: net::ERR_INTERNET_DISCONNECTED")
    page.fill("#source", "Before.")
    expect(page.locator("#output")).to_have_text("BEFORE.")
    page.reload()
    expect(page.locator("#to option")).to_have_count(3)
    page.context.set_offline(True)
    page.click("#open-history")
    page.locator("#history .entry").click()
    expect(page.locator("#output")).to_have_text("BEFORE.")
    expect(page.locator("#output")).to_have_attribute("lang", "zh")
    expect(page.locator("#copy")).to_be_enabled()
