"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from yiwen.errors import ConfigError, MissingDependencyError

if TYPE_CHECKING:
    from rich.console import Console

    from yiwen.stop import StopFlag

RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A built-in recipe, or the path of your own .toml.")]
_OVERRIDE: Final = "Override a setting, as in training.max_steps=100. Repeatable."
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_OVERRIDE)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, or of a run: its best model.")]
InputFile = Annotated[Path | None, typer.Option("--input", help="Text, a line each; stdin if - or not given.")]
OutputFile = Annotated[Path | None, typer.Option("--output", help="Where to write; stdout if - or not given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
Engine = Annotated[str, typer.Option(help="auto: the exported engine if there is one, else torch; torch; ctranslate2.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda ...")]
DType = Annotated[str, typer.Option("--dtype", help="auto; float32 or bf16 (fast where hardware has it) mean torch.")]
Threads = Annotated[int, typer.Option(help="Processor threads; 0: OMP_NUM_THREADS, or all.")]
Ensemble = Annotated[list[Path] | None, typer.Option(help="Another model of the same vocabulary. Repeatable.")]
Mbr = Annotated[int | None, typer.Option("--mbr", help="Of this many the one most like the others; 0: the likeliest.")]
Checks = Annotated[bool, typer.Option("--checks/--no-checks", help="Check translations, search again at a fault.")]
BeamSize = Annotated[int | None, typer.Option(help="Hypotheses kept a sentence; 1: greedy search.")]
Penalty = Annotated[float | None, typer.Option(help="Exponent of the length penalty; 0: none.")]
TargetLanguage = Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="The other script: zh-Hant or zh-Hans.")]
GlossaryFile = Annotated[Path | None, typer.Option("--glossary", help="TERM, TAB, its translation (or nothing: keep).")]
Database = Annotated[str | None, typer.Option(envvar="YIWEN_DATABASE", help="URL of keys and usage; else in SQLite.")]


@contextmanager
def stoppable(*, stderr: bool = True) -> Iterator[tuple[StopFlag, Console]]:
    """Around what takes long: the flag that signals raise, and the console for what is told of it."""
    from rich.console import Console

    from yiwen.stop import stop_on_signals

    with stop_on_signals() as stop:
        yield stop, Console(stderr=stderr)


def tell_json(result: Mapping[str, Any], *, wanted: bool) -> None:
    """Print a result for programs where `--json` asks for it."""
    if wanted:
        print(json.dumps(result, ensure_ascii=False))


def refuse(options: Mapping[str, object], why: str) -> None:
    """Make sure that options which mean nothing here, by their names in Python, are not given, and so are None.

    Raises:
        ConfigError: With those that are, and why they may not be.
    """
    if given := [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]:
        raise ConfigError(f"{', '.join(given)}: {why}")


def state_folder() -> Path:
    """Where a service keeps its database and corrections."""
    from yiwen.recipe import runs_root

    return runs_root() / ".serve"


def need_serve() -> None:
    """Say what to install where a service cannot run.

    Raises:
        MissingDependencyError: If a package is missing.
    """
    from importlib.util import find_spec

    names = ("anyio", "httptools", "prometheus_client", "python_multipart", "sqlalchemy", "starlette", "uvicorn")
    if missing := [name for name in names if not find_spec(name)]:
        raise MissingDependencyError(f"a service needs {', '.join(missing)}: pip install 'yiwen[serve]'")
