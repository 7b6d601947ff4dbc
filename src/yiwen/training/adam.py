"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019) by PyTorch's fused kernel.

Here because whoever makes an optimizer of torch.optim imports PyTorch's compiler, for a second and 65 MB.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.adam import adam


@dataclass(frozen=True, kw_only=True)
class Group:
    """Parameters that are moved alike."""

    parameters: list[nn.Parameter]
    scale: float = 1.0
    """Their learning rate relative to the schedule's."""
    weight_decay: float = 0.0
    """An update, times the learning rate."""


class Adam:
    """As torch.optim.AdamW moves parameters; without weight decay as torch.optim.Adam does."""

    def __init__(self, groups: Sequence[Group], *, beta1: float, beta2: float, epsilon: float) -> None:
        """Take charge of parameters."""
        self.groups = groups
        self.state: dict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        move = partial(adam, fused=True, decoupled_weight_decay=True, amsgrad=False, maximize=False)
        self._move = partial(move, beta1=beta1, beta2=beta2, eps=epsilon)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Apply the gradients; parameters without one stay as they are."""
        for group in self.groups:
            moved = [parameter for parameter in group.parameters if parameter.grad is not None]
            gradients = [parameter.grad for parameter in moved]
            states = [self._state(parameter) for parameter in moved]
            steps, means, squares = ([state[name] for state in states] for name in ("step", "exp_avg", "exp_avg_sq"))
            lr = rate * group.scale
            self._move(moved, gradients, means, squares, [], steps, lr=lr, weight_decay=group.weight_decay)

    def _state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Updates done, and the means of gradients and of their squares: zeros before the first update."""
        state = self.state[parameter]
        if not state:
            state |= {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        return state
