"""Out of memory on an accelerator: cut the update down, go on, and remember what was done so that resume repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import torch

from yiwen.data.batching import Lengths, Rows, Update
from yiwen.errors import CheckpointError, TrainingError
from yiwen.training.log import Record, whole_lines
from yiwen.training.step import Gradients


def read_plans(path: Path) -> dict[int, Update]:
    """The updates of a run that were cut down, by step: rows of each micro-batch that fitted into memory.

    Raises:
        CheckpointError: If `memory.jsonl` is not what `note_plan` writes.
    """
    # A line that was cut by a kill never took effect.
    whole = path.read_bytes()[: whole_lines(path)] if path.exists() else b""
    try:
        entries = [json.loads(line) for line in whole.split(b"\n") if line]
        return {int(e["step"]): [np.asarray(rows, dtype=np.int64) for rows in e["plan"]] for e in entries}
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path} cannot be read ({error!r}); restore it, or start a new run") from error


def note_plan(path: Path, step: int, plan: Update, left_out: list[int]) -> None:
    """Write down the plan of a step and the rows that it leaves out.

    At once, not at the next checkpoint: after a kill the same step must be computed from the same micro-batches,
    whether or not memory is short again.
    """
    with closing(Record(path, n_bytes=whole_lines(path))) as record:
        record.write({"step": step, "plan": [rows.tolist() for rows in plan], "left_out": left_out})
        record.sync()


def fit_in_memory(
    plan: Update, lengths: Lengths, compute: Callable[[Update], Gradients]
) -> tuple[Gradients, Update, list[int]]:
    """Run `compute`, cutting down what the device has no memory for.

    A micro-batch that does not fit is cut in two once; a half that does not fit loses its longest row, again and
    again. Every try starts the whole update anew, since a failed backward pass leaves half a gradient behind.

    Args:
        plan: Rows of each micro-batch.
        lengths: To know the longest row.
        compute: Computes gradients of a plan; raises torch.OutOfMemoryError.

    Returns:
        The gradients, the plan they belong to, and the rows left out.

    Raises:
        TrainingError: If not even a single pair fits.
    """
    is_whole = [True] * len(plan)
    left_out: list[int] = []
    while True:
        with suppress(torch.OutOfMemoryError):
            return compute(plan), plan, left_out
        torch.cuda.empty_cache()  # only now: the error held on to the tensors of the failed try
        worst = max(range(len(plan)), key=lambda i: _cost(plan[i], lengths))
        rows = plan[worst]
        if is_whole[worst] and len(rows) > 1:
            smaller = [rows[::2], rows[1::2]]
        else:
            longest = int((lengths.src[rows] + lengths.tgt[rows]).argmax())
            left_out.append(int(rows[longest]))
            smaller = [np.delete(rows, longest)] if len(rows) > 1 else []
        plan = [*plan[:worst], *smaller, *plan[worst + 1 :]]
        is_whole[worst : worst + 1] = [False] * len(smaller)
        if not plan:
            remedy = "use a smaller model, or free the memory that other programs hold"
            raise TrainingError(f"out of memory: of the {len(left_out)} pairs of an update not even one fits; {remedy}")


def _cost(rows: Rows, lengths: Lengths) -> int:
    """Padded positions of a micro-batch."""
    return len(rows) * int((lengths.src[rows] + 1).max() + (lengths.tgt[rows] + 1).max())
