"""Packed products give what linear layers give."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from yiwen.engines.packed import SMALL, PackedLinear, pack, ready
from yiwen.model.config import ModelConfig
from yiwen.model.linear import has_onednn
from yiwen.model.transformer import Transformer

needs_packing = pytest.mark.skipif(not has_onednn(torch.float32), reason="this build of torch has no oneDNN")


@needs_packing
@pytest.mark.parametrize("n_rows", [1, 5, 67, 1009])  # the last is a million multiplications
@pytest.mark.parametrize("with_relu", [False, True])
@pytest.mark.parametrize(("dtype", "margin"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
@torch.no_grad()
def test_a_packed_product_equals_the_linear_layer(
    n_rows: int, with_relu: bool, dtype: torch.dtype, margin: float
) -> None:
    if not has_onednn(dtype):
        pytest.skip("this processor has no products in bf16")
    torch.manual_seed(1)
    linear = nn.Linear(13, 29)
    assert 67 * 3 < SMALL / (13 * 29) < 1009 * 3
    x = torch.randn(n_rows, 3, 13)
    packed = PackedLinear(linear.weight, linear.bias, dtype)(x, with_relu=with_relu)
    expected = linear(x).relu() if with_relu else linear(x)
    assert packed.dtype == dtype
    torch.testing.assert_close(packed.float(), expected, rtol=0, atol=margin)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_is_made_ready_to_infer_packed_where_its_products_can_be(dtype: torch.dtype) -> None:
    config = ModelConfig(d_model=24, n_heads=6, d_ff=13, n_encoder_layers=1, n_decoder_layers=2)
    model = ready(Transformer(config, src_vocab_size=31, tgt_vocab_size=31).train(), device="cpu", dtype=dtype)
    assert not model.training, "nothing is dropped"
    assert isinstance(model.output_proj, PackedLinear) == has_onednn(dtype)
    assert any(isinstance(module, nn.Linear) for module in model.modules()) != has_onednn(dtype)
    assert model.src_embedding.weight.dtype == (torch.float32 if has_onednn(dtype) else dtype)
    assert model(torch.tensor([[7, 8]]), torch.tensor([[9]])).dtype == dtype


@needs_packing
@pytest.mark.parametrize("tied_embeddings", ["all", "target", "none"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
@torch.no_grad()
def test_a_packed_model_computes_what_it_computed(tied_embeddings: str, activation: str) -> None:
    torch.manual_seed(2)
    config = ModelConfig(
        d_model=24, n_heads=6, d_ff=13, n_encoder_layers=1, n_decoder_layers=2, max_len=17,
        tied_embeddings=tied_embeddings, activation=activation,
    )  # fmt: skip
    model = Transformer(config, src_vocab_size=31, tgt_vocab_size=31).eval()
    src_ids, tgt_in = torch.randint(4, 31, (2, 7)), torch.randint(4, 31, (2, 11))
    expected, output_weight = model.logits(model(src_ids, tgt_in)), model.output_weight.clone()
    pack(model, torch.float32)
    torch.testing.assert_close(model.logits(model(src_ids, tgt_in)), expected, rtol=0, atol=1e-5)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert torch.equal(model.output_weight, output_weight)
