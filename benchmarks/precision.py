"""Whether training in bf16 costs quality: the same updates in bf16 and in float32, several seeds, validation BLEU.

    python benchmarks/precision.py                       # three seeds of 400 updates each way; half an hour on a core
    python benchmarks/precision.py --quick               # a few updates of a tiny model; shows that it runs
    python benchmarks/precision.py --output              # also writes benchmarks/results/precision-....md and .json

Trains a short version of the recipe multi30k-en-de where YIWEN_DATA is set, else of demo-en-zh. All runs of one seed
see the same batches in the same order. A difference of the two means within two standard errors is noise.
Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import yiwen
from sides.report import how_many, run_main
from yiwen import hardware
from yiwen.data.demo import write_demo
from yiwen.files import write_json, write_text
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe

PRECISIONS = ("bf16", "float32")
RESULTS = Path(__file__).parent / "results"


def settings(options: argparse.Namespace, *, precision: str, seed: int) -> list[str]:
    """What one run has otherwise than its recipe: short, whole, in one precision."""
    changed = {
        "training.precision": f'"{precision}"',
        "training.seed": seed,
        "training.threads": options.threads,
        "training.max_steps": options.updates,
        "training.warmup_steps": max(1, options.updates // 8),
        "training.validate_every": options.updates,
        "training.checkpoint_every": options.updates,
    }
    if options.quick:
        changed |= {"model.d_model": 32, "model.n_encoder_layers": 1, "model.n_decoder_layers": 1, "model.d_ff": 64}
    return [f"{key}={value}" for key, value in changed.items()]


def bleu_of(run: Path) -> float:
    """Validation BLEU of the last update, greedy."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").split("\n") if line]
    found: float = next(line["valid_bleu"] for line in reversed(lines) if "valid_bleu" in line)
    return found


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train both ways with each seed in turn."""
    recipe = "multi30k-en-de" if os.environ.get("YIWEN_DATA") and not options.quick else "demo-en-zh"
    scores: dict[str, list[float]] = {precision: [] for precision in PRECISIONS}
    os.environ["YIWEN_RUNS"] = str(folder)
    if recipe == "demo-en-zh":
        write_demo(folder / "demo", n_train=8_000, n_valid=200, n_test=200)
        os.environ["YIWEN_DEMO"] = str(folder / "demo")
    for seed in range(1, options.seeds + 1):
        for precision in PRECISIONS:
            run = folder / f"{precision}-{seed}"
            train_recipe(load_recipe(recipe, settings(options, precision=precision, seed=seed)), run=run)
            scores[precision].append(bleu_of(run))
            print(f"seed {seed} {precision}: BLEU {scores[precision][-1]:.2f}", flush=True)
    means = {precision: statistics.mean(found) for precision, found in scores.items()}
    variances = [statistics.variance(found) / len(found) if len(found) > 1 else math.nan for found in scores.values()]
    difference, error = means["bf16"] - means["float32"], math.sqrt(sum(variances))
    return {
        "benchmark": "precision",
        "date": datetime.date.today().isoformat(),
        "recipe": recipe,
        "updates": options.updates,
        "seeds": options.seeds,
        "scores": scores,
        "means": {precision: round(mean, 2) for precision, mean in means.items()},
        "difference": round(difference, 2),
        "standard_error": round(error, 2),
        "is_noise": abs(difference) <= 2 * error,
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__, "threads": options.threads},
    }


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""
    machine = result["hardware"]
    rows = "\n".join(
        f"| {precision} | {', '.join(f'{score:.2f}' for score in found)} | {result['means'][precision]:.2f} |"
        for precision, found in result["scores"].items()
    )
    verdict = "within" if result["is_noise"] else "outside"
    return f"""# Training in bf16 against float32, {result["date"]}

`python benchmarks/precision.py --updates {result["updates"]} --seeds {result["seeds"]} --threads {machine["threads"]}`

- recipe {result["recipe"]}, {result["updates"]} updates, greedy validation BLEU
- machine: {machine["processor"]}, {machine["threads"]} of {machine["cores"]} cores; {machine["system"]}
- versions: yiwen {machine["yiwen"]}, torch {machine["torch"]}, Python {machine["python"]}

| | BLEU, a seed each | mean |
|---|---|---|
{rows}

Difference of the means {result["difference"]:+.2f}, standard error {result["standard_error"]:.2f}: {verdict} two \
standard errors.
"""


def main() -> None:
    """Measure, show, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=how_many, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=how_many, default=1)
    parser.add_argument("--quick", action="store_true", help="2 seeds of 8 updates of a tiny model")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.quick:
        options.updates, options.seeds = 8, 2
    if options.seeds < 2:
        raise SystemExit(f"--seeds {options.seeds}: a standard error needs 2 or more")
    with tempfile.TemporaryDirectory() as name:
        result = measure(options, Path(name))
    report = as_markdown(result)
    print(f"\n{report}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        write_text(options.output / f"precision-{result['date']}.md", report)
        write_json(options.output / f"precision-{result['date']}.json", result)
    print(json.dumps(result))


if __name__ == "__main__":
    run_main(main)
