"""How much a text holds, measured so that a sentence and its translation hold the same.

A translation is short when it has few subwords for its source, but two subwords are not worth the same: one source word
becomes three, another none. So each subword of either side gets a weight, learnt from training text such that the sums
of both sides agree: least squares with a ridge, of one side's weights, then of the other's, in turn. That is the first
direction of a canonical correlation analysis (Hotelling 1936), held near where all count alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from yiwen.data.store import Store
    from yiwen.engines.engine import Ids
    from yiwen.text.subword import Subword

SPARED: Final = 5.0
"""Subwords added to both sides, to spare short ones."""
RIDGE: Final = 2.0
"""How strongly a weight is held to what all subwords weigh; a subword that was never met weighs just that."""
LEAST_WEIGHT: Final = 0.05
"""No subword weighs less: nothing can be left out for nothing."""
N_TURNS: Final = 2
"""How often each side is fitted to the other; further turns find no more."""
N_STEPS: Final = 30
"""Steps of conjugate gradients."""
COUNTED: Final = re.compile(r"[\w,،、，;；:：]")
"""What a subword holds that counts. A comma goes with its clause; a full stop stands at the end whatever is missing."""


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
    """One side of all pairs: the subwords that count."""

    ids: np.ndarray
    rows: np.ndarray
    """The pair of each."""
    n_pairs: int

    @classmethod
    def of(cls, texts: Sequence[np.ndarray], counts: np.ndarray) -> _Side:
        """Keep of each text the ids that count."""
        import numpy as np

        ids, rows = np.concatenate(texts), np.repeat(np.arange(len(texts)), list(map(len, texts)))
        return cls(ids[counts[ids]], rows[counts[ids]], len(texts))

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """What each pair weighs."""
        import numpy as np

        return np.bincount(self.rows, weights[self.ids], minlength=self.n_pairs)


def learn_weights(store: Store) -> Weights:
    """Weights by which both sides of the training pairs weigh about the same."""
    import numpy as np

    from yiwen.data.lexical import sample

    texts, counts = sample(store), [_counts(store.source), _counts(store.target)]
    src, tgt = map(_Side.of, texts, counts)
    src_even = np.full(store.source.vocab_size, len(tgt.ids) / max(len(src.ids), 1))
    tgt_even = np.ones(store.target.vocab_size)
    src_weights = _fitted(src, src_even, tgt.sums(tgt_even))
    for _ in range(N_TURNS):
        tgt_weights = _fitted(tgt, tgt_even, src.sums(src_weights))
        src_weights = _fitted(src, src_even, tgt.sums(tgt_weights))
    found = (src_weights * counts[0], tgt_weights * counts[1])
    return Weights(*(tuple(weights.round(3).tolist()) for weights in found))


def _counts(vocabulary: Subword) -> np.ndarray:
    """Of each id whether it counts."""
    import numpy as np

    return np.array([bool(COUNTED.search(piece)) for piece in vocabulary.pieces(range(vocabulary.vocab_size))])


def _fitted(side: _Side, even: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Weights near `even` by which the pairs of a side weigh what is wanted, by conjugate gradients.

    A pair's error counts by 1 / wanted, as if it varied like a sum of that many independent words.
    """
    import numpy as np

    certainty = 1 / np.maximum(wanted, 1.0)

    def per_subword(of_pairs: np.ndarray) -> np.ndarray:
        return np.bincount(side.ids, (of_pairs * certainty)[side.rows], minlength=len(even))

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
