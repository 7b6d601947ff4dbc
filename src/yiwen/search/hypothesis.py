"""What a search finds. Imports no torch."""

from __future__ import annotations

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
