"""From rows of a store to a batch of tensors."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from yiwen.data.batching import Batch, Lengths, Rows, collate, collate_labelled
from yiwen.data.store import Store
from yiwen.text.subword import EOS_ID, PAD_ID, UNK_ID


def lengths_of(store: Store) -> Lengths:
    """What the epoch order needs to know of a store. A label counts as one target token, like a text without one."""
    return Lengths(
        src=store.src_lengths,
        tgt=np.zeros_like(store.tgt_lengths) if store.targets == "label" else store.tgt_lengths,
        corpus=store.corpus,
        weights=store.corpus_weights,
        fingerprint=store.fingerprint,
    )


def load_batch(store: Store, rows: Rows, *, seed: int, max_tokens: int = 1 << 30) -> Batch:
    """The batch of these rows.

    Args:
        store: The prepared data.
        rows: Which of its rows, (B,).
        seed: Decides how words are cut where the tokenizer samples: equal seeds give equal batches.
        max_tokens: Longest side, eos counted. Sampling cuts finer than usual; a side that it makes longer than this
            is taken as it is stored.
    """
    src_ids, tgt_ids = store.src_ids(rows), store.tgt_ids(rows)
    sampling = store.tokenizer.sampling
    if sampling == 0:
        return collate(src_ids, tgt_ids)
    src, tgt = store.texts(rows)
    sampled_src = store.source.encode_sampled(src, sampling=sampling, seed=seed)
    sampled_tgt = store.target.encode_sampled(tgt, sampling=sampling, seed=seed + 1)
    return collate(
        [new if len(new) < max_tokens else old for new, old in zip(sampled_src, src_ids, strict=True)],
        [new if len(new) < max_tokens else old for new, old in zip(sampled_tgt, tgt_ids, strict=True)],
    )


def hide_words(batch: Batch, *, share: float, seed: int) -> Batch:
    """The batch with a share of its source subwords replaced by unk; equal seeds hide the same ones."""
    if share == 0:
        return batch
    generator = torch.Generator().manual_seed(seed)
    is_hidden = torch.rand(batch.src_ids.shape, generator=generator) < share
    is_word = (batch.src_ids != PAD_ID) & (batch.src_ids != EOS_ID)
    return dataclasses.replace(batch, src_ids=batch.src_ids.masked_fill(is_hidden & is_word, UNK_ID))


def load_labelled(store: Store, rows: Rows, *, seed: int, max_tokens: int = 1 << 30) -> Batch:
    """The batch of these rows of labelled text; arguments as for `load_batch`."""
    src_ids, numbers = store.src_ids(rows), store.tgt_ids(rows)
    sampling = store.tokenizer.sampling
    if sampling == 0 or store.targets == "tags":  # a word cut in another way would have its tag at another place
        return collate_labelled(src_ids, numbers, for_words=store.targets == "tags")
    sampled = store.source.encode_sampled(store.texts(rows)[0], sampling=sampling, seed=seed)
    texts = [new if len(new) < max_tokens else old for new, old in zip(sampled, src_ids, strict=True)]
    return collate_labelled(texts, numbers, for_words=False)


def batch_of_shape(n_rows: int, length: int, *, vocab_size: int = 5) -> Batch:
    """A made-up batch, for trials before training starts: all rows have `length` positions on both sides."""
    ids = 4 + np.arange(n_rows * (length - 1)) * 7919 % (vocab_size - 4)  # a prime spreads them over the vocabulary
    rows = list(ids.reshape(n_rows, length - 1))
    return collate(rows, rows)
