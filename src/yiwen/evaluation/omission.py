"""Is something of the source missing in the translation? Told from subwords, a lexicon and usual lengths.

Each target subword is shared out among the source subwords that may have become it (posterior of IBM Model 1): what a
source word gets is its coverage. A dropped clause leaves words in a row that get next to nothing, and a translation
that is shorter than translations usually are; the two together tell more than each alone. It costs microseconds, where
the model's attention costs a second decoding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yiwen.text.subword import Subword

N_WORDS: Final = 3
"""Words in a row that are looked at together: one may rightly have no counterpart, three hardly."""


@dataclass(frozen=True)
class Coverage:
    """What source subwords become."""

    becomes: tuple[dict[int, float], ...]
    """By source id: target ids and their probabilities."""
    opens_word: tuple[bool, ...]
    """By source id: whether a word begins with it. A Chinese character is a word."""

    @classmethod
    def of(
        cls, targets: Sequence[Sequence[int]], probabilities: Sequence[Sequence[float]], source: Subword
    ) -> Coverage:
        """Put a lexicon beside the vocabulary that it belongs to."""
        becomes = (dict(zip(*entry, strict=True)) for entry in zip(targets, probabilities, strict=True))
        pieces = source.pieces(range(source.vocab_size))
        return cls(tuple(becomes), tuple(piece[0] == "▁" or ord(piece[0]) > 0x2E7F for piece in pieces))

    def least(self, src_ids: Sequence[int], tgt_ids: Sequence[int]) -> float:
        """What the least covered `N_WORDS` source words in a row get, in target subwords."""
        counts = Counter(tgt_ids)
        found = [[(id_, self.becomes[src][id_]) for id_ in self.becomes[src].keys() & counts.keys()] for src in src_ids]
        total: dict[int, float] = {}
        for entries in found:
            for id_, probability in entries:
                total[id_] = total.get(id_, 0.0) + probability
        words: list[float] = []
        for src, entries in zip(src_ids, found, strict=True):
            if self.opens_word[src] or not words:
                words.append(0.0)
            words[-1] += sum(probability / total[id_] * counts[id_] for id_, probability in entries)
        if len(words) <= N_WORDS:
            return sum(words)
        return min(sum(words[start : start + N_WORDS]) for start in range(len(words) - N_WORDS + 1))


def shortness(n_src: int, n_tgt: int) -> float:
    """How short a translation is: the logarithm of source over target subwords, 2 added to each to spare short ones."""
    return math.log((n_src + 2) / (n_tgt + 2))
