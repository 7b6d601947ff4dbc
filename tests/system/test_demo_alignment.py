"""The demo's model aligns words as its grammar does: the promise of the page on looking inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from yiwen.analysis.gold import measure_alignment
from yiwen.bundle import open_bundle
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.tour import RECIPE, TEXT_VARIABLE, write_text


@pytest.mark.slow
def test_the_alignment_error_rate_of_the_demo_is_at_most_0_15(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    folder = write_text(40_000)
    monkeypatch.setenv(TEXT_VARIABLE, str(folder))
    run, _ = train_recipe(load_recipe(RECIPE, ["training.max_steps=300", "training.validate_every=300"]))
    found = measure_alignment(open_bundle(run / "best"), folder / "test.align.jsonl")
    assert found.n_pairs == 1000
    assert found.aer <= 0.15, str(found)
