"""`yiwen tag`: a tag for each word."""

from __future__ import annotations

from yiwen.cli.options import Device, DType, Engine, InputFile, Model, OutputFile, Threads


def tag(
    model: Model,
    input_file: InputFile = None,
    output_file: OutputFile = None,
    engine: Engine = "auto",
    device: Device = "auto",
    dtype: DType = "auto",
    threads: Threads = 0,
) -> None:
    """Tag words line by line: as many tags out as words in.

    Blanks stand between words, and between their tags.
    """
    from yiwen.cli.streams import text_streams
    from yiwen.encoder import Encoder

    encoder = Encoder.load(model, engine=engine, device=device, dtype=dtype, threads=threads)
    encoder.require("tag")
    with text_streams(input_file, output_file) as (blocks, output, flags, stop):
        for block in blocks:
            for tags in encoder.tag([text.split() for text in block], flags=flags, stop=stop):
                output.write(f"{' '.join(tags)}\n".encode())
