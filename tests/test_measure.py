"""Measuring: a test set translated as users would, scored with signatures, written beside the run."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tiny_model import TinyRun, own_run, tampered, write_tiny_recipe
from yiwen import evaluations
from yiwen.bundle import open_bundle
from yiwen.data.store import Store, TextPairs
from yiwen.errors import ConfigError, DataError, Stopped
from yiwen.evaluations import prepared_folder
from yiwen.measure import Measurement, measure, print_measurement
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.translator import Translator

GREEDY = SearchConfig(beam_size=1)


@pytest.fixture
def texts(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Source and reference of the test set; the runs are where they were trained."""
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_run.runs))
    return tiny_run.recipe.parent / "test.en", tiny_run.recipe.parent / "test.de"


@pytest.fixture
def model(tiny_run: TinyRun, tmp_path: Path) -> Path:
    """A copy of the best model that belongs to no run."""
    return Path(shutil.copytree(tiny_run.best, tmp_path / "model"))


@pytest.fixture
def run(tiny_run: TinyRun, tmp_path: Path) -> Path:
    return own_run(tiny_run, tmp_path / "run")


def shown(measurement: Measurement) -> str:
    screen = io.StringIO()
    print_measurement(measurement, Console(file=screen, width=40))
    return screen.getvalue()


def test_scores_carry_signatures_and_intervals(model: Path, texts: tuple[Path, Path]) -> None:
    measurement = measure(model, src=texts[0], ref=texts[1], search=GREEDY, threads=1)
    assert measurement.test_set == "test"
    assert [score.name for score in measurement.evaluation.scores] == ["BLEU", "chrF2", "TER"]
    bleu = measurement.evaluation["bleu"]
    assert bleu.value > 30
    assert "tok:13a" in bleu.signature
    assert bleu.low is not None
    assert bleu.high is not None
    assert bleu.low < bleu.value < bleu.high
    assert (measurement.written, measurement.comparison) == (None, None)
    assert f"test: 40 lines by {model} (torch float32 on cpu)\n  BLEU {bleu.value:.2f} [" in shown(measurement)


def test_models_are_loaded_as_asked(model: Path, texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"engine": "torch", "device": "cpu", "dtype": "float32", "threads": 1}
    asked, load = [], Translator.load

    def spied(*given: Any, **options: Any) -> Translator:
        asked.append(options)
        return load(*given, **options)

    monkeypatch.setattr(Translator, "load", spied)
    measure(model, src=texts[0], ref=texts[1], search=GREEDY, compare_with=model, **how)
    assert asked == [{**how, "ensemble": ()}, how]


