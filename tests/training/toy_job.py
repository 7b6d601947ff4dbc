"""A job for the training loop that takes milliseconds, and a disk that fails or dies at a given operation."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from torch import Tensor, nn

from yiwen.bundle import save_tensors
from yiwen.data.batching import Batch, Lengths, Rows, collate
from yiwen.files import new_folder, remove_leftovers
from yiwen.hardware import Hardware
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.training.checkpoint import latest_checkpoint
from yiwen.training.config import TrainingConfig
from yiwen.training.job import Job, Snapshot
from yiwen.training.loop import Trainer
from yiwen.training.state import Progress
from yiwen.training.validation import Validation

V, D, F_INNER, N = 23, 5, 7, 61
CPU = Hardware(device="cpu", precision="float32", threads=1, attention="fused", keeps_memory=False)
SMALL = TrainingConfig(
    max_steps=23,
    batch_tokens=67,
    warmup_steps=5,
    learning_rate=0.01,
    validate_every=7,
    checkpoint_every=5,
    keep_last=2,
    log_every=3,
    ema_decay=0.9,
    precision="float32",
    device="cpu",
    threads=1,
)


class ToyModel(nn.Module):
    """Guesses the next target token from the last one and the mean of the source; has dropout, matrices, a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.inner = nn.Linear(D, F_INNER)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(F_INNER, V)

    def forward(self, src_ids: Tensor, tgt_in: Tensor) -> Tensor:
        x_BTD = self.embedding(tgt_in) + self.embedding(src_ids).mean(dim=1, keepdim=True)
        logits: Tensor = self.out(self.dropout(self.inner(x_BTD).relu()))
        return logits


def toy_loss(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy, summed; padding does count in the mean of the source, which is nobody's business here."""
    logits = model(batch.src_ids, batch.tgt_in)
    return F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, reduction="sum"), (
        batch.n_tokens
    )


def toy_sentences() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """N pairs of 1 to 12 ids."""
    rng = np.random.default_rng(3)
    draw = lambda: rng.integers(4, V, size=int(rng.integers(1, 13)))  # noqa: E731
    return [draw() for _ in range(N)], [draw() for _ in range(N)]


def toy_lengths(fingerprint: str = "toy") -> Lengths:
    src, tgt = toy_sentences()
    return Lengths(
        src=np.array([len(ids) for ids in src], dtype=np.int32),
        tgt=np.array([len(ids) for ids in tgt], dtype=np.int32),
        corpus=np.zeros(N, dtype=np.uint8),
        weights=(1.0,),
        fingerprint=fingerprint,
    )


def toy_job(*, seed: int = 1) -> Job:
    """A whole job; its validation score is read off the weights, up and down, so that early stopping has work."""
    src, tgt = toy_sentences()
    torch.manual_seed(seed)

    def load(rows: Rows, seed: int) -> Batch:
        return collate([src[row] for row in rows], [tgt[row] for row in rows])

    def validate(model: nn.Module, stop: StopFlag) -> Validation:
        stop.check("validation")
        with torch.no_grad():
            total = sum(float(parameter.double().sum()) for parameter in model.parameters())
        return Validation(scores={"loss": 1.5, "perplexity": 4.5, "bleu": 1000 * total % 7}, samples=[])

    def save_bundle(folder: Path, snapshot: Snapshot) -> None:
        with new_folder(folder) as temporary:
            save_tensors(snapshot.weights, temporary / "model.safetensors")
            (temporary / "kind").write_text(snapshot.kind, encoding="utf-8")

    return Job(
        model=ToyModel(),
        model_config=ModelConfig(d_model=D, n_heads=1, positions="learned"),
        lengths=toy_lengths(),
        load=load,
        largest=lambda: collate([np.full(11, 4)] * 5, [np.full(11, 4)] * 5),
        loss_fn=toy_loss,
        validate=validate,
        save_bundle=save_bundle,
        where=lambda row: f"toy.tsv line {row + 1}",
    )


class Screen:
    """Collects what the loop says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, text: str, **_: Any) -> None:
        self.lines.append(text)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def trainer(
    run: Path, config: TrainingConfig = SMALL, job: Job | None = None, *, stop: StopFlag | None = None
) -> Trainer:
    """What `train_recipe` does at the start of a run or a resumed one, without a recipe."""
    for folder in (run, run / "checkpoints", run / "bundles"):
        folder.mkdir(exist_ok=True, parents=True)
        remove_leftovers(folder)
    return Trainer(
        run,
        job or toy_job(),
        config,
        hardware=CPU,
        stop=StopFlag() if stop is None else stop,
        resume_from=latest_checkpoint(run / "checkpoints"),
    )


def train(run: Path, config: TrainingConfig = SMALL, job: Job | None = None, **changes: Any) -> Progress:
    """Start or resume a run and work to its end."""
    return trainer(run, replace(config, **changes), job).train()


def results(run: Path) -> tuple[bytes, bytes, bytes]:
    """What two equal runs have in common to the last bit: the record, the final weights, the best weights."""
    return (
        (run / "metrics.jsonl").read_bytes(),
        (run / "final" / "model.safetensors").read_bytes(),
        (run / "best" / "model.safetensors").read_bytes(),
    )


class Killed(BaseException):
    """The process is dead: nothing may happen after it."""


class Disk:
    """Counts the operations that change files; at number `fail_at` raises an error once, or dies for good."""

    def __init__(self, fail_at: int = -1, error: int | None = None) -> None:
        self.fail_at, self.error = fail_at, error
        self.n = 0
        self.is_dead = False

    def operation(self) -> None:
        if self.is_dead:
            raise Killed
        self.n += 1
        if self.n - 1 == self.fail_at:
            if self.error is None:
                self.is_dead = True
                raise Killed
            raise OSError(self.error, os.strerror(self.error))

    @contextmanager
    def spinning(self) -> Iterator[Disk]:
        """Every operation goes through here inside the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "symlink"):
                patch.setattr(os, name, self._counted(getattr(os, name)))
            patch.setattr(os, "fsync", self._counted(lambda descriptor: None))  # slow, and no test cuts the power
            patch.setattr(io, "open", self._opening(io.open))
            patch.setattr(safetensors.torch, "save_file", self._saving(safetensors.torch.save_file))
            yield self

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if "tensorboard" not in str(args[0]):  # written by a thread of its own
                self.operation()
            return real(*args, **options)

        return call

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if "r" not in mode and "tensorboard" not in str(file):
                self.operation()
            return real(file, mode, *args, **options)

        return call

    def _saving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensors: Any, path: Path) -> None:
            try:
                self.operation()
                real(tensors, path)
                self.operation()
            except OSError as error:  # what safetensors does
                path.write_bytes(b"half")
                raise SafetensorError(f"Error while serializing: I/O error: x (os error {error.errno})") from error
            except Killed:
                with real_open(path, "wb") as file:
                    file.write(b"half")
                raise

        return call


real_open = open
FULL, BROKEN = errno.ENOSPC, errno.EIO
