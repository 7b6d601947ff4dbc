"""What the training loop knows about a task: everything that differs between translation and the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from yiwen.bundle import BundleInfo
from yiwen.data.batching import Batch, Lengths, Rows
from yiwen.data.store import Store
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.tasks.loss import LossFn
from yiwen.training.validation import Validation


@dataclass(frozen=True, kw_only=True)
class Job:
    """A task as the loop sees it."""

    model: nn.Module
    """Freshly initialised, on its device."""
    d_model: int
    """For the paper's learning rate."""
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
    save_bundle: Callable[[Path, Mapping[str, Tensor], int, str, Mapping[str, float]], None]
    """(folder, weights, step, which weights, scores)."""
    where: Callable[[int], str]
    """Names the file and line of a row."""
    settings: Mapping[str, Any]
    """Shape of the model, for those who compare runs."""
    subwords: Callable[[Mapping[str, Tensor]], tuple[np.ndarray, list[str]]] | None = None
    """weights -> embeddings that are worth a look (N, D), and their names; None where there are none."""
    rate_of: Callable[[str], float] = lambda name: 1.0
    """A parameter's learning rate relative to the schedule's, by its name."""


def bundle_info(store: Store, model: ModelConfig, **more: Any) -> BundleInfo:
    """What a bundle of a model trained on this data says of itself."""
    return BundleInfo(
        src_lang=store.src_lang,
        tgt_lang=store.tgt_lang,
        model=model,
        src_vocab_size=store.source.vocab_size,
        tgt_vocab_size=store.target.vocab_size,
        data_fingerprint=store.fingerprint,
        **more,
    )
