"""Label-smoothed cross-entropy: by hand, against PyTorch's whole one, and rounded."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import yiwen.tasks.loss as loss_module
from yiwen.tasks.loss import chunked_loss

B, T, D, V, PAD = 3, 11, 7, 13, 0


def example() -> tuple[Tensor, Tensor, Tensor]:
    """(states (B, T, D), weight (V, D), tgt_out (B, T) with padding)."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(B, T, D, generator=generator)
    weight = torch.randn(V, D, generator=generator)
    tgt_out = torch.randint(1, V, (B, T), generator=generator)
    tgt_out[0, 5:] = tgt_out[2, 2:] = PAD
    return states, weight, tgt_out


def test_loss_worked_by_hand() -> None:
    # p = 1/2, 1/4, 1/4; gold 0, smoothing 0.3: q = 0.8, 0.1, 0.1. Loss 0.8 ln 2 + 0.2 ln 4 = 1.2 ln 2.
    logits = torch.tensor([[[0.5, 0.25, 0.25]]]).log()
    # With the identity as output matrix the states are the logits.
    in_pieces = chunked_loss(logits[0], torch.eye(3), torch.tensor([0]), smoothing=0.3)
    assert in_pieces.item() == pytest.approx(1.2 * math.log(2))


def test_a_model_that_knows_nothing_pays_the_logarithm_of_the_vocabulary() -> None:
    for smoothing in (0.0, 0.1, 0.9):
        loss = chunked_loss(torch.zeros(5, D), torch.randn(V, D), torch.arange(5), smoothing=smoothing)
        assert loss.item() == pytest.approx(5 * math.log(V), rel=1e-6)