def test_scores_and_comparisons_go_by_the_target_language_and_by_case_as_is_asked(
    model: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    chinese = tampered(model, tmp_path / "zh", tgt_lang="zh-Hans")
    asked: dict[str, Any] = {"src": texts[0], "ref": texts[1], "lowercase": True, "search": GREEDY, "threads": 1}
    measurement = measure(chinese, compare_with=chinese, **asked)
    assert measurement.comparison is not None
    for bleu in (measurement.evaluation["bleu"], measurement.comparison.differences[0]):
        assert "|case:lc|eff:no|tok:zh|" in bleu.signature


def test_the_result_is_written_beside_the_run(run: Path, texts: tuple[Path, Path]) -> None:
    measurement = measure(run / "best", threads=1)  # the test set of the recipe
    assert measurement.written == run / "evaluations" / "best-test.json"
    written = json.loads(measurement.written.read_text("utf-8"))
    assert written == measurement.to_json()
    assert written["scores"][0]["signature"].startswith("nrefs:1|")
    assert written["sentences_per_s"] > 0
    again = measure(run / "best", src=texts[0], ref=texts[1], lowercase=True, threads=1)
    assert again.written is not None
    assert re.fullmatch(r"best-given-test-lowercase-[\da-f]{8}\.json", again.written.name)
    assert again.evaluation["bleu"].value >= measurement.evaluation["bleu"].value
    assert f"written: {again.written}" in shown(again)


def test_what_was_translated_otherwise_has_a_file_of_its_own(
    run: Path, tiny_run: TinyRun, texts: tuple[Path, Path]
) -> None:
    rules: dict[str, Any] = {"src": texts[0], "ref": texts[1], "threads": 1}
    two = measure(run / "best", ensemble=[tiny_run.best], **rules)
    mbr = measure(run / "best", search=SearchConfig(beam_size=3, mbr=2), **rules)
    bare = measure(run / "best", checks=False, engine="torch", dtype="float32", threads=1)
    assert [re.sub(r"[\da-f]{8}", "HASH", found.written.name) for found in (two, mbr, bare) if found.written] == [
        "best-given-test-ensemble2-HASH.json",
        "best-given-test-beam_size-3-mbr-2-HASH.json",
        "best-test-unchecked-torch-float32.json",
    ]
    assert two.to_json()["ensemble"] == [str(tiny_run.best.resolve())]
    asked = mbr.to_json()
    assert (asked["src"], asked["ref"], asked["checks"]) == (str(texts[0]), str(texts[1]), True)
    assert (asked["search"]["beam_size"], asked["search"]["mbr"]) == (3, 2)


def test_other_text_or_other_models_of_the_same_name_have_files_of_their_own(
    run: Path, tiny_run: TinyRun, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "test.de").write_text(texts[1].read_text("utf-8").upper(), encoding="utf-8")
    asked: list[dict[str, Any]] = [
        {"ref": texts[1]},
        {"ref": texts[1], "compare_with": tiny_run.early},
        {"ref": texts[1], "compare_with": tiny_run.best},
        {"ref": tmp_path / "test.de"},
        {"ref": texts[1], "ensemble": [tiny_run.best]},
        {"ref": texts[1], "ensemble": [tiny_run.early]},
    ]
    for options in asked:
        measure(run / "best", src=texts[0], search=GREEDY, threads=1, **options)
    assert len(list((run / "evaluations").iterdir())) == len(asked)


def test_the_score_names_the_engine_that_made_it(exported_bundle: Path, texts: tuple[Path, Path]) -> None:
    measurement = measure(exported_bundle, src=texts[0], ref=texts[1], search=GREEDY, threads=1)
    assert measurement.to_json()["engine"] == measurement.engine
    assert measurement.engine.startswith("CTranslate2 float32")
    assert f"({measurement.engine})" in shown(measurement)
    reference = measure(exported_bundle, engine="torch", src=texts[0], ref=texts[1], search=GREEDY, threads=1)
    assert reference.engine == "torch float32 on cpu"
    assert reference.evaluation["bleu"].value == pytest.approx(measurement.evaluation["bleu"].value, abs=2)


def test_why_the_exported_engine_was_passed_over_is_shown(
    exported_bundle: Path, model: Path, texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda *device: {"int8"})
    measurement = measure(exported_bundle, src=texts[0], ref=texts[1], search=GREEDY, threads=1)
    assert measurement.engine == "torch float32 on cpu"
    note = f"the exported engine of {exported_bundle} computes in float32, which this"
    assert f"  note: {note}" in shown(measurement)
    for each in (model, exported_bundle):
        compared = measure(each, compare_with=exported_bundle, src=texts[0], ref=texts[1], search=GREEDY, threads=1)
        assert compared.note.count(note) == 1


def test_the_result_goes_where_it_is_asked_to(model: Path, texts: tuple[Path, Path], tmp_path: Path) -> None:
    output = tmp_path / "deep" / "result.json"
    measure(model, src=texts[0], ref=texts[1], search=GREEDY, output=output, threads=1)
    assert json.loads(output.read_text("utf-8"))["model"] == str(model)


def test_a_comparison_says_whether_a_difference_is_chance(
    model: Path, tiny_run: TinyRun, texts: tuple[Path, Path]
) -> None:
    measurement = measure(model, src=texts[0], ref=texts[1], compare_with=tiny_run.early, search=GREEDY, threads=1)
    assert measurement.comparison is not None
    bleu = measurement.comparison.differences[0]
    assert bleu.system > bleu.baseline + 20
    assert bleu.is_significant
    assert measurement.to_json()["comparison"]["differences"][0]["p_value"] == bleu.p_value
    assert "compared:\n  BLEU " in shown(measurement)
    assert f"note: compared with {tiny_run.early} (torch float32 on cpu)" in shown(measurement)
    assert measurement.to_json()["note"] == measurement.note  # who reads the file alone must see what was compared
    assert "p = 0." in shown(measurement)


def test_a_model_does_not_differ_from_itself(model: Path, tiny_run: TinyRun, texts: tuple[Path, Path]) -> None:
    measurement = measure(model, src=texts[0], ref=texts[1], compare_with=tiny_run.best, search=GREEDY, threads=1)
    assert measurement.comparison is not None
    assert {difference.p_value for difference in measurement.comparison.differences} == {1.0}
    assert "searched by" not in measurement.note


def test_a_model_that_is_not_searched_by_its_own_rules_is_said_to_be(
    model: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    teacher = tampered(model, tmp_path / "teacher", search=dataclasses.asdict(SearchConfig(beam_size=7)))
    measurement = measure(model, src=texts[0], ref=texts[1], compare_with=teacher, search=GREEDY, threads=1)
    assert measurement.note == f"compared with {teacher} (torch float32 on cpu); searched by this model's rules"


def test_flags_and_notes_are_shown(model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.en").write_text("Deti gedi.\n" * 9 + "\n", encoding="utf-8")
    (tmp_path / "t.de").write_text("Reta lire.\n" * 9 + "\n", encoding="utf-8")
    search = SearchConfig(beam_size=1, max_len_ratio=0.0, max_len_extra=1)
    asked: dict[str, Any] = {"src": tmp_path / "t.en", "ref": tmp_path / "t.de", "report": tmp_path / "r.html"}
    measurement = measure(model, search=search, threads=1, **asked)
    assert measurement.flags == {"cut": 9}
    assert "flagged cut: 9 lines" in shown(measurement)
    assert "flagged cut: 1 line\n" in shown(dataclasses.replace(measurement, flags={"cut": 1}))
    assert "note: 1 of 10 hypotheses are empty" in shown(measurement)
    assert " · 1 of 10 hypotheses are empty" in asked["report"].read_text("utf-8")
    assert shown(dataclasses.replace(measurement, test_set="[b]")).startswith("[b]: 10 lines")


@pytest.mark.parametrize("side", ["src", "ref"])
def test_one_side_alone_is_refused(side: str, model: Path, texts: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match="give both --src and --ref, or neither for the test set"):
        measure(model, **{side: texts[0]}, threads=1)


def test_text_that_cannot_be_scored_is_refused(model: Path, texts: tuple[Path, Path], tmp_path: Path) -> None:
    short, empty, latin = tmp_path / "short.de", tmp_path / "empty.de", tmp_path / "latin.de"
    short.write_text("Eins.\n", encoding="utf-8")
    empty.write_text("", encoding="utf-8")
    latin.write_bytes(b"gut\nsch\xf6n\n")
    for src, ref, message in (
        (tmp_path / "none.en", texts[1], r"none\.en cannot be read \(No such file.*\); give a readable file"),
        (texts[0], short, r"test\.en has 40 lines, .*short\.de has 1; give one reference a line"),
        (empty, empty, r"empty\.de has 0 lines, .*empty\.de has 0; give one reference a line, and at least one line"),
        (texts[0], latin, r"latin\.de: line 2 is not UTF-8 .*; convert it first"),
    ):
        with pytest.raises(DataError, match=message):
            measure(model, src=src, ref=ref, threads=1)


def test_a_test_set_that_is_not_here_is_asked_for(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "elsewhere"))
    with pytest.raises(
        ConfigError,
        match=r"was trained on data that is not prepared here .*; give --src and --ref, or set YIWEN_RUNS to",
    ):
        measure(model, threads=1)


def test_a_model_finds_the_text_beside_its_run_wherever_other_runs_are(
    tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "elsewhere"))
    wanted = tiny_run.runs / ".prepared" / open_bundle(tiny_run.best).info.data_fingerprint
    (tmp_path / "link").symlink_to(tiny_run.best, target_is_directory=True)
    monkeypatch.chdir(tiny_run.best)
    for folder in (tiny_run.folder, tiny_run.early, (tiny_run.folder / "best").resolve(), Path(), tmp_path / "link"):
        assert prepared_folder(open_bundle(folder)) == wanted


def test_text_may_come_through_a_pipe(model: Path, texts: tuple[Path, Path]) -> None:
    reading, writing = os.pipe()
    os.write(writing, texts[0].read_bytes())
    os.close(writing)
    measurement = measure(model, src=Path(f"/dev/fd/{reading}"), ref=texts[1], search=GREEDY, threads=1)
    os.close(reading)
    assert measurement.evaluation.n_lines == 40


def test_given_text_is_composed_and_references_hold_nothing_that_models_never_write(
    model: Path, tmp_path: Path
) -> None:
    # As of macOS; as of Hindi; soft hyphens, direction marks and the breaks between words of Khmer are not seen.
    for name, lines in (("t.en", "u\u0308\nb\nc\n"), ("t.de", "\u095c \nu\u0308\na\u00adb\u200bc\u200f\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    test = evaluations.Test("t", ["\u00fc", "b", "c"], ["\u0921\u093c", "\u00fc", "abc"])
    assert evaluations.tests_of(open_bundle(model), tmp_path / "t.en", tmp_path / "t.de") == [test]


@pytest.mark.usefixtures("texts")
def test_a_recipe_without_test_set_is_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "test", TextPairs([], []))
    with pytest.raises(ConfigError, match="has no test set; give --src and --ref"):
        measure(model, threads=1)


def test_a_folder_is_no_output(model: Path, texts: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder or may not be written; give the path of a JSON file of yours"):
        measure(model, src=texts[0], ref=texts[1], output=tmp_path, threads=1)


def test_the_text_that_is_read_is_no_output(model: Path, texts: tuple[Path, Path]) -> None:
    before = texts[1].read_bytes()
    for name in ("output", "report"):
        with pytest.raises(ConfigError, match=rf"--{name} .* is named twice; give it a file of its own"):
            measure(model, src=texts[0], ref=texts[1], threads=1, **{name: texts[1]})  # type: ignore[arg-type]
    assert texts[1].read_bytes() == before


def test_what_cannot_be_written_is_said_before_anything_is_translated(
    model: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        ConfigError, match=r"--report .*file/r\.html is a folder or may not be written; give the path of an HTML"
    ):
        measure(model, src=texts[0], ref=texts[1], report=tmp_path / "file" / "r.html", threads=1)


@pytest.fixture
def two_tests(texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe has two test sets."""
    tests = {"first": ("a dog", "ein Hund"), "second": ("a cat", "eine Katze")}
    found = [evaluations.Test(name, [src], [ref]) for name, (src, ref) in tests.items()]
    monkeypatch.setattr("yiwen.measure.tests_of", lambda *_: found)


@pytest.mark.usefixtures("two_tests")
def test_all_test_sets_are_told_and_stand_in_the_files_that_are_asked_for(model: Path, tmp_path: Path) -> None:
    output, report = tmp_path / "deep" / "result.json", tmp_path / "deeper" / "report.html"
    measurement = measure(model, search=GREEDY, output=output, report=report, threads=1)
    written = json.loads(output.read_text("utf-8"))
    assert (written["test_set"], [more["test_set"] for more in written["more_tests"]]) == ("first", ["second"])
    page = report.read_text("utf-8")
    for name in ("first", "second"):
        assert f"{name}: 1 lines by {model}" in shown(measurement)
        assert f"{name}: 1 lines by {model}" in page


@pytest.mark.usefixtures("two_tests")
def test_a_stop_does_not_cost_the_scores_of_the_test_sets_that_are_done(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, told, translate = StopFlag(), list[Measurement](), Translator.translate

    def stopped_in_the_second(translator: Translator, sources: list[str], **how: Any) -> Any:
        stop.signum = signal.SIGINT if sources == ["a cat"] else None
        return translate(translator, sources, **how)

    monkeypatch.setattr(Translator, "translate", stopped_in_the_second)
    with pytest.raises(Stopped, match="stopped by SIGINT"):
        measure(model, search=GREEDY, threads=1, tell=told.append, stop=stop)
    assert [(each.test_set, each.written) for each in told] == [("first", None)]


def test_a_run_that_cannot_be_written_is_scored_all_the_same(run: Path, texts: tuple[Path, Path]) -> None:
    (run / "evaluations").touch()
    measurement = measure(run / "best", src=texts[0], ref=texts[1], search=GREEDY, threads=1)
    assert measurement.written is None
    assert f"note: nothing is kept: {run / 'evaluations'} cannot be written" in shown(measurement)


def test_a_model_belongs_to_its_run_however_it_is_named(
    tiny_run: TinyRun, texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "run" / "bundles" / "best-7"
    shutil.copytree(tiny_run.best, bundle)
    (tmp_path / "run" / "recipe.toml").write_text("[evaluation]\nlowercase = true\n", encoding="utf-8")
    alone = measure(bundle, src=texts[0], ref=texts[1], search=GREEDY, threads=1)  # a recipe may lie anywhere
    assert ("case:mixed" in alone.evaluation["bleu"].signature, alone.written) == (True, None)
    shutil.copyfile(tiny_run.folder / "hardware.json", tmp_path / "run" / "hardware.json")
    (link := tmp_path / "best-7").symlink_to(bundle, target_is_directory=True)
    monkeypatch.chdir(bundle)
    for name in (bundle, Path(), link):
        measurement = measure(name, src=texts[0], ref=texts[1], search=GREEDY, threads=1)
        assert "case:lc" in measurement.evaluation["bleu"].signature
        assert measurement.written is not None
        assert measurement.written.parent.resolve() == tmp_path / "run" / "evaluations"
        assert measurement.written.name.startswith("best-7-given-test-lowercase-")


def test_models_of_other_languages_are_not_compared(model: Path, texts: tuple[Path, Path], tmp_path: Path) -> None:
    other = tampered(model, tmp_path / "other", tgt_lang="fr")
    with pytest.raises(ConfigError, match=r"translates en -> de, .* en -> fr; use models of one pair"):
        measure(model, src=texts[0], ref=texts[1], compare_with=other, threads=1)


def test_search_and_evaluation_settings_of_the_recipe_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    settings = [
        "training.max_steps=2",
        "training.validate_every=2",
        "search.beam_size=3",
        "search.max_len_extra=1",
        "search.max_len_ratio=0.0",
        'evaluation.metrics=["chrf"]',
        "evaluation.lowercase=true",
    ]
    run, _ = train_recipe(load_recipe(str(write_tiny_recipe(tmp_path)), settings), run=tmp_path / "run")
    measurement = measure(run / "best", threads=1)
    (score,) = measurement.evaluation.scores
    assert score.name == "chrF2"
    assert "case:lc" in score.signature
    asked = measurement.asked["search"]
    assert (asked["beam_size"], asked["max_len_extra"], asked["max_len_ratio"]) == (3, 1, 0.0)


def test_tests_of_one_long_name_have_results_of_their_own(run: Path) -> None:
    name = "opus-2024-unpacked-medical-and-legal-texts-"
    one, other = (evaluations.Test(f"{name}{end}", ["a"], [end]) for end in ("EMEA", "JRC"))
    places = {evaluations.kept_at(run / "best", each, is_given=False, how="") for each in (one, other)}
    assert len(places) == 2
    assert all(place is not None and len(place.name.encode()) < 100 for place in places)
