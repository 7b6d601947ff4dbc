"""How well labels are predicted: accuracy, F1, confusions, calibration, each with what is needed to judge it.

Sources: expected calibration error, Guo et al. 2017, section 2; spans as in CoNLL 2000 (Tjong Kim Sang, Buchholz).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
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
    """95 % of each score but the last, by drawing texts anew with replacement."""
    bins: tuple[tuple[int, float, float], ...] = ()
    """(texts, mean probability, share right) by tenths of the probability of the predicted label."""


def evaluate_labels(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    labels: tuple[str, ...],
    confidences: Sequence[float] | None = None,
    n_bootstrap: int = 1000,
) -> Classification:
    """Score predictions.

    Args:
        gold: The right labels of each text: one, or one a word.
        predicted: Those predicted, as many.
        labels: All that there are.
        confidences: Probability of each text's predicted label, where there is one a text.
        n_bootstrap: Resamples for the intervals; 0: none.
    """
    number, n = {label: i for i, label in enumerate(labels)}, len(labels)
    pairs = [pair for one, other in zip(gold, predicted, strict=True) for pair in zip(one, other, strict=True)]
    codes = [n * number[g] + number[p] for g, p in pairs]
    lengths = np.array([len(one) for one in gold])
    spans = np.array([_span_counts(one, other) for one, other in zip(gold, predicted, strict=True)]).reshape(-1, 3)

    def confusion(times: Counts) -> Counts:
        """Of a set that holds each text so many times."""
        return np.bincount(codes, np.repeat(times, lengths), n**2).reshape(n, n).astype(np.int64)

    def scores(times: Counts) -> dict[str, float]:
        table = confusion(times)
        found = {"accuracy": accuracy(table), "macro_f1": macro_f1(table)}
        n_right, *n_marked = times @ spans
        return found | ({"span_f1": float(200 * n_right / max(sum(n_marked), 1))} if spans.any() else {})

    once = np.ones(len(gold), dtype=np.int64)
    whole = scores(once)
    rng = np.random.default_rng(0)
    draws = (rng.integers(len(gold), size=len(gold)) for _ in range(n_bootstrap))
    drawn = [scores(np.bincount(draw, minlength=len(gold))) for draw in draws]
    bounds = {name: np.percentile([one[name] for one in drawn], [2.5, 97.5]).tolist() for name in whole if drawn}
    bins = _bins(gold, predicted, confidences) if confidences is not None else ()
    if bins:
        whole["calibration_error"] = 100 * (sum(n * abs(mean - right) for n, mean, right in bins) / len(gold))
    table = tuple(map(tuple, confusion(once).tolist()))
    intervals = {name: (low, high) for name, (low, high) in bounds.items()}
    return Classification(labels=labels, confusion=table, scores=whole, intervals=intervals, bins=bins)


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


def _span_counts(gold: Sequence[str], predicted: Sequence[str]) -> tuple[int, int, int]:
    """Spans that are right, predicted, there."""
    there, found = spans_of(gold), spans_of(predicted)
    return len(there & found), len(found), len(there)


def _bins(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], confidences: Sequence[float]
) -> tuple[tuple[int, float, float], ...]:
    is_right = np.array([list(one) == list(other) for one, other in zip(gold, predicted, strict=True)])
    p = np.array(confidences)
    place = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    return tuple(
        (int(inside.sum()), float(p[inside].mean()), float(is_right[inside].mean())) if inside.any() else (0, 0.0, 0.0)
        for inside in (place == i for i in range(N_BINS))
    )
