"""A small model for every test of this folder, with every axis of another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]


@pytest.fixture
def make_model() -> MakeModel:
    """Build a model in evaluation mode whose biases and norms are not at their neutral first values.

    d_model 24, 6 heads of 4, d_ff 13, 2 encoder and 3 decoder layers, 31 shared subwords, at most 17 positions.
    """

    def make(*, src_vocab_size: int = 31, tgt_vocab_size: int = 31, seed: int = 1, **changes: Any) -> Transformer:
        torch.manual_seed(seed)
        shape = {"d_model": 24, "n_heads": 6, "d_ff": 13, "n_encoder_layers": 2, "n_decoder_layers": 3, "max_len": 17}
        config = ModelConfig(**{**shape, **changes})
        model = Transformer(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size, pad_id=0)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(0.2 * torch.randn_like(parameter))
        return model.eval()

    return make
