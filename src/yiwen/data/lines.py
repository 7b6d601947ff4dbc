"""Text files as lines: bytes first, split on LF only, one trailing CR and a BOM at the very start removed.

Other readers disagree on what a line is (U+2028, NEL, a lone CR ...), which is how two sides slide apart.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, TypeVar, cast

from yiwen.errors import DataError, expect, needing

T = TypeVar("T")
Columns = tuple[list[bytes | None], list[bytes | None]]
"""Sources and targets of as many rows; None where a row lacks the side."""
BLOCK_LINES: Final = 4096
"""Lines that are held at a time: enough to sort by length, few enough to stay small."""
COMPRESSED: Final = (".gz", ".zst", ".xz")
_BOM = b"\xef\xbb\xbf"
_PACKED = re.compile(rb"\x1f\x8b|BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|PK\x03\x04")
"""How gzip, bzip2, xz, zstd and zip begin."""
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?P<LE>([^\0]\0){4}|([^\0]\0){2,}\n\Z)|(?P<BE>(\0[^\0]){4})")
"""How the first line of a text in UTF-16 begins: with a mark, or with four characters of ASCII; or it has no more."""


def find(path: str, *, base: Path) -> Path:
    """The file that a recipe means: `${VAR}` expanded, relative to `base`, or the same with .gz, .zst or .xz added.

    Raises:
        DataError: If there is no such file, or an environment variable is not set.
    """
    if missing := re.search(r"\$\{(\w+)\}", os.path.expandvars(path)):
        raise DataError(f"{path}: the environment variable {missing[1]} is not set; set it or write the whole path")
    file = base / expanded(path)
    for candidate in (file, *(Path(f"{file}{suffix}") for suffix in COMPRESSED)):
        if candidate.is_file():
            return candidate
    if file.exists():
        raise DataError(f"{file} is not a file but a folder or a pipe; give the path of a file")
    raise DataError(f"{file} does not exist (nor with {', '.join(COMPRESSED)}); give the path of an existing file")


def expanded(path: str) -> Path:
    """The path with `${VAR}` and `~` put in; a user or a variable that is not there stays as it is written."""
    return Path(os.path.expanduser(os.path.expandvars(path)))  # noqa: PTH111  Path.expanduser raises RuntimeError


def plain_suffix(path: Path) -> str:
    """The suffix without that of the compression, in lower case: `.tsv` for `a.TSV.gz`."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed by its suffix.

    Raises:
        DataError: If it cannot be read, or what is compressed is damaged; also while the block reads.
    """
    import lzma
    import zlib

    try:
        with _decompressed(path) as file:
            yield file
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{path} cannot be read ({error.strerror}); give a readable file") from error
        raise DataError(f"{path} is damaged ({error}); fetch or compress it again") from error


def read_lines(file: BinaryIO, name: str | Path = "stdin") -> Iterator[bytes]:
    """The lines of an open file, without their line ends; `name` is for messages.

    >>> list(read_lines(io.BytesIO(b"\\xef\\xbb\\xbfa\\r\\n\\nb\\rc")))
    [b'a', b'', b'b\\rc']
    """
    for index, raw in enumerate(file):  # binary files know no line end but LF
        if index == 0 and (found := _UTF_16.match(raw)):
            code = f"UTF-16{found.lastgroup or ''}"
            raise DataError(f"{name} is UTF-16; make it UTF-8, with `iconv -f {code} -t UTF-8` for example")
        if index == 0 and _PACKED.match(raw):
            raise DataError(f"{name} is packed; .gz, .zst and .xz are read if named so; unpack it or save it as text")
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        yield line.removeprefix(_BOM) if index == 0 else line


def lines_of(path: Path) -> Generator[bytes, None, None]:
    """The lines of a file, decompressed by its suffix.

    Raises:
        DataError: If this file is damaged or cannot be read, and not for what happens where its lines are used.
    """
    with opened(path) as file:
        yield from read_lines(file, path)


def decoded(stream: Iterable[bytes], name: Path) -> Iterator[str]:
    """Lines as text.

    Raises:
        DataError: If one is not UTF-8.
    """
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: line {number} is not UTF-8 ({error}); convert it first") from error


def blocks(stream: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lines, or whatever it is, in lists of `size`, the last one shorter: for flat memory.

    Raises:
        ConfigError: If it cannot be gone through.
    """
    expect(stream, Iterable, "the input", "a file, a list or a generator")
    iterator = iter(stream)
    while block := list(islice(iterator, size)):
        yield block


def _decompressed(path: Path) -> BinaryIO:
    match path.suffix.lower():
        case ".gz":
            import gzip

            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, gzip.open(path)), 1 << 20))
        case ".xz":
            import lzma

            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, lzma.open(path)), 1 << 20))
        case ".zst":
            with needing("Reading .zst needs pyarrow", extra="train"):
                import pyarrow as pa
            # Python has no zstd before 3.14, and the reader of zstandard takes a file that was cut off for a whole one.
            return cast(BinaryIO, io.BufferedReader(pa.input_stream(str(path), compression="zstd"), 1 << 20))
        case _:
            return path.open("rb", buffering=1 << 20)
