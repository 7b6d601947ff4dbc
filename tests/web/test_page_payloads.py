"""Whatever a model, a file name or an error says is shown as letters: nothing of it runs, nothing of it is markup."""

from __future__ import annotations

from typing import Any

import pytest
from fake_service import FakeService, Refusal
from playwright.sync_api import Page, expect

from campaign import noted

pytestmark = pytest.mark.web

RUN = "document.documentElement.dataset.ran=1"
PAYLOADS = [
    *(f"<{tag} {event}={RUN}>" for tag in ("img src=x", "svg", "body", "input autofocus", "video src=x") for event in
      ("onerror", "onload", "onfocus", "onpointerover")),
    *(f"<{tag}>{RUN}</{tag}>" for tag in ("script", "style", "xmp", "noscript", "title", "textarea", "template")),
    f"</textarea><script>{RUN}</script>", f"</title><script>{RUN}</script>", f"--><script>{RUN}</script>",
    f"]]><script>{RUN}</script>", f"<script src=\"data:text/javascript,{RUN}\"></script>",
    f"<iframe srcdoc=\"<script>parent.{RUN}</script>\"></iframe>", f"<iframe src=\"javascript:parent.{RUN}\">",
    f"<a href=\"javascript:{RUN}\">click</a>", f"<form action=\"javascript:{RUN}\"><button>go</button></form>",
    f"<object data=\"javascript:{RUN}\">", f"<embed src=\"javascript:{RUN}\">", f"<base href=\"javascript:{RUN}//\">",
    f"<meta http-equiv=refresh content=\"0;url=javascript:{RUN}\">", f"<math><mi xlink:href=\"javascript:{RUN}\">x",
    f"<svg><animate onbegin={RUN} attributeName=x>", f"<details open ontoggle={RUN}>", f"\"><img src=x onerror={RUN}>",
    f"'-{RUN}-'", f"${{{RUN}}}", f"{{{{constructor.constructor('{RUN}')()}}}}", "<b>bold</b> &lt;i&gt; &#60;u&#62;",
    "<!-- comment -->", "<?php x ?>", "\u202edlrow\u202c \u2066olleh\u2069", "\u001b[31mred\u001b[0m",
    "a\u0000b\u0007c", "\ufeff\u200b\u200d", "\ud83d\ude00" * 3, "=cmd|'/c calc'!A1", "{missing} {0} %s $& $1",
]  # fmt: skip
"""What people have put into translations, and what is special to HTML, JavaScript, terminals, sheets and templates."""

ELEMENTS = "document.querySelectorAll('*').length"


def letters(text: str) -> str:
    """A text as JSON and the document keep it: lone halves of characters become one that says so."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def nothing_ran(page: Page) -> bool:
    return page.evaluate("document.documentElement.dataset.ran === undefined && location.pathname === '/'")


def test_whatever_a_model_says_is_letters(page: Page, service: FakeService) -> None:
    assert len(PAYLOADS) >= 50
    page.fill("#source", "Start.")
    expect(page.locator("#output .sentence")).to_have_count(1)
    n_elements = page.evaluate(ELEMENTS)
    for number, payload in enumerate(PAYLOADS):
        service.output = payload
        with page.expect_response("**/v1/translate"):
            page.fill("#source", f"Text {number}.")
            page.locator("#source").press("Control+Enter")
        expect(page.locator("#target-pane")).not_to_have_attribute("aria-busy", "true")
        assert page.evaluate("document.querySelector('#output').textContent") == letters(payload)
        assert page.evaluate(ELEMENTS) == n_elements, payload
        assert nothing_ran(page), payload
    noted("X1", f"{len(PAYLOADS)} payloads as translations, in the page", ran=0, elements_added=0)


@pytest.mark.parametrize("payload", [PAYLOADS[0], PAYLOADS[27], "{n} {what} $&"])
@pytest.mark.usefixtures("refusals")
def test_alternatives_history_errors_terms_and_file_names_are_letters(
    page: Page, service: FakeService, payload: str
) -> None:
    service.output = payload
    page.fill("#source", payload)
    expect(page.locator("#output")).to_have_text(payload)
    page.click("#alternatives")
    expect(page.locator("#sentence .choice").first).to_have_text(payload)
    expect(page.locator("#announce")).to_have_text(payload)
    page.click("#open-history")
    expect(page.locator("#history .clip").first).to_have_text(payload)
    page.keyboard.press("Escape")
    page.click("#open-glossary")
    page.keyboard.type(payload)
    page.keyboard.press("Escape")
    page.click("#open-glossary")
    expect(page.locator("#glossary input").first).to_have_value(payload)
    page.keyboard.press("Escape")
    service.refuse("/v1/translate", Refusal(400, payload))
    page.fill("#source", "Again.")
    expect(page.locator("#status-text")).to_have_text(f"The service refused this: {payload}")
    page.click("#tab-documents")
    file: Any = {"name": payload.replace("/", ""), "mimeType": "text/plain", "buffer": b"x"}
    page.set_input_files("#file", files=[file])
    expect(page.locator(".document .name")).to_have_text(payload.replace("/", ""))
    assert nothing_ran(page)
