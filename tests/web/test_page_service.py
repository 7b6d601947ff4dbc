"""The page and `yiwen serve` itself, with a tiny model behind it: what one sends, the other understands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from browsing import REFUSED, Web
from playwright.sync_api import Page, expect

from tiny_model import TinyRun, tampered

pytestmark = pytest.mark.web

Start = Callable[..., str]


@contextmanager
def command(folder: Path, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """`yiwen` in a process of its own, with its state in a folder."""
    words = [sys.executable, "-m", "yiwen", *map(str, arguments)]
    environment = {**os.environ, "YIWEN_RUNS": str(folder)}
    with (
        (folder / "log").open("a") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as process,
    ):
        yield process
        process.terminate()
        process.wait(60)


@pytest.fixture
def start(exported_bundle: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a service: `start("--require-key")` gives its address."""
    stack = ExitStack()

    def act(*options: str) -> str:
        arguments = ("serve", exported_bundle, "--port", "0", "--threads", "1", *options)
        process = stack.enter_context(command(tmp_path, *arguments))
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("http://"):
                return line.strip() + "/"
        raise AssertionError((tmp_path / "log").read_text(encoding="utf-8"))

    with stack:
        yield act


@pytest.fixture
def sentences(tiny_run: TinyRun) -> list[str]:
    """Sentences of the model's language, each with a translation that it has learnt."""
    return (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[:3]


def translate(page: Page, text: str, n_sentences: int) -> None:
    page.fill("#source", text)
    expect(page.locator("#output .sentence")).to_have_count(n_sentences)


def test_a_text_is_translated_aligned_and_looked_into(web: Web, start: Start, sentences: list[str]) -> None:
    page = web.open(start())
    expect(page.locator("#from")).to_have_value("en")
    expect(page.locator("#to option:checked")).to_have_text("German")
    translate(page, f"{sentences[0]} {sentences[1]}\n\n{sentences[2]}", 3)
    expect(page.locator("#status-text")).to_contain_text("en-de")
    page.hover("#output .sentence >> nth=0")
    page.hover("#output .token >> nth=0")
    expect(page.locator("#output .lit")).to_have_count(1)
    expect(page.locator("#mirror .near")).to_have_text(sentences[0])
    page.click("#output .token >> nth=1")
    expect(page.locator("#sentence .columns > div")).to_have_count(2)
    expect(page.locator("#sentence .choices >> nth=0").locator("li")).not_to_have_count(0)
    expect(page.locator("#sentence .choices >> nth=1").locator(".kept >> nth=0")).not_to_be_empty()
    page.click("summary:has-text('Where the model looked')")
    expect(page.locator(".head")).to_have_count(1 * (1 + 2))
    expect(page.locator(".heat tbody td >> nth=0")).to_be_visible()


def test_two_models_are_swapped_and_a_text_in_no_language_stays(
    web: Web, start: Start, sentences: list[str], tiny_run: TinyRun, tmp_path: Path
) -> None:
    back = tampered(tiny_run.best, tmp_path / "back", src_lang="de", tgt_lang="en")
    page = web.open(start(str(back)))
    page.select_option("#from", "en")
    translate(page, sentences[0], 1)
    translation = page.locator("#output").inner_text()
    page.click("#swap")
    expect(page.locator("#source")).to_have_value(translation)
    expect(page.locator("#status-text")).to_contain_text("de-en")
    page.select_option("#from", "auto")
    page.fill("#source", "42 + 17")
    expect(page.locator("#output")).to_have_text("42 + 17")


def test_a_glossary_is_understood(web: Web, start: Start, sentences: list[str]) -> None:
    page = web.open(start())
    page.click("#open-glossary")
    page.keyboard.type(sentences[0].split()[0])
    page.keyboard.press("Tab")
    page.keyboard.type("Xyz")
    page.keyboard.press("Escape")
    translate(page, sentences[0], 1)
    expect(page.locator("#output")).to_contain_text("Xyz")


def test_a_correction_is_kept(web: Web, start: Start, sentences: list[str], tmp_path: Path) -> None:
    page = web.open(start())
    translate(page, sentences[0], 1)
    page.click("#alternatives")
    page.click("summary:has-text('Correct')")
    page.fill("#correction", "So ist es besser.")
    page.click("text=Send correction")
    expect(page.locator("#sentence form [role=status]")).to_contain_text("Thank you")
    (kept,) = tmp_path.rglob("corrections*.tsv")
    assert kept.read_text(encoding="utf-8") == f"{sentences[0]}\tSo ist es besser.\n"


def test_what_the_service_refuses_is_explained(web: Web, start: Start, sentences: list[str]) -> None:
    web.expected = (REFUSED,)
    page = web.open(start("--set", "max_text_chars=5", "--set", "max_body_bytes=1000000"))
    page.fill("#source", sentences[0])
    expect(page.locator("#status-text")).to_contain_text("This is too long for the service: ")
    page.fill("#source", sentences[0][:3])
    expect(page.locator("#output .sentence")).to_have_count(1)


def test_the_services_rate_is_waited_for(web: Web, start: Start) -> None:
    web.expected = (REFUSED,)
    page = web.open(start("--set", "requests_per_minute=2"))
    for text in ("ba", "da", "fa"):
        with page.expect_response("**/v1/translate"):
            page.fill("#source", text)
    expect(page.locator("#status-text")).to_have_text("Too many requests in a short time.")
    expect(page.locator("#countdown")).to_contain_text("Trying again in")


def test_a_key_opens_a_service_that_wants_one(web: Web, start: Start, sentences: list[str], tmp_path: Path) -> None:
    web.expected = (REFUSED,)
    with command(tmp_path, "keys", "create", "reader") as process:
        key = process.communicate(timeout=60)[0].strip()
    page = web.open(start("--require-key"))
    page.fill("#source", sentences[0])
    expect(page.locator("#status-text")).to_have_text("This service requires a key.")
    page.fill("#key", key)
    page.keyboard.press("Enter")
    expect(page.locator("#output .sentence")).to_have_count(1)


def test_a_document_comes_back_translated(web: Web, start: Start, sentences: list[str]) -> None:
    page = web.open(start())
    page.click("#tab-documents")
    data = "\n\n".join(sentences).encode()
    page.set_input_files("#file", files=[{"name": "letter.txt", "mimeType": "text/plain", "buffer": data}])
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "letter.de.txt"
    result = download.value.path().read_text(encoding="utf-8")
    assert len(result.split("\n\n")) == 3
    assert result.encode() != data
