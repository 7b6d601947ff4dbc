"""Lexical shortlists: what a source subword may become, so that the output layer scores those targets alone.

    vmap.txt   CTranslate2's vocabulary map, `SOURCE<TAB>TARGET TARGET ...`; the line without a source is always allowed

The engine takes the union over all sentences of a batch, so that a shortlist pays most where sentences come alone.
Subwords are matched by `data.lexical`: order plays no part in what may occur. Selecting a vocabulary so: Jean et al.
2015, section 3.2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from yiwen.data.lexical import LexicalTable, model_1, sample
from yiwen.data.store import Store
from yiwen.engines.exported import check_vocabulary, vocabulary
from yiwen.text.subword import BOS_ID, EOS_ID, N_SPECIAL, UNK_ID, Subword

FILE: Final = "vmap.txt"
MIN_PROBABILITY: Final = 1e-4
"""Targets that a source subword becomes more seldom than this are left to chance meetings."""


class Shortlist(NamedTuple):
    """Target ids by source id."""

    always: np.ndarray
    """Ids that are allowed whatever the source is, sorted."""
    allowed: tuple[np.ndarray, ...]
    """For each source id the target ids that it may become, likeliest first; empty where it was never seen."""


def build_shortlist(store: Store, *, n_best: int = 50, n_frequent: int = 100) -> Shortlist:
    """Learn from prepared text which target subwords each source subword may become.

    Args:
        store: The text that the model was trained on.
        n_best: Most targets a source subword; where the vocabulary is shared, itself besides.
        n_frequent: The most frequent targets are always allowed, as are bytes, punctuation and special pieces.
    """
    rows = sample(store)
    src, tgt = store.src_ids(rows), store.tgt_ids(rows)
    table = model_1(src, tgt, src_vocab_size=store.source.vocab_size, tgt_vocab_size=store.target.vocab_size)
    frequency = np.bincount(np.concatenate(tgt), minlength=store.target.vocab_size)
    frequent = np.argsort(-frequency, kind="stable")[:n_frequent]
    always = np.unique(np.concatenate([[UNK_ID, BOS_ID, EOS_ID], _plain_pieces(store), frequent])).astype(np.int64)
    is_always = np.isin(np.arange(store.target.vocab_size), always)
    allowed = []
    for source, targets in enumerate(_likeliest_first(table)):
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


def add_shortlist(folder: Path, store: Store) -> None:
    """Build a shortlist and write it into the folder of an exported model, which is still being written.

    Args:
        folder: Where `model.bin` lies.
        store: The text that the model was trained on.

    Raises:
        CheckpointError: If the folder's vocabulary is not that of the store.
    """
    check_vocabulary(folder, source=store.source, target=store.target)
    write_shortlist(folder, build_shortlist(store), source=store.source, target=store.target)


def _likeliest_first(table: LexicalTable) -> list[np.ndarray]:
    """For each source its targets by falling probability."""
    likely = table.probabilities >= MIN_PROBABILITY
    src, tgt = np.divmod(table.pairs[likely], table.tgt_vocab_size)
    order = np.lexsort((tgt, -table.probabilities[likely], src))
    return np.split(tgt[order], np.searchsorted(src[order], np.arange(1, table.no_word + 1)))[:-1]


def _plain_pieces(store: Store) -> np.ndarray:
    """Bytes, and pieces without a letter (punctuation, digits, symbols, the space)."""
    pieces = store.target.pieces(range(store.target.vocab_size))
    is_plain = [not any(char.isalpha() for char in piece) for piece in pieces]
    plain = np.flatnonzero(np.array(is_plain) | store.target.is_byte())
    return plain[plain >= N_SPECIAL]


def _is_spaced(token: str) -> bool:
    return any(blank in token for blank in " \t\r\n")
