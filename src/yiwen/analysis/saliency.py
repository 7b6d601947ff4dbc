"""What a translation depends on: source subwords by gradient and by erasure, and heads by what losing them would cost.

All of them ask about log p(y_t | x, y_<t) of a given translation. Shapes: S source length and T target length, both
with eos, D d_model, H heads, C target positions at a time.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from yiwen.data.batching import Batch, collate
from yiwen.engines.engine import Ids
from yiwen.model.attention import Attend, CrossAttention, SelfAttention, attending, plain_attention
from yiwen.model.encoder import EncoderLayer
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer
from yiwen.tasks.translate import log_probs_of

CHUNK: Final = 16
"""Copies of the sentence that pass through the model together."""


def gradient_times_input(model: Transformer, src_ids: Ids, tgt_ids: Ids) -> np.ndarray:
    """How strongly log p(y_t) hangs on the embedding of each source subword, to first order: (T, S).

    The sum of |gradient x embedding| over the D dimensions (Atanasova et al. 2020, section 3). The plain sum says
    little here: behind a layer norm the size of an embedding hardly matters, so that its dimensions cancel out.
    """
    rows = []
    for places in torch.split(torch.arange(len(tgt_ids) + 1), CHUNK):
        batch = collate([src_ids] * len(places), [tgt_ids] * len(places))
        x_CSD = model.src_embedding(batch.src_ids).detach().requires_grad_()
        with torch.enable_grad():
            gold_CT = _gold_log_probs(model, batch, x_CSD)
            (gradient_CSD,) = torch.autograd.grad(gold_CT.gather(1, places[:, None]).sum(), x_CSD)
        rows.append((gradient_CSD * x_CSD).abs().sum(dim=2).detach())
    return torch.cat(rows).numpy()


@torch.inference_mode()
def erasure(model: Transformer, src_ids: Ids, tgt_ids: Ids) -> np.ndarray:
    """How much log p(y_t) falls when the embedding of a source subword is set to zero: (T, S) (Li et al. 2016)."""
    n_src = len(src_ids) + 1
    whole_T = _gold_log_probs(model, collate([src_ids], [tgt_ids]))[0]
    columns = []
    for places in torch.split(torch.arange(n_src), CHUNK):
        is_kept_CS = 1.0 - F.one_hot(places, n_src)
        batch = collate([src_ids] * len(places), [tgt_ids] * len(places))
        x_CSD = model.src_embedding(batch.src_ids) * is_kept_CS[:, :, None]
        columns.append(whole_T - _gold_log_probs(model, batch, x_CSD))
    return torch.cat(columns).T.numpy()


def head_importance(model: Transformer, src_ids: Ids, tgt_ids: Ids) -> dict[str, np.ndarray]:
    """How much log p(y) would change, to first order, if a head's output were scaled (Michel et al. 2019, section 4.1).

    Returns:
        `encoder`, `decoder` and `cross`, each (layers, H): absolute derivative by a gate of 1 on the head, divided by
        the norm of its layer's as the authors do.
    """
    heads = {name: [module.heads for module in modules] for name, modules in attentions(model).items()}
    n_heads = model.config.n_heads
    gates = {name: torch.ones(len(found), 1, n_heads, 1, 1, requires_grad=True) for name, found in heads.items()}
    ways = {module: _gated(gate) for name in heads for module, gate in zip(heads[name], gates[name], strict=True)}
    with torch.enable_grad(), attending(ways):
        log_prob = _gold_log_probs(model, collate([src_ids], [tgt_ids])).sum()
        derivatives = torch.autograd.grad(log_prob, list(gates.values()))
    rows = {name: derivative.flatten(1).abs() for name, derivative in zip(gates, derivatives, strict=True)}
    return {name: (row / row.norm(dim=1, keepdim=True).clamp_min(1e-20)).numpy() for name, row in rows.items()}


def attentions(model: Transformer) -> dict[str, list[SelfAttention] | list[CrossAttention]]:
    """The attention modules by kind, first layer first."""
    return {
        "encoder": [cast(EncoderLayer, layer).self_attention for layer in model.encoder.layers],
        "decoder": [layer.self_attention for layer in model.decoder],
        "cross": [layer.cross_attention for layer in model.decoder],
    }


def _gated(gate: Tensor) -> Attend:
    """Attention whose heads are scaled by a gate, (1, H, 1, 1)."""
    return lambda q, k, v, bias, dropout_p: plain_attention(q, k, v, bias) * gate


def _gold_log_probs(model: Transformer, batch: Batch, x_CSD: Tensor | None = None) -> Tensor:
    """Log-probability of each target token, (C, T), with these source embeddings in place of the model's own."""
    hook = model.src_embedding.register_forward_hook(lambda *_: x_CSD)  # a hook that gives None changes nothing
    try:
        memory_CSD = model.encode(batch.src_ids)
    finally:
        hook.remove()  # before the decoder runs: it may use the same matrix
    states_CTD = model.decode(batch.tgt_in, memory_CSD, padding_mask(batch.src_ids, model.pad_id))
    return log_probs_of(model.logits(states_CTD)).gather(2, batch.tgt_out[..., None])[..., 0]
