"""What all notebooks use: showing the project's own source, and figures of one look.

A copy stands beside the built notebooks of each language, because Jupyter runs a notebook in its own folder.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import Code, display

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent if HERE.name in ("en", "zh") else HERE / "built"
"""Where the notebooks are built; both languages share the runs below it."""


def show(*objects: Any) -> None:
    """Show the source of functions and classes as it stands in yiwen, with its file and first line."""
    for item in objects:
        lines, first = inspect.getsourcelines(item)
        module = inspect.getmodule(item)
        assert module is not None
        print(f"{module.__name__.replace('.', '/')}.py, line {first}")
        display(Code("".join(lines), language="python"))


def heat(axes: Any, values: Any, *, title: str = "", x: Any = None, y: Any = None, **options: Any) -> None:
    """A matrix as colours; x and y label its columns and rows."""
    image = axes.imshow(values, aspect="auto", interpolation="nearest", **options)
    axes.set_title(title, fontsize=10)
    for labels, place in ((x, axes.set_xticks), (y, axes.set_yticks)):
        if labels is not None:
            place(range(len(labels)), labels, fontsize=8)
    plt.colorbar(image, ax=axes, fraction=0.05, pad=0.02)


def small_demo() -> Path:
    """The demo's corpus and recipe, made small: trained once, below `built/runs`, and found again by later lessons.

    About a minute on two cores; 12,000 pairs and 240 updates instead of 40,000 and 500.
    """
    from yiwen.recipe import load_recipe
    from yiwen.runs import train_recipe
    from yiwen.tour import TEXT_VARIABLE, write_text

    os.environ["YIWEN_RUNS"] = str(BUILT / "runs")
    run = BUILT / "runs" / "lesson"
    os.environ[TEXT_VARIABLE] = str(write_text(12_000))
    if not (run / "final").exists():
        settings = ["training.max_steps=240", "training.validate_every=80", "training.checkpoint_every=80"]
        train_recipe(load_recipe("demo-en-zh", settings), run=run, resume=run.exists())
    return run
