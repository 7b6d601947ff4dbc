"""What a caller may have set torch to: another device, or another number type, for tensors of which nobody says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

DEFAULTS = (torch.device("meta"), torch.bfloat16, torch.float64)
"""The device stands for a GPU."""


@contextmanager
def torch_making(default: torch.device | torch.dtype) -> Iterator[None]:
    """Inside of the block torch makes tensors there, or of that type, unless it is told otherwise."""
    if isinstance(default, torch.device):
        with default:
            yield
        return
    usual = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        yield
    finally:
        torch.set_default_dtype(usual)
