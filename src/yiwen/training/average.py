"""The mean of several checkpoints' weights (Vaswani et al. 2017, section 6.1, the last 5 or 20), and a model of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from yiwen.bundle import load_tensors
from yiwen.stop import StopFlag, poll
from yiwen.training.checkpoint import verify_checkpoint

M = TypeVar("M", bound=nn.Module)


def average_weights(paths: Sequence[Path], stop: StopFlag | None = None) -> dict[str, Tensor]:
    """Mean of `model.safetensors` over checkpoints of one run, at least one, summed in float64.

    Raises:
        CheckpointError: If one is damaged.
        Stopped: If the flag was set before all of them were read.
    """
    total: dict[str, Tensor] = {}
    for path in paths:
        poll(stop, "averaging")
        verify_checkpoint(path)
        weights = {name: weight.double() for name, weight in load_tensors(path / "model.safetensors").items()}
        total = {name: total.get(name, 0) + weight for name, weight in weights.items()}
    return {name: (weight / len(paths)).to(torch.float32) for name, weight in total.items()}


def with_weights(model: M, weights: Mapping[str, Tensor]) -> M:
    """A copy of the model for inference, with other weights."""
    copied = copy.deepcopy(model).eval()
    for name, parameter in copied.named_parameters():
        parameter.detach().copy_(weights[name])
    return copied
