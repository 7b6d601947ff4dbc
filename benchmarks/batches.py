"""Whether an engine's batches have the right size here: its own, and a quarter, half, twice and four times as large.

    python benchmarks/batches.py                                    # torch, `tiny`, in bf16 where the processor has it
    python benchmarks/batches.py --model base --dtype float32
    python benchmarks/batches.py --engine ctranslate2 --model base --dtype int8 --output
    python benchmarks/batches.py --engine both --model base         # torch against CTranslate2 int8, the same sentences
    python benchmarks/batches.py --quick                            # shows that it runs

Random weights over 8,000 subwords, sources as long as captions (4 to 30 subwords), translations 15 long, given ones as
long as captions. Each text fills eight of the engine's own batches, and has 400 sentences or more. Sizes count source
positions times hypotheses for searches, positions of the longer side for given translations. By the least processor
time of the rounds, in turn. The ratio is that of the row that could gain most: the time of its best size divided by
that of the engine's own.

With `--engine both` the two engines search the same sentences in turn, in one process, each in batches of its own size,
twice and four times that; what counts is the best of these. The ratio is torch's sentences a second of processor time
divided by the other's, the lower one of greedy search and a beam of 5. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import random
import statistics
import string
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import torch

import yiwen
from sides.report import RESULTS, how_many, machine_lines, publish, run_main, shown, spread
from yiwen import hardware
from yiwen.engines import torch_engine
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.engine import Engine
from yiwen.engines.exported import COMPUTE_TYPES, ExportInfo, write_info
from yiwen.engines.torch_engine import TorchEngine
from yiwen.export.ct2_spec import write_model
from yiwen.model.config import PRESETS, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.text.subword import N_BYTES, N_SPECIAL, Subword, TokenizerConfig, train_subword

VOCAB_SIZE = 8000
TARGET_LEN = 15
FEWEST_POSITIONS = 6_000
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
DUEL_FACTORS = (1, 2, 4)
BEAMS = {"greedy": 1, "beam 5": 5}

Sentences = list[list[int]]


@dataclass(frozen=True)
class Work:
    """One row: what the engine does in batches."""

    name: str
    own: int
    """The size that the engine chose."""
    width: int
    """Hypotheses of a sentence."""
    run: Callable[[int, Sentences, Sentences], object]
    """(size, sources, targets): all of them, in batches of that size."""


def torch_work(engine: TorchEngine) -> list[Work]:
    """The torch engine's rows. Its sizes are constants of its module, and a limit by the bytes of its cache."""
    own, cached, given = torch_engine.BATCH_TOKENS, engine._cached_tokens, torch_engine.GIVEN_TOKENS

    def searching(beam_size: int) -> Callable[[int, Sentences, Sentences], object]:
        config = SearchConfig(beam_size=beam_size, min_len=TARGET_LEN, max_len_ratio=0, max_len_extra=TARGET_LEN)

        def run(size: int, sources: Sentences, targets: Sentences) -> object:
            torch_engine.BATCH_TOKENS = engine._cached_tokens = size
            return engine.search(sources, config=config)

        return run

    def use(size: int) -> None:
        torch_engine.GIVEN_TOKENS = size

    chosen = {"greedy": min(own, cached), "beam 5": min(own, 2 * cached)}
    rows = [Work(name, chosen[name], width, searching(width)) for name, width in BEAMS.items()]
    return rows + given_work(engine, given, 2, use)


def exported_work(engine: CT2Engine) -> list[Work]:
    """The exported engine's rows: each sentence searched once, as nearly all are."""
    runtime = engine._runtime
    own = runtime.batch_tokens

    def searching(beam_size: int) -> Callable[[int, Sentences, Sentences], object]:
        config = SearchConfig(beam_size=beam_size)

        def run(size: int, sources: Sentences, targets: Sentences) -> object:
            runtime.batch_tokens = size
            limits = dict.fromkeys(range(len(sources)), TARGET_LEN)
            return list(engine.search_once(sources, limits=limits, config=config, scores=True, stop=None))

        return run

    def use(size: int) -> None:
        runtime.batch_tokens = size

    rows = [Work(name, own, width, searching(width)) for name, width in BEAMS.items()]
    return rows + given_work(engine, own, 8, use)


