"""Which subwords translate which, learnt from parallel text alone: IBM Model 1 (Brown et al. 1993, section 4.1).

Order plays no part in it, which is enough to say what may occur (`export.shortlist`) and, where both directions have
to agree, which word of a sentence became which (`tasks.guided`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from yiwen.data.store import Store

N_ITERATIONS: Final = 5
"""Rounds of expectation and maximisation; later ones only sharpen what is sharp already."""
MAX_CELLS: Final = 16_000_000
"""Meetings of a source and a target subword that are counted: 70,000 pairs of 15 subwords, half a gigabyte."""
_SEED: Final = 0


@dataclass(frozen=True)
class LexicalTable:
    """Probabilities t(target | source) of the pairs that met; the source id `no_word` stands for nothing at all."""

    pairs: np.ndarray
    """source id x target vocabulary + target id, sorted, int64."""
    probabilities: np.ndarray
    """Of each pair, float64."""
    no_word: int
    """The number of source ids."""
    tgt_vocab_size: int

    def __call__(self, src_ids: np.ndarray, tgt_ids: np.ndarray) -> np.ndarray:
        """t(target | source), elementwise with broadcasting; 0 where the two never met."""
        wanted = src_ids.astype(np.int64) * self.tgt_vocab_size + tgt_ids
        places = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return np.where(self.pairs[places] == wanted, self.probabilities[places], 0.0)


def sample(store: Store, sizes: np.ndarray | None = None) -> np.ndarray:
    """Rows of training pairs to learn from, drawn at random where all of them would be too many; always the same.

    Args:
        store: Where they are.
        sizes: What each costs, of `MAX_CELLS` together; its cells in a `LexicalTable` if not given.
    """
    cells = (store.src_lengths.astype(np.int64) + 1) * store.tgt_lengths if sizes is None else sizes
    rows = np.random.default_rng(_SEED).permutation(len(store))
    return np.sort(rows[: max(1, int(np.searchsorted(np.cumsum(cells[rows]), MAX_CELLS)))])


def model_1(src: Sequence[Any], tgt: Sequence[Any], *, src_vocab_size: int, tgt_vocab_size: int) -> LexicalTable:
    """Expectation and maximisation, from equal probabilities.

    Args:
        src: Source ids of each pair, arrays or lists.
        tgt: Target ids.
        src_vocab_size: Source subwords.
        tgt_vocab_size: Target subwords.
    """
    no_word = np.array([src_vocab_size], np.int64)
    keys, tokens, n_tokens = [], [], 0
    for source, target in zip(src, tgt, strict=True):
        sources = np.concatenate([no_word, source])
        keys.append(np.add.outer(np.asarray(target, np.int64), sources * tgt_vocab_size).ravel())
        tokens.append(np.repeat(np.arange(n_tokens, n_tokens + len(target), dtype=np.int32), len(sources)))
        n_tokens += len(target)
    pairs, pair_of = np.unique(np.concatenate(keys), return_inverse=True)
    del keys
    token_of, pair_of = np.concatenate(tokens), pair_of.astype(np.int32)
    pair_src = pairs // tgt_vocab_size
    probabilities = np.ones(len(pairs))
    for _ in range(N_ITERATIONS):
        shares = probabilities[pair_of]
        shares /= np.bincount(token_of, shares, n_tokens)[token_of]
        counts = np.bincount(pair_of, shares, len(pairs))
        probabilities = counts / np.bincount(pair_src, counts)[pair_src]
    return LexicalTable(pairs, probabilities, src_vocab_size, tgt_vocab_size)
