"""Sinusoids worked by hand, and what each of the four ways promises about order and distance."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from torch_default import DEFAULTS, torch_making
from yiwen.model.positions import (
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
    alibi_bias,
    alibi_slopes,
    sinusoids,
)


def test_sinusoids_have_the_values_of_section_3_5_worked_by_hand() -> None:
    # d_model 4: the frequencies are 1 and 10000^(-2/4) = 1/100.
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.8414710, 0.5403023, 0.0099998, 0.9999500],
        [0.9092974, -0.4161468, 0.0199987, 0.9998000],
        [0.1411200, -0.9899925, 0.0299955, 0.9995500],
    ]
    torch.testing.assert_close(sinusoids(4, 4), torch.tensor(expected), rtol=0, atol=1e-7)


def test_sinusoids_stay_exact_far_out() -> None:
    # sin(1023) in float32 arithmetic from a float32 angle would still be right, sin(1023 x 10000^(-2/512)) would not.
    table = sinusoids(1024, 512)
    for column in range(0, 512, 62):
        angle = 1023 / 10000 ** (column / 512)
        assert table[1023, column].item() == pytest.approx(math.sin(angle), abs=6e-8)
        assert table[1023, column + 1].item() == pytest.approx(math.cos(angle), abs=6e-8)


@pytest.mark.parametrize("distance", [1, 2, 7])
def test_a_later_position_is_one_linear_function_of_an_earlier(distance: int) -> None:
    # Section 3.5: "for any fixed offset k, PE(pos+k) can be represented as a linear function of PE(pos)".
    table = sinusoids(31, 10).double()
    turn = torch.zeros(10, 10, dtype=torch.float64)
    for i in range(5):
        angle = distance / 10000 ** (2 * i / 10)
        turn[2 * i, 2 * i] = turn[2 * i + 1, 2 * i + 1] = math.cos(angle)
        turn[2 * i, 2 * i + 1], turn[2 * i + 1, 2 * i] = math.sin(angle), -math.sin(angle)
    torch.testing.assert_close(table[:-distance] @ turn.T, table[distance:], rtol=0, atol=1e-6)


def test_no_two_positions_share_a_vector() -> None:
    table = sinusoids(1024, 16)
    nearest = torch.cdist(table, table).fill_diagonal_(torch.inf).min()
    assert nearest > 0.1


def test_added_positions_start_at_the_offset() -> None:
    x_BLD = torch.randn(2, 3, 10)
    fixed, learned = SinusoidalPositions(11, 10), LearnedPositions(11, 10)
    torch.nn.init.normal_(learned.weight)
    for positions, table in ((fixed, fixed.table), (learned, learned.weight)):
        torch.testing.assert_close(positions(x_BLD, 5), x_BLD + table[5:8], rtol=0, atol=0)
        torch.testing.assert_close(positions(x_BLD), x_BLD + table[0:3], rtol=0, atol=0)
        assert positions(x_BLD.bfloat16(), 5).dtype == torch.bfloat16
    assert NoPositions()(x_BLD, 5) is x_BLD


def test_only_learned_positions_are_saved_with_the_weights() -> None:
    assert list(LearnedPositions(11, 10).state_dict()) == ["weight"]
    assert not SinusoidalPositions(11, 10).state_dict()
    assert not RotaryPositions(11, 10).state_dict()


def rotated_score(rotary: RotaryPositions, query_K: Tensor, key_K: Tensor, i: int, j: int) -> float:
    query, key = query_K.view(1, 1, 1, -1), key_K.view(1, 1, 1, -1)
    return (rotary(query, i) * rotary(key, j)).sum().item()


def test_rotary_scores_depend_only_on_the_distance() -> None:
    generator = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, 10, generator=generator)
    rotary = RotaryPositions(1000, 10)
    for distance in (-5, 0, 3):
        scores = [rotated_score(rotary, query, key, start + 5, start + 5 + distance) for start in (0, 2, 101, 983)]
        assert scores == pytest.approx([scores[0]] * 4, abs=1e-5)
    assert rotated_score(rotary, query, key, 7, 7) == pytest.approx((query @ key).item(), abs=1e-6)
    assert abs(rotated_score(rotary, query, key, 7, 8) - rotated_score(rotary, query, key, 8, 7)) > 1e-3


def test_rotary_turns_by_hand_and_keeps_lengths() -> None:
    rotary = RotaryPositions(5, 4)
    x = torch.tensor([1.0, 0.0, 0.0, 2.0]).view(1, 1, 1, 4)
    # Position 2: the first pair turns by 2 radians, the second by 2/100.
    expected = [math.cos(2), math.sin(2), -2 * math.sin(0.02), 2 * math.cos(0.02)]
    assert rotary(x, 2).flatten().tolist() == pytest.approx(expected, abs=1e-6)
    assert rotary(x, 2).norm().item() == pytest.approx(math.sqrt(5), abs=1e-6)


def test_rotary_of_a_sequence_equals_rotary_of_its_positions_one_by_one() -> None:
    rotary = RotaryPositions(11, 10)
    x_BHLK = torch.randn(2, 3, 7, 10)
    whole = rotary(x_BHLK, 4)
    for t in range(7):
        torch.testing.assert_close(rotary(x_BHLK[:, :, t : t + 1], 4 + t), whole[:, :, t : t + 1], rtol=0, atol=0)


def test_alibi_slopes_of_8_heads_halve_from_one_half() -> None:
    # Press et al. 2022, section 3: 1/2, 1/4, ... 1/256.
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_alibi_slopes_of_12_heads_continue_with_every_second_of_16() -> None:
    # The 8 of 8 heads, then 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5 from the 16-head series 2^-0.5, 2^-1, 2^-1.5, ...
    expected = [2.0**-n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("default", DEFAULTS)
def test_distances_are_the_same_whatever_torch_makes_tensors_of(default: torch.device | torch.dtype) -> None:
    expected = alibi_bias(12, 3, 5, device=torch.device("cpu"))
    with torch_making(default):
        found = alibi_bias(12, 3, 5, device=torch.device("cpu"))
        assert alibi_bias(12, 3, 5).device.type == ("meta" if default == DEFAULTS[0] else "cpu")
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 6, 7, 12, 16])
def test_every_head_has_a_slope_of_its_own(n_heads: int) -> None:
    slopes = alibi_slopes(n_heads).tolist()
    assert len(slopes) == len(set(slopes)) == n_heads
    assert all(0 < slope < 1 for slope in slopes)


def test_alibi_bias_worked_by_hand() -> None:
    bias = alibi_bias(2, 2, 3, device=torch.device("cpu"))  # slopes 1/16 and 1/256; queries at 1 and 2
    assert bias.shape == (1, 2, 2, 3)
    assert (bias[0, 0] * -16).tolist() == [[1, 0, 1], [2, 1, 0]]
    assert (bias[0, 1] * -256).tolist() == [[1, 0, 1], [2, 1, 0]]


def test_alibi_bias_of_a_step_is_the_last_row_of_the_whole() -> None:
    device = torch.device("cpu")
    whole = alibi_bias(3, 7, 7, device=device)
    for t in range(7):
        step = alibi_bias(3, 1, t + 1, device=device)
        assert torch.equal(step, whole[:, :, t : t + 1, : t + 1])
