"""Raw text in, prepared store out: read, clean, split, learn subwords, tokenise, publish.

    blocks of raw bytes -> (workers) clean text and hashes -> spill file
    all hashes -> duplicates, held-out pairs, overlap -> which rows are for training
    sample of those rows -> subword model
    spill file -> (workers) ids -> shards

The spill file keeps memory flat; of each pair some 30 bytes stay in memory. The store's name is a hash of all inputs
and settings, so that nothing is prepared twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from yiwen.data.config import DataConfig
from yiwen.data.corpus import Targets, corpus_files
from yiwen.data.report import Report
from yiwen.errors import CheckpointError, DataError, TrainingError, needing
from yiwen.files import is_whole, new_folder, one_writer, remove, write_text
from yiwen.once import usable_cores
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig

REPORT: Final = "report.json"
LOCKS: Final = "locks"
"""Folder beside the stores, with one lock for each that is or was being written."""
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
    targets: Targets = "text",
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
        targets: What the second side of a pair is.
        stop: Polled between blocks.
        workers: Processes; None chooses by the cores and the size of the input.
        progress: Show a progress bar on stderr, where that is a terminal.

    Raises:
        DataError: If the text is not what it has to be.
        Stopped: If a signal arrived; nothing is left that could be taken for a store.
    """
    started = time.perf_counter()
    with needing("Preparing data needs pyarrow", extra="train"):
        from yiwen.data.fingerprint import fingerprint_of
        from yiwen.data.store import read_info
    stop = StopFlag() if stop is None else stop  # an unset flag is false
    # All that decides the store.
    hashed = partial(fingerprint_of, data, tokenizer, base=base, targets=targets)
    fingerprint = hashed()
    folder = root / ".prepared" / fingerprint

    def is_ready() -> bool:  # a folder may hold another store, which somebody put there, or one of a newer version
        with suppress(CheckpointError):
            return is_whole(folder) and read_info(folder).fingerprint == fingerprint
        return False

    with ExitStack() as stack:
        if not (reused := is_ready()):
            tick = stack.enter_context(_progress(progress))
            _wait_for(folder.parent / LOCKS / fingerprint, stack, stop, tick)
            reused = is_ready()  # asked again: another process may just have finished it
        if not reused:
            from yiwen.data import intake, pipeline

            _remove_leftovers(folder.parent)
            job_of = partial(intake.Job, data=data, tokenizer=tokenizer, base=base, targets=targets)
            with new_folder(folder) as temporary:
                job = job_of(folder=temporary, n_workers=workers or _n_workers(data, base), stop=stop, tick=tick)
                write_text(temporary / REPORT, pipeline.run(job, fingerprint).to_json() + "\n")
                if hashed() != fingerprint:
                    raise DataError("a text was changed while it was read; run the same command again")
    report = Report.from_json((folder / REPORT).read_text(encoding="utf-8"))
    return Prepared(folder, report if reused else replace(report, seconds=time.perf_counter() - started), reused)


def _n_workers(data: DataConfig, base: Path) -> int:
    """All cores for a large input; none but this process for one that is done before workers have started."""
    size = sum(path.stat().st_size for corpus in data.corpora for path in corpus_files(corpus, base=base))
    return usable_cores() if size > _ALONE_BYTES else 1


def _remove_leftovers(shelf: Path) -> None:
    """Remove what killed processes left of other stores, unless somebody is writing there now."""
    for leftover in shelf.glob(".tmp-*"):
        with suppress(TrainingError), one_writer(shelf / LOCKS / leftover.name.rpartition("-")[2]):
            remove(leftover)


def _wait_for(lock: Path, stack: ExitStack, stop: StopFlag, tick: Callable[[str, int], None]) -> None:
    """Have the stack hold a lock, as soon as whoever holds it now lets go."""
    while True:
        try:
            stack.enter_context(one_writer(lock))
            return
        except TrainingError:
            stop.check("prepare")
            tick("waiting for another process that prepares the same,", 0)
            time.sleep(0.1)


@contextmanager
def _progress(is_wanted: bool) -> Iterator[Callable[[str, int], None]]:
    """Give a function that is told (step, pairs done) and moves a bar, or does nothing."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,} pairs"), TimeElapsedColumn())
    is_hidden = not (is_wanted and sys.stderr.isatty())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=is_hidden) as bar:
        task_of = cache(partial(bar.add_task, total=None))
        yield lambda step, pairs: bar.advance(task_of(step), pairs)
