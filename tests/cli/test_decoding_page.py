"""Every line of the page on decoding runs, in both languages the same lines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = ["Deti gedi bapu.", "", "Kabe robu."]


def blocks(language: str, kind: str) -> list[str]:
    page = (DOCS / language / "decoding.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


LINES = [line for block in blocks("en", "bash") for line in block.strip().split("\n")]


def test_both_languages_show_the_same_code() -> None:
    assert blocks("en", "bash") == blocks("zh", "bash")
    assert blocks("en", "python") == blocks("zh", "python")


@pytest.mark.parametrize("line", LINES)
def test_a_line_runs(
    line: str, run: Commands, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    Path("out.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    command = re.split(r"\s[<>]", line)[0].replace("MODEL", str(tiny_run.best))
    _, *words = shlex.split(command)
    stdin = Path("in.txt").read_bytes() if "<" in line else b""
    done = run(*words, *([] if "--threads" in words or words[0] == "score" else ["--threads", 1]), stdin=stdin)
    assert done.code == 0, done.err
    assert len(done.lines) >= len(TEXTS)


def test_the_python_runs(tiny_run: TinyRun, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("en", "python"):
        exec(block, {"MODEL": tiny_run.best, "text": TEXTS[0], "beginning": "Ra"})
    assert capsys.readouterr().out.startswith("Ra")
