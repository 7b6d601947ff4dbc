"""The encoder alone: against a bag of words, before and after pre-training, and against Hugging Face's in speed.

    python benchmarks/encoder.py --sets waimai-zh hotel-zh --ways bag random --seeds 1    # a piece of the table
    python benchmarks/encoder.py --translator-zh runs/tatoeba-zh-en --output              # all of it, in pieces
    python benchmarks/encoder.py --part curve --sets hotel-zh                             # by size of the training text
    python benchmarks/encoder.py --part speed                                             # texts a second
    python benchmarks/encoder.py --part retrieval --model runs/embed-tatoeba-en-zh
    python benchmarks/encoder.py --quick                                                  # ends within a minute

Every cell of the table (set, way, seed) is kept in --folder and not computed again: stop it when you like and go on.
Ways: bag (TF-IDF and logistic regression), random (an encoder from random weights), mlm (after masked pre-training on
the texts of all sets of the language and, in Chinese, mono/reviews.zh), translator (the encoder of a translator given
by --translator-en and --translator-zh, fine-tuned). Sets lie in YIWEN_DATA; splits are theirs. `--set` changes the
recipe of the encoders. Minutes are those spent on updates. "together": the mean of the probabilities of all seeds, and
of the bag of words and these, which takes no choice. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import hashlib
import json
import os
import statistics
import tempfile
import time
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import yiwen
from sides.encoders import Array, bag_of_words, labelled, marian_encoder, marian_features
from sides.report import RESULTS, command, machine_lines, publish, run_main
from yiwen import hardware
from yiwen.bundle import open_bundle
from yiwen.config import to_toml
from yiwen.data.demo import write_demo
from yiwen.encoder import Encoder
from yiwen.encoder.measuring import measure_encoder
from yiwen.engines.ct2_encoder import HEAD, CT2Encoder
from yiwen.engines.encoders import EncoderEngine, TorchEncoder
from yiwen.engines.exported import ExportInfo, write_info
from yiwen.errors import ConfigError
from yiwen.evaluation.classification import evaluate_labels
from yiwen.export.ct2_spec import write_encoder
from yiwen.model.config import ModelConfig
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.tasks.heads import EncoderModel

SETS = {"waimai-zh": "zh", "hotel-zh": "zh", "shopping-zh": "zh", "sst2-en": "en", "agnews-en": "en"}
UPDATES = {"waimai-zh": 300, "hotel-zh": 700, "shopping-zh": 700, "sst2-en": 300, "agnews-en": 400}
"""Of 4,096 subwords: each text is read some six times."""
MLM_UPDATES = {"zh": 6000, "en": 3000}
WAYS = ("bag", "random", "mlm", "translator")
MAX_LEN = 512
CURVE = (250, 1000, 4000, 0)
QUICK = ["training.max_steps=20", "training.validate_every=20", "training.checkpoint_every=20"]
GENTLY = {"waimai-zh", "hotel-zh"}
"""Where an encoder from a model learns with FROM_A_MODEL: better by dev on hotel-zh, alike on waimai-zh (mlm)."""
FROM_A_MODEL = ["training.learning_rate=0.001", "encoder.layer_decay=0.8"]


def data_folder() -> Path:
    """Where the sets lie.

    Raises:
        SystemExit: If nobody says it.
    """
    folder = os.environ.get("YIWEN_DATA", "")
    if not Path(folder or "nowhere").is_dir():
        raise SystemExit("set YIWEN_DATA to the folder that holds cls-hotel-zh and the other sets, or use --quick")
    return Path(folder)


def train_encoder(options: argparse.Namespace, name: str, way: str, seed: int, *, n_train: int = 0) -> dict[str, Any]:
    """Train one classifier, score it on the test set."""
    sets, lang = data_folder() / f"cls-{name}", SETS[name]
    run = options.folder / f"{name}-{way}-{seed}-{n_train}"
    train = sets / "train.tsv"
    if n_train:
        train = options.folder / f"{name}-{n_train}.tsv"
        texts, labels = labelled(sets / "train.tsv")
        rows = [f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True)][:n_train]
        train.write_text("".join(rows), encoding="utf-8")
    files = {"corpora": f"[{{{column_settings(train)}}}]"}
    files |= {
        part: f"{{{column_settings(sets / file)}}}" for part, file in (("valid", "dev.tsv"), ("test", "test.tsv"))
    }
    settings = [f"data.{key}={value}" for key, value in files.items()]
    settings += [f"data.src_lang={lang}", f"training.seed={seed}", f"training.max_steps={UPDATES[name]}"]
    if way in ("mlm", "translator") and name in GENTLY:
        settings += FROM_A_MODEL
    if way == "mlm":
        settings += [f"training.init_from={pretrained(options, lang).resolve()}"]
    elif way == "translator":
        model = open_bundle(getattr(options, f"translator_{lang}"))
        shape = [
            f"model.{line}" for line in to_toml(model.info.model).split("\n") if "=" in line and "preset" not in line
        ]
        settings += [*shape, f"training.init_from={model.folder.resolve()}"]
    settings += [*(QUICK if options.quick else ()), *options.set]
    loaded = load_recipe("classify-hotel-zh", settings)
    train_recipe(loaded, run=run, root=options.folder, resume=(run / "recipe.toml").exists())
    os.environ["YIWEN_RUNS"] = str(options.folder)
    (measured,) = measure_encoder(run / "best")
    assert measured.labels is not None
    encoder = Encoder.load(run / "best")
    probabilities = encoder.probabilities(labelled(sets / "test.tsv")[0])
    np.savez(probabilities_of(options, name, way, seed, n_train), labels=encoder.labels, probabilities=probabilities)
    return {"scores": measured.scores, "intervals": measured.labels.intervals, "minutes": minutes_of(run)}


def probabilities_of(options: argparse.Namespace, name: str, way: str, seed: int, n_train: int = 0) -> Path:
    """Where those that a cell gives to the test set are kept."""
    told = {"mlm": options.set_mlm, "translator": [str(options.translator_en), str(options.translator_zh)]}.get(way, [])
    given = [] if way == "bag" else [*options.set, *told]
    hashed = f"-{hashlib.sha256(json.dumps(given).encode()).hexdigest()[:8]}" if given else ""
    path: Path = options.folder / "cells" / f"{name}-{way}-{seed}-{n_train}{hashed}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def column_settings(path: Path) -> str:
    """A corpus of labels and texts in TOML."""
    return f'path = "{path.resolve()}", src_column = "2", tgt_column = "1"'


def pretrained(options: argparse.Namespace, lang: str) -> Path:
    """An mlm of the texts of all sets of a language, trained where it is not there yet."""
    run: Path = options.folder / f"mlm-{lang}"
    corpora = [
        f"{{{column_settings(data_folder() / f'cls-{name}' / 'train.tsv')}}}" for name in SETS if SETS[name] == lang
    ]
    if lang == "zh":
        corpora.append(f'{{src = "{data_folder() / "mono" / "reviews.zh"}"}}')
    settings = [f"data.corpora=[{', '.join(corpora)}]", f"data.src_lang={lang}"]
    settings += [f"training.max_steps={MLM_UPDATES[lang]}", "training.validate_every=1000", *options.set_mlm]
    loaded = load_recipe("mlm-reviews-zh", [*settings, *(QUICK if options.quick else ())])
    train_recipe(loaded, run=run, root=options.folder, resume=(run / "recipe.toml").exists())
    return run


def minutes_of(run: Path) -> float:
    """Training time that a run wrote down."""
    lines = (run / "timing.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return round(float(json.loads(lines[-1])["seconds"]) / 60, 2)


def cell(options: argparse.Namespace, name: str, way: str, seed: int, *, n_train: int = 0) -> dict[str, Any]:
    """One result, from its file where it was computed before."""
    kept = probabilities_of(options, name, way, seed, n_train)
    path = kept.with_suffix(".json")
    if not (path.is_file() and kept.is_file()):
        began = time.perf_counter()
        if way == "bag":
            labels, probabilities = bag_of_words(data_folder() / f"cls-{name}", SETS[name], n_train=n_train)
            np.savez(kept, labels=labels, probabilities=probabilities)
            result = scored(name, labels, probabilities, minutes=(time.perf_counter() - began) / 60)
        else:
            result = train_encoder(options, name, way, seed, n_train=n_train)
        path.write_text(json.dumps({"set": name, "way": way, "seed": seed, "n_train": n_train, **result}), "utf-8")
        print(f"{path.stem}: accuracy {result['scores']['accuracy']:.2f}, {result['minutes']} min", flush=True)
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def scored(name: str, labels: tuple[str, ...], probabilities: Array, *, minutes: float) -> dict[str, Any]:
    """Scores of the likeliest labels on a set's test texts."""
    _, gold = labelled(data_folder() / f"cls-{name}" / "test.tsv")
    predicted = [[labels[i]] for i in probabilities.argmax(axis=1).tolist()]
    names = tuple(sorted({*gold, *labels}))
    found = evaluate_labels([[g] for g in gold], predicted, labels=names, n_bootstrap=1000)
    return {"scores": found.scores, "intervals": found.intervals, "minutes": round(minutes, 2)}


