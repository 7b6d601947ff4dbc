"""Scaled dot-product attention and its multi-head form (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).

Shapes: B batch, Q query length, M memory length, D d_model, H heads, K d_head; in a search R hypotheses, T positions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.data.batching import Packing
from yiwen.model.config import ModelConfig
from yiwen.model.dropout import dropout
from yiwen.model.layers import softmax
from yiwen.model.linear import Linear
from yiwen.model.positions import RotaryPositions

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor]
"""(query (B, H, Q, K), key (B, H, M, K), value (B, H, M, K), bias, dropout) -> (B, H, Q, K)."""


class Packed(NamedTuple):
    """Stands where a bias stands, B being 1: the queries of each sentence look at the keys of the same number."""

    queries: Packing
    keys: Packing
    is_causal: bool = False


Bias = Tensor | Packed | None
"""Who looks at whom: numbers that are added to the scores, or sentences packed side by side."""


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
    """The same through PyTorch's fused kernel, which never stores the (B, H, Q, M) weights.

    On a CPU it drops weights by random numbers that all threads share, and that no update could repeat: not there.
    """
    if dropout_p > 0 and q_BHQK.device.type == "cpu":
        return plain_attention(q_BHQK, k_BHMK, v_BHMK, bias, dropout_p)
    return F.scaled_dot_product_attention(q_BHQK, k_BHMK, v_BHMK, attn_mask=bias, dropout_p=dropout_p)


def packed_attention(q_1HQK: Tensor, k_1HMK: Tensor, v_1HMK: Tensor, packed: Packed) -> Tensor:
    """The same within each sentence of a row of Q queries and M keys: (1, H, Q, K). On a GPU, in bf16."""
    from torch.nn.attention.varlen import varlen_attn  # brings torch's compiler: as long as all else of torch to import

    q_QHK, k_MHK, v_MHK = (x[0].transpose(0, 1) for x in (q_1HQK, k_1HMK, v_1HMK))
    sentences = packed.queries.starts, packed.keys.starts, packed.queries.longest, packed.keys.longest
    window = (-1, 0) if packed.is_causal else (-1, -1)  # how far it may look back and ahead, -1: without an end
    out_QHK = varlen_attn(q_QHK, k_MHK, v_MHK, *sentences, window_size=window)
    return cast(Tensor, out_QHK).transpose(0, 1)[None]


def attend_step(q_NGK: Tensor, k_NKM: Tensor, v_NMK: Tensor, bias: Tensor) -> Tensor:
    """Equation 1 for the G queries a key head of one decoding step, N = rows x key heads: (N, G, K).

    For so few queries plain products win. M has to be 16 or more on a CPU: there PyTorch computes smaller products and
    narrower softmaxes one number at a time, and takes three times as long for 8 keys as for 16.
    """
    weights_NGM = torch.baddbmm(bias, q_NGK, k_NKM, alpha=q_NGK.size(-1) ** -0.5).softmax(dim=-1)
    return torch.bmm(weights_NGM, v_NMK)


def split_heads(x_BLD: Tensor, d_head: int) -> Tensor:
    """(B, L, heads x K) -> (B, heads, L, K)."""
    return x_BLD.view(x_BLD.size(0), x_BLD.size(1), -1, d_head).transpose(1, 2)


def merge_heads(x_BHLK: Tensor) -> Tensor:
    """(B, H, L, K) -> (B, L, H x K)."""
    return x_BHLK.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """What self-attention and cross-attention share: attend with each head, join the heads, project."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head = config.d_head
        self.d_kv = config.kv_heads * config.d_head
        self.n_shared = config.n_heads // config.kv_heads
        self.qkv_heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.dropout = config.attention_dropout
        self.attend: Attend = plain_attention
        self.out_proj = Linear(config.d_model, config.d_model)

    def forward(self, q_BHQK: Tensor, memory: KeyValue, bias: Bias) -> Tensor:
        """Attend from queries to keys and values: (B, Q, D)."""
        k_BHMK, v_BHMK = memory
        if self.n_shared > 1:  # grouped queries: each key head serves n_shared query heads
            k_BHMK = k_BHMK.repeat_interleave(self.n_shared, dim=1)
            v_BHMK = v_BHMK.repeat_interleave(self.n_shared, dim=1)
        if isinstance(bias, Packed):
            out_BHQK = packed_attention(q_BHQK, k_BHMK, v_BHMK, bias)
        else:
            out_BHQK = self.attend(q_BHQK, k_BHMK, v_BHMK, bias, self.dropout if self.training else 0.0)
        return self.out_proj(merge_heads(out_BHQK))


