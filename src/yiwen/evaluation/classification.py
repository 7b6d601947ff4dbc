"""How well labels are predicted: accuracy, F1, confusions, calibration, each with what is needed to judge it.

Sources: expected calibration error, Guo et al. 2017, section 2; spans as in CoNLL 2000 (Tjong Kim Sang, Buchholz).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from yiwen.evaluation.metrics import Bins

Counts = npt.NDArray[np.int64]
Labels = Sequence[Sequence[str]]
"""Of each text one label, or one a word."""
N_BINS: Final = 10


@dataclass(frozen=True, kw_only=True)
class Classification:
    """Predicted labels against the right ones."""

    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Texts (or words) by right label, a row each, and predicted label, a column each."""
    scores: dict[str, float]
    """`accuracy` and `macro_f1`, `span_f1` where tags mark spans, `calibration_error` where probabilities are known;
    all in percent."""
    intervals: dict[str, tuple[float, float]]
    """95 % interval of each score but the calibration error, by drawing texts anew with replacement."""
    bins: Bins = ()
    """Texts by tenths of the probability of the predicted label."""


def evaluate_labels(
    gold: Labels, predicted: Labels, *, labels: tuple[str, ...], confidences: Sequence[float] = (), n_bootstrap: int
) -> Classification:
    """Score predictions.

    Args:
        gold: The right labels.
        predicted: Those predicted, as many.
        labels: All that there are.
        confidences: Probability of each text's predicted label, where there is one a text.
        n_bootstrap: Resamples for the intervals; 0: none.
    """
    n_labels, n_texts = len(labels), len(gold)
    number = {label: i for i, label in enumerate(labels)}
    texts = list(zip(gold, predicted, strict=True))
    places = [n_labels * number[right] + number[found] for text in texts for right, found in zip(*text, strict=True)]
    cells = np.array(places, dtype=np.int64)  # of the table of confusions; once, not anew for each resample
    lengths = np.array([len(right) for right in gold])
    marked = [(spans_of(right), spans_of(found)) for right, found in texts]
    # Of each text the spans that are right, predicted, there.
    spans = np.array([(len(there & found), len(found), len(there)) for there, found in marked]).reshape(-1, 3)

    def confusion(times: Counts) -> Counts:
        """Of a set that holds each text so many times."""
        return np.bincount(cells, np.repeat(times, lengths), n_labels**2).reshape(n_labels, n_labels).astype(np.int64)

    def scores(times: Counts) -> dict[str, float]:
        table = confusion(times)
        found = {"accuracy": accuracy(table), "macro_f1": macro_f1(table)}
        n_right, *n_marked = times @ spans
        return found | ({"span_f1": float(200 * n_right / max(sum(n_marked), 1))} if spans.any() else {})

    once = np.ones(n_texts, dtype=np.int64)
    found = scores(once)
    rng = np.random.default_rng(0)
    draws = (rng.integers(n_texts, size=n_texts) for _ in range(n_bootstrap))
    drawn = [scores(np.bincount(draw, minlength=n_texts)) for draw in draws]
    bounds = {name: np.percentile([one[name] for one in drawn], [2.5, 97.5]).tolist() for name in found if drawn}
    intervals = {name: (low, high) for name, (low, high) in bounds.items()}
    bins = _bins(gold, predicted, confidences) if confidences else ()
    if bins:
        found["calibration_error"] = 100 * (sum(n * abs(mean - right) for n, mean, right in bins) / n_texts)
    table = tuple(map(tuple, confusion(once).tolist()))
    return Classification(labels=labels, confusion=table, scores=found, intervals=intervals, bins=bins)


def accuracy(confusion: Counts) -> float:
    """Share of the right ones, in percent."""
    return float(100 * np.trace(confusion) / max(confusion.sum(), 1))


def macro_f1(confusion: Counts) -> float:
    """Mean of the labels' F1, in percent, over labels that occur or were predicted."""
    n_both = confusion.sum(axis=0) + confusion.sum(axis=1)
    found = n_both > 0
    return float(100 * np.mean(2 * np.diag(confusion)[found] / n_both[found])) if found.any() else 0.0


def spans_of(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """(kind, start, end) of every span that BIO, BIOES, BILOU or BMES tags mark; one opens without a B- before it, too.

    >>> sorted(spans_of(["B-PER", "I-PER", "O", "I-LOC"]))
    [('LOC', 3, 4), ('PER', 0, 2)]
    """
    spans = set()
    kind, start, last = "", 0, ""
    for i, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if kind and (last in ("E", "L", "S", "U") or mark not in ("I", "M", "E", "L") or name != kind):
            spans.add((kind, start, i))
            kind = ""
        if mark in ("B", "I", "M", "E", "L", "S", "U") and name and not kind:
            kind, start = name, i
        last = mark
    return spans


def _bins(gold: Labels, predicted: Labels, confidences: Sequence[float]) -> Bins:
    is_right = np.array([list(one) == list(other) for one, other in zip(gold, predicted, strict=True)])
    p = np.array(confidences)
    place = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    n = np.bincount(place, minlength=N_BINS)
    said, right = (np.bincount(place, each, N_BINS) / np.maximum(n, 1) for each in (p, is_right))
    return tuple(zip(n.tolist(), said.tolist(), right.tolist(), strict=True))
