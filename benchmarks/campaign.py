"""The campaign against the service at its long sizes, and its table: what was done, how often, and what came of it.

    python benchmarks/campaign.py --output     # some 20 minutes; `make campaign`
    python benchmarks/campaign.py --quick      # one row

Each row is a test of `tests/serve` (X1, X3 and X4: also of the page, models and documents) that runs at every commit
with small numbers. It says what is done and fails where something is lost, mixed, or ends in a server error; the table
is written only where nothing failed. Times in it are of this machine. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import yiwen
from sides.report import RESULTS, publish, run_main
from yiwen import hardware

ROOT = Path(__file__).parents[1]
ROWS = {
    "S1": "overload",
    "S2": "slow senders and readers",
    "S3": "hostile bodies",
    "S4": "SIGTERM under load",
    "S5": "callers who leave",
    "S6": "a long run",
    "S7": "generated requests",
    "S8": "models swapped under load",
    "S9": "callers kept apart",
    "S10": "odd texts",
    "X1": "markup and scripts",
    "X2": "names that lead elsewhere",
    "X3": "hostile models",
    "X4": "hostile documents",
    "X5": "keys",
    "X6": "origins, hosts and smuggling",
}

ELSEWHERE = ("system/test_hostile_models", "documents/test_hostile_documents", "web/test_page_payloads")


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the tests; returns what they noted."""
    report = folder / "report.jsonl"
    report.touch()
    environment = {**os.environ, "YIWEN_CAMPAIGN": str(report), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    elsewhere = [f"tests/{place}.py" for place in ELSEWHERE]
    which = ["tests/serve/test_batcher.py"] if options.quick else ["tests/serve", *elsewhere]
    chosen = ["-q", "-p", "no:cacheprovider", "--timeout", "3600", "-m", "not slow", *which]
    command = [sys.executable, "-m", "pytest", *chosen]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    print(done.stdout[-2000:], flush=True)
    if done.returncode != 0:
        raise SystemExit("a row of the campaign failed; nothing is written")
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").split("\n") if line]
    return {
        "benchmark": "campaign",
        "date": datetime.date.today().isoformat(),
        "failed": 0,
        "rows": sorted(lines, key=lambda line: list(ROWS).index(line["row"])),
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__},
    }


def as_markdown(result: dict[str, Any]) -> str:
    """The table; what one test tried many times stands in one line."""
    table = []
    for row, lines in groupby(result["rows"], key=lambda line: line["row"]):
        cases = list(lines)
        short = [case for case in cases if set(case["found"]) == {"status"}]
        for case in [case for case in cases if case not in short]:
            found = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in case["found"].items())
            table.append(f"| {row} | {case['what']} | {case['seed'] if case['seed'] is not None else ''} | {found} |")
        if short:
            statuses = sorted({case["found"]["status"] for case in short})
            table.append(f"| {row} | {len(short)} cases: {ROWS[row]} | | statuses {statuses} |")
    machine = result["hardware"]
    return f"""# The campaign against the service, {result["date"]}

`make campaign`: every row at its long size; nothing failed. yiwen {machine["yiwen"]} on {machine["processor"]}, \
{machine["cores"]} cores.

| row | what was done | seed | what came of it |
|---|---|---:|---|
{chr(10).join(table)}
"""


def main() -> None:
    """Run, show, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one row")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        result = run(options, Path(name))
    publish(result, as_markdown(result), folder=options.output, stem=f"campaign-{result['date']}")


if __name__ == "__main__":
    run_main(main)
