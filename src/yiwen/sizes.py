"""How large a model, its vocabulary and its training should be for a corpus of so many pairs, and why."""

from __future__ import annotations

from dataclasses import dataclass
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
    optimizer: tuple[str, float, int]
    """Name, learning rate, warm-up in updates."""
    advice: str
    """What its owner should know."""


SIZES: Final = (
    # Forty times through so little text is learning by heart, unless much of it is hidden each time.
    Size(
        below=5_000,
        name="very little text",
        preset="tiny",
        dropout=0.4,
        vocab_size=4_000,
        epochs=40,
        update_tokens=0,
        batch_tokens=2048,
        optimizer=("muon", 0.008, 200),
        advice="So few pairs teach phrases, not a language; more text helps more than any setting.",
    ),
    # Measured on 20,000 to 30,000 pairs (the recipes tatoeba-en-zh and multi30k-en-de): a wider model scored no better.
    Size(
        below=50_000,
        name="little text",
        preset="tiny",
        dropout=0.3,
        vocab_size=8_000,
        epochs=25,
        update_tokens=0,
        batch_tokens=4096,
        optimizer=("muon", 0.008, 400),
        advice="Two processor cores are enough: about a quarter of an hour.",
    ),
    # Sennrich and Zhang 2019 on low-resource translation: small vocabularies and strong dropout, still.
    Size(
        below=500_000,
        name="a fair amount of text",
        preset="small",
        dropout=0.2,
        vocab_size=12_000,
        epochs=20,
        update_tokens=8_000,
        batch_tokens=4096,
        optimizer=("adamw", 1e-3, 2_000),
        advice="Hours on a processor; a GPU is worth having.",
    ),
    # Vaswani et al. 2017, section 5: base, 4.5 million pairs, 100,000 updates of 25,000 tokens are some 20 epochs.
    Size(
        below=5_000_000,
        name="much text",
        preset="base",
        dropout=0.1,
        vocab_size=32_000,
        epochs=20,
        update_tokens=25_000,
        batch_tokens=8192,
        optimizer=("adamw", 7e-4, 4_000),
        advice="You want a GPU for this.",
    ),
    # The same, Table 3: big gains one BLEU over base and takes three times as long; dropout 0.1 where text abounds.
    Size(
        below=float("inf"),
        name="a great deal of text",
        preset="big",
        dropout=0.1,
        vocab_size=32_000,
        epochs=20,
        update_tokens=25_000,
        batch_tokens=8192,
        optimizer=("adamw", 5e-4, 4_000),
        advice='You want a GPU and some days for this; preset = "base" takes a third of the time.',
    ),
)
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
