"""Measuring a model: translate a test set as users would, score it, and write the result beside the run."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from yiwen.bundle import find_bundle
from yiwen.data.lines import decoded, lines_of
from yiwen.engines.select import check_pair
from yiwen.errors import ConfigError, DataError
from yiwen.files import may_write, write_json, write_text
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.translator import Translator

if TYPE_CHECKING:
    from rich.console import Console

    from yiwen.bundle import Bundle
    from yiwen.evaluation.lines import Details
    from yiwen.evaluation.metrics import Evaluation, EvaluationConfig
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
        result |= {**self.asked, **self.evaluation.to_json(), "flags": self.flags}
        result["sentences_per_s"] = round(self.evaluation.n_lines / self.seconds, 1)
        if self.comparison is not None:
            result["comparison"] = self.comparison.to_json()
        if self.details is not None:
            result["details"] = dataclasses.asdict(self.details)
        if self.more:
            result["more_tests"] = [measurement.to_json() for measurement in self.more]
        return result


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
    stop: StopFlag | None = None,
) -> Measurement:
    """Translate a test set and score the result.

    A model that is not calibrated yet is, where its validation text lies prepared.

    Args:
        model: A bundle, or a run: then its best model.
        src: Source text, a sentence a line; with `ref` None too, the test sets of the model's recipe.
        ref: One reference a line.
        ensemble: Models of the same vocabulary that translate together with it.
        compare_with: Another bundle, translated the same way, for a test of significance.
        search: Search rules; those of the model where not given.
        lowercase: Ignore case, also where the recipe does not say so.
        output: JSON file to write; None: `evaluations/TEST.json` in the run that the bundle belongs to, if any, with a
            name of its own where text, case, engine, checks, search or an ensemble are not the usual ones.
        report: HTML page to write, with details line by line; they are then in the JSON too.
        checks: Translate as users do, with checks and repairs; False: as the search finds it.
        engine, device, dtype, threads: As in `Translator.load`.
        stop: Polled between batches.

    Raises:
        ConfigError: If only one of src and ref is given, there is no recipe to take a test set from, `output` or
            `report` cannot be written or are one, or the two models translate between other languages.
        DataError: If the text is missing, empty, no UTF-8, or the sides differ in length.
    """
    # All that can be wrong is looked at first: translating may take long.
    for name, path, kind in (("output", output, "a JSON file"), ("report", report, "an HTML file")):
        if path is not None and path.is_dir():
            raise ConfigError(f"--{name} {path} is a folder; give the path of {kind}")
        if path is not None and not may_write(path):
            raise ConfigError(f"--{name} {path} cannot be written there; give the path of {kind} in a folder of yours")
    if output is not None and report is not None and output.resolve() == report.resolve():
        raise ConfigError(f"--output and --report are both {output}; give each a file of its own")
    translator = Translator.load(model, engine=engine, device=device, dtype=dtype, threads=threads, ensemble=ensemble)
    model = translator.bundle.folder
    other = None
    if compare_with is not None:
        other = Translator.load(compare_with, engine=engine, device=device, dtype=dtype, threads=threads)
        check_pair(translator.bundle, other.bundle)
    settings = settings_of(model)
    settings = dataclasses.replace(settings, lowercase=lowercase or settings.lowercase)
    search = search or translator.bundle.info.search
    how = {"search": search, "checks": checks, "with_scores": report is not None, "stop": stop}
    others = [str(find_bundle(Path(each)).resolve()) for each in ensemble]
    compared = [] if other is None else [str(other.bundle.folder.resolve())]
    asked: dict[str, Any] = {"src": src and str(src), "ref": ref and str(ref), "ensemble": others, "checks": checks}
    asked["search"] = dataclasses.asdict(search)

    def measured(test: Test) -> Measurement:
        written, note = output if test is tests[0] else None, ""
        if output is None:
            how_else = "-lowercase" * settings.lowercase + f"-ensemble{1 + len(ensemble)}" * bool(ensemble)
            how_else += "-unchecked" * (not checks) + "-compared" * (other is not None)
            usual = dataclasses.asdict(translator.bundle.info.search).items()
            how_else += "".join(f"-{name}" for name in (engine, dtype) if name != "auto")
            how_else += "".join(f"-{k}-{v}" for k, v in asked["search"].items() if (k, v) not in usual)
            written = kept_at(model, test, is_given=src is not None, how=how_else, others=others + compared)
            if written is not None and not may_write(written):
                note, written = f"nothing is kept: {written.parent} cannot be written", None
        found = _measured(translator, other, test, settings=settings, written=written, asked=asked, how=how)
        return dataclasses.replace(found, note=" · ".join(filter(None, (found.note, note))))

    tests = tests_of(translator.bundle, src, ref)
    for each in filter(None, (translator, other)) if not ensemble else ():
        calibrate_once(each, stop=stop)
    first, *more = map(measured, tests)
    first = dataclasses.replace(first, more=tuple(more), report=report)
    if report is not None:
        write_report(report, (first, *more))
    for measurement in (first, *more):
        if measurement.written is not None:
            measurement.written.parent.mkdir(parents=True, exist_ok=True)
            write_json(measurement.written, measurement.to_json())
    return first


class Test(NamedTuple):
    """Text to translate and what people made of it."""

    name: str
    sources: list[str]
    references: list[str]


def _measured(
    translator: Translator,
    other: Translator | None,
    test: Test,
    *,
    settings: EvaluationConfig,
    written: Path | None,
    asked: Mapping[str, Any],
    how: Mapping[str, Any],
) -> Measurement:
    """Translate one test set with one or two models, and score the result."""
    from yiwen.data.store import TextPairs
    from yiwen.evaluation.lines import details_of, lines_beside
    from yiwen.evaluation.metrics import evaluate
    from yiwen.evaluation.significance import compare

    rules: dict[str, Any] = {"tgt_lang": translator.tgt_lang, **dataclasses.asdict(settings)}
    began = time.perf_counter()
    translations = translator.translate(test.sources, **how)
    seconds = time.perf_counter() - began
    texts = [translation.text for translation in translations]
    evaluation = evaluate(texts, test.references, **rules)
    comparison, baseline, beside = None, None, [""]
    if other is not None:
        beside = [other.note, f"compared with {other.bundle.folder} ({other.engine.description})"]
        baseline = [translation.text for translation in other.translate(test.sources, **how)]
        comparison = compare(texts, baseline, test.references, **rules)
    details = None
    if how["with_scores"]:
        pairs, usual = TextPairs(test.sources, test.references), translator.usual
        told = [(found.text, found.flags, found.confidence) for found in translations]
        case: Any = {"tgt_lang": translator.tgt_lang, "lowercase": settings.lowercase}
        lines = lines_beside(pairs, told, baseline, **case)
        details = details_of(lines, good_at=usual.calibration.good_at if usual else None, **case)
    return Measurement(
        model=str(translator.bundle.folder),
        engine=translator.engine.description,
        note=" · ".join(filter(None, dict.fromkeys((translator.note, *beside)))),
        test_set=test.name,
        evaluation=evaluation,
        comparison=comparison,
        flags=dict(Counter(flag for translation in translations for flag in translation.flags)),
        seconds=seconds,
        asked=asked,
        written=written,
        details=details,
    )


def write_report(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write an HTML page about measurements that have details."""
    from yiwen.evaluation.report import page, translation_sections

    parts: list[str] = []
    for measured in measurements:
        if measured.details is not None:
            note = f"{measured.test_set}: {measured.evaluation.n_lines:,} lines by {measured.model} ({measured.engine})"
            parts += translation_sections(measured.evaluation, measured.comparison, measured.details, note=note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(f"{measurements[0].model}: {measurements[0].test_set}", parts))


