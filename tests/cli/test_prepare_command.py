"""`yiwen prepare`: raw text to a store, and a report of what was dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import write_tiny_recipe
from yiwen.data.store import Store


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny recipe with broken lines in its corpus; runs go beside it."""
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    path = write_tiny_recipe(tmp_path)
    for side, bad in (("en", b"\nbroken \xff\n"), ("de", b"empty on the other side\nkaputt\n")):
        with (tmp_path / f"train.{side}").open("ab") as file:
            file.write(bad)
    return path


def test_a_recipe_is_prepared_once(recipe: Path, run: Commands) -> None:
    first = run("prepare", recipe)
    assert first.code == 0
    assert first.lines[-1].startswith("prepared: ")
    folder = Path(first.lines[-1].removeprefix("prepared: "))
    assert len(Store.open(folder)) > 500
    again = run("prepare", recipe)
    assert again.lines[-1] == f"already prepared: {folder}"


def test_json_is_one_object_that_counts_what_was_dropped(recipe: Path, run: Commands) -> None:
    done = run("prepare", recipe, "--json")
    assert done.code == 0
    report = json.loads(done.lines[-1])
    assert len(done.lines) == 1
    assert report["read"] == 1502
    dropped = {item["reason"]: item["count"] for item in report["dropped"]}
    assert report["kept"] + sum(dropped.values()) == report["read"]
    assert len(dropped) >= 2
    assert "prepared: " in done.err


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        (["data.max_token=9"], 2, "data.max_token is not a setting; did you mean 'max_tokens'?"),
        (["data.corpora=[{src='none.en', tgt='train.de'}]"], 3, "none.en does not exist"),
        (["data.corpora=[{src='valid.en', tgt='train.de'}]"], 3, "valid.en has 30 lines and"),
    ],
)
def test_wrong_recipes_and_text_exit_with_their_code(
    settings: list[str], code: int, message: str, recipe: Path, run: Commands
) -> None:
    done = run("prepare", recipe, *(part for setting in settings for part in ("--set", setting)))
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err
