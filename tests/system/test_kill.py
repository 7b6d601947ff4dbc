"""kill -9 at random moments, `yiwen train --resume`: record and weights are those of a run never stopped."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toy_task import Commands, commands, moment, outcome, write_task

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches processes through /proc")

KINDS = {
    "muon": ["optimizer='muon'", "update_tokens=300", "average_last=2", "clip_norm=0.5"],
    "adamw": ["patience=2", "max_steps=120", "validate_every=7", "metric='chrf'", "batch_tokens=101"],
    "shards": ["threads=2", "batch_tokens=2003", "optimizer='muon'"],
    "methods": ["rdrop=2.0", "word_dropout=0.1", "threads=2", "batch_tokens=2003", "max_steps=30"],
}


@pytest.fixture(scope="module")
def yiwen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with commands(tmp_path_factory.mktemp("kill") / "runs") as found:
        yield found


def arguments(folder: Path, kind: str) -> list[str]:
    """A recipe with dropout, averages and, where the processor has it, bf16."""
    settings = [f"training.{setting}" for setting in KINDS[kind]]
    if kind == "methods":
        settings += ["model.layer_dropout=0.3", "tokenizer.sampling=0.1"]
    return [str(write_task(folder, "reverse")), *(part for setting in settings for part in ("--set", setting))]


def train(
    yiwen: Commands, folder: Path, run: str, *options: str, kind: str = "muon", **signals: Any
) -> tuple[int, str]:
    """`yiwen train`; its exit code and output."""
    return yiwen.run("train", *arguments(folder, kind), "--run", str(folder / run), *options, **signals)


def campaign(yiwen: Commands, folder: Path, *, kind: str, n_kills: int, seed: int) -> None:
    """Train once without and once with kills, a third of them while a checkpoint is being written."""
    whole, run = folder / "whole", folder / "run"
    assert yiwen.run("prepare", *arguments(folder, kind))[0] == 0
    started = time.monotonic()
    code, output = train(yiwen, folder, "whole", kind=kind)
    seconds = time.monotonic() - started
    assert code == 0, output
    rng = random.Random(seed)
    codes = []
    for n in range(n_kills):
        when = moment(n, run, seconds=rng.uniform(0, seconds))
        codes.append(train(yiwen, folder, "run", "--resume", kind=kind, signum=signal.SIGKILL, when=when)[0])
        if codes[-1] == 0:  # it came to its end between two kills, and starts anew
            assert outcome(run) == outcome(whole)
            shutil.rmtree(run)
    code, output = train(yiwen, folder, "run", "--resume", kind=kind)
    assert code == 0, output
    assert set(codes) <= {0, -signal.SIGKILL}
    assert codes.count(-signal.SIGKILL) >= max(1, n_kills // 3), codes
    assert outcome(run) == outcome(whole)
    assert not list(run.rglob(".tmp-*"))


def test_batches_computed_in_shards_are_resumed_to_the_digit(yiwen: Commands, tmp_path: Path) -> None:
    campaign(yiwen, tmp_path, kind="shards", n_kills=2, seed=3)
    chosen = json.loads((tmp_path / "run" / "hardware.json").read_text("utf-8"))["chosen"]
    assert (chosen["threads"], chosen["shards"]) == (2, 2)


@pytest.mark.slow
def test_what_other_methods_draw_is_resumed_to_the_digit(yiwen: Commands, tmp_path: Path) -> None:
    campaign(yiwen, tmp_path, kind="methods", n_kills=2, seed=4)


def test_kills_leave_no_trace(yiwen: Commands, tmp_path: Path) -> None:
    campaign(yiwen, tmp_path, kind="muon", n_kills=3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_forty_kills_leave_no_trace(yiwen: Commands, tmp_path: Path, kind: str) -> None:
    campaign(yiwen, tmp_path, kind=kind, n_kills=40, seed=2)


def test_a_stopped_training_says_so_and_goes_on(yiwen: Commands, tmp_path: Path) -> None:
    record = tmp_path / "run" / "metrics.jsonl"
    for signum in (signal.SIGTERM, signal.SIGINT):
        size = record.stat().st_size if record.exists() else 0

        def grows(size: int = size) -> bool:
            return record.exists() and record.stat().st_size > size

        code, output = train(yiwen, tmp_path, "run", "--resume", signum=signum, when=grows)
        assert code == 128 + signum
        assert f"stopped by {signum.name} during training; step " in output
        assert output.endswith("is saved, go on with --resume\n")
    code, output = train(yiwen, tmp_path, "run", "--resume")
    assert code == 0, output
    train(yiwen, tmp_path, "whole")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
