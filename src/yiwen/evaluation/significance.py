"""Is one system really better than another? Paired bootstrap resampling (Koehn 2004) by sacreBLEU.

Both systems are scored on the same resampled sets; the p-value is the share of resamples whose difference strays
from its mean by more than the difference found. Below 0.05 the difference is unlikely to be chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from yiwen.evaluation.metrics import METRICS, Metric, affordable_resamples, check_sides, scorer


@dataclass(frozen=True)
class Difference:
    """One metric of two systems on the same lines."""

    name: str
    system: float
    baseline: float
    p_value: float | None
    """Probability of a difference this large by chance; None where the set is too large to resample in memory."""
    signature: str

    @property
    def is_significant(self) -> bool:
        """True where the p-value is below 0.05."""
        return self.p_value is not None and self.p_value < 0.05

    def __str__(self) -> str:
        chance = "not tested" if self.p_value is None else f"p = {self.p_value:.4f}"
        return (
            f"{self.name} {self.system:.2f} against {self.baseline:.2f} "
            f"({self.system - self.baseline:+.2f}, {chance})  {self.signature}"
        )


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
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
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
        n_bootstrap: Resamples; very large sets take fewer, see `evaluate`.
        lowercase: Ignore case.

    Raises:
        DataError: If there is nothing to score or the counts differ.
    """
    check_sides(system, references)
    check_sides(baseline, references)
    n_resamples = affordable_resamples(2 * len(references), n_bootstrap)
    differences = []
    for name in metrics:
        metric = scorer(name, tgt_lang=tgt_lang, lowercase=lowercase)
        if n_resamples:
            differences.append(_resampled(metric, system, baseline, references, n_resamples))
        else:
            of_system, of_baseline = (metric.corpus_score(side, [references]) for side in (system, baseline))
            signature = str(metric.get_signature())
            differences.append(Difference(of_system.name, of_system.score, of_baseline.score, None, signature))
    return Comparison(tgt_lang, len(references), tuple(differences))


def _resampled(
    metric: Any, system: Sequence[str], baseline: Sequence[str], references: Sequence[str], n_resamples: int
) -> Difference:
    from sacrebleu.significance import PairedTest

    test = PairedTest(
        [("baseline", baseline), ("system", system)],
        {"metric": metric},
        [references],
        test_type="bs",
        n_samples=n_resamples,
    )
    signatures, results = test()
    (name,) = signatures
    of_baseline: Any
    of_system: Any
    of_baseline, of_system = results[name]
    # sacreBLEU counts resamples *above* the difference found: two equal systems, whose differences are all zero,
    # would get its smallest p-value.
    p_value = 1.0 if of_system.score == of_baseline.score else float(of_system.p_value)
    return Difference(name, float(of_system.score), float(of_baseline.score), p_value, str(signatures[name]))


def difference_interval(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    *,
    tgt_lang: str,
    metric: Metric,
    n_bootstrap: int = 1000,
) -> tuple[float, float]:
    """Within which bounds, in points, `system` lies above `baseline` in 95 % of the same resampled sets (Koehn 2004).

    Raises:
        DataError: If there is nothing to score or the counts differ.
    """
    import numpy as np

    check_sides(system, references)
    check_sides(baseline, references)
    score = scorer(metric, tgt_lang=tgt_lang, lowercase=False)
    stats = [np.array(score._extract_corpus_statistics(side, [references])) for side in (system, baseline)]
    draws = np.random.default_rng(1).integers(0, len(references), (n_bootstrap, len(references)))

    def resampled(side: np.ndarray, draw: np.ndarray) -> float:
        return float(score._compute_score_from_stats(side[draw].sum(axis=0).tolist()).score)

    gains = [resampled(stats[0], draw) - resampled(stats[1], draw) for draw in draws]
    low, high = np.percentile(gains, (2.5, 97.5))
    return float(low), float(high)
