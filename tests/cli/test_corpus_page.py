"""The page on one's own corpus: its commands run, its recipe is read, both languages show the same code."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from yiwen.cli.main import main
from yiwen.recipe import load_recipe

DOCS = Path(__file__).parents[2] / "docs"
PAIRS = [(f"This is line {n} of the text.", f"这是文本的第{n}行。") for n in range(200)]


def blocks(language: str, kind: str) -> list[str]:
    page = (DOCS / language / "corpus.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


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


def test_both_languages_show_the_same_code() -> None:
    for kind in ("bash", "toml"):
        assert blocks("en", kind) == blocks("zh", kind)
        assert blocks("en", kind)


def test_the_commands_run(folder: Path) -> None:
    for block in blocks("en", "bash"):
        for line in block.strip().split("\n"):
            Path("corpus.toml").unlink(missing_ok=True) if "new corpus" in line else None
            _, *words = shlex.split(line)
            assert main(words) == 0, line
    assert Path("mine.toml").exists()


def test_the_recipe_is_one(folder: Path) -> None:
    (recipe,) = blocks("en", "toml")
    Path("page.toml").write_text(recipe, encoding="utf-8")
    loaded = load_recipe("page.toml")
    assert [corpus.weight for corpus in loaded.recipe.data.corpora] == [3.0, 1.0]
    assert main(["prepare", "page.toml"]) == 0
