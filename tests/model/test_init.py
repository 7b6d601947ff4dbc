"""First values of the weights: bounds, deviations, and the same ones from the same seed."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from yiwen.model.attention import CrossAttention, SelfAttention
from yiwen.model.config import ModelConfig
from yiwen.model.layers import GatedFeedForward
from yiwen.model.transformer import Transformer


def fresh(seed: int = 1, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    shape: dict[str, Any] = {"d_model": 60, "n_heads": 6, "d_ff": 91, "n_encoder_layers": 2, "n_decoder_layers": 2}
    return Transformer(ModelConfig(**{**shape, **changes}), src_vocab_size=997, tgt_vocab_size=997)


def assert_xavier(weight: Tensor) -> None:
    """Uniform within sqrt(6 / (fan_in + fan_out)), Glorot and Bengio 2010, equation 16; and it reaches the bound."""
    n_out, n_in = weight.shape
    bound = math.sqrt(6 / (n_in + n_out))
    assert weight.abs().max().item() <= bound
    assert weight.abs().max().item() > 0.98 * bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert weight.mean().item() == pytest.approx(0, abs=0.1 * bound)


@pytest.mark.parametrize("n_kv_heads", [0, 2])
def test_each_projection_has_the_bound_of_its_own_shape(n_kv_heads: int) -> None:
    model = fresh(n_kv_heads=n_kv_heads, activation="swiglu")
    D, d_kv, F = 60, model.config.kv_heads * 10, 91
    n_checked = 0
    for module in model.modules():
        parts: list[Tensor] = []
        match module:
            case SelfAttention():
                parts = [*module.qkv_proj.weight.split([D, d_kv, d_kv]), module.heads.out_proj.weight]
                assert [tuple(part.shape) for part in parts] == [(D, D), (d_kv, D), (d_kv, D), (D, D)]
            case CrossAttention():
                parts = [module.q_proj.weight, *module.kv_proj.weight.split(d_kv), module.heads.out_proj.weight]
                assert [tuple(part.shape) for part in parts] == [(D, D), (d_kv, D), (d_kv, D), (D, D)]
            case GatedFeedForward():
                parts = [*module.gate_inner.weight.split(F), module.outer.weight]
                assert [tuple(part.shape) for part in parts] == [(F, D), (F, D), (D, F)]
        for part in parts:
            assert_xavier(part.detach())
            n_checked += 1
    assert n_checked == 2 * (4 + 3) + 2 * (4 + 4 + 3)


def test_plain_feed_forward_matrices_are_xavier_too() -> None:
    modules = [module for module in fresh().modules() if isinstance(module, nn.Linear)]
    matrices = [module.weight.detach() for module in modules if set(module.weight.shape) == {60, 91}]
    assert len(matrices) == 2 * (2 + 2)
    for matrix in matrices:
        assert_xavier(matrix)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_biases_start_at_zero_and_norms_at_one(norm: str) -> None:
    model = fresh(norm=norm, norm_order="pre")
    vectors = {name: value for name, value in model.named_parameters() if value.dim() == 1}
    assert vectors
    for name, value in vectors.items():
        is_norm = "norm" in name and name.endswith("weight")
        assert torch.equal(value, torch.ones_like(value) if is_norm else torch.zeros_like(value)), name


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_embeddings_have_variance_one_after_scaling(tied: str) -> None:
    model = fresh(tied_embeddings=tied)
    for weight in (model.src_embedding.weight, model.tgt_embedding.weight):
        assert weight.std().item() == pytest.approx(60**-0.5, rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=0.002)
    if tied == "none":
        assert_xavier(model.output_weight.detach())


def test_learned_positions_start_small_and_different_for_each_side() -> None:
    model = fresh(positions="learned")
    src, tgt = model.src_positions.weight, model.tgt_positions.weight
    assert isinstance(src, Tensor)
    assert isinstance(tgt, Tensor)
    for weight in (src, tgt):
        assert weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert not torch.equal(src, tgt)


def test_layers_start_different_from_each_other() -> None:
    model = fresh()
    matrices = [value for value in model.state_dict(keep_vars=False).values() if value.shape == (60, 60)]
    assert len({tuple(matrix[0].tolist()) for matrix in matrices}) == len(matrices) > 0


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    first, same, other = fresh(1), fresh(1), fresh(2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), same.parameters(), strict=True))
    assert not torch.equal(first.tgt_embedding.weight, other.tgt_embedding.weight)


def test_initialising_leaves_no_trace_for_autograd() -> None:
    for parameter in fresh(activation="swiglu").parameters():
        assert parameter.is_leaf
        assert parameter.requires_grad
        assert parameter.grad is None


def test_first_logits_have_variance_about_one() -> None:
    model = fresh(norm_order="pre").eval()
    logits = model.logits(model(torch.randint(4, 997, (3, 7)), torch.randint(4, 997, (3, 5))))
    assert 0.5 < logits.std().item() < 2
