"""The two stages of `prepare` that worker processes run on one block each: bytes to clean text, text to ids.

Both are functions of their arguments alone, so the result does not depend on how many workers there are.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from yiwen.data.corpus import Block, Targets, place
from yiwen.data.labels import numbered
from yiwen.data.lines import plain_suffix
from yiwen.data.report import INVALID_UTF_8, Example, Findings, shown
from yiwen.data.split import Keys, keys_of
from yiwen.data.store import mapped
from yiwen.text.chinese import rewritten
from yiwen.text.clean import Check, CleaningConfig, checks, fault_of
from yiwen.text.normalise import normalise
from yiwen.text.protect import protected_pair
from yiwen.text.subword import UNK_ID, Subword

SPILLED: Final = pa.schema({"src": pa.string(), "tgt": pa.string(), "line": pa.uint32()})
"""A clean pair, normalised, and where it stood."""


class Cleaned(NamedTuple):
    """A block after cleaning."""

    corpus: int
    """Index of the corpus that it came from."""
    n_read: int
    """Pairs in the block."""
    batch: Any
    """Arrow record batch of the pairs kept."""
    keys: Keys
    """Their hashes."""
    findings: Findings
    """What was dropped, by reason."""


class CleanTask(NamedTuple):
    """What a worker needs to clean a block."""

    config: CleaningConfig
    src_lang: str
    tgt_lang: str
    targets: Targets = "text"

    @property
    def is_labelled(self) -> bool:
        """Whether a target is a label or tags: it is no text to be judged or compared with."""
        return self.targets in ("label", "tags")


def clean_block(task: CleanTask, corpus: int, paths: tuple[Path, ...], block: Block) -> Cleaned:
    """Decode, normalise and judge every pair of a block of a corpus, which stands in these files."""
    active = _checks(task)
    torn = "unit without both languages" if plain_suffix(paths[0]) == ".tmx" else "malformed row"
    kept: list[tuple[str, str, int]] = []
    findings = Findings()
    for line, (raw_src, raw_tgt) in enumerate(zip(block.src, block.tgt, strict=True), start=block.first):
        reason: str | None = torn  # unless both sides are there
        try:
            if raw_src is not None and raw_tgt is not None:
                src, tgt = normalise(raw_src.decode("utf-8")), normalise(raw_tgt.decode("utf-8"))
                src = rewritten(src, task.src_lang)
                tgt = rewritten(tgt, task.tgt_lang) if task.targets == "read" else tgt
                reason = fault_of(src, src if task.is_labelled else tgt, active) or _label_fault(task, src, tgt)
        except UnicodeDecodeError:
            reason = INVALID_UTF_8
        if reason is None:
            kept.append((src, tgt, line))
        else:
            findings.drop(reason, 1, [Example(where=place(paths, line), src=shown(raw_src), tgt=shown(raw_tgt))])
    src_texts, tgt_texts = [src for src, _, _ in kept], [tgt for _, tgt, _ in kept]
    batch = pa.record_batch([src_texts, tgt_texts, [line for _, _, line in kept]], schema=SPILLED)
    return Cleaned(corpus, len(block.src), batch, keys_of(src_texts, tgt_texts, is_labelled=task.is_labelled), findings)


class Vocabulary(NamedTuple):
    """What sources and targets are made of."""

    source: Path
    """The subword model of the sources."""
    target: Path
    """That of the targets; the same file where the vocabulary is shared."""
    labels: tuple[str, ...] = ()
    """All labels or tags, where those are the targets."""
    placeholders: int = 0
    """Symbols that stand for what both sides say alike."""

    def sizes(self) -> tuple[int, int]:
        """Subwords of the sources; subwords or labels of the targets."""
        return _subword(self.source).vocab_size, len(self.labels) or _subword(self.target).vocab_size


class EncodeTask(NamedTuple):
    """What a worker needs to turn a batch of the spill file into rows of the store."""

    spill: Path
    vocabulary: Vocabulary
    max_tokens: int
    with_text: bool
    targets: Targets = "text"


class Encoded(NamedTuple):
    """A batch after tokenising."""

    batch: Any
    """Arrow record batch of the rows to store."""
    overlong: np.ndarray
    """Places in the spilled batch of the pairs that have too many subwords."""
    n_tokens: tuple[int, int]
    """Ids of the sources and of the targets."""
    n_bytes: tuple[int, int]
    """Byte and unknown pieces among them."""


def encode_batch(task: EncodeTask, index: int, corpus: int, keep: np.ndarray) -> Encoded:
    """Tokenise one spilled batch.

    Args:
        task: Files and limits.
        index: Number of the batch in the spill file.
        corpus: Index of the corpus it came from.
        keep: Which of its pairs are for training, (N,), bool.
    """
    rows = np.flatnonzero(keep)
    # Opened for each batch: a map kept open would keep all pages it has touched.
    batch = mapped(task.spill).get_batch(index).take(pa.array(rows))
    if task.vocabulary.placeholders:
        batch = _with_symbols(batch, task.vocabulary.placeholders)
    src_ids, tgt_ids = _ids(task, batch.column("src").to_pylist(), batch.column("tgt").to_pylist())
    is_src_spelt, is_tgt_spelt = _spelt(task.vocabulary.source), _spelt(task.vocabulary.target)
    columns = {
        "src_ids": pa.array(src_ids, _ids_type(len(is_src_spelt))),
        "tgt_ids": pa.array(tgt_ids, _ids_type(len(is_tgt_spelt))),
        "corpus": pa.array(np.full(len(rows), corpus, np.uint8)),
        "line": batch.column("line"),
    }
    if task.with_text:
        columns |= {"src_text": batch.column("src"), "tgt_text": batch.column("tgt")}
    longest = np.maximum(columns["src_ids"].value_lengths(), columns["tgt_ids"].value_lengths())
    fits = longest + 1 <= task.max_tokens  # + 1 for eos
    stored = pa.record_batch(columns).filter(pa.array(fits))
    src_flat, tgt_flat = (stored.column(name).values.to_numpy() for name in ("src_ids", "tgt_ids"))
    n_tokens = len(src_flat), (0 if task.targets == "none" else len(tgt_flat))
    n_tgt_bytes = is_tgt_spelt[tgt_flat].sum() if task.targets in ("text", "read") else 0
    return Encoded(stored, rows[~fits], n_tokens, (int(is_src_spelt[src_flat].sum()), int(n_tgt_bytes)))


def _ids_type(vocab_size: int) -> Any:
    """Lists of the smallest numbers that hold every id."""
    return pa.list_(pa.uint16() if vocab_size <= 1 << 16 else pa.uint32())


def _with_symbols(batch: Any, n: int) -> Any:
    """The batch with symbols in place of what both sides say alike."""
    texts = (batch.column(name).to_pylist() for name in ("src", "tgt"))
    pairs = [protected_pair(src, tgt, n) for src, tgt in zip(*texts, strict=True)]
    columns = {"src": [src for src, _ in pairs], "tgt": [tgt for _, tgt in pairs], "line": batch.column("line")}
    return pa.record_batch(columns, schema=SPILLED)


@lru_cache(maxsize=2)
def _checks(task: CleanTask) -> tuple[tuple[str, Check], ...]:
    tgt_lang = task.tgt_lang if task.targets in ("text", "read") else task.src_lang
    return checks(task.config, src_lang=task.src_lang, tgt_lang=tgt_lang)


def _label_fault(task: CleanTask, src: str, tgt: str) -> str | None:
    """What is wrong with a label or tags, or None."""
    if task.is_labelled and not tgt:
        return "no label"
    return "words and tags differ in number" if task.targets == "tags" and src.count(" ") != tgt.count(" ") else None


def _ids(task: EncodeTask, src: list[str], tgt: list[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Ids of both sides; of labels their numbers."""
    source = _subword(task.vocabulary.source)
    if task.targets in ("label", "tags"):
        return numbered(source, src, tgt, labels=task.vocabulary.labels, targets=task.targets)
    src_ids = source.encode(src)
    if task.targets == "none":
        return src_ids, src_ids  # as many positions to learn from as there are subwords
    return src_ids, _subword(task.vocabulary.target).encode(tgt)


@lru_cache(maxsize=2)
def _subword(path: Path) -> Subword:
    return Subword.load(path)


@lru_cache(maxsize=2)
def _spelt(path: Path) -> np.ndarray:
    """True for pieces that spell a character in bytes, and for unk, (V,)."""
    spelt = _subword(path).is_byte()
    spelt[UNK_ID] = True
    return spelt
