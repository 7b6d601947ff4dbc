"""A run that no longer gets better stops by itself and keeps its best model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toy_task import write_task
from yiwen.bundle import open_bundle
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe

SETTINGS = [
    *("training.learning_rate=1e-9", "training.patience=2", "training.validate_every=3", "training.max_steps=90"),
    "training.precision='float32'",
]


def test_training_stops_when_validation_gets_no_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a learning rate of nothing every validation scores like the first."""
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("YIWEN_KEEP_MEMORY", "0")
    run, progress = train_recipe(load_recipe(str(write_task(tmp_path, "copy", n=150)), SETTINGS))
    assert (progress.step, progress.best_step, progress.n_worse) == (9, 3, 2)
    assert open_bundle(run / "best").info.step == 3
    assert open_bundle(run / "final").info.step == 9
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_bytes().splitlines()]
    assert [line["step"] for line in lines if "valid_bleu" in line] == [3, 6, 9]
