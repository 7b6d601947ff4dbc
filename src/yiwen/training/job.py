"""What the training loop knows about a task: everything that differs between translation and the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from yiwen.bundle import BundleInfo, save_bundle
from yiwen.data.batching import Batch, Lengths, Rows
from yiwen.data.store import Store
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.tasks.loss import LossFn
from yiwen.training.validation import Validation


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What training has come to, as a bundle keeps it."""

    weights: Mapping[str, Tensor]
    """Parameters by name."""
    step: int
    """Updates that they have seen."""
    kind: str
    """Which weights these are: `last`, `ema` or `average of N checkpoints`."""
    scores: Mapping[str, float]
    """Of the validation text."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A task as the loop sees it."""

    model: nn.Module
    """Freshly initialised, on its device."""
    model_config: ModelConfig
    """Its shape: for the paper's learning rate, and for those who compare runs."""
    lengths: Lengths
    """Of all training rows."""
    load: Callable[[Rows, int], Batch]
    """(rows, seed) -> batch."""
    is_sampled: bool = False
    """Whether the batches hold rows of other lengths than those above, and are to be cut again."""
    largest: Callable[[], Batch]
    """A made-up batch of the largest size that can occur."""
    loss_fn: LossFn
    """(model, batch) -> (loss_sum, n_tokens)."""
    validate: Callable[[nn.Module, StopFlag], Validation]
    """Scores of a model; among them the configured metric."""
    save_bundle: Callable[[Path, Snapshot], None]
    """Writes a bundle into a folder, whole or not at all."""
    where: Callable[[int], str]
    """Names the file and line of a row."""
    subwords: Callable[[Mapping[str, Tensor]], tuple[np.ndarray, list[str]]] | None = None
    """weights -> embeddings that are worth a look (N, D), and their names; None where there are none."""
    rate_of: Callable[[str], float] = lambda name: 1.0
    """A parameter's learning rate relative to the schedule's, by its name."""


def save_snapshot(folder: Path, snapshot: Snapshot, store: Store, model: ModelConfig, **more: Any) -> None:
    """Write the bundle of a model that was trained on this data; what else it says of itself is in `more`."""
    info = BundleInfo(
        src_lang=store.src_lang,
        tgt_lang=store.tgt_lang,
        model=model,
        src_vocab_size=store.source.vocab_size,
        tgt_vocab_size=store.target.vocab_size,
        data_fingerprint=store.fingerprint,
        step=snapshot.step,
        weights=snapshot.kind,
        scores=dict(snapshot.scores),
        **more,
    )
    save_bundle(folder, info=info, weights=snapshot.weights, models=(store.source_model, store.target_model))
