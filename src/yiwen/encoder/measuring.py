"""Measuring an encoder: label, tag or pair a test set as users would, score it, write the result beside the run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from yiwen.data.heldout import check_held_out
from yiwen.data.labels import labels_of
from yiwen.encoder.facade import Encoder
from yiwen.errors import ConfigError
from yiwen.evaluation.classification import Classification, evaluate_labels
from yiwen.evaluation.label_report import label_report
from yiwen.evaluation.retrieval import retrieval
from yiwen.evaluations import Test, kept_at, settings_of, tests_of
from yiwen.files import may_write, write_json, write_text
from yiwen.stop import StopFlag
from yiwen.tasks.config import TARGETS
from yiwen.text.normalise import normalise

_N_MISTAKES: Final = 50


@dataclass(frozen=True, kw_only=True)
class EncoderMeasurement:
    """Scores of one encoder on one test set."""

    model: str
    engine: str
    test_set: str
    n_texts: int
    scores: dict[str, float]
    """In percent, by name."""
    labels: Classification | None
    """Where the task has labels: intervals, confusions, calibration."""
    seconds: float
    written: Path | None
    """The JSON file; a page of the same name lies beside it where there are labels."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        result: dict[str, Any] = {"model": self.model, "engine": self.engine, "test_set": self.test_set}
        rate = self.n_texts * (1 if self.labels else 2) / self.seconds  # embeddings are of both sides
        result |= {"n_texts": self.n_texts, "texts_per_s": round(rate, 1), "scores": self.scores}
        return result | ({"labels": asdict(self.labels)} if self.labels else {})


def measure_encoder(
    model: Path,
    *,
    src: Path | None = None,
    ref: Path | None = None,
    output: Path | None = None,
    engine: str = "auto",
    device: str = "auto",
    dtype: str = "auto",
    threads: int = 0,
    stop: StopFlag | None = None,
) -> list[EncoderMeasurement]:
    """Score a classifier, a tagger or an embedder.

    Args:
        model: A bundle, or a run: then its best model.
        src: Texts, one a line; with `ref` None too, the test sets of the model's recipe.
        ref: The label, the tags or the translation of each.
        output: JSON file to write, further tests beside it under their names; None: below `evaluations/` in the run
            that the bundle belongs to, if any.
        engine, device, dtype, threads: As in `Encoder.load`.
        stop: Polled between batches.

    Raises:
        ConfigError: If the task has nothing to be scored by, there is no test set, or output can be no JSON file.
        DataError: If the text is missing, or has labels that the model does not know.
    """
    if output is not None and (output.is_dir() or output.suffix.lower() == ".html" or not may_write(output)):
        raise ConfigError(f"--output {output}: a page lies beside it; give the path of a .json file that you may write")
    written = [output, output.with_suffix(".html")] if output else []
    if {each.resolve() for each in written} & {each.resolve() for each in (src, ref) if each}:
        raise ConfigError(f"--output {output}: it, or the page beside it, is what is read; give it a file of its own")
    encoder = Encoder.load(model, engine=engine, device=device, dtype=dtype, threads=threads)
    bundle, folder = encoder.bundle, encoder.bundle.folder
    if bundle.info.task == "mlm":
        raise ConfigError(f"{folder} guesses hidden words, which its validation scores say all about; see README.md")
    found = []
    for number, test in enumerate(tests_of(bundle, src, ref)):
        how = "".join(f"-{name}" for name in (engine, dtype) if name != "auto")
        place = output or kept_at(folder, test, is_given=src is not None, how=how)
        if output is not None and number:  # a file for each test
            place = output.with_stem(f"{output.stem}-{test.name}")
        place = place if place and may_write(place) else None  # the run may be somebody else's
        found.append(_measured(encoder, test, place, n_bootstrap=settings_of(folder).n_bootstrap, stop=stop))
    return found


def _measured(
    encoder: Encoder, test: Test, written: Path | None, *, n_bootstrap: int, stop: StopFlag | None
) -> EncoderMeasurement:
    info, targets = encoder.bundle.info, TARGETS[encoder.bundle.info.task]
    if info.labels:
        check_held_out((test.sources, test.references), name=test.name, labels=info.labels, targets=targets)
    texts, labels, confidences = [normalise(text) for text in test.sources], None, list[float]()
    gold = [labels_of(normalise(text), targets) for text in test.references]
    began = time.perf_counter()
    if info.task == "embed":
        vectors = [encoder.features(side, stop=stop) for side in (test.sources, test.references)]
        seconds = time.perf_counter() - began
        scores = retrieval(vectors[0], vectors[1], texts, [*map(normalise, test.references)])
    else:
        if info.task == "tag":
            predicted = encoder.tag([text.split(" ") for text in texts], stop=stop)
        else:
            predictions = encoder.classify(texts, stop=stop)
            predicted, confidences = [[str(p)] for p in predictions], [p.probability for p in predictions]
        seconds = time.perf_counter() - began
        labels = evaluate_labels(gold, predicted, labels=info.labels, confidences=confidences, n_bootstrap=n_bootstrap)
        scores = labels.scores
    measurement = EncoderMeasurement(
        model=str(encoder.bundle.folder),
        engine=encoder.engine.description,
        test_set=test.name,
        n_texts=len(texts),
        scores=scores,
        labels=labels,
        seconds=seconds,
        written=written,
    )
    if written is not None:
        written.parent.mkdir(parents=True, exist_ok=True)
        write_json(written, measurement.to_json())
        if labels is not None:
            wrong = [(t, " ".join(p), " ".join(g)) for t, p, g in zip(texts, predicted, gold, strict=True) if p != g]
            title = f"{test.name}: {len(texts):,} texts by {measurement.model}"
            write_text(written.with_suffix(".html"), label_report(labels, title=title, mistakes=wrong[:_N_MISTAKES]))
    return measurement


def print_encoder_measurement(measurement: EncoderMeasurement, console: Console) -> None:
    """Show scores with their intervals."""
    lines = [f"{measurement.test_set}: {measurement.n_texts:,} texts by {measurement.model} ({measurement.engine})"]
    intervals = measurement.labels.intervals if measurement.labels else {}
    for name, value in measurement.scores.items():
        interval = "  (95 %: {:.2f} to {:.2f})".format(*intervals[name]) if name in intervals else ""
        lines.append(f"  {name.replace('_', ' ')} {value:.2f}{interval}")
    lines.append(f"written: {measurement.written}" if measurement.written else "note: nothing is kept; give --output")
    console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
