"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    """Runs a command in this process; messages do not depend on the width of a terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    return Commands(capfdbinary, monkeypatch, tmp_path)


@pytest.fixture
def trained(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> TinyRun:
    """The tiny run, with YIWEN_RUNS where it lies."""
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_run.runs))
    return tiny_run
