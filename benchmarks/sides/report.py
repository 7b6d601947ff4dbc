"""What the benchmarks share: windows in fresh processes, medians with their spread, and where results go."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yiwen.errors import YiwenError
from yiwen.files import write_json, write_text

SIDES = Path(__file__).parent
RESULTS = SIDES.parent / "results"


def in_fresh_process(script: str, arguments: Sequence[str], *, threads: int) -> dict[str, Any]:
    """Run a script of this folder for one window; the last line that it prints is the result."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    command = [sys.executable, str(SIDES / script), *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.rstrip("\n").split("\n")[-1])
    return result


def run_main(main: Callable[[], None]) -> None:
    """What a benchmark does as a command: a model or a text that is not there is told in a line."""
    try:
        main()
    except (YiwenError, FileNotFoundError) as error:
        sys.exit(f"error: {error}")


def how_many(text: str) -> int:
    """The type of an option that says how many, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few; use 1 or more")
    return number


def spread(values: Sequence[float], digits: int = 3) -> dict[str, float]:
    """Median, least and greatest."""
    parts = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: round(value, digits) for name, value in parts.items()}


def shown(found: dict[str, float]) -> str:
    """A spread for a reader."""
    return f"{found['median']:.2f} ({found['min']:.2f} to {found['max']:.2f})"


def machine_lines(machine: dict[str, Any], threads: int, *, note: str = "") -> str:
    """Where and with what it was measured, as two items of a list."""
    return f"""- machine: {machine["processor"]}, {threads} of {machine["cores"]} cores, {machine["memory_gib"]} GiB; \
{note}{machine["system"]}
- versions: yiwen {machine["yiwen"]}, torch {machine["torch"]}, Python {machine["python"]}"""


def command() -> str:
    """What was called; the folder of the text by the name of its variable."""
    called = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    data = os.environ.get("YIWEN_DATA")
    return called.replace(data, "$YIWEN_DATA") if data else called


def publish(result: dict[str, Any], report: str, *, folder: Path | None, stem: str) -> None:
    """Show the report, write it with its figures where asked to, and print the figures as the last line."""
    result = {"command": command(), **result}
    print(f"\n{report}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{stem}.md", report)
        write_json(folder / f"{stem}.json", result)
    print(json.dumps(result, ensure_ascii=False))