def together(options: argparse.Namespace, name: str, way: str) -> list[dict[str, Any]]:
    """The mean of the seeds' probabilities, and its mean with the bag's, where both were computed."""
    cells = [cell(options, name, way, seed) for seed in options.seeds]
    given = [np.load(probabilities_of(options, name, way, seed)) for seed in options.seeds]
    labels = tuple(given[0]["labels"].tolist())
    mean = np.mean([one["probabilities"] for one in given], axis=0)
    bag = np.load(probabilities_of(options, name, "bag", options.seeds[0]))
    assert tuple(bag["labels"].tolist()) == labels
    minutes = sum(one["minutes"] for one in cells)
    both = {f"{way}, seeds together": mean, f"{way}, seeds and bag together": (mean + bag["probabilities"]) / 2}
    return [
        {"set": name, "way": joined, "seed": 0, "n_train": 0, **scored(name, labels, found, minutes=minutes)}
        for joined, found in both.items()
    ]


def table(options: argparse.Namespace, sizes: tuple[int, ...]) -> dict[str, Any]:
    """All cells asked for; a bag of words has no seed, and what a translator is needed for is left out without one."""
    cells = []
    for name in options.sets:
        for way in options.ways:
            if way == "translator" and getattr(options, f"translator_{SETS[name]}") is None:
                continue
            for seed in options.seeds if way != "bag" else options.seeds[:1]:
                cells += [cell(options, name, way, seed, n_train=size) for size in sizes]
            if way != "bag" and "bag" in options.ways and sizes == (0,):
                cells += together(options, name, way)
    return {"cells": cells}


