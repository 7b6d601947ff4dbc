"""`yiwen train`: a recipe to a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yiwen.cli.options import AsJson, RecipeName, Settings, stoppable, tell_json

if TYPE_CHECKING:
    from rich.console import Console

    from yiwen.training.state import Progress


def train(
    recipe: RecipeName,
    settings: Settings = None,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; runs/RECIPE where not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run, or start it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model; its text is prepared first if needed."""
    from yiwen.measure import calibrate_once
    from yiwen.recipe import load_recipe
    from yiwen.runs import train_recipe
    from yiwen.tasks.config import COMMANDS
    from yiwen.translator import Translator

    loaded = load_recipe(recipe, settings or ())
    home = Path(recipe).parent
    if resume and run is None and Path(recipe).name == "recipe.toml" and (home / "hardware.json").is_file():
        run = home  # that of a run, which may lie anywhere
    with stoppable() as (stop, console):
        folder, progress = train_recipe(loaded, run=run, resume=resume, stop=stop, console=console)
        if loaded.recipe.task == "translate" and progress.best_score is not None:
            calibrate_once(Translator.load(folder), stop=stop)
    command = COMMANDS[loaded.recipe.task]
    result = tell_best(folder, progress, console, then=f"{command} {shlex.quote(str(folder / 'best'))} < YOUR_TEXT")
    tell_json(result, wanted=as_json)


def tell_best(folder: Path, progress: Progress, console: Console, *, then: str) -> dict[str, Any]:
    """Say which model was the best and what comes next; the same for programs."""
    score = 0.0 if progress.best_score is None else progress.best_score
    best = f"best: {folder / 'best'} (step {progress.best_step}, validation {score:.2f})"
    console.print(f"{best}\nnext: yiwen {then}", soft_wrap=True, markup=False)
    return {"run": str(folder), "step": progress.step, "best_step": progress.best_step, "best_score": score}
