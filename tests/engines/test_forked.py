"""A model that was loaded before the process was forked: in the child torch computes on, CTranslate2 says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_model import TinyRun

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
import os, sys
from yiwen.encoder import Encoder
from yiwen.errors import ConfigError
from yiwen.translator import Translator

kind, folder, engine = sys.argv[1:]

def load():
    if kind == "encoder":
        model = Encoder.load(folder, engine=engine, threads=2)
        return lambda: model.features(["ba be bi"] * 40).shape
    model = Translator.load(folder, engine=engine, threads=2)
    return lambda: [str(found) for found in model.translate(["Ba be. Bi bo."] * 40)]

ask = load()
before = ask()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    assert ask() == before
    print("computed", flush=True)
except ConfigError as error:
    print(error, flush=True)
ask = load()  # which frees the other one
assert ask() == before
print("loaded", flush=True)
"""


def said(kind: str, folder: Path, engine: str) -> list[str]:
    """What a forked child prints, which then ends as any program does."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, kind, str(folder), engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # the child, too
            raise
    assert process.returncode == 0
    return output.splitlines()


def test_a_forked_child_computes_with_torch(tiny_run: TinyRun) -> None:
    for kind in ("translator", "encoder"):
        assert said(kind, tiny_run.best, "torch") == ["computed", "loaded"]


def test_a_forked_child_is_told_to_load_an_exported_model_itself(exported_bundle: Path, exported_encoder: Path) -> None:
    for kind, folder in (("translator", exported_bundle), ("encoder", exported_encoder)):
        message, end = said(kind, folder, "ctranslate2")
        assert "was loaded before this process was forked, and its threads did not come along; load it in" in message
        assert end == "loaded"


@pytest.fixture
def exported_encoder(tiny_classifier: Path, tmp_path: Path) -> Path:
    from yiwen.bundle import open_bundle
    from yiwen.encoder.exporting import export_encoder

    bundle = open_bundle(tiny_classifier / "best")
    return export_encoder(bundle, dtype="float32", valid=None, output=tmp_path / "bundle").folder
