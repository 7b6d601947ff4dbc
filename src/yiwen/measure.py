"""Measuring a model: translate a test set as users would, score it, and write the result beside the run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yiwen.engines.select import check_pair
from yiwen.errors import ConfigError, Stopped
from yiwen.evaluation.lines import Details, details_of, lines_beside
from yiwen.evaluation.metrics import Evaluation, EvaluationConfig, evaluate
from yiwen.evaluations import Test, kept_at, prepared_folder, settings_of, tests_of
from yiwen.files import may_write, write_json, write_text
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.translation import Translation
from yiwen.translator import Translator

if TYPE_CHECKING:
    from rich.console import Console

    from yiwen.evaluation.significance import Comparison


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Scores of one model on one test set."""

    model: str
    """Folder of the model."""
    engine: str
    """What computed the translations."""
    note: str
    """Why the exported engine was passed over, where it was, and what it is compared with; else empty."""
    test_set: str
    """What was translated."""
    evaluation: Evaluation
    comparison: Comparison | None
    flags: dict[str, int]
    """How many translations carry each flag."""
    seconds: float
    """Wall time of translating."""
    asked: Mapping[str, Any]
    """What was translated and how: text, models, search rules, checks."""
    written: Path | None
    """Where this was written."""
    more: tuple[Measurement, ...] = ()
    """The same of the recipe's other test sets (`data.more_tests`)."""
    details: Details | None = None
    """What there is to know line by line, where a report was asked for."""
    report: Path | None = None
    """Where the report was written."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        result: dict[str, Any] = {"model": self.model, "engine": self.engine, "test_set": self.test_set}
        result |= {"note": self.note, **self.asked, **self.evaluation.to_json(), "flags": self.flags}
        result["sentences_per_s"] = round(self.evaluation.n_lines / self.seconds, 1)
        more = {
            "comparison": self.comparison and self.comparison.to_json(),
            "details": self.details and asdict(self.details),
            "more_tests": [measurement.to_json() for measurement in self.more],
        }
        return result | {name: found for name, found in more.items() if found}


def measure(
    model: Path,
    *,
    src: Path | None = None,
    ref: Path | None = None,
    ensemble: Sequence[Path] = (),
    compare_with: Path | None = None,
    search: SearchConfig | None = None,
    lowercase: bool = False,
    output: Path | None = None,
    report: Path | None = None,
    checks: bool = True,
    engine: str = "auto",
    device: str = "auto",
    dtype: str = "auto",
    threads: int = 0,
    tell: Callable[[Measurement], object] = lambda measurement: None,
    stop: StopFlag | None = None,
) -> Measurement:
    """Translate a test set and score the result.

    A model that is not calibrated yet is, where its validation text lies prepared.

    Args:
        model: A bundle, or a run: then its best model.
        src: Source text, a sentence a line; with `ref` None too, the test sets of the model's recipe.
        ref: One reference a line.
        ensemble: Models of the same vocabulary that translate together with it.
        compare_with: Another bundle, for a test of significance; it translates the same way, by the same search rules.
        search: Search rules; those of the model where not given.
        lowercase: Ignore case, also where the recipe does not say so.
        output: JSON file to write; None: `evaluations/TEST.json` in the run that the bundle belongs to, if any, with a
            name of its own where text, case, engine, checks, search or an ensemble are not the usual ones.
        report: HTML page to write, with details line by line; they are then in the JSON too.
        checks: Translate as users do, with checks and repairs; False: as the search finds it.
        engine, device, dtype, threads: As in `Translator.load`.
        tell: Called with the scores where they cannot be written, and with those of the test sets that a stop finds
            done: a full disk does not cost them, nor the ninth set the eight before it.
        stop: Polled between batches.

    Raises:
        ConfigError: If only one of src and ref is given, there is no recipe to take a test set from, `output` or
            `report` cannot be written or are named twice, or the two models translate between other languages.
        DataError: If the text is missing, empty, no UTF-8, or the sides differ in length.
    """
    # All that can be wrong is looked at first: translating may take long.
    _check_outputs(output, report, read={src, ref})
    load = partial(Translator.load, engine=engine, device=device, dtype=dtype, threads=threads)
    translator = load(model, ensemble=ensemble)
    other = None if compare_with is None else load(compare_with)
    if other is not None:
        check_pair(translator.bundle, other.bundle)
    folder = translator.bundle.folder
    settings = settings_of(folder)
    work = _Work(
        translator=translator,
        other=other,
        settings=replace(settings, lowercase=lowercase or settings.lowercase),
        search=search or translator.bundle.info.search,
        checks=checks,
        is_detailed=report is not None,
        stop=stop,
    )
    tests = tests_of(translator.bundle, src, ref)
    if not ensemble:
        for each in filter(None, (translator, other)):
            calibrate_once(each, stop=stop)
    beside = [str(each.folder.resolve()) for each in translator.others]
    asked: dict[str, Any] = {"src": src and str(src), "ref": ref and str(ref), "ensemble": beside}
    asked |= {"checks": checks, "search": asdict(work.search)}
    if output is not None:
        places = [output, *[None] * (len(tests) - 1)]
    else:
        how = work.unusual(engine, dtype)
        others = beside + ([str(other.bundle.folder.resolve())] if other else [])
        places = [kept_at(folder, test, is_given=src is not None, how=how, others=others) for test in tests]
    measurements: list[Measurement] = []
    try:
        measurements.extend(work.measure(test, place, asked) for test, place in zip(tests, places, strict=True))
        first = replace(measurements[0], more=tuple(measurements[1:]), report=report)
        if report is not None:
            write_report(report, measurements)
        for measurement in (first, *first.more):
            if measurement.written is not None:
                measurement.written.parent.mkdir(parents=True, exist_ok=True)
                write_json(measurement.written, measurement.to_json())
    except (OSError, Stopped):
        for measurement in measurements:  # a stop leaves those here that are done
            tell(replace(measurement, written=None))
        raise
    return first


def _check_outputs(output: Path | None, report: Path | None, *, read: set[Path | None]) -> None:
    named = [path.resolve() for path in (output, report, *read) if path is not None]
    for name, path, kind in (("output", output, "a JSON file"), ("report", report, "an HTML file")):
        if path is not None and (path.is_dir() or not may_write(path)):
            raise ConfigError(f"--{name} {path} is a folder or may not be written; give the path of {kind} of yours")
        if path is not None and named.count(path.resolve()) > 1:
            raise ConfigError(f"--{name} {path} is named twice; give it a file of its own")


@dataclass(frozen=True, kw_only=True)
class _Work:
    """Which models translate and by which rules: the same for every test set."""

    translator: Translator
    other: Translator | None
    """What it is compared with."""
    settings: EvaluationConfig
    search: SearchConfig
    checks: bool
    is_detailed: bool
    stop: StopFlag | None

    def unusual(self, engine: str, dtype: str) -> str:
        """What is not as it usually is, as part of a file's name."""
        usual = asdict(self.translator.bundle.info.search)
        is_so = {
            "lowercase": self.settings.lowercase,
            f"ensemble{1 + len(self.translator.others)}": bool(self.translator.others),
            "unchecked": not self.checks,
            "compared": self.other is not None,
            engine: engine != "auto",
            dtype: dtype != "auto",
        }
        is_so |= {f"{key}-{value}": value != usual[key] for key, value in asdict(self.search).items()}
        return "".join(f"-{name}" for name, is_unusual in is_so.items() if is_unusual)

    def measure(self, test: Test, place: Path | None, asked: Mapping[str, Any]) -> Measurement:
        """Translate one test set with one or two models, and score the result, which is to be written to `place`."""
        from yiwen.evaluation.significance import compare

        translator, other = self.translator, self.other
        translate = partial(
            Translator.translate, search=self.search, checks=self.checks, with_scores=self.is_detailed, stop=self.stop
        )
        rules: dict[str, Any] = {"tgt_lang": translator.tgt_lang, **asdict(self.settings)}
        began = time.perf_counter()
        translations = translate(translator, test.sources)
        seconds = time.perf_counter() - began
        texts = [translation.text for translation in translations]
        comparison, baseline, notes = None, None, [translator.note]
        if other is not None:
            how = "; searched by this model's rules" * (other.bundle.info.search != translator.bundle.info.search)
            notes += [other.note, f"compared with {other.bundle.folder} ({other.engine.description}){how}"]
            baseline = [translation.text for translation in translate(other, test.sources)]
            comparison = compare(texts, baseline, test.references, **rules)
        is_kept = place is not None and may_write(place)
        if place is not None and not is_kept:
            notes.append(f"nothing is kept: {place.parent} cannot be written")
        return Measurement(
            model=str(translator.bundle.folder),
            engine=translator.engine.description,
            note=" · ".join(filter(None, dict.fromkeys(notes))),
            test_set=test.name,
            evaluation=evaluate(texts, test.references, **rules),
            comparison=comparison,
            flags=dict(Counter(flag for translation in translations for flag in translation.flags)),
            seconds=seconds,
            asked=asked,
            written=place if is_kept else None,
            details=self.details(test, translations, baseline) if self.is_detailed else None,
        )

    def details(self, test: Test, translations: list[Translation], baseline: list[str] | None) -> Details:
        """What there is to know line by line."""
        good_at = self.translator.usual.calibration.good_at if self.translator.usual else None
        tgt_lang, lowercase = self.translator.tgt_lang, self.settings.lowercase
        told = [(found.text, found.flags, found.confidence) for found in translations]
        lines = lines_beside((test.sources, test.references), told, baseline, tgt_lang=tgt_lang, lowercase=lowercase)
        return details_of(lines, tgt_lang=tgt_lang, good_at=good_at, lowercase=lowercase)


