"""Subword sampling is the one thing that exact resume does not cover, and training says so."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from test_old_bundles import write_bundle

from tiny_model import write_tiny_recipe
from yiwen.recipe import load_recipe
from yiwen.runs import SAMPLING_NOTE, train_recipe
from yiwen.text.subword import Subword

TEXTS = ["ba be bi bo bu da", "de di do du ka ke"] * 5


def test_within_a_process_equal_seeds_cut_alike(tmp_path: Path) -> None:
    subword = Subword.load(write_bundle(tmp_path / "bundle") / "shared.spm")
    first, other, again = (subword.encode_sampled(TEXTS, sampling=0.1, seed=seed) for seed in (7, 8, 7))
    assert first == again != other


def test_training_with_sampling_says_that_resume_is_not_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    recipe = write_tiny_recipe(tmp_path)
    told = io.StringIO()
    settings = ["tokenizer.sampling=0.1", "training.max_steps=2", "training.validate_every=2"]
    train_recipe(load_recipe(str(recipe), settings), run=tmp_path / "run", console=Console(file=told, width=200))
    assert SAMPLING_NOTE in told.getvalue()
