"""Every line of the page on looking inside runs."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest
from commands import Commands
from pages import blocks, commands

from tiny_model import TinyRun
from yiwen.data.demo import write_demo


@pytest.fixture(scope="module")
def folder(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader may stand: a demo that was run, and a recipe."""
    base = tmp_path_factory.mktemp("reader")
    (base / "runs").mkdir()
    (base / "runs" / "demo-en-zh").symlink_to(tiny_run.folder)
    write_demo(base / "runs" / "demo", n_train=2000, n_valid=20, n_test=5)
    for path in tiny_run.recipe.parent.glob("*.??"):
        (base / path.name).symlink_to(path)
    recipe = tiny_run.recipe.read_text(encoding="utf-8").replace("max_steps = 180", "max_steps = 2")
    (base / "mine.toml").write_text(recipe, encoding="utf-8")
    return base


@pytest.fixture(autouse=True)
def _standing_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("YIWEN_RUNS", "runs")
    monkeypatch.setenv("YIWEN_DEMO", str(folder / "runs" / "demo"))


@pytest.mark.parametrize("line", commands("inspect.md"))
def test_a_line_runs(line: str, run: Commands) -> None:
    name, *words = shlex.split(line)
    assert name == "yiwen"
    done = run(*words)
    assert done.code == 0, done.err
    for word, after in itertools.pairwise(words):
        if word == "--output":
            assert Path(after).stat().st_size > 3000


def test_the_python_shown_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("inspect.md", "python")
    exec(compile(code, "inspect.md", "exec"), {})
    assert re.match(r"(\(\d+, \d+\) \(\d+, \d+\) 0\.\d+\n)*$", capsys.readouterr().out)