def write_report(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write an HTML page about measurements that have details."""
    from yiwen.evaluation.report import page, translation_sections

    parts: list[str] = []
    for measured in measurements:
        if measured.details is not None:
            what = f"{measured.test_set}: {measured.evaluation.n_lines:,} lines by {measured.model} ({measured.engine})"
            note = " · ".join(filter(None, (what, measured.note, *measured.evaluation.notes)))
            parts += translation_sections(measured.evaluation, measured.comparison, measured.details, note=note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(f"{measurements[0].model}: {measurements[0].test_set}", parts))


def calibrate_once(translator: Translator, *, stop: StopFlag | None = None) -> None:
    """Calibrate a model that is not calibrated yet, where the text that it was trained on lies prepared.

    A bundle that cannot be written stays as it is: that is no reason to lose what it was loaded for.
    """
    from yiwen.data.store import Store
    from yiwen.evaluation.calibration import calibrate

    folder = prepared_folder(translator.bundle)
    if translator.usual is None and folder.is_dir():
        with suppress(OSError):
            translator.usual = calibrate(translator.bundle, translator.engine, Store.open(folder), stop=stop)


def print_measurement(measurement: Measurement, console: Console) -> None:
    """Show scores, signatures and what else a reader should know."""
    n_lines = measurement.evaluation.n_lines
    lines = [f"{measurement.test_set}: {n_lines:,} lines by {measurement.model} ({measurement.engine})"]
    lines += [f"  {score}" for score in measurement.evaluation.scores]
    if measurement.comparison is not None:
        lines += ["compared:", *(f"  {difference}" for difference in measurement.comparison.differences)]
    lines += [f"  note: {note}" for note in (measurement.note, *measurement.evaluation.notes) if note]
    lines += [f"  flagged {flag}: {n} line{'s' * (n != 1)}" for flag, n in sorted(measurement.flags.items())]
    lines += [f"written: {path}" for path in (measurement.written, measurement.report) if path is not None]
    console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
    for other in measurement.more:
        print_measurement(other, console)
