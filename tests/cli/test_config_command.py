"""`yiwen config`: what a recipe resolves to; its output is a recipe again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import write_tiny_recipe
from yiwen.config import parse
from yiwen.recipe import Recipe, builtin_names, load_recipe


@pytest.mark.parametrize("name", builtin_names())
def test_the_output_is_an_equal_recipe(name: str, run: Commands, tmp_path: Path) -> None:
    done = run("config", name)
    assert (done.code, done.err) == (0, "")
    assert parse(Recipe, tomllib.loads(done.out.decode()), source="out") == load_recipe(name).recipe
    (tmp_path / "again.toml").write_bytes(done.out)
    assert run("config", tmp_path / "again.toml").out == done.out


def test_settings_show_in_it_with_their_meaning(run: Commands, tmp_path: Path) -> None:
    path = write_tiny_recipe(tmp_path)
    done = run("config", path, "--set", "training.max_steps=77", "--set", 'tokenizer.kind="bpe"')
    assert "# Updates in all.\nmax_steps = 77\n" in done.out.decode()
    assert 'kind = "bpe"' in done.out.decode()


def test_without_a_recipe_the_built_in_ones_are_named(run: Commands) -> None:
    assert run("config").lines == builtin_names()


def test_the_schema_is_json(run: Commands) -> None:
    schema = json.loads(run("config", "--schema").out)
    assert {"data", "tokenizer", "model", "training", "search", "evaluation"} < schema["properties"].keys()
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "'nope' is neither a file nor a built-in recipe; built in are"),
        (["none.toml"], "none.toml does not exist"),
        (["--set", "training.max_steps=5"], "--set needs a RECIPE to change, and --schema is that of all recipes"),
        (["zh-en", "--schema"], "--set needs a RECIPE to change, and --schema is that of all recipes"),
        (["multi30k-en-de", "--set", "training.max_step=5"], "is not a setting; did you mean 'max_steps'?"),
        (["multi30k-en-de", "--set", "training.max_steps"], "is not KEY=VALUE"),
        (["multi30k-en-de", "--set", "task.x=1"], "'task' holds 'translate', not a table"),
        (["multi30k-en-de", "--set", "training.max_steps=many"], 'training.max_steps = "many"'),
        (["multi30k-en-de", "--set", "model.preset=huge"], "input should be 'tiny', 'small', 'base', 'big'"),
    ],
)
def test_wrong_recipes_and_settings_exit_2(arguments: list[str], message: str, run: Commands) -> None:
    done = run("config", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
