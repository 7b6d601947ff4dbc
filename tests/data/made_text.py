"""Endless clean pairs of a made-up language and its mirror image, and the store that is prepared from them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from yiwen.data.corpus import CorpusConfig, Targets
from yiwen.data.prepare import DataConfig, Prepared, prepare
from yiwen.data.store import Store
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig

SMALL = TokenizerConfig(kind="bpe", vocab_size=400, character_coverage=1.0)
LETTERS = "etaoinshrdlu"


def pair(n: int) -> tuple[str, str]:
    """The n-th of endlessly many clean pairs."""
    draw = random.Random(n)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 7))) for _ in range(draw.randint(3, 9))]
    return " ".join(words).capitalize() + f" {n}.", " ".join(word[::-1] for word in words).capitalize() + f" {n}!"


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> CorpusConfig:
    for side, code in ((0, "en"), (1, "xx")):
        (folder / f"{name}.{code}").write_bytes("".join(f"{both[side]}\n" for both in pairs).encode())
    return CorpusConfig(src=f"{name}.en", tgt=f"{name}.xx")


def run(
    folder: Path, *corpora: CorpusConfig, tokenizer: TokenizerConfig = SMALL, workers: int | None = None,
    stop: StopFlag | None = None, root: str = "runs", targets: Targets = "text", **settings: object,
) -> Prepared:  # fmt: skip
    settings = {"valid_pairs": 0, "test_pairs": 0} | settings
    data = DataConfig(src_lang="en", tgt_lang="xx", corpora=corpora, **settings)  # type: ignore[arg-type]
    return prepare(data, tokenizer, root=folder / root, base=folder, workers=workers, stop=stop, targets=targets)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def texts(store: Store) -> list[tuple[str, str]]:
    rows = np.arange(len(store))
    return list(zip(store.source.decode(store.src_ids(rows)), store.target.decode(store.tgt_ids(rows)), strict=True))
