"""A browser, a service and a page for every test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from browsing import REFUSED, Web
from fake_service import FakeService, running
from playwright.sync_api import Browser, Page, expect, sync_playwright

expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it."""
    chromium = os.environ.get("YIWEN_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium: install the package chromium, or name the program in YIWEN_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running() as fake:
        yield fake


@pytest.fixture
def web(browser: Browser) -> Iterator[Web]:
    opener = Web(browser)
    yield opener
    assert opener.close() == []


@pytest.fixture
def page(web: Web, service: FakeService) -> Page:
    """The page at a desk, in English, translating into Chinese."""
    opened = web.open(service.url)
    opened.select_option("#to", "zh")
    return opened


@pytest.fixture
def refusals(web: Web) -> None:
    """For tests in which the service says no."""
    web.expected = (REFUSED,)


@pytest.fixture
def write(page: Page) -> Callable[[str], None]:
    """Put a text in the box and wait for all of its translation."""

    def act(text: str) -> None:
        page.fill("#source", text)
        expect(page.locator("#output .sentence").first).to_be_visible()
        expect(page.locator("#target-pane")).not_to_have_class("pane target pending")

    return act
