"""What the service costs: sentences/s and latency of 1, 8 and 64 callers against the translator called directly.

    python benchmarks/serving.py --model runs/multi30k-en-de --threads 2 --src train.en --lines 29000 --output
    python benchmarks/serving.py --model runs/multi30k-en-de --threads 2 --libretranslate LT/bin/python --output
    python benchmarks/serving.py --quick    # ends within a minute: a model trained for seconds

Each caller has one connection, sends one sentence, waits for the answer and sends the next. No sentence is sent twice
and the cache is off; at its end the text begins again with a number behind each sentence, which a model may find odd:
give a long one. The service and the callers are processes of their own on the same machine, so that the callers'
processor time, which is shown, is missing for the service. The direct call is `Translator.translate` on the same
sentences, 1,000 at once, with the same beam, scores and checks. Windows of all take turns, `--rounds` of each.

With --libretranslate, the Python of an environment that has LibreTranslate (see `sides/libretranslate.py`), it serves
the same model from a package of ours with as many threads, beam 4 for both. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import yiwen
from sides.libretranslate import libretranslate
from sides.materials import demo_model, exported, test_text
from sides.report import RESULTS, command, how_many, in_fresh_process, machine_lines, publish, run_main, shown, spread
from yiwen import hardware
from yiwen.bundle import Bundle, find_bundle, open_bundle

COMMAND = (sys.executable, "-m", "yiwen")
CALLERS = (1, 8, 64)
MEASURES = ("sentences_per_s", "p50_ms", "p95_ms", "processor_ms", "callers_processor_ms")


@contextmanager
def service(bundle: Path, folder: Path, threads: int) -> Iterator[tuple[int, int]]:
    """The command in a process of its own; gives port and process id."""
    limits = [f"--set={name}=0" for name in ("requests_per_minute", "cache_bytes")]
    command = [*COMMAND, "serve", str(bundle), "--port", "0", "--threads", str(threads), *limits]
    environment = {**os.environ, "YIWEN_RUNS": str(folder), "OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield int(process.stdout.readline().rpartition(":")[2]), process.pid
        finally:
            process.terminate()


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All windows."""
    model = options.model or demo_model(folder, steps=options.demo_steps)
    text = test_text(options, open_bundle(find_bundle(model)), folder)
    bundle = open_bundle(exported(open_bundle(find_bundle(model)), "int8", folder / "int8"))
    common = ["--src", str(text.src), "--seconds", str(options.seconds), "--beam", str(options.beam)]
    common += ["--threads", str(options.threads), "--source", bundle.info.src_lang, "--target", bundle.info.tgt_lang]
    windows: dict[str, list[dict[str, Any]]] = {}
    with ExitStack() as stack:
        servers = {"yiwen": ("v1", *stack.enter_context(service(bundle.folder, folder, options.threads)))}
        if options.libretranslate is not None:
            port = free_port()
            place = folder / "libretranslate"
            place.mkdir()
            rival = libretranslate(options.libretranslate, bundle.folder, place, port=port, threads=options.threads)
            servers["LibreTranslate"] = ("libre", port, stack.enter_context(rival))
        first = dict.fromkeys(servers, 0)
        for number in range(options.rounds):
            found = in_fresh_process("serving.py", ["direct", "--bundle", str(bundle.folder), *common], threads=1)
            windows.setdefault("direct", []).append(found)
            for name, (api, port, pid) in servers.items():
                for callers in CALLERS:
                    where = ["--api", api, "--port", str(port), "--pid", str(pid), "--first", str(first[name])]
                    found = in_fresh_process(
                        "serving.py", ["load", *where, "--callers", str(callers), *common], threads=1
                    )
                    first[name] = found["next"]
                    if set(found["statuses"]) != {"200"}:
                        raise SystemExit(f"{name} answered {found['statuses']} to {callers} callers")
                    windows.setdefault(f"{name}, {callers}", []).append(found)
                    print(
                        f"round {number + 1} {name}, {callers} callers: {found['sentences_per_s']:,.0f}/s", flush=True
                    )
    return summary(options, windows, bundle, text.name)


