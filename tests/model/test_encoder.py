"""The encoder by itself: padding, order, gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from yiwen.model.config import ModelConfig
from yiwen.model.encoder import Encoder
from yiwen.model.masks import attention_bias, padding_mask
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]


def test_the_encoder_has_its_own_number_of_layers(make_model: MakeModel) -> None:
    model = make_model(n_encoder_layers=5, n_decoder_layers=2)
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (5, 2)


@pytest.mark.parametrize("n_padding", [1, 5])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_padding_never_changes_the_memory_of_real_tokens(make_model: MakeModel, positions: str, n_padding: int) -> None:
    model = make_model(positions=positions)
    src_ids = torch.randint(4, 31, (3, 7))
    padded = torch.nn.functional.pad(src_ids, (0, n_padding), value=0)
    torch.testing.assert_close(model.encode(padded)[:, :7], model.encode(src_ids), rtol=0, atol=1e-5)


@torch.no_grad()
def test_what_stands_in_padded_rows_never_reaches_real_ones() -> None:
    # The encoder itself, given wild values behind the mask: not even the last bit of a real row may move.
    torch.manual_seed(1)
    encoder = Encoder(ModelConfig(d_model=24, n_heads=6, d_ff=13, n_encoder_layers=2), None).eval()
    mask = padding_mask(torch.tensor([[5, 6, 7, 0, 0]]), pad_id=0)
    bias = attention_bias(mask, torch.float32)
    x = torch.randn(1, 5, 24)
    wild = x.clone()
    wild[:, 3:] = 1e4 * torch.randn(1, 2, 24)
    assert torch.equal(encoder(x, bias)[:, :3], encoder(wild, bias)[:, :3])


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_the_encoder_knows_the_order_of_its_input(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions)
    memory = model.encode(torch.tensor([[5, 6, 7, 8, 3]]))
    swapped = model.encode(torch.tensor([[5, 7, 6, 8, 3]]))
    assert (memory[:, [0, 2, 1, 3, 4]] - swapped).abs().max() > 1e-3


@torch.no_grad()
def test_every_source_position_sees_every_other(make_model: MakeModel) -> None:
    model = make_model()
    memory = model.encode(torch.tensor([[5, 6, 7, 8, 3]]))
    for changed in range(5):
        src_ids = torch.tensor([[5, 6, 7, 8, 3]])
        src_ids[0, changed] = 9
        difference = (model.encode(src_ids) - memory).abs().amax(dim=2)
        assert (difference > 1e-6).all()


@torch.no_grad()
def test_a_pre_norm_memory_is_normalised_by_the_last_norm(make_model: MakeModel) -> None:
    model = make_model(norm_order="pre")
    model.encoder.final_norm.reset_parameters()
    memory = model.encode(torch.randint(4, 31, (3, 7)))
    torch.testing.assert_close(memory.mean(dim=-1), torch.zeros(3, 7), rtol=0, atol=1e-5)
    torch.testing.assert_close(memory.var(dim=-1, unbiased=False), torch.ones(3, 7), rtol=0, atol=1e-4)
