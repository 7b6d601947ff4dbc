"""Minimum Bayes risk decoding: of many candidates, the one that the others agree with most.

The likeliest translation is often a short or an odd one. Candidates drawn from the model stand for what it finds
plausible, and the one with the highest mean utility against all of them is chosen (Eikema and Aziz 2020; Freitag et
al. 2022). The utility is chrF2 (Popovic 2015), as sacreBLEU computes it for one sentence. Imports no torch.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final

N_ORDERS: Final = 6
"""Longest character n-gram."""
_BETA_SQUARED: Final = 4
"""Recall counts twice as much as precision."""

Grams = tuple[dict[str, int], ...]
"""How often each n-gram occurs, for n from 1 to N_ORDERS."""


def by_agreement(texts: Sequence[str]) -> list[int]:
    """Places of the candidates, the one with the highest mean chrF against all of them first; of equals the first."""
    grams = {text: grams_of(text) for text in texts}
    scores: dict[tuple[str, str], float] = {}
    for one, other in itertools.combinations_with_replacement(grams, 2):
        scores[one, other], scores[other, one] = chrf(grams[one], grams[other])
    utility = {text: sum(scores[text, other] for other in texts) for text in grams}
    return sorted(range(len(texts)), key=lambda place: -utility[texts[place]])


def grams_of(text: str) -> Grams:
    """Character n-grams of a text without its spaces."""
    joined = "".join(text.split())
    return tuple(Counter(joined[at : at + n] for at in range(len(joined) - n + 1)) for n in range(1, N_ORDERS + 1))


def chrf(one: Grams, other: Grams) -> tuple[float, float]:
    """chrF2 of one against the other and the other way round, 0 to 1: what they share is counted once for both.

    The F-score of mean precision and mean recall over the orders that both are long enough for.
    """
    precisions, recalls = [], []
    for ours, theirs in zip(one, other, strict=True):
        if ours and theirs:
            shared = ours.keys() & theirs.keys()
            n_equal = sum(map(min, map(ours.__getitem__, shared), map(theirs.__getitem__, shared)))
            precisions.append(n_equal / sum(ours.values()))
            recalls.append(n_equal / sum(theirs.values()))
    p, r, n_orders = sum(precisions), sum(recalls), len(precisions)
    if p + r == 0:
        return 0.0, 0.0
    a = _BETA_SQUARED
    return (1 + a) * p * r / (a * p + r) / n_orders, (1 + a) * r * p / (a * r + p) / n_orders
