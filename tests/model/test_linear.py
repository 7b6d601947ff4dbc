"""The linear layer's two products: oneDNN's is PyTorch's but for rounding, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from yiwen.model.linear import Linear, has_onednn, onednn_product, torch_product, use_product

needs_onednn = pytest.mark.skipif(not has_onednn(torch.float32), reason="this build of torch has no oneDNN")
needs_bf16 = pytest.mark.skipif(not has_onednn(torch.bfloat16), reason="oneDNN has no bf16 on this processor")
NARROW, WIDE = (5, 13), (13, 5)
"""Inputs and outputs; of the two products that give the weight's gradient, each takes one."""


def arguments(shape: tuple[int, ...], widths: tuple[int, int], needing: str = "xwb") -> list[Tensor]:
    """x, weight and bias, of which those named ask for a gradient."""
    generator = torch.Generator().manual_seed(1)
    n_in, n_out = widths
    drawn = [torch.randn(each, generator=generator) for each in ((*shape, n_in), (n_out, n_in), (n_out,))]
    return [tensor.requires_grad_(name in needing) for name, tensor in zip("xwb", drawn, strict=True)]


def gradients(y: Tensor, given: list[Tensor]) -> list[Tensor]:
    """Of a sum in which every number of y has a weight of its own."""
    weights = torch.arange(1.0, 1.0 + y.numel()).view_as(y) / y.numel()
    return list(torch.autograd.grad((y.float() * weights).sum(), [each for each in given if each.requires_grad]))


@needs_onednn
@pytest.mark.parametrize("with_relu", [False, True])
@pytest.mark.parametrize("widths", [NARROW, WIDE])
@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 3, 11)])
def test_onednn_computes_what_torch_computes(shape: tuple[int, ...], widths: tuple[int, int], with_relu: bool) -> None:
    given = arguments(shape, widths)
    ours, theirs = (product(*given, with_relu) for product in (onednn_product, torch_product))
    assert ours.shape == (*shape, widths[1])
    assert with_relu == bool((ours == 0).any())
    assert torch.allclose(ours, theirs, atol=1e-5)
    for mine, other in zip(gradients(ours, given), gradients(theirs, given), strict=True):
        assert mine.shape == other.shape
        assert torch.allclose(mine, other, atol=1e-5)


@needs_onednn
@pytest.mark.parametrize("needing", ["x", "w", "b", "xw", "wb"])
def test_whatever_asks_for_a_gradient_gets_it(needing: str) -> None:
    given = arguments((7,), NARROW, needing)
    ours, theirs = (gradients(product(*given, True), given) for product in (onednn_product, torch_product))
    assert len(ours) == len(needing)
    assert all(torch.allclose(*both, atol=1e-5) for both in zip(ours, theirs, strict=True))


@needs_onednn
def test_a_second_derivative_is_refused() -> None:
    x, w, b = arguments((7,), NARROW)
    (grad,) = torch.autograd.grad((onednn_product(x, w, b, False) ** 2).sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()


@needs_onednn
def test_without_gradients_the_product_is_the_same_to_the_bit() -> None:
    given = arguments((2, 3), WIDE)
    with torch.inference_mode():
        inferred = onednn_product(*given, True)
    assert not inferred.requires_grad
    assert torch.equal(inferred, onednn_product(*given, True))


@needs_onednn
def test_no_rows_give_no_rows() -> None:
    assert onednn_product(*arguments((0, 3), WIDE), False).shape == (0, 3, WIDE[1])


@needs_bf16
@pytest.mark.parametrize("widths", [NARROW, WIDE])
def test_in_bf16_gradients_keep_their_types(widths: tuple[int, int]) -> None:
    given = arguments((2, 3), widths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = onednn_product(*given, True)
    assert y.dtype == torch.bfloat16
    exact = gradients(torch_product(*given, True), given)
    for mine, other in zip(gradients(y, given), exact, strict=True):
        assert mine.dtype == torch.float32
        assert torch.allclose(mine, other, rtol=0.05, atol=0.05)


@needs_onednn
def test_every_linear_layer_of_a_model_gets_the_product() -> None:
    inner, outer = Linear(5, 7), Linear(7, 3)
    model = torch.nn.Sequential(inner, torch.nn.Linear(7, 7), outer)
    use_product(model, onednn_product)
    assert (inner.product, outer.product) == (onednn_product, onednn_product)
    assert torch.allclose(inner(torch.ones(2, 5)), torch.nn.Linear.forward(inner, torch.ones(2, 5)), atol=1e-6)
