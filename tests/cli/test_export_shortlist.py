"""`yiwen export --shortlist`: the text that the model was trained on has to be there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun


@pytest.fixture
def model(trained: TinyRun, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.best, tmp_path / "copy"))


def test_a_shortlist_is_learnt_from_the_text_of_the_model(run: Commands, model: Path) -> None:
    done = run("export", model, "--dtype", "float32", "--shortlist", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.lines[-1])["verification"]["shortlist"]["agreement"] > 0.9
    assert (model / "ctranslate2" / "vmap.txt").is_file()


def test_without_the_text_it_says_what_to_do(
    run: Commands, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "other"))
    done = run("export", model, "--shortlist")
    assert (done.code, done.out) == (2, b"")
    assert "--shortlist learns from the text that" in done.err
    assert "run `yiwen prepare` with its recipe, or leave it out" in done.err
    assert not (model / "ctranslate2").exists()
