"""The manual as readers see it: its front page in Chromium, at every width, in both languages."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browsing import Web
from playwright.sync_api import expect

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each."""

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built manual; the Chinese one lies in zh/."""
    site = tmp_path_factory.mktemp("site")
    for config, folder in (("mkdocs.yml", site), ("mkdocs.zh.yml", site / "zh")):
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder]
        subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("width", [80, 390, 1280, 1600])
@pytest.mark.parametrize(
    ("language", "words"), [("", "From two text files to a translator"), ("zh/", "从两个文本文件")]
)
def test_the_front_page_is_there_at_every_width(language: str, words: str, width: int, web: Web, manual: str) -> None:
    page = web.open(manual + language, viewport={"width": width, "height": 900})
    expect(page.locator("h1")).to_contain_text(words)
    expect(page.locator("article")).to_contain_text("yiwen translate")
    assert page.evaluate("document.querySelector('article').innerText.length") > 1000
    if width >= 390:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("language", ["", "zh/"])
def test_a_setting_is_found_by_its_name(language: str, web: Web, manual: str) -> None:
    page = web.open(manual + language)
    box = page.locator("input.md-search__input")
    box.click()
    expect(page.locator(".md-search-result__meta")).not_to_contain_text("nitial")
    expect(page.locator(".md-search-result__meta")).not_to_contain_text("初始化")
    box.fill("label_smoothing")
    box.press("Shift")
    expect(page.locator(".md-search-result__item").first).to_contain_text("label_smoothing")


@pytest.mark.parametrize("language", ["", "zh/"])
def test_names_in_tables_stand_as_they_are_written(language: str, web: Web, manual: str) -> None:
    page = web.open(f"{manual}{language}configuration/")
    names = page.locator("td:first-child code")
    assert names.evaluate_all("names => names.filter((name) => name.getClientRects().length > 1).length") == 0
    expect(names.filter(has_text="label_smoothing")).to_have_count(1)
    expect(page.locator("tr", has=names.filter(has_text="task"))).to_contain_text('"translate" | "classify"')


@pytest.mark.parametrize("part", ["h1", "article p >> nth=0", "article code >> nth=0"])
def test_chinese_punctuation_has_its_full_width(part: str, web: Web, manual: str) -> None:
    """Firefox closes it up where kerning is asked for by its name in the font."""
    page = web.open(f"{manual}zh/")
    expect(page.locator(part).first).to_have_css("font-feature-settings", "normal")
