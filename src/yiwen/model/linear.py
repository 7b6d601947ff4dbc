"""The linear layer, y = x W^T + b, and the ways to compute its product.

Two thirds of training are spent in it. oneDNN, called directly, adds the bias and applies ReLU while a product is still
in the processor's cache, and in float32 it is twice as fast as the MKL that PyTorch calls on processors which MKL does
not favour. `hardware` measures which way is the faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

Product = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""(x (..., I), weight (O, I), bias (O,), with ReLU) -> (..., O)."""


def torch_product(x: Tensor, weight: Tensor, bias: Tensor | None, with_relu: bool) -> Tensor:
    """x W^T + b as PyTorch computes it, with max(0, .) around it where asked for."""
    y = F.linear(x, weight, bias)
    return F.relu(y) if with_relu else y


def onednn_product(x: Tensor, weight: Tensor, bias: Tensor, with_relu: bool) -> Tensor:
    """The same by oneDNN, on a CPU, in autocast's type where it is on."""
    dtype = compute_dtype(x)
    if torch.is_grad_enabled():
        return _OneDnnProduct.apply(x, weight, bias, with_relu, dtype)  # type: ignore[no-untyped-call]
    # A step of a search has dozens of these, and each would pay for autograd's way.
    return onednn_linear(x.to(dtype), weight.to(dtype), bias.to(dtype), with_relu)


def has_onednn(dtype: torch.dtype) -> bool:
    """True where this torch can call oneDNN for a linear layer, and oneDNN computes that type on this processor."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):  # type: ignore[no-untyped-call]
        return False
    return dtype == torch.float32 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def compute_dtype(x: Tensor) -> torch.dtype:
    """The type that products of x have: autocast's where it is on, else that of x."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


class Linear(nn.Linear):
    """`nn.Linear` whose product `use_product` can replace. Parameters: weight (O, I), bias (O,)."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        self.product: Product = torch_product

    def forward(self, x: Tensor, *, with_relu: bool = False) -> Tensor:
        """(..., I) -> (..., O)."""
        return self.product(x, self.weight, self.bias, with_relu)


def use_product(model: nn.Module, product: Product) -> None:
    """Give every linear layer of the model the same way to compute its product."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.product = product


class _OneDnnProduct(torch.autograd.Function):
    """oneDNN's product with its gradients, all computed in the type `dtype`, which y has."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, with_relu: bool, dtype: torch.dtype) -> Tensor:
        x_NI, weight_OI = x.to(dtype).flatten(0, -2), weight.to(dtype)
        y = onednn_linear(x_NI, weight_OI, bias.to(dtype), with_relu)
        ctx.save_for_backward(x_NI, weight_OI, y if with_relu else None)
        ctx.x_shape = x.shape
        return y.view(*x.shape[:-1], weight.size(0))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None, None]:
        x_NI, weight_OI, y_NO = ctx.saved_tensors
        grad_NO = grads[0].flatten(0, -2)
        if y_NO is not None:
            grad_NO = torch.ops.aten.threshold_backward(grad_NO, y_NO, 0)
        x_grad = _product(grad_NO, weight_OI).view(ctx.x_shape) if ctx.needs_input_grad[0] else None
        # Of two equal products the one that has to turn the narrower matrix is a sixth faster.
        if x_NI.size(1) <= grad_NO.size(1):
            weight_grad = _product(x_NI.t(), grad_NO).t().contiguous()
        else:
            weight_grad = _product(grad_NO.t(), x_NI)
        return x_grad, weight_grad, grad_NO.sum(dim=0), None, None  # autograd gives each the type of its input


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None, with_relu: bool) -> Tensor:
    """oneDNN's product itself: all of one type, the weight as it is or as oneDNN has reordered it."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "relu" if with_relu else "none", [], "")


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b, for whose float32 PyTorch would call MKL."""
    return a @ b if a.dtype == torch.bfloat16 else onednn_linear(a, b.t(), None, False)
