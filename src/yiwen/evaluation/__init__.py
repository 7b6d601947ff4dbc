"""Scores with their signatures, and whether two of them really differ."""

from __future__ import annotations

from yiwen.evaluation.metrics import Evaluation, EvaluationConfig, Metric, Score, evaluate, quick_score
from yiwen.evaluation.significance import Comparison, Difference, compare

__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "EvaluationConfig",
    "Metric",
    "Score",
    "compare",
    "evaluate",
    "quick_score",
]
