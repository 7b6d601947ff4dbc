"""BLEU, chrF2 and TER by sacreBLEU, each with the signature that says how it was computed.

Hypotheses and references are detokenised text. The tokeniser follows the target language, never the machine: a
Japanese score does not change because somebody installed MeCab.

Sources: BLEU, Papineni et al. 2002; chrF, Popovic 2015; TER, Snover et al. 2006; signatures, Post 2018;
bootstrap, Koehn 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from yiwen.config import check_bounds
from yiwen.errors import ConfigError, DataError, needing
from yiwen.text.languages import CHINESE, UNSPACED, base

Metric: TypeAlias = Literal["bleu", "chrf", "ter"]

METRICS: Final[tuple[Metric, ...]] = ("bleu", "chrf", "ter")
Side = Sequence[str]
"""One side of a test set: detokenised text, a sentence each."""
Bins = tuple[tuple[int, float, float], ...]
"""By rising confidence: how many there are, their mean confidence, and the share of them that was right."""

_BYTES_PER_DRAW: Final = 80
"""Memory that sacreBLEU takes for one line in one resample: chrF has 18 float32 counts, the index 8 bytes."""
_BOOTSTRAP_BYTES: Final = 800_000_000
_FEWEST: Final = 40
"""Resamples; of fewer, a 95 % interval has none to cut off at either end."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """How a model is scored."""

    metrics: tuple[Metric, ...] = METRICS
    """Scores to compute; TER takes by far the longest."""
    n_bootstrap: int = 1000
    """Resamples for the 95 % confidence interval; 0 leaves it out."""
    lowercase: bool = False
    """Ignore case in all scores of `yiwen evaluate`, not in validation and sweeps; the signature then says `lc`."""

    def __post_init__(self) -> None:
        check_bounds("evaluation.", self)
        if not self.metrics or len(set(self.metrics)) < len(self.metrics):
            raise ConfigError(f"evaluation.metrics is {[*self.metrics]}; name some of {', '.join(METRICS)}, each once")
        if self.n_bootstrap != 0 and self.n_bootstrap < _FEWEST:
            raise ConfigError(f"evaluation.n_bootstrap is {self.n_bootstrap}; use 0 for none or at least {_FEWEST}")


@dataclass(frozen=True)
class Score:
    """One score and how it was computed."""

    name: str
    """`BLEU`, `chrF2` or `TER`, as in the signature's own paper."""
    value: float
    """In points, 0 to 100 (TER may exceed 100 and is better when lower)."""
    signature: str
    """sacreBLEU's signature: whoever has it and both texts gets the same number."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval; None where none was computed."""
    high: float | None = None
    """Upper end of the 95 % bootstrap interval."""

    def __str__(self) -> str:
        interval = f" [{self.low:.2f}, {self.high:.2f}]" if self.low is not None else ""
        return f"{self.name} {self.value:.2f}{interval}  {self.signature}"


