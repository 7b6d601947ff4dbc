"""The small parts of a layer: feed-forward networks, residual connections, dropout (sections 3.1, 3.3, 5.4)."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.config import ModelConfig


def dropout(x: Tensor, p: float) -> Tensor:
    """Set a share `p` of the values to zero and scale the rest up (Srivastava et al. 2014).

    On a CPU, p is rounded to 1/256 and one random byte decides each value: drawn eight at a time from the default
    generator this costs a tenth of `F.dropout`, which there takes longer than the matrix product before it.
    """
    if p == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    n_dropped = min(max(round(p * 256), 1), 255)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    random_bytes = words.view(torch.uint8)[: x.numel()].view(x.shape)
    return x * (random_bytes >= n_dropped).to(x.dtype).mul_(256 / (256 - n_dropped))


class Dropout(nn.Module):
    """`dropout` in training, nothing otherwise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        return f"p={self.p}"


class FeedForward(nn.Module):
    """FFN(x) = f(x W1 + b1) W2 + b2, equation 2 of the paper. Parameters: inner (F, D), outer (D, F), biases."""

    def __init__(self, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D), each position by itself."""
        out: Tensor = self.outer(self.activation(self.inner(x_BLD)))
        return out


class GatedFeedForward(nn.Module):
    """SwiGLU: (silu(x Wg) * x W1) W2 (Shazeer 2020). Parameters: gate_inner (2F, D), outer (D, F), biases."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate_inner = nn.Linear(d_model, 2 * d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D), each position by itself."""
        gate_BLF, inner_BLF = self.gate_inner(x_BLD).chunk(2, dim=-1)
        out: Tensor = self.outer(F.silu(gate_BLF) * inner_BLF)
        return out


class PostNorm(nn.Module):
    """norm(x + dropout(sublayer(x))): the residual connection of the paper, section 3.1."""

    def __init__(self, norm: nn.Module, p: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(p)

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        out: Tensor = self.norm(x_BLD + self.dropout(sublayer(x_BLD)))
        return out


class PreNorm(nn.Module):
    """x + dropout(sublayer(norm(x))): the sum is never normalised, so a last norm follows the stack."""

    def __init__(self, norm: nn.Module, p: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(p)

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        out: Tensor = x_BLD + self.dropout(sublayer(self.norm(x_BLD)))
        return out


def build_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm or RMSNorm over D, epsilon 1e-6."""
    match config.norm:
        case "layer":
            return nn.LayerNorm(config.d_model, eps=1e-6)
        case "rms":
            return nn.RMSNorm(config.d_model, eps=1e-6)


def build_residual(config: ModelConfig) -> PostNorm | PreNorm:
    """The residual connection around one sub-layer."""
    match config.norm_order:
        case "post":
            return PostNorm(build_norm(config), config.dropout)
        case "pre":
            return PreNorm(build_norm(config), config.dropout)


def build_final_norm(config: ModelConfig) -> nn.Module:
    """What follows the last layer: a norm after pre-norm layers, nothing after post-norm ones."""
    return build_norm(config) if config.norm_order == "pre" else nn.Identity()


def build_feed_forward(config: ModelConfig) -> nn.Module:
    """The position-wise network with the configured non-linearity."""
    match config.activation:
        case "relu":
            return FeedForward(config.d_model, config.d_ff, F.relu)
        case "gelu":
            return FeedForward(config.d_model, config.d_ff, F.gelu)
        case "swiglu":
            return GatedFeedForward(config.d_model, config.d_ff)
