"""Subword regularisation: words cut at random, by draws that a seed repeats in every process.

BPE-dropout (Provilkov et al. 2020) skips a merge with some probability; unigram sampling (Kudo 2018, section 3.3)
draws a way to cut in proportion to P(cut)^alpha. SentencePiece has both, but salts its generator in every process, and
a training that is resumed would go on with other words than one never stopped. Here the same rules draw from Python's
generator, whose numbers are the same everywhere.

No piece goes beyond a space, so that words are cut one by one; a short one has 64 ways, drawn once and remembered.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, Final

SPACE: Final = "▁"
_WAYS: Final = 64
"""Ways that a word is cut in. Remembering them makes an epoch half as dear as drawing each anew."""
_LONG: Final = 24
"""Characters from which on a word is cut anew each time: a sentence without spaces never comes again."""
_REMEMBERED: Final = 1 << 17
"""Ways to cut that are kept: some 40 MB."""
_UNKNOWN_PENALTY: Final = 10.0
"""How much less likely than the unlikeliest piece SentencePiece takes a character without one to be."""


class SubwordSampler:
    """Cuts texts by the pieces of a SentencePiece model and its own random numbers."""

    def __init__(self, processor: Any, sampling: float) -> None:
        """Read the pieces of a model.

        Args:
            processor: A SentencePieceProcessor, BPE or unigram.
            sampling: Probability of skipping a merge, or alpha.
        """
        self._processor, self.sampling = processor, sampling
        special = processor.is_unknown, processor.is_control, processor.is_byte, processor.is_unused
        plain = (n for n in range(processor.get_piece_size()) if not any(is_one(n) for is_one in special))
        self._ids = {str(processor.id_to_piece(n)): n for n in plain}
        self._scores = {piece: float(processor.get_score(n)) for piece, n in self._ids.items()}
        self._bytes = [processor.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)]
        # A symbol is never cut; it alone scores plain zero, where the first merge of a BPE model scores minus zero.
        symbols = sorted((piece for piece, score in self._scores.items() if str(score) == "0.0"), key=len, reverse=True)
        self._symbols = re.compile(f"({'|'.join(map(re.escape, symbols))})" if symbols else "(?!)()")
        has_phrases = any(SPACE in piece[1:] for piece in self._ids)
        self._words = re.compile(f"{SPACE}[^{SPACE}]*|[^{SPACE}]+" if not has_phrases else "(?s).+")
        self._longest = max(map(len, self._ids), default=1)
        self._unknown = min(self._scores.values(), default=0.0) - _UNKNOWN_PENALTY
        is_bpe = all(score.is_integer() for score in self._scores.values())  # ranks, not log-probabilities
        self._pieces: Callable[[str, Callable[[], float]], Sequence[str]] = self._merged if is_bpe else self._drawn
        self._remembered = lru_cache(_REMEMBERED)(self._cut)

    def encode(self, texts: Sequence[str], seed: int) -> list[list[int]]:
        """Cut normalised texts into ids; equal seeds cut equal texts alike."""
        random = Random(seed)
        return [self._encode(str(text), random) for text in self._processor.normalize(list(texts))]

    def _encode(self, text: str, random: Random) -> list[int]:
        ids: list[int] = []
        for place, part in enumerate(self._symbols.split(text)):
            if place % 2:
                ids.append(self._ids[part])
                continue
            words = self._words.findall(part)
            for word, way in zip(words, random.randbytes(len(words)), strict=True):
                if len(word) < _LONG:
                    ids += self._remembered(word, way % _WAYS)
                else:
                    ids += self._cut(word, random.getrandbits(64))
        return ids

    def _cut(self, word: str, way: int) -> tuple[int, ...]:
        """Ids of a way to cut a word; a character without a piece is spelt in bytes."""
        ids: list[int] = []
        for piece in self._pieces(word, Random(f"{way} {word}").random):
            ids += [self._ids[piece]] if piece in self._ids else [self._bytes[byte] for byte in piece.encode("utf-8")]
        return tuple(ids)

    def _merged(self, word: str, random: Callable[[], float]) -> Sequence[str]:
        """Merge neighbours, the best rank first, and skip a merge now and then, for good as SentencePiece does.

        Algorithm 1 of Provilkov et al. 2020 draws again after every other merge: in a sentence without spaces, which
        has hundreds, nothing would be skipped at last. So a probability cuts finer here: 0.05 as fine as 0.1 there.
        """
        parts = list(word)  # empty once it was merged into the one before
        end = len(parts)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))
        scores = self._scores
        heap = [(-scores[pair], i, pair) for i in range(end - 1) if (pair := parts[i] + parts[i + 1]) in scores]
        heapify(heap)
        while heap:
            _, i, merged = heappop(heap)
            j = after[i]
            if not parts[i] or j == end or parts[i] + parts[j] != merged or random() < self.sampling:
                continue
            parts[i], parts[j] = merged, ""
            after[i] = following = after[j]
            if following < end:
                before[following] = i
            for left, right in ((before[i], i), (i, following)):
                if left >= 0 and right < end and (pair := parts[left] + parts[right]) in scores:
                    heappush(heap, (-scores[pair], left, pair))
        return [part for part in parts if part]

    def _drawn(self, word: str, random: Callable[[], float]) -> Sequence[str]:
        """Draw a way to cut: probabilities of all ways forwards, a draw backwards (Kudo 2018, section 3.3)."""
        # At each place: log-weight of all ways whose last piece starts there.
        edges: list[list[tuple[float, int]]] = [[]]
        total = [0.0]  # logarithm of the weight of all ways up to a place
        for end in range(1, len(word) + 1):
            here = [
                (total[start] + self.sampling * self._scores[piece], start)
                for start in range(max(0, end - self._longest), end)
                if (piece := word[start:end]) in self._scores
            ]
            if word[end - 1] not in self._scores:
                here.append((total[end - 1] + self.sampling * self._unknown, end - 1))
            top = max(here)[0]
            edges.append(here)
            total.append(top + math.log(sum(math.exp(weight - top) for weight, _ in here)))
        pieces: list[str] = []
        end = len(word)
        while end:
            shares = list(itertools.accumulate(math.exp(weight - total[end]) for weight, _ in edges[end]))
            start = edges[end][bisect(shares[:-1], random())][1]
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]
