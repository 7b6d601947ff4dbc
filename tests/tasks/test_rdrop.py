"""R-Drop: by hand, against the paper's formula in plain PyTorch, in pieces, in shards."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import yiwen.tasks.loss as module
from yiwen.data.batching import Batch, collate
from yiwen.hardware import Hardware
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.tasks.loss import chunked_loss
from yiwen.tasks.rdrop import rdrop_loss
from yiwen.tasks.translate import translation_loss
from yiwen.training.step import ShardPool, compute_gradients

N, D, V = 17, 7, 13
CPU = Hardware(device="cpu", precision="float32", threads=1, attention="fused", keeps_memory=False)


def example(*, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """(states (2, N, D), weight (V, D), targets (N,))."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(2, N, D, generator=generator, dtype=dtype)
    weight = torch.randn(V, D, generator=generator, dtype=dtype)
    return states.requires_grad_(), weight.requires_grad_(), torch.randint(V, (N,), generator=generator)


def reference(states: Tensor, weight: Tensor, targets: Tensor, *, smoothing: float, alpha: float) -> Tensor:
    """Half of equation 4 of the paper, with whole logits and PyTorch's own parts."""
    first, second = (states @ weight.T).log_softmax(dim=2)
    nll = F.cross_entropy(first, targets, label_smoothing=smoothing, reduction="sum")
    nll = nll + F.cross_entropy(second, targets, label_smoothing=smoothing, reduction="sum")
    there = F.kl_div(second, first, log_target=True, reduction="sum")  # KL(first || second)
    back = F.kl_div(first, second, log_target=True, reduction="sum")
    return (nll + alpha * (there + back) / 2) / 2


def test_loss_worked_by_hand() -> None:
    # p = 1/2, 1/2 and q = 1/4, 3/4, gold 0. CE: ln 2 and ln 4, mean 1.5 ln 2.
    # KL(p||q) = (ln 2 + ln 2/3) / 2, KL(q||p) = (ln 1/2 + 3 ln 3/2) / 4; their sum is (ln 3) / 4.
    states = torch.tensor([[[0.5, 0.5]], [[0.25, 0.75]]]).log()
    for alpha in (0.0, 1.0, 4.0):
        loss = rdrop_loss(states, torch.eye(2), torch.tensor([0]), smoothing=0.0, alpha=alpha)
        assert loss.item() == pytest.approx(1.5 * math.log(2) + alpha / 4 * math.log(3) / 4)


@pytest.mark.parametrize("chunk_tokens", [2, 6, 512])
@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 1.0), (0.1, 5.0), (0.4, 0.3)])
def test_loss_and_gradients_are_those_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, smoothing: float, alpha: float, chunk_tokens: int
) -> None:
    monkeypatch.setattr(module, "CHUNK_TOKENS", chunk_tokens)
    found = []
    for loss_fn in (rdrop_loss, reference):
        states, weight, targets = example(dtype=torch.float32)
        loss = loss_fn(states, weight, targets, smoothing=smoothing, alpha=alpha)
        found.append((loss, *torch.autograd.grad(loss / 7, (states, weight))))  # the upstream gradient is not 1
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)


def test_passes_that_agree_pay_for_their_tokens_alone() -> None:
    states, weight, targets = example(dtype=torch.float32)
    same = states.detach()[:1].repeat(2, 1, 1)
    loss = rdrop_loss(same, weight, targets, smoothing=0.1, alpha=5.0)
    assert loss.item() == pytest.approx(chunked_loss(same[0], weight, targets, smoothing=0.1).item(), rel=1e-6)


def test_bf16_products_stay_close_to_float32_and_gradients_keep_their_types() -> None:
    states, weight, targets = example(dtype=torch.float32)
    exact = rdrop_loss(states, weight, targets, smoothing=0.1, alpha=1.0)
    with torch.autocast("cpu", torch.bfloat16):
        rough = rdrop_loss(states, weight, targets, smoothing=0.1, alpha=1.0)
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(exact.item(), rel=0.02)
    for ours, theirs in zip(*(torch.autograd.grad(loss, (states, weight)) for loss in (rough, exact)), strict=True):
        assert ours.dtype == torch.float32
        assert ((ours - theirs).norm() / theirs.norm()).item() < 0.05


def test_large_logits_stay_finite_and_no_tokens_cost_nothing() -> None:
    weight = torch.randn(V, D, requires_grad=True)
    states = torch.stack([1e4 * torch.ones(3, D), -1e4 * torch.ones(3, D)]).requires_grad_()
    loss = rdrop_loss(states, weight, torch.tensor([1, 2, 3]), smoothing=0.1, alpha=5.0)
    assert all(each.isfinite().all() for each in (loss, *torch.autograd.grad(loss, (states, weight))))
    nothing = rdrop_loss(states[:, :0], weight, torch.tensor([], dtype=torch.int64), smoothing=0.1, alpha=5.0)
    assert nothing.item() == 0


SOURCES, TARGETS = [[5, 6, 7, 8, 9], [10, 11], [12]], [[5, 4], [6, 7, 8, 9], []]


def batch_of(rows: Any = (0, 1, 2), seed: int = 0) -> Batch:
    return collate([np.array(SOURCES[row]) for row in rows], [np.array(TARGETS[row]) for row in rows])


def build(dropout: float) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(d_model=24, n_heads=3, d_ff=31, n_encoder_layers=1, n_decoder_layers=1, dropout=dropout)
    return Transformer(config, src_vocab_size=V, tgt_vocab_size=V).train()


def test_without_dropout_a_batch_has_its_usual_loss_over_its_usual_tokens() -> None:
    model = build(0.0)
    plain, twice = translation_loss(0.1), translation_loss(0.1, rdrop=5.0)
    assert twice(model, batch_of())[0].item() == pytest.approx(plain(model, batch_of())[0].item(), rel=1e-6)
    assert twice(model, batch_of())[1] == plain(model, batch_of())[1] == 3 + 5 + 1


def test_the_two_passes_drop_other_values() -> None:
    model = build(0.3)
    loss_fn = translation_loss(0.0, rdrop=1e6)  # next to nothing but the disagreement
    torch.manual_seed(3)
    first = loss_fn(model, batch_of())[0]
    assert first.item() > 1000
    torch.manual_seed(3)
    assert loss_fn(model, batch_of())[0].item() == first.item()


def test_a_batch_in_shards_gives_the_gradients_of_the_whole() -> None:
    model = build(0.0)
    gradients = []
    for n_shards in (1, 3):
        with ShardPool(replace(CPU, threads=n_shards, shards=n_shards)) as pool:
            compute_gradients(
                model, [np.arange(3)], load=batch_of, loss_fn=translation_loss(0.1, rdrop=5.0), seeds=(1, 2),
                pool=pool,
            )  # fmt: skip
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-5, atol=1e-6)
