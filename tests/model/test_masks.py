"""Who may look at whom, written out."""

from __future__ import annotations

import pytest
import torch

from yiwen.model.masks import attention_bias, causal_mask, padding_mask, target_mask

CPU = torch.device("cpu")


def test_padding_mask_is_true_at_real_tokens() -> None:
    mask = padding_mask(torch.tensor([[5, 7, 0], [5, 0, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert padding_mask(torch.tensor([[5, 7, 0]]), pad_id=7).flatten().tolist() == [True, False, True]


def test_causal_mask_is_the_lower_triangle() -> None:
    assert causal_mask(3, CPU)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_target_mask_joins_both() -> None:
    mask = target_mask(torch.tensor([[2, 5, 7], [2, 5, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask[1, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]  # even the padded query sees something


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_bias_is_zero_where_allowed_and_leaves_no_weight_where_forbidden(dtype: torch.dtype) -> None:
    bias = attention_bias(torch.tensor([[True, False, True]]), dtype)
    assert bias.dtype == dtype
    assert (bias[0, 0], bias[0, 2]) == (0, 0)
    for score in (-300.0, 0.0, 300.0):  # a forbidden place may even have the best score by far
        weights = (torch.tensor([[0.0, score, 0.0]], dtype=dtype) + bias).softmax(dim=-1)
        assert weights.tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_that_may_look_nowhere_gives_no_nan(dtype: torch.dtype) -> None:
    bias = attention_bias(torch.zeros(1, 3, dtype=torch.bool), dtype)
    for scores in ([-300.0, 0.0, 300.0], [-300.0, -100.0, -200.0]):
        assert (torch.tensor([scores], dtype=dtype) + bias).softmax(dim=-1).isfinite().all()
