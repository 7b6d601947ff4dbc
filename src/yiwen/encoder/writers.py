"""Vectors into files, block by block: NumPy's .npy, Arrow, or a JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from yiwen.errors import ConfigError, needing

Write = Callable[[Iterable[np.ndarray], BinaryIO], None]
"""Of one block or more: the first says how wide vectors are, and may be empty."""


def writer_of(path: Path | None) -> Write:
    """How vectors are written: to a file by its suffix, to stdout (None or `-`) as lines of JSON.

    Raises:
        ConfigError: If the suffix is none of them.
    """
    suffix = ".jsonl" if path is None or str(path) == "-" else path.suffix.lower()
    if suffix not in WRITERS:
        raise ConfigError(f"--output {path} has none of the suffixes {', '.join(WRITERS)}; rename it")
    return WRITERS[suffix]


def _write_npy(blocks: Iterable[np.ndarray], file: BinaryIO) -> None:
    """The number of rows stands at the beginning and is known at the end: the header is written twice, as long."""
    if not file.seekable():
        raise ConfigError("a pipe cannot be written as .npy, whose beginning says how long it is; use .jsonl or .arrow")
    shape = (0, 0)
    header: dict[str, Any] = {"descr": "<f4", "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, {**header, "shape": shape})
    for block in blocks:
        file.write(block.astype("<f4").tobytes())
        shape = (shape[0] + len(block), block.shape[1])
    file.seek(0)
    np.lib.format.write_array_header_1_0(file, {**header, "shape": shape})


def _write_arrow(blocks: Iterable[np.ndarray], file: BinaryIO) -> None:
    """One column `vector` of lists of equal length."""
    with needing("Writing Arrow needs pyarrow", extra="train"):
        import pyarrow as pa
    writer: Any = None
    for block in blocks:
        column = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), block.shape[1])
        batch = pa.record_batch({"vector": column})
        writer = writer or pa.ipc.new_file(file, batch.schema)
        writer.write_batch(batch)
    writer.close()


def _write_jsonl(blocks: Iterable[np.ndarray], file: BinaryIO) -> None:
    """Seven digits tell float32 numbers apart well enough."""
    for block in blocks:
        for row in block.tolist():
            file.write(json.dumps({"vector": [float(f"{value:.7g}") for value in row]}).encode() + b"\n")


WRITERS: Final[dict[str, Write]] = {".npy": _write_npy, ".arrow": _write_arrow, ".jsonl": _write_jsonl}
