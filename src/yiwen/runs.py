"""Runs: a recipe and its folder. Starting one, resuming one, and refusing to mix two up.

runs/NAME/   recipe.toml  hardware.json  lock  checkpoints/  bundles/  best  final
             metrics.jsonl  timing.jsonl  memory.jsonl  tensorboard/
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from yiwen import hardware
from yiwen.bundle import Bundle, open_bundle, save_bundle
from yiwen.config import parse, read_toml, settings_of, to_toml
from yiwen.data.report import ILL_FITTING
from yiwen.errors import CheckpointError, ConfigError, expect, needing
from yiwen.files import absolute_path, may_write, one_writer, remove_leftovers, require_free, write_json, write_text
from yiwen.hardware import Hardware
from yiwen.recipe import LoadedRecipe, Recipe, against_packing, runs_root
from yiwen.stop import NEW_RUN, StopFlag
from yiwen.text.subword import subword_paths
from yiwen.training.config import MAY_CHANGE, TrainingConfig
from yiwen.training.state import Progress

with needing("training needs torch and pyarrow", extra="train"):
    import torch

    from yiwen.data.store import Store
    from yiwen.preparing import data_of, initial_model, prepare_recipe
    from yiwen.training.average import average_weights
    from yiwen.training.checkpoint import check_data, last_scheduled, latest_checkpoint, read_progress
    from yiwen.training.encoding import encoder_job
    from yiwen.training.job import Job
    from yiwen.training.loop import Trainer
    from yiwen.training.translation import fastest_batch_tokens, translation_job
    from yiwen.training.validation import require_texts


def train_recipe(
    loaded: LoadedRecipe,
    *,
    run: str | Path | None = None,
    root: str | Path | None = None,
    resume: bool = False,
    stop: StopFlag | None = None,
    console: Console | None = None,
) -> tuple[Path, Progress]:
    """Train a recipe, from the raw text where it is not prepared yet.

    Args:
        loaded: The recipe.
        run: Folder of the run; where not given, that of the recipe's name in the folder of all runs.
        root: Folder of all runs; the usual one where not given.
        resume: Go on with an existing run.
        stop: Polled in every long loop.
        console: Where progress is shown.

    Returns:
        The folder of the run and where it stands.

    Raises:
        CheckpointError: If the model to start from, prepared text or a checkpoint is missing or damaged.
        ConfigError: If the run exists and resume is False, or it was started with another recipe.
        DataError: If there is no text, or it is not what the recipe says.
        TrainingError: If another process is writing the run, or training cannot go on.
        Stopped: After a stop signal, with a checkpoint written.
    """
    stop = expect(StopFlag() if stop is None else stop, StopFlag, "stop", "a yiwen.stop.StopFlag, or None")
    expect(loaded, LoadedRecipe, "a recipe to train", "what yiwen.recipe.load_recipe returns")
    expect(console, Console | None, "console", "a rich.console.Console, or None")
    root = Path(expect(root or runs_root(), str | Path, "root", "the path of a folder, or None"))
    run = Path(expect(run or root / loaded.name, str | Path, "run", "the path of a folder, or None"))
    check_start(run, loaded.recipe, resume=resume)
    refuse_changes(run, loaded.recipe)  # before hours go into preparing what is then refused
    if last := latest_checkpoint(run / "checkpoints"):
        check_data(last, data_of(loaded))
    prepared = prepare_recipe(loaded, stop=stop, progress=console is not None, root=root)
    # The caller's own random numbers stay, and gradients are computed where the caller wants none.
    with one_writer(run), torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        for folder in (run, run / "checkpoints", run / "bundles", run / "tensorboard"):
            folder.mkdir(exist_ok=True)
            remove_leftovers(folder, is_ours=folder != run)  # an export or an average may be written into the run
        recipe = loaded.recipe
        chosen = _settle(run, loaded)
        hardware.apply(chosen)
        store = Store.open(prepared.folder)
        chosen, training = _settle_micro_batch(run, store, loaded, chosen, stop)
        if console is not None:
            console.print(hardware.in_words(chosen), highlight=False, markup=False)  # longer than a narrow terminal
            for note in prepared.report.notes:
                if note.startswith(ILL_FITTING):
                    console.print(f"note: {note}", soft_wrap=True, highlight=False, markup=False)
        resume_from = latest_checkpoint(run / "checkpoints")
        if resume_from is None:
            (run / "memory.jsonl").unlink(missing_ok=True)  # of another run, whose checkpoints were removed
        job = _job(store, recipe, training, chosen, initial=initial_model(loaded) if resume_from is None else None)
        trainer = Trainer(run, job, training, hardware=chosen, stop=stop, resume_from=resume_from, console=console)
        return run, trainer.train()


def _job(store: Store, recipe: Recipe, training: TrainingConfig, chosen: Hardware, *, initial: Bundle | None) -> Job:
    """What the loop is to train."""
    if recipe.task == "translate":
        make = partial(translation_job, search=recipe.search)
    else:
        make = partial(encoder_job, encoder=recipe.encoder, task=recipe.task)
    return make(store, recipe.model, training, hardware=chosen, max_tokens=recipe.data.max_tokens, initial=initial)


def check_start(run: Path, recipe: Recipe, *, resume: bool) -> None:
    """Only a resumed run may have begun already: one that has no checkpoint has lost nothing and starts anew.

    Raises:
        ConfigError: If it has, and resume is False, or if its checkpoints are gone; or one that starts asks for
            what is not there on this machine; or no run can be written there.
        DataError: If the recipe asks for no validation text.
    """
    require_texts([recipe.data.valid, recipe.data.valid_pairs])  # what is prepared without it would be of no use
    if not may_write(run / "recipe.toml") or (run.is_symlink() and not run.exists()):
        raise ConfigError(f"{run} is a file, a link to nothing, or may not be written; give another folder with --run")
    if latest_checkpoint(run / "checkpoints") is None:
        if (run / "best").is_dir():  # training would remove it, as one that no checkpoint knows of
            raise ConfigError(f"{run} holds a model and no checkpoint; give another --run folder, or remove it first")
        _choose(recipe)  # what is not there or cannot go together
    elif not resume:
        raise ConfigError(f"{run} exists already; go on by --resume, give another --run folder, or remove it first")


def average_run(run: str | Path, *, output: str | Path, last: int, stop: StopFlag | None = None) -> int:
    """Write the mean of a run's last scheduled checkpoints as a bundle; returns how many there were.

    Raises:
        CheckpointError: If the run has no checkpoint or no best model to take the subwords from.
        ConfigError: If `last` is below 1, or `output` exists or may not be written.
        Stopped: If the flag was set before all of them were read; then nothing is written.
    """
    run, output = Path(run), Path(output)
    if last < 1:
        raise ConfigError(f"--last is {last}; average 1 checkpoint or more")
    require_free(output)
    chosen = last_scheduled(run / "checkpoints", last)
    step = read_progress(chosen[-1]).step if chosen else 0  # 0: of weights that were drawn, before the first update
    if not (run / "best").is_dir() or step == 0:
        raise CheckpointError(f"{run} has no checkpoint and best model yet; train it first")
    bundle = open_bundle(run / "best")
    info = dataclasses.replace(bundle.info, step=step, weights=f"average of {len(chosen)} checkpoints", scores={})
    save_bundle(output, info=info, weights=average_weights(chosen, stop), models=subword_paths(bundle.folder))
    return len(chosen)


def _settle(run: Path, loaded: LoadedRecipe) -> Hardware:
    """Write down recipe and hardware at a run's first start; later check the one and keep the other."""
    recipe, recipe_path, hardware_path = loaded.recipe, run / "recipe.toml", run / "hardware.json"
    refuse_changes(run, recipe)
    if latest_checkpoint(run / "checkpoints") is not None:
        try:
            chosen = parse(Hardware, json.loads(hardware_path.read_text("utf-8"))["chosen"], source=str(hardware_path))
            hardware.check_device(chosen.device)
            hardware.check_ways(chosen.attention, chosen.products, device=chosen.device, precision=chosen.precision)
        except (OSError, ValueError, KeyError, TypeError) as error:
            remedy = f"a run goes on where it began: restore the file or the device, or {NEW_RUN}"
            raise CheckpointError(f"{hardware_path} cannot be used ({error}); {remedy}") from error
    else:
        chosen = _choose(recipe)
        _write_hardware(run, chosen, loaded)
    write_text(recipe_path, to_toml(recipe, with_meaning=True))
    return chosen


