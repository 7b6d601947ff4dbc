"""The Transformer: embeddings, encoder, decoder, output (Vaswani et al. 2017, figure 1).

Shapes: B batch, S source length, T target length, D d_model, V vocabulary, W hypotheses a sentence, R = B x W.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.data.batching import Packing
from yiwen.errors import ConfigError, expect
from yiwen.model.attention import Packed
from yiwen.model.cache import DecoderCache
from yiwen.model.config import ModelConfig
from yiwen.model.decoder import Decoder
from yiwen.model.dropout import Dropout
from yiwen.model.encoder import Encoder
from yiwen.model.init import initialise
from yiwen.model.linear import compute_dtype
from yiwen.model.masks import attention_bias, padding_mask, target_mask
from yiwen.model.positions import RotaryPositions, alibi_bias
from yiwen.model.text_encoder import build_positions, embed, self_bias


class Transformer(nn.Module):
    """An encoder-decoder model. `forward` gives decoder states; `logits` turns states into scores.

    Keeping the two apart lets the loss work through the vocabulary in pieces: logits of a whole batch,
    (B, T, V), exist only where a caller asks for them.
    """

    distances: Tensor | None

    def __init__(self, config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int, pad_id: int = 0) -> None:
        """Build the model with freshly drawn weights.

        Args:
            config: Shape and parts.
            src_vocab_size: Source subwords.
            tgt_vocab_size: Target subwords, V.
            pad_id: Id that fills short sequences, in both languages.

        Raises:
            ConfigError: If all embeddings are tied but the vocabularies differ in size, or config is of another kind.
        """
        super().__init__()
        self.config: ModelConfig = expect(config, ModelConfig, "config", "a yiwen.model.config.ModelConfig")
        if config.tied_embeddings == "all" and src_vocab_size != tgt_vocab_size:
            raise ConfigError(
                f"tied_embeddings='all' needs one vocabulary, but source has {src_vocab_size} entries and target "
                f"{tgt_vocab_size}; share the tokenizer or tie 'target'"
            )
        self.pad_id = pad_id
        self.activation_dtype: torch.dtype | None = None  # set where layers compute in another type than the weights
        rotary = RotaryPositions(config.max_len, config.d_head) if config.positions == "rotary" else None
        tied = config.tied_embeddings
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, config.d_model)
        self.src_embedding = self.tgt_embedding if tied == "all" else nn.Embedding(src_vocab_size, config.d_model)
        self.src_positions = build_positions(config)
        self.tgt_positions = build_positions(config)
        self.embedding_dropout = Dropout(config.dropout)
        # ALiBi's penalties for the keys of a newest query, (1, H, 1, max_len): the last t belong to t keys.
        distances = alibi_bias(config.n_heads, 1, config.max_len) if config.positions == "alibi" else None
        self.register_buffer("distances", distances, persistent=False)
        self.encoder = Encoder(config, rotary)
        self.decoder = Decoder(config, rotary)
        self.output_proj = nn.Linear(config.d_model, tgt_vocab_size, bias=False) if tied == "none" else None
        initialise(self, config.d_model)

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, (V, D): its own, or the target embedding (section 3.4)."""
        return self.tgt_embedding.weight if self.output_proj is None else self.output_proj.weight

    def forward(self, src_ids: Tensor, tgt_in: Tensor) -> Tensor:
        """Source (B, S) and target so far (B, T) -> decoder states (B, T, D)."""
        return self.decode(tgt_in, self.encode(src_ids), padding_mask(src_ids, self.pad_id))

    def forward_packed(self, src_ids: Tensor, tgt_in: Tensor, src: Packing, tgt: Packing) -> Tensor:
        """The same for sentences that follow one another in one row, (1, S) and (1, T) -> decoder states (1, T, D).

        For sinusoidal, learned and rotary positions; without dropout of attention weights.
        """
        x_1SD = embed(self, src_ids, self.src_embedding, self.src_positions, src.places)
        memories = self.decoder.project(self.encoder(x_1SD, Packed(src, src)))
        x_1TD = embed(self, tgt_in, self.tgt_embedding, self.tgt_positions, tgt.places)
        return self.decoder(x_1TD, memories, Packed(tgt, tgt, is_causal=True), Packed(tgt, src))

    def encode(self, src_ids: Tensor) -> Tensor:
        """Source ids (B, S), closed by eos -> memory (B, S, D)."""
        x_BSD = embed(self, src_ids, self.src_embedding, self.src_positions)
        bias = self_bias(padding_mask(src_ids, self.pad_id), self.config, compute_dtype(x_BSD))
        return self.encoder(x_BSD, bias)

    def decode(self, tgt_in: Tensor, memory_BSD: Tensor, src_mask: Tensor) -> Tensor:
        """All target positions at once.

        Args:
            tgt_in: Target ids shifted right, starting with bos, (B, T).
            memory_BSD: Output of `encode`.
            src_mask: True at real source tokens, (B, 1, 1, S).

        Returns:
            Decoder states, (B, T, D); row t has seen tgt_in[:, : t + 1] and no later token.
        """
        x_BTD = embed(self, tgt_in, self.tgt_embedding, self.tgt_positions)
        dtype = compute_dtype(x_BTD)
        bias = self_bias(target_mask(tgt_in, self.pad_id), self.config, dtype)
        return self.decoder(x_BTD, self.decoder.project(memory_BSD), bias, attention_bias(src_mask, dtype))

    def logits(self, states: Tensor) -> Tensor:
        """Decoder states (..., D) -> unnormalised scores of the next token (..., V)."""
        return F.linear(states, self.output_weight) if self.output_proj is None else self.output_proj(states)

    def start(self, memory_BSD: Tensor, src_mask: Tensor) -> DecoderCache:
        """The cache before the first step of a search."""
        return DecoderCache.empty(self.decoder.project(memory_BSD), attention_bias(src_mask, memory_BSD.dtype))

    @torch.no_grad()  # the cache is written in place
    def step(self, last_ids: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Decode one more position, without gradients.

        Args:
            last_ids: The newest token of each hypothesis, (R,): bos first.
            cache: What came before; W = R / B hypotheses a sentence.

        Returns:
            Unnormalised scores of the next token, (R, V), and the cache with this position in it.
        """
        position = cache.length
        x_RD = embed(self, last_ids[:, None], self.tgt_embedding, self.tgt_positions, position)[:, 0]
        cache = cache.longer(last_ids.size(0))
        bias = cache.self_bias(self.distances)
        for layer, past_M2RE, memory in zip(self.decoder, cache.layers(), cache.memories, strict=True):
            x_RD = layer.step(x_RD, past_M2RE, position, memory, bias, cache.cross_bias)
        return self.logits(self.decoder.final_norm(x_RD)), cache
