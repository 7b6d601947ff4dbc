"""Exact resume: a run killed at random moments, and resumed, against one never stopped.

    python benchmarks/resume.py                  # 40 kills
    python benchmarks/resume.py --quick          # 3 kills, within a minute
    python benchmarks/resume.py --kills 100 --seed 3

A small model learns the demo corpus with everything that has a state: Muon and AdamW, accumulated gradients, dropout,
moving average, validation, early stopping, bf16 where the processor has it. `kill -9` hits it at random moments, every
third time while a checkpoint is being written; `yiwen train --resume` goes on. Compared are metrics.jsonl and the
final weights, byte for byte. Everything happens in a temporary folder. The last line of output is one JSON object;
exits 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sides.report import how_many, run_main
from yiwen.data.demo import split
from yiwen.hardware import describe

COMMAND = (sys.executable, "-m", "yiwen")
N_PAIRS = 1200
RECIPE = """
[data]
src_lang = "en"
tgt_lang = "zh"
corpora = [{ path = "train.tsv" }]
valid_pairs = 30
test_pairs = 0
max_tokens = 64
[tokenizer]
vocab_size = 2000
[model]
d_model = 64
n_heads = 4
d_ff = 128
n_encoder_layers = 2
n_decoder_layers = 2
norm_order = "pre"
[training]
optimizer = "muon"
learning_rate = 0.005
warmup_steps = 20
batch_tokens = 300
update_tokens = 450
max_steps = 90
validate_every = 20
checkpoint_every = 10
average_last = 2
patience = 3
log_every = 3
threads = 1
"""


@dataclass
class Campaign:
    """What the kills have done so far."""

    run: Path
    n_kills: int = 0
    n_while_saving: int = 0
    lost_steps: list[int] = field(default_factory=list)
    n_rounds: int = 0
    metrics_diff_bytes: int = 0
    weights_diff_bytes: int = 0


def main() -> None:
    """Kill, resume, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=how_many, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="3 kills")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        result = measure(Path(name), n_kills=3 if options.quick else options.kills, seed=options.seed)
    print(json.dumps(result))
    raise SystemExit(int(result["metrics_diff_bytes"] + result["weights_diff_bytes"] > 0))


def measure(folder: Path, *, n_kills: int, seed: int) -> dict[str, Any]:
    """The whole campaign in a folder of its own."""
    started = time.monotonic()
    text = "".join(f"{pair.src}\t{pair.tgt}\n" for pair in split(N_PAIRS, 1, 1).train)
    (folder / "train.tsv").write_text(text, encoding="utf-8")
    (folder / "resume.toml").write_text(RECIPE, encoding="utf-8")
    os.environ["YIWEN_RUNS"] = str(folder / "runs")
    whole = folder / "whole"
    train(whole)
    seconds = timed(lambda: train(folder / "timed"))  # the text is prepared now: how long a whole run takes
    print(f"never stopped: {len(record(whole))} lines in metrics.jsonl, {seconds:.1f} s")
    campaign, rng = Campaign(run=folder / "run-0"), random.Random(seed)
    while campaign.n_kills < n_kills:
        kill_once(campaign, rng, seconds)
        if (campaign.run / "final").exists():  # done before the kill came
            compare(campaign, whole)
    train(campaign.run)
    compare(campaign, whole)
    lost = campaign.lost_steps
    print(
        f"{campaign.n_kills} kills, {campaign.n_while_saving} of them inside a save; {campaign.n_rounds} runs compared"
    )
    print(f"steps lost a kill: {sum(lost) / len(lost):.1f}, at most {max(lost)}")
    print(f"diff: metrics.jsonl {campaign.metrics_diff_bytes} bytes, weights {campaign.weights_diff_bytes} bytes")
    return {
        "benchmark": "resume",
        "kills": campaign.n_kills,
        "kills_while_saving": campaign.n_while_saving,
        "runs_compared": campaign.n_rounds,
        "lost_steps": sum(lost),
        "lost_steps_most": max(lost),
        "metrics_lines": len(record(whole)),
        "metrics_diff_bytes": campaign.metrics_diff_bytes,
        "weights_diff_bytes": campaign.weights_diff_bytes,
        "precision": json.loads((whole / "hardware.json").read_text(encoding="utf-8"))["chosen"]["precision"],
        "seconds": round(time.monotonic() - started, 1),
        "machine": describe(),
    }


def start(run: Path) -> subprocess.Popen[str]:
    """`yiwen train --resume` on a run, new or not."""
    command = [*COMMAND, "train", str(run.parent / "resume.toml"), "--run", str(run), "--resume"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def train(run: Path) -> None:
    """Train to the end; the output is shown where that fails."""
    with start(run) as process:
        output, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"yiwen train ended with exit code {process.returncode}:\n{output}")


def timed(action: Callable[[], None]) -> float:
    """Seconds an action takes."""
    started = time.monotonic()
    action()
    return time.monotonic() - started


def kill_once(campaign: Campaign, rng: random.Random, seconds: float) -> None:
    """Start or resume the run and kill it at a random moment, or as soon as it writes a checkpoint."""
    is_saving_wanted = campaign.n_kills % 3 == 2
    end = time.monotonic() + rng.uniform(0.2 * seconds, seconds)
    n_saves = rng.randint(1, 4)
    with start(campaign.run) as process:
        seen: set[str] = set()
        while process.poll() is None and (is_saving_wanted or time.monotonic() < end):
            saving = [path.name for path in (campaign.run / "checkpoints").glob(".tmp-*-step-*")]
            seen.update(saving)
            if is_saving_wanted and saving and len(seen) >= n_saves:
                break
            time.sleep(0.0005)
        is_inside = any((campaign.run / "checkpoints").glob(".tmp-*-step-*"))
        process.kill()
        process.communicate()
    if process.returncode != -signal.SIGKILL:
        return
    campaign.n_kills += 1
    campaign.n_while_saving += is_inside
    steps = [json.loads(line)["step"] for line in record(campaign.run)]
    saved = [int(path.name.removeprefix("step-")) for path in (campaign.run / "checkpoints").glob("step-*")]
    campaign.lost_steps.append(max(0, max(steps, default=0) - max(saved, default=0)))
    print(f"kill {campaign.n_kills}: {'inside a save' if is_inside else 'at random'}, at step {max(steps, default=0)}")


def record(run: Path) -> list[bytes]:
    """Whole lines of metrics.jsonl."""
    path = run / "metrics.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def compare(campaign: Campaign, whole: Path) -> None:
    """Add up what differs, and let the next kill begin a new run."""
    for name, counter in (("metrics.jsonl", "metrics_diff_bytes"), ("final/model.safetensors", "weights_diff_bytes")):
        ours, theirs = ((run / name).read_bytes() for run in (campaign.run, whole))
        differing = sum(a != b for a, b in zip(ours, theirs, strict=False)) + abs(len(ours) - len(theirs))
        setattr(campaign, counter, getattr(campaign, counter) + differing)
    campaign.n_rounds += 1
    campaign.run = campaign.run.with_name(f"run-{campaign.n_rounds}")


if __name__ == "__main__":
    run_main(main)
