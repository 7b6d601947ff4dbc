"""`yiwen train`: a recipe to a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import AsJson, RecipeName, Settings


def train(
    recipe: RecipeName,
    settings: Settings = None,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; runs/RECIPE where not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an existing run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model; its text is prepared first where needed."""
    from rich.console import Console

    from yiwen.measure import calibrate_model
    from yiwen.recipe import load_recipe
    from yiwen.runs import train_recipe
    from yiwen.stop import stop_on_signals
    from yiwen.tasks.config import COMMANDS

    console = Console(stderr=True)
    loaded = load_recipe(recipe, settings or ())
    with stop_on_signals() as stop:
        folder, progress = train_recipe(loaded, run=run, resume=resume, stop=stop, console=console)
        if loaded.recipe.task == "translate" and progress.best_score is not None:
            calibrate_model(folder, stop=stop)
    score = 0.0 if progress.best_score is None else progress.best_score
    console.print(f"best: {folder / 'best'} (step {progress.best_step}, validation {score:.2f})", soft_wrap=True)
    console.print(f"next: yiwen {COMMANDS[loaded.recipe.task]} {folder / 'best'} < YOUR_TEXT", soft_wrap=True)
    if as_json:
        result = {"run": str(folder), "step": progress.step, "best_step": progress.best_step, "best_score": score}
        print(json.dumps(result))
