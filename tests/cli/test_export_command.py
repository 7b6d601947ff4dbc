"""`yiwen export`: a model becomes a fast engine and says how it compares."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from commands import Commands

from tiny_model import TinyRun
from yiwen.bundle import Bundle, open_bundle
from yiwen.cli.export import DType
from yiwen.engines.exported import COMPUTE_TYPES
from yiwen.errors import Stopped


def test_export_prints_a_report_and_one_json_object(run: Commands, trained: TinyRun, tmp_path: Path) -> None:
    model = shutil.copytree(trained.best, tmp_path / "model")
    done = run("export", model, "--json")
    assert done.code == 0
    assert "model/ctranslate2: int8" in done.err
    assert "note: the bound on BLEU was not checked" in done.err
    (line,) = done.lines
    assert json.loads(line)["verification"]["int8"]["n_lines"] == 30
    assert (model / "ctranslate2" / "manifest.json").is_file()


def test_export_writes_a_bundle_for_machines_without_torch(run: Commands, trained: TinyRun, tmp_path: Path) -> None:
    output = tmp_path / "small"
    assert run("export", trained.folder, "--to", "ctranslate2", "--dtype", "float32", "--output", output).code == 0
    assert not (output / "model.safetensors").exists()
    assert (output / "ctranslate2" / "model.bin").is_file()


@pytest.mark.parametrize("dtype", ["float32", "bf16"])
def test_a_model_that_is_not_calibrated_is_exported_for_a_machine_that_computes_otherwise(
    dtype: str, run: Commands, trained: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yiwen.evaluation.calibration.MIN_PAIRS", 10)
    model = shutil.copytree(trained.early, tmp_path / "model")
    done = run("export", model, "--dtype", dtype, "--output", tmp_path / "small")
    assert done.code == 0, done.err
    assert (tmp_path / "small" / "calibration").is_dir()
    assert ("unverified: CTranslate2 cannot compute bf16 on this machine's processor" in done.out.decode()) == (
        dtype == "bf16"
    )


def test_a_stop_while_a_model_is_calibrated_leaves_no_export_that_is_not(
    run: Commands, trained: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, output = shutil.copytree(trained.early, tmp_path / "model"), tmp_path / "small"

    def stopped(*_: object, **__: object) -> None:
        raise Stopped("stopped by SIGINT during translation", signum=2)

    with monkeypatch.context() as patched:
        patched.setattr("yiwen.evaluation.calibration.calibrate", stopped)
        assert run("export", model, "--output", output).code == 130
        assert not output.exists()
    monkeypatch.setattr("yiwen.evaluation.calibration.MIN_PAIRS", 10)
    assert run("export", model, "--output", output).code == 0
    assert (output / "calibration" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--dtype", "int4"], "'int4' is not one of 'int8',"),
        (["--output", "{model}"], "model exists already, or may not be written; give another --output"),
        (["--output", "{model}/bundle.json/small"], "bundle.json/small exists already, or may not be written"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_model_is_calibrated(
    options: list[str], told: str, run: Commands, trained: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yiwen.evaluation.calibration.calibrate", lambda *_, **__: pytest.fail("calibrated"))
    model = shutil.copytree(trained.early, tmp_path / "model")
    done = run("export", model, *(option.format(model=model) for option in options))
    assert (done.code, done.out) == (2, b"")
    assert told in done.err


def test_a_better_model_that_appears_meanwhile_changes_nothing(
    run: Commands, trained: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shutil.copytree(trained.early, tmp_path / "run" / "bundles" / "first")
    second = shutil.copytree(trained.best, tmp_path / "run" / "bundles" / "second")
    best = tmp_path / "run" / "best"
    best.symlink_to(first)

    def opened(folder: Path) -> Bundle:
        bundle = open_bundle(folder)
        best.unlink(missing_ok=True)
        best.symlink_to(second)
        return bundle

    monkeypatch.setattr("yiwen.bundle.open_bundle", opened)
    done = run("export", best, "--dtype", "float32")
    assert done.code == 0, done.err
    assert (first / "ctranslate2" / "model.bin").is_file()
    assert not (second / "ctranslate2").exists()


def test_a_shortlist_is_for_translators(run: Commands, tiny_classifier: Path) -> None:
    done = run("export", tiny_classifier, "--shortlist")
    assert (done.code, done.out) == (2, b"")
    assert re.search(r"--shortlist: for translations; .*best has task='classify'", done.err)


def test_all_number_types_that_a_model_can_be_exported_as_are_named() -> None:
    assert {*get_args(DType)} == COMPUTE_TYPES.keys()


def test_what_cannot_be_exported_to_is_refused(run: Commands, trained: TinyRun) -> None:
    done = run("export", trained.best, "--to", "onnx")
    assert (done.code, done.out) == (2, b"")
    assert re.search(r"Invalid value for '--to'.*'onnx' is not .*'ctranslate2'", done.err)