def calibrate_once(translator: Translator, *, stop: StopFlag | None = None) -> None:
    """Calibrate a model that is not calibrated yet, where the text that it was trained on lies prepared.

    A bundle that may not be written stays as it is.
    """
    from yiwen.data.store import Store
    from yiwen.evaluation.calibration import calibrate

    folder = prepared_folder(translator.bundle)
    if translator.usual is None and folder.is_dir():
        try:
            translator.usual = calibrate(translator.bundle, translator.engine, Store.open(folder), stop=stop)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise


def prepared_folder(bundle: Bundle) -> Path:
    """Where the text that a model was trained on lies, if it was prepared here: with all runs, or with the model's."""
    from yiwen.recipe import runs_root

    roots = (runs_root(), *bundle.folder.absolute().parents[:3])
    folders = [root / ".prepared" / bundle.info.data_fingerprint for root in roots]
    return next(filter(Path.is_dir, folders), folders[0])


def settings_of(model: Path) -> EvaluationConfig:
    """The evaluation settings of the run that a bundle belongs to; the default ones where there is none."""
    from yiwen.config import parse, read_toml
    from yiwen.evaluation.metrics import EvaluationConfig

    run = run_of(model)
    table = read_toml(run / "recipe.toml").get("evaluation", {}) if run is not None else {}
    return parse(EvaluationConfig, table, source=f"{run}/recipe.toml")


