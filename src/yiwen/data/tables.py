"""Readers for one file that holds both sides in columns: TSV, JSONL, Parquet, Arrow and Feather.

Each yields (sources, targets) in lists of `size`; a row that lacks a side gives None there and is counted later.
The first row tells the form: if it has not the columns asked for, nothing else will.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from yiwen.data import lines
from yiwen.errors import DataError, MissingDependencyError

Columns = tuple[list[bytes | None], list[bytes | None]]


def read_tsv(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[Columns]:
    """Tab-separated lines, without quoting, with or without a header line."""
    with lines.opened(path) as file:
        stream = lines.read_lines(file)
        src_index, tgt_index, has_header = _tsv_columns(path, next(stream, b""), src_column, tgt_column)
    with lines.opened(path) as file:
        stream = lines.read_lines(file)
        if has_header:
            next(stream)
        for block in lines.blocks(stream, size):
            rows = [line.split(b"\t") for line in block]
            yield (
                [row[src_index] if len(row) > src_index else None for row in rows],
                [row[tgt_index] if len(row) > tgt_index else None for row in rows],
            )


def tsv_has_header(path: Path, src_column: str, tgt_column: str) -> bool:
    """True where the first line names the columns and is no pair."""
    with lines.opened(path) as file:
        return _tsv_columns(path, next(lines.read_lines(file), b""), src_column, tgt_column)[2]


def read_jsonl(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[Columns]:
    """One JSON object a line; a column "translation.en" is the key "en" inside "translation"."""
    with lines.opened(path) as file:
        first = next(lines.read_lines(file), b"{}")
        for column in (src_column, tgt_column):
            if _json_value(first, column) is None:
                raise DataError(
                    f"{path}: the first line has no text under {column!r}, it begins {_shown(first)}; name the columns "
                    "with src_column and tgt_column"
                )
    with lines.opened(path) as file:
        for block in lines.blocks(lines.read_lines(file), size):
            yield [_json_value(line, src_column) for line in block], [_json_value(line, tgt_column) for line in block]


def read_arrow(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[Columns]:
    """Parquet, or an Arrow IPC file or stream (Feather version 2); "translation.en" reads inside a struct."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingDependencyError("Reading Parquet and Arrow needs pyarrow: pip install 'yiwen[train]'") from error
    try:
        for batch in _arrow_batches(path, size):
            yield tuple(_arrow_column(path, batch, column) for column in (src_column, tgt_column))  # type: ignore[misc]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise DataError(f"{path} cannot be read ({error}); write it again as Parquet or as an Arrow file") from error


def _tsv_columns(path: Path, first: bytes, src_column: str, tgt_column: str) -> tuple[int, int, bool]:
    names = first.decode("utf-8", "replace").split("\t")
    if src_column in names and tgt_column in names:
        return names.index(src_column), names.index(tgt_column), True
    if src_column.isdecimal() and tgt_column.isdecimal() and min(int(src_column), int(tgt_column)) >= 1:
        indices = int(src_column) - 1, int(tgt_column) - 1
    elif (src_column, tgt_column) == ("src", "tgt"):
        indices = 0, 1
    else:
        raise DataError(
            f"{path}: no columns {src_column!r} and {tgt_column!r} in the first line {_shown(first)}; "
            "give their names, or their numbers from 1 where the file has no header"
        )
    if max(indices) >= len(names):
        raise DataError(
            f"{path}: the first line has {len(names)} columns, {max(indices) + 1} are needed: {_shown(first)}; "
            "separate source and target with a tab"
        )
    return *indices, False


def _json_value(line: bytes, column: str) -> bytes | None:
    """The text under a dotted key as UTF-8 (invalid where JSON escapes half a surrogate pair), or None."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and column in value:
        value = value[column]
    else:
        for key in column.split("."):
            value = value.get(key) if isinstance(value, dict) else None
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None


def _arrow_batches(path: Path, size: int) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() in lines.COMPRESSED:  # these forms are read from their end: no streaming
        with lines.opened(path) as file:
            source: Any = pa.BufferReader(file.read())
    else:
        source = pa.memory_map(str(path))
    with source:
        if lines.plain_suffix(path) == ".parquet":
            yield from pq.ParquetFile(source).iter_batches(batch_size=size)
            return
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        for index in range(reader.num_record_batches) if is_file else iter(int, 1):
            try:
                batch = reader.get_batch(index) if is_file else reader.read_next_batch()
            except StopIteration:
                return
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


def _arrow_column(path: Path, batch: Any, column: str) -> list[bytes | None]:
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    while column not in table.column_names and any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    if column not in table.column_names:
        raise DataError(
            f"{path} has the columns {', '.join(table.column_names)} and none named {column!r}; "
            "name them with src_column and tgt_column"
        )
    values = table.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise DataError(f"{path}: column {column!r} holds {values.type}, not text; name another one")
    return [None if value is None else value.encode("utf-8") for value in values.to_pylist()]


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))