def table_lines(cells: list[dict[str, Any]]) -> list[str]:
    """A row a set and size, a column a way: mean accuracy over seeds, their range, the first one's interval."""
    lines = [
        "| set | texts | way | accuracy | seeds | 95 % of the first | macro F1 | minutes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((c["set"], c["n_train"], c["way"]) for c in cells)
    for name, n_train, way in keys:
        rows = [c for c in cells if (c["set"], c["n_train"], c["way"]) == (name, n_train, way)]
        scores = [c["scores"]["accuracy"] for c in rows]
        low, high = rows[0]["intervals"]["accuracy"]
        f1, minutes = (
            statistics.mean(values)
            for values in ([c["scores"]["macro_f1"] for c in rows], [c["minutes"] for c in rows])
        )
        spread = f"{len(rows)}" + (f" ({min(scores):.2f} to {max(scores):.2f})" if len(rows) > 1 else "")
        size = f"{n_train:,}" if n_train else "all"
        figures = f"{statistics.mean(scores):.2f} | {spread} | {low:.1f} to {high:.1f} | {f1:.2f} | {minutes:.1f}"
        lines.append(f"| {name} | {size} | {way} | {figures} |")
    return lines


def speed(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Texts a second of our encoder, exported ones and Hugging Face's, all with the same weights, in turns."""
    write_demo(folder, n_train=40_000, n_valid=500, n_test=1_000)
    lines = (options.texts or folder / "train.en").read_text(encoding="utf-8").split("\n")
    subword = open_bundle(options.model).source if options.model else demo_subword(folder)
    ids = subword.encode([line for line in lines if line][: 200 if options.quick else 2000])
    ids = [row[: MAX_LEN - 1] for row in ids]
    shape: dict[str, Any] = {"d_model": 256, "n_heads": 4, "d_ff": 1024, "n_encoder_layers": 3} | dict(options.shape)
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    model = EncoderModel(ModelConfig(max_len=MAX_LEN, **shape), vocab_size=subword.vocab_size, n_labels=0).eval()
    encoders = {"yiwen, torch float32": ours(TorchEncoder(copy.deepcopy(model)), model.body.config, ids)}
    for dtype in ("float32", "int8"):
        place = folder / dtype
        place.mkdir()
        write_encoder(place, model.body, subword=subword, dtype=dtype)
        np.savez(place / HEAD)
        write_info(
            place, ExportInfo(dtype=dtype, max_len=MAX_LEN, yiwen_version="", ctranslate2_version="", weights="")
        )
        n_layers = model.body.config.n_encoder_layers
        engine = CT2Encoder(place, subword=subword, n_layers=n_layers, threads=options.threads, is_new=True)
        encoders[f"yiwen, CTranslate2 {dtype}"] = ours(engine, model.body.config, ids)
    try:
        theirs = marian_encoder(model)
        for name, is_sorted in (("transformers", False), ("transformers, sorted by length", True)):
            encoders[name] = partial(marian_features, theirs, ids, is_sorted=is_sorted)
    except ImportError:
        print("transformers is not installed: only our own rates are measured")
    features = {name: run() for name, run in encoders.items()}  # warm, too
    first = next(iter(features.values()))
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(2 if options.quick else 5):
        for name, run in encoders.items():
            began = clock()
            run()
            rates[name].append(len(ids) / (clock() - began))
    best = {name: round(max(found), 1) for name, found in rates.items()}
    exact = max(rate for name, rate in best.items() if name.startswith("yiwen") and "float32" in name)
    return {
        "ratio": round(exact / best.get("transformers", best["yiwen, torch float32"]), 3),
        "shape": shape,
        "texts": options.texts.name if options.texts else "the demo's English",
        "n_texts": len(ids),
        "mean_subwords": round(sum(map(len, ids)) / len(ids), 1),
        "threads": options.threads,
        "clock": "processor time" if options.threads == 1 else "wall time",
        "texts_per_s": best,
        "largest_difference": {name: float(np.abs(found - first).max()) for name, found in features.items()},
    }


def ours(engine: EncoderEngine, config: ModelConfig, ids: list[list[int]]) -> Callable[[], Any]:
    """Our facade's way from ids to vectors, without cutting texts into them, which the other side is spared, too."""
    encoder = Encoder.__new__(Encoder)
    encoder.engine, encoder.n_layers = engine, config.n_encoder_layers
    info = types.SimpleNamespace(pooling="mean", model=config)
    encoder.bundle = types.SimpleNamespace(info=info)  # type: ignore[assignment]
    return lambda: encoder._pooled([[row] for row in ids], stop=None)


def demo_subword(folder: Path) -> Any:
    """A vocabulary of the demo's English."""
    from yiwen.text.subword import TokenizerConfig, train_subword

    texts = (folder / "train.en").read_text(encoding="utf-8").split("\n")
    return train_subword(lambda: texts, TokenizerConfig(kind="bpe", vocab_size=1000))[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["table", "curve", "speed", "retrieval"], default="table")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--folder", type=Path, default=Path("runs/encoder-benchmark"))
    parser.add_argument("--translator-en", type=Path)
    parser.add_argument("--translator-zh", type=Path)
    parser.add_argument("--model", type=Path, help="retrieval: an embedder; speed: a vocabulary")
    parser.add_argument(
        "--shape", nargs="*", default=[], type=lambda text: (text.split("=")[0], int(text.split("=")[1]))
    )
    parser.add_argument("--texts", type=Path, help="speed: texts, one a line; the demo's where not given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for the classifiers")
    parser.add_argument("--set-mlm", action="append", default=[], help="KEY=VALUE for the pre-training")
    parser.add_argument("--quick", action="store_true", help="the speed alone, of a small model and few texts")
    parser.add_argument("--output", nargs="?", const=RESULTS, type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if options.quick or options.part == "speed":
            result: dict[str, Any] = speed(options, Path(temporary))
            rates, shape = result["texts_per_s"], " ".join(f"{k} {v}" for k, v in result["shape"].items())
            lines = [
                f"{shape}; {result['n_texts']:,} texts ({result['texts']}) of {result['mean_subwords']} subwords; best "
                f"of several rounds in turns, by {result['clock']}",
                "",
            ]
            lines += ["| encoder | texts/s | largest difference |", "|---|---|---|"]
            lines += [
                f"| {name} | {rate:,.0f} | {result['largest_difference'][name]:.1e} |" for name, rate in rates.items()
            ]
        elif options.part == "retrieval":
            if options.model is None:
                raise ConfigError("--part retrieval needs --model, such as runs/embed-zh-en")
            found = measure_encoder(options.model)
            result = {"retrieval": [measured.to_json() for measured in found]}
            lines = [f"- {measured.test_set}: accuracy at 1 {measured.scores['accuracy']:.2f}" for measured in found]
        else:
            options.folder.mkdir(parents=True, exist_ok=True)
            result = table(options, CURVE if options.part == "curve" else (0,))
            lines = table_lines(result["cells"])
    result |= {"benchmark": "encoder", "part": options.part, "date": f"{datetime.date.today():%Y-%m-%d}"}
    result["machine"] = {**hardware.describe(), "yiwen": yiwen.__version__}
    head = [f"# Encoder, {result['date']}", "", f"`{command()}`", "", machine_lines(result["machine"], options.threads)]
    report = "\n".join([*head, "", *lines, ""])
    publish(result, report, folder=options.output, stem=f"encoder-{result['date']}-{options.part}")


if __name__ == "__main__":
    run_main(main)
