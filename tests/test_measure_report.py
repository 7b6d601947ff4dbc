"""Details, reports and calibration when a model is measured."""

from __future__ import annotations

import errno
import json
import shutil
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from tiny_model import TinyRun
from yiwen.errors import ConfigError, Stopped
from yiwen.evaluation import calibration
from yiwen.measure import calibrate_once, measure
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.translator import Translator

GREEDY = SearchConfig(beam_size=1)


@pytest.fixture
def model(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the best model whose text lies prepared, and whose validation set is taken to be large enough."""
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_run.runs))
    monkeypatch.setattr(calibration, "MIN_PAIRS", 20)
    monkeypatch.setattr(calibration, "FEWEST_OF_A_KIND", 1)
    return Path(shutil.copytree(tiny_run.best, tmp_path / "model"))


def test_a_report_shows_two_models_side_by_side_and_the_json_has_its_numbers(
    model: Path, tiny_run: TinyRun, tmp_path: Path
) -> None:
    report, output = tmp_path / "report.html", tmp_path / "r.json"
    other = Path(shutil.copytree(tiny_run.early, tmp_path / "early"))
    measured = measure(model, compare_with=other, search=GREEDY, report=report, output=output, threads=1)
    html = report.read_text("utf-8")
    assert f"<title>{model}: test</title>" in html
    assert f"test: 40 lines by {model} (torch float32 on cpu)" in html
    assert f" · compared with {other} (torch float32 on cpu)" in html
    assert "Gains against the other model" in html
    details = json.loads(output.read_text("utf-8"))["details"]
    assert measured.details is not None
    assert details == json.loads(json.dumps(asdict(measured.details)))
    assert sum(n for _, n, _, _ in details["buckets"]) == 40
    assert len(details["worst"]) == 15
    assert all(line["other"] for line in details["worst"])
    assert sum(n for n, _, _ in details["reliability"]) == 40
    assert measured.report == report


def test_details_ignore_case_where_the_scores_do(model: Path, tiny_run: TinyRun, tmp_path: Path) -> None:
    src, ref, capitals = tiny_run.recipe.parent / "test.en", tiny_run.recipe.parent / "test.de", tmp_path / "test.de"
    capitals.write_text(ref.read_text("utf-8").upper(), encoding="utf-8")
    found = []
    for given in (ref, capitals):
        measured = measure(model, src=src, ref=given, lowercase=True, search=GREEDY, report=tmp_path / "r", threads=1)
        assert measured.details is not None
        found.append((measured.details.buckets, [line.chrf for line in measured.details.worst]))
    assert found[0] == found[1]


def test_without_a_report_there_are_no_details(model: Path, tmp_path: Path) -> None:
    measured = measure(model, search=GREEDY, output=tmp_path / "r.json", threads=1)
    assert (measured.details, measured.report) == (None, None)
    assert "details" not in json.loads((tmp_path / "r.json").read_text("utf-8"))


def test_a_report_cannot_be_a_folder(model: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"--report .* is a folder or may not be written; give the path of an HTML file of yours"
    ):
        measure(model, report=tmp_path, threads=1)


def test_a_measured_model_is_calibrated_once(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Translator.load(model, threads=1).usual is None
    measure(model, search=GREEDY, output=tmp_path / "r.json", threads=1)
    translator = Translator.load(model, threads=1)
    assert translator.usual is not None
    assert translator.usual.calibration.n_pairs == 30
    monkeypatch.setattr(calibration, "calibrate", None)  # not called again
    calibrate_once(translator)
    calibrate_once(Translator.load(model, threads=1))


def test_both_models_of_a_comparison_are_calibrated_and_none_by_what_an_ensemble_writes(
    model: Path, tiny_run: TinyRun, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(tiny_run.early, tmp_path / "early"))
    measure(model, ensemble=[other], search=GREEDY, threads=1)
    assert [Translator.load(each, threads=1).usual for each in (model, other)] == [None, None]
    measure(model, compare_with=other, search=GREEDY, threads=1)
    assert None not in [Translator.load(each, threads=1).usual for each in (model, other)]


def test_a_stop_ends_the_calibration_too(model: Path) -> None:
    stop = StopFlag()
    stop.signum = signal.SIGINT
    with pytest.raises(Stopped):
        measure(model, search=GREEDY, threads=1, stop=stop)
    assert not (model / "calibration").exists()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_what_cannot_be_written_stays_uncalibrated(model: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "may not be written")

    monkeypatch.setattr(calibration, "calibrate", refuse)
    calibrate_once(Translator.load(model, threads=1))
    assert Translator.load(model, threads=1).usual is None


def test_checks_can_be_left_out(model: Path, tmp_path: Path) -> None:
    src, ref = tmp_path / "t.en", tmp_path / "t.de"
    src.write_text("Kabe 25 robu.\nPeku suse.\n", encoding="utf-8")
    ref.write_text("Godi 25 pofo.\nLome teku.\n", encoding="utf-8")
    with_checks, without = (
        measure(model, src=src, ref=ref, search=GREEDY, checks=checks, threads=1).flags for checks in (True, False)
    )
    assert with_checks.get("numbers") == 1
    assert "numbers" not in without
