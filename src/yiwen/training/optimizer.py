"""Optimizers, chosen and fed here; their state as named tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from yiwen.errors import CheckpointError
from yiwen.hardware import Hardware
from yiwen.training.config import TrainingConfig
from yiwen.training.muon import ADD_GROUP, Muon

Optimizers = Sequence[torch.optim.Optimizer]


class Adam(torch.optim.AdamW):
    """PyTorch's AdamW that imports no compiler (see `ADD_GROUP`); without weight decay it is Adam, to the bit."""

    add_param_group = ADD_GROUP
    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


def build_optimizers(
    model: nn.Module, config: TrainingConfig, hardware: Hardware, *, rate_of: Callable[[str], float] = lambda name: 1.0
) -> Optimizers:
    """One optimizer, or several where Muon takes the matrices of the layers and AdamW everything else.

    Weight decay applies to matrices of the layers only: embeddings, norms and biases have no scale to shrink.
    A parameter that needs no gradient stays as it is.

    Args:
        model: Whose parameters are optimized.
        config: Which optimizer, and its settings.
        hardware: Muon multiplies in its number type; among as many Muons as it computes shards the matrices are dealt
            out, so that threads can step side by side.
        rate_of: A parameter's learning rate relative to the schedule's, by its name.
    """
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    is_apart = ("embedding", "positions", "output_proj", "head.weight")  # no matrix that a layer multiplies by
    matrices = {name: p for name, p in named.items() if p.dim() == 2 and not any(part in name for part in is_apart)}
    rest = {name: p for name, p in named.items() if name not in matrices}

    def groups(parameters: Mapping[str, nn.Parameter], **settings: Any) -> list[dict[str, Any]]:
        """Those of one learning rate together."""
        alike: dict[float, list[nn.Parameter]] = {}
        for name, parameter in parameters.items():
            alike.setdefault(rate_of(name), []).append(parameter)
        return [{"params": found, "scale": scale, **settings} for scale, found in alike.items()]

    rate, decay = config.learning_rate, config.weight_decay
    adam: Any = {"lr": rate, "betas": (config.beta1, config.beta2), "eps": config.epsilon, "fused": True}
    match config.optimizer:
        case "adam":
            return [Adam(groups(named, weight_decay=0.0), **adam)]
        case "adamw":
            return [Adam(groups(matrices, weight_decay=decay) + groups(rest, weight_decay=0.0), **adam)]
        case "muon":
            dtype = torch.bfloat16 if hardware.is_bf16 else torch.float32
            # Dealt out in turn: each gets as many of every shape.
            alike = sorted(matrices.items(), key=lambda each: each[1].shape)
            dealt = [dict(alike[number :: hardware.shards]) for number in range(min(hardware.shards, len(alike)))]
            muons = [Muon(groups(part), lr=rate, weight_decay=decay, dtype=dtype) for part in dealt]
            return [*muons, Adam(groups(rest, weight_decay=0.0), **adam)]


def optimizer_tensors(model: nn.Module, optimizers: Optimizers) -> dict[str, Tensor]:
    """The whole state as named tensors: `PARAMETER/KEY` -> value. Settings are not in it: the config has them."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    states = [each for optimizer in optimizers for each in optimizer.state.items()]
    return {f"{names[parameter]}/{key}": value for parameter, state in states for key, value in state.items()}


def load_optimizer_tensors(model: nn.Module, optimizers: Optimizers, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave.

    Raises:
        CheckpointError: If a name belongs to no parameter of the model.
    """
    parameters = dict(model.named_parameters())
    owner = {p: o for o in optimizers for group in o.param_groups for p in group["params"]}
    for name, value in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        if parameter_name not in parameters:
            raise CheckpointError(f"the optimizer's state holds {name!r}, no parameter of this model; restore the file")
        parameter = parameters[parameter_name]
        owner[parameter].state[parameter][key] = value.to(parameter.device)


@torch.no_grad()
def update_average(average: nn.Module, model: nn.Module, *, step: int, decay: float) -> None:
    """Move the exponential moving average of the weights towards the model's, in place.

    The decay starts low, at 1 / 6, and rises to `decay` as step / (step + 5) does, so that the random first
    weights are soon forgotten.
    """
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - min(decay, step / (step + 5)))
