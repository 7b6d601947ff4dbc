"""Linear layers with their weights stored the way the processor's matrix products want them.

A plain product brings its weights into blocks anew at every call, which for the few rows of a decoding step is half of
its time; in float32 these products are also twice as fast as the default ones on processors that are not Intel's.
"""

from __future__ import annotations

from typing import Final, TypeVar, cast

import torch
from torch import Tensor, nn

from yiwen.model.linear import has_onednn, onednn_linear, torch_product
from yiwen.model.text_encoder import TextEncoder
from yiwen.model.transformer import Transformer

Model = TypeVar("Model", Transformer, TextEncoder)

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
            return torch_product(x.float(), self.weight, self.bias, with_relu).to(self.dtype)
        return onednn_linear(x.to(self.dtype), self.packed, self.packed_bias, with_relu)


def ready(model: Model, *, device: str, dtype: torch.dtype) -> Model:
    """The model itself, moved, converted and set to inference; packed where oneDNN computes its products."""
    is_packed = device == "cpu" and has_onednn(dtype)
    model = model.to(device=device, dtype=torch.float32 if is_packed else dtype).eval()
    if is_packed:
        pack(model, dtype)
    return model


def pack(model: Transformer | TextEncoder, dtype: torch.dtype) -> None:
    """Replace every product with a weight in a float32 model on a CPU; from then on it can only infer.

    Args:
        model: Changed in place. What is no such product (embeddings, norms) keeps its float32 weights.
        dtype: What the products multiply, and what activations are between them: float32 or bfloat16.
    """
    if isinstance(model, Transformer):  # before its layers: the output may be one of them
        model.output_proj = cast(nn.Linear, PackedLinear(model.output_weight, None, dtype))
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child.weight, child.bias, dtype))
    model.activation_dtype = dtype
