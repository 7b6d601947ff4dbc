"""`yiwen average`: the mean of several checkpoints as a model of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import stoppable


def average(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, e.g. runs/NAME.")],
    output: Annotated[Path, typer.Option(help="Folder of the new model.")],
    last: Annotated[int, typer.Option(help="How many of the last checkpoints.")] = 5,
) -> None:
    """Average the last checkpoints of a run into a model.

    See section 6.1 of the paper.
    """
    from yiwen.runs import average_run

    with stoppable() as (stop, _):
        n_averaged = average_run(run, output=output, last=last, stop=stop)
    print(f"{output}: mean of {n_averaged} checkpoint{'s' * (n_averaged != 1)}")
    if n_averaged < last:
        typer.echo(f"note: the run has no more scheduled checkpoints, --last is {last}", err=True)
