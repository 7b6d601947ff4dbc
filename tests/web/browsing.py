"""The page in a browser, and what the browser complained about."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page

VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
REFUSED = "Failed to load resource: the server responded with a status of"
"""What Chromium writes to the console for every answer that is an error, however well the page deals with it."""
OPTIONS = {"viewport": {"width": 1280, "height": 860}, "locale": "en-US", "color_scheme": "light"}


def stop_clock(page: Page) -> None:
    """From now on time passes for the page only where the test says so, with `page.clock.run_for`."""
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(seconds=10))


class Web:
    """Opens pages and keeps what their consoles said."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.complaints: list[str] = []
        self.pages: list[Page] = []
        self.expected: tuple[str, ...] = ()
        """Beginnings of complaints that the test brings about."""

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, url: str, **options: Any) -> Page:
        context = self.browser.new_context(**(OPTIONS | options))
        context.add_init_script(VIOLATIONS)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(url)
        self.pages.append(page)
        return page

    def close(self) -> list[str]:
        """Everything that should not have been said or tried."""
        violations = [str(each) for page in self.pages for each in page.evaluate("window.violations")]
        for page in self.pages:
            page.context.close()
        return violations + [text for text in self.complaints if not text.startswith(self.expected or ("\0",))]
