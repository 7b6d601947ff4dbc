"""The page on the encoder: its recipe trains, its commands and its Python run, both languages show the same code."""

from __future__ import annotations

import csv
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import Commands

from toy_labels import WORDS, label_of

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str, kind: str) -> list[str]:
    page = (DOCS / language / "encoder.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def test_both_languages_show_the_same_code() -> None:
    for kind in ("bash", "python", "toml"):
        assert blocks("en", kind) == blocks("zh", kind)
        assert blocks("en", kind)


def test_the_recipe_trains_and_everything_runs(run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    rows = [[WORDS[i % 12], WORDS[i // 12 % 12], WORDS[i // 144 % 12]] for i in range(400)]
    texts, labels = [" ".join(words) for words in rows], [label_of(words) for words in rows]
    with Path("reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *zip(labels, texts, strict=True)])
    (recipe,) = blocks("en", "toml")
    Path("reviews.toml").write_text(recipe, encoding="utf-8")
    for line in "".join(blocks("en", "bash")).strip().split("\n"):
        plain = re.split(r"\s<", line)[0]
        done = run(*shlex.split(plain)[1:], stdin=b"ba be bi\n\n" if "<" in line else b"")
        assert done.code == 0, f"{line}\n{done.err}"
    names: dict[str, Any] = {
        "MODEL": "runs/reviews/best",
        "RECIPE": "reviews.toml",
        "FOLDER": "kept",
        "texts": texts,
        "labels": labels,
    }
    first, second = blocks("en", "python")
    exec(first, names)
    assert names["features"].shape == (2, 32)
    exec(second, names)
    assert names["pipeline"].score(texts, labels) > 0.8
