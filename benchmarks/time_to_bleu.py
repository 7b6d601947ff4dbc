"""Minutes of training to a validation BLEU of 35, 38 and 40, and the test score of the final model.

    python benchmarks/time_to_bleu.py --output                 # trains multi30k-en-de in a temporary folder
    python benchmarks/time_to_bleu.py --run runs/clocked       # ... and keeps the run
    python benchmarks/time_to_bleu.py runs/multi30k-en-de      # trains nothing: reads what runs wrote down
    python benchmarks/time_to_bleu.py --quick                  # ends within a minute: the demo recipe, shortened

Minutes are those spent on updates (`timing.jsonl`): validation, checkpoints and start-up are not counted, all starts
of a resumed run are. Scores are those of `metrics.jsonl`, greedy on the validation set; a BLEU counts as reached at the
first validation that has it. The final model translates the recipe's test set once, with beam 5. `--set` changes the
recipe as in `yiwen train`. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

import yiwen
from sides.report import RESULTS, command, machine_lines, publish, run_main
from yiwen.data.demo import write_demo
from yiwen.measure import measure
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.search.config import SearchConfig

GOALS = (35, 38, 40)
QUICK = ("training.max_steps=60", "training.validate_every=20", "training.checkpoint_every=60")


def curve(run: Path) -> dict[str, Any]:
    """Points of one run, in the order of training, what they reached, and where it was trained."""
    seconds: dict[int, float] = {}
    for entry in read_jsonl(run / "timing.jsonl"):  # a step repeated after a kill counts with its last time
        seconds[entry["step"]] = entry["seconds"]
    entries = read_jsonl(run / "metrics.jsonl")
    metric = "valid_chrf" if any("valid_chrf" in entry for entry in entries) else "valid_bleu"
    points = [
        {
            "step": entry["step"],
            "epoch": entry["epoch"],
            "minutes": round(seconds[entry["step"]] / 60, 2),
            "valid_loss": round(entry["valid_loss"], 4),
            metric: round(entry[metric], 2),
        }
        for entry in entries
        if metric in entry and entry["step"] in seconds
    ]
    machine = json.loads((run / "hardware.json").read_text(encoding="utf-8"))
    machine.pop("base", None)  # a folder, which says nothing elsewhere
    machine["machine"]["yiwen"] = yiwen.__version__
    reached = minutes_to(points) if metric == "valid_bleu" else {}
    return {"run": run.name, "metric": metric, "minutes_to": reached, "points": points, "hardware": machine}


def minutes_to(points: list[dict[str, Any]]) -> dict[str, float | None]:
    """Minutes until each goal was first reached; None where it was not."""
    return {
        str(goal): next((point["minutes"] for point in points if point["valid_bleu"] >= goal), None) for goal in GOALS
    }


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; a last line that a kill cut off is left out."""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith(b"}")]


def trained(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train a recipe, and score its final model; the curve with both."""
    settings = [*(QUICK if options.quick else ()), *options.set]
    if options.quick:
        write_demo(folder / "demo", n_train=6_000, n_valid=50, n_test=100)
        os.environ["YIWEN_DEMO"] = str(folder / "demo")
    run = options.run or folder / "runs" / options.recipe
    os.environ.setdefault("YIWEN_RUNS", str(run.parent))
    began = time.perf_counter()
    loaded = load_recipe(options.recipe, settings)
    train_recipe(loaded, run=run, console=Console(stderr=True))
    minutes = (time.perf_counter() - began) / 60
    found = measure(run / "final", search=SearchConfig(beam_size=5))
    bleu = next(score for score in found.evaluation.scores if score.name.lower() == "bleu")
    corpus = loaded.recipe.data.test
    test_set = Path(corpus.src or corpus.path).stem if corpus else found.test_set
    test = {"set": test_set, "engine": found.engine, "bleu": round(bleu.value, 2), "signature": bleu.signature}
    return {**curve(run), "settings": settings, "minutes_in_all": round(minutes, 2), "test": test}


def as_markdown(result: dict[str, Any]) -> str:
    """The curve for a reader: a table and bars."""
    metric, points, test = result["metric"], result["points"], result.get("test")
    machine, chosen = result["hardware"]["machine"], result["hardware"]["chosen"]
    top = max((point[metric] for point in points), default=0.0) or 1.0
    rows = "\n".join(
        f"| {point['minutes']:.1f} | {point['step']:,} | {point['epoch']} | {point['valid_loss']:.3f} "
        f"| {point[metric]:.2f} | {'█' * max(0, math.floor(30 * point[metric] / top))} |"
        for point in points
    )
    goals = ", ".join(
        f"{goal}: {'not reached' if minutes is None else f'{minutes:.1f} min'}"
        for goal, minutes in result["minutes_to"].items()
    )
    device = machine["device"] if chosen["device"] != "cpu" else "cpu"
    threads = f"{chosen['threads']} thread{'s' * (chosen['threads'] > 1)}"
    lines = [f"- trained on {device} in {chosen['precision']}, {threads}"]
    if result.get("settings"):
        lines.append(f"- changed in the recipe: {', '.join(f'`{each}`' for each in result['settings'])}")
    if goals:
        lines.append(f"- **minutes to a validation BLEU of {goals}**")
    if test:
        lines.append(f"- **BLEU {test['bleu']:.2f} on {test['set']}**: the final model, beam 5, {test['engine']}")
        lines.append(f"- {result['minutes_in_all']:.1f} minutes with start-up, validation and checkpoints")
    return f"""# Time to BLEU: {result["run"]}, {result["date"]}

`{command()}`

{machine_lines(machine, chosen["threads"])}
{chr(10).join(lines)}

Minutes are those spent on updates, without validation and start-up. {metric} is that of a greedy decoding of the
validation set during training.

| minutes | step | epoch | validation loss | {metric} | |
|---:|---:|---:|---:|---:|---|
{rows}
"""


def main() -> None:
    """Train or read, show, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", help="runs to read; nothing is trained then")
    parser.add_argument("--recipe", default="multi30k-en-de", help="recipe to train")
    parser.add_argument("--run", type=Path, help="folder of the new run; a temporary one where not given")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the recipe")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    parser.add_argument("--quick", action="store_true", help="60 updates of the demo recipe")
    options = parser.parse_args()
    if options.quick:
        options.recipe = "demo-en-zh"
    for run in options.runs:
        if not (run / "timing.jsonl").is_file():
            raise SystemExit(f"{run} holds no timing.jsonl: give the folder of a run, for example runs/multi30k-en-de")
    with tempfile.TemporaryDirectory() as name:
        results = [curve(run) for run in options.runs] or [trained(options, Path(name))]
    for result in results:
        result |= {"benchmark": "time_to_bleu", "date": datetime.date.today().isoformat()}
        stem = f"time-to-bleu-{result['date']}-{result['run']}"
        publish(result, as_markdown(result), folder=options.output, stem=stem)


if __name__ == "__main__":
    run_main(main)
