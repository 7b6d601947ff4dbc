"""How large a model, its vocabulary and its training should be for a corpus of so many pairs, and why."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Size:
    """What fits a corpus of up to so many pairs."""

    below: float
    """Pairs."""
    name: str
    """What it is called in the recipe."""
    preset: str
    """Of the model."""
    dropout: float
    vocab_size: int
    epochs: int
    """Times through the text."""
    update_tokens: int
    """Target tokens an update, of which `batch_tokens` at a time."""
    batch_tokens: int
    optimizer: str
    learning_rate: float
    warmup_steps: int
    advice: str
    """What its owner should know."""


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SIZES: Final = tuple(Size(**row) for row in _TABLE["sizes"])
"""Classes of corpora, smallest first."""

FEWEST_STEPS: Final = 500
"""Updates below which hardly anything is learnt, however small the corpus."""

MAX_STEPS: Final = 300_000
"""Updates of the big model in the paper; more are seldom worth it."""

LETTERLIKE: Final = ("Han", "Japanese", "Korean")
"""Scripts of thousands of characters: each wants a subword of its own."""


def size_for(n_pairs: int) -> Size:
    """The class of a corpus."""
    return next(size for size in SIZES if n_pairs < size.below)
