"""The manual's page on documents: its example prints what it says, its tables are those of the code."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest

from tiny_model import TinyRun
from yiwen.documents import Limits, formats
from yiwen.translator import Translator

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", (DOCS / language / "documents.md").read_text("utf-8"), re.M | re.S)


def test_the_examples_run_and_print_what_stands_there(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda folder: load(tiny_run.best, threads=1))
    names: dict[str, object] = {"__name__": "__main__"}
    printed = StringIO()
    with redirect_stdout(printed):
        for block in blocks("en", "python"):
            exec(compile(block, "documents.md", "exec"), names)
    assert [printed.getvalue()] == blocks("en", "text")
    assert str(names["done"], "utf-8").count("<code>run()</code>") == 1


def test_both_languages_show_the_same_code() -> None:
    for kind in ("bash", "python", "text"):
        assert blocks("zh", kind) == blocks("en", kind)


def test_every_format_and_limit_stands_in_the_manual() -> None:
    for language in ("en", "zh"):
        page = (DOCS / language / "documents.md").read_text("utf-8")
        rows = re.findall(r"^\| (`[^|]*`) \|", page, re.M)
        assert {name for row in rows for name in re.findall(r"`([a-z]+)`", row)} == {
            *(name[1:] for name in formats()),
            "seconds",
        }
        for field in fields(Limits):
            assert re.search(rf"^\| `{field.name}` \| {field.default:,}", page, re.M), field.name
