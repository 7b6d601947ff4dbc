"""Muon: momentum whose every direction is made equally long, for the matrices of the layers (Jordan et al. 2024).

Here because torch.optim.Muon (2.13) takes the matrices one by one and always in bf16, which a processor without bf16
computes in software: 176 ms an update of the `tiny` model against 41 here, of some 520 in all (docs/log.md).
"""

from __future__ import annotations

import inspect
from typing import Final

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

_COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Of the quintic a x + b x^3 + c x^5, which pushes singular values towards 1; Jordan et al. 2024."""
_N_ROUNDS: Final = 5
_MOMENTUM: Final = 0.95
"""Of Nesterov's kind."""
_EPSILON: Final = 1e-7
ADD_GROUP: Final = inspect.unwrap(torch.optim.Optimizer.add_param_group)
"""Without what PyTorch wraps it in, which imports its compiler: a second and some 85 MB before the first update."""


class Muon(torch.optim.Optimizer):
    """Steps along the momentum's nearest orthogonal matrix, roughly; equal to torch.optim.Muon but for rounding.

    A step is scaled by 0.2 sqrt(max(rows, columns)), which makes it as long as AdamW's, so that both take the same
    learning rate (Liu et al. 2025, section 2.2).
    """

    add_param_group = ADD_GROUP

    def __init__(
        self, parameters: ParamsT, *, lr: float, weight_decay: float = 0.0, dtype: torch.dtype = torch.float32
    ) -> None:
        """Take charge of parameters.

        Args:
            parameters: Matrices, or groups of them.
            lr: Learning rate.
            weight_decay: An update, times the learning rate.
            dtype: In which matrices are made orthogonal: bf16 is exact enough, and fast where the hardware has it.
        """
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Apply the gradients; parameters without one stay as they are."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike.setdefault(parameter.shape, []).append(parameter)
            for shape, matrices in alike.items():
                directions_NRC = torch.stack([self._momentum(p) for p in matrices])
                steps_NRC = orthogonal(directions_NRC.to(self.dtype)).to(directions_NRC.dtype)
                torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(matrices, list(steps_NRC), alpha=-group["lr"] * 0.2 * max(shape) ** 0.5)

    def _momentum(self, parameter: Tensor) -> Tensor:
        """Nesterov's look ahead: what the momentum would be if the same gradient came once more."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        buffer: Tensor = state["momentum_buffer"]
        buffer.lerp_(parameter.grad, 1 - _MOMENTUM)
        return parameter.grad.lerp(buffer, _MOMENTUM)


def orthogonal(matrices_NRC: Tensor) -> Tensor:
    """The matrices with their singular values brought near 1 (0.68 to 1.21), by Newton-Schulz iteration.

    A value below 0.0015 of its matrix's norm grows 480 times and stays smaller.

    Args:
        matrices_NRC: Any number of matrices of one shape, (N, R, C).
    """
    is_tall = matrices_NRC.size(1) > matrices_NRC.size(2)
    x = matrices_NRC.mT if is_tall else matrices_NRC
    x = x / torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp(min=_EPSILON)
    a, b, c = _COEFFICIENTS
    for _ in range(_N_ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x
