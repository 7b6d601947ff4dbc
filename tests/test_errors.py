"""Every error has the exit code that the tree at the top of `errors.py` shows."""

from __future__ import annotations

import signal

import pytest

from yiwen import errors
from yiwen.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    ExportError,
    FaultError,
    MissingDependencyError,
    Stopped,
    TrainingError,
    YiwenError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (YiwenError("x"), 1),
        (ConfigError("x"), 2),
        (DataError("x"), 3),
        (CheckpointError("x"), 4),
        (TrainingError("x"), 1),
        (ExportError("x"), 1),
        (FaultError("x"), 5),
        (MissingDependencyError("x"), 1),
        (Stopped("x", signum=signal.SIGINT), 130),
        (Stopped("x", signum=signal.SIGTERM), 143),
    ],
)
def test_an_error_knows_its_exit_code(error: YiwenError, code: int) -> None:
    assert error.exit_code == code
    assert str(error) == "x"
    assert isinstance(error, YiwenError)


def test_errors_are_caught_by_those_who_know_only_pythons_own() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(MissingDependencyError, ImportError)


def test_the_drawn_tree_names_every_error() -> None:
    assert errors.__doc__ is not None
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, YiwenError):
            assert f"{name} " in errors.__doc__
