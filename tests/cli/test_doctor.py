"""`yiwen doctor` says what this machine is and what it lacks."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import pytest

from yiwen import __version__, hardware
from yiwen.cli.doctor import examine
from yiwen.cli.main import main


@pytest.fixture(autouse=True)
def _hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `yiwen.hardware` says, whose own test asks torch."""
    monkeypatch.setattr(hardware, "describe", lambda: {"device": "cpu", "native_bf16": True, "cores": 2})
    monkeypatch.setattr(hardware, "choose", lambda: "a choice")
    monkeypatch.setattr(hardware, "in_words", lambda chosen: f"{chosen} in words")


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in packages:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_the_report_covers_machine_python_and_every_dependency() -> None:
    report = examine()
    assert report["yiwen"] == __version__
    assert report["python"] == ".".join(map(str, sys.version_info[:3]))
    assert report["machine"]["cores"] >= 1
    assert report["machine"]["cpu"]
    assert report["machine"]["memory_gib"] is None or report["machine"]["memory_gib"] > 0
    assert report["machine"]["disk_free_gib"] >= 0
    assert {"numpy", "pydantic", "sentencepiece", "torch", "sacrebleu", "mkdocs", "ruff"} <= set(report["versions"])
    assert "yiwen" not in report["versions"]
    assert report["versions"]["typer"] == importlib.metadata.version("typer")


def test_json_is_one_object_on_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out.rstrip("\n").split("\n")[-1])
    assert report["hardware"] == {"device": "cpu", "native_bf16": True, "chosen": "a choice in words"}


def test_what_training_computes_with_is_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hardware, "in_words", lambda chosen: "computing on cpu in bf16, 2 threads; plain attention")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.split("\n")
    place = lines.index("training  on cpu")
    assert lines[place + 1 : place + 3] == [f"{'':10}computing on cpu in bf16, 2 threads", f"{'':10}plain attention"]


def test_what_is_missing_comes_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(monkeypatch, "torch", "sacrebleu", "mkdocs", "typer")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "missing: sacrebleu, torch\n  pip install 'yiwen[train]'" in text
    assert "missing: mkdocs\n  pip install 'yiwen[docs]'" in text
    assert "missing: typer\n  pip install --force-reinstall yiwen" in text
    assert "  torch              missing" in text


def test_where_torch_is_there_the_hardware_module_says_what_training_would_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "training  on cpu\n          a choice in words\n" in text
    assert "missing" not in text


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'torch'"), OSError("libcudart.so.13: not found")]
)
def test_why_torch_cannot_be_loaded_is_said(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def describe() -> dict[str, object]:
        raise error

    monkeypatch.setattr(hardware, "describe", describe)
    assert main(["doctor"]) == 0
    assert f"training  not possible: {error}\n" in capsys.readouterr().out
    assert examine()["hardware"] == {"obstacle": str(error)}


def test_the_disk_is_that_of_the_runs_folder_even_before_it_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "not" / "yet"))
    assert examine()["machine"]["runs"] == str(tmp_path / "not" / "yet")
    assert examine()["machine"]["disk_free_gib"] >= 0
    assert not (tmp_path / "not").exists()


def test_a_system_that_tells_nothing_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(*arguments: object, **keywords: object) -> str:
        raise OSError("no /proc here")

    monkeypatch.setattr(Path, "read_text", nothing)
    monkeypatch.delattr("os.sysconf")
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "riscv")
    monkeypatch.setattr("yiwen.cli.doctor._dependencies", lambda: ({}, {}))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "memory    unknown" in text
    assert "cpu       riscv, " in text
