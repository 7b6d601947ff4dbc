"""Length penalties: without one, every added token lowers a hypothesis and short translations win.

Imports no torch.
"""

from __future__ import annotations

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis


def length_divisor(length: int, config: SearchConfig) -> float:
    """What the log-probability of a hypothesis of `length` subwords (eos counted) is divided by.

    gnmt: ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14); average: length^alpha; none: 1.
    With alpha = 0.6 and 7 subwords gnmt gives 2^0.6 = 1.516.
    """
    match config.penalty:
        case "gnmt":
            return float(((5 + length) / 6) ** config.length_penalty)
        case "average":
            return float(max(length, 1) ** config.length_penalty)
        case "none":
            return 1.0


def scored(ids: tuple[int, ...], log_prob: float, config: SearchConfig, *, is_finished: bool = True) -> Hypothesis:
    """A hypothesis with its score; eos counts where it was reached."""
    return Hypothesis(ids, log_prob / length_divisor(len(ids) + is_finished, config), log_prob, is_finished)
