"""How much a text holds, measured so that a sentence and its translation hold the same.

A translation is short when it has few subwords for its source, but two subwords are not worth the same: one source word
becomes three, another none. So each subword of either side gets a weight, learnt from training text such that the sums
of both sides agree: least squares with a ridge, of one side's weights, then of the other's. That is the first
direction of a canonical correlation analysis (Hotelling 1936) stopped after its first turn, near where all count alike;
further turns find what correlates best, which is no longer what a sentence says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from yiwen.data.store import Store
    from yiwen.engines.engine import Ids

SPARED: Final = 5.0
"""Subwords added to both sides, to spare short ones."""
RIDGE: Final = 3.0
"""How strongly a weight is held to what all subwords weigh; a subword that was never met weighs just that."""
LEAST_WEIGHT: Final = 0.05
"""No subword weighs less: nothing can be left out for nothing."""
N_STEPS: Final = 30
"""Steps of conjugate gradients."""


@dataclass(frozen=True)
class Weights:
    """What `weights.json` says: of each id of either side what it weighs, in target subwords."""

    src: tuple[float, ...]
    tgt: tuple[float, ...]

    def shortness(self, src_ids: Ids, tgt_ids: Ids) -> float:
        """How short a translation is: log of what the source weighs over what the translation does."""
        whole, part = sum(self.src[id_] for id_ in src_ids), sum(self.tgt[id_] for id_ in tgt_ids)
        return math.log((whole + SPARED) / (part + SPARED))


class _Side(NamedTuple):
    """One side of all pairs."""

    ids: np.ndarray
    """Its subwords, pair after pair."""
    rows: np.ndarray
    """The pair of each."""

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """What each pair weighs."""
        import numpy as np

        return np.bincount(self.rows, weights[self.ids])


def learn_weights(store: Store) -> Weights:
    """Weights by which both sides of the training pairs weigh about the same."""
    import numpy as np

    from yiwen.data.lexical import sample

    sides = sample(store)
    src, tgt = (_Side(np.concatenate(side), np.repeat(np.arange(len(side)), list(map(len, side)))) for side in sides)
    src_even = np.full(store.source.vocab_size, len(tgt.ids) / len(src.ids))
    tgt_even = np.ones(store.target.vocab_size)
    src_weights = _fitted(src, src_even, tgt.sums(tgt_even))
    tgt_weights = _fitted(tgt, tgt_even, src.sums(src_weights))
    src_weights = _fitted(src, src_even, tgt.sums(tgt_weights))
    return Weights(tuple(src_weights.round(3).tolist()), tuple(tgt_weights.round(3).tolist()))


def _fitted(side: _Side, even: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Weights near `even` by which the pairs of a side weigh what is wanted, by conjugate gradients.

    A pair's error counts by 1 / wanted, as if it varied like a sum of that many independent words.
    """
    import numpy as np

    def per_subword(of_pairs: np.ndarray) -> np.ndarray:
        return np.bincount(side.ids, (of_pairs / wanted)[side.rows], minlength=len(even))

    change = np.zeros_like(even)
    residual = per_subword(wanted - side.sums(even))
    direction, size = residual, residual @ residual
    for _ in range(N_STEPS):
        if size == 0:
            break
        turned = per_subword(side.sums(direction)) + RIDGE * direction
        step = size / (direction @ turned)
        change, residual = change + step * direction, residual - step * turned
        size, before = residual @ residual, size
        direction = residual + size / before * direction
    fitted: np.ndarray = np.maximum(even + change, LEAST_WEIGHT)
    return fitted
