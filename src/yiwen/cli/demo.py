"""`yiwen demo`: everything from start to finish on a generated corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import AsJson, Settings, stoppable, tell_json


def demo(
    text: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="English to translate. Repeatable.")] = None,
    settings: Settings = None,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; runs/demo-en-zh where not given.")] = None,
    pairs: Annotated[int, typer.Option(help="Sentence pairs to generate for training.")] = 40_000,
    as_json: AsJson = False,
) -> None:
    """Generate text, train, measure, translate, in minutes."""
    from yiwen.tour import take_tour

    with stoppable(stderr=as_json) as (stop, console):
        tour = take_tour(console=console, texts=text or (), settings=settings or (), run=run, n_pairs=pairs, stop=stop)
    tell_json(tour.to_json(), wanted=as_json)
