"""Is one system really better than another? Paired bootstrap resampling (Koehn 2004) of sacreBLEU's statistics.

Both systems are scored on the same resampled sets; the p-value is the share of resamples whose difference strays
from its mean by no less than the difference found, and never less than so few lines can tell. Below 0.05 the
difference is unlikely to be chance.

sacreBLEU's own paired bootstrap takes the magnitude of the differences before their mean and so calls equal systems
different three times as often as it says; its randomisation test counts no ties, of which few changed lines give many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from yiwen.evaluation.metrics import METRICS, Metric, Side, check_sides, scorer

_SEED: Final = 1
"""Of the resamples; the signature says it."""


@dataclass(frozen=True)
class Difference:
    """One metric of two systems on the same lines."""

    name: str
    system: float
    baseline: float
    p_value: float
    """Probability of a difference this large by chance."""
    interval: tuple[float, float]
    """Within which bounds `system` lies above `baseline` in 95 % of the same resampled sets (Koehn 2004)."""
    signature: str

    @property
    def is_significant(self) -> bool:
        """True where the p-value is below 0.05."""
        return self.p_value < 0.05

    def __str__(self) -> str:
        gain = "{:+.2f} [{:+.2f}, {:+.2f}]".format(self.system - self.baseline, *self.interval)
        both = f"{self.name} {self.system:.2f} against {self.baseline:.2f}"
        return f"{both} ({gain}, p = {self.p_value:.4f})  {self.signature}"


@dataclass(frozen=True)
class Comparison:
    """All metrics of two systems on the same lines."""

    tgt_lang: str
    n_lines: int
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        differences = [asdict(each) | {"is_significant": each.is_significant} for each in self.differences]
        return asdict(self) | {"differences": differences}


def compare(
    system: Side,
    baseline: Side,
    references: Side,
    *,
    tgt_lang: str,
    metrics: Sequence[Metric] = METRICS,
    n_bootstrap: int = 1000,
    lowercase: bool = False,
) -> Comparison:
    """Test whether `system` and `baseline` differ by more than chance.

    Args:
        system: Detokenised translations, one a line.
        baseline: Those of the system it is measured against.
        references: Detokenised references.
        tgt_lang: Target language; it chooses the tokeniser.
        metrics: Which of `bleu`, `chrf`, `ter`.
        n_bootstrap: Resamples; 0 for 1,000, because without any nothing can be told.
        lowercase: Ignore case.

    Raises:
        DataError: If there is nothing to score or the counts differ.
    """
    check_sides(system, references)
    check_sides(baseline, references)
    scorers = [scorer(name, tgt_lang=tgt_lang, lowercase=lowercase) for name in metrics]
    differences = [_resampled(metric, system, baseline, references, n_bootstrap or 1000) for metric in scorers]
    return Comparison(tgt_lang, len(references), tuple(differences))


def _resampled(metric: Any, system: Side, baseline: Side, references: Side, n_resamples: int) -> Difference:
    stats = [np.array(metric._extract_corpus_statistics(side, [references])) for side in (system, baseline)]
    of_system, of_baseline = (_total(metric, side) for side in stats)
    random = np.random.default_rng(_SEED)
    draws = (random.integers(0, len(references), len(references)) for _ in range(n_resamples))
    scores = ([_total(metric, side[draw]).score for side in stats] for draw in draws)
    gains = np.array([ours - theirs for ours, theirs in scores])
    n_farther = int((np.abs(gains - gains.mean()) >= abs(of_system.score - of_baseline.score)).sum())
    low, high = np.percentile(gains, (2.5, 97.5)).tolist()
    metric.n_bootstrap, metric.seed = n_resamples, _SEED  # which the signature names
    signature = str(metric.get_signature())
    # Of lines that are each as likely to go the other way, a share of 2^(1 - n) all go one way; resamples of a single
    # line are all alike, and seem to leave nothing to chance.
    p_value = max((n_farther + 1) / (n_resamples + 1), 2.0 ** (1 - len(references)))
    return Difference(of_system.name, of_system.score, of_baseline.score, p_value, (low, high), signature)


def _total(metric: Any, stats: np.ndarray) -> Any:
    """sacreBLEU's score of the lines whose counts these are."""
    return metric._compute_score_from_stats(stats.sum(axis=0).tolist())
