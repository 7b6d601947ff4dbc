"""Translation as a task: its loss, and the forced log-probabilities of a given translation."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.model.transformer import Transformer
from yiwen.tasks.loss import LossFn, chunked_loss


def translation_loss(smoothing: float) -> LossFn:
    """Label-smoothed cross-entropy of the next target token, summed over real tokens."""

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        transformer = cast(Transformer, model)
        states_BTD = model(batch.src_ids, batch.tgt_in)
        real_BT = batch.tgt_out != transformer.pad_id
        loss_sum = chunked_loss(
            states_BTD[real_BT], transformer.output_weight, batch.tgt_out[real_BT], smoothing=smoothing
        )
        return loss_sum, batch.n_tokens

    return loss_fn


def forced_log_probs(model: Transformer, batch: Batch) -> Tensor:
    """Log-probability of each gold token given the source and the tokens before it: (B, T), 0 at padding."""
    log_probs_BTV = model.logits(model(batch.src_ids, batch.tgt_in)).float().log_softmax(dim=-1)
    gold_BT = log_probs_BTV.gather(2, batch.tgt_out[..., None])[..., 0]
    return torch.where(batch.tgt_out != model.pad_id, gold_BT, 0.0)
