"""What is usual for a model, measured once on its validation text and kept in its bundle.

    calibration/   calibration.json  weights.json  manifest.json

How much translations weigh beside their sources, and how often a translation is good that the model finds so likely.
With it the checks know what is odd, and a translation has a confidence that means something. A bundle without the
folder is checked for less, and its translations have no confidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from yiwen.bundle import CALIBRATION, Bundle, open_bundle
from yiwen.config import parse
from yiwen.errors import CheckpointError, YiwenError
from yiwen.evaluation.metrics import Bins, Side, bleu_tokenizer, scorer
from yiwen.files import new_folder, verify_manifest, write_json
from yiwen.stop import StopFlag
from yiwen.text.protect import masked, named

if TYPE_CHECKING:
    import numpy as np

    from yiwen.data.store import Store
    from yiwen.engines.engine import Engine, Ids, Sentences

FORMERLY: Final = (1, 2)
"""Layouts that are measured anew rather than read."""
MIN_PAIRS: Final = 100
"""Fewer validation pairs do not tell what is usual."""
FALSE_ALARMS: Final = 0.01
"""Share of validation references that may be called incomplete."""
LEAST_DOUBT: Final = 1.0
"""Standard deviations below which nothing is called incomplete, however alike references are ..."""
MOST_DOUBT: Final = 3.0
"""... and above which a translation is, however many references leave something out themselves."""
GOOD: Final = {"13a": 50.0, "zh": 25.0, "char": 25.0}
"""Sentence chrF2 from which on a translation counts as good, by BLEU's tokeniser for the language: where a character
is as much as a syllable, few n-grams of six characters meet."""
FEWEST_OF_A_KIND: Final = 5
"""Of fewer good translations, or fewer others, nobody can tell what tells them apart."""
SIGNS: Final = (0, 1, 0, -1)
"""What the weights of `_features` may be: above 0, below 0, or either."""
SPARED: Final = 5.0
"""Subwords added to both sides when their weights are compared, to spare short texts."""
RIDGE: Final = 0.1
N_BINS: Final = 10


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What `calibration.json` says."""

    format_version: Literal[3] = 3
    """Layout of the folder; a newer one than this program knows is refused."""
    n_pairs: int
    """Validation pairs that it was measured on."""
    shortness: tuple[float, float]
    """Of what `Weights.shortness` says, mean and standard deviation."""
    incomplete_at: float
    """Standard deviations of shortness from which on a translation is incomplete."""
    odd_at: float
    """The same, either way, from which on a length is odd."""
    good_at: float
    """Sentence chrF2 from which on a translation counted as good."""
    weights: tuple[float, ...]
    """Of the logistic regression behind the confidence, see `_features`; none where nearly all or none were good."""
    error: float
    """Expected calibration error, on the half of the pairs that other weights were fitted without; 0 without any."""
    reliability: Bins
    """Of that half."""


@dataclass(frozen=True)
class Weights:
    """What each id of either side weighs, in target subwords, as learnt from training text (`evaluation.weights`).

    By them a translation that lacks a clause weighs less than translations of such a source do. That costs
    microseconds. Alignments and the model itself know little besides: the log says how little.
    """

    src: tuple[float, ...]
    tgt: tuple[float, ...]

    def shortness(self, src_ids: Ids, tgt_ids: Ids) -> float:
        """How short a translation is: log of what the source weighs over what the translation does."""
        whole, part = sum(map(self.src.__getitem__, src_ids)), sum(map(self.tgt.__getitem__, tgt_ids))
        return math.log((whole + SPARED) / (part + SPARED))


