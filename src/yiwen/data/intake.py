"""What `prepare` is given, what it has read, and where the text of a row is found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from yiwen.data.config import DataConfig
from yiwen.data.corpus import Block, CorpusConfig, Targets, corpus_files, place, read_blocks
from yiwen.data.report import Example, shown
from yiwen.data.stages import CleanTask
from yiwen.data.store import TextPairs, mapped
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one run of `prepare` is given."""

    data: DataConfig
    tokenizer: TokenizerConfig
    base: Path
    """Folder that relative paths start from."""
    folder: Path
    """Where the store is written."""
    n_workers: int
    """Worker processes; 1 = none but this one."""
    stop: StopFlag
    tick: Callable[[str, int], None]
    """Told (step, pairs done since) for a progress bar."""
    targets: Targets = "text"
    """What the second side of a pair is."""

    @property
    def spill(self) -> Path:
        """Clean text on its way from one stage to the next."""
        return self.folder / "spill.arrow"

    @cached_property
    def paths(self) -> list[tuple[Path, ...]]:
        """Files of each corpus."""
        return [corpus_files(corpus, base=self.base) for corpus in self.data.corpora]

    @property
    def cleaning(self) -> CleanTask:
        """What a block is judged by."""
        return CleanTask(self.data.cleaning, self.data.src_lang, self.data.tgt_lang, self.targets)

    def blocks(self, corpus: CorpusConfig) -> Iterator[Block]:
        """The blocks of a corpus; text without a target is its own."""
        tgt_lang = self.data.tgt_lang
        if self.targets == "none":
            corpus, tgt_lang = replace(corpus, tgt="", tgt_column=corpus.src_column), self.data.src_lang
        return read_blocks(corpus, base=self.base, src_lang=self.data.src_lang, tgt_lang=tgt_lang)

    @property
    def names(self) -> list[str]:
        """What each corpus is called in the report: its first file, with the folder where two would be called alike."""
        names = [file.name for file, *_ in self.paths]
        return names if len({*names}) == len(names) else [f"{file.parent.name}/{file.name}" for file, *_ in self.paths]


@dataclass(frozen=True)
class Split:
    """What becomes of each row of the intake."""

    train: np.ndarray
    """True for rows to train on, (N,)."""
    valid: np.ndarray
    """Row numbers split off for validation."""
    test: np.ndarray
    """Row numbers split off for the test."""


@dataclass(frozen=True)
class Intake:
    """All pairs that passed the checks of a single pair, in the order of the corpora; their text is in the spill file.

    Rows that are asked for are sorted.
    """

    job: Job
    batch_corpus: np.ndarray
    """Index of the corpus of each batch of the spill file, (batches,)."""
    starts: np.ndarray
    """First row of each batch, then the number of rows, (batches + 1,)."""
    n_read: list[int]
    """Pairs read of each corpus."""

    def texts(self, rows: np.ndarray, *columns: str) -> Iterator[Any]:
        """What the spill file holds of rows in its columns, one batch at a time.

        Raises:
            Stopped: If a signal arrived.
        """
        reader = mapped(self.job.spill)
        for index, (first, last) in enumerate(pairwise(np.searchsorted(rows, self.starts))):
            if first == last:
                continue
            batch = reader.get_batch(index).take(rows[first:last] - self.starts[index])
            for name in columns:
                for text in batch.column(name).to_pylist():
                    self.job.stop.check("prepare")
                    yield text

    def row_corpus(self) -> np.ndarray:
        """Index of the corpus of each row, (N,)."""
        return np.repeat(self.batch_corpus, np.diff(self.starts))

    def pairs(self, rows: np.ndarray) -> TextPairs:
        """Both sides of rows."""
        return TextPairs(list(self.texts(rows, "src")), list(self.texts(rows, "tgt")))

    def places(self, rows: np.ndarray) -> list[str]:
        """Where rows stand in their files."""
        found = zip(self.row_corpus()[rows].tolist(), self.texts(rows, "line"), strict=True)
        return [place(self.job.paths[corpus], line) for corpus, line in found]

    def examples(self, rows: np.ndarray) -> list[Example]:
        """Rows as they are shown in the report."""
        found = zip(self.places(rows), *self.pairs(rows), strict=True)
        return [Example(where=where, src=shown(src.encode()), tgt=shown(tgt.encode())) for where, src, tgt in found]
