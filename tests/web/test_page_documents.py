"""Documents: dropped or picked, sent, watched, downloaded, sent again, given up."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browsing import Web
from fake_service import FakeService, Refusal
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.web

REPORT: Any = {"name": "report.v2.txt", "mimeType": "text/plain", "buffer": b"Hello"}


def languages_sent(service: FakeService) -> list[list[str]]:
    """Source and target of every document that was sent."""
    field = r'name="(?:source|target)"\r\n\r\n(\w+)\r\n'
    return [re.findall(field, body["raw"]) for body in service.bodies("/v1/documents")]


def test_a_picked_document_is_sent_watched_and_downloaded(page: Page, service: FakeService) -> None:
    page.click("#tab-documents")
    page.select_option("#to", "zh")
    service.progress = [0.4]
    page.set_input_files("#file", files=[REPORT])
    expect(page.locator(".document [role=status]")).to_have_text("Translating into Chinese: 40 %")
    expect(page.locator(".document progress")).to_have_js_property("value", 0.4)
    service.progress = [1.0]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "report.v2.zh.txt"
    assert download.value.path().read_text(encoding="utf-8") == "译文\n"
    sent = service.bodies("/v1/documents")[0]["raw"]
    assert 'name="file"; filename="report.v2.txt"' in sent
    assert languages_sent(service) == [["auto", "zh"]]
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".document")).to_have_count(0)


def test_the_focus_stays_on_the_button_that_downloads(page: Page) -> None:
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    button = page.get_by_role("button", name="Download")
    button.focus()
    for _ in range(2):
        with page.expect_download():
            page.keyboard.press("Enter")
        expect(button).to_be_focused()


def test_a_document_dropped_anywhere_is_taken(page: Page) -> None:
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["Hello"], "dropped.txt"));
        for (const type of ["dragover", "drop"]) {
            const event = new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true});
            document.querySelector("#source").dispatchEvent(event);
        }
    }""")
    expect(page.locator(".document .name")).to_have_text("dropped.txt")
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def test_text_that_is_dragged_over_the_page_is_no_document(page: Page) -> None:
    page.click("#tab-documents")
    page.evaluate("""() => {
        const options = {dataTransfer: new DataTransfer(), bubbles: true, cancelable: true};
        for (const type of ["dragover", "dragleave", "drop"]) {
            document.querySelector("h1").dispatchEvent(new DragEvent(type, {...options, relatedTarget: document.body}));
        }
    }""")
    expect(page.locator("#drop")).to_have_class("drop")


@pytest.mark.usefixtures("refusals")
def test_a_document_that_is_refused_says_why(page: Page, service: FakeService) -> None:
    service.refuse("/v1/documents", Refusal(415, "'.xyz' is no format that is read"), Refusal(503, "", retry_after="1"))
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    expect(page.locator(".document")).to_contain_text("The service refused this: '.xyz' is no format that is read")
    page.get_by_role("button", name="Remove").click()
    page.set_input_files("#file", files=[REPORT])
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()


@pytest.mark.usefixtures("refusals")
def test_a_document_that_a_service_started_anew_does_not_know_is_sent_again(page: Page, service: FakeService) -> None:
    service.refuse("/v1/documents/a1", Refusal(404, "no document 'a1'"))
    page.select_option("#from", "en")
    page.click("#tab-documents")
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"One."})
    expect(page.locator(".document")).to_contain_text("The service no longer has this document.")
    page.click("#swap")  # for another document
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    assert languages_sent(service) == [["en", "zh"], ["en", "zh"]]


def test_a_document_speaks_the_language_of_the_interface(page: Page) -> None:
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    page.click("#interface-language")
    expect(page.get_by_role("button", name="下载")).to_be_visible()
    expect(page.get_by_role("button", name="删除")).to_be_visible()
    expect(page.locator(".document [role=status]")).to_have_text("完成")


@pytest.mark.parametrize(
    ("code", "chinese"),
    [
        ("invalid", "服务给出的原因是“line 7 is no XML”。"),
        ("quota", "剩余的额度不够，请等到下个月。"),
        (None, "line 7 is no XML"),
    ],
)
def test_a_document_says_in_the_language_of_the_interface_what_went_wrong(
    code: str | None, chinese: str, page: Page
) -> None:
    job = {"status": "error", "progress": None, "filename": "x.txt", "error": "line 7 is no XML", "code": code}
    page.route("**/v1/documents/a1", lambda route: route.fulfill(json=job))
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    said = page.locator(".document [role=status]")
    expect(said).to_have_text("The service refused this: line 7 is no XML")
    page.click("#interface-language")
    expect(said).to_have_text(f"服务拒绝了这一请求：{chinese}")
    page.click("#interface-language")
    expect(said).to_have_text("The service refused this: line 7 is no XML")


def test_a_document_speaks_of_its_progress_in_the_language_of_the_interface(page: Page, service: FakeService) -> None:
    service.progress = [0.4]
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    said = page.locator(".document [role=status]")
    expect(said).to_contain_text("40 %")
    page.route("**/v1/documents/a1", lambda route: None)  # no news from here on
    page.click("#interface-language")
    expect(said).to_have_text("正在译成中文：40%")


def test_a_document_that_is_removed_while_it_comes_is_not_saved(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/documents/a1/result", lambda route: held.append(route))
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    with page.expect_request("**/v1/documents/a1/result"):
        page.get_by_role("button", name="Download").click()
    with page.expect_event("requestfailed") as given_up:
        page.get_by_role("button", name="Remove").click()
    assert given_up.value.failure == "net::ERR_ABORTED"
    expect(page.locator(".document")).to_have_count(0)


@pytest.mark.usefixtures("refusals")
def test_a_document_does_not_claim_progress_while_the_service_is_away(page: Page, service: FakeService) -> None:
    service.progress = [0.4]
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    said = page.locator(".document [role=status]")
    expect(said).to_contain_text("40 %")
    service.refuse("/v1/documents/a1", *[Refusal(503, "", retry_after="1")] * 3)
    expect(said).to_have_text("The service is busy or just starting.")
    service.progress = [1.0]
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    expect(said).to_have_text("Done")


@pytest.mark.usefixtures("refusals")
def test_a_document_is_asked_for_again_while_the_service_is_busy(page: Page, service: FakeService) -> None:
    service.refuse("/v1/documents/a1", Refusal(503, "draining", retry_after="1"), Refusal(429, "", retry_after="1"))
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    assert len(service.bodies("/v1/documents")) == 1


def test_a_document_that_cannot_be_translated_says_why_and_is_not_asked_for_again(page: Page) -> None:
    job = {"status": "error", "progress": None, "filename": "x.txt", "error": "line 7 is no XML"}
    page.route("**/v1/documents/a1", lambda route: route.fulfill(json=job))
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    expect(page.locator(".document [role=status]")).to_have_text("The service refused this: line 7 is no XML")
    expect(page.locator(".document.trouble progress")).to_be_hidden()
    expect(page.locator(".document .primary")).to_be_hidden()


def test_a_document_picked_before_the_languages_are_known_waits_for_them(web: Web, service: FakeService) -> None:
    page = web.open("about:blank")
    held: list[Route] = []
    page.route("**/v1/languages", lambda route: held.append(route))
    with page.expect_request("**/v1/languages"):
        page.goto(service.url)
    page.click("#tab-documents")
    page.set_input_files("#file", files=[REPORT])
    expect(page.locator("#file")).to_have_value("")
    assert service.bodies("/v1/documents") == []
    held[0].continue_()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    assert languages_sent(service) == [["auto", "en"]]
