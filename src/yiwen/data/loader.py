"""From rows of a store to a batch of tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from yiwen.data.batching import Batch, Ids, Lengths, Rows, collate, collate_labelled
from yiwen.data.store import Side, Store
from yiwen.text.subword import N_SPECIAL, UNK_ID


def lengths_of(store: Store) -> Lengths:
    """What the epoch order needs to know of a store. A label counts as one target token; tags and plain text as many
    as there are subwords.
    """
    tgt_lengths = np.zeros_like(store.tgt_lengths) if store.targets == "label" else store.tgt_lengths
    return Lengths(store.src_lengths, tgt_lengths, store.corpus, store.corpus_weights, store.fingerprint)


def load_batch(store: Store, rows: Rows, *, seed: int, max_tokens: int = 1 << 30) -> Batch:
    """The batch of these rows.

    Args:
        store: The prepared data.
        rows: Which of its rows, (B,).
        seed: Decides how words are cut where the tokenizer samples: equal seeds give equal batches.
        max_tokens: Longest side, eos counted. Sampling cuts finer than usual; a side that it makes longer than this
            is taken as it is stored.
    """
    src = load_texts(store, rows, seed=seed, max_tokens=max_tokens)
    return collate(src, load_texts(store, rows, side="tgt", seed=seed + 1, max_tokens=max_tokens))


def hide_words(batch: Batch, *, share: float, seed: int, first: int = N_SPECIAL) -> Batch:
    """The batch with a share of its source subwords replaced by unk; equal seeds hide the same ones.

    Ids below `first` stay: the ends of texts, and symbols such as <2bt>, which no context tells.
    """
    if share == 0:
        return batch
    is_hidden = torch.rand(batch.src_ids.shape, generator=torch.Generator().manual_seed(seed), device="cpu") < share
    return dataclasses.replace(batch, src_ids=batch.src_ids.masked_fill(is_hidden & (batch.src_ids >= first), UNK_ID))


def load_labelled(store: Store, rows: Rows, *, seed: int, max_tokens: int = 1 << 30) -> Batch:
    """The batch of these rows of labelled text; arguments as for `load_batch`."""
    texts = load_texts(store, rows, seed=seed, max_tokens=max_tokens)  # never cut anew where words have tags
    return collate_labelled(texts, store.tgt_ids(rows), for_words=store.targets == "tags")


def load_texts(store: Store, rows: Rows, *, side: Side = "src", seed: int, max_tokens: int = 1 << 30) -> Sequence[Ids]:
    """One side of these rows as ids without eos; arguments as for `load_batch`."""
    subword, stored = (store.source, store.src_ids) if side == "src" else (store.target, store.tgt_ids)
    sampling = store.tokenizer.sampling
    if sampling == 0:
        return stored(rows)
    sampled = subword.encode_sampled(store.texts(rows, side), sampling=sampling, seed=seed)
    return [new if len(new) < max_tokens else old for new, old in zip(sampled, stored(rows), strict=True)]


def batch_of_shape(n_rows: int, length: int, *, vocab_size: int = 5) -> Batch:
    """A made-up batch, for trials before training starts: all rows have `length` positions on both sides."""
    ids = 4 + np.arange(n_rows * (length - 1)) * 7919 % (vocab_size - 4)  # a prime spreads them over the vocabulary
    rows = list(ids.reshape(n_rows, length - 1))
    return collate(rows, rows)
