"""Build the notebooks: one script a lesson, in two languages that share their code.

A lesson is a jupytext script in percent format. Markdown cells carry `lang="en"` or `lang="zh"`; code cells carry
none and stand in both. `python notebooks/build.py` writes `built/en/*.ipynb` and `built/zh/*.ipynb` without outputs;
`--run` runs the code of each lesson once and puts the outputs into both. Names on the command line choose lessons.
A notebook in the way is kept as `*.old.ipynb`, beside those kept before; without `--run` it is left alone unless its
script is newer.
"""

from __future__ import annotations

import argparse
import copy
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import jupytext
import nbformat

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh")
TIMEOUT_S = 600
"""Longest run of one cell."""


def lessons(names: list[str] | None = None) -> list[Path]:
    """The scripts, in order of reading; those whose names begin as given."""
    found = sorted(HERE.glob("[0-9]*.py"))
    return [path for path in found if not names or any(path.name.startswith(name) for name in names)]


def read(path: Path) -> Any:
    """A lesson with the cells of both languages.

    Raises:
        ValueError: If a markdown cell has no language, or a code cell has one.
    """
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells, 1):
        language = cell.metadata.get("lang")
        if (cell.cell_type == "markdown") != (language in LANGUAGES):
            raise ValueError(f'{path.name}, cell {number}: text needs lang="en" or lang="zh", code needs none')
    return notebook


def in_language(notebook: Any, language: str) -> Any:
    """The lesson with the text of one language."""
    chosen = copy.deepcopy(notebook)
    chosen.cells = [cell for cell in chosen.cells if cell.metadata.get("lang", language) == language]
    for number, cell in enumerate(chosen.cells):
        cell.metadata.pop("lang", None)
        cell.id = f"cell-{number}"
    chosen.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    chosen.nbformat, chosen.nbformat_minor = 4, 5
    return chosen


def run(notebook: Any) -> None:
    """Run the code cells in a fresh kernel, in this folder; their outputs are put into the notebook.

    Raises:
        nbclient.exceptions.CellExecutionError: With the cell that failed.
    """
    from nbclient import NotebookClient

    NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": HERE}}).execute()


def write(path: Path, notebook: Any, folder: Path) -> None:
    """Write a lesson in both languages below a folder."""
    for language in LANGUAGES:
        target = folder / language / f"{path.stem}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():  # a reader may have written into it, as into one that was kept before
            target.replace(free_name(target))
        nbformat.write(in_language(notebook, language), target)


def free_name(target: Path) -> Path:
    """Where the notebook that is in the way is kept: beside those of earlier times."""
    names = (target.with_suffix(f"{number}.old.ipynb") for number in ("", *(f".{n}" for n in range(2, 1000))))
    return next(name for name in names if not name.exists())


def write_helper(folder: Path) -> None:
    """Put what lessons import beside the notebooks, because Jupyter runs a notebook in its own folder."""
    for language in LANGUAGES:
        (folder / language).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / "lesson.py", folder / language / "lesson.py")


def is_built(path: Path, folder: Path) -> bool:
    """Whether a lesson stands there in both languages, built after its script was last changed."""
    targets = [folder / language / f"{path.stem}.ipynb" for language in LANGUAGES]
    return all(target.exists() and target.stat().st_mtime >= path.stat().st_mtime for target in targets)


def main() -> int:
    """Build all lessons, or those named; says how long each took to run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of lesson names, e.g. 03")
    parser.add_argument("--run", action="store_true", help="run them, and keep what they print and draw")
    parser.add_argument("--output", type=Path, default=HERE / "built")
    options = parser.parse_args()
    write_helper(options.output)
    for path in lessons(options.names):
        if not options.run and is_built(path, options.output):
            continue
        began = time.perf_counter()
        notebook = read(path)
        if options.run:
            run(notebook)
            print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)
        write(path, notebook, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
