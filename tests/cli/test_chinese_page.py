"""The code of the page on Chinese runs."""

from __future__ import annotations

import re

import pytest
from pages import DOCS, blocks

from tiny_model import TinyRun
from yiwen.text.chinese import typeset, violations


def test_the_python_runs(tiny_run: TinyRun, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("chinese.md", "python"):
        exec(block, {"MODEL": tiny_run.best})
    lines = capsys.readouterr().out.split("\n")
    assert [line.split(" -> ")[0] for line in lines[:3]] == ["Deti gedi bapu.", "Kabe robu!", "3.5 %"]
    assert lines[2].endswith("3.5 % ('passed_through',)")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_rules_do_what_their_table_says(language: str) -> None:
    page = (DOCS / language / "chinese.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|`]+ \| `([^|]+)` \| `([^|]+)` \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for before, after in rows:
        assert typeset(before) == after
        assert violations(before)
        assert not violations(after)
