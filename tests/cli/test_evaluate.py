"""`yiwen evaluate`: scores with signatures, for people and for programs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from commands import Commands

from tiny_model import TinyRun, own_run, tampered
from yiwen.bundle import open_bundle
from yiwen.encoder.measuring import EncoderMeasurement
from yiwen.errors import ConfigError
from yiwen.stop import StopFlag

QUICK = ("--beam-size", 1, "--threads", 1)


@pytest.fixture
def model(trained: TinyRun, tmp_path: Path) -> Path:
    """The best model in a run folder of its own, so that no test writes into the shared run."""
    return own_run(trained, tmp_path / "copy") / "best"


def test_the_test_set_of_the_recipe_is_scored_and_kept_beside_the_run(run: Commands, model: Path) -> None:
    done = run("evaluate", model, *QUICK)
    assert done.code == 0
    written = model.parent / "evaluations" / "best-test-beam_size-1.json"
    assert done.lines[0] == f"test: 40 lines by {model} (torch float32 on cpu)"
    assert [line.split()[0] for line in done.lines[1:4]] == ["BLEU", "chrF2", "TER"]
    assert "nrefs:1|bs:1000|seed:12345|case:mixed" in done.lines[1]
    assert done.lines[-1] == f"written: {written}"
    assert json.loads(written.read_text("utf-8"))["n_lines"] == 40


def test_json_is_one_object_on_the_last_line_and_all_of_stdout(run: Commands, model: Path, tmp_path: Path) -> None:
    done = run("evaluate", model, *QUICK, "--json", "--output", tmp_path / "r.json", "--lowercase")
    assert done.code == 0
    (line,) = done.lines
    result = json.loads(line)
    assert result == json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert "case:lc" in result["scores"][0]["signature"]
    assert "BLEU" in done.err


def test_a_comparison_gives_p_values(run: Commands, model: Path, trained: TinyRun) -> None:
    done = run("evaluate", model, *QUICK, "--compare", trained.early, "--json")
    assert done.code == 0
    differences = json.loads(done.lines[-1])["comparison"]["differences"]
    assert [d["name"] for d in differences] == ["BLEU", "chrF2", "TER"]
    assert all(0 < d["p_value"] < 0.05 and d["is_significant"] for d in differences)
    assert "compared:" in done.err


def test_a_report_is_written_and_named(run: Commands, model: Path, tmp_path: Path) -> None:
    done = run("evaluate", model, *QUICK, "--report", tmp_path / "r.html", "--no-checks", "--json")
    assert done.code == 0
    assert f"written: {tmp_path / 'r.html'}" in done.err
    assert (tmp_path / "r.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert len(json.loads(done.lines[-1])["details"]["worst"]) == 15


def test_all_that_is_asked_is_handed_on(run: Commands, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def noted(model: Path, **how: Any) -> None:
        asked.update(how)
        raise ConfigError("enough")

    monkeypatch.setattr("yiwen.measure.measure", noted)
    options = "--src a --ref b --output o --report r --compare c --ensemble d --ensemble e --no-checks --lowercase"
    options += " --beam-size 7 --length-penalty 0.5 --mbr 3 --engine torch --device cpu --dtype bf16 --threads 3"
    assert run("evaluate", model, *options.split(" ")).err == "error: enough\n"
    search, stop, _ = (asked.pop(name) for name in ("search", "stop", "tell"))
    assert (search.beam_size, search.length_penalty, search.mbr, type(stop)) == (7, 0.5, 3, StopFlag)
    files: dict[str, Any] = {"src": Path("a"), "ref": Path("b"), "output": Path("o"), "report": Path("r")}
    models = {"compare_with": Path("c"), "ensemble": [Path("d"), Path("e")]}
    how = {"engine": "torch", "device": "cpu", "dtype": "bf16", "threads": 3}
    assert asked == {**files, **models, **how, "checks": False, "lowercase": True}


def test_of_an_encoder_all_test_sets_are_told_and_a_stop_is_heeded(
    run: Commands, tiny_classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    told: Any = {"model": "m", "engine": "torch", "n_texts": 1, "scores": {}, "labels": None, "seconds": 1.0}

    def noted(model: Path, **how: Any) -> list[EncoderMeasurement]:
        asked.update(how)
        return [EncoderMeasurement(**told, test_set=name, written=None) for name in ("one", "two", "three")]

    monkeypatch.setattr("yiwen.encoder.measuring.measure_encoder", noted)
    done = run("evaluate", tiny_classifier, "--json", "--threads", 3)
    first = json.loads(done.out)
    assert [first["test_set"], *(more["test_set"] for more in first["more_tests"])] == ["one", "two", "three"]
    assert (type(asked["stop"]), asked["threads"]) == (StopFlag, 3)


def test_a_full_disk_does_not_cost_the_scores(run: Commands, model: Path) -> None:
    done = run("evaluate", model, *QUICK, "--output", "/dev/full")
    assert done.code == 1
    assert [line.split()[0] for line in done.lines[1:4]] == ["BLEU", "chrF2", "TER"]
    assert b"written:" not in done.out
    assert "no space left on the disk" in done.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--src", "test.en"], 2, "give both --src and --ref, or neither for the test set of the model's recipe"),
        (["--ref", "test.de"], 2, "give both --src and --ref"),
        (["--src", "none.en", "--ref", "test.de"], 3, "none.en cannot be read (No such file or directory); give a"),
        (["--src", "test.en", "--ref", "valid.de"], 3, "test.en has 40 lines, valid.de has 30; give one reference"),
        (["--compare", "nothing"], 4, "nothing is not a folder; give a bundle"),
        (["--output", "."], 2, "--output . is a folder or may not be written; give the path of a JSON file"),
        (
            ["--report", "test.en/r.html"],
            2,
            "--report test.en/r.html is a folder or may not be written; give the path of an HTML file",
        ),
        (["--output", "r", "--report", "./r"], 2, "--output r is named twice; give it a file of its own"),
        (["--beam-size", "0"], 2, "search.beam_size is 0"),
    ],
)
def test_wrong_use_exits_with_its_code(
    options: list[str],
    code: int,
    message: str,
    run: Commands,
    model: Path,
    trained: TinyRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(trained.recipe.parent)
    done = run("evaluate", model, *options, "--threads", 1)
    assert (done.code, done.out) == (code, b"")
    assert message in done.err


def test_a_beam_for_a_model_that_samples_is_refused(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    search = dataclasses.asdict(open_bundle(tiny_run.best).info.search) | {"sampling": True}
    model = tampered(tiny_run.best, tmp_path / "model", search=search)
    done = run("evaluate", model, *QUICK, "--src", tiny_run.recipe, "--ref", tiny_run.recipe)
    assert (done.code, done.out) == (2, b"")
    assert "search.beam_size: sampling has no beam, penalty='none' no exponent; leave this out" in done.err


@pytest.mark.parametrize(
    "option",
    [
        *("--length-penalty 0", "--mbr 0", "--no-checks", "--lowercase", "--beam-size 1"),
        *("--compare other", "--report r.html", "--ensemble other"),
    ],
)
def test_what_is_for_translations_is_refused_for_another_task(
    option: str, run: Commands, tiny_classifier: Path
) -> None:
    done = run("evaluate", tiny_classifier, *option.split(" "))
    assert (done.code, done.out) == (2, b"")
    assert f"{option.partition(' ')[0]}: for translations; " in done.err


def test_a_model_whose_text_is_not_prepared_here_asks_for_text(
    run: Commands, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "other"))
    done = run("evaluate", model, *QUICK)
    assert done.code == 2
    assert "was trained on data that is not prepared here" in done.err
