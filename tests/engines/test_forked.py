"""A process that was forked after it computed: in the child torch computes on, CTranslate2 says what it lacks.

What a child loads or trains itself works: it has one thread, whatever is asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_model import TinyRun
from toy_task import write_task
from yiwen.bundle import open_bundle
from yiwen.encoder.exporting import export_encoder

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
TRAINING = """
import os, sys
from pathlib import Path
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.translator import Translator

bundle, recipe, run = sys.argv[1:]
Translator.load(bundle, engine="torch", threads=2).translate(["Ba be. Bi bo."] * 40)
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
settings = ["training.max_steps=2", "training.validate_every=2", "training.threads=2"]
print("trained to step", train_recipe(load_recipe(recipe, settings), run=Path(run))[1].step, flush=True)
"""
HELD = """
import os, sys
from yiwen.translator import Translator

sys.held = Translator.load(sys.argv[1], threads=1)  # freed when the names of all modules are gone
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("ends", flush=True)
"""


def said(program: str, *arguments: str | Path) -> list[str]:
    """What a forked child prints, which then ends as any program does."""
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # the child, too
            raise
    assert process.returncode == 0
    return output.splitlines()


@pytest.mark.slow
def test_a_forked_child_computes_with_torch(tiny_run: TinyRun) -> None:
    for kind in ("translator", "encoder"):
        assert said(PROGRAM, kind, tiny_run.best, "torch") == ["computed", "loaded"]


@pytest.mark.parametrize("exported", ["translator", "float32 encoder", "int8 encoder"])
def test_a_forked_child_is_told_to_load_an_exported_model_itself(
    request: pytest.FixtureRequest, tmp_path: Path, exported: str
) -> None:
    *dtype, kind = exported.split(" ")
    if dtype:
        bundle = open_bundle(request.getfixturevalue("tiny_classifier") / "best")
        folder = export_encoder(bundle, dtype=dtype[0], valid=None, output=tmp_path / "bundle").folder
    else:
        folder = request.getfixturevalue("exported_bundle")
    message, end = said(PROGRAM, kind, folder, "ctranslate2")
    assert "was loaded before this process was forked, and its threads did not come along; load it in" in message
    assert end == "loaded"


def test_a_forked_child_ends_though_it_holds_a_model_to_the_last(exported_bundle: Path) -> None:
    assert said(HELD, exported_bundle) == ["ends"]


@pytest.mark.slow
def test_a_forked_child_trains(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    recipe = write_task(tmp_path, "copy")
    assert said(TRAINING, tiny_run.best, recipe, tmp_path / "run")[-1] == "trained to step 2"
