"""Translation as a task: its loss, and the forced log-probabilities of a given translation."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.model.transformer import Transformer
from yiwen.tasks.loss import LossFn, chunked_loss
from yiwen.tasks.rdrop import rdrop_loss


def translation_loss(smoothing: float, *, rdrop: float = 0.0) -> LossFn:
    """Label-smoothed cross-entropy of the next target token, summed over real tokens; above 0, R-Drop of that alpha."""

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        transformer = cast(Transformer, model)
        real_BT = batch.tgt_out != transformer.pad_id
        weight_VD, gold_N = transformer.output_weight, batch.tgt_out[real_BT]
        if rdrop > 0:  # both passes at once, as one batch of twice the rows
            states_BTD = model(batch.src_ids.repeat(2, 1), batch.tgt_in.repeat(2, 1))
            states_2ND = states_BTD.unflatten(0, (2, -1))[:, real_BT]
            return rdrop_loss(states_2ND, weight_VD, gold_N, smoothing=smoothing, alpha=rdrop), batch.n_tokens
        states_ND = model(batch.src_ids, batch.tgt_in)[real_BT]
        return chunked_loss(states_ND, weight_VD, gold_N, smoothing=smoothing), batch.n_tokens

    return loss_fn


def forced_log_probs(model: Transformer, batch: Batch) -> Tensor:
    """Log-probability of each gold token given the source and the tokens before it: (B, T), 0 at padding."""
    log_probs_BTV = model.logits(model(batch.src_ids, batch.tgt_in)).float().log_softmax(dim=-1)
    gold_BT = log_probs_BTV.gather(2, batch.tgt_out[..., None])[..., 0]
    return torch.where(batch.tgt_out != model.pad_id, gold_BT, 0.0)
