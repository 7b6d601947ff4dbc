"""`yiwen distil`: from a teacher to a student's run that other commands take for any other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun
from yiwen.recipe import load_recipe

SHORT = ("--beam-size", 1, "--threads", 1, "--set", "training.max_steps=20", "--set", "training.validate_every=20")


@pytest.fixture
def own_runs(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs for this test alone."""
    shutil.copytree(tiny_run.runs / ".prepared", tmp_path / "my runs" / ".prepared")
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "my runs"))
    return tmp_path / "my runs"


def test_a_student_is_trained_and_its_run_is_like_any_other(run: Commands, tiny_run: TinyRun, own_runs: Path) -> None:
    done = run("distil", tiny_run.best, tiny_run.recipe, *SHORT, "--json")
    assert done.code == 0, done.err
    student = own_runs / "tiny-student"
    result = json.loads(done.lines[-1])
    assert (result["run"], result["step"]) == (str(student), 20)
    assert "distilled: " in done.err
    assert f"best: {student / 'best'} (step 20" in done.err
    assert f"next: yiwen export '{student}'\n" in done.err
    assert "\x1b" not in done.err  # no progress bar in a pipe
    recipe = load_recipe(str(student / "recipe.toml")).recipe
    (corpus,) = recipe.data.corpora
    assert Path(corpus.src).parent.parent.parent == own_runs / ".distilled"

    more = ("--run", student, "--resume", "--set", "training.max_steps=25")
    assert run("train", student / "recipe.toml", *more).code == 0
    assert run("evaluate", student / "best", "--beam-size", 1, "--threads", 1).lines[0].startswith("test: 40 lines")

    refused = run("distil", tiny_run.best, tiny_run.recipe, *SHORT)
    assert refused.code == 2
    assert "tiny-student exists already; go on by --resume" in refused.err
    resumed = run("distil", tiny_run.best, tiny_run.recipe, *SHORT, *more[2:])
    assert resumed.code == 0, resumed.err
    assert "0 sources translated now" in resumed.err


def test_text_only_translates_and_says_where_the_pairs_lie(run: Commands, tiny_run: TinyRun, own_runs: Path) -> None:
    done = run(
        "distil", tiny_run.folder, tiny_run.recipe, *SHORT[:4], "--text-only", "--json", "--ensemble", tiny_run.early
    )
    assert done.code == 0, done.err
    result = json.loads(done.lines[-1])
    folder = Path(result["folder"])
    for language in ("en", "de"):
        assert (folder / f"corpus-0.{language}").read_text(encoding="utf-8").count("\n") == result["pairs"]
    assert sorted(path.name for path in own_runs.iterdir()) == [".distilled", ".prepared"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing", "RECIPE"], 4, "nothing is not a folder; give a bundle"),
        (["TEACHER", "nope"], 2, "'nope' is neither a file nor a built-in recipe"),
        (["TEACHER", "RECIPE", "--set", "data.src_lang=fr"], 2, "give a teacher and a recipe of the same languages"),
        (["TEACHER", "RECIPE", "--beam-size", "0"], 2, "search.beam_size is 0"),
        (
            ["TEACHER", "RECIPE", "--set", "task=embed", "--set", "training.metric=accuracy"],
            2,
            "tiny has task='embed'; a student of a translator translates",
        ),
        (["TEACHER", "RECIPE", "--run", "RECIPE"], 2, "tiny.toml is a file, a link to nothing, or may not be written"),
    ],
)
def test_wrong_use_exits_with_its_code(
    arguments: list[str], code: int, message: str, run: Commands, tiny_run: TinyRun, own_runs: Path
) -> None:
    places = {"TEACHER": str(tiny_run.best), "RECIPE": str(tiny_run.recipe)}
    done = run("distil", *(places.get(argument, argument) for argument in arguments))
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
