"""Scaled dot-product attention and its multi-head form (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).

Shapes: B batch, Q query length, M memory length, D d_model, H heads, K d_head; in a search R hypotheses, T positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.dropout import dropout
from yiwen.model.layers import softmax
from yiwen.model.linear import Linear
from yiwen.model.positions import RotaryPositions

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor]
"""(query (B, H, Q, K), key (B, H, M, K), value (B, H, M, K), bias, dropout) -> (B, H, Q, K)."""


class KeyValue(NamedTuple):
    """Keys and values ready for attention, each (B, kv heads, M, K)."""

    key: Tensor
    value: Tensor


def attention_weights(q_BHQK: Tensor, k_BHMK: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)), equation 1 of the paper without its V: (B, H, Q, M), rows sum to 1.

    Args:
        q_BHQK: Queries.
        k_BHMK: Keys.
        bias: Added to the scores; very negative where attention is forbidden. Broadcast to (B, H, Q, M).
    """
    scores_BHQM = q_BHQK @ k_BHMK.transpose(-2, -1)
    return softmax(scores_BHQM, scale=q_BHQK.size(-1) ** -0.5, bias=bias)


def plain_attention(
    q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, bias: Tensor | None = None, dropout_p: float = 0.0
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, equation 1 of the paper: (B, H, Q, K)."""
    return dropout(attention_weights(q_BHQK, k_BHMK, bias), dropout_p) @ v_BHMK


def fused_attention(
    q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, bias: Tensor | None = None, dropout_p: float = 0.0
) -> Tensor:
    """The same through PyTorch's fused kernel, which never stores the (B, H, Q, M) weights."""
    return F.scaled_dot_product_attention(q_BHQK, k_BHMK, v_BHMK, attn_mask=bias, dropout_p=dropout_p)


def split_heads(x_BLD: Tensor, d_head: int) -> Tensor:
    """(B, L, heads x K) -> (B, heads, L, K)."""
    return x_BLD.view(x_BLD.size(0), x_BLD.size(1), -1, d_head).transpose(1, 2)


def merge_heads(x_BHLK: Tensor) -> Tensor:
    """(B, H, L, K) -> (B, L, H x K)."""
    return x_BHLK.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """What self-attention and cross-attention share: attend with each head, join the heads, project."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, dropout: float) -> None:
        super().__init__()
        self.d_head = d_model // n_heads
        self.d_kv = n_kv_heads * self.d_head
        self.n_shared = n_heads // n_kv_heads
        self.dropout = dropout
        self.attend: Attend = plain_attention
        self.out_proj = Linear(d_model, d_model)

    def forward(self, q_BHQK: Tensor, memory: KeyValue, bias: Tensor | None) -> Tensor:
        """Attend from queries to keys and values: (B, Q, D)."""
        k_BHMK, v_BHMK = memory
        if self.n_shared > 1:  # grouped queries: each key head serves n_shared query heads
            k_BHMK = k_BHMK.repeat_interleave(self.n_shared, dim=1)
            v_BHMK = v_BHMK.repeat_interleave(self.n_shared, dim=1)
        out_BHQK = self.attend(q_BHQK, k_BHMK, v_BHMK, bias, self.dropout if self.training else 0.0)
        out: Tensor = self.out_proj(merge_heads(out_BHQK))
        return out


class SelfAttention(nn.Module):
    """Each position looks at its own sequence; queries, keys and values come from one product.

    Parameters: qkv_proj.weight (D + 2 x kv heads x K, D), qkv_proj.bias, heads.out_proj.weight (D, D), .bias (D).
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, dropout: float, rotary: RotaryPositions | None
    ) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(d_model, n_heads, n_kv_heads, dropout)
        self.qkv_proj = Linear(d_model, d_model + 2 * self.heads.d_kv)
        self.rotary = rotary

    def forward(self, x_BQD: Tensor, bias: Tensor | None) -> Tensor:
        """Attend within x, (B, Q, D) -> (B, Q, D); the bias is broadcast to (B, H, Q, Q)."""
        q_BHQK, k_BHQK, v_BHQK = self._project(x_BQD, 0)
        out: Tensor = self.heads(q_BHQK, KeyValue(k_BHQK, v_BHQK), bias)
        return out

    def step(self, x_R1D: Tensor, past_T2RE: Tensor, bias: Tensor | None) -> Tensor:
        """One new position of R sequences attends to itself and to all before it.

        Args:
            x_R1D: The new position.
            past_T2RE: Keys and values of all T positions, E = kv heads x K; those of the last are written here.
            bias: Additive bias, broadcast to (R, H, 1, T).

        Returns:
            The result, (R, 1, D).
        """
        q_RH1K, k_RH1K, v_RH1K = self._project(x_R1D, past_T2RE.size(0) - 1)
        past_T2RHK = past_T2RE.view(*past_T2RE.shape[:3], -1, self.heads.d_head)
        past_T2RHK[-1, 0] = k_RH1K[:, :, 0]
        past_T2RHK[-1, 1] = v_RH1K[:, :, 0]
        keys_RHTK, values_RHTK = past_T2RHK.permute(1, 2, 3, 0, 4)
        out: Tensor = self.heads(q_RH1K, KeyValue(keys_RHTK, values_RHTK), bias)
        return out

    def _project(self, x_BQD: Tensor, offset: int) -> list[Tensor]:
        """Queries (B, H, Q, K), keys and values (B, kv heads, Q, K) of positions offset, offset + 1, ..."""
        heads = self.heads
        parts = self.qkv_proj(x_BQD).split([x_BQD.size(2), heads.d_kv, heads.d_kv], dim=2)
        q_BHQK, k_BHQK, v_BHQK = (split_heads(part, heads.d_head) for part in parts)
        if self.rotary is not None:
            q_BHQK, k_BHQK = self.rotary(q_BHQK, offset), self.rotary(k_BHQK, offset)
        return [q_BHQK, k_BHQK, v_BHQK]


