"""What a run writes down: metrics.jsonl (the record, no clock in it), timing.jsonl, TensorBoard, the terminal."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from yiwen.errors import CheckpointError, TrainingError
from yiwen.files import write_lines
from yiwen.stop import GO_ON, NEW_RUN

if TYPE_CHECKING:
    import numpy as np

    from yiwen.training import state
    from yiwen.training.validation import Validation


class Record:
    """A JSON-lines file that knows its length, so that resume can cut it back to a checkpoint."""

    def __init__(self, path: Path, *, n_bytes: int) -> None:
        """Open for appending after the first n_bytes; what follows them is cut off.

        Raises:
            CheckpointError: If the file is shorter than the checkpoint says.
        """
        size = path.stat().st_size if path.exists() else 0
        if size < n_bytes:
            raise CheckpointError(f"{path} has {size} bytes, the checkpoint {n_bytes}; restore it, or start a new run")
        self._path, self._file = path, path.open("ab")
        self._file.truncate(n_bytes)
        self._file.seek(0, os.SEEK_END)

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one JSON object; what is no finite number (the norm of a gradient left out) is null there.

        Raises:
            TrainingError: If the file was removed or moved meanwhile: its lock is, too, and another may write there.
        """
        if not (self._path.exists() and os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))):
            raise TrainingError(f"{self._path} was removed or moved during training; {GO_ON} where it is, or {NEW_RUN}")
        self._file.write(json.dumps(_finite(line), ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._file.flush()

    def sync(self) -> int:
        """Force the lines to the disk; returns the length in bytes."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def whole_lines(path: Path) -> int:
    """Bytes of a file up to the end of its last whole line: what a kill cut short is not counted. 0 without a file."""
    return path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0


def bar_with_rate(console: Console) -> Progress:
    """A progress bar with room for a `rate` beside it; on a terminal alone, and gone at the end."""
    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn(), rate)
    return Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal, transient=True)


class TrainingLog:
    """All outputs of one training process, opened and closed together."""

    def __init__(self, run: Path, at: state.Progress, *, max_steps: int, console: Console | None) -> None:
        """Open the outputs of a run that stands where `at` says; a console of None keeps silent."""
        from torch.utils.tensorboard import SummaryWriter

        timing = run / "timing.jsonl"
        self.train_seconds = _seconds_at(timing, at.step)
        """Spent on updates since the run began, all starts together."""
        with ExitStack() as opened:  # where one cannot be opened, those before it are closed
            self.metrics = opened.enter_context(closing(Record(run / "metrics.jsonl", n_bytes=at.metrics_bytes)))
            self._timing = opened.enter_context(closing(Record(timing, n_bytes=whole_lines(timing))))
            self._folder = run / "tensorboard"
            # purge_step hides what a killed start wrote after its last checkpoint.
            self._board = opened.enter_context(closing(SummaryWriter(str(self._folder), purge_step=at.step + 1)))
            self._opened = opened.pop_all()
        self._console = console or Console(quiet=True, stderr=True)
        self._progress = bar_with_rate(self._console)
        self._task = self._progress.add_task("training", total=max_steps, completed=at.step, rate="")
        self._seconds_since, self._tokens_since = 0.0, 0

    def __enter__(self) -> Self:
        self._opened.enter_context(self._progress)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def update(self, step: int, *, seconds: float, n_tokens: int) -> None:
        """Count one update: its wall time and its real target tokens."""
        self.train_seconds += seconds
        self._seconds_since += seconds
        self._tokens_since += n_tokens
        self._progress.update(self._task, completed=step)

    def training(self, line: Mapping[str, Any]) -> None:
        """Write what training did since the last line: into the record, TensorBoard and the progress bar."""
        step = line["step"]
        self.metrics.write(line)
        rate = self._tokens_since / self._seconds_since if self._seconds_since else 0.0
        self._seconds_since, self._tokens_since = 0.0, 0
        self._timing.write({"step": step, "seconds": round(self.train_seconds, 3), "tgt_tokens_per_s": round(rate)})
        for key in ("loss", "perplexity", "learning_rate", "gradient_norm"):
            self._board.add_scalar(f"train/{key}", line[key], step)
        self._board.add_scalar("train/tgt_tokens_per_s", rate, step)
        self._progress.update(self._task, description=f"loss {line['loss']:.3f}", rate=f"{rate:,.0f} tok/s")

    def settings(self, settings: Mapping[str, Any], *, metrics: Sequence[str]) -> None:
        """Show what a run was set to beside the scalars it is judged by, in TensorBoard's table of runs."""
        from torch.utils.tensorboard.summary import hparams

        plain = {name: each if isinstance(each, (int, float, str)) else str(each) for name, each in settings.items()}
        for summary in hparams(plain, dict.fromkeys(metrics, 0)):  # type: ignore[no-untyped-call]
            self._board._get_file_writer().add_summary(summary, 0)  # type: ignore[no-untyped-call]

    def embeddings(self, vectors: np.ndarray[Any, Any], names: Sequence[str]) -> None:
        """Give TensorBoard's projector vectors (N, D) and their names; replaces those of an earlier start."""
        rows = ("\t".join(f"{value:.3f}" for value in row) for row in vectors.tolist())
        write_lines(self._folder / "subwords.tsv", rows)
        write_lines(self._folder / "names.tsv", (" ".join(name.split()) or "·" for name in names))
        config = 'embeddings { tensor_name: "subwords" tensor_path: "subwords.tsv" metadata_path: "names.tsv" }'
        write_lines(self._folder / "projector_config.pbtxt", [config])

    def validation(self, found: Validation, *, step: int, epoch: int) -> None:
        """Write a validation's scores, sample translations and the attention of one."""
        scores = {f"valid_{name}": value for name, value in found.scores.items()}
        line = {"step": step, "epoch": epoch, **scores}
        self.metrics.write(line)
        self._timing.write({"step": step, "seconds": round(self.train_seconds, 3), "validation": line})
        for name, value in found.scores.items():
            self._board.add_scalar(f"valid/{name}", value, step)
        escaped = ([text.replace("|", "\\|") for text in sample] for sample in found.samples)
        rows = "\n".join(f"| {src} | {hypothesis} | {reference} |" for src, hypothesis, reference in escaped)
        self._board.add_text("samples", f"| source | translation | reference |\n|---|---|---|\n{rows}", step)
        if found.picture is not None:
            self._board.add_image("cross-attention", found.picture, step, dataformats="HW")
        if found.drawing:  # four blanks: as it stands, in a fixed width
            self._board.add_text("cross-attention", "\n".join(f"    {row}" for row in found.drawing.split("\n")), step)
        self._board.flush()
        told = "  ".join(f"{name} {value:.4g}" for name, value in scores.items())
        self.say(f"step {step:,}  {told}  ({self.train_seconds / 60:.1f} min)")

    def checkpoint(self, step: int) -> int:
        """Note the time spent up to a checkpoint, and force the record to the disk; returns its length in bytes."""
        self._timing.write({"step": step, "seconds": round(self.train_seconds, 3)})
        return self.metrics.sync()

    def say(self, text: str) -> None:
        """One line for the user."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _seconds_at(timing: Path, step: int) -> float:
    """Training seconds that an earlier start of the run had spent when it reached `step`."""
    seconds = 0.0
    for line in timing.read_bytes().split(b"\n") if timing.exists() else ():
        with suppress(ValueError):  # the end of the file, or a line cut by a kill
            entry = json.loads(line)
            if entry["step"] <= step:
                seconds = entry["seconds"]  # the last counts: earlier ones may be of a start that was killed
    return seconds
