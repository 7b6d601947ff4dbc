"""Who may look at whom. Masks are boolean, True = may attend; attention itself adds a bias made from them, once."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True at real tokens: (B, L) -> (B, 1, 1, L). Used as the source mask and in cross-attention."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n: int, device: torch.device) -> Tensor:
    """True where a position may look, at itself and those before it: (1, 1, T, T), section 3.2.3 of the paper."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]


def target_mask(tgt_ids: Tensor, pad_id: int) -> Tensor:
    """Causal and not padding: (B, T) -> (B, 1, T, T).

    A padded query looks at the real tokens before it: its row is never used.
    """
    return padding_mask(tgt_ids, pad_id) & causal_mask(tgt_ids.size(1), tgt_ids.device)


def attention_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Zero where the mask allows, very negative where it forbids; the same shape as the mask.

    Half of the smallest number, so that adding a score cannot overflow to minus infinity.
    """
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, torch.finfo(dtype).min / 2)
