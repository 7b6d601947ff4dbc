"""How fast translation is: engines side by side, and our whole path against CTranslate2 called directly.

    python benchmarks/translation.py --model runs/multi30k-en-de --student runs/multi30k-en-de-student --output
    python benchmarks/translation.py --quick    # ends within a minute: a model trained for seconds, no scores

Each engine gets `--rounds` windows, in turn, each in a fresh process: all texts at once, then some alone, beam 1 and 5.
Memory is the peak of such a process. What is compared by a ratio runs in one process, in turn: our path from raw text
to raw text against CTranslate2 on text that was cut into subwords beforehand (its fastest of four batch sizes), and the
student against its teacher. Start-up is from the start of `yiwen translate` to its first line of output.

The model is exported into a temporary folder in each number type. The text is Multi30k test_2016_flickr for English to
German where YIWEN_DATA is set; for another model give --src and --ref. Without --model a small model learns the
generated demo corpus for some seconds: its scores would mean nothing and are left out. Where transformers is installed,
its Marian model of the same shape takes part with random weights and forced lengths.

`benchmarks/sides/translation.py` holds what runs in the processes. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import yiwen
from sides.materials import Row, Text, demo_model, lines_of, rows_of, test_text
from sides.report import RESULTS, command, how_many, in_fresh_process, machine_lines, publish, run_main, shown, spread
from yiwen import hardware
from yiwen.bundle import Bundle, find_bundle, open_bundle
from yiwen.evaluation.metrics import quick_score

COMMAND = (sys.executable, "-m", "yiwen")
BEAMS = (1, 5)
MEASURES = (
    "sentences_per_s",
    "tgt_tokens_per_s",
    "p50_ms",
    "p95_ms",
    "alone_sentences_per_s",
    "alone_tgt_tokens_per_s",
)
HEADER = """| | beam | sentences/s | target tokens/s | alone: ms, p50 | ms, p95 | target tokens/s | peak MiB | BLEU |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All windows and duels."""
    model = options.model or demo_model(folder, steps=options.demo_steps)
    bundle = open_bundle(find_bundle(model))
    student = open_bundle(find_bundle(options.student)) if options.student else None
    text = test_text(options, bundle, folder)
    rows, skipped = rows_of(bundle, student, folder)
    common = ["--src", str(text.src), "--threads", str(options.threads)]
    windows: dict[str, list[dict[str, Any]]] = {row.name: [] for row in rows}
    n_tokens = 15
    for number in range(options.rounds):
        for row in sorted(rows, key=lambda row: row.engine == "huggingface"):  # it is told how long ours are
            arguments = ["window", "--engine", row.engine, "--bundle", str(row.folder), "--dtype", row.dtype, *common]
            arguments += ["--latency", str(options.latency), "--tokens", str(n_tokens)]
            found = in_fresh_process("translation.py", arguments, threads=options.threads)
            windows[row.name].append(found)
            rates = ", ".join(f"{found[str(beam)]['sentences_per_s']:,.0f}" for beam in BEAMS)
            print(f"round {number + 1} {row.name}: {rates} sentences/s at beam 1 and 5", flush=True)
            beam_5 = found[str(BEAMS[-1])]
            n_tokens = max(1, round(beam_5["tgt_tokens_per_s"] / beam_5["sentences_per_s"]) - 1)
    table = [entry for row in rows for entry in summary(row, windows[row.name], text, bundle.info.tgt_lang)]
    duels = all_duels(folder, student is not None, options, common)
    return {
        "benchmark": "translation",
        "date": datetime.date.today().isoformat(),
        "ratio": duels["whole path / direct, beam 5"]["rate"]["median"],
        "model": f"{'demo' if options.model is None else run_name(bundle)}: {shape(bundle)}",
        "student": shape(student) if student else None,
        "text": text.name,
        "lines": len(lines_of(text.src)),
        "lines_alone": options.latency,
        "threads": options.threads,
        "rounds": options.rounds,
        "table": table,
        "ratios": duels,
        "student_bleu_difference": bleu_difference(table),
        "start_up_s": start_up(folder / "int8", lines_of(text.src)[0], options),
        "skipped": skipped,
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__, "ctranslate2": metadata.version("ctranslate2")},
    }


def run_name(bundle: Bundle) -> str:
    """The run that a bundle belongs to, or its own name."""
    folder = bundle.folder.absolute()
    return folder.parent.name if folder.name in ("best", "final") else folder.name


def shape(bundle: Bundle) -> str:
    """The size of a model, in words."""
    config, info = bundle.info.model, bundle.info
    layers = f"{config.n_encoder_layers}+{config.n_decoder_layers} layers"
    return f"d_model {config.d_model}, d_ff {config.d_ff}, {layers}, {info.tgt_vocab_size:,} target subwords"


def summary(row: Row, windows: list[dict[str, Any]], text: Text, tgt_lang: str) -> list[dict[str, Any]]:
    """A line of the table for each beam: medians over the windows."""
    entries = []
    for beam in map(str, BEAMS):
        found = {name: round(statistics.median(w[beam][name] for w in windows), 2) for name in MEASURES}
        hypotheses = windows[0][beam]["translations"]
        is_scored = text.ref is not None and hypotheses
        bleu = quick_score(hypotheses, text.ref, tgt_lang=tgt_lang, metric="bleu") if is_scored and text.ref else None
        entry: dict[str, Any] = {"engine": row.name, "beam": int(beam), **found}
        entry["rate_spread"] = spread([w[beam]["sentences_per_s"] for w in windows], 1)
        entry |= {"peak_mib": round(max(w[beam]["peak_mib"] for w in windows))}
        entries.append({**entry, "bleu": None if bleu is None else round(bleu, 2)})
    return entries


def all_duels(folder: Path, has_student: bool, options: argparse.Namespace, common: list[str]) -> dict[str, Any]:
    """Ratios of rates, of ways that take turns in one process."""
    teacher = {beam: f"whole:{beam}:{folder / 'int8'}" for beam in BEAMS}
    pairs = {f"whole path / direct, beam {x}": (teacher[x], f"direct:{x}:{folder / 'int8'}") for x in BEAMS}
    if has_student:
        student = {beam: f"whole:{beam}:{folder / 'student'}" for beam in BEAMS}
        pairs["student, beam 1 / teacher, beam 5"] = (student[1], teacher[5])
        pairs |= {f"student / teacher, beam {x}": (student[x], teacher[x]) for x in BEAMS}
    ratios = {}
    for name, (a, b) in pairs.items():
        arguments = ["duel", "--a", a, "--b", b, "--rounds", str(options.duel_rounds), *common]
        rounds = in_fresh_process("translation.py", arguments, threads=options.threads)["rounds"]
        rate = spread([found["a"] / found["b"] for found in rounds])
        processor = spread([found["a_by_processor"] / found["b_by_processor"] for found in rounds])
        ratios[name] = {"rate": rate, "by_processor_time": processor, "rounds": len(rounds)}
        print(f"{name}: {shown(rate)}", flush=True)
    return ratios


def bleu_difference(table: list[dict[str, Any]]) -> float | None:
    """BLEU of the student at beam 1 less that of its teacher in int8 at beam 5."""
    scores = {(entry["engine"], entry["beam"]): entry["bleu"] for entry in table}
    student, teacher = scores.get(("student, CTranslate2 int8", 1)), scores[("CTranslate2 int8", 5)]
    return None if student is None or teacher is None else round(student - teacher, 2)


def start_up(bundle: Path, line: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Seconds from the start of `yiwen translate` to its first line of output, by engine."""
    times: dict[str, list[float]] = {"ctranslate2": [], "torch": []}
    for _ in range(options.starts):
        for engine, found in times.items():
            command = [*COMMAND, "translate", str(bundle), "--engine", engine]
            began = time.perf_counter()
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(f"{line}\n".encode())
                process.stdin.close()
                is_translated = bool(process.stdout.readline().strip())
                found.append(time.perf_counter() - began)
            if not is_translated:
                raise SystemExit(f"{' '.join(command)} translated nothing")
    return {engine: spread(found) for engine, found in times.items()}


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""

    def cell(entry: dict[str, Any]) -> str:
        bleu = "" if entry["bleu"] is None else f"{entry['bleu']:.2f}"
        return (
            f"| {entry['engine']} | {entry['beam']} | {entry['sentences_per_s']:,.0f} | "
            f"{entry['tgt_tokens_per_s']:,.0f} | {entry['p50_ms']:.1f} | {entry['p95_ms']:.1f} | "
            f"{entry['alone_tgt_tokens_per_s']:,.0f} | {entry['peak_mib']:,} | {bleu} |"
        )

    table = "\n".join(cell(entry) for entry in result["table"])
    ratios = "\n".join(
        f"| {name} | {shown(found['rate'])} | {shown(found['by_processor_time'])} |"
        for name, found in result["ratios"].items()
    )
    starts = "\n".join(f"- `--engine {name}`: {shown(found)} s" for name, found in result["start_up_s"].items())
    difference = result["student_bleu_difference"]
    notes = [f"- not measured: {reason}" for reason in result["skipped"]]
    if difference is not None:
        notes.append(f"- BLEU of the student at beam 1 less the teacher's (int8) at beam 5: {difference:+.2f}")
    if all(entry["bleu"] is None for entry in result["table"]):
        notes.append("- no BLEU: the model has learnt the demo for seconds only")
    if any("Hugging Face" in entry["engine"] for entry in result["table"]):
        notes.append("- Hugging Face: random weights of the same shape, all translations forced to our mean length")
    return f"""# Translation speed, {result["date"]}

`{command()}`

- model {result["model"]}{f"; student {result['student']}" if result["student"] else ""}
- text: {result["text"]}, {result["lines"]:,} lines; {result["lines_alone"]} of them alone; {result["rounds"]} windows \
an engine
{machine_lines(result["hardware"], result["threads"])}, CTranslate2 {result["hardware"]["ctranslate2"]}

{HEADER}
{table}

Ratios of sentences/s, in turn in one process: median (least to greatest).

| | ratio | by processor time |
|---|---|---|
{ratios}

Seconds from the start of `yiwen translate` to its first line:

{starts}

{chr(10).join(notes)}
"""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a bundle or a run; a small demo model where not given")
    parser.add_argument("--student", type=Path, help="a student of it, a bundle or a run")
    parser.add_argument("--src", type=Path, help="source text, a sentence a line")
    parser.add_argument("--ref", type=Path, help="its references; without them there is no BLEU")
    parser.add_argument("--lines", type=how_many, default=1000, help="lines of the text to translate")
    parser.add_argument("--latency", type=how_many, default=200, help="lines of it to translate alone")
    parser.add_argument("--threads", type=how_many, default=1)
    parser.add_argument("--rounds", type=how_many, default=3, help="windows an engine")
    parser.add_argument("--duel-rounds", type=how_many, default=11, help="rounds of each ratio")
    parser.add_argument("--starts", type=how_many, default=7, help="starts of the command an engine")
    parser.add_argument("--demo-steps", type=how_many, default=200, help="updates of the demo model")
    parser.add_argument("--quick", action="store_true", help="1 window of 64 lines, 3 rounds a ratio")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    options = parser.parse_args()
    if options.quick:
        options.lines, options.latency, options.rounds, options.duel_rounds = 64, 5, 1, 3
        options.starts, options.demo_steps = 1, 50
    return options


def main() -> None:
    """Measure, show, and write where asked to."""
    options = parsed()
    with tempfile.TemporaryDirectory() as name:
        result = measure(options, Path(name))
    model = "demo" if options.model is None else result["model"].partition(":")[0]
    stem = f"translation-{result['date']}-{model}-{options.threads}-threads"
    publish(result, as_markdown(result), folder=options.output, stem=stem)


if __name__ == "__main__":
    run_main(main)
