"""A grid of runs of one recipe, its settings tried alone and together: one table and one chart at the end.

runs/RECIPE-sweep/   rdrop=1,dropout=0.3/   a run like any other, and init.json: the model that it began with,
                                            cell.json: what came of it, the translations too
                     sweep.json             all of it
                     lock                   of the one sweep that may run there

Scores are those of the validation text, searched as the recipe says: choices are made there, not on the test.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from rich.console import Console

from yiwen.bundle import WEIGHTS
from yiwen.config import parse, read_toml, to_toml
from yiwen.data.store import Store
from yiwen.errors import ConfigError, Stopped, YiwenError
from yiwen.evaluation.metrics import Metric, quick_score
from yiwen.files import one_writer, read_json, write_json
from yiwen.recipe import LoadedRecipe, Recipe, load_recipe, runs_root
from yiwen.stop import GO_ON, NEW_RUN, StopFlag
from yiwen.translator import Translator

SEED: Final = "training.seed"
_T_95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Two-sided 95 % quantiles of Student's t, for 1 to 10 degrees of freedom."""
_opened = lru_cache(2)(Store.open)
"""Prepared text: to open it verifies all of it, and each row is compared with the first."""


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    folder: Path
    settings: dict[str, str]
    """What the grid varies: keys, and values as they were given."""
    loaded: LoadedRecipe


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a cell, as `cell.json` keeps it."""

    score: float
    """Of the validation text."""
    metric: Metric
    minutes: float
    """Of training."""
    data: str
    """Fingerprint of the prepared text."""
    recipe: str
    init: str | None
    """Hash of the weights that training began with; None where they were drawn."""
    texts: tuple[str, ...]
    """Translations of the validation text."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: a cell, or several that differ in nothing but the seed."""

    name: str
    n_runs: int
    score: float | None = None
    """Mean of the runs; None where one failed."""
    gain: tuple[float, float, float] | None = None
    """Over the first row: mean, and both ends of its 95 % interval (over seeds where there are several, else by paired
    bootstrap)."""
    minutes: float = 0.0
    """Of training, a run."""
    error: str = ""


def sweep(
    recipe: str,
    settings: Sequence[str],
    *,
    each: bool = False,
    folder: str | Path | None = None,
    stop: StopFlag | None = None,
    console: Console | None = None,
) -> tuple[Path, list[Row]]:
    """Train every cell of a grid that is not finished, and compare them all with the first.

    Args:
        recipe: Name or path.
        settings, each: As in `grid`.
        folder: Where the runs are; `runs/RECIPE-sweep` where not given.
        stop: Polled in every long loop.
        console: Where progress is shown.

    Returns:
        The folder, and the rows of the table. A row with a cell that failed has its error.

    Raises:
        ConfigError: If a combination is no recipe.
        TrainingError: If another process is sweeping there; it would take what this one trains for cells that failed.
        Stopped: After a stop signal; the same call goes on.
    """
    cells = grid(recipe, settings, each=each, folder=folder)
    place = cells[0].folder.parent
    with one_writer(place):
        rows = compared(cells, [*_results(cells, stop, console)])
        write_json(place / "sweep.json", [asdict(row) for row in rows])
    return place, rows


def grid(recipe: str, settings: Sequence[str], *, each: bool = False, folder: str | Path | None = None) -> list[Cell]:
    """All combinations of the values that settings give, the last setting changing fastest.

    Args:
        recipe: Name or path.
        settings: `key=value`, or `key=value,value,value`. A value that is TOML as a whole (`[1, 2]`) is one value, and
            so is each list of several.
        each: No combinations: all first values together, then every further value alone beside them (with each seed).
        folder: Of the runs; `runs/RECIPE-sweep` where not given.

    Raises:
        ConfigError: If any combination is no recipe, or they do not translate.
    """
    choices = _choices(settings)
    first = {key: values[0] for key, values in choices.items()}
    cells: list[Cell] = []
    for varied in _one_by_one(choices) if each else _combined(choices):
        loaded = load_recipe(recipe, [f"{key}={value}" for key, value in (first | varied).items()])
        words = (f"{key.rpartition('.')[2]}={value}" for key, value in varied.items())
        name = re.sub(r"[^\w.=,+-]", "_", ",".join(words))[:120].encode()[:240].decode(errors="ignore") or "alone"
        twin = "" if all(cell.folder.name != name for cell in cells) else f"-{len(cells) + 1}"
        cells.append(Cell(Path(folder or runs_root() / f"{loaded.name}-sweep", f"{name}{twin}"), varied, loaded))
    if cells[0].loaded.recipe.task != "translate":
        raise ConfigError(f"{recipe} has task={cells[0].loaded.recipe.task!r}; a sweep compares translations")
    return cells