@pytest.mark.parametrize("chunk_tokens", [1, 2, 5, 18, 512])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_loss_and_gradients_equal_pytorchs_for_any_chunk(
    monkeypatch: pytest.MonkeyPatch, smoothing: float, chunk_tokens: int
) -> None:
    monkeypatch.setattr(loss_module, "CHUNK_TOKENS", chunk_tokens)
    states, weight, tgt_out = example()
    results = []
    for is_chunked in (False, True):
        inputs = states.clone().requires_grad_(), weight.clone().requires_grad_()
        if is_chunked:
            real = tgt_out != PAD
            loss = chunked_loss(inputs[0][real], inputs[1], tgt_out[real], smoothing=smoothing)
        else:
            logits, gold = (inputs[0] @ inputs[1].T).flatten(0, 1), tgt_out.flatten()
            options: dict[str, Any] = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": "sum"}
            loss = F.cross_entropy(logits, gold, **options)
        results.append((loss, *torch.autograd.grad(loss / 7, inputs)))  # divided: the upstream gradient is not 1
    for whole, in_pieces in zip(*results, strict=True):
        torch.testing.assert_close(in_pieces, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_tokens", [1, 63, 64, 65, 130, 256, 321, 1100])
def test_products_have_few_numbers_of_rows_and_every_token_counts_once(
    monkeypatch: pytest.MonkeyPatch, n_tokens: int
) -> None:
    seen, mm = [], torch.mm

    def watched(a: Tensor, b: Tensor, **rest: Any) -> Tensor:
        seen.append(len(a))
        return mm(a, b, **rest)

    monkeypatch.setattr(torch, "mm", watched)
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(n_tokens, D, generator=generator).requires_grad_()
    weight, gold = torch.randn(V, D, generator=generator).requires_grad_(), torch.arange(n_tokens) % V
    loss = chunked_loss(states, weight, gold, smoothing=0.1)
    whole = F.cross_entropy(states @ weight.T, gold, label_smoothing=0.1, reduction="sum")
    assert seen
    assert {rows % 64 for rows in seen} == {0}
    torch.testing.assert_close(loss, whole, rtol=1e-5, atol=1e-6)
    gradients = (torch.autograd.grad(each, (states, weight)) for each in (loss, whole))
    for in_pieces, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(in_pieces, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("which", ["states", "weight"])
def test_one_side_may_need_no_gradient(which: str) -> None:
    states, weight, tgt_out = example()
    rows = states.flatten(0, 1)
    (rows if which == "states" else weight).requires_grad_()
    loss = chunked_loss(rows, weight, tgt_out.flatten(), smoothing=0.1)
    loss.backward()
    assert (rows.grad is not None) == (which == "states")
    assert (weight.grad is not None) == (which == "weight")


def test_a_second_derivative_is_refused() -> None:
    states, weight, tgt_out = example()
    rows = states.flatten(0, 1).requires_grad_()
    loss = chunked_loss(rows, weight, tgt_out.flatten(), smoothing=0.1)
    with pytest.raises(RuntimeError, match=r"no second derivative .create_graph=True.; use F.cross_entropy of the"):
        torch.autograd.grad(loss, rows, create_graph=True)


def test_without_gradients_the_value_is_the_same() -> None:
    states, weight, tgt_out = example()
    rows, gold = states.flatten(0, 1), tgt_out.flatten()
    with_gradients = chunked_loss(rows, weight.clone().requires_grad_(), gold, smoothing=0.1)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            loss = chunked_loss(rows, weight, gold, smoothing=0.1)
        assert loss.item() == with_gradients.item()
        assert not loss.requires_grad


def test_no_tokens_are_a_loss_of_zero_with_zero_gradients() -> None:
    rows, weight = torch.empty(0, D, requires_grad=True), torch.randn(V, D, requires_grad=True)
    loss, without = (
        chunked_loss(x, w, torch.arange(0), smoothing=0.1)
        for x, w in ((rows, weight), (rows.detach(), weight.detach()))
    )
    loss.backward()
    assert loss.item() == without.item() == 0
    assert weight.grad is not None
    assert torch.equal(weight.grad, torch.zeros(V, D))


def test_large_logits_stay_finite() -> None:
    rows, weight = 1e4 * torch.ones(2, D), torch.randn(V, D, requires_grad=True)
    loss = chunked_loss(rows, weight, torch.tensor([1, 2]), smoothing=0.1)
    loss.backward()
    assert loss.isfinite()
    assert weight.grad is not None
    assert weight.grad.isfinite().all()


def test_bf16_products_stay_close_to_float32_and_gradients_keep_their_types() -> None:
    generator = torch.Generator().manual_seed(2)
    rows = torch.randn(997, 64, generator=generator)
    weight = torch.randn(101, 64, generator=generator) / 8
    gold = torch.randint(0, 101, (997,), generator=generator)
    exact_inputs = rows.clone().requires_grad_(), weight.clone().requires_grad_()
    exact = chunked_loss(*exact_inputs, gold, smoothing=0.1)
    exact_gradients = torch.autograd.grad(exact, exact_inputs)
    rough_inputs = rows.clone().requires_grad_(), weight.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        rough = chunked_loss(*rough_inputs, gold, smoothing=0.1)
    rough_gradients = torch.autograd.grad(rough, rough_inputs)
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(exact.item(), rel=1e-3)
    for ours, theirs in zip(rough_gradients, exact_gradients, strict=True):
        assert ours.dtype == torch.float32
        assert ((ours - theirs).norm() / theirs.norm()).item() < 0.01


def test_states_and_weights_in_bf16_give_a_float32_loss() -> None:
    rows, weight = torch.randn(5, D).bfloat16().requires_grad_(), torch.randn(V, D).bfloat16().requires_grad_()
    loss = chunked_loss(rows, weight, torch.arange(5), smoothing=0.1)
    loss.backward()
    assert loss.dtype == torch.float32
    assert rows.grad is not None
    assert weight.grad is not None
    assert rows.grad.dtype == weight.grad.dtype == torch.bfloat16
    exact = chunked_loss(rows.float(), weight.float(), torch.arange(5), smoothing=0.1)
    assert loss.item() == pytest.approx(exact.item(), rel=0.02)


def test_a_gold_token_whose_probability_underflows_has_its_exact_loss() -> None:
    states = torch.tensor([[60.0, 0.0], [0.0, 1.0]], requires_grad=True)
    weight = torch.tensor([[4.0, 0.0], [0.0, 3.0], [-4.0, 0.0]])
    targets = torch.tensor([2, 1])  # the first has a probability of exp(-480), which float32 cannot hold
    loss = chunked_loss(states, weight, targets, smoothing=0.1)
    expected = F.cross_entropy(states.double() @ weight.double().t(), targets, label_smoothing=0.1, reduction="sum")
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
