"""How fast training is: ours against a well-made float32 loop around `torch.nn.Transformer`, in one run.

    python benchmarks/training.py                        # d_model 256, one thread, 3 rounds of 30 updates a side
    python benchmarks/training.py --model tiny           # d_model 128
    python benchmarks/training.py --quick                # ends within a minute; a first impression
    python benchmarks/training.py --output               # also writes benchmarks/results/training-....md and .json

Both sides train the same model (equal numbers of parameters are demanded) on the same batches in the same order:
sorted by length, padded to at most `--batch-tokens` positions on the longer side. Each window runs in a fresh process
of its own, ours and the loop's in turn, because the C allocator's state and the peak of memory belong to a process.
The text is Multi30k English-German where YIWEN_DATA is set, else the generated demo corpus.

`benchmarks/sides/training.py` holds both sides: ours is the whole update as `yiwen train` does it, the loop's what a
careful PyTorch user writes, and no more than training needs.

Share of peak: 6 x (encoder parameters x source tokens + (decoder + output parameters) x target tokens) / seconds,
divided by the best bf16 matrix product measured here (4096 x 256 x 1024, best of five, same threads).
Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import yiwen
from yiwen import hardware
from yiwen.data.corpus import CorpusConfig
from yiwen.data.demo import write_demo
from yiwen.data.prepare import DataConfig, prepare
from yiwen.files import write_json, write_text
from yiwen.model import ModelConfig, Transformer
from yiwen.model.config import PRESETS
from yiwen.text.subword import TokenizerConfig

VOCAB_SIZE = 8000
SIDES = ("ours", "loop")
SCRIPT = Path(__file__).parent / "sides" / "training.py"
RESULTS = Path(__file__).parent / "results"


def flops_per_token(name: str) -> tuple[float, float]:
    """Floating-point operations a source token and a target token of training, forward and backward."""
    config = ModelConfig(**PRESETS[name])
    with torch.device("meta"):
        model = Transformer(config, src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE)
    encoder, decoder = (sum(p.numel() for p in part.parameters()) for part in (model.encoder, model.decoder))
    return 6.0 * encoder, 6.0 * (decoder + model.output_weight.numel())


def prepared_text(folder: Path, *, is_quick: bool) -> tuple[Path, str]:
    """Prepare the text of the measurement in `folder`; gives the store and what it holds."""
    root = os.environ.get("YIWEN_DATA", "")
    if root and (Path(root) / "multi30k").is_dir():
        name, languages, stem = "Multi30k en-de", ("en", "de"), str(Path(root) / "multi30k" / "train")
    else:
        write_demo(folder / "demo", n_train=8_000 if is_quick else 40_000, n_valid=100, n_test=100)
        name, languages, stem = "generated demo corpus en-zh", ("en", "zh"), str(folder / "demo" / "train")
    data = DataConfig(
        src_lang=languages[0],
        tgt_lang=languages[1],
        corpora=(CorpusConfig(src=f"{stem}.{languages[0]}", tgt=f"{stem}.{languages[1]}"),),
        valid_pairs=0,
        test_pairs=0,
    )
    tokenizer = TokenizerConfig(kind="bpe", vocab_size=VOCAB_SIZE)
    return prepare(data, tokenizer, root=folder, base=folder).folder, name


def in_fresh_process(arguments: list[str], *, threads: int) -> dict[str, Any]:
    """Run this script again for one window; its last line is the result."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.rstrip("\n").split("\n")[-1])
    return result


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All rounds, ours and the loop's in turn."""
    store, text = prepared_text(folder, is_quick=options.quick)
    windows: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    common = [
        *("--store", str(store), "--model", options.model, "--threads", str(options.threads)),
        *("--updates", str(options.updates), "--warm-up", str(options.warm_up), "--seconds", str(options.seconds)),
        *("--batch-tokens", str(options.batch_tokens), "--update-tokens", str(options.update_tokens)),
    ]
    peak = in_fresh_process(["peak", "--threads", str(options.threads)], threads=options.threads)["flops"]
    for number in range(options.rounds):
        for side in SIDES:
            found = in_fresh_process([side, "--round", str(number), *common], threads=options.threads)
            windows[side].append(found)
            rate = found["tgt_tokens"] / found["seconds"]
            print(f"round {number + 1} {side}: {rate:,.0f} tokens/s, {found['peak_mib']:,.0f} MiB", flush=True)
    counts = {found["parameters"] for side in SIDES for found in windows[side]}
    if len(counts) != 1:
        raise SystemExit(f"the two sides have different models: {sorted(counts)} parameters")
    return summary(options, windows, peak=peak, text=text)


