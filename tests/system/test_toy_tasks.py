"""Tiny models learn to copy, to reverse and to sort, from text to text."""

from __future__ import annotations

from pathlib import Path

import pytest

from toy_task import write_task
from yiwen.bundle import open_bundle
from yiwen.data.store import Store
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.translator import Translator

SETTINGS = [
    *("model.d_model=64", "model.dropout=0.0", "training.batch_tokens=512", "training.learning_rate=0.006"),
    *("training.schedule='polynomial'", "training.ema_decay=0.95", "data.valid_pairs=100"),
    *("training.validate_every=160", "training.checkpoint_every=160", "training.precision='float32'"),
]


@pytest.mark.parametrize(
    ("task", "max_steps", "expected"),
    [
        ("copy", 320, 0.95),
        pytest.param("reverse", 640, 0.8, marks=pytest.mark.slow),
        pytest.param("sort", 640, 0.8, marks=pytest.mark.slow),
    ],
)
def test_a_tiny_model_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, max_steps: int, expected: float
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("YIWEN_KEEP_MEMORY", "0")
    recipe = load_recipe(str(write_task(tmp_path, task, n=1200)), [*SETTINGS, f"training.max_steps={max_steps}"])
    run, progress = train_recipe(recipe)
    src, tgt = Store.open(tmp_path / "runs" / ".prepared" / progress.data).valid
    translations = Translator.load(run / "best", device="cpu", threads=1).translate(src)
    share = sum(str(found) == gold for found, gold in zip(translations, tgt, strict=True)) / len(tgt)
    assert share >= expected
    assert open_bundle(run / "final").info.step == max_steps
    assert open_bundle(run / "best").info.scores["bleu"] == progress.best_score
