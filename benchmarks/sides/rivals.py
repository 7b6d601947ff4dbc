"""Other toolkits on the text and the shape of `benchmarks/training.py`, each by its own command line.

Nothing of theirs is here: an adapter writes the text, cut into our subwords, and the tool's own configuration, runs its
command and reads the rates from its log. A tool that is not installed is left out and named; one in an environment of
its own is found where PATH names that environment's `bin` (Eole wants an older sentencepiece than yiwen). Rates are
those of the tool's own reports by the clock, so the machine has to be quiet: target tokens without padding, the first
reports left out. Memory is the peak of its process.

    eole          Eole (`pip install eole aiohttp`), in bf16 where the processor has it. Tried with 0.6.4.
    eole-malloc   the same with glibc told by two variables to keep freed memory, as yiwen does by itself. Tried.
    huggingface   Marian of transformers with `Seq2SeqTrainer` (`pip install transformers accelerate`), batches of like
                  length, in bf16 where the processor has it. Tried with transformers 5.23.
    opennmt       OpenNMT-py (`onmt_train`), float32. NOT tried: 3.5.1 does not install beside a current torch.
    fairseq       fairseq (`fairseq-train`), float32. NOT tried: 0.12.2 does not import on Python 3.11 or later.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yiwen.hardware import choose
from yiwen.model.config import PRESETS, ModelConfig

REPORTS = 5
"""Reports of a window: the first two are warm-up."""
WARM_UP = 2
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "8589934592"}
MODULES = {"huggingface": "transformers"}
COMMANDS = {
    "eole": "eole",
    "eole-malloc": "eole",
    "opennmt": "onmt_train",
    "fairseq": "fairseq-train",
}


def missing(name: str) -> str:
    """Why a rival cannot take part; empty where it can."""
    if (command := COMMANDS.get(name)) is not None:
        return "" if shutil.which(command) else f"the command {command} is not installed"
    return "" if importlib.util.find_spec(MODULES[name]) else f"{MODULES[name]} is not installed"


def run(command: Sequence[str], folder: Path, **variables: str) -> str:
    """Run a tool's command; its log, which is shown where it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def onmt_rates(log: str) -> list[tuple[float, float]]:
    """Source and target tokens a second, from each report of Eole or OpenNMT-py."""
    return [(float(src), float(tgt)) for src, tgt in re.findall(r"([\d.]+)/\s*([\d.]+) tok/s", log)]


def fairseq_rates(log: str) -> list[float]:
    """Target tokens a second, from each JSON report of fairseq, which counts no source tokens."""
    return [float(rate) for rate in re.findall(r'"wps": "([\d.]+)"', log)]


