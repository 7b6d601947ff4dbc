"""Translation as a task: its loss, and the forced log-probabilities of a given translation."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch
from yiwen.model.transformer import Transformer
from yiwen.tasks.loss import LossFn, chunked_loss
from yiwen.tasks.rdrop import rdrop_loss
from yiwen.text.subword import BOS_ID, PAD_ID


def translation_loss(smoothing: float, *, rdrop: float = 0.0) -> LossFn:
    """Label-smoothed cross-entropy of the next target token, summed over real tokens; above 0, R-Drop of that alpha."""

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        transformer = cast(Transformer, model)
        weight_VD = transformer.output_weight
        states_PND, gold_N = _states(transformer, batch, n_passes=2 if rdrop > 0 else 1)
        if rdrop > 0:
            loss = rdrop_loss(states_PND, weight_VD, gold_N, smoothing=smoothing, alpha=rdrop)
        else:
            loss = chunked_loss(states_PND[0], weight_VD, gold_N, smoothing=smoothing)
        if batch.packings is not None:  # each token of padding has cost log V
            loss = loss - (gold_N == PAD_ID).sum() * math.log(weight_VD.size(0))
        return loss, batch.n_tokens

    return loss_fn


def _states(model: Transformer, batch: Batch, *, n_passes: int) -> tuple[Tensor, Tensor]:
    """Decoder states of all real target tokens, (P, N, D), each pass with dropout of its own; and the tokens, (N,).

    A packed batch keeps its padding, with states of zeros: all tokens are alike to them, and they give no gradient.
    """
    if batch.packings is not None:
        states = [model.forward_packed(batch.src_ids, batch.tgt_in, *batch.packings)[0] for _ in range(n_passes)]
        return torch.stack(states) * (batch.tgt_out[0] != PAD_ID)[:, None], batch.tgt_out[0]
    real_N = batch.real_tokens()
    # All passes at once, as one batch of so many times the rows.
    states_BTD = model(batch.src_ids.repeat(n_passes, 1), batch.tgt_in.repeat(n_passes, 1))
    states_PND = states_BTD.unflatten(0, (n_passes, -1)).flatten(1, 2).index_select(1, real_N)
    return states_PND, batch.tgt_out.flatten().index_select(0, real_N)


def log_probs_of(logits: Tensor) -> Tensor:
    """Log-probabilities, (..., V), as in every search: of pad and bos, which training never asks for, there is none."""
    never = torch.tensor([PAD_ID, BOS_ID], device=logits.device)
    return logits.index_fill(-1, never, -torch.inf).log_softmax(dim=-1)


def forced_log_probs(model: Transformer, batch: Batch) -> Tensor:
    """Log-probability of each gold token given the source and the tokens before it: (B, T), 0 at padding."""
    log_probs_BTV = log_probs_of(model.logits(model(batch.src_ids, batch.tgt_in)).float())
    gold_BT = log_probs_BTV.gather(2, batch.tgt_out[..., None])[..., 0]
    return torch.where(batch.tgt_out != model.pad_id, gold_BT, 0.0)
