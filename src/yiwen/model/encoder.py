"""The encoder: a stack of self-attention and feed-forward layers (section 3.1 of the paper, left half of figure 1)."""

from __future__ import annotations

from torch import Tensor, nn

from yiwen.model.attention import Bias, SelfAttention
from yiwen.model.config import ModelConfig
from yiwen.model.dropout import is_left_out
from yiwen.model.layers import build_feed_forward, build_final_norm, build_residual
from yiwen.model.positions import RotaryPositions


class EncoderLayer(nn.Module):
    """Self-attention, then the position-wise network, each inside a residual connection."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config, rotary)
        self.self_residual = build_residual(config)
        self.feed_forward = build_feed_forward(config)
        self.feed_residual = build_residual(config)

    def forward(self, x_BSD: Tensor, bias: Bias) -> Tensor:
        """(B, S, D) -> (B, S, D); bias is broadcast to (B, H, S, S)."""
        x_BSD = self.self_residual(x_BSD, lambda y_BSD: self.self_attention(y_BSD, bias))
        return self.feed_residual(x_BSD, self.feed_forward)


class Encoder(nn.Module):
    """The stack of encoder layers."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config, rotary) for _ in range(config.n_encoder_layers))
        self.layer_dropout = config.layer_dropout
        self.final_norm = build_final_norm(config)

    def forward(self, x_BSD: Tensor, bias: Bias) -> Tensor:
        """Embedded source (B, S, D) -> memory (B, S, D)."""
        for layer in self.layers:
            if not (self.training and is_left_out(self.layer_dropout)):
                x_BSD = layer(x_BSD, bias)
        return self.final_norm(x_BSD)
