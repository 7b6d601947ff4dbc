"""`yiwen embed`: a vector for each line."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import Device, DType, Engine, InputFile, Model, Threads


def embed(
    model: Model,
    input_file: InputFile = None,
    output_file: Annotated[Path | None, typer.Option("--output", help=".npy, .arrow, .jsonl; else to stdout.")] = None,
    layer: Annotated[int, typer.Option(help="Whose states: 0 the embeddings, 1 the first layer, -1 the last.")] = -1,
    pooling: Annotated[str | None, typer.Option(help="mean, max, first or attention; else the model's own.")] = None,
    normalised: Annotated[bool | None, typer.Option(help="Vectors of length 1; if not given: task embed.")] = None,
    engine: Engine = "auto",
    device: Device = "auto",
    dtype: DType = "auto",
    threads: Threads = 0,
) -> None:
    """Turn text into vectors line by line with any encoder.

    A translator has one, too; that of the task embed gives texts that mean the same like vectors.
    """
    from yiwen.cli.streams import text_streams
    from yiwen.encoder import Encoder
    from yiwen.encoder.writers import writer_of

    write = writer_of(output_file)
    encoder = Encoder.load(model, engine=engine, device=device, dtype=dtype, threads=threads)
    if engine == "auto" and layer not in (-1, encoder.n_layers):  # what is exported is the last layer alone
        encoder = Encoder.load(model, engine="torch", device=device, dtype=dtype, threads=threads)
    vectors_of = partial(encoder.features, layer=layer, pooling=pooling, normalised=normalised)
    empty = vectors_of([])  # refused now, not after the first block; says how wide the vectors are where there are none
    with text_streams(input_file, output_file) as (blocks, output, flags, stop):
        write(chain([empty], (vectors_of(block, flags=flags, stop=stop) for block in blocks)), output)