def compared(cells: Sequence[Cell], results: Sequence[Result | str]) -> list[Row]:
    """Rows of the table from the results of the cells; those that differ in their seed alone are one.

    Args:
        cells: All of the grid.
        results: What came of each, or why it failed.
    """
    groups: dict[str, list[Result | str]] = {}
    for cell, result in zip(cells, results, strict=True):
        name = ", ".join(f"{key}={value}" for key, value in cell.settings.items() if key != SEED) or "as it is"
        groups.setdefault(name, []).append(result)
    rows: list[Row] = []
    first: list[Result] = []  # stays empty where one of the first row failed
    for name, group in groups.items():
        if errors := [result for result in group if isinstance(result, str)]:
            rows.append(Row(name=name, n_runs=len(group), error="; ".join(errors)))
            continue
        scored = [result for result in group if isinstance(result, Result)]
        score, minutes = fmean(result.score for result in scored), fmean(result.minutes for result in scored)
        gain = _gain(scored, first) if first else None
        rows.append(Row(name=name, n_runs=len(group), score=score, gain=gain, minutes=minutes))
        if len(rows) == 1:
            first = scored
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text of 80 columns, names by themselves; each has its gain and interval drawn around a zero."""
    reach = max((abs(end) for row in rows for end in row.gain or ()), default=0.0) or 1.0  # of the drawn line
    lines = [f"  score  minutes  runs    gain  {'95 % interval':>16}  {'0':^29}".rstrip()]
    for row in rows:
        lines.append(row.name)
        if row.score is None:
            lines.append(f"  failed: {' '.join(row.error.split())}")
            continue
        text = f"  {row.score:5.2f}  {row.minutes:7.1f}  {row.n_runs:4}"
        if row.gain is not None:
            mean, low, high = (round(14 + 14 * end / reach) for end in row.gain)
            marks = [*f"{'│':^29}"]
            marks[low : high + 1] = "─" * (high - low + 1)
            marks[mean] = "●"
            text += "  {:+6.2f}  [{:+6.2f}, {:+6.2f}]  ".format(*row.gain) + "".join(marks)
        elif row is not rows[0] and rows[0].score is not None:
            text += "  other validation text or metric: not to be compared"
        lines.append(text.rstrip())
    return "\n".join(lines)


def _choices(settings: Sequence[str]) -> dict[str, list[str]]:
    """The values of each key."""
    choices: dict[str, list[str]] = {}
    for setting in settings:
        key, separator, text = map(str.strip, setting.partition("="))
        if not separator:
            raise ConfigError(f"--set {setting!r} is not KEY=VALUE,...; write for example --set training.rdrop=0,1,5")
        if key in choices:
            raise ConfigError(f"--set {key} is given twice; write all its values in one, with commas")
        choices[key] = list(dict.fromkeys(_values(text)))  # two equal runs would compare nothing
    return choices


def _values(text: str) -> list[str]:
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return [value.strip() for value in re.split(r",(?![^\[]*\])", text)]  # not within [brackets]
    return [text]


def _combined(choices: dict[str, list[str]]) -> list[dict[str, str]]:
    """What every cell has of the settings that vary: all combinations."""
    several = {key: values for key, values in choices.items() if len(values) > 1}
    return [dict(zip(several, values, strict=True)) for values in itertools.product(*several.values())]


def _one_by_one(choices: dict[str, list[str]]) -> list[dict[str, str]]:
    """What every cell has beside the first values: nothing, then one further value alone; each with every seed."""
    alone = [{key: value} for key, values in choices.items() if key != SEED for value in values[1:]]
    seeds = [{SEED: seed} for seed in choices.get(SEED, ()) if len(choices[SEED]) > 1]
    return [row | seed for row in ({}, *alone) for seed in seeds or [{}]]


def _results(cells: Sequence[Cell], stop: StopFlag | None, console: Console | None) -> Iterator[Result | str]:
    """What came of each cell, or why it failed."""
    for number, cell in enumerate(cells, 1):
        if console is not None:
            console.print(f"{number} of {len(cells)}: {cell.folder}", highlight=False, markup=False, soft_wrap=True)
        try:
            yield _result(cell, stop, console)
        except Stopped as stopped:
            stopped.args = (str(stopped).replace(GO_ON, "go on with the same command"),)
            raise
        except YiwenError as error:
            yield f"{cell.folder.name}: {error}".replace(NEW_RUN, "start a new sweep with --folder FOLDER")


def _result(cell: Cell, stop: StopFlag | None, console: Console | None) -> Result:
    """What came of a cell: found where it is finished, else trained and scored."""
    from yiwen.preparing import initial_model, prepare_recipe
    from yiwen.runs import train_recipe

    initial = initial_model(cell.loaded)
    init = initial.hashes.get(WEIGHTS) if initial else None
    done, begun = cell.folder / "cell.json", cell.folder / "init.json"
    found = None
    with suppress(OSError, ValueError, RecursionError, ConfigError):  # none, or a damaged one: it is scored again
        found = parse(Result, json.loads(done.read_text("utf-8")), source=str(done))
    before = found.init if found else init
    if found is None and begun.is_file() and (cell.folder / "recipe.toml").is_file():  # it was stopped
        before = read_json(begun, "remove it, if the run began with the model that is named now")
    if before != init:
        raise ConfigError("trained from another init_from model than now; give another --folder, or remove it")
    is_alike = found is not None and found.recipe == to_toml(cell.loaded.recipe)
    if found and is_alike and found.data == prepare_recipe(cell.loaded, stop=stop).folder.name:
        return found
    _refuse_other_length(cell)
    begun.parent.mkdir(parents=True, exist_ok=True)
    write_json(begun, init)
    _, progress = train_recipe(cell.loaded, run=cell.folder, resume=True, stop=stop, console=console)
    result = _scored(cell, progress.data, init, stop)
    write_json(done, asdict(result))
    return result


def _refuse_other_length(cell: Cell) -> None:
    """A run that is longer now goes on, unless its learning rate has fallen for a shorter one."""
    path = cell.folder / "recipe.toml"
    if not path.is_file():
        return
    now, before = cell.loaded.recipe.training, parse(Recipe, read_toml(path), source=str(path)).training
    is_longer = before.max_steps < now.max_steps and now.schedule not in ("polynomial", "cosine")
    if before.patience != now.patience or not (before.max_steps == now.max_steps or is_longer):
        remedy = "give another --folder, or remove it"
        raise ConfigError(f"trained with max_steps={before.max_steps} and patience={before.patience}; {remedy}")


def _scored(cell: Cell, data: str, init: str | None, stop: StopFlag | None) -> Result:
    """Translate the validation text with the best model of a run, or the mean of checkpoints that it asks for."""
    run, recipe, training = cell.folder, cell.loaded.recipe, cell.loaded.recipe.training
    valid = _opened(runs_root() / ".prepared" / data).valid
    model = run / ("final" if training.average_last > 0 else "best")
    translator = Translator.load(model, engine="torch", device=training.device, threads=training.threads)
    # Without checks: their repairs depend on whether a model was calibrated meanwhile, not on how it was trained.
    found = translator.translate(valid.src, search=recipe.search, with_scores=False, checks=False, stop=stop)
    texts = tuple(map(str, found))
    timing = (run / "timing.jsonl").read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2]
    minutes = json.loads(timing)["seconds"] / 60
    metric: Metric = "chrf" if training.metric == "chrf" else "bleu"
    score = quick_score(texts, valid.tgt, tgt_lang=translator.tgt_lang, metric=metric)
    told = to_toml(recipe)
    return Result(score=score, metric=metric, minutes=minutes, data=data, recipe=told, init=init, texts=texts)


def _gain(group: Sequence[Result], first: Sequence[Result]) -> tuple[float, float, float] | None:
    """Mean gain of one row over the first, and the ends of its 95 % interval; None over other text or metrics."""
    from yiwen.evaluation.significance import compare

    ours, theirs = group[0], first[0]
    first_store, store = (_opened(runs_root() / ".prepared" / each.data) for each in (theirs, ours))
    if store.valid != first_store.valid or ours.metric != theirs.metric:
        return None
    gains = [one.score - other.score for one, other in zip(group, first, strict=True)]
    mean = fmean(gains)
    if len(gains) > 1:
        reach = _T_95[min(len(gains) - 1, len(_T_95)) - 1] * stdev(gains) / len(gains) ** 0.5
        return mean, mean - reach, mean + reach
    comparison = compare(ours.texts, theirs.texts, store.valid.tgt, tgt_lang=store.tgt_lang, metrics=(ours.metric,))
    return mean, *comparison.differences[0].interval
