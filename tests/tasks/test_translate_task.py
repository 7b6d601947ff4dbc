"""Translation as a task: its loss over a batch, and the forced scores of given translations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from yiwen.data.batching import Batch, collate
from yiwen.model.config import ModelConfig
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer
from yiwen.tasks.translate import forced_log_probs, log_probs_of, translation_loss

PAD, BOS, EOS, V = 0, 2, 3, 31
SOURCES = [[5, 6, 7, 8, 9], [10, 11], [12]]
TARGETS = [[13, 14], [15, 16, 17, 18], []]


def build(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    shape: dict[str, Any] = {"d_model": 24, "n_heads": 6, "d_ff": 13, "n_encoder_layers": 1, "n_decoder_layers": 2}
    return Transformer(ModelConfig(**{**shape, **changes}), src_vocab_size=V, tgt_vocab_size=V).eval()


def make_batch(rows: list[int] | None = None) -> Batch:
    chosen = rows if rows is not None else [0, 1, 2]
    return collate([np.array(SOURCES[row]) for row in chosen], [np.array(TARGETS[row]) for row in chosen])


@pytest.mark.parametrize("tied", ["all", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_a_batch_is_that_of_its_whole_logits(smoothing: float, tied: str) -> None:
    model, batch = build(tied_embeddings=tied), make_batch()
    loss_sum, n_tokens = translation_loss(smoothing)(model, batch)
    gradients = torch.autograd.grad(loss_sum, list(model.parameters()))
    logits = model.logits(model(batch.src_ids, batch.tgt_in))
    flat, gold = logits.flatten(0, 1), batch.tgt_out.flatten()
    expected = F.cross_entropy(flat, gold, ignore_index=PAD, label_smoothing=smoothing, reduction="sum")
    assert n_tokens == 3 + 5 + 1  # eos counted
    assert loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected, list(model.parameters())), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_loss_and_gradients_of_single_sentences_add_up_to_those_of_the_batch() -> None:
    model = build()
    loss_fn = translation_loss(0.1)
    together, n_tokens = loss_fn(model, make_batch())
    single = [loss_fn(model, make_batch([row])) for row in range(3)]
    total = sum((loss for loss, _ in single), torch.zeros(()))
    assert total.item() == pytest.approx(together.item(), rel=1e-5)
    assert sum(n for _, n in single) == n_tokens
    parameters = list(model.parameters())
    pairs = zip(torch.autograd.grad(together, parameters), torch.autograd.grad(total, parameters), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_forced_scores_are_the_log_probabilities_of_a_step_by_step_decoding() -> None:
    model, batch = build(positions="rotary", n_kv_heads=2), make_batch()
    scores = forced_log_probs(model, batch)
    assert scores.shape == (3, 5)
    for row in range(3):
        src_ids = torch.tensor([[*SOURCES[row], EOS]])
        cache = model.start(model.encode(src_ids), padding_mask(src_ids, PAD))
        last = BOS
        for t, token in enumerate([*TARGETS[row], EOS]):
            logits, cache = model.step(torch.tensor([last]), cache)
            assert scores[row, t].item() == pytest.approx(log_probs_of(logits)[0, token].item(), abs=1e-5)
            last = token
        assert (scores[row, len(TARGETS[row]) + 1 :] == 0).all()


@torch.no_grad()
def test_the_sum_of_forced_scores_is_minus_the_cross_entropy_of_what_a_search_can_choose() -> None:
    model, batch = build(), make_batch()
    logits = model.logits(model(batch.src_ids, batch.tgt_in))
    entropy = {"ignore_index": PAD, "reduction": "sum"}
    loss_sum, _ = translation_loss(0.0)(model, batch)
    expected = F.cross_entropy(logits.transpose(1, 2), batch.tgt_out, **entropy)
    assert loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)
    logits[..., [PAD, BOS]] = -1e9
    expected = F.cross_entropy(logits.transpose(1, 2), batch.tgt_out, **entropy)
    assert forced_log_probs(model, batch).sum().item() == pytest.approx(-expected.item(), rel=1e-6)
