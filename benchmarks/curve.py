"""Validation score against minutes of training, from what a run wrote down.

    python benchmarks/curve.py runs/multi30k-en-de             # shows the curve
    python benchmarks/curve.py runs/multi30k-en-de --output    # also writes benchmarks/results/curve-....md and .json

Minutes are those spent on updates (`timing.jsonl`): validation, checkpoints and start-up are not counted, all starts
of a resumed run are. Scores are those of `metrics.jsonl`, greedy on the validation set. Without a RUN all runs below
YIWEN_RUNS are shown. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
from pathlib import Path
from typing import Any

import yiwen
from yiwen.files import write_json, write_text
from yiwen.recipe import runs_root

RESULTS = Path(__file__).parent / "results"


def curve(run: Path) -> dict[str, Any]:
    """Points of one run, in the order of training, and where it was trained."""
    seconds: dict[int, float] = {}
    for entry in read_jsonl(run / "timing.jsonl"):  # a step repeated after a kill counts with its last time
        seconds[entry["step"]] = entry["seconds"]
    metric = "valid_chrf" if any("valid_chrf" in entry for entry in read_jsonl(run / "metrics.jsonl")) else "valid_bleu"
    points = [
        {
            "step": entry["step"],
            "epoch": entry["epoch"],
            "minutes": round(seconds[entry["step"]] / 60, 2),
            "valid_loss": round(entry["valid_loss"], 4),
            metric: round(entry[metric], 2),
        }
        for entry in read_jsonl(run / "metrics.jsonl")
        if metric in entry and entry["step"] in seconds
    ]
    machine = json.loads((run / "hardware.json").read_text(encoding="utf-8"))
    return {"run": run.name, "metric": metric, "points": points, "hardware": machine}


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; a last line that a kill cut off is left out."""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith(b"}")]


def as_markdown(result: dict[str, Any], command: str) -> str:
    """The curve for a reader: a table and bars."""
    metric, points = result["metric"], result["points"]
    machine, chosen = result["hardware"]["machine"], result["hardware"]["chosen"]
    top = max((point[metric] for point in points), default=0.0) or 1.0
    rows = "\n".join(
        f"| {point['minutes']:.1f} | {point['step']:,} | {point['epoch']} | {point['valid_loss']:.3f} "
        f"| {point[metric]:.2f} | {'█' * max(0, math.floor(30 * point[metric] / top))} |"
        for point in points
    )
    return f"""# {result["run"]}: validation score against training minutes, {datetime.date.today().isoformat()}

`{command}`

- machine: {machine["processor"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB; {machine["system"]}
- trained on {chosen["device"]} in {chosen["precision"]}, {chosen["threads"]} threads
- versions: yiwen {yiwen.__version__}, torch {machine["torch"]}, Python {machine["python"]}

Minutes are those spent on updates, without validation and start-up. {metric} is that of a greedy decoding of the
validation set during training; the score of the test set is measured once, by `yiwen evaluate`.

| minutes | step | epoch | validation loss | {metric} | |
|---:|---:|---:|---:|---:|---|
{rows}
"""


def main() -> None:
    """Show the curve of each run, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", help="folders of runs; all where not given")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    parser.add_argument("--quick", action="store_true", help="as in the other benchmarks; this one is always quick")
    options = parser.parse_args()
    every = sorted(path.parent for path in runs_root().glob("*/timing.jsonl"))
    results = []
    for run in options.runs or every:
        if not (run / "timing.jsonl").is_file():
            raise SystemExit(f"{run} holds no timing.jsonl: give the folder of a run, for example runs/multi30k-en-de")
        result = curve(run)
        results.append(result)
        report = as_markdown(result, f"python benchmarks/curve.py runs/{run.name} --output")
        print(report)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            stem = f"curve-{datetime.date.today().isoformat()}-{run.name}"
            write_text(options.output / f"{stem}.md", report)
            write_json(options.output / f"{stem}.json", result)
    print(json.dumps({"benchmark": "curve", "curves": results}))


if __name__ == "__main__":
    main()