@dataclass(frozen=True)
class Usual:
    """A bundle's calibration, ready for questions."""

    calibration: Calibration
    weights: Weights

    def faults(self, src_ids: Ids, tgt_ids: Ids) -> list[str]:
        """What is wrong with a translation by how much it holds, as `evaluation.checks` names it."""
        usual, short = self.calibration, self._shortness(src_ids, tgt_ids)
        found = {"length_ratio": abs(short) > usual.odd_at, "omission": short > usual.incomplete_at}
        return [name for name, is_there in found.items() if is_there]

    def confidence(self, log_prob: float, src_ids: Ids, tgt_ids: Ids) -> float | None:
        """Probability that a translation is good; None where its log-probability is not known, or nothing can tell."""
        if not (self.calibration.weights and math.isfinite(log_prob)):
            return None
        features = _features(log_prob, len(tgt_ids), self._shortness(src_ids, tgt_ids))
        logit = math.fsum(w * x for w, x in zip(self.calibration.weights, features, strict=True))
        return 1 / (1 + math.exp(-min(max(logit, -30.0), 30.0)))

    def _shortness(self, src_ids: Ids, tgt_ids: Ids) -> float:
        mean, deviation = self.calibration.shortness
        return (self.weights.shortness(src_ids, tgt_ids) - mean) / deviation


