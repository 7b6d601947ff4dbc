"""Pooling by hand, and the loss of labels against PyTorch's own where that means the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from yiwen.bundle import open_bundle
from yiwen.data.batching import Batch, collate_labelled
from yiwen.data.store import Store
from yiwen.hardware import Hardware
from yiwen.model.config import ModelConfig
from yiwen.tasks.classify import balanced_weights, label_loss
from yiwen.tasks.config import EncoderConfig
from yiwen.tasks.heads import EncoderModel, pool
from yiwen.training.config import TrainingConfig
from yiwen.training.learning import labelling
from yiwen.training.step import ShardPool, compute_gradients

V, D, K = 31, 12, 5
CPU = Hardware(device="cpu", precision="float32", threads=1, attention="fused", keeps_memory=False)
TEXTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]


def build(**changes: Any) -> EncoderModel:
    torch.manual_seed(1)
    config = ModelConfig(d_model=D, n_heads=3, d_ff=7, n_encoder_layers=2, norm_order="pre", dropout=0.3)
    model = EncoderModel(config, **{"vocab_size": V, "n_labels": K, **changes}).eval()
    if model.pool_query is not None:
        torch.nn.init.normal_(model.pool_query)
    return model


def test_pooling_by_hand() -> None:
    states = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    assert pool(states, mask, "first").tolist() == [[1.0, -2.0]]
    assert pool(states, mask, "mean").tolist() == [[2.0, -3.0]]
    assert pool(states, mask, "max").tolist() == [[3.0, -2.0]]
    # products with (0.5, 0) are 0.5 and 1.5, so that the second state weighs e times as much as the first
    weighted = pool(states, mask, "attention", torch.tensor([0.5, 0.0]))
    share = np.e / (1 + np.e)
    assert weighted[0].tolist() == pytest.approx([1 + 2 * share, -2 - 2 * share])


@pytest.mark.parametrize("pooling", ["mean", "max", "first", "attention"])
def test_neither_padding_nor_neighbours_change_a_text(pooling: Any) -> None:
    model = build(pooling=pooling)
    together = model.pooled(collate_labelled(TEXTS, [[1]] * 3, for_words=False).src_ids)
    for row, text in zip(together, TEXTS, strict=True):
        alone = model.pooled(collate_labelled([text], [[1]], for_words=False).src_ids)[0]
        assert torch.allclose(row, alone, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_loss_of_labels_is_the_sum_over_texts(smoothing: float, is_weighted: bool) -> None:
    model = build()
    weights = torch.rand(K) if is_weighted else None
    batch = collate_labelled(TEXTS, [[2], [5], [1]], for_words=False)
    loss, count = label_loss(smoothing, weights)(model, batch)
    logits = model.logits(model.pooled(batch.src_ids))
    total = 0.0
    for i, gold in enumerate((1, 4, 0)):
        weight = 1.0 if weights is None else weights[gold].item()
        total += weight * F.cross_entropy(logits[i], torch.tensor(gold), label_smoothing=smoothing).item()
    assert count == 3
    assert loss.item() == pytest.approx(total, rel=1e-5)


def test_the_loss_of_tags_is_the_sum_over_first_subwords() -> None:
    model = build()
    tags = [[2, 0, 3], [5], [1, 0, 0, 4, 0]]
    batch = collate_labelled(TEXTS, tags, for_words=True)
    loss, count = label_loss(0.0)(model, batch)
    total = 0.0
    for text, numbers in zip(TEXTS, tags, strict=True):
        states = model(collate_labelled([text], [numbers], for_words=True).src_ids)[0]
        log_probs = model.logits(states).log_softmax(dim=1)
        total -= sum(log_probs[i, number - 1].item() for i, number in enumerate(numbers) if number)
    assert count == 5
    assert loss.item() == pytest.approx(total, rel=1e-5)


def test_a_batch_of_one_word_sentences_is_still_one_of_tags() -> None:
    batch = collate_labelled([[8], [9]], [[2], [3]], for_words=True)
    loss, _ = label_loss(0.0)(build(), batch)
    assert batch.tgt_out.tolist() == [[2, 0], [3, 0]]
    assert loss.isfinite()


def test_rare_labels_weigh_as_much_as_common_ones() -> None:
    counts = np.array([6, 2, 1])
    weights = balanced_weights(counts).numpy()
    assert (weights * counts).tolist() == pytest.approx([3.0, 3.0, 3.0])


def test_a_label_without_a_text_changes_no_other_ones_weight() -> None:
    """As where all its texts are too long: the mean over the texts stays 1."""
    counts = np.array([2, 0, 6])
    found = balanced_weights(counts).numpy()
    assert found[[0, 2]].tolist() == pytest.approx([2.0, 2 / 3])  # as scikit-learn's "balanced" has it
    assert (found * counts).sum() / counts.sum() == pytest.approx(1.0)


def test_a_common_label_is_learnt_however_rare_the_other_one_is() -> None:
    """Smoothing spreads a text's own weight: by that of a label 60 times as rare, the likeliest would be the rare."""
    logits = torch.zeros(60, 2, requires_grad=True)
    gold = torch.tensor([[1]] * 59 + [[2]])
    batch = Batch(src_ids=gold, tgt_in=gold, tgt_out=gold, n_tokens=60)
    model: Any = SimpleNamespace(pooled=lambda src_ids: logits, logits=lambda vectors: vectors)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        label_loss(0.1, balanced_weights(np.array([59, 1])))(model, batch)[0].backward()
        optimizer.step()
    assert logits.argmax(dim=1).tolist() == [0] * 59 + [1]


