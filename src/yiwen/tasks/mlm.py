"""Masked-language modelling (Devlin et al. 2019): some subwords are hidden, and guessed from the others.

What is hidden is drawn anew whenever a text comes by, from the seed alone. Of the hidden subwords eight in ten become
unk, which stands in no text of ours, one in ten another subword, and one in ten stays, all of them to be guessed.
Words and spans are hidden as wholes: a part of a word gives the rest of it away.

Shapes: N subwords of a batch in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch, Ids, collate_labelled
from yiwen.tasks.heads import EncoderModel
from yiwen.tasks.loss import LossFn, chunked_loss
from yiwen.text.scripts import SPACED_MARKS, is_unspaced
from yiwen.text.subword import N_SPECIAL, PAD_ID, UNK_ID, Subword

Masking = Literal["subword", "word", "span"]
_SPAN_P, _LONGEST_SPAN = 0.2, 10
"""Spans of words are as long as in SpanBERT (Joshi et al. 2020, section 3.1): geometric, ten at most, a mean of 3.8."""


def word_starts(subword: Subword) -> npt.NDArray[np.bool_]:
    """Which subwords begin a word, (V,): those after a blank, signs, and each character where words have no blanks."""
    firsts = [piece[:1] for piece in subword.pieces(range(subword.vocab_size))]
    # A vowel sign of Hindi, or an accent, is no letter either, but never begins a word.
    is_start = [is_unspaced(first) or not (first.isalnum() or first in SPACED_MARKS) for first in firsts]
    return cast("npt.NDArray[np.bool_]", np.array(is_start) & ~subword.is_byte())


def hidden(texts: Sequence[Ids], *, seed: int, share: float, masking: Masking, starts: npt.NDArray[np.bool_]) -> Batch:
    """Hide a share of the subwords: a pure function of its arguments.

    Args:
        texts: Subword ids without eos.
        seed: Where the draws start.
        share: Of the subwords, on average; at least one is hidden.
        masking: What is hidden as a whole.
        starts: Of `word_starts`; its length is the size of the vocabulary.

    Returns:
        src_ids with subwords hidden, (B, S), and tgt_out with what they were, (B, S), pad elsewhere.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    lengths = np.array([len(ids) for ids in texts])
    ids_N = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in texts])
    text_N = np.repeat(np.arange(len(texts)), lengths)
    opens_N = np.concatenate([[True], text_N[1:] != text_N[:-1]])
    word_N = np.cumsum(starts[ids_N] | opens_N | (masking == "subword")) - 1
    is_hidden_N = _chosen(rng, word_N, text_N, share=share, masking=masking)[word_N]
    fate_N = rng.random(len(ids_N))
    others_N = rng.integers(N_SPECIAL, len(starts), size=len(ids_N))
    shown_N = np.where(is_hidden_N & (fate_N < 0.8), UNK_ID, np.where(is_hidden_N & (fate_N < 0.9), others_N, ids_N))
    cuts = np.cumsum(lengths)[:-1]
    gold_N = np.where(is_hidden_N, ids_N, PAD_ID)
    return collate_labelled(np.split(shown_N, cuts), np.split(gold_N, cuts), for_words=True)


def _chosen(
    rng: np.random.Generator, word_N: np.ndarray, text_N: np.ndarray, *, share: float, masking: Masking
) -> np.ndarray:
    """Which words are hidden, (words,)."""
    n_words = int(word_N.max(initial=-1)) + 1
    if masking == "span":
        text_of = text_N[np.searchsorted(word_N, np.arange(n_words))]
        ends = np.searchsorted(text_of, text_of, side="right")
        chosen: np.ndarray = np.zeros(n_words, dtype=np.bool_)
        while chosen.sum() < share * n_words:  # spans overlap, and texts end: their number cannot be told beforehand
            # The rest of a geometric number is geometric again: as if what is too long were drawn anew, not cut.
            begin, length = rng.integers(n_words), (rng.geometric(_SPAN_P) - 1) % _LONGEST_SPAN + 1
            chosen[begin : min(begin + length, ends[begin])] = True
    else:
        chosen = rng.random(n_words) < share
    if n_words > 0 and not chosen.any():
        chosen[rng.integers(n_words)] = True
    return chosen


def hidden_states(model: EncoderModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """States at the hidden subwords, (N, D), and what stood there, (N,)."""
    is_hidden = batch.tgt_out != PAD_ID
    return model(batch.src_ids)[is_hidden], batch.tgt_out[is_hidden]


def mlm_loss(smoothing: float) -> LossFn:
    """Cross-entropy of the hidden subwords, summed; a subword's score is the state's product with its embedding."""

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        encoder = cast(EncoderModel, model)
        states_ND, gold_N = hidden_states(encoder, batch)
        return chunked_loss(states_ND, encoder.body.src_embedding.weight, gold_N, smoothing=smoothing), batch.n_tokens

    return loss_fn


def n_guessed(model: EncoderModel, batch: Batch) -> int:
    """How many of the hidden subwords the model finds likeliest."""
    states_ND, gold_N = hidden_states(model, batch)
    logits_NV = states_ND.float() @ model.body.src_embedding.weight.float().t()
    return int((torch.argmax(logits_NV, dim=1) == gold_N).sum())