@dataclass(frozen=True)
class Evaluation:
    """All scores of one set of translations."""

    tgt_lang: str
    n_lines: int
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the scores should know: empty lines, text that looks tokenised."""

    def __getitem__(self, metric: Metric) -> Score:
        """The score of a metric: `evaluation["bleu"].value`."""
        return {score.name.lower().removesuffix("2"): score for score in self.scores}[metric]

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        return asdict(self) | {"scores": [*map(asdict, self.scores)], "notes": [*self.notes]}


def evaluate(
    hypotheses: Side,
    references: Side,
    *,
    tgt_lang: str,
    metrics: Sequence[Metric] = METRICS,
    n_bootstrap: int = 1000,
    lowercase: bool = False,
) -> Evaluation:
    """Score translations against one reference each, with 95 % bootstrap confidence intervals.

    Args:
        hypotheses: Detokenised translations, one a line.
        references: Detokenised references, as many.
        tgt_lang: Target language, e.g. `zh`, `zh-Hant`, `de`; it chooses the tokeniser.
        metrics: Which of `bleu`, `chrf`, `ter`.
        n_bootstrap: Resamples; 0 leaves the intervals out. Very large sets take fewer (the signature's `bs` says
            how many), because sacreBLEU holds all resamples in memory at once.
        lowercase: Ignore case.

    Raises:
        DataError: If there is nothing to score or the counts differ.
    """
    check_sides(hypotheses, references)
    n_resamples = affordable_resamples(len(references), n_bootstrap)
    scorers = [scorer(name, tgt_lang=tgt_lang, lowercase=lowercase) for name in metrics]
    scores = tuple(_with_interval(metric, hypotheses, references, n_resamples) for metric in scorers)
    notes = _notes(hypotheses, references)
    if "ter" in metrics and base(tgt_lang) in UNSPACED - CHINESE - {"ja"}:  # which sacreBLEU parts by itself
        notes += (f"TER compares what stands between blanks, and {tgt_lang} has none between words: see chrF2 instead",)
    return Evaluation(tgt_lang, len(references), scores, notes)


def _with_interval(metric: Any, hypotheses: Side, references: Side, n_resamples: int) -> Score:
    """A score of sacreBLEU and, with resamples, its 95 % interval, kept between 0 and 100 (TER: above 0)."""
    if n_resamples == 0:
        result = metric.corpus_score(hypotheses, [references], n_bootstrap=1)
        return Score(result.name, float(result.score), str(metric.get_signature()))
    try:
        result = metric.corpus_score(hypotheses, [references], n_bootstrap=n_resamples)
    except TypeError:
        # sacreBLEU 2.6 cannot average resamples of which some score exactly 0 (a float) and others more (a numpy
        # float32). Such a set is tiny, or the model gets next to nothing right: no interval.
        del metric.n_bootstrap, metric.seed  # which its signature would name
        return _with_interval(metric, hypotheses, references, 0)
    # sacreBLEU gives the interval as mean and half-width of the resamples and keeps both in private fields.
    low, high = max(float(result._mean - result._ci), 0.0), float(result._mean + result._ci)
    high = high if result.name == "TER" else min(high, 100.0)
    return Score(result.name, float(result.score), str(metric.get_signature()), low, high)


def quick_score(hypotheses: Side, references: Side, *, tgt_lang: str, metric: Metric, lowercase: bool = False) -> float:
    """One score without an interval: what training watches.

    Raises:
        DataError: If there is nothing to score or the counts differ.
    """
    check_sides(hypotheses, references)
    return float(scorer(metric, tgt_lang=tgt_lang, lowercase=lowercase).corpus_score(hypotheses, [references]).score)


def bleu_tokenizer(tgt_lang: str) -> str:
    """Name of sacreBLEU's tokeniser for a target language.

    `zh` for Chinese in all its codes. `char` for Japanese, Korean and the languages of South-East Asia that put no
    spaces between words: every machine has it, where MeCab would be there or not. `13a` for the rest.
    """
    language = base(tgt_lang)
    if language in CHINESE:
        return "zh"
    return "char" if language in UNSPACED or language == "ko" else "13a"


def scorer(metric: Metric, *, tgt_lang: str, lowercase: bool) -> Any:
    """sacreBLEU's object for a metric, set up for a target language.

    Raises:
        MissingDependencyError: If sacreBLEU is not installed.
    """
    with needing("Scores need sacreBLEU", extra="train"):
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
        from sacrebleu.metrics.ter import TER
    match metric:
        case "bleu":
            # force: its warning about tokenised text names an option that our users do not have; see `_notes`.
            made: Any = BLEU(tokenize=bleu_tokenizer(tgt_lang), lowercase=lowercase, force=True)
        case "chrf":
            made = CHRF(word_order=0, lowercase=lowercase)
        case "ter":
            # Tercom splits at spaces; Asian support does nothing unless normalisation is on too.
            is_asian = base(tgt_lang) in UNSPACED
            made = TER(normalized=is_asian, asian_support=is_asian, case_sensitive=not lowercase)
    # It would keep the n-grams of all references before it looks at a line: chrF's take 33 KB for 16 words.
    counted = made._cache_references
    made._cache_references = lambda sides: (found for text in sides[0] for found in counted([[text]]))
    return made


def check_sides(hypotheses: Side, references: Side) -> None:
    """Refuse sides that cannot be compared line by line.

    Raises:
        DataError: If the counts differ, naming both, or there is nothing to score.
    """
    if len(hypotheses) != len(references) or not references:
        remedy = "every line needs exactly one reference, empty lines included, and there has to be at least one line"
        raise DataError(f"{len(hypotheses)} hypotheses against {len(references)} references; {remedy}")


def affordable_resamples(n_lines: int, n_bootstrap: int) -> int:
    """The resamples that fit into memory, at most `n_bootstrap`; 0 where too few for an interval do, or of one line."""
    affordable = min(n_bootstrap, _BOOTSTRAP_BYTES // (n_lines * _BYTES_PER_DRAW))
    return affordable if affordable >= _FEWEST and n_lines > 1 else 0


def _notes(hypotheses: Side, references: Side) -> tuple[str, ...]:
    notes = []
    if n_empty := sum(not hypothesis.strip() for hypothesis in hypotheses):
        notes.append(f"{n_empty} of {len(hypotheses)} hypotheses are empty")
    for what, lines in (("hypotheses", hypotheses), ("references", references)):
        # No question mark: French has a blank before it.
        n_tokenised = sum(line.rstrip().endswith((" .", " 。", " ？")) for line in lines)
        if n_tokenised * 2 > len(lines):
            why = "they look tokenised, and scores of tokenised text compare with nobody's; detokenise them first"
            notes.append(f"{n_tokenised} of {len(lines)} {what} end in a space and a full stop: {why}")
    return tuple(notes)
