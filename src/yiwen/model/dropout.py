"""Dropout (Srivastava et al. 2014; section 5.4 of the paper), and residual sums with it.

PyTorch's own costs more on a CPU than the matrix product before it: it draws a float for each value, and multiplies.
Here one random byte decides each value, eight are drawn at a time, and dropping a value is one bitwise AND with all
ones or all zeros. Equal states of the default generator give equal results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_INTEGERS: Final = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Those of so many bytes."""


_generator: Final[ContextVar[torch.Generator | None]] = ContextVar("generator", default=None)
"""What dropout draws from in this thread on a CPU; None: PyTorch's default one."""


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let dropout in this thread draw from `generator` instead of PyTorch's default one (on a CPU).

    Threads that train side by side would else take turns at one generator, in an order that nobody can repeat.
    """
    before = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(before)


def dropout(x: Tensor, p: float) -> Tensor:
    """Set a share `p` of the values to zero and scale the rest up; on a CPU p is rounded to 1/256."""
    if p == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return _Dropped.apply(x, _n_dropped(p), None)  # type: ignore[no-untyped-call]


def is_left_out(p: float) -> bool:
    """Whether a whole layer is skipped this time, with probability p (LayerDrop, Fan et al. 2020, section 3).

    Drawn on the CPU whatever the model computes on: nothing has to wait for the answer.
    """
    return p > 0.0 and torch.rand((), generator=_generator.get(), device="cpu").item() < p


class Dropout(nn.Dropout):
    """`dropout` in training, nothing otherwise."""

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return dropout(x, self.p) if self.training else x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y): a residual connection, on a CPU with one pass over the values less than in two steps."""
        p = self.p if self.training else 0.0
        if p == 0.0 or x.device.type != "cpu" or x.dtype != y.dtype:
            return x + dropout(y, p)
        return _Dropped.apply(y, _n_dropped(p), x)  # type: ignore[no-untyped-call]


class _Dropped(torch.autograd.Function):
    """dropout(x), added to `whole` where that is given."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n_dropped: int, whole: Tensor | None) -> Tensor:
        mask = _mask(x, n_dropped)
        ctx.save_for_backward(mask)
        ctx.scale = 256 / (256 - n_dropped)
        kept = _keep(x, mask)
        return kept.mul_(ctx.scale) if whole is None else torch.add(whole, kept, alpha=ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (mask,) = ctx.saved_tensors
        return _keep(grads[0], mask).mul_(ctx.scale), None, grads[0] if ctx.needs_input_grad[2] else None


def _n_dropped(p: float) -> int:
    """Of the 256 values of a byte, those that drop a value."""
    return min(max(round(p * 256), 1), 255)


def _mask(x: Tensor, n_dropped: int) -> Tensor:
    """All ones (-1) where a value stays and 0 where it goes: integers of x's shape and width.

    A byte decides for staying when it is n_dropped or more. Compared in place it becomes 1 or 0, by a kernel seven
    times as fast as the one that gives booleans; and one byte of all ones, made wider, is all ones again.
    """
    words = x.new_empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None, generator=_generator.get())
    is_kept = words.view(torch.uint8)[: x.numel()].view(x.shape).ge_(n_dropped)
    return is_kept.view(torch.int8).neg_().to(_INTEGERS[x.element_size()])


def _keep(x: Tensor, mask: Tensor) -> Tensor:
    return x.contiguous().view(mask.dtype).bitwise_and(mask).view(x.dtype)
