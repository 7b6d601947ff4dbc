"""`yiwen score`: how likely a model finds given translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import Device, DType, Engine, Model, Threads


def score(
    model: Model,
    src: Annotated[Path, typer.Argument(metavar="SRC", help="Source text, a sentence a line.")],
    tgt: Annotated[Path, typer.Argument(metavar="TGT", help="Its translation, line for line.")],
    engine: Engine = "auto",
    device: Device = "auto",
    dtype: DType = "auto",
    threads: Threads = 0,
) -> None:
    """Print how likely TGT translates SRC, line by line.

    A line of output is the log-probability a subword of a line of TGT, given that of SRC.
    Use it to rank or filter parallel text: the higher, the likelier. A pair too long for the
    model gets `nan`; such are counted and named at the end, and the exit code is 3.
    """
    from yiwen.cli.streams import counted, input_lines, line_pairs, tell_note
    from yiwen.errors import DataError, listed
    from yiwen.stop import stop_on_signals
    from yiwen.translator import Translator

    skipped: list[int] = []
    translator = Translator.load(model, engine=engine, device=device, dtype=dtype, threads=threads)
    tell_note(translator.note)
    with stop_on_signals() as stop, input_lines(src, stop=stop) as src_lines, input_lines(tgt, stop=stop) as tgt_lines:
        pairs = line_pairs(src_lines, tgt_lines, names=(src, tgt))
        for n_lines, result in enumerate(counted(translator.score_pairs(pairs, skipped=skipped, stop=stop)), 1):  # noqa: B007
            print(f"{result.per_token:.6f}")
    if skipped:
        why = f"a side has more subwords than the {translator.bundle.room} that the model has positions for"
        raise DataError(f"{len(skipped)} of {n_lines} lines score nan: {why}; shorten or drop lines {listed(skipped)}")
