"""`yiwen distil`: a smaller and faster model that learns from a larger one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import AsJson, BeamSize, Device, Ensemble, RecipeName, Settings, Threads, stoppable, tell_json
from yiwen.cli.train import tell_best


def distil(
    teacher: Annotated[Path, typer.Argument(metavar="TEACHER", help="The model to learn from, or its run.")],
    recipe: RecipeName,
    settings: Settings = None,
    run: Annotated[Path | None, typer.Option(help="Folder; runs/RECIPE, ending in -student, if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an existing run.")] = False,
    text_only: Annotated[bool, typer.Option("--text-only", help="Translate the text, and do not train.")] = False,
    ensemble: Ensemble = None,
    beam_size: BeamSize = None,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a student on what a teacher makes of its text.

    The teacher translates the training text once; what is translated is kept,
    and a stopped command goes on where it was. The teacher is fastest when it
    has been exported (`yiwen export`).
    """
    from yiwen.recipe import load_recipe
    from yiwen.synthetic import distil as synthetic
    from yiwen.synthetic.teacher import Teachers

    loaded = load_recipe(recipe, settings or ())
    search = {"beam_size": beam_size}
    teachers = Teachers(folder=teacher, ensemble=ensemble or (), search=search, device=device, threads=threads)
    with stoppable() as (stop, console):
        if text_only:
            made = synthetic.translate_corpus(teachers, loaded, stop=stop, console=console).made
            result = {"folder": str(made.folder), "pairs": made.n_pairs, "left_out": made.left_out}
        else:
            folder, progress = synthetic.distil(teachers, loaded, run=run, resume=resume, stop=stop, console=console)
            result = tell_best(folder, progress, console, then=f"export {shlex.quote(str(folder))}")
    tell_json(result, wanted=as_json)