def eole(folder: Path, config: ModelConfig, options: argparse.Namespace, **variables: str) -> list[tuple[float, float]]:
    """Eole, configured as its manual says for a Transformer."""
    steps = options.updates * REPORTS
    settings = {
        "src_vocab": "vocab.txt",
        "tgt_vocab": "vocab.txt",
        "share_vocab": True,
        "overwrite": True,
        "report_every": options.updates,
        "data": {"corpus": {"path_src": "train.src", "path_tgt": "train.tgt", "transforms": []}},
        "training": {
            "model_path": "model",
            "world_size": 1,
            "gpu_ranks": [],
            "num_workers": 0,
            "batch_type": "tokens",
            "batch_size": options.batch_tokens,
            "normalization": "tokens",
            "accum_count": [1],
            "train_steps": steps,
            "save_checkpoint_steps": 10 * steps,
            "optim": "adamw",
            "learning_rate": 1e-4,
            "dropout": [config.dropout],
            "attention_dropout": [0.0],
            "label_smoothing": 0.1,
            "compute_dtype": "bf16" if choose().is_bf16 else "fp32",
        },
        "model": {
            "architecture": "transformer",
            "hidden_size": config.d_model,
            "heads": config.n_heads,
            "transformer_ff": config.d_ff,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "encoder": {"layers": config.n_encoder_layers},
            "decoder": {"layers": config.n_decoder_layers},
            "embeddings": {"word_vec_size": config.d_model, "position_encoding_type": "SinusoidalInterleaved"},
        },
    }
    (folder / "eole.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    return onmt_rates(run(["eole", "train", "-config", "eole.yaml"], folder, **variables))


def eole_malloc(folder: Path, config: ModelConfig, options: argparse.Namespace) -> list[tuple[float, float]]:
    """Eole with freed memory kept."""
    return eole(folder, config, options, **KEEP_MEMORY)


def opennmt(folder: Path, config: ModelConfig, options: argparse.Namespace) -> list[tuple[float, float]]:
    """OpenNMT-py."""
    steps = options.updates * REPORTS
    settings = {
        "src_vocab": "vocab.txt",
        "tgt_vocab": "vocab.txt",
        "share_vocab": True,
        "data": {"corpus": {"path_src": "train.src", "path_tgt": "train.tgt"}},
        "save_model": "model",
        "num_workers": 0,
        "batch_type": "tokens",
        "batch_size": options.batch_tokens,
        "normalization": "tokens",
        "train_steps": steps,
        "save_checkpoint_steps": 10 * steps,
        "report_every": options.updates,
        "optim": "adam",
        "learning_rate": 1e-4,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "hidden_size": config.d_model,
        "word_vec_size": config.d_model,
        "heads": config.n_heads,
        "transformer_ff": config.d_ff,
        "enc_layers": config.n_encoder_layers,
        "dec_layers": config.n_decoder_layers,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "dropout": [config.dropout],
        "attention_dropout": [0.0],
        "label_smoothing": 0.1,
    }
    (folder / "onmt.yaml").write_text(json.dumps(settings), encoding="utf-8")
    return onmt_rates(run(["onmt_train", "-config", "onmt.yaml"], folder))


def fairseq(folder: Path, config: ModelConfig, options: argparse.Namespace) -> list[tuple[float, float]]:
    """fairseq."""
    prefix = ["--source-lang", "src", "--target-lang", "tgt", "--trainpref", "train", "--destdir", "binary"]
    run(["fairseq-preprocess", *prefix, "--joined-dictionary"], folder)
    command = ["fairseq-train", "binary", "--cpu", "--arch", "transformer", "--share-all-embeddings"]
    for side, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        command += [f"--{side}-embed-dim", str(config.d_model), f"--{side}-ffn-embed-dim", str(config.d_ff)]
        command += [f"--{side}-layers", str(layers), f"--{side}-attention-heads", str(config.n_heads)]
    command += ["--max-tokens", str(options.batch_tokens), "--dropout", str(config.dropout), "--optimizer", "adam"]
    command += ["--lr", "1e-4", "--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"]
    command += ["--max-update", str(options.updates * REPORTS), "--log-interval", str(options.updates)]
    command += ["--log-format", "json", "--no-save", "--disable-validation"]
    src, tgt = (len((folder / f"train.{side}").read_text(encoding="utf-8").split()) for side in ("src", "tgt"))
    return [(rate * src / tgt, rate) for rate in fairseq_rates(run(command, folder))]


def huggingface(folder: Path, config: ModelConfig, options: argparse.Namespace) -> list[tuple[float, float]]:
    """Marian of transformers with its own trainer."""
    from huggingface import train_rates  # beside this script, as above

    rates: list[tuple[float, float]] = train_rates(
        folder, config, options.updates, REPORTS, batch_tokens=options.batch_tokens
    )
    return rates


ADAPTERS: Mapping[str, Callable[..., list[tuple[float, float]]]] = {
    "eole": eole,
    "eole-malloc": eole_malloc,
    "huggingface": huggingface,
    "opennmt": opennmt,
    "fairseq": fairseq,
}


def window(options: argparse.Namespace) -> dict[str, Any]:
    """Rates of one rival: the median of its reports after the warm-up."""
    from memory import peak_mib  # beside this script; `benchmarks/training.py` imports it as a part of `sides`

    rates = ADAPTERS[options.rival](options.text, ModelConfig(**PRESETS[options.model]), options)[WARM_UP:]
    if not rates:
        raise SystemExit(f"{options.rival} reported no rate after its warm-up; is its log of another version?")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {
        "seconds": 1.0,
        "src_tokens": statistics.median(src for src, _ in rates),
        "tgt_tokens": statistics.median(tgt for _, tgt in rates),
        "peak_mib": children if options.rival in COMMANDS else peak_mib(),
    }


def main() -> None:
    """Print the result of one window as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rival", choices=ADAPTERS)
    parser.add_argument("--text", type=Path, required=True, help="folder with train.src, train.tgt and vocab.txt")
    parser.add_argument("--model", choices=PRESETS, required=True)
    parser.add_argument("--updates", type=int, required=True, help="updates a report")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    print(json.dumps(window(parser.parse_args())))


if __name__ == "__main__":
    main()
