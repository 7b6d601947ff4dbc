"""The order in which texts are computed when results do not depend on it. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def longest_first(lengths: Sequence[int], batch_tokens: int, only: Iterable[int] | None = None) -> Iterator[list[int]]:
    """Places of texts of like length, at most batch_tokens positions at a time, padding and an end token counted.

    Longest first, so that trouble with memory shows at once.

    Args:
        lengths: Of all texts, in subwords without their end.
        batch_tokens: Positions of a batch; a text that is longer travels alone.
        only: Which texts; all where not given.
    """
    order = sorted(range(len(lengths)) if only is None else only, key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        n = max(1, batch_tokens // (lengths[order[start]] + 1))
        yield order[start : start + n]
        start += n
