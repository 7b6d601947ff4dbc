"""The page on the encoder: its recipe trains, its commands and its Python run."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import Commands
from pages import blocks

from toy_labels import WORDS, label_of


def test_the_recipe_trains_and_everything_runs(run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("yiwen.encoder.exporting.LEAST_COSINE", 0.95)  # so small a model, and AVX2 alone: 0.964
    rows = [[WORDS[i % 12], WORDS[i // 12 % 12], WORDS[i // 144 % 12]] for i in range(400)]
    texts, labels = [" ".join(words) for words in rows], [label_of(words) for words in rows]
    with Path("reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *zip(labels, texts, strict=True)])
    (recipe,) = blocks("encoder.md", "toml")
    Path("reviews.toml").write_text(recipe, encoding="utf-8")
    *reviews, _ = blocks("encoder.md", "bash")  # the last: below
    for line in "".join(reviews).strip().split("\n"):
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
    first, second = blocks("encoder.md", "python")
    exec(first, names)
    assert names["features"].shape == (2, 32)
    exec(second, names)
    assert names["pipeline"].score(texts, labels) > 0.8


def test_an_embedder_starts_from_a_translator(run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("YIWEN_DATA", str(tmp_path))
    numbers = iter(range(10_000))
    sets = "tatoeba 3am aic mlqe-wiki pydocs pgdocs frc tldr bible ted news".split()  # noqa: SIM905
    for name in sets:
        folder = tmp_path / f"{name}-en-zh"
        folder.mkdir()
        for part in ("train", "dev", "test", "newstest2017"):
            rows = [next(numbers) for _ in range(40)]
            (folder / f"{part}.en").write_text("".join(f"Boat {n} is here.\n" for n in rows), encoding="utf-8")
            (folder / f"{part}.zh").write_text("".join(f"{n}号船在这里。\n" for n in rows), encoding="utf-8")
    small = ["model.d_model=8", "model.n_heads=2", "model.d_ff=8", "training.max_steps=2", "training.warmup_steps=1"]
    *_, lines = blocks("encoder.md", "bash")
    for line in lines.strip().split("\n"):
        _, command, *words = shlex.split(line)
        settings = [f"--set={each}" for each in small if command == "train"]
        settings += ["--set=data.valid_pairs=20"] * (words == ["zh-en"])
        done = run(command, *words, *settings)
        assert done.code == 0, f"{line}\n{done.err}"
    assert "test-pydocs-en-zh-dev: 40 texts by" in done.out.decode()
