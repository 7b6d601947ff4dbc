"""Readers for one file that holds both sides in columns: TSV, CSV, JSONL, Parquet, Arrow and Feather.

Each yields (sources, targets) in lists of `size`; a row that lacks a side gives None there and is counted later.
The first row tells the form: if it has not the columns asked for, nothing else will.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, cast

from yiwen.data import lines
from yiwen.errors import DataError, needing

_LONGEST_FIELD: Final = 1 << 24
"""Characters of a field of CSV: what is longer than a sentence is counted where pairs are judged."""


def read_rows(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[lines.Columns]:
    """TSV without quoting or CSV (RFC 4180: a quoted field may hold commas and line breaks), with or without header."""
    rows = _rows(path)
    first = next(rows, [])
    src_index, tgt_index, header = _indices(path, _names(first), src_column, tgt_column)
    # More cells: somebody forgot the quotes, or a text holds a tab. Where nothing has a name they may be remarks.
    is_strict = header or lines.plain_suffix(path) == ".csv"
    for block in lines.blocks(rows if header else chain([first], rows), size):
        # Such a row is torn: it keeps its first side alone, for the report to show.
        sound = [row[: max(src_index, tgt_index)] if is_strict and any(row[len(first) :]) else row for row in block]
        src, tgt = ([row[i] if i < len(row) else None for row in sound] for i in (src_index, tgt_index))
        yield src, tgt


def _rows(path: Path) -> Iterator[list[bytes]]:
    if lines.plain_suffix(path) == ".tsv":
        yield from (line.split(b"\t") for line in lines.lines_of(path))
        return
    with lines.opened(path) as file:
        beginning = cast(io.BufferedReader, file).peek()
        next(lines.read_lines(io.BytesIO(beginning), path), b"")  # refuses UTF-16
        # Bytes that are not UTF-8 pass through, for where pairs are judged and counted. Only where no line ends at LF,
        # as Excel once wrote them, does one end at CR: elsewhere it is a blank, which Python and pandas do not quote.
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", "\n" if b"\n" in beginning else "")
        # Strict, else one stray quote swallows the rest.
        stream = csv.reader((re.sub(r"\r+(?=[^\r\n])", " ", line) for line in text), strict=True)
        sound = (row for row in stream if stream.line_num > 1 or row != ["sep=", ""])  # as Excel is told of its commas
        csv.field_size_limit(_LONGEST_FIELD)
        try:
            yield from ([cell.encode("utf-8", "surrogateescape") for cell in row] for row in sound)
        except csv.Error as error:
            remedy = "close or double its quotes, or drop the row"
            raise DataError(f"{path} is not CSV near line {stream.line_num} ({error}); {remedy}") from error


def _names(row: Sequence[bytes]) -> list[str]:
    return [cell.decode("utf-8", "replace") for cell in row]


def column_names(path: Path) -> list[str]:
    """What the columns of a file may be called: its first cells, its first keys, or its schema; "a.b" for b inside a.

    Raises:
        DataError: If it cannot be read.
    """
    suffix = lines.plain_suffix(path)
    if suffix in (".parquet", ".arrow", ".feather"):
        with _arrow_errors(path):
            first = list(islice(_arrow_tables(path, 1), 1))
            names = [name for table in first for each in (table, table.flatten()) for name in each.column_names]
        return [*dict.fromkeys(names)]
    if suffix in (".jsonl", ".json"):
        row = _json(next(lines.lines_of(path), b""))
        parts = row if isinstance(row, dict) else {}
        return [*parts, *(f"{a}.{b}" for a, part in parts.items() if isinstance(part, dict) for b in part)]
    return _names(next(_rows(path), []))


def read_jsonl(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[lines.Columns]:
    """One JSON object a line; a column "translation.en" is the key "en" inside "translation"."""
    first = next(lines.lines_of(path), b"")
    for column in (src_column, tgt_column):
        value = _under(column, _json(first))
        if value is not None and _as_text(value) is None:  # where there is null, a later line may have text
            shown = first[:60].decode("utf-8", "replace")
            advice = _named_by(src_column, tgt_column)
            if first.lstrip().startswith(b"["):
                advice = "make lines of the array: `jq -c '.[]' OLD > NEW`"
            raise DataError(f"{path}: the first line has no text under {column!r}, it begins {shown!r}; {advice}")
    for block in lines.blocks(lines.lines_of(path), size):
        rows = [_json(line) for line in block]
        yield [_as_text(_under(src_column, row)) for row in rows], [_as_text(_under(tgt_column, row)) for row in rows]


def read_arrow(path: Path, src_column: str, tgt_column: str, *, size: int) -> Iterator[lines.Columns]:
    """Parquet, or an Arrow IPC file or stream (Feather version 2); "translation.en" reads inside a struct."""
    with _arrow_errors(path):
        advice = _named_by(src_column, tgt_column)
        for table in _arrow_tables(path, size):
            yield _arrow_column(path, table, src_column, advice), _arrow_column(path, table, tgt_column, advice)


def _indices(path: Path, names: list[str], src_column: str, tgt_column: str) -> tuple[int, int, bool]:
    """Where the columns stand, and whether the first line names them."""
    is_tsv = lines.plain_suffix(path) == ".tsv"
    shown = repr(("\t" if is_tsv else ",").join(names)[:60])
    if src_column in names and tgt_column in names:
        return names.index(src_column), names.index(tgt_column), True
    if src_column.isdecimal() and tgt_column.isdecimal() and min(int(src_column), int(tgt_column)) >= 1:
        indices = int(src_column) - 1, int(tgt_column) - 1
    elif src_column == "src" and tgt_column in ("tgt", "src"):  # not named; of text alone both sides are the first
        indices = 0, 1 if tgt_column == "tgt" else 0
    else:
        missing = " or ".join(repr(name) for name in dict.fromkeys((src_column, tgt_column)) if name not in names)
        remedy = f"{_named_by(src_column, tgt_column)}, or give numbers from 1 where the file has no header"
        raise DataError(f"{path}: no column {missing} in the first line {shown}; {remedy}")
    if names in ([], [""]):
        raise DataError(f"{path}: the first line is empty; it needs text, or names of columns")
    # As Excel writes in much of Europe: "A dog, a big one;Ein Hund, ein großer" has two columns, but not by commas; nor
    # has a table with tabs that is called .csv. Not as in &amp;c, &#39;s or ;)
    glued = re.search(r"((?<![\w&#])\w+|[^\w\s]);[^\s)]|\S\t\S", ",".join(names))
    is_torn = not is_tsv and glued and any(name.startswith(" ") for name in names[1:])
    if (n_needed := max(indices) + 1) > len(names) or is_torn:
        remedy = f"separate source and target with a {'tab' if is_tsv else 'comma, not a semicolon or a tab'}"
        raise DataError(f"{path}: the first line has {len(names)} columns, {n_needed} are needed: {shown}; {remedy}")
    return *indices, False


def _named_by(src_column: str, tgt_column: str) -> str:
    """How columns are named; text alone is read from one."""
    if src_column == tgt_column:
        return "name the column with src_column (`yiwen backtranslate`: --column)"
    return "name the columns with src_column and tgt_column (`yiwen new`: --src-column, --tgt-column)"


def _under(column: str, row: Any) -> Any:
    """What stands under a dotted key of a row, null also inside of null; `...` where nothing does."""
    if isinstance(row, bytes):
        return row
    if isinstance(row, dict) and column in row:
        return row[column]
    for key in column.split("."):
        if row is not None:
            row = row.get(key, ...) if isinstance(row, dict) else ...
    return row


def _json(line: bytes) -> Any:
    """What a line says; itself where it is not UTF-8, to be counted as that; `...` where it is no JSON."""
    try:
        return json.loads(line)
    except UnicodeDecodeError:
        return line
    except (ValueError, RecursionError):
        return ...


def _as_text(value: Any) -> bytes | None:
    """Text as UTF-8; whole numbers, which labels often are, as written; words or tags in a list with blanks between,
    but not several texts, which would become one that nobody wrote.

    Truth values are True and False, as CSV has them from Python. Half a surrogate pair, which JSON can escape, becomes
    bytes that are not UTF-8; what is no text becomes None.
    """
    match value:
        case bytes():
            return value
        case str(text) | int(text) | [str(text)]:
            return str(text).encode("utf-8", "surrogatepass")
        case list() if all(isinstance(item, str | int) and not re.search(r" |\w[。！？]", str(item)) for item in value):
            return " ".join(map(str, value)).encode("utf-8", "surrogatepass")
        case _:
            return None


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    with needing("Reading Parquet and Arrow needs pyarrow", extra="train"):
        import pyarrow as pa
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); write it again as Parquet or as an Arrow file") from error


def _arrow_tables(path: Path, size: int) -> Iterator[Any]:
    """The file in pieces of at most `size` rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() in lines.COMPRESSED:  # these forms are read from their end: no streaming
        with lines.opened(path) as file:
            source: Any = pa.BufferReader(file.read())
    else:
        source = pa.memory_map(str(path))
    with source:
        if lines.plain_suffix(path) == ".parquet":
            yield from (pa.Table.from_batches([b]) for b in pq.ParquetFile(source).iter_batches(batch_size=size))
            return
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            for start in range(0, batch.num_rows, size):
                yield pa.Table.from_batches([batch.slice(start, size)])


def _arrow_column(path: Path, table: Any, column: str, advice: str) -> list[bytes | None]:
    import pyarrow as pa

    while column not in table.column_names and any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    names = table.column_names
    if names.count(column) != 1:
        raise DataError(f"{path} has the columns {', '.join(names)} and not one named {column!r}; {advice}")
    values = table.column(column)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        values.validate(full=True)  # offsets and codes are what somebody wrote
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    inner = getattr(values.type, "value_type", values.type)  # of a list of words or tags
    is_text = any(is_it(inner) for is_it in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
    if not (is_text or pa.types.is_integer(inner) or pa.types.is_boolean(inner)):
        raise DataError(f"{path}: column {column!r} holds {values.type}, not text; name another one")
    if inner == values.type and is_text:
        values = values.cast(pa.large_binary())  # bytes that are not UTF-8 pass through here, too
        values.validate(full=True)  # offsets are what somebody wrote
    return [_as_text(value) for value in values.to_pylist()]
