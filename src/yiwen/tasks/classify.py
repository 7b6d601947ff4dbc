"""Classification: one label a text, from its pooled states. Tagging: one label a word, from the state of its first
subword. Both are one cross-entropy; a label's number starts from 1, and 0 is padding.

Shapes: B texts, S subwords, D d_model, K labels, N texts or positions that have a label.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.tasks.heads import EncoderModel
from yiwen.tasks.loss import LossFn
from yiwen.text.subword import PAD_ID


def label_logits(model: EncoderModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """Scores of the labels for all that has one in the batch, row by row, (N, K), float32; and its label, (N,)."""
    has_label = batch.tgt_out != PAD_ID
    for_words = batch.tgt_out.size(1) > 1
    states_ND = model(batch.src_ids)[has_label].float() if for_words else model.pooled(batch.src_ids)
    return model.logits(states_ND).float(), batch.tgt_out[has_label] - 1


def label_loss(smoothing: float, weights_K: Tensor | None = None) -> LossFn:
    """Label-smoothed cross-entropy, summed over texts or words.

    Args:
        smoothing: Probability mass spread over the labels.
        weights_K: What a text of each label counts; None: all alike.
    """

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        logits_NK, gold_N = label_logits(cast(EncoderModel, model), batch)
        losses_N = F.cross_entropy(logits_NK, gold_N, label_smoothing=smoothing, reduction="none")
        if weights_K is not None:
            # PyTorch's own also weigh what smoothing spreads: of 60 labels to 1, all texts would get the rare one.
            losses_N = losses_N * weights_K.to(gold_N.device)[gold_N]
        return losses_N.sum(), batch.n_tokens

    return loss_fn


def balanced_weights(counts_K: npt.NDArray[Any]) -> Tensor:
    """total / (labels that occur x count): each weighs as much as any other, and the mean over what is counted is 1."""
    return torch.from_numpy(counts_K.sum() / (np.count_nonzero(counts_K) * np.where(counts_K > 0, counts_K, 1))).float()
