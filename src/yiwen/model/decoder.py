"""The decoder: masked self-attention, cross-attention, feed-forward (section 3.1, right half of figure 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from torch import Tensor, nn

from yiwen.model.attention import CrossAttention, KeyValue, SelfAttention
from yiwen.model.config import ModelConfig
from yiwen.model.layers import build_feed_forward, build_final_norm, build_residual
from yiwen.model.positions import RotaryPositions


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention to the memory, then the position-wise network."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(
            config.d_model, config.n_heads, config.kv_heads, config.attention_dropout, rotary
        )
        self.self_residual = build_residual(config)
        self.cross_attention = CrossAttention(config.d_model, config.n_heads, config.kv_heads, config.attention_dropout)
        self.cross_residual = build_residual(config)
        self.feed_forward = build_feed_forward(config)
        self.feed_residual = build_residual(config)

    def forward(self, x_BTD: Tensor, memory: KeyValue, self_bias: Tensor | None, cross_bias: Tensor | None) -> Tensor:
        """All target positions at once: (B, T, D) -> (B, T, D)."""
        x_BTD = self.self_residual(x_BTD, lambda y_BTD: self.self_attention(y_BTD, self_bias))
        x_BTD = self.cross_residual(x_BTD, lambda y_BTD: self.cross_attention(y_BTD, memory, cross_bias))
        x_BTD = self.feed_residual(x_BTD, self.feed_forward)
        return x_BTD

    def step(
        self,
        x_R1D: Tensor,
        past_T2RE: Tensor,
        memory: KeyValue,
        self_bias: Tensor | None,
        cross_bias: Tensor | None,
    ) -> Tensor:
        """One new position of R = B x W hypotheses, W of each sentence: (R, 1, D) -> (R, 1, D).

        The W hypotheses of a sentence attend to its one memory as W queries, so the memory is never copied.

        Args:
            x_R1D: The new position.
            past_T2RE: Keys and values of the target up to the new position, which are written here.
            memory: Projected memory, B rows.
            self_bias: Broadcast to (R, H, 1, T).
            cross_bias: Broadcast to (B, H, W, S).
        """
        n_sentences = memory.key.size(0)

        def attend_memory(y_R1D: Tensor) -> Tensor:
            out_BWD: Tensor = self.cross_attention(y_R1D.view(n_sentences, -1, y_R1D.size(2)), memory, cross_bias)
            return out_BWD.view(y_R1D.shape)

        x_R1D = self.self_residual(x_R1D, lambda y_R1D: self.self_attention.step(y_R1D, past_T2RE, self_bias))
        x_R1D = self.cross_residual(x_R1D, attend_memory)
        x_R1D = self.feed_residual(x_R1D, self.feed_forward)
        return x_R1D


class Decoder(nn.Module):
    """The stack of decoder layers."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config, rotary) for _ in range(config.n_decoder_layers))
        self.final_norm = build_final_norm(config)

    def __iter__(self) -> Iterator[DecoderLayer]:
        """The layers from the first to the last."""
        return (cast(DecoderLayer, layer) for layer in self.layers)

    def project(self, memory_BSD: Tensor) -> tuple[KeyValue, ...]:
        """Each layer's keys and values of the memory."""
        return tuple(layer.cross_attention.project(memory_BSD) for layer in self)

    def forward(
        self, x_BTD: Tensor, memories: tuple[KeyValue, ...], self_bias: Tensor | None, cross_bias: Tensor | None
    ) -> Tensor:
        """Embedded target (B, T, D) -> decoder states (B, T, D)."""
        for layer, memory in zip(self, memories, strict=True):
            x_BTD = layer(x_BTD, memory, self_bias, cross_bias)
        states_BTD: Tensor = self.final_norm(x_BTD)
        return states_BTD
