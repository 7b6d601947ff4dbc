"""Length penalties worked by hand."""

from __future__ import annotations

import pytest

from yiwen.search.config import SearchConfig
from yiwen.search.penalties import length_divisor


@pytest.mark.parametrize(
    ("penalty", "alpha", "length", "divisor"),
    [
        ("gnmt", 0.6, 7, 2**0.6),  # ((5 + 7) / 6)^0.6, Wu et al. 2016, equation 14
        ("gnmt", 1.0, 1, 1.0),
        ("gnmt", 1.0, 25, 5.0),
        ("gnmt", 0.0, 25, 1.0),
        ("average", 1.0, 7, 7.0),
        ("average", 0.5, 9, 3.0),
        ("average", 0.0, 9, 1.0),
        ("average", 1.0, 0, 1.0),  # cut before its first token: nothing to divide
        ("none", 1.0, 7, 1.0),
    ],
)
def test_divisors_are_the_formulas(penalty: str, alpha: float, length: int, divisor: float) -> None:
    config = SearchConfig(penalty=penalty, length_penalty=alpha)
    assert length_divisor(length, config) == pytest.approx(divisor, rel=1e-12)
