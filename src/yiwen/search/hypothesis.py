"""What a search finds. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One translation, as subwords."""

    ids: tuple[int, ...]
    """Subword ids without bos and eos."""
    score: float
    """Log-probability divided by the length penalty: what hypotheses are ordered by."""
    log_prob: float
    """Natural logarithm of its probability, eos included where it was reached."""
    is_finished: bool
    """False where the length limit cut it."""


def best_first(found: Sequence[Hypothesis], n_first: int | None = None) -> list[Hypothesis]:
    """By their scores; the first `n_first`, where given, before all others."""
    n = len(found) if n_first is None else n_first
    return [hypothesis for part in (found[:n], found[n:]) for hypothesis in sorted(part, key=lambda h: -h.score)]
