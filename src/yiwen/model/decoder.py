"""The decoder: masked self-attention, cross-attention, feed-forward (section 3.1, right half of figure 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from torch import Tensor, nn

from yiwen.model.attention import Bias, CrossAttention, KeyValue, SelfAttention
from yiwen.model.config import ModelConfig
from yiwen.model.dropout import is_left_out
from yiwen.model.layers import build_feed_forward, build_final_norm, build_residual
from yiwen.model.positions import RotaryPositions


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention to the memory, then the position-wise network."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config, rotary)
        self.self_residual = build_residual(config)
        self.cross_attention = CrossAttention(config)
        self.cross_residual = build_residual(config)
        self.feed_forward = build_feed_forward(config)
        self.feed_residual = build_residual(config)

    def forward(self, x_BTD: Tensor, memory: KeyValue, self_bias: Bias, cross_bias: Bias) -> Tensor:
        """All target positions at once: (B, T, D) -> (B, T, D)."""
        x_BTD = self.self_residual(x_BTD, lambda y_BTD: self.self_attention(y_BTD, self_bias))
        x_BTD = self.cross_residual(x_BTD, lambda y_BTD: self.cross_attention(y_BTD, memory, cross_bias))
        return self.feed_residual(x_BTD, self.feed_forward)

    def step(
        self, x_RD: Tensor, past_M2RE: Tensor, position: int, memory: KeyValue, self_bias: Tensor, cross_bias: Tensor
    ) -> Tensor:
        """One new position of R = B x W hypotheses, W of each sentence: (R, D) -> (R, D).

        Args:
            x_RD: The new position.
            past_M2RE: Keys and values (2) of the target, E = kv heads x d_head, where the new position writes its own.
            position: Its place among the M.
            memory: Keys and values of the source as a cache holds them, B rows.
            self_bias: Broadcast to (R x kv heads, H / kv heads, M).
            cross_bias: (B, kv heads, 1, S).
        """
        x_RD = self.self_residual(x_RD, lambda y_RD: self.self_attention.step(y_RD, past_M2RE, position, self_bias))
        x_RD = self.cross_residual(x_RD, lambda y_RD: self.cross_attention.step(y_RD, memory, cross_bias))
        return self.feed_residual(x_RD, self.feed_forward)


class Decoder(nn.Module):
    """The stack of decoder layers."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config, rotary) for _ in range(config.n_decoder_layers))
        self.layer_dropout = config.layer_dropout
        self.final_norm = build_final_norm(config)

    def __iter__(self) -> Iterator[DecoderLayer]:
        """The layers from the first to the last."""
        return (cast(DecoderLayer, layer) for layer in self.layers)

    def project(self, memory_BSD: Tensor) -> tuple[KeyValue, ...]:
        """Each layer's keys and values of the memory."""
        return tuple(layer.cross_attention.project(memory_BSD) for layer in self)

    def forward(self, x_BTD: Tensor, memories: tuple[KeyValue, ...], self_bias: Bias, cross_bias: Bias) -> Tensor:
        """Embedded target (B, T, D) -> decoder states (B, T, D)."""
        for layer, memory in zip(self, memories, strict=True):
            if not (self.training and is_left_out(self.layer_dropout)):
                x_BTD = layer(x_BTD, memory, self_bias, cross_bias)
        return self.final_norm(x_BTD)
