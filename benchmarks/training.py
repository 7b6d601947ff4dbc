"""How fast training is: ours against a well-made float32 loop around `torch.nn.Transformer`, in one run.

    python benchmarks/training.py                        # d_model 256, one thread, 3 rounds of 30 updates a side
    python benchmarks/training.py --model tiny           # d_model 128
    python benchmarks/training.py --precision float32    # ours in float32, too
    python benchmarks/training.py --threads 2 --scaling  # ours with two threads against ours with one
    python benchmarks/training.py --attention plain,fused  # ours with one kind of attention against ours with another
    python benchmarks/training.py --device cuda --model base --attention packed,fused  # the same on a GPU
    python benchmarks/training.py --rivals eole          # and other toolkits that are installed (all of them: all)
    python benchmarks/training.py --quick                # ends within a minute; a first impression
    python benchmarks/training.py --output               # also writes benchmarks/results/training-....md and .json

Both sides train the same model (equal numbers of parameters are demanded) on the same batches in the same order:
sorted by length, padded to at most `--batch-tokens` positions on the longer side. Each window runs in a fresh process
of its own, ours and the loop's in turn, because the C allocator's state and the peak of memory belong to a process.
The text is Multi30k English-German where YIWEN_DATA is set, else the generated demo corpus.

`benchmarks/sides/training.py` holds both sides: ours is the whole update as `yiwen train` does it, the loop's what a
careful PyTorch user writes, and no more than training needs. `benchmarks/sides/rivals.py` holds the other toolkits,
which make their own batches of the same text and size.

Share of peak: 6 x (encoder parameters x source tokens + (decoder + output parameters) x target tokens) / seconds,
divided by the best matrix product measured here, in bf16 or float32, whichever is faster (4096 x 256 x
1024, best of five, same threads; on a GPU, which that would not fill, bf16 and 8192 x 8192 x 8192).
On a GPU three more updates tell how long it spends on each kind of kernel (torch.profiler, last round).
Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import yiwen
from sides.report import RESULTS, how_many, in_fresh_process, machine_lines, publish, run_main, shown, spread
from sides.rivals import ADAPTERS, missing
from yiwen import hardware
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.data.demo import write_demo
from yiwen.data.prepare import prepare
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.model.config import PRESETS, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.text.subword import TokenizerConfig

VOCAB_SIZE = 8000
BATCH_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class Side:
    """What one column of the table runs."""

    name: str
    arguments: tuple[str, ...]
    threads: int
    script: str = "training.py"


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


def write_pieces(store: Store, folder: Path) -> Path:
    """Write the text as subwords with a space between, and the vocabulary, as other toolkits read them."""
    folder.mkdir()
    rows = np.arange(len(store))
    for side, subword, ids in (("src", store.source, store.src_ids(rows)), ("tgt", store.target, store.tgt_ids(rows))):
        lines = (" ".join(subword.pieces(sentence.tolist())) + "\n" for sentence in ids)
        (folder / f"train.{side}").write_text("".join(lines), encoding="utf-8")
    pieces = store.target.pieces(list(range(store.target.vocab_size)))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return folder


def sides_of(options: argparse.Namespace, store: Path, folder: Path) -> tuple[list[Side], list[str]]:
    """The columns, ours first, and why some are missing."""
    common = [
        *("--store", str(store), "--updates", str(options.updates), "--warm-up", str(options.warm_up)),
        *("--seconds", str(options.seconds), "--update-tokens", str(options.update_tokens)),
    ]
    shared = ("--model", options.model, "--batch-tokens", str(options.batch_tokens))

    def side(name: str, what: str, threads: int, attention: str = "auto") -> Side:
        arguments = (what, *common, *shared, "--threads", str(threads), "--precision", options.precision)
        arguments += ("--device", options.device, "--attention", attention)
        return Side(name=name, arguments=arguments, threads=threads)

    if options.attention:
        return [side(way, "ours", options.threads, way) for way in options.attention], []
    if options.scaling:
        both = [side(f"{n} thread{'s' * (n > 1)}", "ours", n) for n in (options.threads, 1)]
        return both, []
    sides, skipped = [side("ours", "ours", options.threads), side("loop", "loop", options.threads)], []
    names = list(ADAPTERS) if options.rivals == "all" else [name for name in options.rivals.split(",") if name]
    for name in names:
        if reason := missing(name):
            skipped.append(f"{name}: {reason}")
            continue
        text = folder / "rivals"
        if not text.exists():
            write_pieces(Store.open(store), text)
        arguments = (name, "--text", str(text), "--updates", str(max(2, options.updates // 3)), *shared)
        sides.append(Side(name=name, arguments=arguments, threads=options.threads, script="rivals.py"))
    return sides, skipped


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All rounds, the sides in turn."""
    store, text = prepared_text(folder, is_quick=options.quick)
    sides, skipped = sides_of(options, store, folder)
    windows: dict[str, list[dict[str, Any]]] = {side.name: [] for side in sides}
    peaks = {
        side.threads: in_fresh_process(
            "training.py",
            ["peak", "--threads", str(side.threads), "--device", options.device],
            threads=side.threads,
        )
        for side in sides
    }
    for number in range(options.rounds):
        for side in sides:
            arguments = [*side.arguments, *(("--round", str(number)) if side.script == "training.py" else ())]
            found = in_fresh_process(side.script, arguments, threads=side.threads)
            windows[side.name].append(found)
            rate = found["tgt_tokens"] / found["seconds"]
            print(f"round {number + 1} {side.name}: {rate:,.0f} tokens/s, {found['peak_mib']:,.0f} MiB", flush=True)
    counts = {found["parameters"] for each in windows.values() for found in each if "parameters" in found}
    if len(counts) != 1:
        raise SystemExit(f"the two sides have different models: {sorted(counts)} parameters")
    peak = {side.name: peaks[side.threads]["flops"] for side in sides}
    kind = peaks[options.threads]["type"]
    return {**summary(options, windows, peak=peak), "peak_type": kind, "text": text, "skipped": skipped}


