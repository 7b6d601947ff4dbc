"""Does a text's nearest vector belong to its translation? Accuracy at 1, both ways (Artetxe and Schwenk 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np

_BLOCK: Final = 1024
"""Rows of products that exist at a time."""


def retrieval(src: np.ndarray, tgt: np.ndarray, src_texts: Sequence[str], tgt_texts: Sequence[str]) -> dict[str, float]:
    """Share of texts whose likeliest partner is the right one, in percent.

    A partner that stands at another place but has the same text, or is the partner of the same text, is right, too.

    Args:
        src: Vectors of length 1, (N, D).
        tgt: Those of their partners.
        src_texts: What they are of.
        tgt_texts: Likewise.

    Returns:
        `accuracy`, the mean of both ways, `accuracy_src` (from source to target) and `accuracy_tgt`.
    """
    forth = _accuracy(src, tgt, src_texts, tgt_texts)
    back = _accuracy(tgt, src, tgt_texts, src_texts)
    return {"accuracy": 50 * (forth + back), "accuracy_src": 100 * forth, "accuracy_tgt": 100 * back}


def _accuracy(one: np.ndarray, other: np.ndarray, texts: Sequence[str], partners: Sequence[str]) -> float:
    pairs = set(zip(texts, partners, strict=True))
    blocks = (one[start : start + _BLOCK] for start in range(0, len(one), _BLOCK))
    nearest = chain.from_iterable((block @ other.T).argmax(axis=1).tolist() for block in blocks)
    return sum((text, partners[i]) in pairs for text, i in zip(texts, nearest, strict=True)) / max(len(texts), 1)
