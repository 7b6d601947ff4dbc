"""Embeddings: a text and its translation get similar vectors, other texts of the batch different ones.

The loss is the symmetric cross-entropy of each pair among all of the batch (InfoNCE, van den Oord et al. 2018; for
translations Yang et al. 2019). The batches are the negatives: larger ones teach more.

Shapes: B pairs, D d_model.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.tasks.heads import EncoderModel
from yiwen.tasks.loss import LossFn


def vectors(model: EncoderModel, ids: Tensor) -> Tensor:
    """Pooled states of length 1, (B, D), float32."""
    return F.normalize(model.pooled(ids), dim=1)


def embed_loss(temperature: float) -> LossFn:
    """Cross-entropy of the right partner among the batch's, both ways, summed over pairs."""

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        encoder = cast(EncoderModel, model)
        src_BD, tgt_BD = vectors(encoder, batch.src_ids), vectors(encoder, batch.tgt_out)
        with torch.autocast(src_BD.device.type, enabled=False):  # bf16 would be 0.1 off after the division
            scores_BB = src_BD @ tgt_BD.t() / temperature
        # A text that stands twice in the batch is not wrong as the partner of its own translation.
        is_same = _equal_rows(batch.src_ids) | _equal_rows(batch.tgt_out)
        scores_BB = scores_BB.masked_fill(is_same.fill_diagonal_(False), -torch.inf)
        gold_B = torch.arange(len(scores_BB), device=scores_BB.device)
        both = [F.cross_entropy(scores, gold_B, reduction="sum") for scores in (scores_BB, scores_BB.t())]
        return (both[0] + both[1]) / 2, batch.n_tokens

    return loss_fn


def _equal_rows(ids: Tensor) -> Tensor:
    """True where two rows are the same, (B, B)."""
    return (ids[:, None] == ids[None, :]).all(dim=2)
