"""Decisions that need the whole corpus: duplicates, the held-out text, and training pairs that overlap with it.

All of it is arithmetic on 64-bit hashes, 24 bytes a pair, so ten million pairs take a quarter of a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_HELD_OUT: Final = 0.1
"""Greatest share of the pairs that validation or test takes where no file is given."""


class Keys(NamedTuple):
    """Hashes of pairs, each (N,), uint64."""

    pair: np.ndarray
    """Of both sides as they are."""
    src: np.ndarray
    """Of the source without regard to case."""
    tgt: np.ndarray
    """Of the target without regard to case."""


def keys_of(src: Sequence[str], tgt: Sequence[str], *, is_labelled: bool = False) -> Keys:
    """Hash normalised pairs with BLAKE2b: the same on every machine.

    Of ten million texts two collide with probability n**2 / 2**65 = 0.0000027.

    Args:
        src: Sources.
        tgt: As many targets.
        is_labelled: The targets are labels or tags, which texts share without being alike: the source stands for both.
    """
    pair = _hashes([f"{one}\n{other}" for one, other in zip(src, tgt, strict=True)])
    sources = _hashes([text.casefold() for text in src])
    return Keys(pair, sources, sources if is_labelled else _hashes([text.casefold() for text in tgt]))


def joined(parts: list[Keys]) -> Keys:
    """Several runs of pairs as one. Empties the list and lets go of each column once joined: nothing is held twice."""
    columns = [[part[i] for part in parts] for i in range(3)]
    parts.clear()
    return Keys(*(np.concatenate([np.zeros(0, np.uint64), *columns.pop(0)]) for _ in range(3)))


def duplicates(pair: np.ndarray) -> np.ndarray:
    """True for every pair that occurred before, (N,)."""
    repeated = np.ones(len(pair), bool)
    repeated[np.unique(pair, return_index=True)[1]] = False  # there it occurs first
    return repeated


def overlaps(keys: Keys, held_out: Keys) -> np.ndarray:
    """True for every pair that shares its source or its target with a held-out pair, (N,)."""
    return cast("np.ndarray", _is_in(keys.src, held_out.src) | _is_in(keys.tgt, held_out.tgt))


def choose(keys: Keys, free: np.ndarray, *, n_pairs: int) -> np.ndarray:
    """Rows to hold out: those whose source has the smallest hash, no source and no target twice.

    It does not depend on the order of the corpus, and a source that was held out stays so when the corpus grows,
    unless a smaller hash arrives.

    Args:
        keys: All pairs.
        free: True for pairs that may be chosen, (N,).
        n_pairs: Rows wanted; at most a tenth of the free ones are given.

    Returns:
        Row numbers in the order of the corpus.
    """
    n_pairs = min(n_pairs, int(free.sum() * MOST_HELD_OUT))
    chosen: dict[int, int] = {}  # hash of the source -> row
    targets = set[int]()
    for row in _by_source_hash(keys, free, at_least=4 * n_pairs + 1):
        if len(chosen) == n_pairs:
            break
        src, tgt = int(keys.src[row]), int(keys.tgt[row])
        if src not in chosen and tgt not in targets:
            chosen[src] = row
            targets.add(tgt)
    return np.array(sorted(chosen.values()), np.int64)


def _by_source_hash(keys: Keys, free: np.ndarray, *, at_least: int) -> Iterator[int]:
    """Free rows from the smallest hash of the source upwards; sorts no more of them than are asked for."""
    rows = np.flatnonzero(free)
    while len(rows):
        hashes = keys.src[rows]
        bound = np.partition(hashes, at_least - 1)[at_least - 1] if at_least < len(rows) else hashes.max()
        first = rows[hashes <= bound]
        yield from first[np.lexsort((first, keys.pair[first], keys.src[first]))].tolist()
        rows = rows[hashes > bound]


def _hashes(texts: list[str]) -> np.ndarray:
    digests = b"".join([blake2b(text.encode(), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, np.dtype("<u8"))


def _is_in(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.asarray(pc.is_in(pa.array(values), value_set=pa.array(wanted)))
