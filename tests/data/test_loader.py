"""Batches from a store, with subwords as stored or cut anew."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from yiwen.data.batching import collate
from yiwen.data.loader import batch_of_shape, hide_words, lengths_of, load_batch
from yiwen.text.subword import TokenizerConfig


class FakeSubword:
    """Cuts each character in two with a seed that is even, in three with one that is odd."""

    def encode_sampled(self, texts: list[str], *, sampling: float, seed: int) -> list[list[int]]:
        assert sampling == 0.5
        return [[ord(c) for c in text for _ in range(2 + seed % 2)] for text in texts]


def fake_store(sampling: float) -> Any:
    texts = ["ab", "cde", "f"]
    ids = [np.array([ord(c) for c in text], dtype=np.uint16) for text in texts]
    return SimpleNamespace(
        src_lengths=np.array([2, 3, 1], dtype=np.int32),
        tgt_lengths=np.array([2, 3, 1], dtype=np.int32),
        corpus=np.zeros(3, dtype=np.uint8),
        corpus_weights=(1.0,),
        fingerprint="f",
        targets="text",
        tokenizer=TokenizerConfig(sampling=sampling),
        source=FakeSubword(),
        target=FakeSubword(),
        src_ids=lambda rows: [ids[row] for row in rows],
        tgt_ids=lambda rows: [ids[row] for row in rows],
        texts=lambda rows, side: [texts[row] for row in rows],
    )


def test_lengths_come_from_the_store() -> None:
    lengths = lengths_of(fake_store(0.0))
    assert lengths.src.tolist() == [2, 3, 1]
    assert lengths.fingerprint == "f"


@pytest.mark.parametrize(("targets", "n_tokens"), [("label", [1, 1, 1]), ("tags", [3, 4, 2]), ("none", [3, 4, 2])])
def test_an_update_counts_a_label_once_and_tags_and_plain_text_by_their_subwords(
    targets: str, n_tokens: list[int]
) -> None:
    store = fake_store(0.0)
    store.targets = targets
    assert (lengths_of(store).tgt + 1).tolist() == n_tokens


def test_without_sampling_a_batch_is_what_is_stored() -> None:
    batch = load_batch(fake_store(0.0), np.array([2, 0]), seed=7)
    assert batch.src_ids.tolist() == [[102, 3, 0], [97, 98, 3]]
    assert batch.tgt_in.tolist() == [[2, 102, 0], [2, 97, 98]]


def test_sampling_cuts_both_sides_anew_by_the_seed() -> None:
    batch = load_batch(fake_store(0.5), np.array([2]), seed=4)
    assert batch.src_ids.tolist() == [[102, 102, 3]]
    assert batch.tgt_out.tolist() == [[102, 102, 102, 3]]


def test_a_side_that_sampling_makes_too_long_is_taken_as_stored() -> None:
    """Else a model with positions for max_tokens would meet a longer sequence in the middle of a night."""
    batch = load_batch(fake_store(0.5), np.array([1, 2]), seed=4, max_tokens=7)
    assert batch.src_ids.tolist() == [[99, 99, 100, 100, 101, 101, 3], [102, 102, 3, 0, 0, 0, 0]]
    assert batch.tgt_out.tolist() == [[99, 100, 101, 3], [102, 102, 102, 3]]
    batch = load_batch(fake_store(0.5), np.array([1]), seed=4, max_tokens=6)  # of which eos is one
    assert batch.src_ids.tolist() == [[99, 100, 101, 3]]


def test_a_made_up_batch_has_the_shape_asked_for() -> None:
    batch = batch_of_shape(5, 7)
    assert batch.src_ids.shape == batch.tgt_in.shape == batch.tgt_out.shape == (5, 7)
    assert batch.n_tokens == 35
    assert batch_of_shape(1, 1).n_tokens == 1
    assert set(batch_of_shape(50, 5, vocab_size=23).tgt_out.flatten().tolist()) == set(range(3, 23))


def test_a_share_of_the_source_is_hidden_by_the_seed_alone() -> None:
    rows = [np.arange(5, 5 + n) for n in (1009, 401, 1)]
    batch = collate(rows, rows)
    hidden = hide_words(batch, share=0.25, seed=7)
    is_hidden = hidden.src_ids != batch.src_ids
    assert set(hidden.src_ids[is_hidden].tolist()) == {1}  # unk
    assert is_hidden.sum().item() / 1411 == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 1411))
    assert torch.equal(hidden.src_ids == 3, batch.src_ids == 3)  # the ends of sentences
    assert torch.equal(hidden.src_ids == 0, batch.src_ids == 0)  # padding
    assert hidden.tgt_in is batch.tgt_in
    with torch.device("meta"):  # in the place of a GPU that a caller has made the default
        assert torch.equal(hide_words(batch, share=0.25, seed=7).src_ids, hidden.src_ids)
    assert not torch.equal(hide_words(batch, share=0.25, seed=8).src_ids, hidden.src_ids)
    symbols = batch.src_ids < 9
    assert torch.equal(hide_words(batch, share=0.25, seed=7, first=9).src_ids[symbols], batch.src_ids[symbols])


def test_where_nothing_is_to_be_hidden_the_batch_is_the_same_object() -> None:
    batch = batch_of_shape(3, 5)
    assert hide_words(batch, share=0.0, seed=7) is batch
