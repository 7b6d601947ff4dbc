"""kill -9 while a task without a decoder is learnt, then `--resume`: digits are those of a run never stopped."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from toy_labels import write_labelled
from toy_task import Commands, commands, outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches processes through /proc")

KINDS = {
    "classify": {"training": 'optimizer = "muon"', "encoder": 'class_weights = "balanced"\npooling = "attention"'},
    "tag": {"encoder": "layer_decay = 0.7\nrate = 0.5"},
    "mlm": {"encoder": 'masking = "span"'},
    "embed": {"training": "update_tokens = 300"},
}


@pytest.fixture(scope="module")
def yiwen(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    with commands(tmp_path_factory.mktemp("kill") / "runs") as found:
        yield found  # type: ignore[misc]


@pytest.mark.parametrize("task", KINDS)
def test_kills_leave_no_trace(yiwen: Commands, tmp_path: Path, task: str) -> None:
    recipe = str(write_labelled(tmp_path, task, **KINDS[task]))
    whole, run = tmp_path / "whole", tmp_path / "run"
    code, output = yiwen.run("train", recipe, "--run", str(whole))
    assert code == 0, output
    started = time.monotonic()
    yiwen.run("train", recipe, "--run", str(tmp_path / "timed"))
    seconds = time.monotonic() - started
    rng = random.Random(task)
    codes = []
    for n in range(3):
        end = time.monotonic() + rng.uniform(0.2, 1) * seconds

        def when(n: int = n, end: float = end) -> bool:
            """Soon after a checkpoint, at some time, while a checkpoint is written."""
            written = run / "checkpoints"
            match n:
                case 0:
                    return len([*written.glob("step-*")]) > 1
                case 1:
                    return time.monotonic() > end
                case _:
                    return any(written.glob(".tmp-*-step-*"))

        codes.append(yiwen.run("train", recipe, "--run", str(run), "--resume", signum=signal.SIGKILL, when=when)[0])
    code, output = yiwen.run("train", recipe, "--run", str(run), "--resume")
    assert code == 0, output
    assert set(codes) <= {0, -9}
    assert -9 in codes
    assert outcome(run) == outcome(whole)
