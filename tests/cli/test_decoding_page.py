"""Every line of the page on decoding runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import Commands
from pages import blocks, commands

from tiny_model import TinyRun

TEXTS = ["Deti gedi bapu.", "", "Kabe robu."]


@pytest.mark.parametrize("line", commands("decoding.md"))
def test_a_line_runs(
    line: str, run: Commands, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in.txt", "out.txt"):
        Path(name).write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    command = re.split(r"\s[<>]", line)[0]
    _, *words = [str(tiny_run.best) if word == "MODEL" else word for word in shlex.split(command)]
    stdin = Path("in.txt").read_bytes() if "<" in line else b""
    done = run(*words, *([] if "--threads" in words or words[0] == "score" else ["--threads", 1]), stdin=stdin)
    assert done.code == 0, done.err
    assert len(done.lines) >= len(TEXTS)


def test_the_python_runs(tiny_run: TinyRun, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("decoding.md", "python"):
        exec(block, {"MODEL": tiny_run.best, "text": TEXTS[0], "beginning": "Ra"})
    assert capsys.readouterr().out.startswith("Ra")
