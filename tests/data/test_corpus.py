"""Readers: every form of corpus gives the same pairs, every row has its place, torn rows are kept for counting."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from yiwen.data.corpus import CorpusConfig, corpus_files, place, read_blocks
from yiwen.data.tables import column_names
from yiwen.data.tmx import _Legal, _units
from yiwen.errors import ConfigError, DataError, MissingDependencyError

PAIRS = [
    ('"A;dog" runs.', " 一只狗在跑。"),
    ("Two \u2028 cats", "两只 猫"),
    ("", "空"),
    ("Tom & Mary <3", "汤姆和玛丽"),
    ("7", "七"),
]


def read(corpus: CorpusConfig, base: Path, size: int = 2) -> list[tuple[int, bytes | None, bytes | None]]:
    """All pairs with their numbers, in blocks of two so that every reader has several."""
    blocks = list(read_blocks(corpus, base=base, src_lang="en", tgt_lang="zh", size=size))
    assert all(len(block.src) <= size for block in blocks)
    return [
        (block.first + offset, src, tgt)
        for block in blocks
        for offset, (src, tgt) in enumerate(zip(block.src, block.tgt, strict=True))
    ]


def numbered(first: int = 1) -> list[tuple[int, bytes, bytes]]:
    return [(n, src.encode(), tgt.encode()) for n, (src, tgt) in enumerate(PAIRS, first)]


def tsv(path: Path) -> None:
    path.write_bytes("".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS).encode())


def tsv_with_header(path: Path) -> None:
    rows = [("id", "tgt", "src"), *((str(n), tgt, src) for n, (src, tgt) in enumerate(PAIRS))]
    path.write_bytes("".join("\t".join(row) + "\r\n" for row in rows).encode())


def jsonl(path: Path) -> None:
    path.write_bytes("".join(json.dumps({"tgt": tgt, "n": 1, "src": src}) + "\n" for src, tgt in PAIRS).encode())


def table() -> pa.Table:
    return pa.table({"n": range(5), "src": [src for src, _ in PAIRS], "tgt": [tgt for _, tgt in PAIRS]})


def parquet(path: Path) -> None:
    pq.write_table(table(), path, row_group_size=3)


def arrow_file(path: Path) -> None:
    with pa.ipc.new_file(str(path), table().schema) as writer:
        writer.write_table(table(), max_chunksize=3)


def arrow_stream(path: Path) -> None:
    with pa.ipc.new_stream(str(path), table().schema) as writer:
        writer.write_table(table(), max_chunksize=3)


def tmx(path: Path) -> None:
    from xml.sax.saxutils import escape

    units = "".join(
        f'<tu><note>n</note><tuv xml:lang="DE"><seg>-</seg></tuv><tuv xml:lang="zh-CN"><seg>{escape(tgt)}</seg></tuv>'
        f'<tuv xml:lang="EN_us"><seg>{escape(src)}</seg></tuv></tu>'
        for src, tgt in PAIRS
    )
    path.write_text(f'<?xml version="1.0"?><tmx version="1.4"><body>{units}</body></tmx>', encoding="utf-8")


FORMS: list[tuple[str, Callable[[Path], None], int]] = [
    ("c.tsv", tsv, 1),
    ("c.tsv", tsv_with_header, 2),
    ("c.jsonl", jsonl, 1),
    ("c.json", jsonl, 1),
    ("c.parquet", parquet, 1),
    ("c.arrow", arrow_file, 1),
    ("c.feather", arrow_stream, 1),
    ("c.tmx", tmx, 1),
]


@pytest.mark.parametrize(("name", "write", "first"), FORMS, ids=lambda value: getattr(value, "__name__", str(value)))
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_every_form_gives_the_same_pairs(
    tmp_path: Path, name: str, write: Callable[[Path], None], first: int, packed: bool
) -> None:
    write(tmp_path / name)
    if packed:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        (tmp_path / name).unlink()
    assert read(CorpusConfig(path=name), tmp_path) == numbered(first)


def test_two_files_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes("\ufeff".encode() + b"".join(src.encode() + b"\r\n" for src, _ in PAIRS))
    (tmp_path / "a.zh.gz").write_bytes(gzip.compress("\n".join(tgt for _, tgt in PAIRS).encode()))
    corpus = CorpusConfig(src="a.en", tgt="a.zh")
    assert read(corpus, tmp_path) == numbered()
    assert place(corpus_files(corpus, base=tmp_path), 3) == "a.en line 3"


@pytest.mark.parametrize("lost", [1, 2, 3, -1, -2])
def test_unequal_sides_are_an_error_wherever_a_block_ends(tmp_path: Path, lost: int) -> None:
    (tmp_path / "a.en").write_bytes(b"x\n" * 6)
    (tmp_path / "a.zh").write_bytes(b"x\n" * (6 - lost))
    with pytest.raises(DataError, match=f"a.en has 6 lines and .*a.zh has {6 - lost}: they must be equal"):
        read(CorpusConfig(src="a.en", tgt="a.zh"), tmp_path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.tsv.gz", "line 3"),
        ("a.csv", "row 3"),
        ("a.csv.gz", "row 3"),
        ("a.arrow", "row 3"),
        ("a.conll", "sentence 3"),
    ],
)
def test_a_pair_is_found_again_by_what_its_file_counts(name: str, told: str) -> None:
    """A cell of CSV may hold line breaks, and a sentence has a line for each word."""
    assert place((Path(name),), 3) == f"{name} {told}"


def test_columns_by_name_by_number_and_inside_others(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"9\tja\tyes\n8\tnein\tno\n")
    assert read(CorpusConfig(path="a.tsv", src_column="3", tgt_column="2"), tmp_path)[1] == (2, b"no", b"nein")
    (tmp_path / "a.jsonl").write_bytes(b'{"translation": {"en": "yes", "de": "ja"}}\n')
    nested = {"src_column": "translation.en", "tgt_column": "translation.de"}
    assert read(CorpusConfig(path="a.jsonl", **nested), tmp_path) == [(1, b"yes", b"ja")]  # type: ignore[arg-type]
    (tmp_path / "b.jsonl").write_bytes(b'{"translation.en": "yes", "translation.de": "ja"}\n')
    assert read(CorpusConfig(path="b.jsonl", **nested), tmp_path) == [(1, b"yes", b"ja")]  # type: ignore[arg-type]
    pq.write_table(pa.table({"id": ["7"], "translation": [{"en": "yes", "de": "ja"}]}), tmp_path / "a.parquet")
    assert read(CorpusConfig(path="a.parquet", **nested), tmp_path) == [(1, b"yes", b"ja")]  # type: ignore[arg-type]


@pytest.mark.parametrize("header", [b"id,zh-CN,EN", b"n,Chinese,English"])
def test_columns_that_nobody_named_are_found_by_the_languages_in_any_order(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(header + "\n1,是,yes\n".encode())
    assert read(CorpusConfig(path="a.csv"), tmp_path) == [(2, b"yes", "是".encode())]
    (tmp_path / "a.jsonl").write_text('{"translation": {"zh": "是", "en": "yes"}}\n', encoding="utf-8")
    assert read(CorpusConfig(path="a.jsonl"), tmp_path) == [(1, b"yes", "是".encode())]
    pq.write_table(pa.table({"zh": ["是"], "en": ["yes"]}), tmp_path / "a.parquet")
    assert read(CorpusConfig(path="a.parquet"), tmp_path) == [(1, b"yes", "是".encode())]
    (tmp_path / "b.csv").write_bytes(b"zh,en,tgt,src\na,b,c,d\n")
    assert read(CorpusConfig(path="b.csv"), tmp_path) == [(2, b"d", b"c")]
    assert read(CorpusConfig(path="b.csv", src_column="zh", tgt_column="en"), tmp_path) == [(2, b"a", b"b")]


def test_the_column_of_text_alone_is_found_by_its_language(tmp_path: Path) -> None:
    def read_as(language: str, text: str, **columns: str) -> tuple[int, list[bytes | None], list[bytes | None]]:
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        corpus = CorpusConfig(path="a.csv", **columns)  # type: ignore[arg-type]
        (block,) = read_blocks(corpus, base=tmp_path, src_lang=language, tgt_lang=language, size=7)
        return block

    alone = {"tgt_column": "src"}  # as text without a target is read
    assert read_as("en", "id,zh-CN,EN\n1,one,two\n", **alone) == (2, [b"two"], [b"two"])
    assert read_as("zh", "id,zh-CN,EN\n1,one,two\n", **alone) == (2, [b"one"], [b"one"])
    assert read_as("en", "src,en\none,two\n", **alone) == (2, [b"one"], [b"one"])
    assert read_as("en", "one,two\n", **alone) == (1, [b"one"], [b"one"])
    assert read_as("en", "en,tgt\n") == (1, [b"en"], [b"tgt"])  # pairs of one language: which column is which?


def test_entities_are_characters_where_a_corpus_says_so(tmp_path: Path) -> None:
    rows = [
        (b"mom &apos;s &amp;amp; &#91; &#x4e2d;", b"\xe5\xa6\x88&nbsp;\xe5\xa6\x88"),
        (b"R&D & &copy=2 &notit; &;", b"no UTF-8 \xff &lt;"),  # no entities, or none that HTML knows
        (b"torn", None),
    ]
    (tmp_path / "a.tsv").write_bytes(
        b"".join(b"\t".join(side for side in row if side is not None) + b"\n" for row in rows)
    )
    as_it_is, unescaped = (CorpusConfig(path="a.tsv", unescape=is_on) for is_on in (False, True))
    assert read(as_it_is, tmp_path) == [(n, *row) for n, row in enumerate(rows, 1)]
    assert read(unescaped, tmp_path) == [
        (1, "mom 's &amp; [ 中".encode(), "妈\u00a0妈".encode()),
        (2, b"R&D & &copy=2 &notit; &;", b"no UTF-8 \xff <"),
        (3, b"torn", None),
    ]  # fmt: skip


def test_torn_rows_keep_their_place(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"yes\tja\nno\n\nall\talle\tmore\n")
    assert read(CorpusConfig(path="a.tsv"), tmp_path) == [
        (1, b"yes", b"ja"), (2, b"no", None), (3, b"", None), (4, b"all", b"alle"),
    ]  # fmt: skip
    rows = [
        '{"src": "yes", "tgt": "ja"}',
        '{"src": "no"',
        "[]",
        '{"src": 1.5, "tgt": null}',
        '{"src": ["yes", 1.5], "tgt": ["no", 7]}',
        '{"src": "\\ud800", "tgt": "x"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert read(CorpusConfig(path="a.jsonl"), tmp_path) == [
        (1, b"yes", b"ja"), (2, None, None), (3, None, None), (4, None, None), (5, None, b"no 7"),
        (6, b"\xed\xa0\x80", b"x"),
    ]  # fmt: skip
    names = pa.array(["yes", None, "no"]).dictionary_encode()
    pq.write_table(
        pa.table({"src": names, "tgt": pa.array(["ja", "x", "nein"], pa.large_string())}), tmp_path / "a.parquet"
    )
    assert read(CorpusConfig(path="a.parquet"), tmp_path) == [(1, b"yes", b"ja"), (2, None, b"x"), (3, b"no", b"nein")]


@pytest.mark.parametrize("type_", [pa.list_(pa.string()), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_whatever_an_arrow_file_says_it_holds_is_looked_at_before_it_is_followed(tmp_path: Path, type_: Any) -> None:
    path, draw = tmp_path / "a.arrow", random.Random(5)
    values: Any = [["a", "b"]] * 7 if pa.types.is_list(type_) else ["a text of more than twelve"] * 7
    batch = pa.record_batch({name: pa.array(values, type_) for name in ("src", "tgt")})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        for at in draw.choices(range(len(whole)), k=3):
            damaged[at] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        with suppress(DataError):  # a tool that dies would take the tests along
            read(CorpusConfig(path="a.arrow"), tmp_path)
        with suppress(DataError):
            column_names(path)


@pytest.mark.parametrize(("header", "first"), [(b"src,tgt\n", 2), (b"", 1)])
def test_a_csv_row_with_more_cells_than_the_first_is_torn_and_shows_its_first_side(
    tmp_path: Path, header: bytes, first: int
) -> None:
    (tmp_path / "a.csv").write_bytes(header + b'"Today, a tree",zuhaitz bat\nToday, the tree,zuhaitza\nyes,bai,,\n')
    assert read(CorpusConfig(path="a.csv"), tmp_path) == [
        (first, b"Today, a tree", b"zuhaitz bat"),
        (first + 1, b"Today", None),
        (first + 2, b"yes", b"bai"),
    ]


def test_a_tsv_row_with_more_cells_than_named_columns_is_torn(tmp_path: Path) -> None:
    row = b"Press Tab\tto indent the line\tTabulator\n"  # a text that holds a tab
    (tmp_path / "a.tsv").write_bytes(b"en\tde\n" + row + b"yes\tja\t\n")
    named = CorpusConfig(path="a.tsv", src_column="en", tgt_column="de")
    assert read(named, tmp_path) == [(2, b"Press Tab", None), (3, b"yes", b"ja")]
    swapped = CorpusConfig(path="a.tsv", src_column="de", tgt_column="en")
    assert read(swapped, tmp_path) == [(2, None, b"Press Tab"), (3, b"ja", b"yes")]
    (tmp_path / "a.tsv").write_bytes(b"yes\tja\n" + row)  # where nothing has a name it may be a remark
    assert read(CorpusConfig(path="a.tsv"), tmp_path)[1] == (2, b"Press Tab", b"to indent the line")


def test_what_conll_u_has_beside_its_words_is_no_word(tmp_path: Path) -> None:
    def row(number: str, word: str, tag: str) -> str:
        return "\t".join([number, word, "_", tag, *"______"]) + "\n"

    text = "# id 7f3a domain=en\n" + row("1", "va", "VERB") + row("2-3", "au", "_") + row("2", "à", "ADP")
    text += row("3", "le", "DET") + row("3.1", "x", "_")
    (tmp_path / "a.conll").write_text(text, encoding="utf-8")
    named = CorpusConfig(path="a.conll", src_column="2", tgt_column="4")
    assert read(named, tmp_path) == [(1, "va à le".encode(), b"VERB ADP DET")]
    (tmp_path / "b.conll").write_text("3-4\tNUM\n8.1\tNUM\n", encoding="utf-8")
    assert read(CorpusConfig(path="b.conll"), tmp_path) == [(1, b"3-4 8.1", b"NUM NUM")]


def test_an_entity_of_many_digits_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"src\ttgt\n&#{'9' * 5000};\t&#x41;&#1114112;\n", encoding="utf-8")
    assert read(CorpusConfig(path="a.tsv", unescape=True), tmp_path) == [
        (2, f"&#{'9' * 5000};".encode(), "A\ufffd".encode())
    ]


@pytest.mark.parametrize("offsets", [[0, 3, 6, 2**30, 2**30 + 50], [0, -5, 3, 2, 1]])
def test_an_arrow_file_whose_texts_lie_outside_of_it_is_damaged(tmp_path: Path, offsets: list[int]) -> None:
    path = tmp_path / "a.arrow"
    batch = pa.record_batch({"src": ["abc", "def", "ghi", "jkl"], "tgt": ["a", "b", "c", "d"]})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    before, after = (np.array(places, np.int32).tobytes() for places in ([0, 3, 6, 9, 12], offsets))
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(DataError, match=r"a.arrow cannot be read \(.*ffset"):
        read(CorpusConfig(path="a.arrow"), tmp_path)


def test_a_line_break_among_the_codes_of_tmx_is_a_blank(tmp_path: Path) -> None:
    unit = '<tuv xml:lang="{}"><seg>one<ph>&lt;br/></ph>two<ph type="lb"/>three <ph>{{1}}</ph></seg></tuv>'
    text = f"<tmx><body><tu>{unit.format('en')}{unit.format('zh')}</tu></body></tmx>"
    (tmp_path / "a.tmx").write_text(text, encoding="utf-8")
    assert read(CorpusConfig(path="a.tmx"), tmp_path) == [(1, b"one two three ", b"one two three ")]


def test_numbers_of_tmx_that_are_no_character_are_blanks(tmp_path: Path) -> None:
    """Some programs export them; a whole memory is not refused for one."""
    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="zh"><seg>甲</seg></tuv></tu>'
    texts = {
        "a&#x1F;b": "a b",
        "&#0;&#31;&#xFFFF;&#xd83d;&#56832;&#1114112;": " " * 6,
        "&#9;&#x5B57;&#x1F600;": "\t字😀",
    }
    body = "".join(unit.format(text) for text in texts)
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be"):
        mark = "\ufeff" if encoding[-2:] in ("le", "be") else ""
        data = f"{mark}<tmx><body>{body}</body></tmx>".encode(encoding)
        (tmp_path / "a.tmx").write_bytes(data)
        found = [src for _, src, _ in read(CorpusConfig(path="a.tmx"), tmp_path)]
        assert found == [text.encode() for text in texts.values()], encoding
        for size in range(1, 40):  # wherever one piece that is read ends and the next begins
            file = _Legal(BytesIO(data))
            assert b"".join(iter(lambda: file.read(size), b"")) == _Legal(BytesIO(data)).read(10_000)  # noqa: B023
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{unit.format('&#' + '9' * 5000 + ';')}", encoding="utf-8")
    with pytest.raises(DataError, match="not well-formed TMX"):
        read(CorpusConfig(path="a.tmx"), tmp_path)


def test_tmx_units_without_codes_or_a_language_and_with_entities_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_bytes(
        """<?xml version="1.0" encoding="UTF-16"?>
        <!DOCTYPE tmx [<!ENTITY bomb "boom"><!ENTITY file SYSTEM "file:///etc/hostname">]>
        <tmx version="1.4"><header/><body>
        <tu><tuv xml:lang="en"><seg>A <bpt i="1">&lt;b></bpt>bold<ept i="1"/> <hi>dog</hi>
