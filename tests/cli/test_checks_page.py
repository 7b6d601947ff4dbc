"""Every line of the page on checks runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from commands import Commands
from pages import DOCS, blocks, commands

from tiny_model import TinyRun
from yiwen.evaluation.checks import FAULTS


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_fault_stands_in_the_table(language: str) -> None:
    page = (DOCS / language / "checks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == FAULTS


@pytest.mark.parametrize("line", commands("checks.md"))
def test_a_line_of_the_page_runs(
    line: str, run: Commands, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for each in (tiny_run.best, tiny_run.early):
        shutil.copytree(each, each.name)
    for side in ("en", "de"):
        shutil.copyfile(tiny_run.recipe.parent / f"test.{side}", f"test.{side}")
    command = re.split(r"\s[<>]", line)[0].replace("MODEL", "best").replace("OTHER", "early")
    done = run(*shlex.split(command)[1:], "--threads", 1, stdin=b"Peku suse.\n\nBapu logi kabe.\n")
    assert done.code == 0, done.err
    if "translate" in line:
        assert len(done.lines) == 3
    assert Path("report.html").is_file() == ("--report" in line)


def test_the_python_of_the_page_runs(tiny_run: TinyRun, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("checks.md", "python"):
        exec(block, {"MODEL": tiny_run.best})
    # What else a model of made-up words makes of English, such as repeats, is its own affair.
    assert {"numbers", "placeholders"} <= {*re.findall(r"'(\w+)'", capsys.readouterr().out.splitlines()[-1])}
