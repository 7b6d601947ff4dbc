"""Attention among packed sentences, one sentence after the other: an independent reference for PyTorch's kernel."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor


def one_by_one(
    q_QHK: Tensor,
    k_MHK: Tensor,
    v_MHK: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    max_q: int,
    max_k: int,
    *,
    window_size: tuple[int, int],
) -> Tensor:
    """`torch.nn.attention.varlen.varlen_attn`, one sentence after the other."""
    assert q_starts.dtype == k_starts.dtype == torch.int32
    assert (q_starts[-1], k_starts[-1]) == (len(q_QHK), len(k_MHK))
    sentences = []
    for (start, end), (k_start, k_end) in zip(
        itertools.pairwise(q_starts.tolist()), itertools.pairwise(k_starts.tolist()), strict=True
    ):
        assert end - start <= max_q
        assert k_end - k_start <= max_k
        q, k, v = (x.transpose(0, 1) for x in (q_QHK[start:end], k_MHK[k_start:k_end], v_MHK[k_start:k_end]))
        is_causal = {(-1, 0): True, (-1, -1): False}[window_size]
        sentences.append(F.scaled_dot_product_attention(q, k, v, is_causal=is_causal).transpose(0, 1))
    return torch.cat(sentences)
