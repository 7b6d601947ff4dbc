"""The fastest micro-batch for this machine, found by trying (`batch_tokens = "auto"`).

A micro-batch is what is computed at a time. What an update learns from is another number, update_tokens, and stays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from yiwen.data.batching import Batch
from yiwen.hardware import Hardware
from yiwen.measured import best_seconds
from yiwen.tasks.loss import LossFn
from yiwen.training.step import ShardPool, try_batch

SMALLEST, LARGEST = 1 << 10, 1 << 15
"""Positions of the smallest and the largest micro-batch tried."""
ENOUGH = 0.97
"""Share of the best rate with which a smaller micro-batch is preferred: it needs less memory."""


def sizes_to_try(update_tokens: int) -> list[int]:
    """Powers of two, growing, up to what one update gathers."""
    sizes = [1 << power for power in range(SMALLEST.bit_length() - 1, LARGEST.bit_length())]
    return [size for size in sizes if size <= update_tokens] or [update_tokens]


def best_size(sizes: list[int], rate: Callable[[int], float]) -> int:
    """The smallest size that is about as fast as any.

    Args:
        sizes: Growing.
        rate: Tokens a second of a size; raises torch.OutOfMemoryError where it does not fit. Not asked for larger
            sizes once two in a row were no faster than a smaller one.

    Returns:
        Of the sizes that fit, one. Where memory ran out, not the last before that: the longest sentences, and the
        state of the optimizer, need room too.
    """
    rates: list[float] = []
    for size in sizes:
        try:
            rates.append(rate(size))
        except torch.OutOfMemoryError:
            if len(rates) > 1:
                rates.pop()
            break
        if len(rates) > 2 and max(rates[-2:]) <= max(rates[:-2]):
            break
    good = [size for size, found in zip(sizes, rates, strict=False) if found >= ENOUGH * max(rates)]
    return good[0] if good else sizes[0]


def tokens_per_second(model: nn.Module, batch: Batch, *, loss_fn: LossFn, hardware: Hardware) -> float:
    """Real target tokens a second of the forward and backward pass of one batch."""
    with ShardPool(hardware) as pool:
        run = partial(try_batch, model, lambda: batch, loss_fn=loss_fn, pool=pool)
        return batch.n_tokens / best_seconds([run], rounds=3, limit=1.0)[0]
