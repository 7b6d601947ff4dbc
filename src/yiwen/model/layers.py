"""The small parts of a layer: softmax, feed-forward networks, residual connections, norms (sections 3.1 and 3.3)."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.config import ModelConfig
from yiwen.model.dropout import Dropout
from yiwen.model.linear import Linear

_FAST_WIDTH = 16
"""Narrower rows make PyTorch's softmax on a CPU five times slower: it falls back to one number at a time."""


def softmax(scores: Tensor, *, scale: float = 1.0, bias: Tensor | None = None) -> Tensor:
    """softmax(scale x scores + bias) over the last dimension, computed in float32; rows may be as short as sentences.

    Args:
        scores: (..., M).
        scale: What they are multiplied by.
        bias: Added after scaling; broadcast to scores.
    """
    wide = scores.float() * scale  # in bf16 the gradient alone takes 1.8 ms for 0.1 on a CPU (docs/log.md)
    if bias is not None:
        wide = wide + bias
    width = wide.size(-1)
    if wide.device.type == "cpu" and width < _FAST_WIDTH:
        wide = F.pad(wide, (0, _FAST_WIDTH - width), value=torch.finfo(torch.float32).min)
    return torch.softmax(wide, dim=-1)[..., :width].to(scores.dtype)


class FeedForward(nn.Module):
    """FFN(x) = f(x W1 + b1) W2 + b2, equation 2 of the paper. Parameters: inner (F, D), outer (D, F), biases."""

    def __init__(self, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = Linear(d_model, d_ff)
        self.outer = Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D), each position by itself."""
        if self.activation is F.relu:  # in one piece with the product
            inner_BLF = self.inner(x_BLD, with_relu=True)
        else:
            inner_BLF = self.activation(self.inner(x_BLD))
        return self.outer(inner_BLF)


class GatedFeedForward(nn.Module):
    """SwiGLU: (silu(x Wg) * x W1) W2 (Shazeer 2020). Parameters: gate_inner (2F, D), outer (D, F), biases."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate_inner = Linear(d_model, 2 * d_ff)
        self.outer = Linear(d_ff, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D), each position by itself."""
        gate_BLF, inner_BLF = self.gate_inner(x_BLD).chunk(2, dim=-1)
        return self.outer(F.silu(gate_BLF) * inner_BLF)


class Residual(nn.Module):
    """A sub-layer's output added to its input, in one of two orders."""

    def __init__(self, norm: nn.Module, p: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(p)


class PostNorm(Residual):
    """norm(x + dropout(sublayer(x))): the residual connection of the paper, section 3.1."""

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.norm(self.dropout.add(x_BLD, sublayer(x_BLD)))


class PreNorm(Residual):
    """x + dropout(sublayer(norm(x))): the sum is never normalised, so a last norm follows the stack."""

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.dropout.add(x_BLD, sublayer(self.norm(x_BLD)))


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm` whose output has the type of its input, also under autocast on a GPU; sums are float32."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        if x.device.type == "cpu" or x.dtype == self.weight.dtype:  # a processor takes bf16 with float32 weights
            return super().forward(x)
        with torch.autocast(x.device.type, enabled=False):
            weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
            return F.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm` that computes in the type of its weights; PyTorch's own warns of bf16 beside float32."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return F.rms_norm(x.to(self.weight.dtype), self.normalized_shape, self.weight, self.eps).to(x.dtype)


def build_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm or RMSNorm over D, epsilon 1e-6."""
    norm = LayerNorm if config.norm == "layer" else RMSNorm
    return norm(config.d_model, eps=1e-6)


def build_residual(config: ModelConfig) -> PostNorm | PreNorm:
    """The residual connection around one sub-layer."""
    order = PostNorm if config.norm_order == "post" else PreNorm
    return order(build_norm(config), config.dropout)


def build_final_norm(config: ModelConfig) -> nn.Module:
    """What follows the last layer: a norm after pre-norm layers, nothing after post-norm ones."""
    return build_norm(config) if config.norm_order == "pre" else nn.Identity()


def build_feed_forward(config: ModelConfig) -> nn.Module:
    """The position-wise network with the configured non-linearity."""
    if config.activation == "swiglu":
        return GatedFeedForward(config.d_model, config.d_ff)
    return FeedForward(config.d_model, config.d_ff, F.relu if config.activation == "relu" else F.gelu)
