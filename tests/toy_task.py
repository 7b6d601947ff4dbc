"""Toy languages that a tiny model learns in seconds, and a server that starts commands without importing anew."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

WORDS = ["ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "ka", "ke"]

RECIPE = """
[data]
src_lang = "en"
tgt_lang = "de"
corpora = [{{ path = "{task}.tsv" }}]
valid_pairs = 23
test_pairs = 0
max_tokens = 29
[data.cleaning]
drop_copied = false
[tokenizer]
kind = "bpe"
vocab_size = 300
{tokenizer}
[model]
d_model = 32
n_heads = 2
d_ff = 64
n_encoder_layers = 1
n_decoder_layers = 1
norm_order = "pre"
max_len = 61
dropout = {dropout}
[training]
batch_tokens = 211
learning_rate = 0.01
warmup_steps = 20
max_steps = 50
validate_every = 20
checkpoint_every = 10
log_every = 3
threads = 1
ema_decay = 0.9
{training}
"""


def write_task(
    folder: Path,
    task: str,
    *,
    n: int = 400,
    training: str = "",
    tokenizer: str = "",
    dropout: float = 0.1,
    seed: int = 1,
) -> Path:
    """Write a corpus of random words with their copy, reversal or sorting, and a recipe for it; returns its path."""
    change: Callable[[list[str]], list[str]] = {"copy": list, "reverse": lambda s: s[::-1], "sort": sorted}[task]
    rng = random.Random(seed)
    sentences = {tuple(rng.choice(WORDS) for _ in range(rng.randint(2, 6))): None for _ in range(n)}
    lines = (f"{' '.join(words)}\t{' '.join(change(list(words)))}\n" for words in sentences)
    (folder / f"{task}.tsv").write_text("".join(lines), encoding="utf-8")
    recipe = folder / f"{task}.toml"
    recipe.write_text(
        RECIPE.format(task=task, training=training, tokenizer=tokenizer, dropout=dropout), encoding="utf-8"
    )
    return recipe


def outcome(run: Path) -> tuple[bytes, bytes, bytes]:
    """What two equal runs have in common to the last bit."""
    return (
        (run / "metrics.jsonl").read_bytes(),
        (run / "final" / "model.safetensors").read_bytes(),
        (run / "best" / "model.safetensors").read_bytes(),
    )


_SERVER = """
import json, os, sys
import pyarrow, sacrebleu, torch._dynamo, torch.utils.tensorboard, yiwen.runs, yiwen.training.loop, yiwen.data.pipeline
from yiwen.cli.main import main
from yiwen.evaluation.metrics import quick_score
quick_score(["a"], ["a"], tgt_lang="de", metric="bleu")
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        out = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(out, 1), os.dup2(out, 2)
        code = main(job["arguments"])
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    print(json.dumps({"pid": pid}), flush=True)
    print(json.dumps({"code": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}), flush=True)
"""


class Commands:
    """Runs `yiwen` commands as processes of their own, one at a time, that can be killed at any moment."""

    def __init__(self, server: subprocess.Popen[str], output: Path) -> None:
        self._server, self._output = server, output

    def run(self, *arguments: str, signum: int = 0, when: Callable[[], bool] = lambda: False) -> tuple[int, str]:
        """Run a command, and send it a signal once `when` comes true; returns exit code (-9: killed) and output."""
        self._output.write_bytes(b"")
        assert self._server.stdin is not None
        job = {"arguments": list(arguments), "output": str(self._output)}
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        pid = self._answer()["pid"]
        while signum and _is_running(pid):
            if when():
                os.kill(pid, signum)  # the server has not waited for it yet or nobody has its number
                break
            time.sleep(0.0005)
        return self._answer()["code"], self._output.read_text(encoding="utf-8")

    def _answer(self) -> dict[str, int]:
        assert self._server.stdout is not None
        return json.loads(self._server.stdout.readline())


def moment(n: int, run: Path, *, seconds: float) -> Callable[[], bool]:
    """When to kill for the nth time: soon after a new checkpoint, after some seconds, while a checkpoint is written."""
    if n % 3 == 1:
        end = time.monotonic() + seconds
        return lambda: time.monotonic() > end
    folder, pattern = run / "checkpoints", "step-*" if n % 3 == 0 else ".tmp-*-step-*"
    before = {*folder.glob(pattern), folder / "step-00000000"}
    return lambda: not before.issuperset(folder.glob(pattern))


def _is_running(pid: int) -> bool:
    """Whether it is neither dead nor dying."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@contextmanager
def commands(runs: Path) -> Iterator[Commands]:
    """A server whose commands keep their runs below `runs`."""
    runs.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "YIWEN_RUNS": str(runs), "OMP_NUM_THREADS": "1", "YIWEN_KEEP_MEMORY": "0"}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        found = Commands(server, runs / "output.txt")
        found._answer()
        yield found
        assert server.stdin is not None
        server.stdin.close()
