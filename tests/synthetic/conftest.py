"""A teacher in a folder of runs of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from teachers import Teacher

from tiny_model import TinyRun
from yiwen.synthetic import shards
from yiwen.translator import Translator


@pytest.fixture
def teacher(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Teacher:
    """Whoever loads a translator gets this one; a shard has 300 rows."""
    teacher = Teacher(tiny_run.best)
    monkeypatch.setattr(Translator, "load", lambda folder, ensemble=(), **_: teacher.beside(ensemble))
    monkeypatch.setattr(shards, "SHARD_ROWS", 300)
    shutil.copytree(tiny_run.runs / ".prepared", tmp_path / "runs" / ".prepared")
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    return teacher
