"""One optimizer update: gradients summed over micro-batches, divided once by their tokens, clipped, applied."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch, Rows, Update
from yiwen.tasks.loss import LossFn
from yiwen.training.optimizer import Optimizers
from yiwen.training.state import seed_of


@dataclass(frozen=True)
class Gradients:
    """What one update's forward and backward passes gave; the gradients themselves are in the model."""

    loss_sum: float
    """In nats, over n_tokens."""
    n_tokens: int
    n_src_tokens: int
    norm: float
    """Length of the whole gradient before clipping."""

    @property
    def is_finite(self) -> bool:
        """Whether the update may be applied."""
        return math.isfinite(self.loss_sum) and math.isfinite(self.norm)


def compute_gradients(
    model: nn.Module,
    plan: Update,
    *,
    load: Callable[[Rows, int], Batch],
    loss_fn: LossFn,
    seeds: tuple[int, int],
    device: str,
    is_bf16: bool,
) -> Gradients:
    """Sum the gradients of all micro-batches, each divided by the tokens of the whole update.

    Args:
        model: In training mode; its gradients are cleared first.
        plan: Rows of each micro-batch.
        load: (rows, seed) -> batch.
        loss_fn: (model, batch) -> (loss_sum, n_tokens).
        seeds: (run seed, step): dropout and subword sampling depend on nothing else but the micro-batch's place.
        device: Where to compute.
        is_bf16: Matrix products in bf16 by autocast.
    """
    model.zero_grad(set_to_none=True)
    batches = [load(rows, seed_of(*seeds, place)) for place, rows in enumerate(plan)]
    n_tokens = sum(batch.n_tokens for batch in batches)
    loss_sum = torch.zeros((), device=device)
    for place, batch in enumerate(batches):
        torch.manual_seed(seed_of(*seeds, place, 1))
        with torch.autocast(device.split(":")[0], dtype=torch.bfloat16) if is_bf16 else nullcontext():
            micro_loss, _ = loss_fn(model, batch.to(device))
        # A mean of means would weight micro-batches wrongly: each divides by the tokens of all.
        (micro_loss / n_tokens).backward()  # type: ignore[no-untyped-call]
        loss_sum += micro_loss.detach()
    norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
    norm = torch.stack([n.float() for n in norms]).norm()
    # The one place of an update that waits for a GPU; batches are counted here, where they were made.
    loss, length = torch.stack([loss_sum, norm]).tolist()
    return Gradients(
        loss_sum=loss,
        n_tokens=n_tokens,
        n_src_tokens=sum(int((batch.src_ids != 0).sum()) for batch in batches),
        norm=length,
    )


@torch.no_grad()
def apply_gradients(model: nn.Module, optimizers: Optimizers, *, norm: float, clip_norm: float) -> None:
    """Clip to clip_norm (0: not at all) and let the optimizers step."""
    if 0 < clip_norm < norm:
        gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, clip_norm / norm)
    for optimizer in optimizers:
        optimizer.step()
