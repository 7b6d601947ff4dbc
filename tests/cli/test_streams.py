"""Lines in, lines out: files that are whole or absent, a counter where somebody watches."""

from __future__ import annotations

import io
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from yiwen.cli.streams import counted, input_lines, line_pairs, output_stream, read_glossary
from yiwen.errors import ConfigError, DataError, Stopped
from yiwen.files import write_bytes
from yiwen.stop import StopFlag

NAMES = (Path("a.en"), Path("a.de"))


def test_an_existing_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffeins\r\n\nzwei\u2028drei\n".encode())
    with input_lines(path, stop=StopFlag()) as lines:
        assert list(lines) == [b"eins", b"", "zwei\u2028drei".encode()]


@pytest.mark.parametrize("name", ["none.txt", "."])
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match=r"is not a file; give an existing one$"),
        input_lines(tmp_path / name, stop=StopFlag()),
    ):
        pass


def test_an_error_of_the_writer_is_not_blamed_on_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"eins\n")

    def fail() -> None:
        with input_lines(path, stop=StopFlag()) as lines:
            next(lines)
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        fail()


def test_an_output_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with output_stream(path) as file:
        file.write(b"eins\n")
        assert not path.exists()
    assert path.read_bytes() == b"eins\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_no_output_and_no_rest(tmp_path: Path) -> None:
    def fail() -> None:
        with output_stream(tmp_path / "out.txt") as file:
            file.write(b"half")
            raise DataError("no more")

    with pytest.raises(DataError, match="no more"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "no" / "out", "does not exist; make it first"),
        (tmp_path, "is a folder"),
        (tmp_path / "out.fr.GZ", r"out\.fr\.GZ is written as it is, not compressed; leave '\.GZ' out"),
    ):
        with pytest.raises(ConfigError, match=message), output_stream(path):
            pass


@pytest.mark.parametrize("is_stdin", [False, True])
def test_what_is_read_is_never_written_over(tmp_path: Path, is_stdin: bool) -> None:
    path, link = tmp_path / "text", tmp_path / "link"
    path.write_bytes(b"eins\n")
    link.symlink_to(path)
    before = os.dup(0)
    try:
        with path.open("rb") as file:
            os.dup2(file.fileno(), 0)
        for read in (None, Path("-")) if is_stdin else (path, link):
            with pytest.raises(ConfigError, match=r"--output .*link is what is read, and would be lost; give a file"):
                output_stream(link, read=(tmp_path, read)).__enter__()
    finally:
        os.dup2(before, 0)
        os.close(before)
    with output_stream(tmp_path / "other", read=[path]) as output:
        output.write(b"one\n")
    with output_stream(Path(os.devnull), read=[Path(os.devnull)]):  # which holds nothing
        pass


def test_both_sides_come_line_by_line() -> None:
    assert list(line_pairs(iter([b"a", b""]), iter([b"b", "é".encode()]), names=NAMES)) == [("a", "b"), ("", "é")]


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        ([b"a"], [b"b", b"c"], "a.en ends after 1 lines, the other side goes on; give one line a line"),
        ([b"a", b"b", b"c"], [b"b", b"c"], "a.de ends after 2 lines"),
        ([b"a", b"\xff"], [b"b", b"c"], "a.en: line 2 is not UTF-8 .*; convert it first"),
    ],
)
def test_sides_that_do_not_fit_are_named(src: list[bytes], tgt: list[bytes], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(line_pairs(iter(src), iter(tgt), names=NAMES))


def test_counting_changes_nothing_and_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(counted(range(5))) == list(range(5))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_count_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert list(counted(range(1234))) == list(range(1234))
    assert "1,234 lines" in screen.getvalue()
    assert capsys.readouterr().out == ""


def test_results_on_a_terminal_are_not_written_into_a_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    for line in counted(["uno", "dos"]):
        screen.write(f"{line}\n")
    assert screen.getvalue() == "uno\ndos\n"
    with output_stream(tmp_path / "out") as file:
        assert list(counted(range(3), file)) == [0, 1, 2]
    assert "3 lines" in screen.getvalue()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_and_a_link_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, link, kept = tmp_path / "pipe", tmp_path / "link", tmp_path / "kept"
    os.mkfifo(pipe)
    kept.write_bytes(b"old")
    link.symlink_to(kept)
    for write in (lambda path: write_bytes(path, b"new"), written_as_stream):
        with ThreadPoolExecutor(1) as reader:
            read = reader.submit(pipe.read_bytes)
            write(pipe)
            assert read.result(60) == b"new"
        write(link)
        assert (pipe.is_fifo(), link.is_symlink(), kept.read_bytes()) == (True, True, b"new")


def test_links_in_a_circle_become_the_file(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    written_as_stream(circle)
    assert circle.read_bytes() == b"new"


def written_as_stream(path: Path) -> None:
    with output_stream(path) as file:
        file.write(b"new")


def test_a_glossary_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_bytes("dog\tHund\ncat\tKöter\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"g\.tsv: line 2 is not UTF-8 \(.*\); convert it first"):
        read_glossary(tmp_path / "g.tsv")


def test_a_signal_that_ends_both_ends_of_a_pipe_is_no_end_of_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopFlag()
    stop.signum = signal.SIGINT
    left, right = os.pipe()
    os.close(right)
    with os.fdopen(left) as source:
        monkeypatch.setattr(sys, "stdin", source)
        with pytest.raises(Stopped), input_lines(None, stop=stop) as lines:
            next(lines)


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are Unix's")
def test_who_types_is_told_how_the_text_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing, terminal = os.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as stdin, os.fdopen(typing, "wb", buffering=0) as keys:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
        keys.write(b"Deti.\n\x04")
        with input_lines(None, stop=StopFlag()) as lines:
            assert list(lines) == [b"Deti."]
    assert capsys.readouterr().err == "note: the text ends with Ctrl-D; answers come then\n"
