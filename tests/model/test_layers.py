"""The small parts of a layer, against their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.config import ModelConfig
from yiwen.model.dropout import Dropout, dropout
from yiwen.model.layers import (
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    PostNorm,
    PreNorm,
    RMSNorm,
    build_feed_forward,
    build_final_norm,
    build_norm,
    build_residual,
)

SHAPE = {"d_model": 24, "n_heads": 6, "d_ff": 13}


@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
def test_dropout_drops_its_share_rounded_to_a_256th_and_keeps_the_mean(p: float) -> None:
    torch.manual_seed(1)
    n = 1_000_003  # no multiple of the eight bytes of a word
    dropped = dropout(torch.ones(n), p)
    rate = round(p * 256) / 256
    assert sorted(dropped.unique().tolist()) == pytest.approx([0, 1 / (1 - rate)])
    deviation = math.sqrt(rate * (1 - rate) / n)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=4 * deviation)
    assert dropped.mean().item() == pytest.approx(1.0, abs=4 * deviation / (1 - rate))


def test_every_byte_of_a_random_word_is_as_likely_to_drop() -> None:
    torch.manual_seed(1)
    dropped = (dropout(torch.ones(20_000, 8), 0.3) == 0).float()
    shares = dropped.mean(dim=0)
    assert shares.tolist() == pytest.approx([77 / 256] * 8, abs=0.015)
    # Neighbours are independent: no pattern inside a word.
    covariance = torch.cov(dropped.T)
    assert (covariance - torch.diag(covariance.diag())).abs().max() < 0.01


@pytest.mark.parametrize(("p", "rate"), [(0.0001, 1 / 256), (0.9999, 255 / 256)])
def test_a_share_near_zero_or_one_is_rounded_to_what_a_byte_can_say(p: float, rate: float) -> None:
    torch.manual_seed(1)
    dropped = dropout(torch.ones(100_003), p)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.002)
    assert dropped.max().item() == pytest.approx(1 / (1 - rate))


def test_gradients_in_float64_are_those_of_the_values() -> None:
    layer, x = Dropout(0.25).train(), torch.randn(7, 8, dtype=torch.float64, requires_grad=True)

    def same_draws(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return layer.add(x, x * x)

    assert torch.autograd.gradcheck(same_draws, (x,))


def test_no_dropout_is_the_identity_and_draws_nothing() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    x = torch.ones(7)
    assert dropout(x, 0.0) is x
    assert Dropout(0.3).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_is_reproducible_from_the_default_generator() -> None:
    x = torch.randn(5, 7, 11)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(dropout(x, 0.3))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
    assert not torch.equal(dropout(x, 0.3), dropout(x, 0.3))


def test_the_gradient_passes_where_the_value_passed() -> None:
    x = torch.randn(5, 7, requires_grad=True)
    out = dropout(x, 0.5)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, (out != 0).float() * 2)


def test_a_second_derivative_through_dropout_is_refused() -> None:
    x = torch.randn(5, 7, requires_grad=True)
    (grad,) = torch.autograd.grad((dropout(x, 0.5) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_keeps_shape_and_type_for_any_number_of_values(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    dropped = dropout(torch.ones(shape, dtype=dtype), 0.3)
    assert dropped.shape == shape
    assert dropped.dtype == dtype


def test_dropout_takes_a_view_that_is_not_contiguous() -> None:
    x = torch.arange(1.0, 36.0).view(5, 7).t()
    dropped = dropout(x, 0.5)
    assert torch.equal(dropped, torch.where(dropped == 0, 0, 2 * x))


def test_feed_forward_is_equation_2_position_by_position() -> None:
    torch.manual_seed(1)
    network = FeedForward(5, 7, F.relu)
    x = torch.randn(2, 3, 5)
    W1, b1, W2, b2 = (parameter.detach() for parameter in network.parameters())
    expected = torch.maximum(torch.tensor(0.0), x[1, 2] @ W1.T + b1) @ W2.T + b2
    torch.testing.assert_close(network(x)[1, 2], expected)
    torch.testing.assert_close(network(x)[1, 2], network(x[1:, 2:])[0, 0])


def test_swiglu_gates_one_half_with_the_other() -> None:
    torch.manual_seed(1)
    network = GatedFeedForward(5, 7)
    x = torch.randn(2, 3, 5)
    gate = x @ network.gate_inner.weight[:7].T + network.gate_inner.bias[:7]
    inner = x @ network.gate_inner.weight[7:].T + network.gate_inner.bias[7:]
    expected = (gate * torch.sigmoid(gate) * inner) @ network.outer.weight.T + network.outer.bias
    torch.testing.assert_close(network(x), expected)


def double(x: Tensor) -> Tensor:
    return 2 * x


def test_post_norm_normalises_the_sum_and_pre_norm_the_input() -> None:
    x = torch.tensor([[[1.0, 3.0]]])
    norm = nn.LayerNorm(2, eps=0.0)  # turns two numbers into -1 and 1
    assert PostNorm(norm, 0.0)(x, double).flatten().tolist() == pytest.approx([-1, 1])
    assert PreNorm(norm, 0.0)(x, double).flatten().tolist() == pytest.approx([1 - 2, 3 + 2])


@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_dropout_acts_on_the_sublayer_never_on_the_residual(residual: Callable[[nn.Module, float], nn.Module]) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 3, 5) + 10
    part = residual(nn.Identity(), 0.5)
    ratios = ((part(x, double) - x) / x).round(decimals=4)
    assert set(ratios.flatten().tolist()) == {0.0, 4.0}
    part.eval()
    torch.testing.assert_close(part(x, double), 3 * x)


def test_layer_norm_and_rms_norm_are_their_formulas() -> None:
    x = torch.randn(2, 3, 24) * 5 + 3
    layer, rms = build_norm(ModelConfig(**SHAPE)), build_norm(ModelConfig(**SHAPE, norm="rms"))
    centred = x - x.mean(dim=-1, keepdim=True)
    torch.testing.assert_close(layer(x), centred / (centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6).sqrt())
    torch.testing.assert_close(rms(x), x / (x.pow(2).mean(dim=-1, keepdim=True) + 1e-6).sqrt())


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_a_norm_keeps_the_type_of_its_input(kind: type[LayerNorm | RMSNorm], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor, which takes float32 weights beside bf16, and elsewhere; without a warning of PyTorch's."""
    monkeypatch.setattr(torch, "autocast", lambda device, **_: nullcontext())  # it does not know "meta"
    for device in ("cpu", "meta"):
        norm = kind(24, eps=1e-6).to(device)
        for dtype in (torch.float32, torch.bfloat16):
            assert norm(torch.zeros(2, 24, dtype=dtype, device=device)).dtype == dtype


def test_builders_choose_the_configured_part() -> None:
    post, pre = ModelConfig(**SHAPE), ModelConfig(**SHAPE, norm_order="pre", norm="rms", activation="swiglu")
    assert isinstance(build_norm(post), nn.LayerNorm)
    assert isinstance(build_norm(pre), nn.RMSNorm)
    assert isinstance(build_residual(post), PostNorm)
    assert isinstance(build_residual(pre), PreNorm)
    assert isinstance(build_final_norm(post), nn.Identity)
    assert isinstance(build_final_norm(pre), nn.RMSNorm)
    assert isinstance(build_feed_forward(pre), GatedFeedForward)
    for activation, function in (("relu", F.relu), ("gelu", F.gelu)):
        network = build_feed_forward(ModelConfig(**SHAPE, activation=activation))
        assert isinstance(network, FeedForward)
        assert network.activation is function


def test_the_rate_is_shown_when_a_model_is_printed() -> None:
    assert repr(Dropout(0.3)) == "Dropout(p=0.3, inplace=False)"


def test_who_looks_for_pytorchs_dropout_finds_it() -> None:
    """As to draw several answers from a model that is otherwise set to inference (Gal and Ghahramani 2016)."""
    assert isinstance(Dropout(0.3), nn.Dropout)
