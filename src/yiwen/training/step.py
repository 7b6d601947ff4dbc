"""One optimizer update: gradients summed over micro-batches, divided once by their tokens, clipped, applied."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch, Rows, Update
from yiwen.hardware import Hardware
from yiwen.model.dropout import drawing_from
from yiwen.tasks.loss import LossFn
from yiwen.training.graphs import StepGraphs
from yiwen.training.optimizer import Optimizers
from yiwen.training.state import seed_of

T = TypeVar("T")
LossOf = Callable[[Batch], Tensor]
"""batch -> summed loss, (): a task's loss of the model that is trained, in the number type that was chosen."""


class Gradients(NamedTuple):
    """What one update's forward and backward passes gave; the gradients themselves are in the model."""

    loss_sum: float
    """In nats, over n_tokens."""
    n_tokens: int
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
    pool: ShardPool,
    batch_tokens: int = 0,
) -> Gradients:
    """Sum the gradients of all micro-batches, each divided by the tokens of the whole update.

    Args:
        model: In training mode; its gradients are cleared first.
        plan: Rows of each micro-batch.
        load: (rows, seed) -> batch.
        loss_fn: (model, batch) -> (loss_sum, n_tokens).
        seeds: (run seed, step): dropout and subword sampling depend on nothing else but the micro-batch's place.
        pool: Where to compute, and threads that each compute a part of every micro-batch; a pool of one computes it
            whole.
        batch_tokens: What loaded batches are cut to, where they do not have the lengths that the plan was made for; 0:
            they do.
    """
    hardware = pool.hardware
    uses_graphs = hardware.attention == "packed" and hardware.device != "cpu"
    if uses_graphs:
        pool.graphs.clear(model)
    else:
        model.zero_grad(set_to_none=True)
    batches = [load(rows, seed_of(*seeds, place)) for place, rows in enumerate(plan)]
    if batch_tokens:
        batches = [part for batch in batches for part in batch.cut(batch_tokens)]
    n_tokens = sum(batch.n_tokens for batch in batches)
    loss_sum = torch.zeros((), dtype=torch.float32, device=hardware.device)

    def loss_of(batch: Batch) -> Tensor:
        with autocast(hardware):
            return loss_fn(model, batch)[0]

    for place, batch in enumerate(batches):
        seed = seed_of(*seeds, place, 1)
        if pool.n_shards > 1:
            loss_sum += _sharded(model, batch, pool, loss_of, seeds=(*seeds, place, 1), n_tokens=n_tokens)
        elif uses_graphs:
            loss_sum += pool.graphs.add(batch.to(hardware.device), loss_of, seed=seed, n_tokens=n_tokens)
        else:
            torch.manual_seed(seed)  # for a GPU; on a CPU other threads may draw from that generator, or set it back
            with drawing_from(torch.Generator().manual_seed(seed)):
                micro_loss = loss_of(batch.to(hardware.device))
            # A mean of means would weight micro-batches wrongly: each divides by the tokens of all.
            (micro_loss / n_tokens).backward()  # type: ignore[no-untyped-call]
            loss_sum += micro_loss.detach()
    norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
    norm = torch.stack([n.float() for n in norms]).norm()
    # The one place of an update that waits for a GPU; batches are counted here, where they were made.
    loss, length = torch.stack([loss_sum, norm]).tolist()
    return Gradients(loss_sum=loss, n_tokens=n_tokens, norm=length)


def autocast(hardware: Hardware) -> torch.autocast:
    """Matrix products of the block in bf16, where that was chosen."""
    return torch.autocast(torch.device(hardware.device).type, dtype=torch.bfloat16, enabled=hardware.is_bf16)


def try_batch(model: nn.Module, make: Callable[[], Batch], *, loss_fn: LossFn, pool: ShardPool) -> None:
    """The forward and backward pass of one batch that `make` gives, for its time and memory alone."""
    plan = [np.zeros(1, dtype=np.int64)]  # one micro-batch, whose rows nobody looks up
    compute_gradients(model, plan, load=lambda rows, seed: make(), loss_fn=loss_fn, seeds=(0, 0), pool=pool)


class ShardPool:
    """Threads that compute shards of a batch side by side, on a CPU; and what a GPU has recorded of a model.

    Each operation then runs in one thread and nothing waits for anything until the shard is done. Threads inside of
    operations meet thousands of times an update, and spin while they wait: beside other programs that costs most of
    the time.
    """

    def __init__(self, hardware: Hardware) -> None:
        self.hardware, self.n_shards = hardware, hardware.shards
        self.graphs = StepGraphs()
        self._threads = ThreadPoolExecutor(max(1, self.n_shards - 1), thread_name_prefix="shard")

    def run(self, work: Callable[[int], T]) -> list[T]:
        """work(0), work(1), ... side by side; the results in order."""
        others = [self._threads.submit(work, number) for number in range(1, self.n_shards)]
        try:
            return [work(0), *(other.result() for other in others)]
        finally:
            wait(others)  # also after an error: nobody works on when this returns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()


def _sharded(
    model: nn.Module, batch: Batch, pool: ShardPool, loss_of: LossOf, *, seeds: tuple[int, ...], n_tokens: int
) -> Tensor:
    """Add a batch's gradients to the model's, shard by shard in order; gives the summed loss, ()."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def work(number: int) -> tuple[Tensor, Sequence[Tensor | None]]:
        shard = batch.shard(number, pool.n_shards)
        if shard.n_tokens == 0:  # fewer rows than shards
            return torch.zeros((), dtype=torch.float32, device="cpu"), [None] * len(parameters)
        with drawing_from(torch.Generator().manual_seed(seed_of(*seeds, number))):
            loss = loss_of(shard)
        return loss.detach(), torch.autograd.grad(loss / n_tokens, parameters, allow_unused=True)

    loss_sum = torch.zeros((), dtype=torch.float32, device="cpu")
    for loss, gradients in pool.run(work):
        loss_sum += loss
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
    return loss_sum


@torch.no_grad()
def apply_gradients(
    model: nn.Module, optimizers: Optimizers, *, rate: float, norm: float, clip_norm: float, pool: ShardPool
) -> None:
    """Clip to clip_norm (0: not at all) and let the optimizers step, side by side in the threads of the pool.

    Args:
        model: Its gradients are scaled down, in place, where they are too long.
        optimizers: Those of `build_optimizers`.
        rate: The schedule's learning rate of this update.
        norm: Length of the whole gradient.
        clip_norm: Greatest length; 0: no limit.
        pool: Threads.
    """
    if 0 < clip_norm < norm:
        gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, clip_norm / norm)

    def step(number: int) -> None:
        for optimizer in optimizers[number :: pool.n_shards]:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["scale"]
            optimizer.step()

    pool.run(step)
