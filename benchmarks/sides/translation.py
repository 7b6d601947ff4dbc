"""One side, or two in turn, of `benchmarks/translation.py`, in a process of its own.

    window   one engine: rates at full batch and alone, latency, memory, and its translations
    duel     two ways to translate the same text in one process, in turn

A way is `HOW:BEAM:FOLDER`. `whole` is our path from raw text to raw text; `direct` is CTranslate2 called on text that
was cut into subwords beforehand, and its result is left as subwords: what a careful user of CTranslate2 writes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from huggingface import marian
from memory import peak_mib

from yiwen.bundle import Bundle, open_bundle
from yiwen.engines.ct2_rules import exponent
from yiwen.engines.exported import COMPUTE_TYPES, read_info, vocabulary
from yiwen.text.normalise import normalise
from yiwen.translator import Translator

N_WARM_UP = 64
DIRECT_BATCHES: tuple[dict[str, Any], ...] = (
    {"max_batch_size": 16},
    {"max_batch_size": 32},
    {"max_batch_size": 64},
    {"max_batch_size": 2048, "batch_type": "tokens"},
)
"""Batches that the direct call is tried with; the fastest counts. CTranslate2 sorts by length itself."""

Translate = Callable[[Sequence[str]], Sequence[str]]
"""Text to text (or to nothing, where the result stays in subwords)."""


def whole(translator: Translator, beam: int) -> Translate:
    """Our path from raw text to raw text."""
    search = translator.bundle.info.search.changed(beam_size=beam, n_best=1)

    def translate(texts: Sequence[str]) -> list[str]:
        # As `yiwen translate` does: the direct call computes no scores either.
        # Without checks: a second search for odd sentences is no part of what CTranslate2 is compared with.
        found = translator.translate(texts, search=search, with_scores=False, checks=False)
        return [translation.text for translation in found]

    return translate


def direct(folder: Path, beam: int, texts: Sequence[str], *, threads: int) -> Translate:
    """CTranslate2 on text that is cut into subwords already."""
    import ctranslate2

    bundle = open_bundle(folder)
    exported = bundle.folder / "ctranslate2"
    dtype = COMPUTE_TYPES[read_info(exported).dtype]
    engine = ctranslate2.Translator(str(exported), compute_type=dtype, inter_threads=threads, intra_threads=1)
    names = vocabulary(bundle.source)
    ids = bundle.source.encode([normalise(text) for text in texts])
    tokens = {text: [names[i] for i in sentence] for text, sentence in zip(texts, ids, strict=True)}
    search = bundle.info.search
    longest = max(search.max_len(len(sentence)) for sentence in ids)  # as ours: what does not end costs both the same
    use_vmap = (exported / "vmap.txt").is_file()

    def run(texts: Sequence[str], **batches: Any) -> Sequence[str]:
        engine.translate_batch(
            [tokens[text] for text in texts],
            beam_size=beam,
            length_penalty=exponent(search),
            max_decoding_length=longest,
            use_vmap=use_vmap,
            **batches,
        )
        return ()

    run(texts[:N_WARM_UP])
    ways = [partial(run, **batches) for batches in DIRECT_BATCHES]
    return min(ways, key=lambda way: min(seconds(way, texts) for _ in range(2)))


def seconds(translate: Translate, texts: Sequence[str]) -> float:
    """Wall time of translating."""
    began = time.perf_counter()
    translate(texts)
    return time.perf_counter() - began


def window(options: argparse.Namespace) -> dict[str, Any]:
    """Rates, latency and memory of one engine, beam by beam, the smaller first."""
    texts = lines_of(options.src)
    bundle = open_bundle(options.bundle)
    result: dict[str, Any] = {}
    if options.engine == "huggingface":
        ways = {beam: marian(bundle, beam, tokens=options.tokens, threads=options.threads) for beam in options.beams}
    else:
        usual: Any = {"engine": options.engine, "dtype": options.dtype, "threads": options.threads}
        translator = Translator.load(options.bundle, **usual)
        ways = {beam: whole(translator, beam) for beam in options.beams}
    for beam, translate in ways.items():
        translate(texts[:N_WARM_UP])
        began = time.perf_counter()
        found = translate(texts)
        taken = time.perf_counter() - began
        alone = sorted(1e3 * seconds(translate, [text]) for text in texts[: options.latency])
        n_tokens = count_tokens(bundle, found) if found else options.tokens * len(texts)
        result[str(beam)] = {
            "sentences_per_s": len(texts) / taken,
            "tgt_tokens_per_s": n_tokens / taken,
            "alone_sentences_per_s": 1e3 / statistics.mean(alone),
            "alone_tgt_tokens_per_s": 1e3 * n_tokens / len(texts) / statistics.mean(alone),
            "p50_ms": quantile(alone, 0.5),
            "p95_ms": quantile(alone, 0.95),
            "peak_mib": peak_mib(),
            "translations": list(found),
        }
    return result


def duel(options: argparse.Namespace) -> dict[str, Any]:
    """Rates of two ways, in turn; each goes first in every other round."""
    texts = lines_of(options.src)
    ways = []
    for way in (options.a, options.b):
        how, beam, folder = way.split(":", 2)
        if how == "direct":
            ways.append(direct(Path(folder), int(beam), texts, threads=options.threads))
        else:
            translator = Translator.load(folder, engine="ctranslate2", threads=options.threads)
            ways.append(whole(translator, int(beam)))
        ways[-1](texts[:N_WARM_UP])
    rounds: list[dict[str, float]] = []
    for number in range(options.rounds):
        found: dict[str, float] = {}
        for i in (0, 1) if number % 2 == 0 else (1, 0):
            wall, processor = time.perf_counter(), time.process_time()
            ways[i](texts)
            found["ab"[i]] = len(texts) / (time.perf_counter() - wall)
            found["ab"[i] + "_by_processor"] = len(texts) / (time.process_time() - processor)
        rounds.append(found)
    return {"rounds": rounds}


def count_tokens(bundle: Bundle, texts: Sequence[str]) -> int:
    """Subwords of translations, end included."""
    return sum(len(ids) + 1 for ids in bundle.target.encode(list(texts)))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the ordered ones does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def lines_of(path: Path) -> list[str]:
    """Lines of a text."""
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def main() -> None:
    """Print the result as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["window", "duel"])
    parser.add_argument("--src", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--engine", choices=["torch", "ctranslate2", "huggingface"])
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--latency", type=int, default=100, help="sentences that are timed alone")
    parser.add_argument("--tokens", type=int, default=15, help="huggingface: forced length of every translation")
    parser.add_argument("--a", help="HOW:BEAM:FOLDER")
    parser.add_argument("--b", help="HOW:BEAM:FOLDER")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(json.dumps(window(options) if options.what == "window" else duel(options)))


if __name__ == "__main__":
    main()