def summary(
    options: argparse.Namespace, windows: dict[str, list[dict[str, Any]]], *, peak: dict[str, float]
) -> dict[str, Any]:
    """The figures of a whole measurement."""

    def rates(side: str, count: str, clock: str = "seconds") -> list[float]:
        return [found[count] / found[clock] for found in windows[side]]

    ours, base, *_ = names = list(windows)
    ratios = {
        name: spread([a / b for a, b in zip(rates(ours, "tgt_tokens"), rates(name, "tgt_tokens"), strict=True)], 2)
        for name in names[1:]
    }
    by_processor = zip(*(rates(side, "tgt_tokens", "processor_seconds") for side in (ours, base)), strict=True)
    chosen = hardware.choose(  # as its windows did
        device=options.device,
        precision=options.precision,
        threads=options.threads,
        batch_tokens=options.batch_tokens,
    )
    memory = {side: max(found["peak_mib"] for found in windows[side]) for side in names}
    per_src, per_tgt = flops_per_token(options.model)

    def per_second(side: str, src: float, tgt: float) -> float:
        pairs = zip(rates(side, "src_tokens"), rates(side, "tgt_tokens"), strict=True)
        return statistics.median(src * a + tgt * b for a, b in pairs)

    return {
        "benchmark": "training",
        "kind": "scaling" if options.scaling else "attention" if options.attention else "speed",
        "date": datetime.date.today().isoformat(),
        "model": options.model,
        "threads": options.threads,
        "rounds": options.rounds,
        "updates_a_window": options.updates,
        "tgt_tokens_an_update": round(
            sum(found["tgt_tokens"] for found in windows[ours]) / sum(found["updates"] for found in windows[ours])
        ),
        "parameters": windows[ours][0]["parameters"],
        "device": options.device,
        "precision": chosen.precision,
        "ratio": ratios[base]["median"],
        "ratio_min": ratios[base]["min"],
        "ratio_max": ratios[base]["max"],
        "ratio_by_processor_time": round(statistics.median(a / b for a, b in by_processor), 2),
        "ratios": ratios,
        "tokens_per_s": {side: round(per_second(side, 0, 1)) for side in names},
        "all_tokens_per_s": {side: round(per_second(side, 1, 1)) for side in names},
        "peak_mib": {side: round(memory[side]) for side in names},
        "memory_ratio": round(memory[ours] / memory[base], 2),
        "milliseconds_by_kind": {side: windows[side][-1].get("milliseconds_by_kind", {}) for side in names},
        "share_of_peak": {side: round(per_second(side, per_src, per_tgt) / peak[side], 3) for side in names},
        "peak_gflops": round(peak[ours] / 1e9),
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__},
    }