class SelfAttention(nn.Module):
    """Each position looks at its own sequence; queries, keys and values come from one product.

    Parameters: qkv_proj.weight (D + 2 x kv heads x K, D), qkv_proj.bias, heads.out_proj.weight (D, D), .bias (D).
    """

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(config)
        self.qkv_proj = Linear(config.d_model, config.d_model + 2 * self.heads.d_kv)
        self.rotary = rotary

    def forward(self, x_BQD: Tensor, bias: Bias) -> Tensor:
        """Attend within x, (B, Q, D) -> (B, Q, D); the bias is broadcast to (B, H, Q, Q)."""
        heads = self.heads
        # Cut between heads, not before there are any: joining the three gradients then copies them once, not twice.
        parts_BQHK = self.qkv_proj(x_BQD).unflatten(2, (-1, heads.d_head)).split(heads.qkv_heads, dim=2)
        q_BHQK, k_BHQK, v_BHQK = (part.transpose(1, 2) for part in parts_BQHK)
        if self.rotary is not None:
            where = bias.queries.places if isinstance(bias, Packed) else 0
            q_BHQK, k_BHQK = self.rotary(q_BHQK, where), self.rotary(k_BHQK, where)
        return heads(q_BHQK, KeyValue(k_BHQK, v_BHQK), bias)

    def step(self, x_RD: Tensor, past_M2RE: Tensor, position: int, bias: Tensor) -> Tensor:
        """One new position of R sequences attends to itself and to all before it.

        Args:
            x_RD: The new position.
            past_M2RE: Keys and values, E = kv heads x K; those of the new position are written here.
            position: Where the new one stands among the M; what lies behind it is room.
            bias: Added to the scores, broadcast to (R x kv heads, H / kv heads, M); it forbids the room.

        Returns:
            The result, (R, D).
        """
        d_head, d_kv = self.heads.d_head, self.heads.d_kv
        q_RD, k_RE, v_RE = self.qkv_proj(x_RD).split([x_RD.size(1), d_kv, d_kv], dim=1)
        if self.rotary is not None:
            q_RD, k_RE = (self.rotary(part.unflatten(1, (-1, 1, d_head)), position).flatten(1) for part in (q_RD, k_RE))
        past_M2RE[position, 0] = k_RE
        past_M2RE[position, 1] = v_RE
        k_MNK, v_MNK = past_M2RE.view(past_M2RE.size(0), 2, -1, d_head).unbind(1)  # N = R x kv heads
        q_NGK = q_RD.to(past_M2RE.dtype).reshape(k_MNK.size(1), -1, d_head)
        out_NGK = attend_step(q_NGK, k_MNK.permute(1, 2, 0), v_MNK.transpose(0, 1), bias)
        return self.heads.out_proj(out_NGK.view(x_RD.shape).to(x_RD.dtype))


class CrossAttention(nn.Module):
    """Each target position looks at the encoder's output.

    Parameters: q_proj.weight (D, D), kv_proj.weight (2 x kv heads x K, D), heads.out_proj.weight (D, D), and biases.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(config)
        self.q_proj = Linear(config.d_model, config.d_model)
        self.kv_proj = Linear(config.d_model, 2 * self.heads.d_kv)

    def project(self, memory_BSD: Tensor) -> KeyValue:
        """Keys and values of the memory, each (B, kv heads, S, K); computed once per sentence."""
        parts_BSHK = self.kv_proj(memory_BSD).unflatten(2, (-1, self.heads.d_head)).chunk(2, dim=2)
        return KeyValue(*(part.transpose(1, 2) for part in parts_BSHK))

    def forward(self, x_BQD: Tensor, memory: KeyValue, bias: Bias) -> Tensor:
        """Attend from x, (B, Q, D), to the projected memory: (B, Q, D)."""
        return self.heads(split_heads(self.q_proj(x_BQD), self.heads.d_head), memory, bias)

    def step(self, x_RD: Tensor, memory: KeyValue, bias: Tensor) -> Tensor:
        """One new position of R = B x W sequences; the W of a sentence attend to its one memory.

        Args:
            x_RD: The new position.
            memory: Keys turned, (B, kv heads, K, S), and values (B, kv heads, S, K).
            bias: Added to the scores, (B, kv heads, 1, S).

        Returns:
            The result, (R, D).
        """
        k_BNKS, v_BNSK = memory
        B, N, K, _ = k_BNKS.shape
        # Group by sentence and key head: its queries are those of G heads and W hypotheses.
        q_BNGWK = self.q_proj(x_RD).view(B, -1, N, x_RD.size(1) // (N * K), K).permute(0, 2, 3, 1, 4)
        q_NXK = q_BNGWK.to(k_BNKS.dtype, memory_format=torch.contiguous_format).reshape(B * N, -1, K)
        out_NXK = attend_step(q_NXK, k_BNKS.flatten(0, 1), v_BNSK.flatten(0, 1), bias.flatten(0, 1))
        out_RD = out_NXK.view(q_BNGWK.shape).permute(0, 3, 1, 2, 4).reshape(x_RD.shape)
        return self.heads.out_proj(out_RD.to(x_RD.dtype))


def use_attention(model: nn.Module, attend: Attend) -> None:
    """Give every attention in the model the same way to compute equation 1."""
    # Of PyTorch's kernels the one of cuDNN plans anew for every shape, a tenth of a second each: not for sentences.
    torch.backends.cuda.enable_cudnn_sdp(False)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attend = attend


@contextmanager
def attending(ways: Mapping[MultiHeadAttention, Attend]) -> Iterator[None]:
    """Let modules compute equation 1 each in its own way, as long as the block lasts."""
    before = {module: module.attend for module in ways}
    for module, attend in ways.items():
        module.attend = attend
    try:
        yield
    finally:
        for module, attend in before.items():
            module.attend = attend


@contextmanager
def recorded_attention(model: nn.Module, *, only: str = "") -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of the last forward pass in the block, of those in this thread.

    Args:
        model: What passes.
        only: The one module whose weights are wanted; empty for all.

    Yields:
        A dict filled as layers run: module name (e.g. `decoder.layers.0.cross_attention`) -> (B, H, Q, M), float32.
    """
    maps: dict[str, Tensor] = {}
    recorder = threading.get_ident()

    def attend(name: str, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout_p: float) -> Tensor:
        if threading.get_ident() == recorder:
            maps[name] = attention_weights(q, k, bias).detach().float()
        return plain_attention(q, k, v, bias, dropout_p)

    named = ((name.removesuffix(".heads"), m) for name, m in model.named_modules() if isinstance(m, MultiHeadAttention))
    with attending({module: partial(attend, name) for name, module in named if only in ("", name)}):
        yield maps
