"""Who may look at whom. Masks are boolean, True = may attend; attention itself adds a bias made from them, once."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True at real tokens: (B, L) -> (B, 1, 1, L). Used as the source mask and in cross-attention."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int, device: torch.device) -> Tensor:
    """True where a query may look: at keys up to its own position; queries are the last of the keys.

    Returns:
        (1, 1, Q, M), bool. With Q = M the lower triangle of section 3.2.3 of the paper.
    """
    keys = torch.arange(n_keys, device=device)
    queries = keys[n_keys - n_queries :]
    return (keys[None, :] <= queries[:, None])[None, None]


def target_mask(tgt_ids: Tensor, pad_id: int) -> Tensor:
    """Causal and not padding: (B, T) -> (B, 1, T, T).

    A padded query may look at the real tokens before it: its row is never used, yet must not be empty, or the
    soft-max over nothing would give NaN.
    """
    n = tgt_ids.size(1)
    return padding_mask(tgt_ids, pad_id) & causal_mask(n, n, tgt_ids.device)


def attention_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Zero where the mask allows, very negative where it forbids; the same shape as the mask.

    Half of the smallest number, so that adding a score cannot overflow to minus infinity.
    """
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, torch.finfo(dtype).min / 2)
