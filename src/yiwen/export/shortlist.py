"""Lexical shortlists: what a source subword may become, so that the output layer scores those targets alone.

    vmap.txt   CTranslate2's vocabulary map, `SOURCE<TAB>TARGET TARGET ...`; the line without a source is always allowed

The engine takes the union over all sentences of a batch, so that a shortlist pays most where sentences come alone.
Words are matched by IBM Model 1 over subwords (Brown et al. 1993, section 4.4), which a shortlist needs no more than:
order plays no part in what may occur. Selecting a vocabulary so: Jean et al. 2015, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from yiwen.engines.exported import check_vocabulary, vocabulary
from yiwen.text.subword import BOS_ID, EOS_ID, N_SPECIAL, UNK_ID, Subword

if TYPE_CHECKING:
    from yiwen.data.store import Store

FILE: Final = "vmap.txt"
N_ITERATIONS: Final = 5
"""Rounds of expectation and maximisation; later ones only sharpen what is sharp already."""
MAX_CELLS: Final = 16_000_000
"""Meetings of a source and a target subword that are counted: 70,000 pairs of 15 subwords, half a gigabyte."""
MIN_PROBABILITY: Final = 1e-4
"""Targets that a source subword becomes more seldom than this are left to chance meetings."""
_SEED: Final = 0


@dataclass(frozen=True)
class Shortlist:
    """Target ids by source id."""

    always: np.ndarray
    """Ids that are allowed whatever the source is, sorted."""
    allowed: tuple[np.ndarray, ...]
    """For each source id the target ids that it may become, likeliest first; empty where it was never seen."""

    def of(self, src_ids: Sequence[int]) -> np.ndarray:
        """All target ids for a sentence, sorted."""
        return np.unique(np.concatenate([self.always, *(self.allowed[index] for index in src_ids)]))


def build_shortlist(store: Store, *, n_best: int = 50, n_frequent: int = 100) -> Shortlist:
    """Learn from prepared text which target subwords each source subword may become.

    Args:
        store: The text that the model was trained on.
        n_best: Most targets a source subword; where the vocabulary is shared, itself besides.
        n_frequent: The most frequent targets are always allowed, as are bytes, punctuation and special pieces.
    """
    src, tgt = _sample(store)
    table = _model_1(src, tgt, src_vocab_size=store.source.vocab_size, tgt_vocab_size=store.target.vocab_size)
    frequency = np.bincount(np.concatenate(tgt), minlength=store.target.vocab_size)
    frequent = np.argsort(-frequency, kind="stable")[:n_frequent]
    always = np.unique(np.concatenate([[UNK_ID, BOS_ID, EOS_ID], _plain_pieces(store), frequent])).astype(np.int64)
    is_always = np.zeros(store.target.vocab_size, bool)
    is_always[always] = True
    allowed = []
    for source in range(store.source.vocab_size):
        targets = table.of(source)
        targets = targets[~is_always[targets]][:n_best]
        if store.source is store.target and not is_always[source] and source >= N_SPECIAL:
            targets = np.append(targets[targets != source], source)  # names and numbers are copied
        allowed.append(targets)
    return Shortlist(always, tuple(allowed))


def write_shortlist(folder: Path, shortlist: Shortlist, *, source: Subword, target: Subword) -> None:
    """Write `vmap.txt` into the folder of an exported model."""
    src_tokens, tgt_tokens = vocabulary(source), vocabulary(target)
    rules = [("", shortlist.always)]
    rules += [(src_tokens[index], targets) for index, targets in enumerate(shortlist.allowed) if len(targets)]
    with (folder / FILE).open("w", encoding="utf-8", newline="\n") as file:
        for token, targets in rules:
            # The format has no way to write a piece that holds a blank; a subword model made elsewhere may have one.
            names = [name for name in (tgt_tokens[index] for index in targets) if not _is_spaced(name)]
            if not _is_spaced(token):
                file.write(f"{token}\t{' '.join(names)}\n")


def add_shortlist(folder: Path, store: Store) -> Shortlist:
    """Build a shortlist and write it into the folder of an exported model, which is still being written.

    Args:
        folder: Where `model.bin` lies.
        store: The text that the model was trained on.

    Raises:
        CheckpointError: If the folder's vocabulary is not that of the store.
    """
    check_vocabulary(folder, source=store.source, target=store.target)
    shortlist = build_shortlist(store)
    write_shortlist(folder, shortlist, source=store.source, target=store.target)
    return shortlist


def _sample(store: Store) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Training pairs, drawn at random where all of them would be too many."""
    cells = (store.src_lengths.astype(np.int64) + 1) * store.tgt_lengths
    rows = np.random.default_rng(_SEED).permutation(len(store))
    rows = np.sort(rows[: max(1, int(np.searchsorted(np.cumsum(cells[rows]), MAX_CELLS)))])
    return store.src_ids(rows), store.tgt_ids(rows)


@dataclass(frozen=True)
class _Table:
    """Probabilities t(target | source) of the pairs that met, by source and then by falling probability."""

    starts: np.ndarray
    """Where the entries of each source id begin, (V + 1,)."""
    targets: np.ndarray
    probabilities: np.ndarray

    def of(self, source: int) -> np.ndarray:
        """Targets of a source id, likeliest first."""
        entries = slice(self.starts[source], self.starts[source + 1])
        found: np.ndarray = self.targets[entries][self.probabilities[entries] >= MIN_PROBABILITY]
        return found


def _model_1(
    src: Sequence[np.ndarray], tgt: Sequence[np.ndarray], *, src_vocab_size: int, tgt_vocab_size: int
) -> _Table:
    """Expectation and maximisation of Brown et al. 1993, section 4.4; one more source id stands for no word."""
    no_word = np.array([src_vocab_size], np.int64)
    keys, tokens, n_tokens = [], [], 0
    for source, target in zip(src, tgt, strict=True):
        sources = np.concatenate([no_word, source])
        keys.append(np.add.outer(target.astype(np.int64), sources * tgt_vocab_size).ravel())
        tokens.append(np.repeat(np.arange(n_tokens, n_tokens + len(target), dtype=np.int32), len(sources)))
        n_tokens += len(target)
    pairs, pair_of = np.unique(np.concatenate(keys), return_inverse=True)
    del keys
    token_of, pair_of = np.concatenate(tokens), pair_of.astype(np.int32)
    pair_src, pair_tgt = np.divmod(pairs, tgt_vocab_size)
    probabilities = np.ones(len(pairs))
    for _ in range(N_ITERATIONS):
        shares = probabilities[pair_of]
        shares /= np.bincount(token_of, shares, n_tokens)[token_of]
        counts = np.bincount(pair_of, shares, len(pairs))
        probabilities = counts / np.bincount(pair_src, counts)[pair_src]
    order = np.lexsort((pair_tgt, -probabilities, pair_src))
    starts = np.searchsorted(pair_src[order], np.arange(src_vocab_size + 1))
    return _Table(starts, pair_tgt[order], probabilities[order])


def _plain_pieces(store: Store) -> np.ndarray:
    """Bytes, and pieces without a letter (punctuation, digits, symbols, the space)."""
    pieces = store.target.pieces(range(store.target.vocab_size))
    is_plain = [not any(char.isalpha() for char in piece) for piece in pieces]
    plain = np.flatnonzero(np.array(is_plain) | store.target.is_byte())
    return plain[plain >= N_SPECIAL]


def _is_spaced(token: str) -> bool:
    return any(blank in token for blank in " \t\r\n")
