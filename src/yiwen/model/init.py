"""First values of the weights: Glorot and Bengio 2010 (Xavier, uniform) for matrices, as in the paper's own code."""

from __future__ import annotations

import torch
from torch import nn

from yiwen.model.attention import CrossAttention, SelfAttention
from yiwen.model.layers import GatedFeedForward
from yiwen.model.positions import LearnedPositions


@torch.no_grad()
def initialise(model: nn.Module, d_model: int) -> None:
    """Fill every parameter of a freshly built model in place, from the default generator.

    Matrices are Xavier-uniform, biases zero, norms one. Embeddings are normal with deviation d_model^-0.5, so that
    after the scaling by sqrt(d_model) (section 3.4) they have variance 1, and as output weights give logits of
    variance 1. A matrix that holds several projections is filled part by part: its parts are separate matrices
    that happen to be multiplied at once, and the bound depends on each one's own shape.
    """
    for module in model.modules():
        match module:
            case SelfAttention():
                _linear(module.qkv_proj, [module.qkv_proj.in_features, module.heads.d_kv, module.heads.d_kv])
            case CrossAttention():
                _linear(module.kv_proj, [module.heads.d_kv, module.heads.d_kv])
            case GatedFeedForward():
                _linear(module.gate_inner, [module.gate_inner.out_features // 2] * 2)
            case nn.Embedding():
                nn.init.normal_(module.weight, std=d_model**-0.5)
            case LearnedPositions():
                nn.init.normal_(module.weight, std=0.02)
    filled = {"qkv_proj", "kv_proj", "gate_inner"}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] not in filled:
            _linear(module, [module.out_features])


def _linear(linear: nn.Linear, parts: list[int]) -> None:
    for weight in torch.split(linear.weight, parts):
        nn.init.xavier_uniform_(weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