def summary(
    options: argparse.Namespace, windows: dict[str, list[dict[str, Any]]], *, peak: float, text: str
) -> dict[str, Any]:
    """The figures of a whole measurement."""

    def rates(side: str, count: str, clock: str = "seconds") -> list[float]:
        return [found[count] / found[clock] for found in windows[side]]

    pairs = list(zip(rates("ours", "tgt_tokens"), rates("loop", "tgt_tokens"), strict=True))
    ratios = [ours / loop for ours, loop in pairs]
    by_processor = zip(*(rates(side, "tgt_tokens", "processor_seconds") for side in SIDES), strict=True)
    memory = {side: max(found["peak_mib"] for found in windows[side]) for side in SIDES}
    src_flops, tgt_flops = flops_per_token(options.model)

    def share(side: str) -> float:
        work = [
            src_flops * src + tgt_flops * tgt
            for src, tgt in zip(rates(side, "src_tokens"), rates(side, "tgt_tokens"), strict=True)
        ]
        return statistics.median(work) / peak

    n_updates = sum(found["updates"] for found in windows["ours"])
    return {
        "benchmark": "training",
        "date": datetime.date.today().isoformat(),
        "model": options.model,
        "text": text,
        "threads": options.threads,
        "rounds": options.rounds,
        "updates_a_window": options.updates,
        "tgt_tokens_an_update": round(sum(found["tgt_tokens"] for found in windows["ours"]) / n_updates),
        "parameters": windows["ours"][0]["parameters"],
        "precision": hardware.choose(device="cpu").precision,
        "ratio": round(statistics.median(ratios), 2),
        "ratio_min": round(min(ratios), 2),
        "ratio_max": round(max(ratios), 2),
        "ratio_by_processor_time": round(statistics.median(ours / loop for ours, loop in by_processor), 2),
        "tokens_per_s": {side: round(statistics.median(rates(side, "tgt_tokens"))) for side in SIDES},
        "all_tokens_per_s": {
            side: round(
                statistics.median(
                    a + b for a, b in zip(rates(side, "src_tokens"), rates(side, "tgt_tokens"), strict=True)
                )
            )
            for side in SIDES
        },
        "peak_mib": {side: round(memory[side]) for side in SIDES},
        "memory_ratio": round(memory["ours"] / memory["loop"], 2),
        "share_of_peak": {side: round(share(side), 3) for side in SIDES},
        "bf16_peak_gflops": round(peak / 1e9),
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__},
    }


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""
    machine = result["hardware"]
    shape = ", ".join(f"{key} {value}" for key, value in PRESETS[result["model"]].items())
    rows = [
        ("target tokens/s, padding not counted", "tokens_per_s"),
        ("tokens/s of both sides", "all_tokens_per_s"),
        ("share of the bf16 peak", "share_of_peak"),
        ("peak memory, MiB", "peak_mib"),
    ]
    table = "\n".join(f"| {name} | {result[key]['ours']:,} | {result[key]['loop']:,} |" for name, key in rows)
    return f"""# Training speed, {result["date"]}

`python benchmarks/training.py --model {result["model"]} --threads {result["threads"]} --rounds {result["rounds"]} \
--updates {result["updates_a_window"]}`

- model `{result["model"]}`: {shape}, {VOCAB_SIZE:,} shared subwords, {result["parameters"]:,} parameters
- text: {result["text"]}, {result["tgt_tokens_an_update"]:,} target tokens an update
- machine: {machine["processor"]}, {result["threads"]} of {machine["cores"]} cores, {machine["memory_gib"]} GiB; \
bf16 matrix product {result["bf16_peak_gflops"]} GFLOP/s; {machine["system"]}
- versions: yiwen {machine["yiwen"]}, torch {machine["torch"]}, Python {machine["python"]}
- ours computes in {result["precision"]}, the loop (`torch.nn.Transformer`) in float32

| | ours | loop |
|---|---|---|
{table}

**Ratio of target tokens/s: {result["ratio"]}** (over rounds {result["ratio_min"]} to {result["ratio_max"]}; by \
processor time {result["ratio_by_processor_time"]}). Ratio of peak memory: {result["memory_ratio"]}.
"""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["small", "tiny"], default="small", help="preset of the shape")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="windows a side")
    parser.add_argument("--updates", type=int, default=30, help="updates a window")
    parser.add_argument("--warm-up", type=int, default=3, help="updates before each window")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end a window early after this many")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="positions of a batch, padding counted")
    parser.add_argument("--update-tokens", type=int, default=0, help="target tokens gathered an update; 0: one batch")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 2 updates")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.updates, options.warm_up = 2, 2, 1
    return options


def main() -> None:
    """Measure, show, and write where asked to."""
    options = parsed()
    with tempfile.TemporaryDirectory() as name:
        result = measure(options, Path(name))
    report = as_markdown(result)
    print(f"\n{report}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        stem = f"training-{result['date']}-{options.model}-{options.threads}-threads"
        write_text(options.output / f"{stem}.md", report)
        write_json(options.output / f"{stem}.json", result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
