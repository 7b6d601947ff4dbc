"""Guided alignment: one head of the cross-attention is taught to look at the word that is being translated.

An aligner that knows nothing but which subwords meet which (`data.lexical`, in both directions) says where the head
should look, and a second term of the loss says how far it is from there (Chen et al. 2016; Garg et al. 2019,
section 4.2). The model translates as before, and its alignments can be used.

Shapes: B batch, S source length, T target length, both with eos, H heads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.data.lexical import model_1, sample
from yiwen.data.loader import load_texts
from yiwen.data.store import Store
from yiwen.model.attention import attention_weights
from yiwen.model.config import AlignmentHead
from yiwen.model.transformer import Transformer
from yiwen.tasks.loss import LossFn
from yiwen.text.subword import EOS_ID, PAD_ID

NO_WORD: Final = 0.1
"""What the probability of being made from no word is multiplied by: otherwise it wins where the text is small."""
_SMALLEST: Final = 1e-9

Guide = Callable[[Batch], Tensor]
"""batch -> where each target token should look: (B, T, S), rows sum to 1, or to 0 where nobody knows."""


def lexical_guide(store: Store) -> Guide:
    """Learn an aligner from the training pairs; equal stores give equal aligners.

    A target token t should look at s with t(t | s) t(s | t), each normalised over the sentence, and at eos where it is
    likelier to be made from no word; eos looks at eos.
    """
    rows = sample(store)  # cut anew where training does so: it would meet subwords that stored text never has
    src, tgt = load_texts(store, rows, seed=0), load_texts(store, rows, side="tgt", seed=1)
    n_src, n_tgt = store.source.vocab_size, store.target.vocab_size
    forward = model_1(src, tgt, src_vocab_size=n_src, tgt_vocab_size=n_tgt)
    backward = model_1(tgt, src, src_vocab_size=n_tgt, tgt_vocab_size=n_src)

    def guide(batch: Batch) -> Tensor:
        src_BS, tgt_BT = batch.src_ids.cpu().numpy(), batch.tgt_out.cpu().numpy()
        is_pair_BTS = (tgt_BT > EOS_ID)[:, :, None] & (src_BS > EOS_ID)[:, None, :]
        forward_BTS = forward(src_BS[:, None, :], tgt_BT[:, :, None]) * is_pair_BTS
        backward_BTS = backward(tgt_BT[:, :, None], src_BS[:, None, :]) * is_pair_BTS
        no_source_BT = forward(np.full_like(tgt_BT, forward.no_word), tgt_BT)
        no_target_BS = backward(np.full_like(src_BS, backward.no_word), src_BS)
        from_BT = forward_BTS.sum(axis=2) + no_source_BT + _SMALLEST
        to_BS = backward_BTS.sum(axis=1) + no_target_BS + _SMALLEST
        both_BTS = forward_BTS / from_BT[:, :, None] * backward_BTS / to_BS[:, None, :]
        nothing_BT = np.where(tgt_BT == EOS_ID, 1.0, NO_WORD * no_source_BT / from_BT) * (tgt_BT != PAD_ID)
        both_BTS += nothing_BT[:, :, None] * (src_BS == EOS_ID)[:, None, :]
        rows_BTS = both_BTS / (both_BTS.sum(axis=2, keepdims=True) + _SMALLEST)
        return torch.from_numpy(rows_BTS.astype(np.float32)).to(batch.tgt_out.device)

    return guide


def guided_loss(loss_fn: LossFn, model: Transformer, guide: Guide, *, place: AlignmentHead, weight: float) -> LossFn:
    """A loss that grows with the distance of one head's attention from where the guide says it should look.

    Args:
        loss_fn: The loss of the task, for this model.
        model: What is trained; from now on it remembers the attention of that head.
        guide: Where each target token should look.
        place: Layer and head.
        weight: What the cross-entropy of the attention, summed over target tokens, is multiplied by.
    """
    last = _remember(model, place)

    def with_guide(trained: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        try:
            loss_sum, n_tokens = loss_fn(trained, batch)
        finally:  # also where memory was too small: the whole pass would be held while a smaller one is tried
            seen = last.__dict__.pop("weights", None)
        if seen is None:  # layer dropout left the layer out
            return loss_sum, n_tokens
        weights_BTS = seen.float().unflatten(0, (-1, len(batch.tgt_out))).mean(dim=0)  # R-Drop passes twice
        distance = -(guide(batch) * weights_BTS.clamp_min(_SMALLEST).log()).sum()
        return loss_sum + weight * distance, n_tokens

    return with_guide


def _remember(model: Transformer, place: AlignmentHead) -> threading.local:
    """`weights`: the guided head's attention in the last pass of this thread; shards of a batch have one each."""
    last = threading.local()
    heads = list(model.decoder)[place.layer].cross_attention.heads
    before, one = heads.attend, slice(place.head, cast(int, place.head) + 1)

    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout_p: float) -> Tensor:
        last.weights = attention_weights(q[:, one], k[:, one], bias)[:, 0]
        return before(q, k, v, bias, dropout_p)

    heads.attend = attend
    return last
