"""Lines in, lines out: files or pipes, with a counter on stderr where somebody watches."""

from __future__ import annotations

import io
import itertools
import os
import select
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from yiwen.data.lines import BLOCK_LINES, COMPRESSED, blocks, decoded, lines_of, read_lines
from yiwen.errors import ConfigError, DataError
from yiwen.files import new_file, require_place
from yiwen.stop import StopFlag, stop_on_signals
from yiwen.text.glossary import Glossary

T = TypeVar("T")


@contextmanager
def input_lines(path: Path | None, *, stop: StopFlag) -> Iterator[Iterator[bytes]]:
    """The lines of a file (also .gz, .zst, .xz), or of stdin where path is None or `-`."""
    if path is None or str(path) == "-":
        if sys.stdin.isatty():
            tell_note(f"the text ends with {'Ctrl-Z and Enter' if os.name == 'nt' else 'Ctrl-D'}; answers come then")
        yield read_lines(io.BufferedReader(_Stdin(stop)))
        return
    if path.is_dir() or not path.exists():  # a pipe will do
        raise DataError(f"{path} is not a file; give an existing one")
    with closing(lines_of(path)) as lines:
        yield lines


@contextmanager
def text_streams(
    path: Path | None, output_path: Path | None
) -> Iterator[tuple[Iterator[list[str]], BinaryIO, Counter[str], StopFlag]]:
    """The lines of a file or of stdin as text in blocks, where to write, flags to be counted, which are told at the
    end, and what to poll. What is not UTF-8 is replaced and flagged."""
    flags: Counter[str] = Counter()

    def text_of(line: bytes) -> str:
        text = line.decode("utf-8", errors="replace")
        flags["invalid_utf8"] += text.encode() != line
        return text

    with (
        stop_on_signals() as stop,
        input_lines(path, stop=stop) as lines,
        output_stream(output_path, read=[path]) as output,
    ):
        yield blocks(counted(map(text_of, lines), output), BLOCK_LINES), output, flags, stop
    tell_flags(flags)


@contextmanager
def output_stream(path: Path | None, *, read: Iterable[Path | None] = ()) -> Iterator[BinaryIO]:
    """Where to write: stdout (None or `-`), or a file, none of those that are read (None or `-`: stdin), which appears
    whole at the end and not at all after an error."""
    if path is None or str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.suffix.lower() in COMPRESSED:
        raise ConfigError(f"--output {path} is written as it is, not compressed; leave {path.suffix!r} out")
    require_place(path, name="--output", read=read)
    with new_file(path) as file:
        yield file


class _Stdin(io.RawIOBase):
    """stdin that a stop signal interrupts: a plain read would first wait for the next line."""

    def __init__(self, stop: StopFlag) -> None:
        self._stop = stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        descriptor = sys.stdin.fileno()
        while os.name != "nt" and not select.select([descriptor], [], [], 0.2)[0]:  # Windows selects sockets alone
            self._stop.check("reading")
        content = os.read(descriptor, len(buffer))
        self._stop.check("reading")  # who wrote to us may have ended by the same signal
        buffer[: len(content)] = content
        return len(content)


def read_glossary(path: Path) -> Glossary:
    """A table of terms: UTF-8, one a line."""
    with input_lines(path, stop=StopFlag()) as lines:
        return Glossary.parse("\n".join(decoded(lines, path)), source=str(path))


def tell_flags(flags: Counter[str], *, unit: str = "lines") -> None:
    """Show how many of what was written carry each flag."""
    if told := ", ".join(f"{count} {flag}" for flag, count in sorted(flags.items()) if count):
        print(f"flagged {unit}: {told}", file=sys.stderr)


def tell_note(note: str) -> None:
    """Show what a user should know of how an engine was chosen, where there is anything."""
    if note:
        print(f"note: {note}", file=sys.stderr)


def line_pairs(src: Iterator[bytes], tgt: Iterator[bytes], *, names: tuple[Path, Path]) -> Iterator[tuple[str, str]]:
    """Both sides line by line.

    Raises:
        DataError: At the end, if one side has more lines; at once, if a line is not UTF-8.
    """
    for number, sides in enumerate(itertools.zip_longest(*map(decoded, (src, tgt), names)), 1):
        if None in sides:
            shorter = names[sides.index(None)]
            raise DataError(f"{shorter} ends after {number - 1} lines, the other side goes on; give one line a line")
        yield sides[0], sides[1]


def counted(items: Iterable[T], output: IO[Any] | None = None) -> Iterator[T]:
    """Pass items through; count them on stderr where that is a terminal and their results (to stdout) go elsewhere.

    Results on the same screen are progress enough, and the first would stand behind the count.
    """
    if not sys.stderr.isatty() or (output or sys.stdout).isatty():  # nobody would see it: no import, no counting
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} lines"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, description="")
