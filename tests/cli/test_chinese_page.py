"""The code of the page on Chinese runs, in both languages the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tiny_model import TinyRun
from yiwen.text.chinese import typeset, violations

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str, kind: str) -> list[str]:
    page = (DOCS / language / "chinese.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def test_both_languages_show_the_same_code() -> None:
    assert blocks("en", "bash") == blocks("zh", "bash")
    assert blocks("en", "python") == blocks("zh", "python")


def test_the_python_runs(tiny_run: TinyRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(blocks("en", "python")) == 3
    for block in blocks("en", "python"):
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
