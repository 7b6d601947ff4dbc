"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import Asked, Commands

from tiny_model import TinyRun
from yiwen.errors import ConfigError
from yiwen.translator import Translator


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


@pytest.fixture
def asked_of(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A list of what a command hands on: to `Translator.load`, then to a function of the given name, which ends it."""
    load = Translator.load

    def watch(name: str) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def loaded(model: Path, **how: Any) -> Translator:
            asked.append(how)
            return load(model, threads=1)

        def refuse(*given: object, **how: Any) -> None:
            asked.append(how)
            raise ConfigError("enough")

        monkeypatch.setattr(Translator, "load", loaded)
        monkeypatch.setattr(name, refuse)
        return asked

    return watch