class CrossAttention(nn.Module):
    """Each target position looks at the encoder's output.

    Parameters: q_proj.weight (D, D), kv_proj.weight (2 x kv heads x K, D), heads.out_proj.weight (D, D), and biases.
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(d_model, n_heads, n_kv_heads, dropout)
        self.q_proj = Linear(d_model, d_model)
        self.kv_proj = Linear(d_model, 2 * self.heads.d_kv)

    def project(self, memory_BSD: Tensor) -> KeyValue:
        """Keys and values of the memory, each (B, kv heads, S, K); computed once per sentence."""
        k_BSD, v_BSD = self.kv_proj(memory_BSD).chunk(2, dim=2)
        return KeyValue(split_heads(k_BSD, self.heads.d_head), split_heads(v_BSD, self.heads.d_head))

    def forward(self, x_BQD: Tensor, memory: KeyValue, bias: Tensor | None) -> Tensor:
        """Attend from x, (B, Q, D), to the projected memory: (B, Q, D)."""
        out: Tensor = self.heads(split_heads(self.q_proj(x_BQD), self.heads.d_head), memory, bias)
        return out


def use_attention(model: nn.Module, attend: Attend) -> None:
    """Give every attention in the model the same way to compute equation 1."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attend = attend


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of the last forward pass in the block.

    Yields:
        A dict filled as layers run: module name (e.g. `decoder.layers.0.cross_attention`) -> (B, H, Q, M), float32.
    """
    maps: dict[str, Tensor] = {}
    before: dict[MultiHeadAttention, Attend] = {}

    def recording(name: str) -> Attend:
        def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout_p: float) -> Tensor:
            maps[name] = attention_weights(q, k, bias).detach().float()
            return plain_attention(q, k, v, bias, dropout_p)

        return attend

    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            before[module], module.attend = module.attend, recording(name.removesuffix(".heads"))
    try:
        yield maps
    finally:
        for module, attend in before.items():
            module.attend = attend
