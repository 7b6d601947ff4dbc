"""Checkpoints: a folder per step, whole or absent, from which a run goes on digit for digit.

checkpoints/step-00001000/   model.safetensors  ema.safetensors  optimizer.safetensors  state.json  manifest.json
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from torch import nn

from yiwen.bundle import load_tensors, load_weights, save_tensors
from yiwen.config import read_stored
from yiwen.errors import CheckpointError
from yiwen.files import is_complete, new_folder, put_back, remove, verify_manifest, write_json
from yiwen.stop import NEW_RUN
from yiwen.training.optimizer import Optimizers, load_optimizer_tensors, optimizer_tensors
from yiwen.training.state import Progress


class Trained(NamedTuple):
    """What training changes, besides its progress."""

    model: nn.Module
    average: nn.Module | None
    """The moving average of its weights, if there is one."""
    optimizers: Optimizers


def save_checkpoint(folder: Path, trained: Trained, *, progress: Progress) -> Path:
    """Write the checkpoint of progress.step below `folder`; returns its path."""
    path = folder / f"step-{progress.step:08d}"
    with new_folder(path) as temporary:
        save_tensors(dict(trained.model.named_parameters()), temporary / "model.safetensors")
        if trained.average is not None:
            save_tensors(dict(trained.average.named_parameters()), temporary / "ema.safetensors")
        save_tensors(optimizer_tensors(trained.model, trained.optimizers), temporary / "optimizer.safetensors")
        write_json(temporary / "state.json", dataclasses.asdict(progress))
    return path


def load_checkpoint(path: Path, trained: Trained, *, data: str) -> Progress:
    """Fill model, average and optimizers from a checkpoint, in place.

    Args:
        path: The checkpoint.
        trained: Where its tensors go.
        data: Fingerprint of the data that training goes on with.

    Raises:
        CheckpointError: If it is damaged, belongs to another model or was trained on other data.
    """
    verify_checkpoint(path)
    check_data(path, data)
    load_weights(dict(trained.model.named_parameters()), path / "model.safetensors")
    if trained.average is not None:
        load_weights(dict(trained.average.named_parameters()), path / "ema.safetensors")
    load_optimizer_tensors(trained.model, trained.optimizers, load_tensors(path / "optimizer.safetensors"))
    return read_progress(path)


def check_data(path: Path, data: str) -> None:
    """Make sure that data of this fingerprint is what a checkpoint was trained on.

    Raises:
        CheckpointError: If it is other data.
    """
    if (before := read_progress(path).data) not in ("", data):
        remedy = f"a text or the program that prepares it has changed; restore it, or {NEW_RUN}"
        raise CheckpointError(f"{path} was trained on the prepared data {before}, now it is {data}: {remedy}")


def verify_checkpoint(path: Path) -> None:
    """Check every file of a checkpoint.

    Raises:
        CheckpointError: If one is missing or changed; the others do without it.
    """
    try:
        verify_manifest(path)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; to do without it, remove {path}") from error


def read_progress(path: Path) -> Progress:
    """The numbers of a checkpoint without its tensors."""
    return read_stored(Progress, path / "state.json", remedy=f"to do without it, remove {path}")


def checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints below `folder`, oldest first. What has no manifest was never finished and does not exist."""
    return sorted(path for path in folder.glob("step-" + 8 * "[0-9]") if is_complete(path))


def last_scheduled(folder: Path, n: int) -> list[Path]:
    """The last n checkpoints that were scheduled, oldest first; where none was, the newest of all."""
    found = checkpoints(folder)
    return [path for path in found if read_progress(path).is_scheduled][-n:] or found[-1:]


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint; None where no step was ever written.

    Raises:
        CheckpointError: If there are step folders but none is complete: starting from zero would hide a loss.
    """
    put_back(folder)
    complete = checkpoints(folder)
    if not complete and any(folder.glob("step-*")):
        remedy = "restore one from a copy, or remove the run to start anew"
        raise CheckpointError(f"{folder} holds checkpoints but none is complete; {remedy}")
    return complete[-1] if complete else None


def remove_old(folder: Path, *, keep_last: int) -> None:
    """Remove all but the last `keep_last` scheduled checkpoints, and every unscheduled one but the newest of all."""
    for path in sorted({*checkpoints(folder)[:-1]} - {*last_scheduled(folder, keep_last)}):
        remove(path)
