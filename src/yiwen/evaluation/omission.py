"""Is something of the source missing in the translation? Told from lengths, then by the model itself.

A translation that lacks a clause weighs less than translations of such a source do (`weights`), which costs
microseconds. Of the few that this leaves in doubt the model is asked: a translation that lacks words is likelier for a
source that lacks them, too (contrastive conditioning, Vamvas and Sennrich 2022). That costs no search.

Which words it may lack, a lexicon tells. Each target subword is shared out among the source subwords that may have
become it (posterior of IBM Model 1): what a source word gets is its coverage. A dropped clause leaves words in a row
that get next to nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from yiwen.stop import StopFlag
from yiwen.text.subword import Subword

if TYPE_CHECKING:
    from yiwen.engines.engine import Engine, Ids, Sentences

SPARED: Final = 5.0
"""Subwords added to both sides when their weights are compared, to spare short texts."""
N_DROPPED: Final = 4
"""Words in a row that a source is tried without, as long as a quarter of it stays: one may rightly have no counterpart,
four hardly. Two and six besides find a third of a point more, for twice the scores."""
WEIGHT: Final = 0.1
"""What a nat of likelihood gained counts beside standard deviations of length ..."""
LEAST_GAIN: Final = -10.0
"""... and what no gain at all does."""


@dataclass(frozen=True)
class Weights:
    """What each id of either side weighs, in target subwords: see `learn_weights`."""

    src: tuple[float, ...]
    tgt: tuple[float, ...]

    def shortness(self, src_ids: Ids, tgt_ids: Ids) -> float:
        """How short a translation is: log of what the source weighs over what the translation does."""
        whole, part = sum(self.src[id_] for id_ in src_ids), sum(self.tgt[id_] for id_ in tgt_ids)
        return math.log((whole + SPARED) / (part + SPARED))


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

    def without(self, src_ids: Ids, tgt_ids: Ids) -> list[int]:
        """The source without the `N_DROPPED` words in a row that a translation covers least."""
        starts, words = self.words(src_ids, tgt_ids)
        n = min(N_DROPPED, 3 * len(words) // 4)
        covered = [sum(words[start : start + n]) for start in range(len(words) - n + 1)]
        first = covered.index(min(covered))
        return [*src_ids[: starts[first]], *src_ids[starts[first + n] :]]

    def words(self, src_ids: Ids, tgt_ids: Ids) -> tuple[list[int], list[float]]:
        """Where each source word starts, and at last the end; what each gets, in target subwords."""
        counts = Counter(tgt_ids)
        found = [[(id_, self.becomes[src][id_]) for id_ in self.becomes[src].keys() & counts.keys()] for src in src_ids]
        total: dict[int, float] = {}
        for entries in found:
            for id_, probability in entries:
                total[id_] = total.get(id_, 0.0) + probability
        starts: list[int] = []
        words: list[float] = []
        for place, (src, entries) in enumerate(zip(src_ids, found, strict=True)):
            if self.opens_word[src] or not words:
                starts.append(place)
                words.append(0.0)
            words[-1] += sum(probability / total[id_] * counts[id_] for id_, probability in entries)
        return [*starts, len(src_ids)], words


def after_asking(
    engine: Engine,
    coverage: Coverage,
    src_ids: Sentences,
    tgt_ids: Sentences,
    doubts: Sequence[float],
    *,
    doubtful_at: float,
    stop: StopFlag | None = None,
) -> list[float]:
    """Doubts about translations when the model has been asked about those above a limit; 0 for the others.

    Args:
        engine: The model.
        coverage: Tells which words to leave out of the sources.
        src_ids, tgt_ids: Subwords of the sources and of their translations.
        doubts: Standard deviations of shortness, one a translation.
        doubtful_at: Where asking begins.
        stop: Polled between batches.
    """
    told = [0.0] * len(doubts)
    asked = [i for i, doubt in enumerate(doubts) if doubt > doubtful_at]
    if not asked:  # mostly; a shared engine would have to be waited for
        return told
    sources = [src_ids[i] for i in asked] + [coverage.without(src_ids[i], tgt_ids[i]) for i in asked]
    scores = list(map(math.fsum, engine.score(sources, [tgt_ids[i] for i in asked] * 2, stop=stop)))
    for i, whole, shorter in zip(asked, scores[: len(asked)], scores[len(asked) :], strict=True):
        told[i] = doubts[i] + WEIGHT * max(shorter - whole, LEAST_GAIN)
    return told
