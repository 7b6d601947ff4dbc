"""One optimizer update: gradients summed over micro-batches, divided once by their tokens, clipped, applied.

Out of memory on an accelerator: the micro-batch is cut in two and the update starts again; what still does not fit
then loses its longest row. What was done is returned as the plan that worked, so that resume can repeat it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch, Lengths, Rows, Update
from yiwen.tasks.translate import LossFn
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
    return Gradients(
        loss_sum=loss_sum.item(),
        n_tokens=n_tokens,
        n_src_tokens=sum(int((batch.src_ids != 0).sum()) for batch in batches),
        norm=norm.item(),
    )


@torch.no_grad()
def apply_gradients(model: nn.Module, optimizers: Optimizers, *, norm: float, clip_norm: float) -> None:
    """Clip to clip_norm (0: not at all) and let the optimizers step."""
    if 0 < clip_norm < norm:
        gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, clip_norm / norm)
    for optimizer in optimizers:
        optimizer.step()


def fit_in_memory(
    plan: Update, lengths: Lengths, compute: Callable[[Update], Gradients]
) -> tuple[Gradients, Update, list[int]]:
    """Run `compute`, cutting down what the device has no memory for.

    A micro-batch that does not fit is cut in two once; a half that does not fit loses its longest row, again and
    again. Every try starts the whole update anew, since a failed backward pass leaves half a gradient behind.

    Args:
        plan: Rows of each micro-batch.
        lengths: To know the longest row.
        compute: Computes gradients of a plan; raises torch.OutOfMemoryError.

    Returns:
        The gradients, the plan they belong to, and the rows left out.
    """
    whole = [True] * len(plan)
    left_out: list[int] = []
    while True:
        try:
            return compute(plan), plan, left_out
        except torch.OutOfMemoryError:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        worst = max(range(len(plan)), key=lambda i: _cost(plan[i], lengths))
        rows = plan[worst]
        if whole[worst] and len(rows) > 1:
            plan = [*plan[:worst], rows[::2], rows[1::2], *plan[worst + 1 :]]
            whole = [*whole[:worst], False, False, *whole[worst + 1 :]]
            continue
        longest = int((lengths.src[rows] + lengths.tgt[rows]).argmax())
        left_out.append(int(rows[longest]))
        kept = [i for i in range(len(rows)) if i != longest]
        plan = [*plan[:worst], *([rows[kept]] if kept else []), *plan[worst + 1 :]]
        whole = [*whole[:worst], *([False] if kept else []), *whole[worst + 1 :]]
        if not plan:
            raise torch.OutOfMemoryError("not even one pair of the update fits into memory")


def _cost(rows: Rows, lengths: Lengths) -> int:
    """Padded positions of a micro-batch."""
    return len(rows) * int((lengths.src[rows] + 1).max() + (lengths.tgt[rows] + 1).max())