def given_work(engine: Engine, own: int, part: int, use: Callable[[int], None]) -> list[Work]:
    """Rows of given translations. `use` sets the size for attention, of which scores have a `part`-th."""

    def scoring(size: int, sources: Sentences, targets: Sentences) -> object:
        use(part * size)
        return engine.score(sources, targets)

    def attending(size: int, sources: Sentences, targets: Sentences) -> object:
        use(size)
        return engine.attend(sources, targets)

    return [Work("scores", own // part, 1, scoring), Work("attention", own, 1, attending)]


def opened(options: argparse.Namespace, folder: Path) -> list[Work]:
    """The engine with random weights, and what it can do."""
    torch.manual_seed(1)
    config = ModelConfig(**PRESETS[options.model])
    model = Transformer(config, src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE).eval()
    if options.engine == "torch":
        return torch_work(TorchEngine(model, dtype=torch.bfloat16 if options.dtype == "bf16" else torch.float32))
    subword = random_subword()
    write_model(folder, model, source=subword, target=subword, dtype=options.dtype, alignment=None)
    info = ExportInfo(
        dtype=options.dtype,
        max_len=config.max_len,
        yiwen_version=yiwen.__version__,
        ctranslate2_version=ctranslate2.__version__,
        weights="",
    )
    write_info(folder, info)
    return exported_work(CT2Engine(folder, source=subword, target=subword, threads=options.threads, is_new=True))


def random_subword() -> Subword:
    """A vocabulary of the right size, learnt from words that nobody ever said: an exported model has to have one."""
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(40_000)]
    _, subword = train_subword(lambda: words, TokenizerConfig(vocab_size=VOCAB_SIZE, kind="bpe"))
    return subword


def sentences(n_positions: int, rng: random.Random) -> Sentences:
    """Random subwords in sentences as long as captions, until there are as many positions."""
    found: Sentences = []
    while n_positions > 0:
        length = min(max(round(rng.gauss(14, 5)), 4), 30)
        found.append(rng.choices(range(N_SPECIAL + N_BYTES, VOCAB_SIZE), k=length))
        n_positions -= length + 1
    return found


def measure(work: Work, options: argparse.Namespace) -> dict[str, Any]:
    """Processor seconds by size, the least of the rounds; sizes take turns, the first round warms up."""
    sources = sentences(max(8 * work.own // work.width, FEWEST_POSITIONS), random.Random(1))
    rng = random.Random(2)
    targets = [rng.choices(range(N_SPECIAL + N_BYTES, VOCAB_SIZE), k=len(source)) for source in sources]
    sizes = [round(factor * work.own) for factor in FACTORS]
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(options.rounds + 1):
        for size in sizes:
            before = time.process_time()
            work.run(size, sources, targets)
            if number:
                seconds[size].append(time.process_time() - before)
    least = {size: min(found) for size, found in seconds.items()}
    print(f"{work.name}: " + ", ".join(f"{size} {value:.2f} s" for size, value in least.items()), flush=True)
    return {
        "name": work.name,
        "own": work.own,
        "sentences": len(sources),
        "seconds": {str(size): round(value, 3) for size, value in least.items()},
        "times_as_fast": {str(size): round(least[work.own] / value, 3) for size, value in least.items()},
        "ratio": round(min(least.values()) / least[work.own], 3),
    }


def compare(ours: Work, other: Work, options: argparse.Namespace) -> dict[str, Any]:
    """The same sentences searched by both engines in turn; a round's rate is that of its best size."""
    n_positions = max(8 * max(work.own for work in (ours, other)) // ours.width, FEWEST_POSITIONS)
    sources = sentences(n_positions, random.Random(1))
    rates: dict[str, list[float]] = {"ours": [], "other": []}
    for number in range(options.rounds + 1):
        for side, work in (("ours", ours), ("other", other)):
            seconds = []
            for factor in DUEL_FACTORS:
                before = time.process_time()
                work.run(factor * work.own, sources, [])
                seconds.append(time.process_time() - before)
            if number:
                rates[side].append(len(sources) / min(seconds))
    ratios = [a / b for a, b in zip(rates["ours"], rates["other"], strict=True)]
    found = {
        "name": ours.name,
        "sentences": len(sources),
        "sentences_per_s": {side: round(statistics.median(of_side), 1) for side, of_side in rates.items()},
        "ratio": spread(ratios),
    }
    print(f"{ours.name}: {found['sentences_per_s']}, {shown(spread(ratios))}", flush=True)
    return found


def duel(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Torch in its fastest type against CTranslate2 in int8."""
    sides = []
    for engine, dtype in (("torch", options.dtype), ("ctranslate2", "int8")):
        works = opened(argparse.Namespace(**{**vars(options), "engine": engine, "dtype": dtype}), folder)
        sides.append([work for work in works if work.name in BEAMS])
    rows = [compare(ours, other, options) for ours, other in zip(*sides, strict=True)]
    return {"ratio": min(row["ratio"]["median"] for row in rows), "rows": rows}


def duel_as_markdown(result: dict[str, Any]) -> str:
    """The comparison for a reader."""
    machine = result["hardware"]
    rows = "\n".join(
        f"| {row['name']} | {row['sentences']} | {row['sentences_per_s']['ours']} | {row['sentences_per_s']['other']} |"
        f" {shown(row['ratio'])} |"
        for row in result["rows"]
    )
    return f"""# Torch in {result["dtype"]} against CTranslate2 in int8, `{result["model"]}`, {result["date"]}

`python benchmarks/batches.py --engine both --model {result["model"]} --dtype {result["dtype"]} \
--threads {machine["threads"]} --rounds {result["rounds"]}`

{machine_lines(machine, machine["threads"])}

Sentences a second of processor time, random weights, translations 15 long, each engine at its best size of batches:

| | Sentences | torch | CTranslate2 | ratio (over rounds) |
|---|---:|---:|---:|---:|
{rows}
"""


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""
    machine = result["hardware"]
    heads = "".join(f" {factor:g} times |" for factor in FACTORS)
    rows = "\n".join(
        f"| {row['name']} | {row['sentences']} | {row['own']} |"
        + "".join(f" {value:.2f} |" for value in row["times_as_fast"].values())
        for row in result["rows"]
    )
    return f"""# Sizes of batches, {result["engine"]} in {result["dtype"]}, `{result["model"]}`, {result["date"]}

`python benchmarks/batches.py --engine {result["engine"]} --model {result["model"]} --dtype {result["dtype"]} \
--threads {machine["threads"]} --rounds {result["rounds"]}`

{machine_lines(machine, machine["threads"])}

How many times as fast as with the size that the engine chooses, by processor time (the least of the rounds):

| | Sentences | Own size |{heads}
|---|---:|---:|{"---:|" * len(FACTORS)}
{rows}
"""


def main() -> None:
    """Measure, show, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["torch", "ctranslate2", "both"], default="torch")
    parser.add_argument("--model", choices=sorted(PRESETS), default="tiny")
    parser.add_argument("--dtype", help="torch: bf16 (where the processor has it) or float32; ctranslate2: int8 ...")
    parser.add_argument("--threads", type=how_many, default=1)
    parser.add_argument("--rounds", type=how_many, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of the exported `tiny`")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.quick:
        options.engine, options.model, options.rounds = "ctranslate2", "tiny", 1
    usual = "int8" if options.engine == "ctranslate2" else "bf16" if hardware.has_native_bf16() else "float32"
    options.dtype = options.dtype or usual
    possible = sorted(COMPUTE_TYPES) if options.engine == "ctranslate2" else ["bf16", "float32"]
    if options.dtype not in possible:
        parser.error(f"--dtype {options.dtype} is none of {options.engine}'s; use {', '.join(possible)}")
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        if options.engine == "both":
            found, report = duel(options, Path(name)), duel_as_markdown
        else:
            rows = [measure(work, options) for work in opened(options, Path(name))]
            found, report = {"ratio": min(row["ratio"] for row in rows), "rows": rows}, as_markdown
    result = {
        "benchmark": "batches",
        "date": datetime.date.today().isoformat(),
        **found,
        "engine": options.engine,
        "model": options.model,
        "dtype": options.dtype,
        "rounds": options.rounds,
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__, "threads": options.threads},
    }
    stem = f"batches-{result['date']}-{options.engine}-{options.model}-{options.dtype}"
    publish(result, report(result), folder=options.output, stem=stem)


if __name__ == "__main__":
    run_main(main)