def run_of(bundle: Path) -> Path | None:
    """The run that a bundle belongs to, its best or one of many; None where there is no recipe above it."""
    above = (*bundle.parents[:2], *bundle.absolute().parents[:2])
    files = ("recipe.toml", "hardware.json")  # a recipe alone may lie anywhere
    return next((folder for folder in above if all((folder / name).is_file() for name in files)), None)


def kept_at(bundle: Path, test: Test, *, is_given: bool, how: str, others: Sequence[str] = ()) -> Path | None:
    """Where the result of a run's model is kept; None for a model of no run.

    Args:
        bundle: The model.
        test: What it was measured on.
        is_given: It is no test set of the recipe.
        how: What was unusual, as part of the name.
        others: Models that translated together with it.
    """
    name = f"{bundle.absolute().name}-{'given-' if is_given else ''}{test.name}{how}"
    if is_given or others:  # others may go by the same name
        hashed = hashlib.sha256(json.dumps([test.sources, test.references, others]).encode())
        name += f"-{hashed.hexdigest()[:8]}"
    run = run_of(bundle)
    return run and run / "evaluations" / f"{name}.json"


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


def tests_of(bundle: Bundle, src: Path | None, ref: Path | None) -> list[Test]:
    """The text that a model is to be measured on: that given, or the test sets of its recipe.

    Raises:
        ConfigError: If only one of src and ref is given, or there is no recipe to take a test set from.
        DataError: If the text is missing, empty, no UTF-8, or the sides differ in length.
    """
    if (src is None) != (ref is None):
        raise ConfigError("give both --src and --ref, or neither for the test set of the model's recipe")
    if src is not None and ref is not None:
        sources, references = _read(src), _read(ref)
        if len(sources) != len(references):
            raise DataError(f"{src} has {len(sources)} lines, {ref} has {len(references)}; give one reference a line")
        if not sources:
            raise DataError(f"{src} and {ref} are empty; give at least one line")
        return [Test(src.name.removesuffix(f".{bundle.info.src_lang}"), sources, references)]
    from yiwen.data.store import Store

    folder = prepared_folder(bundle)
    if not folder.is_dir():
        raise ConfigError(
            f"{bundle.folder} was trained on data that is not prepared here ({folder}); give --src and --ref, or set "
            "YIWEN_RUNS to the folder of its runs"
        )
    store = Store.open(folder)
    tests = [Test(name, *pairs) for name, pairs in {"test": store.test, **store.more_tests}.items() if pairs.src]
    if not tests:
        raise ConfigError(f"the recipe of {bundle.folder} has no test set; give --src and --ref")
    return tests


def _read(path: Path) -> list[str]:
    if path.is_dir() or not path.exists():  # a pipe will do
        raise DataError(f"{path} is no file; give the path of an existing text")
    return list(decoded(lines_of(path), path))