def as_markdown(result: dict[str, Any], command: str) -> str:
    """The result for a reader."""
    machine, names = result["hardware"], list(result["tokens_per_s"])
    shape = ", ".join(f"{key} {value}" for key, value in PRESETS[result["model"]].items())
    rows = [
        ("target tokens/s, padding not counted", "tokens_per_s"),
        ("tokens/s of both sides", "all_tokens_per_s"),
        (f"share of the {result['peak_type']} peak", "share_of_peak"),
        ("peak memory, MiB", "peak_mib"),
    ]
    table = "\n".join(f"| {name} | {' | '.join(f'{result[key][side]:,}' for side in names)} |" for name, key in rows)
    spent = result["milliseconds_by_kind"]
    for kind in spent[names[0]]:
        table += f"\n| ms an update: {kind} | {' | '.join(f'{spent[side][kind]:,}' for side in names)} |"
    peak = f"{result['peak_type']} matrix product {result['peak_gflops']} GFLOP/s; "
    beside = ", the loop (`torch.nn.Transformer`) in float32" * ("loop" in names)
    others = "".join(f"- ours / {name}: {shown(result['ratios'][name])}\n" for name in names[2:])
    skipped = "".join(f"- not measured: {reason}\n" for reason in result["skipped"])
    return f"""# Training speed, {result["date"]}

`{command}`

- model `{result["model"]}`: {shape}, {VOCAB_SIZE:,} shared subwords, {result["parameters"]:,} parameters
- text: {result["text"]}, {result["tgt_tokens_an_update"]:,} target tokens an update
{machine_lines(machine, result["threads"], note=peak)}
- ours computes on {machine["device"] if result["device"] != "cpu" else "cpu"} in {result["precision"]}{beside}

| | {" | ".join(names)} |
|---|{"---|" * len(names)}
{table}

**Ratio of target tokens/s, {names[0]} / {names[1]}: {result["ratio"]}** (over rounds {result["ratio_min"]} to \
{result["ratio_max"]}; by processor time {result["ratio_by_processor_time"]}). Ratio of peak memory: \
{result["memory_ratio"]}.

{others}{skipped}"""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(PRESETS), default="small", help="preset of the shape")
    parser.add_argument("--threads", type=how_many, default=1)
    parser.add_argument("--precision", choices=["auto", "bf16", "float32"], default="auto", help="of our side")
    parser.add_argument("--scaling", action="store_true", help="ours with --threads against ours with one")
    parser.add_argument("--attention", default="", metavar="A,B", help="ours with A against ours with B")
    parser.add_argument("--device", default="cpu", help="of our side, with --attention; cpu, cuda ...")
    parser.add_argument("--rivals", default="", metavar="NAMES", help=f"of {', '.join(ADAPTERS)}; or all")
    parser.add_argument("--rounds", type=how_many, default=3, help="windows a side")
    parser.add_argument("--updates", type=how_many, default=30, help="updates a window")
    parser.add_argument("--warm-up", type=int, help="updates before each window, of the same batches; all of them")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end a window early after this many")
    parser.add_argument(
        "--batch-tokens", type=how_many, default=BATCH_TOKENS, help="positions of a batch, padding counted"
    )
    parser.add_argument("--update-tokens", type=int, default=0, help="target tokens gathered an update; 0: one batch")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 2 updates")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.updates, options.warm_up = 2, 2, 1
    if options.warm_up is None:
        options.warm_up = options.updates
    if options.scaling and (options.threads < 2 or options.rivals):
        parser.error("--scaling compares our threads with one of ours: give --threads 2 or more, and no --rivals")
    options.attention = [way for way in options.attention.split(",") if way]
    if options.attention and (len(options.attention) != 2 or options.scaling or options.rivals):
        parser.error("--attention compares two of plain, fused and packed, as in plain,fused; and nothing else")
    if options.device != "cpu" and not options.attention:
        parser.error(f"--device {options.device} goes with --attention: the loop and the rivals are for the CPU")
    try:
        hardware.check_device(options.device)
    except ConfigError as error:
        parser.error(str(error))
    if unknown := {name for name in options.rivals.split(",") if name and name != "all"} - set(ADAPTERS):
        parser.error(f"--rivals {', '.join(sorted(unknown))} is unknown; use {', '.join(ADAPTERS)} or all")
    return options


def main() -> None:
    """Measure, show, and write where asked to."""
    options = parsed()
    with tempfile.TemporaryDirectory() as name:
        result = measure(options, Path(name))
    command = f"python benchmarks/training.py --model {options.model} --threads {options.threads}"
    command += f" --rounds {options.rounds} --updates {options.updates}" + " --scaling" * options.scaling
    stem = f"training-{result['date']}-{options.model}-{options.threads}-threads" + "-scaling" * options.scaling
    if options.precision != "auto":
        command, stem = f"{command} --precision {options.precision}", f"{stem}-{options.precision}"
    if options.attention:
        command += f" --device {options.device} --attention {','.join(options.attention)}"
        stem += f"-{options.device.replace(':', '_')}-attention"
    if options.rivals:
        command, stem = f"{command} --rivals {options.rivals}", f"{stem}-rivals"
    sizes = {"batch-tokens": BATCH_TOKENS, "update-tokens": 0, "warm-up": options.updates, "seconds": math.inf}
    for name, usual in sizes.items():  # another size is another result
        given = getattr(options, name.replace("-", "_"))
        if given != usual:
            command, stem = f"{command} --{name} {given}", f"{stem}-{name}-{given}"
    publish(result, as_markdown(result, command), folder=options.output, stem=stem)


if __name__ == "__main__":
    run_main(main)
