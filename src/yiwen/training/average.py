"""The mean of several checkpoints' weights (Vaswani et al. 2017, section 6.1, the last 5 or 20), and a model of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from yiwen.bundle import load_tensors
from yiwen.errors import CheckpointError
from yiwen.files import verify_manifest

M = TypeVar("M", bound=nn.Module)


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Mean of `model.safetensors` over checkpoint or bundle folders, summed in float64.

    Raises:
        CheckpointError: If there is none, one is damaged, or they are of different models.
    """
    if not paths:
        raise CheckpointError("there is no checkpoint to average; give at least one")
    total: dict[str, Tensor] = {}
    for path in paths:
        verify_manifest(path)
        weights = {name: weight.double() for name, weight in load_tensors(path / "model.safetensors").items()}
        if total and {n: w.shape for n, w in weights.items()} != {n: w.shape for n, w in total.items()}:
            raise CheckpointError(f"{path} is of another model than {paths[0]}; average checkpoints of one run")
        total = {name: total.get(name, 0) + weight for name, weight in weights.items()}
    return {name: (weight / len(paths)).to(torch.float32) for name, weight in total.items()}


def with_weights(model: M, weights: Mapping[str, Tensor]) -> M:
    """A copy of the model for inference, with other weights."""
    copied = copy.deepcopy(model).eval()
    with torch.no_grad():
        for name, parameter in copied.named_parameters():
            parameter.copy_(weights[name])
    return copied
