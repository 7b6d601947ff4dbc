"""Raw text in, prepared store out: read, clean, split, learn subwords, tokenise, publish.

    blocks of raw bytes -> (workers) clean text and hashes -> spill file
    all hashes -> duplicates, held-out pairs, overlap -> which rows are for training
    sample of those rows -> subword model
    spill file -> (workers) ids -> shards

The spill file keeps memory flat; of each pair some 30 bytes stay in memory. The store's name is a hash of all inputs
and settings, so that nothing is prepared twice.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yiwen.data.config import DataConfig
from yiwen.data.corpus import corpus_files
from yiwen.data.report import Report
from yiwen.errors import MissingDependencyError, TrainingError
from yiwen.files import is_complete, new_folder, one_writer, write_text
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig

__all__ = ["DataConfig", "Prepared", "prepare"]

REPORT: Final = "report.json"
_ALONE_BYTES: Final = 8 << 20
"""Inputs up to this size are prepared without worker processes, whose start takes longer."""


@dataclass(frozen=True)
class Prepared:
    """A finished store."""

    folder: Path
    """Give it to `Store.open`."""
    report: Report
    """What was read, kept and dropped."""
    reused: bool
    """True where it lay there already."""


def prepare(
    data: DataConfig,
    tokenizer: TokenizerConfig,
    *,
    root: Path,
    base: Path,
    stop: StopFlag | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Prepared:
    """Make the store of the given inputs and settings, or find it made. Its bytes do not depend on `workers`.

    Args:
        data: Corpora and cleaning.
        tokenizer: Subwords.
        root: Folder that holds `.prepared/`.
        base: Folder that relative paths start from.
        stop: Polled between blocks.
        workers: Processes; None chooses by the cores and the size of the input.
        progress: Show a progress bar on stderr, where that is a terminal.

    Raises:
        DataError: If the text is not what it has to be.
        Stopped: If a signal arrived; nothing is left that could be taken for a store.
    """
    started = time.perf_counter()
    try:
        from yiwen.data import pipeline
        from yiwen.data.fingerprint import fingerprint_of
        from yiwen.data.workers import Workers, n_cores
    except ImportError as error:
        raise MissingDependencyError("Preparing data needs pyarrow: pip install 'yiwen[train]'") from error
    stop = stop or StopFlag()
    fingerprint = fingerprint_of(data, tokenizer, base=base)
    folder = root / ".prepared" / fingerprint
    with ExitStack() as stack:
        if not is_complete(folder):
            stack.enter_context(_sole_writer(root / ".prepared" / "locks" / fingerprint, stop))
        reused = is_complete(folder)  # again: another process may have just finished it
        if not reused:
            size = sum(path.stat().st_size for corpus in data.corpora for path in corpus_files(corpus, base=base))
            n_workers = workers or (1 if size <= _ALONE_BYTES else n_cores())
            with new_folder(folder) as temporary, Workers(n_workers, stop) as pool, _progress(progress) as tick:
                job = pipeline.Job(data=data, tokenizer=tokenizer, base=base, folder=temporary, workers=pool, tick=tick)
                write_text(temporary / REPORT, pipeline.run(job, fingerprint).to_json() + "\n")
    report = Report.from_json((folder / REPORT).read_text(encoding="utf-8"))
    return Prepared(folder, dataclasses.replace(report, seconds=time.perf_counter() - started), reused)


@contextmanager
def _sole_writer(lock: Path, stop: StopFlag) -> Iterator[None]:
    """Hold a lock, waiting for whoever holds it now."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(one_writer(lock))
                break
            except TrainingError:
                stop.check("prepare")
                time.sleep(0.1)
        yield


@contextmanager
def _progress(is_wanted: bool) -> Iterator[Callable[[str, int], None]]:
    """Give a function that is told (step, pairs done) and moves a bar, or does nothing."""
    if not is_wanted or not sys.stderr.isatty():
        yield lambda step, pairs: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description} {task.completed:,} pairs")
    with Progress(SpinnerColumn(), text, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        steps = {}

        def tick(step: str, pairs: int) -> None:
            if step not in steps:
                steps[step] = bar.add_task(step, total=None)
            bar.advance(steps[step], pairs)

        yield tick
