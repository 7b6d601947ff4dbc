"""What a translation weighs beside its source."""

from __future__ import annotations

import math

import pytest

from yiwen.evaluation.omission import SPARED, Weights


def test_shortness_grows_as_a_translation_shrinks() -> None:
    weights = Weights((1.0, 2.0), (0.5, 3.0))
    assert weights.shortness([0, 1], [1]) == 0.0
    assert weights.shortness([0, 1, 1], [1]) == pytest.approx(math.log((5 + SPARED) / (3 + SPARED)))
    assert weights.shortness([1], [1, 0]) == pytest.approx(-math.log((3.5 + SPARED) / (2 + SPARED)))
    assert weights.shortness([], []) == 0.0
