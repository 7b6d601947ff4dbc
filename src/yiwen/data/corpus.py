"""Corpora: parallel or labelled text in any of the usual forms, read as blocks of numbered pairs of raw bytes.

A block goes to a worker undecoded, so that a broken line is dropped where pairs are cleaned and counted. Every
line, row or unit of the input has one place in one block: nothing vanishes in a reader.
"""

from __future__ import annotations

import html.entities
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final, Literal, NamedTuple

from yiwen.config import check_bounds
from yiwen.data import conll, lines, tables, tmx
from yiwen.errors import ConfigError
from yiwen.text.languages import best_match

BLOCK_PAIRS: Final = 20_000
"""Pairs in a block: a second's work for nobody, a few megabytes at most."""

ONE_FILE: Final = (".tsv", ".csv", ".jsonl", ".json", ".parquet", ".arrow", ".feather", ".tmx", ".conll")
"""Forms that hold both sides in one file."""
_READERS: Final = {
    ".tsv": tables.read_rows,
    ".csv": tables.read_rows,
    ".jsonl": tables.read_jsonl,
    ".json": tables.read_jsonl,
    ".tmx": tmx.read_tmx,
    ".conll": conll.read_conll,
}
"""What reads them; Arrow's reader takes the rest."""

ENTITY: Final = re.compile(rb"&(#[0-9]{1,9};|#[xX][0-9A-Fa-f]{1,8};|[A-Za-z][A-Za-z0-9]*;)")
"""What may be an entity of HTML, for `CorpusConfig.unescape`."""

Targets = Literal["text", "read", "label", "tags", "none"]
"""What the target side of a pair is: a translation to be written; one that is read, too (embed); one label; a tag for
each word of the source, separated by blanks; nothing, where the text is all there is."""


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """One corpus: `src` and `tgt`, two files of lines, or `path`, one file of pairs: of text and label, too."""

    src: str = ""
    """File of source sentences, one a line. `${VAR}` is expanded; .gz, .zst and .xz are found and read too."""
    tgt: str = ""
    """File of their translations: line n translates line n; none for text alone (task = "mlm")."""
    path: str = ""
    """One file of pairs instead: .tsv, .csv, .jsonl or .json (an object a line), .parquet, .arrow, .feather, .tmx,
    .conll (also .gz, .zst, .xz)."""
    src_column: str = "src"
    """Source or text column of `path` (not TMX): its name, "a.b" for b inside a, or its number from 1 (TSV, CSV,
    CoNLL). Columns that are called after the languages need not be named."""
    tgt_column: str = "tgt"
    """Target, label or tag column of `path`, as for the source."""
    weight: float = 0.0
    """Share of this corpus in training relative to the others' weights; 0 everywhere = by size and temperature."""
    unescape: bool = False
    """Whether entities of HTML (`&amp;`, `&apos;`, as Moses writes them) are to be read as the characters they mean."""
    train_only: bool = False
    """Whether none of it may be split off for validation or test: for text that a machine made."""

    def __post_init__(self) -> None:
        check_bounds("corpus ", self, ("weight", 0, math.inf, "0 (by size) or a positive number"))
        if bool(self.path) == bool(self.src) or (self.tgt and not self.src):
            remedy = "give either src and tgt (two files; src alone for text without a target) or path (one file)"
            raise ConfigError(f"a corpus has src {self.src!r}, tgt {self.tgt!r}, path {self.path!r}; {remedy}")
        path = lines.expanded(self.path)  # a variable may hold the suffix; one that is not set is told where it is read
        if self.path and "${" not in path.name and lines.plain_suffix(path) not in ONE_FILE:
            remedy = "convert it, a spreadsheet to CSV in UTF-8"
            raise ConfigError(f"corpus path {self.path!r} has none of the suffixes {', '.join(ONE_FILE)}; {remedy}")


class Block(NamedTuple):
    """Consecutive pairs of a corpus as they stand in the file."""

    first: int
    """Number of the first pair in its file, from 1."""
    src: list[bytes | None]
    """Source sides, undecoded; None where the row has no such side (a torn row)."""
    tgt: list[bytes | None]
    """Target sides, as many."""


