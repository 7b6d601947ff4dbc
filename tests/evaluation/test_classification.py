"""Scores of labels by hand."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from yiwen.evaluation.classification import accuracy, evaluate_labels, macro_f1, spans_of

LABELS = ("a", "b", "c", "never")
GOLD = [[label] for label in "aaabbc"]
PREDICTED = [[label] for label in "aabbba"]


def test_accuracy_f1_and_confusions_by_hand() -> None:
    found = evaluate_labels(GOLD, PREDICTED, labels=LABELS, n_bootstrap=0)
    assert found.confusion == ((2, 1, 0, 0), (0, 2, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0))
    assert found.scores["accuracy"] == pytest.approx(100 * 4 / 6)
    # F1 of a: 2 x 2 / (3 + 3), of b: 2 x 2 / (2 + 3), of c: 0; the label that nobody has or predicts does not count
    assert found.scores["macro_f1"] == pytest.approx(100 * (4 / 6 + 4 / 5 + 0) / 3)
    assert set(found.scores) == {"accuracy", "macro_f1"}
    assert found.intervals == {}


def test_scores_agree_with_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    gold, predicted = rng.choice(5, 211), rng.choice(5, 211)
    table = metrics.confusion_matrix(gold, predicted)
    assert accuracy(table) == pytest.approx(100 * metrics.accuracy_score(gold, predicted))
    assert macro_f1(table) == pytest.approx(100 * metrics.f1_score(gold, predicted, average="macro"))


def test_calibration_compares_what_is_said_with_what_is_right() -> None:
    confidences = [0.95, 0.95, 0.95, 0.55, 0.55, 1.0]
    found = evaluate_labels(GOLD, PREDICTED, labels=LABELS, confidences=confidences, n_bootstrap=0)
    assert found.bins[9][0] == 4
    assert found.bins[9][1:] == pytest.approx(((3 * 0.95 + 1.0) / 4, 2 / 4))
    assert found.bins[5] == (2, pytest.approx(0.55), 1.0)
    error = 4 / 6 * abs(3.85 / 4 - 0.5) + 2 / 6 * abs(0.55 - 1)
    assert found.scores["calibration_error"] == pytest.approx(100 * error)


def test_an_interval_is_of_95_percent() -> None:
    found = evaluate_labels(GOLD * 50, PREDICTED * 50, labels=LABELS, n_bootstrap=1000)
    low, high = found.intervals["accuracy"]
    # As of a normal distribution: 1.96 x 100 x sqrt(4/6 x 2/6 / 300).
    assert (high - low) / 2 == pytest.approx(5.33, rel=0.1)


def test_intervals_hold_the_score_and_shrink_with_more_text() -> None:
    narrow, wide = (
        evaluate_labels(GOLD * n, PREDICTED * n, labels=LABELS, n_bootstrap=200).intervals["accuracy"] for n in (50, 2)
    )
    assert wide[0] < narrow[0] < 100 * 4 / 6 < narrow[1] < wide[1]
    again = evaluate_labels(GOLD * 2, PREDICTED * 2, labels=LABELS, n_bootstrap=200)
    assert again.intervals["accuracy"] == wide
    assert json.loads(json.dumps(asdict(again)))["labels"] == list(LABELS)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O B-X I-X O B-Y", {("X", 1, 3), ("Y", 4, 5)}),
        ("B-X B-X I-Y", {("X", 0, 1), ("X", 1, 2), ("Y", 2, 3)}),
        ("I-X I-X O I-X", {("X", 0, 2), ("X", 3, 4)}),
        ("NN VB DT", set()),
        ("B-P E-P O S-L", {("P", 0, 2), ("L", 3, 4)}),
        ("B-P I-P L-P U-P U-P", {("P", 0, 3), ("P", 3, 4), ("P", 4, 5)}),
        ("B-P M-P M-P E-P M-P E-P S-L", {("P", 0, 4), ("P", 4, 6), ("L", 6, 7)}),
        ("E-P E-P I-P S-L I-L", {("P", 0, 1), ("P", 1, 2), ("P", 2, 3), ("L", 3, 4), ("L", 4, 5)}),
    ],
)
def test_spans_of_tags(tags: str, spans: set[tuple[str, int, int]]) -> None:
    assert spans_of(tags.split()) == spans


def test_span_f1_counts_whole_spans() -> None:
    gold = [["B-X", "I-X", "O"], ["O", "B-Y"]]
    predicted = [["B-X", "O", "O"], ["O", "B-Y"]]
    found = evaluate_labels(gold, predicted, labels=("B-X", "B-Y", "I-X", "O"), n_bootstrap=20)
    low, high = found.intervals["span_f1"]
    assert low < 50 < high
    assert found.scores["span_f1"] == pytest.approx(50.0)
    assert found.scores["accuracy"] == pytest.approx(80.0)
    fewer = evaluate_labels(gold, [gold[0], ["O", "O"]], labels=("B-X", "B-Y", "I-X", "O"), n_bootstrap=0)
    assert fewer.scores["span_f1"] == pytest.approx(200 * 1 / (1 + 2))


def test_a_span_is_right_only_with_its_end() -> None:
    gold, predicted = [["B-PER", "E-PER", "O", "S-LOC"]], [["B-PER", "O", "O", "O"]]
    labels = ("B-PER", "E-PER", "O", "S-LOC")
    assert evaluate_labels(gold, predicted, labels=labels, n_bootstrap=0).scores["span_f1"] == 0
    assert evaluate_labels(gold, gold, labels=labels, n_bootstrap=0).scores["span_f1"] == 100
