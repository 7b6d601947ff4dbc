"""Every error has the exit code that the tree at the top of `errors.py` shows."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Iterable

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


@pytest.mark.parametrize("error", [DataError("x"), Stopped("x", signum=signal.SIGTERM, is_immediate=True)])
def test_an_error_comes_from_another_process_as_it_was_raised_there(error: YiwenError) -> None:
    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301  as processes hand errors over
    assert (type(arrived), str(arrived), arrived.exit_code) == (type(error), "x", error.exit_code)
    assert vars(arrived) == vars(error)


def test_errors_are_caught_by_those_who_know_only_pythons_own() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(MissingDependencyError, ImportError)


def test_the_drawn_tree_names_every_error() -> None:
    assert errors.__doc__ is not None
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, YiwenError):
            assert f"{name} " in errors.__doc__


def test_an_argument_of_the_right_kind_comes_back_and_another_is_named_with_the_remedy() -> None:
    value = ["a"]
    assert errors.expect(value, list, "texts", "a list") is value
    assert errors.expect(None, int | None, "seed", "a number, or None") is None
    with pytest.raises(ConfigError, match=r"^seed is a str; give a number, or None, not 'x'$"):
        errors.expect("x", int | None, "seed", "a number, or None")
    with pytest.raises(ConfigError, match=r"^folders is a str; give a list, not 'runs'$"):
        errors.expect("runs", Iterable, "folders", "a list", but=str)
    with pytest.raises(ConfigError, match=r"give a list, not 'x{59}$"):  # however long it is
        errors.expect("x" * 999, list, "texts", "a list")
