"""kill -9 while a task without a decoder is learnt, then `--resume`: digits are those of a run never stopped."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toy_labels import write_labelled
from toy_task import Commands, commands, moment, outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches processes through /proc")

KINDS = {
    "classify": {"training": 'optimizer = "muon"', "encoder": 'class_weights = "balanced"\npooling = "attention"'},
    "tag": {"encoder": "layer_decay = 0.7\nrate = 0.5"},
    "mlm": {"encoder": 'masking = "span"'},
    "embed": {"training": "update_tokens = 300"},
}


@pytest.fixture(scope="module")
def yiwen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with commands(tmp_path_factory.mktemp("kill") / "runs") as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("task", KINDS)
def test_kills_leave_no_trace(yiwen: Commands, tmp_path: Path, task: str) -> None:
    recipe = str(write_labelled(tmp_path, task, **KINDS[task]))
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert yiwen.run("prepare", recipe)[0] == 0
    started = time.monotonic()
    code, output = yiwen.run("train", recipe, "--run", str(whole))
    seconds = time.monotonic() - started
    assert code == 0, output
    resumed, rng, codes = ("train", recipe, "--run", str(run), "--resume"), random.Random(task), []
    for n in range(3):
        when = moment(n, run, seconds=rng.uniform(0.2, 1) * seconds)
        codes.append(yiwen.run(*resumed, signum=signal.SIGKILL, when=when)[0])
    code, output = yiwen.run(*resumed)
    assert code == 0, output
    assert set(codes) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in codes
    assert outcome(run) == outcome(whole)
