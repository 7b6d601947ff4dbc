"""Where a token stands: four ways to tell the model (section 3.5 of the paper, and three later ones)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """Sines and cosines of Vaswani et al. 2017, section 3.5.

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i+1) = cos of the same.

    Returns:
        The table, (n_positions, d_model), float32.
    """
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def rows(table: Tensor, where: int | Tensor, length: int) -> Tensor:
    """Rows where, where + 1, ... of a table of positions; or, of a packed row, those that `where` lists: (L, ...)."""
    return table[where : where + length] if isinstance(where, int) else F.embedding(where, table)


class SinusoidalPositions(nn.Module):
    """Adds the fixed table of `sinusoids` to embeddings."""

    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)

    def forward(self, x_BLD: Tensor, where: int | Tensor = 0) -> Tensor:
        """Add positions where, where + 1, ... to x, (B, L, D); or those listed, (L,)."""
        return x_BLD + rows(self.table, where, x_BLD.size(1)).to(x_BLD.dtype)


class LearnedPositions(nn.Module):
    """Adds one trained vector per position (Table 3, row E of the paper)."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))  # (max_len, D)

    def forward(self, x_BLD: Tensor, where: int | Tensor = 0) -> Tensor:
        """Add positions where, where + 1, ... to x, (B, L, D); or those listed, (L,)."""
        return x_BLD + rows(self.weight, where, x_BLD.size(1)).to(x_BLD.dtype)


class NoPositions(nn.Module):
    """Leaves embeddings alone, where attention itself knows the order (rotary, ALiBi)."""

    def forward(self, x_BLD: Tensor, where: int | Tensor = 0) -> Tensor:
        """Return x, (B, L, D)."""
        return x_BLD


class RotaryPositions(nn.Module):
    """Turns pairs of query and key values by an angle that grows with the position (Su et al. 2021, section 3.2)."""

    cos: Tensor
    sin: Tensor

    def __init__(self, max_len: int, d_head: int) -> None:
        super().__init__()
        table = sinusoids(max_len, d_head)  # the same frequencies: even columns sine, odd columns cosine
        self.register_buffer("sin", table[:, 0::2].repeat_interleave(2, dim=1), persistent=False)
        self.register_buffer("cos", table[:, 1::2].repeat_interleave(2, dim=1), persistent=False)

    def forward(self, x_BHLK: Tensor, where: int | Tensor = 0) -> Tensor:
        """Turn x, (B, H, L, K), whose rows stand at positions where, where + 1, ...; or at those listed, (L,)."""
        cos_LK, sin_LK = (rows(table, where, x_BHLK.size(2)).to(x_BHLK.dtype) for table in (self.cos, self.sin))
        swapped_BHLK = torch.stack([-x_BHLK[..., 1::2], x_BHLK[..., 0::2]], dim=-1).flatten(-2)
        return x_BHLK * cos_LK + swapped_BHLK * sin_LK


def alibi_slopes(n_heads: int) -> Tensor:
    """One slope a head, (H,): 2^(-8/H), 2^(-16/H), ... (Press et al. 2022, section 3).

    Where H is no power of two, the slopes of the next smaller power come first, then every second slope of the
    next larger one, as in the authors' code.
    """
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    slopes += [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * (n_heads - power), 2)]
    return torch.tensor(slopes, dtype=torch.float32, device="cpu")


def alibi_bias(n_heads: int, n_queries: int, n_keys: int, *, device: torch.device | None = None) -> Tensor:
    """Penalty that grows with distance: -slope x |query position - key position|.

    Args:
        n_heads: H.
        n_queries: Q; queries stand where the last of the keys do.
        n_keys: M; keys stand at 0, 1, ...
        device: Where to put it; None is the default device.

    Returns:
        Additive bias, (1, H, Q, M), float32. Bidirectional attention uses the same distances both ways.
    """
    keys = torch.arange(n_keys, device=device)
    distance_QM = (keys[n_keys - n_queries :, None] - keys).abs().float()
    return -(alibi_slopes(n_heads).to(keys.device)[:, None, None] * distance_QM)[None]
