"""A bundle of an older format still loads and gives the same probabilities."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mutants import mutants
from yiwen.bundle import load_model, open_bundle
from yiwen.errors import CheckpointError
from yiwen.files import new_folder
from yiwen.translator import Translator

V1: dict[str, Any] = json.loads(Path(__file__).with_name("bundle_v1.json").read_text(encoding="utf-8"))


def write_bundle(folder: Path) -> Path:
    """Turn the JSON text into a folder."""
    with new_folder(folder) as new:
        for name, content in V1["files"].items():
            is_text = "text" in content
            (new / name).write_bytes(content["text"].encode() if is_text else base64.b64decode(content["base64"]))
    return folder


def test_a_bundle_of_format_1_loads_and_scores_as_it_did(tmp_path: Path) -> None:
    translator = Translator.load(write_bundle(tmp_path / "old"), device="cpu", threads=1)
    scores = translator.score(V1["sources"], V1["targets"])
    # Pad and bos, which no search may choose, had a hundredth of the probability then and have none now.
    assert [score.log_prob for score in scores] == pytest.approx(V1["log_probs"], rel=1e-3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yiwen.tasks.translate.log_probs_of", lambda logits: logits.log_softmax(dim=-1))
        scores = translator.score(V1["sources"], V1["targets"])
    assert [score.log_prob for score in scores] == pytest.approx(V1["log_probs"], abs=1e-4)
    assert len(translator.translate(V1["sources"])) == 2


def test_a_hundred_mutants_of_a_bundle_are_all_refused_by_name(tmp_path: Path) -> None:
    whole = write_bundle(tmp_path / "whole")
    hashes = json.loads((whole / "manifest.json").read_text(encoding="utf-8"))
    del hashes["README.md"]  # people may edit that
    (whole / "README.md").unlink()
    (whole / "manifest.json").write_text(json.dumps(hashes), encoding="utf-8")
    for folder, victim in mutants(whole, 100, seed=7):
        with pytest.raises(CheckpointError, match="mutant") as caught:
            load_model(open_bundle(folder))
        if victim != "manifest.json":
            assert victim in str(caught.value)
