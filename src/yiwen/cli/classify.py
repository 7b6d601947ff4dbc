"""`yiwen classify`: a label for each line."""

from __future__ import annotations

from typing import Annotated

import typer

from yiwen.cli.options import Device, DType, Engine, InputFile, Model, OutputFile, Threads


def classify(
    model: Model,
    input_file: InputFile = None,
    output_file: OutputFile = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Label, tab, its probability.")] = False,
    engine: Engine = "auto",
    device: Device = "auto",
    dtype: DType = "auto",
    threads: Threads = 0,
) -> None:
    """Label text line by line: a line in gives a line out."""
    from yiwen.cli.streams import text_streams
    from yiwen.encoder import Encoder

    encoder = Encoder.load(model, engine=engine, device=device, dtype=dtype, threads=threads)
    encoder.require("classify")
    with text_streams(input_file, output_file) as (blocks, output, flags, stop):
        for prediction in (each for block in blocks for each in encoder.classify(block, stop=stop)):
            flags.update(prediction.flags)
            shown = f"{prediction.label}\t{prediction.probability:.4f}" if probabilities else prediction.label
            output.write(f"{shown}\n".encode())
