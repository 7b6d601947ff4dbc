"""`yiwen sweep`: a small grid of settings, trained one after the other and compared."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from yiwen.cli.options import AsJson, RecipeName, stoppable

_SETTINGS: Final = "A setting and its values; all combinations are tried."


def sweep(
    recipe: RecipeName,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE,...", help=_SETTINGS)] = None,
    each: Annotated[bool, typer.Option("--each", help="Every value beside the first values of the others.")] = False,
    folder: Annotated[Path | None, typer.Option(help="Folder of the runs; runs/RECIPE-sweep where not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try settings: every combination of them is a run.

    Settings are given as --set training.rdrop=0,1,5 --set training.max_steps=2000.

    Each combination is a run of its own; a stopped command goes on where it
    was, and finished runs are not trained again. The first is what the others
    are compared with, on the validation text.
    """
    from yiwen import sweep as grid
    from yiwen.errors import TrainingError

    with stoppable() as (stop, console):
        folder, rows = grid.sweep(recipe, settings or (), each=each, folder=folder, stop=stop, console=console)
    told = {"folder": str(folder), "rows": [asdict(row) for row in rows]}
    print(json.dumps(told, ensure_ascii=False) if as_json else grid.table(rows))
    if failed := [row.error for row in rows if row.score is None]:
        failures = f"{len(failed)} of {len(rows)} rows failed, the first with: {failed[0]}"
        raise TrainingError(f"{failures}\nonce that is mended, the same command tries them again")
