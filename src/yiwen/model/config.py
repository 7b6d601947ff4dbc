"""The shape of a model: every choice that the weights depend on. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from yiwen.config import BELOW_1, check_bounds
from yiwen.errors import ConfigError

LARGEST: Final = 2**20
"""A width, a length or a number of layers above it is a slip of the keyboard."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """An encoder-decoder Transformer; the defaults are the base model of Vaswani et al. 2017, Table 3."""

    preset: Literal["tiny", "small", "base", "big", "tiny-fast", "base-fast"] | None = None
    """Named shape that supplies the settings not given here; in Python use `ModelConfig(**PRESETS["small"])`. If
    `--set` changes it, settings that only repeat the old preset's give way to the new one's."""
    d_model: int = 512
    """Width of embeddings and layers."""
    n_heads: int = 8
    """Attention heads; each is d_model / n_heads wide."""
    n_kv_heads: int = 0
    """Heads of keys and values, each shared by n_heads / n_kv_heads query heads (Ainslie et al. 2023); 0: n_heads."""
    d_ff: int = 2048
    """Inner width of the position-wise feed-forward network."""
    n_encoder_layers: int = 6
    """Layers of the encoder."""
    n_decoder_layers: int = 6
    """Layers of the decoder; fewer than in the encoder makes translating faster."""
    dropout: float = 0.1
    """Share of values set to zero after embeddings and sub-layers (section 5.4); on a CPU rounded to 1/256."""
    attention_dropout: float = 0.0
    """Share of attention weights set to zero in training; on a CPU rounded to 1/256."""
    layer_dropout: float = 0.0
    """Share of whole layers left out in training, drawn anew for each batch (LayerDrop, Fan et al. 2020)."""
    norm_order: Literal["post", "pre"] = "post"
    """Normalise after each residual sum (the paper) or before each sub-layer (steadier; Xiong et al. 2020)."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019)."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Non-linearity of the feed-forward network; swiglu adds a gate (Shazeer 2020)."""
    positions: Literal["sinusoidal", "learned", "rotary", "alibi"] = "sinusoidal"
    """How the model knows order: section 3.5; Su et al. 2021 (rotary); Press et al. 2022 (alibi)."""
    tied_embeddings: Literal["all", "target", "none"] = "all"
    """Share one matrix between source, target and output; target and output; or nothing (Press and Wolf 2017)."""
    max_len: int = 1024
    """Longest sequence in subwords that the model has positions for."""

    def __post_init__(self) -> None:
        sizes = "d_model n_heads d_ff n_encoder_layers n_decoder_layers max_len"
        shares = "dropout attention_dropout layer_dropout"
        remedy = "0 or more and less than 1"
        check_bounds("model.", self, (shares, 0, BELOW_1, remedy), (sizes, 1, LARGEST, f"1 to {LARGEST}"))
        if self.d_model % self.n_heads:
            divisors = [n for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            nearest = min(divisors, key=lambda n: abs(n - self.n_heads))
            why = f"model.d_model={self.d_model} is not divisible by model.n_heads={self.n_heads}"
            raise ConfigError(f"{why}; try n_heads={nearest}")
        if self.n_kv_heads < 0 or self.n_heads % self.kv_heads:
            why = f"model.n_heads={self.n_heads} is not divisible by model.n_kv_heads={self.n_kv_heads}"
            raise ConfigError(f"{why}; use a divisor of n_heads, or 0 for as many")
        widths = {"sinusoidal": self.d_model, "rotary": self.d_head}
        if widths.get(self.positions, 0) % 2:
            why = f"needs an even width, but d_model={self.d_model} and d_head={self.d_head}"
            raise ConfigError(f"model.positions={self.positions!r} {why}; make it even or use 'learned'")

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_kv_heads or self.n_heads


@dataclass(frozen=True, kw_only=True)
class AlignmentHead:
    """The cross-attention of a model that tells best which source words a target word was made from."""

    layer: int
    """Decoder layer, from 0."""
    head: int | None = None
    """Head of that layer, from 0; None: the mean of all."""
    is_late: bool = False
    """The attention of a target word is that of the step after it, which reads it, not of the step that chooses it
    (Chen et al. 2020)."""

    @classmethod
    def usual(cls, config: ModelConfig) -> AlignmentHead:
        """Where nobody has looked for it: all heads of the last layer but one (Garg et al. 2019, section 4.1)."""
        return cls(layer=max(0, config.n_decoder_layers - 2))


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "tiny": {"d_model": 128, "n_heads": 4, "d_ff": 256, "n_encoder_layers": 4, "n_decoder_layers": 4},
    "small": {"d_model": 256, "n_heads": 4, "d_ff": 1024, "n_encoder_layers": 3, "n_decoder_layers": 3},
    "base": {"d_model": 512, "n_heads": 8, "d_ff": 2048, "n_encoder_layers": 6, "n_decoder_layers": 6},
    "big": {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_encoder_layers": 6, "n_decoder_layers": 6, "dropout": 0.3},
    "tiny-fast": {"d_model": 128, "n_heads": 4, "d_ff": 256, "n_encoder_layers": 6, "n_decoder_layers": 1},
    "base-fast": {"d_model": 512, "n_heads": 8, "d_ff": 2048, "n_encoder_layers": 12, "n_decoder_layers": 1},
}
"""Shapes by name; `base` and `big` are rows of Table 3 in the paper. The fast ones translate faster at about the same
size, for students above all (`yiwen distil`): the encoder runs once a sentence, the decoder once a subword, so the
layers stand in the encoder ("Deep Encoder, Shallow Decoder", Kasai et al. 2021; 12 + 1 is theirs)."""