def corpus_files(corpus: CorpusConfig, *, base: Path) -> tuple[Path, ...]:
    """The files that a corpus is read from: two, or one. Text without a target is its own.

    Raises:
        DataError: If one does not exist.
    """
    names = (corpus.path,) if corpus.path else (corpus.src, corpus.tgt or corpus.src)
    return tuple(lines.find(name, base=base) for name in names)


def column_pair(
    paths: tuple[Path, ...], src_lang: str, tgt_lang: str, *, usual: tuple[str, str] = ("src", "tgt")
) -> tuple[str, str]:
    """The two columns of a file whose columns nobody named: the usual ones, or those called after the languages,
    however they are spelt. Of text alone both are the same."""
    if len(paths) > 1 or lines.plain_suffix(paths[0]) not in {*ONE_FILE} - {".tmx", ".conll"} or not tgt_lang:
        return usual
    names = tables.column_names(paths[0])
    codes = [name.rpartition(".")[2] for name in names]
    src, tgt = best_match(codes, src_lang), best_match(codes, tgt_lang)
    if {*usual} <= {*names} or src is None or tgt is None or (src == tgt and usual[0] != usual[1]):
        return usual
    return names[src], names[tgt]


def read_blocks(
    corpus: CorpusConfig, *, base: Path, src_lang: str, tgt_lang: str, size: int = BLOCK_PAIRS
) -> Iterator[Block]:
    """Read a corpus block by block; memory does not grow with its length.

    Args:
        corpus: Where and in which form it is.
        base: Folder that relative paths start from.
        src_lang: Chooses the source of a TMX unit, and the column where none is named.
        tgt_lang: Chooses its target.
        size: Pairs in a block.

    Raises:
        DataError: If a file is missing or damaged, the sides have unequal numbers of lines, or no row has the columns.
    """
    paths = corpus_files(corpus, base=base)
    suffix = lines.plain_suffix(paths[0]) if corpus.path else ""
    names = (src_lang, tgt_lang) if suffix == ".tmx" else (corpus.src_column, corpus.tgt_column)
    if names in (("src", "tgt"), ("src", "src")):
        names = column_pair(paths, src_lang, tgt_lang, usual=names)
    read = _READERS.get(suffix, tables.read_arrow)
    first = 2 if suffix in (".tsv", ".csv") and {*names} <= {*tables.column_names(paths[0])} else 1  # behind a header
    sides = read(paths[0], *names, size=size) if suffix else _read_two_files(*paths, size=size)
    for src, tgt in sides:
        yield Block(first, _unescaped(src), _unescaped(tgt)) if corpus.unescape else Block(first, src, tgt)
        first += len(src)


def place(paths: tuple[Path, ...], number: int) -> str:
    """Where pair `number` of a corpus stands, for a message: "train.en.gz line 7", "memory.tmx unit 7"."""
    suffix = lines.plain_suffix(paths[0]) if len(paths) == 1 else ""
    units = {".tmx": "unit", ".parquet": "row", ".arrow": "row", ".feather": "row", ".csv": "row", ".conll": "sentence"}
    return f"{paths[0].name} {units.get(suffix, 'line')} {number}"


def _read_two_files(src_path: Path, tgt_path: Path, *, size: int) -> Iterator[lines.Columns]:
    sides = (lines.blocks(lines.lines_of(path), size) for path in (src_path, tgt_path))
    for src, tgt in zip_longest(*sides, fillvalue=list[bytes]()):
        if len(src) != len(tgt):
            from yiwen.data.alignment import unequal_sides  # brings NumPy, which reading a recipe does without

            raise unequal_sides(src_path, tgt_path)
        yield list(src), list(tgt)


def _unescaped(side: list[bytes | None]) -> list[bytes | None]:
    return [raw and ENTITY.sub(_character, raw) for raw in side]


def _character(entity: re.Match[bytes]) -> bytes:
    name = entity[1].decode()
    return html.unescape(f"&{name}").encode() if name[0] == "#" or name in html.entities.html5 else entity[0]