def test_training_weighs_each_label_by_how_often_its_own_texts_have_it(tiny_classifier: Path) -> None:
    info = open_bundle(tiny_classifier).info
    store = Store.open(tiny_classifier.parent / ".prepared" / info.data_fingerprint)
    model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=len(info.labels)).eval()
    config = TrainingConfig()
    ways: tuple[Literal["none", "balanced"], ...] = ("none", "balanced")
    plain, balanced = (
        labelling(store, config, EncoderConfig(class_weights=way), max_len=61, max_tokens=29) for way in ways
    )
    numbers = [int(number) for (number,) in store.tgt_ids(np.arange(len(store)))]
    for number, count in Counter(numbers).items():
        batch = plain.load(np.array([numbers.index(number)]), 1)
        losses = [learning.loss_fn(model, batch)[0].item() for learning in (balanced, plain)]
        assert losses[0] / losses[1] == pytest.approx(len(numbers) / (3 * count))


def test_a_label_is_counted_as_often_as_its_corpus_is_met(tiny_classifier: Path) -> None:
    """Its texts are all of a corpus that is a tenth of each epoch, whatever its size."""
    info = open_bundle(tiny_classifier).info
    store = Store.open(tiny_classifier.parent / ".prepared" / info.data_fingerprint)
    numbers = np.concatenate(store.tgt_ids(np.arange(len(store))))
    store.corpus, store.corpus_weights = (numbers == 2).astype(np.uint8), (0.9, 0.1)
    model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=len(info.labels)).eval()
    learning = labelling(
        store, TrainingConfig(label_smoothing=0), EncoderConfig(class_weights="balanced"), max_len=61, max_tokens=29
    )
    batch = learning.load(np.flatnonzero(numbers == 2)[:1], 1)
    plain = label_loss(0.0)(model, batch)[0].item()
    assert learning.loss_fn(model, batch)[0].item() / plain == pytest.approx(1 / (3 * 0.1))


def test_a_frozen_encoder_neither_learns_nor_drops_anything() -> None:
    model = build(is_frozen=True).train()
    batch = collate_labelled(TEXTS, [[2], [5], [1]], for_words=False)
    label_loss(0.0)(model, batch)[0].backward()
    assert {name for name, p in model.named_parameters() if p.grad is not None} == {"head.weight", "head.bias"}
    assert torch.equal(model.pooled(batch.src_ids), model.pooled(batch.src_ids))
    assert not torch.equal(build().train().pooled(batch.src_ids), build().pooled(batch.src_ids))


@pytest.mark.parametrize("for_words", [False, True])
def test_shards_of_a_labelled_batch_give_its_gradients(for_words: bool) -> None:
    model = build()
    labels = [[2, 0, 3], [5], [1, 0, 0, 4, 0]] if for_words else [[2], [5], [1]]
    found = []
    weights = torch.rand(K, generator=torch.Generator().manual_seed(1))
    for n_shards in (1, 2):
        with ShardPool(replace(CPU, threads=n_shards, shards=n_shards)) as shards:
            compute_gradients(
                model,
                [np.array([0, 1, 2])],
                load=lambda rows, seed: collate_labelled(TEXTS, labels, for_words=for_words),
                loss_fn=label_loss(0.1, weights),
                seeds=(1, 1),
                pool=shards,
            )
        found.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert torch.allclose(*found, rtol=1e-4, atol=1e-6)
