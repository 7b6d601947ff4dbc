"""Muon: torch's own is the reference; the singular values say what orthogonal means."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from yiwen.training.muon import Muon, orthogonal

SHAPES = ((3, 7), (7, 3), (5, 5), (3, 7))


def parameters(seed: int = 0) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def give_gradients(matrices: list[nn.Parameter], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for matrix in matrices:
        matrix.grad = torch.randn(matrix.shape, generator=generator)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 1e-2), (torch.float32, 3e-2)])
def test_steps_are_those_of_torch_but_for_rounding(dtype: torch.dtype, tolerance: float) -> None:
    ours, theirs = parameters(), parameters()
    muon = Muon(ours, lr=0.1, weight_decay=0.3, dtype=dtype)
    reference = torch.optim.Muon(theirs, lr=0.1, momentum=0.95, weight_decay=0.3, adjust_lr_fn="match_rms_adamw")
    for seed in range(5):
        give_gradients(ours, seed)
        give_gradients(theirs, seed)
        muon.step()
        reference.step()
    start = parameters()
    for mine, other, first in zip(ours, theirs, start, strict=True):
        moved = (other - first).norm()
        assert (mine - other).norm() < tolerance * moved
        assert moved > 0.1
    for mine, other in zip(ours, theirs, strict=True):  # a checkpoint of either goes on in the other
        assert torch.allclose(muon.state[mine]["momentum_buffer"], reference.state[other]["momentum_buffer"])


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 7, 3), (1, 5, 5)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int, int]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    u, _, vh = torch.linalg.svd(matrices, full_matrices=False)
    found = u.mT @ orthogonal(matrices) @ vh.mT
    diagonal = found.diagonal(dim1=1, dim2=2)
    assert ((diagonal > 0.68) & (diagonal < 1.21)).all()
    assert torch.allclose(found, torch.diag_embed(diagonal), atol=1e-9)


@pytest.mark.parametrize(("small", "found"), [(1e-4, 0.0485), (1e-3, 0.472), (0.0016, 0.722), (0.01, 0.698)])
def test_a_very_small_singular_value_stays_smaller(small: float, found: float) -> None:
    matrix = torch.tensor([[1.0, 0.0, 0.0], [0.0, small, 0.0]], dtype=torch.float64)
    assert orthogonal(matrix[None])[0, 1, 1].item() == pytest.approx(found, rel=0.01)


def test_the_size_of_a_gradient_changes_nothing() -> None:
    matrices = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(orthogonal(1e-6 * matrices), orthogonal(matrices))


def test_a_matrix_without_gradient_stays() -> None:
    matrices = parameters()
    give_gradients(matrices, 1)
    matrices[1].grad = None
    before = [matrix.detach().clone() for matrix in matrices]
    Muon(matrices, lr=0.1).step()
    moved = [not torch.equal(now, then) for now, then in zip(matrices, before, strict=True)]
    assert moved == [True, False, True, True]


def test_a_gradient_of_zero_moves_nothing() -> None:
    (matrix,) = parameters()[:1]
    before = matrix.detach().clone()
    matrix.grad = torch.zeros_like(matrix)
    Muon([matrix], lr=0.1).step()
    assert torch.equal(matrix, before)


def test_a_group_without_any_gradient_stays_as_it_is() -> None:
    matrices = parameters()
    muon = Muon([{"params": matrices[:2]}, {"params": matrices[2:]}], lr=0.1, weight_decay=0.3)
    give_gradients(matrices[2:], 1)
    muon.step()
    assert [torch.equal(*both) for both in zip(matrices, parameters(), strict=True)] == [True, True, False, False]