runs</seg></tuv><tuv xml:lang="zh"><seg>狗<!-- no -->跑</seg></tuv></tu>
        <tu><tuv xml:lang="en"><seg>&bomb;</seg></tuv><tuv xml:lang="zh"><seg>一<hi>&file;</hi>二</seg></tuv></tu>
        <tu><tuv lang="EN-GB"><seg>old style</seg></tuv><tuv lang="zhx"><seg>x</seg></tuv></tu>
        <tu><tuv xml:lang="zh"><seg>三</seg></tuv><tuv xml:lang="en"/></tu>
        </body></tmx>""".encode("utf-16")
    )
    corpus = CorpusConfig(path="a.tmx")
    assert read(corpus, tmp_path) == [
        (1, b"A bold dog runs", "狗跑".encode()),
        (2, b"&bomb;", "一&file;二".encode()),
        (3, b"old style", None),
        (4, None, "三".encode()),
    ]
    assert place(corpus_files(corpus, base=tmp_path), 2) == "a.tmx unit 2"


def test_a_large_tmx_is_read_in_flat_memory(tmp_path: Path) -> None:
    import tracemalloc

    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="zh"><seg>{}</seg></tuv></tu>\n'
    with (tmp_path / "a.tmx").open("w", encoding="utf-8") as file:
        file.write("<tmx><body>")
        file.writelines(unit.format(f"sentence {n} " * 20, "句子" * 50) for n in range(8000))
        file.write("</body></tmx>")
    tracemalloc.start()
    n_pairs = sum(
        len(block.src)
        for block in read_blocks(CorpusConfig(path="a.tmx"), base=tmp_path, src_lang="en", tgt_lang="zh", size=500)
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_pairs == 8000
    assert peak < 3_000_000  # the file is 5 MB, a block 0.4 MB


def test_units_of_tmx_that_were_read_are_forgotten(tmp_path: Path) -> None:
    """What lxml holds is not in the memory that Python traces."""
    tmx(tmp_path / "a.tmx")
    assert max(sum(1 for _ in unit.itersiblings(preceding=True)) for unit in _units(tmp_path / "a.tmx")) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            b"A dog, a big one;Ein Hund, ein grauer\n",
            "2 are needed: .*; separate .* with a comma, not a semicolon or a tab",
        ),
        ("a.csv", b"Yes;Ja, das ist es\n", "with a comma, not a semicolon"),
        ("a.csv", b"A dog, a big one\tEin Hund, ein grauer\n", "with a comma, not a semicolon or a tab"),
        ("a.tsv", b"only one column\n", "the first line has 1 columns, 2 are needed: 'only one column'"),
        ("a.tsv", b"", "the first line is empty; it needs text, or names of columns"),
        ("a.jsonl", b'{"de": "x", "zh": "y"}\n', "the first line has no text under 'src', it begins '{\"de\": "),
        ("a.jsonl", b"", "the first line has no text under 'src'"),
        (
            "a.json",
            b' [\n {"src": "x", "tgt": "y"}]',
            r"begins ' \['; make lines of the array: `jq -c '\.\[\]' OLD > NEW`",
        ),
        ("a.parquet", b"PAR1 no", r"a\.parquet cannot be read \(.*\); write it again"),
        ("a.arrow", b"ARROW1 no", r"a\.arrow cannot be read \(.*\); write it again"),
        ("a.tmx", b"<tmx><body><tu>", r"a\.tmx is not well-formed TMX: .*; mend it there, or export it again"),
        ("a.tmx", b"<tmx>\n<body><tu>&nbsp;</tu></body></tmx>", "Entity 'nbsp' not defined, line 2; mend it there"),
        ("a.tmx", b"", r"a\.tmx is not well-formed TMX: .*; mend it there"),
        ("a.tmx", b"<tmx><body/></tmx>", "has no unit in both en and zh, it holds no languages"),
        ("a.tmx", b'<tmx><tu><tuv xml:lang="fr"><seg>x</seg></tuv></tu></tmx>', "in both en and zh, it holds fr;"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(CorpusConfig(path=name), tmp_path)


@pytest.mark.parametrize(
    "row", [b"It&#39;s good, gut", b"A&nbsp;dog &amp; a cat, gut", b"One; two, gut", b"Good ;), gut", b"a;b,gut"]
)
def test_a_semicolon_inside_of_a_text_tears_nothing(tmp_path: Path, row: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(row + b"\n")
    assert read(CorpusConfig(path="a.csv"), tmp_path) == [(1, *row.split(b","))]


def test_lines_that_are_no_utf_8_are_handed_on_to_be_counted(tmp_path: Path) -> None:
    line = '{"src": "é", "tgt": "ü"}'
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([line.encode("latin-1"), line.encode(), b"{}"]))
    rows = read(CorpusConfig(path="a.jsonl"), tmp_path)
    assert rows[1:] == [(2, "é".encode(), "ü".encode()), (3, None, None)]
    assert rows[0] == (1, line.encode("latin-1"), line.encode("latin-1"))


def test_a_long_field_is_a_field(tmp_path: Path) -> None:
    long = b"word " * 100_000
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + long + b",c\n")
    assert read(CorpusConfig(path="a.csv"), tmp_path) == [(1, b"a", b"b"), (2, long, b"c")]


def test_instructions_inside_of_tmx_are_no_text(tmp_path: Path) -> None:
    unit = '<tuv xml:lang="{}"><seg>a<?x y?>b<!-- c --></seg></tuv>'
    text = f"<tmx><body><tu>{unit.format('en')}{unit.format('zh')}</tu></body></tmx>"
    (tmp_path / "a.tmx").write_text(text, encoding="utf-8")
    assert read(CorpusConfig(path="a.tmx"), tmp_path) == [(1, b"ab", b"ab")]


def test_missing_columns_are_named_beside_those_there(tmp_path: Path) -> None:
    tsv_with_header(tmp_path / "a.tsv")
    with pytest.raises(DataError, match=r"no column 'en' or 'zh' in the first line 'id\\ttgt\\tsrc'"):
        read(CorpusConfig(path="a.tsv", src_column="en", tgt_column="zh"), tmp_path)
    (tmp_path / "a.csv").write_bytes(b"text,label\n")
    with pytest.raises(
        DataError, match=r"no column 'tgt' in the first line 'text,label'; name the columns with src_column"
    ):
        read(CorpusConfig(path="a.csv", src_column="text"), tmp_path)
    with pytest.raises(DataError, match=r"no column 'src' or 'lable' in the first line 'text,label'"):
        read(CorpusConfig(path="a.csv", tgt_column="lable"), tmp_path)
    for src, tgt in (("1", "zh"), ("en", "3"), ("0", "3"), ("3", "0")):  # numbers are two, and from 1
        with pytest.raises(DataError, match=rf"no column '{src}' or '{tgt}' in the first line"):
            read(CorpusConfig(path="a.tsv", src_column=src, tgt_column=tgt), tmp_path)
    parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has the columns n, src, tgt and not one named 'en'"):
        read(CorpusConfig(path="a.parquet", src_column="en"), tmp_path)
    pq.write_table(pa.table([["a"], ["b"], ["c"]], names=["src", "src", "tgt"]), tmp_path / "c.parquet")
    with pytest.raises(DataError, match="has the columns src, src, tgt and not one named 'src'"):
        read(CorpusConfig(path="c.parquet"), tmp_path)
    pq.write_table(pa.table({"n": [1.5], "tgt": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="column 'n' holds double, not text"):
        read(CorpusConfig(path="b.parquet", src_column="n"), tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give either src and tgt"),
        ({"tgt": "a"}, "give either src and tgt"),
        ({"src": "a", "path": "c.tsv"}, "give either src and tgt"),
        ({"src": "a", "tgt": "b", "path": "c.tsv"}, "give either src and tgt"),
        ({"tgt": "b", "path": "c.tsv"}, "give either src and tgt"),
        ({"path": "c.doc"}, r"'c.doc' has none of the suffixes \.tsv, "),
        ({"path": "c.tsv", "weight": -1.0}, "corpus weight is -1.0"),
    ],
)
def test_a_corpus_is_two_files_or_one(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CorpusConfig(**settings)  # type: ignore[arg-type]


def test_a_variable_may_hold_the_whole_path_of_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tsv").write_bytes(b"dog\tHund\n")
    monkeypatch.setenv("CORPUS", str(tmp_path / "a.tsv"))
    assert read(CorpusConfig(path="${CORPUS}"), tmp_path) == [(1, b"dog", b"Hund")]
    monkeypatch.setenv("CORPUS", "a.doc")
    with pytest.raises(ConfigError, match=r"'\$\{CORPUS\}' has none of the suffixes \.tsv, "):
        CorpusConfig(path="${CORPUS}")
    monkeypatch.delenv("CORPUS")
    with pytest.raises(DataError, match="the environment variable CORPUS is not set"):
        read(CorpusConfig(path="${CORPUS}"), tmp_path)


@pytest.mark.parametrize(("name", "package"), [("a.parquet", "pyarrow"), ("a.tmx", "lxml")])
def test_a_missing_package_is_named(tmp_path: Path, name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"needs {package}: pip install 'yiwen\[train\]'"):
        read(CorpusConfig(path=name), tmp_path)


def test_the_variant_of_the_language_asked_for_is_read_where_there_are_several(tmp_path: Path) -> None:
    variants = "".join(
        f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>'
        for code in ("en-GB", "en", "zh-TW", "zh-CN", "pt-PT", "pt-BR")
    )
    (tmp_path / "a.tmx").write_text(f"<tmx><body><tu>{variants}</tu></body></tmx>", encoding="utf-8")
    for wanted, code in {"en": "en", "zh": "zh-CN", "zh-Hant": "zh-TW", "pt-BR": "pt-BR", "pt": "pt-PT"}.items():
        (block,) = read_blocks(CorpusConfig(path="a.tmx"), base=tmp_path, src_lang="en", tgt_lang=wanted, size=2)
        assert block.tgt == [code.encode()]


def test_an_open_quote_swallows_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src,tgt\none,eins\n"two,zwei\nthree,drei\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv is not CSV near line 4 \(.*\); close or double its quotes"):
        read(CorpusConfig(path="a.csv"), tmp_path)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n"])
def test_a_carriage_return_inside_of_a_csv_row_ends_no_row(tmp_path: Path, end: bytes) -> None:
    rows = [b"src,tgt", b"one\rtwo,eins zwei", b'"three\r\r four",drei', b'five,"sechs"']  # as pandas writes them
    (tmp_path / "a.csv").write_bytes(end.join(rows) + end)
    assert read(CorpusConfig(path="a.csv"), tmp_path) == [
        (2, b"one two", b"eins zwei"),
        (3, b"three  four", b"drei"),
        (4, b"five", b"sechs"),
    ]


def test_a_csv_of_another_time_and_a_new_kind_of_arrow_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"src,tgt\rone,eins\rtwo,zwei\r")
    assert [pair[1:] for pair in read(CorpusConfig(path="a.csv"), tmp_path)] == [(b"one", b"eins"), (b"two", b"zwei")]
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfsep=,\r\ntgt,src\r\neins,one\r\nsep=,\r\n")  # for Excel
    found = [pair[1:] for pair in read(CorpusConfig(path="a.csv"), tmp_path)]
    assert found == [(b"one", b"eins"), (b"", b"sep=")]
    view = pa.table({name: pa.array([name], pa.string_view()) for name in ("src", "tgt")})
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), view.schema) as writer:
        writer.write_table(view)
    assert [pair[1:] for pair in read(CorpusConfig(path="a.arrow"), tmp_path)] == [(b"src", b"tgt")]


def test_bytes_that_are_no_text_pass_through_a_table_to_where_they_are_counted(tmp_path: Path) -> None:
    broken = pa.array([b"caf\xe9", b"fine", None], pa.binary()).cast(pa.large_binary())
    for kind in (pa.string(), pa.large_string()):
        column = pa.Array.from_buffers(
            kind, 3, broken.cast(pa.binary() if kind == pa.string() else broken.type).buffers()
        )
        pq.write_table(pa.table({"src": column, "tgt": ["a", "b", "c"]}), tmp_path / "a.parquet")
        found = [pair[1:] for pair in read(CorpusConfig(path="a.parquet"), tmp_path)]
        assert found == [(b"caf\xe9", b"a"), (b"fine", b"b"), (None, b"c")]


def test_null_in_the_first_line_is_a_row_without_text_and_no_missing_column(tmp_path: Path) -> None:
    text = '{"src": "a", "tgt": null}\n{"src": "b", "tgt": "c"}\n'
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    corpus = CorpusConfig(path="a.jsonl", src_column="src", tgt_column="tgt")
    assert read(corpus, tmp_path) == [(1, b"a", None), (2, b"b", b"c")]
    text = '{"translation": null}\n{"translation": {"en": "b", "zh": "c"}}\n'
    (tmp_path / "b.jsonl").write_text(text, encoding="utf-8")
    inner = CorpusConfig(path="b.jsonl", src_column="translation.en", tgt_column="translation.zh")
    assert read(inner, tmp_path) == [(1, None, None), (2, b"b", b"c")]


def test_of_two_files_the_damaged_one_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b"line %d\n" % n for n in range(50_000)))
    (tmp_path / "a.en.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "a.de").write_bytes(b"zeile\n" * 50_000)
    with pytest.raises(DataError, match=r"a\.en\.gz is damaged"):
        read(CorpusConfig(src="a.en", tgt="a.de"), tmp_path)
    with pytest.raises(DataError, match=r"a\.en\.gz is damaged"):
        read(CorpusConfig(src="a.de", tgt="a.en"), tmp_path)
