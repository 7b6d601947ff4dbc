"""How fast `prepare` is: tokenising alone, and the whole of it, on generated English-Chinese pairs.

    python benchmarks/prepare.py                       # a million pairs, a ready tokeniser
    python benchmarks/prepare.py --quick               # 100,000 pairs
    python benchmarks/prepare.py --pairs 10000000      # memory: must stay below 2 GiB

The pairs are drawn from a Zipfian lexicon with a fixed seed: 12 words a sentence, one pair in a hundred broken or
repeated. Everything happens in a temporary folder. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from sides.report import how_many, run_main
from yiwen.data import pipeline
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.data.intake import Job
from yiwen.data.prepare import prepare
from yiwen.data.report import Findings, Report
from yiwen.data.store import Store
from yiwen.data.workers import Workers
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig

WANTED_TOKENISING = 50_000
WANTED_WHOLE = 15_000
WANTED_MIB = 2048


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=how_many, default=1_000_000)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="100,000 pairs")
    parser.add_argument("--folder", type=Path, default=None, help="where the temporary folder is made")
    options = parser.parse_args()
    n_pairs = 100_000 if options.quick else options.pairs
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        result = measure(Path(name), n_pairs, options.workers)
    print(json.dumps(result))


def measure(folder: Path, n_pairs: int, workers: int | None) -> dict[str, object]:
    """Run the three measurements in a folder of their own."""
    generate(folder, n_pairs)
    corpus = CorpusConfig(src=str(folder / "train.en"), tgt=str(folder / "train.zh"))
    data = DataConfig(src_lang="en", tgt_lang="zh", corpora=(corpus,))
    model = ready_model(folder)
    with Peak() as peak:
        report = prepare(data, TokenizerConfig(model=str(model)), root=folder, base=folder, workers=workers)
    tokenising = tokenising_rate(folder, data, model, workers or os.cpu_count() or 1)
    show(report.report, tokenising, peak.mib)
    Store.open(report.folder)
    return {
        "benchmark": "prepare",
        "pairs": n_pairs,
        "workers": workers or os.cpu_count(),
        "prepare_seconds": round(report.report.seconds, 2),
        "prepare_pairs_per_second": round(report.report.pairs_per_second),
        "prepare_ratio_to_wanted": round(report.report.pairs_per_second / WANTED_WHOLE, 2),
        "tokenising_pairs_per_second": round(tokenising),
        "tokenising_ratio_to_wanted": round(tokenising / WANTED_TOKENISING, 2),
        "peak_mib": round(peak.mib),
        "kept": report.report.kept,
        "dropped": {item.reason: item.count for item in report.report.dropped},
    }


def generate(folder: Path, n_pairs: int) -> None:
    """Write train.en and train.zh: word for word translations of random sentences."""
    random = np.random.default_rng(1)
    letters = np.array(list("eeeeetttaaaoooiiinnnssshhhrrrdddlllcuumwfgypbvk"))
    english = ["".join(random.choice(letters, random.integers(2, 9))) for _ in range(30_000)]
    chinese = ["".join(map(chr, random.integers(0x4E00, 0x5A00, random.integers(1, 3)))) for _ in range(30_000)]
    with (folder / "train.en").open("w", newline="\n") as src, (folder / "train.zh").open("w", newline="\n") as tgt:
        for start in range(0, n_pairs, 50_000):
            n = min(50_000, n_pairs - start)
            lengths = random.integers(4, 21, n)
            words = np.minimum(random.zipf(1.3, int(lengths.sum())), 1 << 40) % len(english)
            sentences = np.split(words, np.cumsum(lengths)[:-1])
            for row, sentence in enumerate(map(np.ndarray.tolist, sentences)):
                src.write(" ".join([english[word] for word in sentence]).capitalize() + ".\n")
                broken = row % 100 == 7
                tgt.write("<b>???</b>\n" if broken else "".join([chinese[word] for word in sentence]) + "。\n")


def ready_model(folder: Path) -> Path:
    """A tokeniser learnt from the first 20,000 pairs by `prepare` itself."""
    for side in ("en", "zh"):
        with (folder / f"train.{side}").open("rb") as whole, (folder / f"head.{side}").open("wb") as head:
            head.writelines(line for line, _ in zip(whole, range(20_000), strict=False))
    corpus = CorpusConfig(src=str(folder / "head.en"), tgt=str(folder / "head.zh"))
    data = DataConfig(src_lang="en", tgt_lang="zh", corpora=(corpus,), valid_pairs=0, test_pairs=0)
    return prepare(data, TokenizerConfig(vocab_size=16_000), root=folder, base=folder).folder / "shared.spm"


def tokenising_rate(folder: Path, data: DataConfig, model: Path, n_workers: int) -> float:
    """Pairs a second of the second stage alone: text to ids to shards, transport between processes included."""
    job = Job(
        data=data,
        tokenizer=TokenizerConfig(model=str(model)),
        base=folder,
        folder=folder,
        n_workers=n_workers,
        stop=StopFlag(),
        tick=lambda step, pairs: None,
    )
    with Workers(n_workers, job.stop) as workers:
        findings = Findings()
        intake, keys = pipeline.clean(job, workers, findings)
        split = pipeline.divide(intake, keys, {}, findings)
        vocabulary = pipeline.learn(intake, split, findings)
        started = time.perf_counter()
        pipeline.encode(intake, split, vocabulary, workers, findings)
        return int(split.train.sum()) / (time.perf_counter() - started)


class Peak:
    """Greatest proportional memory of this process and its children while a block runs, sampled."""

    def __enter__(self) -> Peak:
        self.mib = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            total = 0
            me = psutil.Process()
            for process in (me, *me.children(recursive=True)):
                try:
                    memory = process.memory_full_info()
                except psutil.Error:
                    continue
                total += getattr(memory, "pss", memory.rss)
            self.mib = max(self.mib, total / 2**20)


def show(report: Report, tokenising: float, mib: float) -> None:
    """Print the figures beside what is wanted."""
    whole = report.pairs_per_second
    print(f"whole of prepare {whole:10,.0f} pairs/s, {whole / WANTED_WHOLE:5.1f} x wanted")
    print(f"tokenising       {tokenising:10,.0f} pairs/s, {tokenising / WANTED_TOKENISING:5.1f} x wanted")
    print(f"peak memory      {mib:10,.0f} MiB, at most {WANTED_MIB} wanted")


if __name__ == "__main__":
    run_main(main)
