"""`yiwen plot`: figures of positions, masks, schedules, lengths and training curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

KINDS: Final = {"positions": (0, 1), "masks": (0, 0), "schedule": (1, 20), "lengths": (1, 1), "curves": (1, 20)}
"""What can be drawn, and of how many things."""
_OF: Final = "positions: a model (optional). schedule: recipes. lengths: a recipe. curves: runs. masks: nothing."


def plot(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(KINDS)}.")],
    of: Annotated[list[str] | None, typer.Argument(metavar="OF", help=_OF)] = None,
    output: Annotated[Path | None, typer.Option(help="An .svg or .png; WHAT.svg where not given.")] = None,
) -> None:
    """Draw positions, masks, schedules, lengths, curves."""
    from yiwen.analysis import plots
    from yiwen.bundle import load_model, open_bundle
    from yiwen.errors import ConfigError

    if what not in KINDS:
        raise ConfigError(f"WHAT={what!r} is unknown; use one of {', '.join(KINDS)}")
    of = of or []
    path = output or Path(f"{what}.svg")
    least, most = KINDS[what]
    if not least <= len(of) <= most:
        count = f"{least}" if least == most else f"{least} to {most}"
        raise ConfigError(f"`yiwen plot {what}` takes {count} of what its help names, not {len(of)}")
    plots.require_figure(path)
    match what:
        case "masks":
            figure = plots.masks()
        case "positions":
            figure = plots.positions(load_model(open_bundle(Path(of[0]))) if of else None)
        case "curves":
            figure = plots.lines(plots.run_curves([Path(run) for run in of]), x="step")
        case "schedule":
            figure = plots.lines({"learning rate": _rates(of)}, x="step")
        case _:
            from yiwen.data.store import Store
            from yiwen.preparing import prepare_recipe
            from yiwen.recipe import load_recipe
            from yiwen.stop import stop_on_signals

            with stop_on_signals() as stop:
                store = Store.open(prepare_recipe(load_recipe(of[0]), stop=stop).folder)
            figure = plots.lengths(store.src_lengths, store.tgt_lengths, languages=(store.src_lang, store.tgt_lang))
    plots.save(figure, path)
    print(f"wrote {path}")


def _rates(recipes: list[str]) -> dict[str, tuple[list[int], list[float]]]:
    """The learning rate of every step, by recipe."""
    from yiwen.recipe import load_recipe
    from yiwen.training.schedule import learning_rate

    curves = {}
    for name in recipes:
        recipe = load_recipe(name).recipe
        steps = range(1, recipe.training.max_steps + 1)
        rates = [learning_rate(step, recipe.training, d_model=recipe.model.d_model) for step in steps]
        curves[f"{name} ({recipe.training.schedule})"] = (list(steps), rates)
    return curves
