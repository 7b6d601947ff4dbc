"""Label-smoothed cross-entropy in pieces that never leave the processor's cache.

Shapes: N target tokens that are no padding, D d_model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.model.linear import compute_dtype

LossFn = Callable[[nn.Module, Batch], tuple[Tensor, int]]
"""(model, batch) -> (loss_sum (), n_tokens): all that the training loop knows of a task."""

CHUNK_TOKENS = 256
"""Rows of logits computed at a time: of 8,000 each, their softmax is 8 MB, which stays in a processor's cache."""

DEVICE_TOKENS = 4096
"""The same on a GPU, which is kept busy by fewer rows no longer."""

ROWS = 64
"""Rows are filled up to a multiple of this: oneDNN makes and keeps a kernel for every number of them that it meets."""

BLOCK_TOKENS = 1024
"""Rows whose logit gradients wait for one product with their states: a multiple of CHUNK_TOKENS."""

_SMALLEST_P = 1e-30
"""Far enough above the smallest float32 number for its logarithm to be exact."""


def chunked_loss(states_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, *, smoothing: float) -> Tensor:
    """Cross-entropy against smoothed targets straight from decoder states, summed over tokens.

    Logits are computed `rows_at_once` rows at a time, into room for `BLOCK_TOKENS`, or for those where they are more.

    Args:
        states_ND: Decoder states of real target positions.
        weight_VD: Output matrix; logits are states x weight^T.
        targets_N: Gold tokens, int64.
        smoothing: Probability mass spread over the vocabulary, 0 <= smoothing < 1.

    Returns:
        Summed loss in nats, (), float32. A sum, not a mean: micro-batches hold different token counts, and averaging
        means would weight them wrongly.

    Source: Szegedy et al. 2016, section 7; 0.1 in Vaswani et al. 2017, section 5.4. The products run in autocast's type
    where it is on, the softmax and all sums in float32.
    """
    needs_gradient = torch.is_grad_enabled() and (states_ND.requires_grad or weight_VD.requires_grad)
    return _ChunkedLoss.apply(states_ND, weight_VD, targets_N, smoothing, needs_gradient)  # type: ignore[no-untyped-call]


def rows_at_once(states: Tensor) -> int:
    """Rows of logits to hold, where the states are."""
    return CHUNK_TOKENS if states.device.type == "cpu" else DEVICE_TOKENS


def saved_gradients(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
    """What the forward pass has worked out already, for the first two of five arguments.

    Raises:
        RuntimeError: With `create_graph`: what was worked out no longer knows what it came from.
    """
    if torch.is_grad_enabled():
        raise RuntimeError("this loss has no second derivative (create_graph=True); use F.cross_entropy of the logits")
    states_grad, weight_grad = ctx.saved_tensors
    return grads[0] * states_grad, grads[0] * weight_grad, None, None, None


class _ChunkedLoss(torch.autograd.Function):
    """Loss and both gradients in one pass: the softmax is at hand only once, and it is all the gradients need.

    With p = softmax(z) and q the smoothed target (eps / V at every token, and 1 - eps more at the gold one),
    loss = -sum q log p and d loss / d z = p - q. The eps / V part of q is the same for every token, so its share of
    loss and gradients is taken from the mean row of the output matrix: one pass less over all logits.
    """

    @staticmethod
    def forward(
        ctx: Any, states_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, smoothing: float, needs_gradient: bool
    ) -> Tensor:
        dtype = compute_dtype(weight_VD)
        with torch.autocast(weight_VD.device.type, enabled=False):
            n_tokens = targets_N.numel()
            states = F.pad(states_ND.to(dtype), (0, 0, 0, -n_tokens % ROWS))  # zeros, which give no gradient
            targets, weight = F.pad(targets_N, (0, -n_tokens % ROWS)), weight_VD.to(dtype)
            mean_row = weight_VD.float().mean(dim=0)
            states_sum = states_ND.float().sum(dim=0)
            states_grad = torch.empty_like(states, dtype=states_ND.dtype) if needs_gradient else None
            weight_grad = torch.zeros_like(weight_VD, dtype=torch.float32) if needs_gradient else None
            loss_sum = -smoothing * (states_sum @ mean_row)
            n_rows = rows_at_once(states)
            block = max(BLOCK_TOKENS, n_rows)
            z_room = states.new_empty(min(block, len(states)), weight.size(0))
            p_room = torch.empty(min(n_rows, len(states)), weight.size(0), dtype=torch.float32, device=states.device)
            for first in range(0, n_tokens, block):
                for start in range(first, min(first + block, n_tokens), n_rows):
                    end = min(start + n_rows, len(states))
                    gold, z, p = targets[start:end, None], z_room[start - first : end - first], p_room[: end - start]
                    torch.mm(states[start:end], weight.t(), out=z)
                    p.copy_(z)
                    z_gold = p.gather(1, gold)
                    torch.softmax(p, dim=1, out=p)
                    loss_sum += (_log_norm(z, p, z_gold, gold) - (1 - smoothing) * z_gold)[: n_tokens - start].sum()
                    if states_grad is not None:
                        p.scatter_add_(1, gold, p.new_full(gold.shape, smoothing - 1))
                        z.copy_(p)  # the gradients, in the place of the logits
                        states_grad[start:end] = z @ weight - (smoothing * mean_row).to(dtype)
                if weight_grad is not None:
                    weight_grad.add_(z_room[: end - first].t() @ states[first:end])
            if weight_grad is not None:
                weight_grad -= smoothing / weight_VD.size(0) * states_sum
        ctx.save_for_backward(None if states_grad is None else states_grad[:n_tokens], weight_grad)
        return loss_sum

    backward = staticmethod(saved_gradients)


def _log_norm(z: Tensor, p: Tensor, z_gold: Tensor, gold: Tensor) -> Tensor:
    """log sum exp z of each row, (C, 1), without another exponential: p = exp(z) / norm for every entry.

    Args:
        z: Logits, (C, V).
        p: Their softmax.
        z_gold: The logit of each row's gold token, (C, 1), float32.
        gold: The gold tokens, (C, 1).
    """
    p_gold = p.gather(1, gold)
    # Looking at the values makes an accelerator wait; there, and where p underflows, the largest entries do it.
    if z.device.type == "cpu" and bool((p_gold > _SMALLEST_P).all()):
        return z_gold - p_gold.log()
    return z.amax(dim=1, keepdim=True) - p.amax(dim=1, keepdim=True).log()
