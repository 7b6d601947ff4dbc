"""Linear layers with their weights stored the way the processor's matrix products want them.

A plain product brings its weights into blocks anew at every call, which for the few rows of a decoding step is half of
its time; in float32 these products are also twice as fast as the default ones on processors that are not Intel's.
"""

from __future__ import annotations

from typing import Final, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.transformer import Transformer

SMALL: Final = 2**20
"""Multiplications below which a product takes less time than oneDNN's preparations for one."""


class PackedLinear(nn.Module):
    """x A^T + b in float32 or bf16, for inference on a CPU: (..., in) -> (..., out), in that type.

    Products of few rows are computed in float32 by the default library, which starts them faster.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.to(dtype), None)
        self.packed_bias = None if self.bias is None else self.bias.to(dtype)

    def forward(self, x: Tensor, *, with_relu: bool = False) -> Tensor:
        """(..., in) -> (..., out)."""
        if x.numel() * self.weight.size(0) < SMALL:
            y = F.linear(x.float(), self.weight, self.bias)
            return (y.relu_() if with_relu else y).to(self.dtype)
        then = "relu" if with_relu else "none"
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), self.packed, self.packed_bias, then, [], "")
        return out


def pack(model: Transformer, dtype: torch.dtype) -> None:
    """Replace every product with a weight in a float32 model on a CPU; from then on it can only infer.

    Args:
        model: Changed in place. What is no such product (embeddings, norms) keeps its float32 weights.
        dtype: What the products multiply, and what activations are between them: float32 or bfloat16.
    """
    output_weight = model.output_weight
    pack_layers(model, dtype)
    model.output_proj = cast(nn.Linear, PackedLinear(output_weight, None, dtype))
    model.activation_dtype = dtype


def pack_layers(model: nn.Module, dtype: torch.dtype) -> None:
    """Replace the linear layers of a module, in place."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child.weight, child.bias, dtype))