def open_calibration(bundle: Bundle) -> Usual | None:
    """What is usual for a bundle; None where it was never calibrated, or by a version that knew less of lengths.

    Raises:
        CheckpointError: If the folder is damaged or of a newer format.
    """
    folder = bundle.folder / CALIBRATION
    if not folder.is_dir():
        return None
    try:
        verify_manifest(folder)
        table = json.loads((folder / "calibration.json").read_text("utf-8"))
        if table.get("format_version") in FORMERLY:
            return None  # and `calibrate` puts a new one in its place
        calibration = parse(Calibration, table, source=str(folder / "calibration.json"))
        weights = Weights(**json.loads((folder / "weights.json").read_text("utf-8")))
        if (len(weights.src), len(weights.tgt)) != (bundle.source.vocab_size, bundle.target.vocab_size):
            raise ValueError(f"{folder / 'weights.json'} has not one weight for each subword")
    except (YiwenError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{error}; upgrade yiwen, or remove {folder} and evaluate the model again") from error
    return Usual(calibration, weights)


def calibrate(bundle: Bundle, engine: Engine, store: Store, *, stop: StopFlag | None) -> Usual | None:
    """Translate the validation text of a model, and write into its bundle what is usual.

    Args:
        bundle: The model; it gets the folder `calibration`, or a new one.
        engine: What computes.
        store: The text that the model was trained on.
        stop: Polled between batches.

    Returns:
        What was written; None where the validation text is too small to tell.
    """
    from yiwen.evaluation.weights import learn_weights

    readings = [bundle.reader.read(src) for src in store.valid.src]  # as a user's text is read
    references = [named(*masked(tgt), reading.kept) for tgt, reading in zip(store.valid.tgt, readings, strict=True)]
    src = bundle.source.encode([reading.text for reading in readings])
    ref = bundle.target.encode(references)
    kept = [i for i, ids in enumerate(src) if 0 < len(ids) <= bundle.limit and 0 < len(ref[i]) <= bundle.room]
    if len(kept) < MIN_PAIRS:
        return None
    src, ref = [src[i] for i in kept], [ref[i] for i in kept]
    search = bundle.info.search.changed(n_best=1, sampling=False, mbr=0)
    best = [group[0] for group in engine.search(src, config=search, stop=stop)]
    answers = bundle.target.decode([hypothesis.ids for hypothesis in best])
    texts = [bundle.reader.write(readings[i], answer) for i, answer in zip(kept, answers, strict=True)]
    scores = sentence_scores(texts, [store.valid.tgt[i] for i in kept], tgt_lang=bundle.info.tgt_lang)
    weights = learn_weights(store)
    lengths = usual_lengths(src, ref, weights)
    mean, deviation = lengths["shortness"]
    doubts = [(weights.shortness(ids, h.ids) - mean) / deviation for ids, h in zip(src, best, strict=True)]
    features = [_features(h.log_prob, len(h.ids), doubt) for h, doubt in zip(best, doubts, strict=True)]
    good_at = GOOD[bleu_tokenizer(bundle.info.tgt_lang)]
    fitted = fit_confidence(features, [score >= good_at for score in scores])
    calibration = Calibration(n_pairs=len(src), good_at=good_at, **lengths, **fitted)
    if open_bundle(bundle.folder).info != bundle.info:  # by a link: training has published a better one
        return None
    with new_folder(bundle.folder / CALIBRATION) as folder:
        write_json(folder / "calibration.json", asdict(calibration))
        (folder / "weights.json").write_text(json.dumps(asdict(weights)), encoding="utf-8")
    return open_calibration(bundle)


def sentence_scores(hypotheses: Side, references: Side, *, tgt_lang: str, lowercase: bool = False) -> list[float]:
    """chrF2 of each sentence, 0 to 100."""
    chrf = scorer("chrf", tgt_lang=tgt_lang, lowercase=lowercase)
    return [float(chrf.sentence_score(h, [r]).score) for h, r in zip(hypotheses, references, strict=True)]


def usual_lengths(src: Sentences, ref: Sentences, weights: Weights) -> dict[str, Any]:
    """What good translations are like: the fields of a `Calibration` about lengths and omissions."""
    import numpy as np

    short = np.array(list(map(weights.shortness, src, ref)))
    usual = float(short.mean()), max(float(short.std()), 0.05)
    doubts = (short - usual[0]) / usual[1]
    incomplete_at = float(np.clip(np.quantile(doubts, 1 - FALSE_ALARMS), LEAST_DOUBT, MOST_DOUBT))
    odd_at = max(float(np.quantile(np.abs(doubts), 1 - FALSE_ALARMS / 5)), 3.0)
    return {"shortness": usual, "incomplete_at": incomplete_at, "odd_at": odd_at}


def fit_confidence(features: Sequence[Sequence[float]], is_good: Sequence[bool]) -> dict[str, Any]:
    """Logistic regression: `weights`, `error` and `reliability` of a `Calibration`.

    At the same length what is likelier is never less sure, and at the same likelihood what has an odd length never
    surer, whatever few pairs say.
    Source: Platt 1999, with a weak ridge.
    """
    import numpy as np

    x, y = np.asarray(features), np.asarray(is_good, dtype=float)
    if min(y.sum(), len(y) - y.sum()) < FEWEST_OF_A_KIND:
        return {"weights": (), "error": 0.0, "reliability": ()}
    halves = np.arange(len(y)) % 2 == 0
    predicted = 1 / (1 + np.exp(-x[~halves] @ _logistic(x[halves], y[halves])))
    error, reliability = reliability_of(predicted.tolist(), y[~halves].tolist())
    return {"weights": tuple(map(float, _logistic(x, y))), "error": error, "reliability": reliability}


def reliability_of(confidences: Sequence[float], is_good: Sequence[float]) -> tuple[float, Bins]:
    """Expected calibration error, and the bins that it is told from.

    Source: Naeini et al. 2015, in bins of equal size.
    """
    import numpy as np

    p, y = np.asarray(confidences), np.asarray(is_good, dtype=float)
    bins = [each for each in np.array_split(np.argsort(p, kind="stable"), N_BINS) if len(each)]
    found = tuple((len(each), float(p[each].mean()), float(y[each].mean())) for each in bins)
    return math.fsum(n * abs(mean - share) for n, mean, share in found) / len(p), found


def _logistic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights by Newton's method, 0 where one would have the wrong sign; the ridge keeps them finite."""
    import numpy as np

    used = np.ones(x.shape[1], dtype=bool)
    while True:
        weights = np.zeros(x.shape[1])
        for _ in range(30):
            p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
            hessian = (x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(len(weights))
            step = np.linalg.solve(hessian[np.ix_(used, used)], (x.T @ (p - y) + RIDGE * weights)[used])
            weights[used] -= step
        is_wrong = used & (weights * SIGNS < 0)
        if not is_wrong.any():
            return weights
        used &= ~is_wrong


def _features(log_prob: float, n_tgt: int, short: float) -> tuple[float, ...]:
    """What the confidence is told from: 1, log-probability a subword, log of subwords, how odd the length is."""
    return 1.0, log_prob / (n_tgt + 1), math.log(n_tgt + 1), abs(short)
