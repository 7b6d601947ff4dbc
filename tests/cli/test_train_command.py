"""`yiwen train` and `yiwen average`: a recipe to a run, its end told to people and programs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun, write_tiny_recipe
from yiwen.bundle import open_bundle
from yiwen.evaluations import run_of

SHORT = ("--set", "training.max_steps=4", "--set", "training.validate_every=2", "--set", "training.checkpoint_every=2")


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny recipe that nobody has trained yet."""
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    return write_tiny_recipe(tmp_path)


def test_a_run_is_trained_refused_resumed_and_averaged(recipe: Path, run: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "tiny"
    done = run("train", recipe, *SHORT, "--json")
    assert done.code == 0, done.err
    (line,) = done.lines
    result = json.loads(line)
    assert (result["run"], result["step"]) == (str(folder), 4)
    assert f"next: yiwen translate {shlex.quote(str(folder / 'best'))} < YOUR_TEXT" in done.err
    assert "step 2 " in done.err

    again = run("train", recipe, *SHORT)
    assert again.code == 2
    assert f"{folder} exists already; go on by --resume, give another --run folder" in again.err

    changed = run("train", recipe, *SHORT, "--set", "model.d_ff=48", "--resume")
    assert changed.code == 2
    assert "model.d_ff: 64 -> 48" in changed.err

    longer = run("train", recipe, *SHORT, "--set", "training.max_steps=6", "--resume", "--json")
    assert json.loads(longer.lines[-1])["step"] == 6

    mean = run("average", folder, "--output", tmp_path / "mean", "--last", 2)
    assert mean.lines == [f"{tmp_path / 'mean'}: mean of 2 checkpoints"]
    assert mean.err == ""
    last = run("average", folder, "--output", tmp_path / "last", "--last", 1)
    assert last.lines == [f"{tmp_path / 'last'}: mean of 1 checkpoint"]
    fewer = run("average", folder, "--output", folder / "averaged", "--last", 7)
    assert fewer.err == "note: the run has no more scheduled checkpoints, --last is 7\n"
    assert open_bundle(tmp_path / "mean").info.weights == "average of 2 checkpoints"
    assert [run_of(mean) for mean in (tmp_path / "mean", folder / "averaged")] == [None, folder]


def test_another_run_folder_can_be_given(recipe: Path, run: Commands, tmp_path: Path) -> None:
    done = run("train", recipe, *SHORT, "--run", tmp_path / "my own", "--json")
    assert json.loads(done.lines[-1])["run"] == str(tmp_path / "my own")
    assert (tmp_path / "my own" / "best" / "bundle.json").is_file()
    assert f"next: yiwen translate '{tmp_path / 'my own' / 'best'}' < YOUR_TEXT" in done.err


def test_wrong_recipes_exit_2_and_missing_text_3(recipe: Path, run: Commands) -> None:
    assert run("train", "nope").code == 2
    typo = run("train", recipe, "--set", "training.max_step=4")
    assert typo.code == 2
    assert "did you mean 'max_steps'?" in typo.err
    missing = run("train", recipe, "--set", "data.corpora=[{src='no.en', tgt='no.de'}]")
    assert missing.code == 3
    assert "no.en does not exist" in missing.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--last", "0"], 2, "--last is 0; average 1 checkpoint or more"),
        (["--output", "{runs}"], 2, "exists already, or may not be written; give another --output"),
        (["--output", "{runs}/tiny/recipe.toml/mean"], 2, "recipe.toml/mean exists already, or may not be written"),
    ],
)
def test_averages_that_cannot_be_made_are_refused(
    options: list[str], code: int, message: str, run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    options = [option.format(runs=tiny_run.runs) for option in options]
    done = run("average", tiny_run.folder, "--output", tmp_path / "mean", *options)
    assert done.code == code
    assert message in done.err


def test_a_folder_without_checkpoints_has_no_average(run: Commands, tmp_path: Path) -> None:
    done = run("average", tmp_path, "--output", tmp_path / "mean")
    assert done.code == 4
    assert "has no checkpoint and best model yet; train it first" in done.err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_saves_and_tells_how_to_go_on(recipe: Path, tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "yiwen", "train", str(recipe), "--set", "training.max_steps=100000"]
    arguments += ["--set", "training.validate_every=5"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"step 5 "):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode()
        assert process.wait(60) == 130
    assert "stopped by SIGINT during " in rest
    assert "is saved, go on with --resume" in rest
    assert "Traceback" not in rest
    assert list((tmp_path / "runs" / "tiny" / "checkpoints").glob("step-*"))


def test_a_run_that_lies_elsewhere_goes_on_where_it_lies(recipe: Path, run: Commands, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere" / "moved"
    assert run("train", recipe, "--run", home, "--set", "training.max_steps=4").code == 0
    again = run("train", home / "recipe.toml", "--resume", "--set", "training.max_steps=6", "--json")
    assert (again.code, json.loads(again.lines[-1])["step"]) == (0, 6)
    assert Path(json.loads(again.lines[-1])["run"]) == home
