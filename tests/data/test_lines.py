"""What a line is: bytes between line feeds, whatever else they hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.data import lines
from yiwen.data.tables import column_names, read_rows
from yiwen.errors import DataError, MissingDependencyError

NASTY = "\ufefffirst\r\n\n\u2028\u0085\v\f\x1c\rlone\n\x00\n  \n\ufeffBOM\nlast\r".encode()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: bytes(pa.compress(content, codec="zstd", asbytes=True)),
}


def test_lines_end_at_line_feeds_only() -> None:
    assert list(lines.read_lines(io.BytesIO(NASTY))) == [
        b"first", b"", "\u2028\u0085\v\f\x1c\rlone".encode(), b"\x00", b"  ", b"\xef\xbb\xbfBOM", b"last",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("\ufeffgrün\n", "utf-16-le", "UTF-16"),
        ("\ufeffgrün\n", "utf-16-be", "UTF-16"),
        ("Text\t句\n", "utf-16-le", "UTF-16LE"),
        ("Text\t句\n", "utf-16-be", "UTF-16BE"),
        ("Hi\n", "utf-16-le", "UTF-16LE"),
        ("Hi!\n", "utf-16-be", "UTF-16BE"),
    ],
)
def test_utf_16_is_told_and_not_read_as_something_else(tmp_path: Path, text: str, encoding: str, name: str) -> None:
    (path := tmp_path / "a.txt").write_bytes(text.encode(encoding))
    with pytest.raises(DataError, match=rf"a.txt is UTF-16; make it UTF-8, with `iconv -f {name} -t UTF-8`"):
        list(lines.lines_of(path))
    assert path.read_bytes().decode(name) == text.removeprefix("\ufeff")


def test_a_csv_in_utf_16_or_packed_is_told_as_well(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_bytes('src,tgt\n"a, b","ü"\n'.encode("utf-16"))
    with pytest.raises(DataError, match=r"a\.csv is UTF-16; make it UTF-8"):
        column_names(path)
    path.write_bytes(gzip.compress(b"src,tgt\na,b\n"))
    with pytest.raises(DataError, match=r"a\.csv is packed; \.gz, \.zst and \.xz are read if named so"):
        list(read_rows(path, "src", "tgt", size=7))
    for suffix, pack in PACKERS.items():
        (path := tmp_path / f"b.csv{suffix}").write_bytes(pack(b'\xef\xbb\xbfsrc,tgt\n"a, b",c\n'))
        assert list(read_rows(path, "src", "tgt", size=7)) == [([b"a, b"], [b"c"])]


def test_bytes_like_those_of_other_formats_are_told_in_the_first_line_alone(tmp_path: Path) -> None:
    found = [b"A dog.", b"\xff\xfeH\x00i\x00", b"\x1f\x8b\x08", b"\xef\xbb\xbfA cat."]
    (path := tmp_path / "a.en").write_bytes(b"\n".join(found))
    assert list(lines.lines_of(path)) == found


@pytest.mark.parametrize("pack", [*PACKERS.values(), bz2.compress])
def test_what_is_packed_and_does_not_say_so_is_told(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (path := tmp_path / "a.en").write_bytes(pack(b"A dog.\n"))
    with pytest.raises(DataError, match=r"a.en is packed; .gz, .zst and .xz are read if named so; unpack it or"):
        list(lines.lines_of(path))
    with pytest.raises(DataError, match="stdin is packed"):
        list(lines.read_lines(io.BytesIO(path.read_bytes())))


def test_a_spreadsheet_given_as_text_is_to_be_saved_as_text_not_unpacked(tmp_path: Path) -> None:
    (path := tmp_path / "terms.xlsx").write_bytes(b"PK\x03\x04\x14\0\x06\0")
    with pytest.raises(DataError, match=r"terms\.xlsx is packed; .*or save it as text"):
        list(lines.lines_of(path))


@given(st.binary().filter(lambda content: not (lines._UTF_16.match(content) or lines._PACKED.match(content))))
def test_there_are_as_many_lines_as_wc_counts_and_an_unended_one(content: bytes) -> None:
    n_lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert len(list(lines.read_lines(io.BytesIO(content)))) == n_lines


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_read_alike_and_are_found_without_their_suffix(tmp_path: Path, suffix: str) -> None:
    content = NASTY + b"\n" + b"line\n" * 100_000
    half = len(content) // 2  # two members or frames in one file, as `cat a.gz b.gz` makes them
    packed = PACKERS[suffix](content[:half]) + PACKERS[suffix](content[half:])
    (tmp_path / f"text.en{suffix}").write_bytes(packed)
    path = lines.find("text.en", base=tmp_path)
    assert path.name == f"text.en{suffix}"
    with lines.opened(path) as file:
        assert list(lines.read_lines(file)) == list(lines.read_lines(io.BytesIO(content)))


@pytest.mark.parametrize("suffix", [*PACKERS, ".ZST"])
@pytest.mark.parametrize("fault", ["cut", "foreign", "torn"])
def test_a_damaged_file_is_never_read_as_a_shorter_one(tmp_path: Path, suffix: str, fault: str) -> None:
    path = tmp_path / f"text{suffix}"
    packed = PACKERS[suffix.lower()](b"".join(b"line %d\n" % n for n in range(50_000)))
    half = packed[: len(packed) // 2]
    path.write_bytes({"cut": half, "foreign": b"just text\n" * 100, "torn": half + half}[fault])
    with (
        pytest.raises(DataError, match=r"is damaged \(.*\); fetch or compress it again"),
        lines.opened(path) as file,
    ):
        list(lines.read_lines(file))


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    assert list(lines.decoded([b"a", "译".encode()], tmp_path)) == ["a", "译"]
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        list(lines.decoded([b"a", b"caf\xe9"], tmp_path))


def test_variables_in_paths_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.en").write_bytes(b"x\n")
    monkeypatch.setenv("CORPORA", str(tmp_path))
    assert lines.find("${CORPORA}/a.en", base=Path("elsewhere")) == tmp_path / "a.en"
    monkeypatch.delenv("CORPORA")
    with pytest.raises(DataError, match="the environment variable CORPORA is not set"):
        lines.find("${CORPORA}/a.en", base=tmp_path)


def test_a_missing_file_is_named_with_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.en does not exist \(nor with \.gz, \.zst, \.xz\)"):
        lines.find("none.en", base=tmp_path)
    with pytest.raises(DataError, match=r"~nobody-of-that-name/a\.en does not exist"):
        lines.find("~nobody-of-that-name/a.en", base=tmp_path)


@pytest.mark.parametrize("path", ["folder", "/dev/null", "/"])
def test_what_is_there_and_is_no_file_is_not_said_to_be_missing(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="is not a file but a folder or a pipe; give the path of a file"):
        lines.find(path, base=tmp_path)


def test_a_missing_package_is_named_with_its_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "a.zst").write_bytes(PACKERS[".zst"](b"x"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pyarrow: pip install"), lines.opened(tmp_path / "a.zst"):
        pass


def test_the_suffix_below_the_compression_counts() -> None:
    assert [lines.plain_suffix(Path(name)) for name in ("a.TSV.gz", "a.tmx", "b.c.jsonl.XZ", "plain", "x.gz")] == [
        ".tsv", ".tmx", ".jsonl", "", "",
    ]  # fmt: skip
