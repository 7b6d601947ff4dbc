"""How much a text holds, measured so that a sentence and its translation hold the same.

A translation is short when it has few subwords for its source, but two subwords are not worth the same: one source word
becomes three, another none. So each subword of either side gets a weight, learnt from training text such that the sums
of both sides agree: least squares with a ridge, of one side's weights, then of the other's, in turn. That is the first
direction of a canonical correlation analysis (Hotelling 1936), held near where all count alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from yiwen.data.lexical import sample
from yiwen.data.store import Store
from yiwen.evaluation.calibration import Weights
from yiwen.text.subword import Subword

COUNTED: Final = re.compile(r"[\w,،、，;；:：]")
"""What a subword holds that counts. A comma goes with its clause; a full stop stands at the end whatever is missing."""
RIDGE: Final = 2.0
"""How strongly a weight is held to what all subwords weigh; a subword that was never met weighs just that."""
LEAST_WEIGHT: Final = 0.05
"""No subword that counts weighs less: nothing can be left out for nothing."""
N_TURNS: Final = 3
"""How often each side is fitted to the other; further turns find no more."""
N_STEPS: Final = 10
"""Steps of conjugate gradients; further ones find no more either."""


def learn_weights(store: Store) -> Weights:
    """Weights by which both sides of the training pairs weigh about the same."""
    rows = sample(store, store.src_lengths + store.tgt_lengths)
    src, tgt = _Side.of(store.src_ids(rows), store.source), _Side.of(store.tgt_ids(rows), store.target)
    even = len(tgt.ids) / max(len(src.ids), 1)
    src_weights = _fitted(src, even, tgt.sums(np.ones(len(tgt.counts))))
    for _ in range(N_TURNS):
        tgt_weights = _fitted(tgt, 1.0, src.sums(src_weights))
        src_weights = _fitted(src, even, tgt.sums(tgt_weights))
    return Weights(tuple(src_weights.round(3).tolist()), tuple(tgt_weights.round(3).tolist()))


class _Side(NamedTuple):
    """One side of all pairs."""

    ids: np.ndarray
    """The subwords that count, pair after pair."""
    rows: np.ndarray
    """The pair of each."""
    n_pairs: int
    counts: np.ndarray
    """Of each id of the vocabulary whether it counts."""

    @classmethod
    def of(cls, texts: Sequence[np.ndarray], vocabulary: Subword) -> _Side:
        pieces = vocabulary.pieces(range(vocabulary.vocab_size))
        counts = np.array([COUNTED.search(piece) is not None for piece in pieces])
        ids, rows = np.concatenate(texts), np.repeat(np.arange(len(texts)), list(map(len, texts)))
        return cls(ids[counts[ids]], rows[counts[ids]], len(texts), counts)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """What each pair weighs."""
        return np.bincount(self.rows, weights[self.ids], minlength=self.n_pairs)


def _fitted(side: _Side, even: float, wanted: np.ndarray) -> np.ndarray:
    """Weights near `even` by which the pairs of a side weigh what is wanted, by preconditioned conjugate gradients.

    A pair's error counts by 1 / wanted, as if it varied like a sum of that many independent words.
    """
    certainty = 1 / np.maximum(wanted, 1.0)

    def per_subword(of_pairs: np.ndarray) -> np.ndarray:
        return np.bincount(side.ids, (of_pairs * certainty)[side.rows], minlength=len(side.counts))

    weights = np.full(len(side.counts), even)
    residual = per_subword(wanted - side.sums(weights))
    often = per_subword(np.ones(side.n_pairs)) + RIDGE
    direction = residual / often
    size = residual @ direction
    for _ in range(N_STEPS):
        if size == 0:
            break
        turned = per_subword(side.sums(direction)) + RIDGE * direction
        step = size / (direction @ turned)
        weights, residual = weights + step * direction, residual - step * turned
        size, before = residual @ (residual / often), size
        direction = residual / often + size / before * direction
    return np.where(side.counts, np.maximum(weights, LEAST_WEIGHT), 0.0)