def summary(
    options: argparse.Namespace, windows: dict[str, list[dict[str, Any]]], bundle: Bundle, text: str
) -> dict[str, Any]:
    """Medians, and what is compared in each round."""
    table = {
        name: {
            measure: round(statistics.median(w[measure] for w in found), 2)
            for measure in MEASURES
            if measure in found[0]
        }
        for name, found in windows.items()
    }
    busiest = windows[f"yiwen, {CALLERS[-1]}"]
    pairs = list(zip(busiest, windows["direct"], strict=True))
    result = {
        "benchmark": "serving",
        "date": datetime.date.today().isoformat(),
        "ratio": spread([ours["sentences_per_s"] / direct["sentences_per_s"] for ours, direct in pairs])["median"],
        "ratio_by_processor": spread([direct["processor_ms"] / ours["processor_ms"] for ours, direct in pairs]),
        "model": "demo" if options.model is None else str(bundle.info.model.preset),
        "beam": options.beam,
        "text": text,
        "threads": options.threads,
        "rounds": options.rounds,
        "table": table,
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__, "ctranslate2": metadata.version("ctranslate2")},
    }
    if rival := windows.get(f"LibreTranslate, {CALLERS[-1]}"):
        rates = [a["sentences_per_s"] / b["sentences_per_s"] for a, b in zip(busiest, rival, strict=True)]
        result["against_libretranslate"] = spread(rates)
    return result


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""

    def cell(name: str, found: dict[str, float]) -> str:
        values = [found.get(measure) for measure in MEASURES]
        return f"| {name} | " + " | ".join("" if value is None else f"{value:,.1f}" for value in values) + " |"

    rows = "\n".join(cell(name, found) for name, found in result["table"].items())
    rival = result.get("against_libretranslate")
    notes = f"\n- {CALLERS[-1]} callers, rate against LibreTranslate's: {shown(rival)}" if rival else ""
    return f"""# The service, {result["date"]}

`{command()}`

- model {result["model"]}, int8, beam {result["beam"]}; text: {result["text"]}; {result["rounds"]} windows each
{machine_lines(result["hardware"], result["threads"])}, CTranslate2 {result["hardware"]["ctranslate2"]}

| callers | sentences/s | ms, p50 | ms, p95 | processor ms a sentence | of the callers |
|---|---:|---:|---:|---:|---:|
{rows}

- {CALLERS[-1]} callers against the direct call: rate {result["ratio"]:.2f}, by the service's processor time \
{shown(result["ratio_by_processor"])}{notes}
"""


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
    return port


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a bundle or a run; a small demo model where not given")
    parser.add_argument("--src", type=Path, help="source text, a sentence a line")
    parser.add_argument("--ref", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--lines", type=how_many, default=1000, help="lines of the text to translate")
    parser.add_argument("--beam", type=how_many, default=4)
    parser.add_argument("--threads", type=how_many, default=1)
    parser.add_argument("--rounds", type=how_many, default=3, help="windows of each")
    parser.add_argument("--seconds", type=float, default=10, help="length of a window")
    parser.add_argument("--libretranslate", type=Path, help="the Python of an environment that has LibreTranslate")
    parser.add_argument("--demo-steps", type=how_many, default=200, help="updates of the demo model")
    parser.add_argument("--quick", action="store_true", help="1 window of 2 seconds")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.libretranslate and options.beam != 4:
        parser.error(f"--beam {options.beam}: LibreTranslate always has 4, which is to be compared; leave it out")
    if options.quick:
        options.lines, options.rounds, options.seconds, options.demo_steps = 64, 1, 2.0, 50
    return options


def main() -> None:
    """Measure, show, and write where asked to."""
    options = parsed()
    with tempfile.TemporaryDirectory() as name:
        result = measure(options, Path(name))
    stem = f"serving-{result['date']}-{result['model']}-{options.threads}-threads"
    publish(result, as_markdown(result), folder=options.output, stem=stem)


if __name__ == "__main__":
    run_main(main)