def _choose(recipe: Recipe) -> Hardware:
    """What this machine would train a recipe with."""
    training = recipe.training
    tokens = training.update_tokens if training.batch_tokens == "auto" else training.batch_tokens
    return hardware.choose(
        device=training.device,
        precision=training.precision,
        threads=training.threads,
        attention=training.attention,
        products=training.products,
        batch_tokens=0 if recipe.task == "embed" else tokens,  # whose texts learn from all others of their batch
        may_pack=not against_packing(recipe) and recipe.model.d_model < 1024,  # measured: docs/log.md
    )


def _settle_micro_batch(
    run: Path, store: Store, loaded: LoadedRecipe, chosen: Hardware, stop: StopFlag
) -> tuple[Hardware, TrainingConfig]:
    """Put a number in the place of `batch_tokens = "auto"`: a run keeps the one that its first start found."""
    training = loaded.recipe.training
    if training.batch_tokens != "auto":
        return chosen, training
    if chosen.batch_tokens == 0:
        size = fastest_batch_tokens(store, loaded.recipe.model, training, hardware=chosen, stop=stop)
        chosen = dataclasses.replace(chosen, batch_tokens=size)
        _write_hardware(run, chosen, loaded)
    return chosen, dataclasses.replace(training, batch_tokens=chosen.batch_tokens)


