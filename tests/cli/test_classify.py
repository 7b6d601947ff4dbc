"""`yiwen classify`: a label a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_model import TinyRun
from toy_labels import label_of
from yiwen.cli.main import main


def test_every_line_gets_its_label(tiny_classifier: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = ["ba be bi", "da de di", "ba da", "\ud7ff\u2028 ka", "", "ba " * 99]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    code = main(["classify", str(tiny_classifier), "--input", str(tmp_path / "in.txt"), "--threads", "1"])
    captured = capfd.readouterr()
    assert code == 0
    found = captured.out.split("\n")
    assert len(found) == len(lines) + 1
    assert found[:3] == [label_of(line.split()) for line in lines[:3]]
    assert captured.err == "flagged lines: 1 empty, 1 segmented\n"


def test_probabilities_stand_behind_a_tab(tiny_classifier: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("ba be bi\n", encoding="utf-8")
    options = ["--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt"), "--probabilities"]
    assert main(["classify", str(tiny_classifier), *options]) == 0
    label, probability = (tmp_path / "out.txt").read_text(encoding="utf-8").rstrip("\n").split("\t")
    assert label == "b"
    assert 0.5 < float(probability) <= 1


def test_a_translator_is_refused(tiny_run: TinyRun, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", str(tiny_run.best)]) == 4  # a model of the wrong kind
    assert "is a model of the task 'translate'; use `yiwen translate`, or train one of" in capfd.readouterr().err
