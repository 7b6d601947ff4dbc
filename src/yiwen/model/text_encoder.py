"""The encoder with its embeddings and no decoder: a Transformer's left half, and a model of its own.

Shapes: B batch, L length, S source length, D d_model.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from yiwen.model.config import ModelConfig
from yiwen.model.dropout import Dropout
from yiwen.model.encoder import Encoder
from yiwen.model.init import initialise
from yiwen.model.linear import compute_dtype
from yiwen.model.masks import attention_bias, padding_mask
from yiwen.model.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions, alibi_bias


class TextEncoder(nn.Module):
    """Subword ids to states. Parameters are named as in a Transformer, so that its encoder's weights fit."""

    def __init__(self, config: ModelConfig, vocab_size: int, pad_id: int = 0) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.activation_dtype: torch.dtype | None = None  # set where layers compute in another type than the weights
        rotary = RotaryPositions(config.max_len, config.d_head) if config.positions == "rotary" else None
        self.src_embedding = nn.Embedding(vocab_size, config.d_model)
        self.src_positions = build_positions(config)
        self.embedding_dropout = Dropout(config.dropout)
        self.encoder = Encoder(config, rotary)
        initialise(self, config.d_model)

    def forward(self, src_ids: Tensor) -> Tensor:
        """Ids (B, S), closed by eos -> states (B, S, D) of the last layer, normalised where the model says so."""
        return self.encoder(*self._embedded(src_ids))

    def states(self, src_ids: Tensor, n_layers: int) -> Tensor:
        """States after the first `n_layers` layers, before any last norm: (B, S, D). 0: the embeddings."""
        x_BSD, bias = self._embedded(src_ids)
        for layer in list(self.encoder.layers)[:n_layers]:
            x_BSD = layer(x_BSD, bias)
        return x_BSD

    def _embedded(self, src_ids: Tensor) -> tuple[Tensor, Tensor]:
        """What goes into the first layer: states (B, S, D), and the bias that hides padding."""
        x_BSD = embed(self, src_ids, self.src_embedding, self.src_positions)
        return x_BSD, self_bias(padding_mask(src_ids, self.pad_id), self.config, compute_dtype(x_BSD))


class Embeds(Protocol):
    """What `embed` asks of a model."""

    config: ModelConfig
    activation_dtype: torch.dtype | None
    embedding_dropout: Dropout


def embed(model: Embeds, ids: Tensor, embedding: nn.Embedding, positions: nn.Module, where: int | Tensor = 0) -> Tensor:
    """Embeddings times sqrt(d_model) plus positions, after dropout (sections 3.4, 3.5, 5.4): (B, L, D).

    Args:
        model: Whose settings and dropout count.
        ids: Subwords, (B, L).
        embedding: Of the side that they belong to.
        positions: Of the same side.
        where: Position of the first, or of each, (L,).

    Raises:
        ValueError: If they reach beyond `max_len`.
    """
    config = model.config
    if isinstance(where, int) and (length := where + ids.size(1)) > config.max_len:
        remedy = "split the text, or train with a larger model.max_len"
        raise ValueError(f"a sequence of {length} subwords is longer than max_len={config.max_len}; {remedy}")
    x_BLD = embedding(ids) * math.sqrt(config.d_model)
    # From here to the last layer activations have one type: mixed ones would be converted at every product.
    return model.embedding_dropout(positions(x_BLD, where).to(model.activation_dtype or compute_dtype(x_BLD)))


def self_bias(mask: Tensor, config: ModelConfig, dtype: torch.dtype) -> Tensor:
    """The mask of a self-attention as an additive bias, with ALiBi's distances where they are used."""
    bias = attention_bias(mask, dtype)
    if config.positions == "alibi":
        length = mask.size(-1)
        bias = bias + alibi_bias(config.n_heads, length, length, device=mask.device).to(dtype)
    return bias


def build_positions(config: ModelConfig) -> nn.Module:
    """How the model is told where a token stands."""
    if config.positions in ("rotary", "alibi"):
        return NoPositions()
    kind = SinusoidalPositions if config.positions == "sinusoidal" else LearnedPositions
    return kind(config.max_len, config.d_model)
