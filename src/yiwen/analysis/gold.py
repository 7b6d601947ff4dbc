"""How good word alignments are: the alignment error rate against gold alignments (Och and Ney 2003, section 5).

A gold file has a JSON object a line, as `yiwen demo` writes them for its test set:
`{"src": "A dog runs.", "tgt": "狗在跑。", "src_spans": [[0, 1], [2, 5], ...], "tgt_spans": [[0, 1], ...],
"alignment": [[1, 0], ...]}`: texts, the character spans of their words, and links between these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from yiwen.analysis.alignment import Alignment, Span, align
from yiwen.bundle import Bundle
from yiwen.engines.select import open_engine
from yiwen.errors import DataError
from yiwen.stop import StopFlag

Links = set[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Gold:
    """A sentence pair and what a careful reader would link."""

    src: str
    tgt: str
    src_spans: tuple[Span, ...]
    tgt_spans: tuple[Span, ...]
    alignment: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class ErrorRate:
    """The measure and its parts, 0 to 1. A found, S sure and P possible links: S is part of P."""

    aer: float
    """1 - (|A and S| + |A and P|) / (|A| + |S|)."""
    precision: float
    """|A and P| / |A|."""
    recall: float
    """|A and S| / |S|."""
    n_pairs: int

    def __str__(self) -> str:
        parts = f"precision {self.precision:.3f}, recall {self.recall:.3f}"
        return f"alignment error rate {self.aer:.3f} ({parts}) on {self.n_pairs:,} pairs"


def measure_alignment(bundle: Bundle, path: Path, *, stop: StopFlag | None = None) -> ErrorRate:
    """The error rate of a bundle's alignments of the pairs of a gold file.

    Raises:
        DataError: If the file is no gold file, or a text is longer than the model has positions for.
    """
    gold = read_gold(path)
    engine = open_engine(bundle).engine
    return error_rate(align(bundle, engine, [g.src for g in gold], [g.tgt for g in gold], stop=stop), gold)


def read_gold(path: Path) -> list[Gold]:
    """Read a gold file.

    Raises:
        DataError: If it cannot be read, or a line is no such object; the line is named.
    """
    found: list[Gold] = []
    try:
        for line in path.read_bytes().removesuffix(b"\n").split(b"\n"):
            table = json.loads(line)
            spans = {side: tuple((int(a), int(b)) for a, b in table[f"{side}_spans"]) for side in ("src", "tgt")}
            links = tuple((int(i), int(j)) for i, j in table["alignment"])
            if not all(0 <= i < len(spans["src"]) and 0 <= j < len(spans["tgt"]) for i, j in links):
                raise ValueError("a link names a span that is not there")
            if not all(0 <= a < b <= len(table[side]) for side in spans for a, b in spans[side]):
                raise ValueError("a span is not within its text, counted in characters")
            src, tgt = str(table["src"]), str(table["tgt"])
            found.append(Gold(src=src, tgt=tgt, src_spans=spans["src"], tgt_spans=spans["tgt"], alignment=links))
    except (ValueError, TypeError, KeyError) as error:
        remedy = "a line is a JSON object with src, tgt, src_spans, tgt_spans and alignment"
        raise DataError(f"{path}, line {len(found) + 1}: no gold alignment ({error}); {remedy}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); give a file of gold alignments") from error
    return found


def error_rate(found: Sequence[Alignment], gold: Sequence[Gold]) -> ErrorRate:
    """Compare alignments with gold ones of the same pairs.

    Our words may be cut otherwise than those of the gold file. A gold link makes every link possible between words of
    ours that overlap its two words, and sure where each of these overlaps with one gold word only: of a Chinese
    subword that is made of two words and a half, nobody can say which of their links are its own.
    """
    n_found = n_sure = n_right = n_covered = 0
    for alignment, wanted in zip(found, gold, strict=True):
        links = {(i, j) for i, j, _ in alignment.links}
        sure, possible = projected(alignment, wanted)
        n_found += len(links)
        n_sure += len(sure)
        n_right += len(links & possible)
        n_covered += len(links & sure)
    aer = 1 - (n_right + n_covered) / max(n_found + n_sure, 1)
    precision, recall = n_right / max(n_found, 1), n_covered / max(n_sure, 1)
    return ErrorRate(aer=aer, precision=precision, recall=recall, n_pairs=len(gold))


def projected(alignment: Alignment, gold: Gold) -> tuple[Links, Links]:
    """The sure and the possible links between the words of an alignment."""
    src, tgt = _overlaps(alignment.src, gold.src_spans), _overlaps(alignment.tgt, gold.tgt_spans)
    wanted = set(gold.alignment)
    pairs = product(enumerate(src), enumerate(tgt))
    possible = {(i, j) for (i, sources), (j, targets) in pairs if not wanted.isdisjoint(product(sources, targets))}
    return {(i, j) for i, j in possible if len(src[i]) == len(tgt[j]) == 1}, possible


def _overlaps(words: Sequence[Span], spans: Sequence[Span]) -> list[list[int]]:
    """For each word the spans that share a character with it."""
    return [[k for k, (start, end) in enumerate(spans) if start < word[1] and word[0] < end] for word in words]