def _write_hardware(run: Path, chosen: Hardware, loaded: LoadedRecipe) -> None:
    """What the run computes with, its recipe when it began, and where the relative paths of that start from."""
    began = {"base": str(absolute_path(loaded.base)), "recipe": to_toml(loaded.recipe)}
    write_json(run / "hardware.json", {"chosen": dataclasses.asdict(chosen), "machine": hardware.describe(), **began})


def refuse_changes(run: Path, now: Recipe) -> None:
    """A run that has begun keeps its recipe, but for search, evaluation, its length, and what it logs and keeps.

    Raises:
        ConfigError: With every setting that differs, or if the run is longer already.
    """
    path, last = run / "recipe.toml", latest_checkpoint(run / "checkpoints")
    if last is None:
        return
    try:  # a change of recipe.toml itself would change the run
        table = tomllib.loads(json.loads((run / "hardware.json").read_text("utf-8"))["recipe"])
    except (OSError, ValueError, KeyError, TypeError):
        table = read_toml(path)
    try:
        began = parse(Recipe, table, source=str(path))
    except ConfigError as error:  # of another version, whose rules were others
        raise CheckpointError(f"{error}\ngo on with the yiwen that began {run}, or {NEW_RUN}") from error
    free = ("search.", "evaluation.", *(f"training.{name}" for name in MAY_CHANGE))
    old, new = _settings(began), _settings(now)
    differing = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    changes = [f"{k}: {old.get(k)!r} -> {new.get(k)!r}" for k in sorted(differing) if not k.startswith(free)]
    if now.training.max_steps < (step := read_progress(last).step):
        changes.append(f"training.max_steps={now.training.max_steps}: {step} updates are done; use {step} or more")
    if changes:
        told = "\n  ".join((f"{path} was started with another recipe; a resumed run cannot change these:", *changes))
        raise ConfigError(f"{told}\nundo the changes, or {NEW_RUN}")


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Every setting by its dotted key, those of a corpus by its number: `data.corpora.1.src`."""
    found = settings_of(recipe)
    for number, corpus in enumerate(found.pop("data.corpora"), 1):
        found |= settings_of(corpus, f"data.corpora.{number}.")
    return found
