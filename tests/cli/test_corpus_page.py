"""The page on one's own corpus: its commands run, its recipe is read."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from pages import blocks, commands

from yiwen.cli.main import main
from yiwen.recipe import load_recipe

PAIRS = [(f"This is line {n} of the text.", f"这是文本的第{n}行。") for n in range(200)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    for name in ("train", "general", "dev", "test"):
        for side, language in enumerate(("en", "zh")):
            lines = (f"{name}: {pair[side]}\n" for pair in PAIRS)
            Path(f"{name}.{language}").write_text("".join(lines), encoding="utf-8")
    Path("corpus.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS), encoding="utf-8")
    rows = (json.dumps({"translation": {"en": src, "zh": tgt}}) + "\n" for src, tgt in PAIRS)
    Path("corpus.jsonl").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def test_the_commands_run(folder: Path) -> None:
    for line in commands("corpus.md"):
        if "new corpus" in line:
            Path("corpus.toml").unlink(missing_ok=True)
        assert main(shlex.split(line)[1:]) == 0, line
    assert Path("mine.toml").exists()


def test_the_recipe_is_one(folder: Path) -> None:
    (recipe,) = blocks("corpus.md", "toml")
    Path("page.toml").write_text(recipe, encoding="utf-8")
    loaded = load_recipe("page.toml")
    assert [corpus.weight for corpus in loaded.recipe.data.corpora] == [3.0, 1.0]
    assert main(["prepare", "page.toml"]) == 0
