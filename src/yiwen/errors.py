"""Every error that yiwen raises on purpose, and the exit code of the command that meets it.

YiwenError                 1  something failed
├── ConfigError            2  a recipe, an option or an argument breaks a rule (also a ValueError)
├── DataError              3  the text is not what it has to be
├── CheckpointError        4  a bundle, a checkpoint or a prepared store is missing, torn or foreign
├── TrainingError          1  training cannot go on
├── ExportError            1  a model cannot be exported, or its export does not agree with it
├── MissingDependencyError 1  an optional package is not installed (also an ImportError)
├── FaultError             5  translations have faults, and the user asked to be told by the exit code
└── Stopped                130 after Ctrl-C, 143 after SIGTERM: the user asked for it

A message names the value, the rule it breaks and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Value = TypeVar("Value")


class YiwenError(Exception):
    """Base of all errors that a user can do something about."""

    exit_code: int = 1


class ConfigError(YiwenError, ValueError):
    """A setting breaks a rule. It is a ValueError too, so that the config loader can collect several."""

    exit_code = 2


class DataError(YiwenError):
    """The text given is not what it has to be."""

    exit_code = 3


class CheckpointError(YiwenError):
    """A bundle, a checkpoint or a prepared store is missing, damaged or was written for something else."""

    exit_code = 4


class TrainingError(YiwenError):
    """Training cannot go on: the loss stays non-finite, or another process writes the same run."""


class ExportError(YiwenError):
    """A model has a part that the other runtime lacks, or its export does not compute what the model computes."""


class MissingDependencyError(YiwenError, ImportError):
    """An optional package is needed; the message is the pip line that installs it."""


class FaultError(YiwenError):
    """Everything was translated, but checks found faults and `--strict` was given."""

    exit_code = 5


class Stopped(YiwenError):
    """A signal asked the program to stop, and it stopped at a safe point."""

    # Python makes an error that comes from another process anew, of its message, and gives it the rest afterwards.
    def __init__(self, message: str, *, signum: int = 0, is_immediate: bool = False) -> None:
        """is_immediate: asked for a second time, so that nothing may be saved: a step may be half done."""
        super().__init__(message)
        self.signum = signum
        self.is_immediate = is_immediate
        self.exit_code: int = 128 + signum


def expect(value: Value, kind: Any, name: str, remedy: str, *, but: Any = ()) -> Value:
    """Give an argument back that is of a kind (as for `isinstance`) that the function can use.

    >>> expect({"beam_size": 2}, int | None, "seed", "a number, or None")
    Traceback (most recent call last):
    yiwen.errors.ConfigError: seed is a dict; give a number, or None, not {'beam_size': 2}

    Raises:
        ConfigError: If it is not, or if it is of the kind `but`.
    """
    if not isinstance(value, kind) or isinstance(value, but):
        raise ConfigError(f"{name} is a {type(value).__name__}; give {remedy}, not {value!r:.60}")
    return value


def listed(things: Sequence[object]) -> str:
    """What a message names: the first thirty, and how many more there are."""
    return ", ".join(map(str, things[:30])) + (f" and {len(things) - 30} more" if len(things) > 30 else "")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Begin what is refused in the block with the setting or the file that it comes from."""
    try:
        yield
    except (ConfigError, DataError, CheckpointError) as error:
        error.args = (f"{what}: {error}",)
        raise


@contextmanager
def needing(what: str, *, extra: str) -> Iterator[None]:
    """Import optional packages inside the block; where one is missing, the user is told what for and the cure.

    Raises:
        MissingDependencyError: If one is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(f"{what}: pip install 'yiwen[{extra}]' ({error})") from error
