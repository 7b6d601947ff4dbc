"""Every format: with a translator that changes nothing it comes back to the byte, else only text changes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polib
import pysubs2
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml import etree, html
from markdown_it import MarkdownIt
from mdit_py_plugins.admon import admon_plugin
from papers import (
    CSV,
    HTML,
    JSON,
    MARKDOWN,
    PO,
    SRT,
    TEXTS,
    TMX,
    TSV,
    VTT,
    XLIFF,
    XLIFF2,
    Fake,
    texts_of,
    translated_here,
    upper,
)

TARGETS = {"po": PO, "xliff": XLIFF, "tmx": TMX}


@pytest.mark.parametrize("suffix", TEXTS)
def test_without_a_change_it_comes_back_to_the_byte(suffix: str) -> None:
    data = TEXTS[suffix].encode()
    for variant in (data, b"\xef\xbb\xbf" + data, data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), b""):
        if variant or suffix != "json":
            assert translated_here(variant, suffix, str) == variant
    assert translated_here(TEXTS[suffix].encode("utf-16"), suffix, str) == TEXTS[suffix].encode("utf-16")


@pytest.mark.parametrize("suffix", TEXTS)
def test_only_letters_change(suffix: str) -> None:
    source = TEXTS[suffix].replace("\\u00e9", "x").replace("<\\/b>", "</b>")
    out = translated_here(source, suffix).decode()
    # Markdown joins the lines of a paragraph, and says with a star what a line may not say in every language.
    assert re.sub(r"\s+>?\s*", " ", out).lower() == re.sub(r"\s+>?\s*", " ", source).lower()
    assert out != source


@pytest.mark.parametrize(
    "text",
    [
        "See <a><img/></a> the <b>dog</b>.",
        "See <b>it</b> <a><img/></a> <b>run</b>.",
        "See <b>the <img/></b> now.",
        "See <b>the <img/> <a><img/> <img/></a></b> now.",
    ],
)
def test_blanks_beside_pictures_stay(text: str) -> None:
    assert translated_here(f"<p>{text}</p>", "html").decode().lower() == f"<p>{text.lower()}</p>"
    assert json.loads(translated_here(json.dumps([text]), "json"))[0].lower() == text.lower()
    marked = re.sub("</?[bi]>", "**", text.replace("<img/>", "![x](y)")).replace("<a>", "[").replace("</a>", "](z)")
    assert translated_here(marked, "md").decode().lower() == marked.lower()


def test_lines_around_a_picture_become_stars_on_both_sides() -> None:
    assert (
        translated_here("See **it _![x](y)_** _![x](y)_ now.", "md").decode() == "SEE **IT *![x](y)*** *![x](y)* NOW."
    )


def test_a_placeholder_without_a_word_keeps_blanks_from_the_edge_of_its_mark() -> None:
    source, target = (
        "Now **{n} files** run.",
        {"Now {n} files run.": "现在文件运行。", "Now 7 files run.": "现在文件运行。"},
    )
    fake = Fake(target, {"Now 7 files run.": [(0, 0), (0, 1), (2, 2), (2, 3), (3, 4), (3, 5)]})
    assert translated_here(source, "md", fake=fake, tgt_lang="zh").decode() == "现在 **{n} 文件**运行。"


@pytest.mark.parametrize("suffix", TARGETS)
def test_what_is_filled_stays_as_it_is(suffix: str) -> None:
    filled = translated_here(TARGETS[suffix], suffix, tgt_lang="de")
    assert translated_here(filled, suffix, tgt_lang="de") == filled
    assert translated_here(filled.replace(b"\n", b"\r\n"), suffix, tgt_lang="de") == filled.replace(b"\n", b"\r\n")


def test_markdown_keeps_its_marks_code_and_front_matter() -> None:
    out = translated_here(MARKDOWN, "md").decode()
    assert out.startswith("---\ntitle: left alone\n---\n# A MAN *AND* HIS DOG ##\n\nTWO **BIG DOGS** RUN TO ")
    for same in ("`make test`", '](http://x.org/a_b "Title").', "    indented code\n", '```python\nprint("code")\n```'):
        assert same in out
    for changed in (
        "- [ ] ONE CAT\n- TWO CATS WITH {n} TAILS",
        "> A QUOTED LINE\n",
        "| **CELL** TWO |",
        "<p>INSIDE HTML</p>",
    ):
        assert changed in out
    assert out.endswith("[ref]: http://x.org\n")


@pytest.mark.parametrize(
    ("source", "target", "written"),
    [
        ("text", "# no heading", "\\# no heading"),
        ("text", "1. no list", "1\\. no list"),
        ("text", "- no list", "\\- no list"),
        ("text", "!!! no note", "\\!!! no note"),
        ("text", "$$ no formula", "\\$$ no formula"),
        ("text", '=== "no tab"', '\\=== "no tab"'),
        ("text", "a *b* _c_ `d` <e> [f] &lt; g_h", "a \\*b\\* \\_c\\_ \\`d\\` \\<e> \\[f\\] \\&lt; g_h"),
        ("a \\* b &amp; c", "A * B & C", "A \\* B & C"),
        ("| a |\n|---|\n| b |", "x|y", "| x\\|y |\n|---|\n| x\\|y |"),
        ("_a_ b", "c d", "*c* d"),
        ("x `` a*b`_ `` y", "a*b`_ y z", "`` a*b`_ `` y z"),
        ("x <http://a_b.org/*> y", "z", "<http://a_b.org/*> z"),
    ],
)
def test_a_translation_cannot_become_markdown(source: str, target: str, written: str) -> None:
    assert translated_here(source, "md", lambda text: target).decode() == written


def test_html_is_read_by_lxml_as_the_same_tree_with_other_texts() -> None:
    out = translated_here(HTML, "html", tgt_lang="zh-Hans").decode()
    before, after = (html.document_fromstring(text.encode()) for text in (HTML, out))
    assert [element.tag for element in after.iter()] == [element.tag for element in before.iter()]
    assert after.get("lang") == "zh-Hans"
    assert after.xpath("//p[1]")[0].text_content() == "A BIG RED DOG <RUNS>TO THE HOUSE."
    assert after.xpath("//meta[@name]/@content | //img/@alt") == ["ABOUT DOGS", "A DOG"]
    for tag in ("script", "style", "pre", "code"):
        assert [e.text for e in after.iter(tag)] == [e.text for e in before.iter(tag)]
    assert "never this" in out


@pytest.mark.parametrize("target", ["<img src=x onerror=alert(1)>", "</p><script>alert(1)</script>", "&lt;b&gt; \"'"])
def test_a_translation_cannot_become_markup(target: str) -> None:
    tree = html.document_fromstring(translated_here('<p title="a b">some text</p>', "html", lambda text: target))
    assert [element.tag for element in tree.iter()] == ["html", "body", "p"]
    assert (tree.xpath("//p")[0].text, tree.xpath("//p/@title")) == (target, [target])


def test_old_encodings_are_kept_and_characters_they_lack_are_written_as_numbers() -> None:
    source = '<meta charset="windows-1252"><p>Caf\u00e9 au lait</p>'
    out = translated_here(source.encode("cp1252"), "html", lambda text: "caf\u00e9 \u8336")
    assert out.decode("cp1252") == '<meta charset="windows-1252"><p>caf\u00e9 &#33590;</p>'
    chinese = '<meta charset="gb2312"><p>\u8336</p>'.encode("gb18030")
    assert translated_here(chinese, "html", lambda text: "tea").decode("gb18030") == '<meta charset="gb2312"><p>tea</p>'
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=GB2312\\n"\n\n#, fuzzy\nmsgid "A dog"\n'
    out = translated_here(f'{head}msgstr ""\n', "po", lambda text: "乔治·奥威尔——作家", tgt_lang="zh")
    assert out == f'{head}msgstr "乔治·奥威尔——作家"\n'.encode("gb18030")  # both signs as GB 2312 has them


@pytest.mark.parametrize(("target", "encoding"), [("th\u00e9", "iso-8859-1"), ("\u8336", "UTF-8")])
def test_a_po_file_becomes_utf_8_where_its_encoding_lacks_a_character(target: str, encoding: str) -> None:
    source = '# caf\u00e9\n"Content-Type: text/plain; charset=iso-8859-1\\n"\n#, fuzzy\nmsgid "tea"\nmsgstr ""\n'
    out = translated_here(source.encode("iso-8859-1"), "po", lambda text: target)
    assert out.decode(encoding) == source.replace("iso-8859-1", encoding).replace('""', f'"{target}"')


def test_subtitles_are_read_by_pysubs2_with_the_same_times() -> None:
    for source, suffix in ((SRT, "srt"), (VTT, "vtt")):
        out = translated_here(source, suffix).decode()
        before, after = (pysubs2.SSAFile.from_string(text, format_=suffix) for text in (source, out))
        assert [(e.start, e.end, e.text.upper()) for e in before] == [(e.start, e.end, e.text.upper()) for e in after]
        assert out.count("A FRIEND.") + out.count("&amp; <c.loud>CHIPS") == 1


def test_a_cue_begins_without_a_blank_line_too() -> None:
    cue = "00:00:0{0},000 --> 00:00:0{0},900\n"
    source = f"1\n{cue.format(1)}One.\n2\n{cue.format(2)}In\n1986\n\n{cue.format(3)}Three.\n{cue.format(4)}Four.\n"
    source += f"5 \t\n{cue.format(5)}Five.\n"
    assert texts_of(source, "srt") == ["One.", "In 1986", "Three.", "Four.", "Five."]
    assert translated_here(source, "srt").decode() == re.sub("[a-z]", lambda found: found[0].upper(), source)


@pytest.mark.parametrize("suffix", TEXTS)
def test_line_ends_of_old_macs_are_line_ends(suffix: str) -> None:
    source = TEXTS[suffix].replace("\r\n", "\n").encode()
    out = translated_here(source.replace(b"\n", b"\r"), suffix)
    assert out == translated_here(source, suffix).replace(b"\n", b"\r")


def test_json_and_tables_are_read_by_the_standard_library() -> None:
    assert json.loads(translated_here(JSON, "json")) == {
        **json.loads(JSON),
        "title": "A RED DOG",
        "html": 'PRESS <b>START</b> OR "STOP" \u00c9',
        "list": ["ONE DOG", None, True, {"deep": "{n} CATS"}],
    }
    rows = list(csv.reader(io.StringIO(translated_here(CSV, "csv").decode(), newline="")))
    assert rows[1:] == [["SKU-7", 'HELLO, "YOU"', "PLAIN DOG"], ["8", "TWO\nLINES", "=1+2"]]
    assert translated_here(TSV, "tsv").decode() == TSV.upper()
    quoted = '1\t"First line of it\nsecond line"\n2\t"Good" dog\n'  # as spreadsheets write a cell of two lines
    assert (
        translated_here(quoted.replace('"Good" dog', "Good dog"), "tsv").decode()
        == quoted.replace('"Good" dog', "Good dog").upper()
    )
    rows = [*csv.reader(translated_here('1\t"a ""b"" c\nd"\n', "tsv").decode().splitlines(True), "excel-tab")]
    assert rows == [["1", 'A "B" C\nD']]
    assert translated_here('"Hi" he said\tx\n"Go', "tsv").decode() == '"HI" HE SAID\tX\n"GO'


@pytest.mark.parametrize(
    ("target", "cell"),
    [("=cmd()", "'=cmd()"), ("@x", "'@x"), ("a,b", '"a,b"'), ('a "b"', '"a ""b"""'), ("a\nb", '"a\nb"')],
)
def test_a_translation_cannot_become_a_cell_or_a_formula(target: str, cell: str) -> None:
    assert translated_here("some text,7\n", "csv", lambda text: target).decode() == f"{cell},7\n"


def test_cells_and_values_that_are_no_prose_are_left_alone() -> None:
    assert (
        texts_of('{"a": "SKU-7", "b": "menu.open", "c": "2026-01-02", "d": "\\ud83d x", "e": "camelCase"}', "json")
        == []
    )
    assert texts_of("http://x.org/a;some text;12,5;a@b.org;user_name\n", "csv") == ["some text"]
    assert texts_of('["#fff", "rgb(1, 2, 3)", "hsla(9 9% 9% / 0.5)", "#1 of all", "rgb is red"]', "json") == [
        "#1 of all",
        "rgb is red",
    ]
    assert texts_of("red;#abc;#ABCDEF80\n", "csv") == ["red"]
    assert texts_of('["images/图片1.png", "C:\\\\docs\\\\a.txt", "документы/отчёт.docx"]', "json") == []
    assert texts_of('some text,=SUM(A1:A9),"=IF(A1>0,""yes we"",\n""no"")"\n', "csv") == ["some text"]
    assert texts_of('["data:image/png;base64,iVBOR/w0K+Ghg==", "aGVsbG8gd29ybGQ1+/=", "a b"]', "json") == ["a b"]


@pytest.mark.parametrize("suffix", ["arb", "json"])
def test_what_a_key_with_an_at_sign_tells_programs_is_no_text(suffix: str) -> None:
    told = '{"type": "String", "more": {"@in": ["a", {"b": "Bob"}]}}'
    source = f'{{"@@locale": "en", "hi": "hello {{n}}",\n "@hi" : {told}, "@a": "x", "bye": ["bye", {{"@id": "see"}}]}}'
    written = source.replace('"hello', '"HELLO').replace('["bye"', '["BYE"')
    assert translated_here(source, suffix).decode() == written
    linked = '{"@type": "Person", "@graph": [{"@type": "Thing", "name": {"@value": "a dog", "@language": "en"}}]}'
    assert translated_here(linked, suffix).decode() == linked.replace("a dog", "A DOG")


def test_chinese_with_a_number_and_a_word_with_a_mark_are_prose() -> None:
    prose = ["共3个文件", "删除/恢复", "COVID-19疫情", "Password:", "Loading...", "Привет."]
    assert texts_of(json.dumps(prose), "json") == prose


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('"Net price,\nwithout tax";"a, b"\n"good dog";7\n', ["Net price,\nwithout tax", "a, b", "good dog"]),
        ("Turnover, net;Price\nred apple;3\n", ["Turnover, net", "Price", "red apple"]),
        ("one, two, three|four, five\nred apple|a, b\n", ["one, two, three", "four, five", "red apple", "a, b"]),
        ("red apple;one, two, three\nragged;row;here\n", ["red apple;one", " two", " three", "ragged;row;here"]),
    ],
)
def test_what_separates_cells_is_what_gives_every_row_as_many(source: str, texts: list[str]) -> None:
    assert texts_of(source, "csv") == [text.strip() for text in texts]


def test_the_line_by_which_excel_knows_the_separator_stays() -> None:
    assert texts_of("sep=;\r\n1;Hello you\r\n", "csv") == ["Hello you"]


@pytest.mark.parametrize(
    ("source", "suffix", "text"),
    [
        ("四月里的一天，天气晴朗而寒冷，那个男人带着狗走出家门，\n谁也没有看见他们。\n", "txt", "…家门，谁也…"),
        ("天气晴朗，\n他的狗（大狗）\n跑了。\n", "md", "天气晴朗，他的狗（大狗）跑了。"),
        ("1\n00:00:01,000 --> 00:00:02,000\n天气晴朗，\n他的狗跑了。\n", "srt", "天气晴朗，他的狗跑了。"),
        ("It is “good”\nhere.\n", "md", "It is “good” here."),
    ],
)
def test_no_blank_comes_between_the_lines_of_chinese(source: str, suffix: str, text: str) -> None:
    (found,) = texts_of(source, suffix)
    assert text.strip("…") in found


def test_numbered_tags_of_a_program_are_tags() -> None:
    assert texts_of('["Read <0>the docs</0> now<1/>, 1 < 2 > 0"]', "json") == ["Read the docs now, 1 < 2 > 0"]


def test_text_wrapped_at_one_width_is_one_text_and_wrapped_again() -> None:
    source = "It was a bright day in April, and the clocks all\nwere striking thirteen when the man went out of\nhis "
    source += "house.\n"
    assert texts_of(source, "txt") == [" ".join(source.split())]
    assert translated_here(source, "txt").decode() == source.upper()
    source = source.replace("were striking thirteen", "13 of them were striking", 1)  # a number is no bullet
    assert texts_of(source, "txt") == [" ".join(source.split())]
    assert len(texts_of("A first sentence that is quite long, as is usual.\nA second one.\n", "txt")) == 2
    chinese = (
        "　　四月里的一天，天气晴朗而寒冷，钟敲了13下，那个男人\n走出了家门，他的狗跟在后面，谁也没有看见他们两个。\n"
    )
    assert texts_of(chinese, "txt") == ["".join(chinese.split())]  # a character is two columns wide
    for title in (
        "《平凡的世界》是中国作家路遥创作的一部百万字的小说\n作者：路遥\n",
        "北京市海淀区中关村大街二十七号中关村大厦十一层一一零六室\n邮编 100080\n",
        "关于进一步加强和改进新形势下高校宣传思想工作的意见\n（二零一五年一月）\n",
    ):
        assert texts_of(title, "txt") == title.split("\n")[:-1]  # neither ends as a sentence does
        assert texts_of("- " + title.replace("\n", "\n  ", 1), "txt") == [title.replace("\n", "")]


@pytest.mark.parametrize(
    ("source", "n_texts"),
    [
        ("- The first thing which we need to do is to open the\n  box and then the other.\n- The second.\n", 2),
        ("12. The first thing which we need to do is to open\n    the box and then the other.\n13. The second.\n", 2),
        ("    A paragraph as books have it begins further in and\ngoes on at the margin, line after line.\n", 1),
        ("    He said a thing or two that is worth to be told and\n    went on to the end of it.\n", 1),
        ("Here are some things which you will need to do now\n    make check && make test\n", 2),
        ("- The first thing which we need to do is to open the\nbox, then the other.\n", 2),
        ("- The first thing which we need to do is to open the\n      make check && make test\n", 2),
        ("The things which we need to do are these, of which\nall are easy:\n- The first.\n- The second.\n", 3),
        ("-  \n  The things which we need to do are these, of them\n", 1),
    ],
)
def test_wrapped_lines_of_lists_paragraphs_and_quotations_are_one_text_and_keep_where_they_stand(
    source: str, n_texts: int
) -> None:
    assert len(texts_of(source, "txt")) == n_texts
    assert translated_here(source, "txt").decode() == source.upper()


def test_po_is_read_by_polib_with_its_placeholders() -> None:
    out = polib.pofile(translated_here(PO, "po").decode())
    assert [(entry.msgstr, entry.msgstr_plural) for entry in out if not entry.obsolete] == [
        ("HELLO %s, <b>DEAR</b> FRIEND\n", {}),
        ("behalten", {}),
        ("", {0: "ONE FILE", 1: "{n} FILES"}),
    ]
    only = 'msgid "a file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'  # a language without plurals
    assert polib.pofile(translated_here(only, "po").decode())[0].msgstr_plural == {0: "%d FILES"}


def test_xliff_targets_are_filled_where_there_are_none() -> None:
    tree = etree.fromstring(translated_here(XLIFF, "xlf"))
    targets = tree.findall(".//{*}trans-unit/{*}target")
    assert [etree.tostring(t, method="text", encoding="unicode").strip() for t in targets] == [
        "A RED DOG RUNS",
        "fertig",
        "TO DO",
        "<b>BOLD</b> TEXT",
    ]
    assert [child.tag.split("}")[1] for child in targets[0]] == ["g", "x"]
    assert targets[2].get("state") == "needs-review-translation"
    assert [e.tag.split("}")[1] for e in targets[3].getparent()] == ["source", "seg-source", "target"]
    second = etree.fromstring(translated_here(XLIFF2, "xliff"))
    assert ["".join(t.itertext()) for t in second.iter("{*}target")] == ["A RED DOG", "fertig"]


def test_tmx_gets_a_variant_in_the_new_language() -> None:
    tree = etree.fromstring(translated_here(TMX, "tmx", tgt_lang="de"))
    variants = [[(v.attrib.values()[0], "".join(v.itertext())) for v in unit] for unit in tree.iter("tu")]
    assert variants == [
        [("en-GB", "A red dog"), ("de", "A RED DOG")],
        [("en", "done"), ("de-DE", "fertig")],
        [("fr", "un chien")],
    ]


def test_translate_toolkit_reads_what_was_written() -> None:
    tmx = pytest.importorskip("translate.storage.tmx")
    from translate.storage import po, xliff

    for module, source, suffix in ((po.pofile, PO, "po"), (xliff.xlifffile, XLIFF, "xliff"), (tmx.tmxfile, TMX, "tmx")):
        store = module.parsestring(translated_here(source, suffix, tgt_lang="de"))
        assert any(str(unit.target).strip().isupper() for unit in store.units if unit.target)


LINES = st.text(st.characters(codec="utf-8"), max_size=40)


@given(LINES)
def test_any_plain_text_comes_back(text: str) -> None:
    for suffix in ("txt", "md", "html", "srt", "vtt", "tsv", "csv"):
        assert translated_here(text.encode(), suffix, str) == text.encode()


@given(
    st.lists(
        st.lists(LINES.filter(lambda cell: not set(cell) & set("\0\t;|")), min_size=2, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_any_table_keeps_its_cells(rows: list[list[str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    out = translated_here(written.getvalue().encode(), "csv", lambda text: text + ",\n\"'").decode()
    found = list(csv.reader(io.StringIO(out, newline="")))
    assert [len(row) for row in found] == [len(row) for row in csv.reader(io.StringIO(written.getvalue(), newline=""))]


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=7,
)


@given(JSONS, st.booleans(), st.sampled_from([None, 1]))
def test_any_json_comes_back_and_stays_json(value: object, is_ascii: bool, indent: int | None) -> None:
    data = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    assume(is_ascii or b"\xed" not in data)  # where half a character would begin
    assert translated_here(data, "json", str) == data
    json.loads(translated_here(data, "json", lambda text: upper(text) + '"\\\n'))


MARKS = st.text(st.sampled_from('ab \n*_`[]()<>!#&~|-1.\\$:/>"?'), max_size=40)


@given(MARKS)
def test_any_markdown_and_markup_comes_back(text: str) -> None:
    for suffix in ("md", "html", "srt", "vtt", "txt"):
        assert translated_here(text, suffix, str).decode() == text
        translated_here(text, suffix)


PIECES = [
    "foo",
    "bar",
    "\n",
    "\n\n",
    "\n|-|-|\n",
    "&amp;",
    "http://x.org",
    "{n}",
    "](x)",
    "<b>",
    "</b>",
    "1.",
    "**",
    "~~",
    "!!! foo",
    "\n    ",
]


def blocks_of(text: str) -> list[tuple[str, str]]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(admon_plugin).parse(text)
    return [(token.type, token.tag if token.type == "heading_open" else token.markup) for token in tokens]


def test_the_manual_itself_keeps_its_blocks_and_marks() -> None:
    for page in sorted((Path(__file__).parents[2] / "docs" / "en").glob("*.md")):
        source = page.read_text("utf-8")
        out = translated_here(source, "md", str.upper).decode()
        assert blocks_of(out) == blocks_of(source), page.name
        assert [code for code in re.findall(r"(?<!`)`[^`\n]+`", out) if code not in source] == [], page.name


def test_a_row_of_bars_that_joins_the_line_before_it_keeps_no_text_from_being_translated() -> None:
    assert texts_of("Don`t write a|\n|-|-|\nhere", "md") == ["Don`t write a| |-|-| here"]


@given(st.lists(st.sampled_from([*PIECES, *"*_`[>-#|\\!  "]), max_size=14).map("".join))
@example("<b>\n</b>foo")
@example("<b>\n|-|-|\n</b>foo")
@example("foo <b>\nfoo&amp;!!! foo")
@example("foo|\\\\<b>|`\n|-|-|\n`")
@example("-|bar\n**  \n|-|-|\n")
@example("1.|\n    foo\\\n|-|-|\n")
@example("foo|\\\\<b>|``\n|-|-|\n``")
@example("foo|\\\\<b>|$a\n|-|-|\nb$")
@example("foo|\\\\<b>|[a](b '\n|-|-|\n')")
@example("foo|\\\\<b>|<!-- \n|-|-|\n-->")
@example("foo|\\\\<b>|\\\n|\t-|\t-|\n")
def test_markdown_has_the_same_blocks_whatever_its_texts_become(text: str) -> None:
    out = translated_here(text, "md", lambda words: f"{words.upper()} *x*").decode()
    assert blocks_of(out) == blocks_of(text)


TAGS = ["<b>", "</b>", "<i>", "</i>", "<p>", "</p>", "<br>", "<img>", "<!--c-->", "<code>", "</code>", "<x>", "</x>"]


@given(
    st.lists(st.sampled_from([*TAGS, "foo ", "bar", "&lt;", " ", "<span translate=no>", "</span>"]), max_size=14).map(
        "".join
    )
)
def test_html_has_the_same_tags_whatever_its_texts_become(text: str) -> None:
    out = translated_here(text, "html", lambda words: f"{words.upper()} <u>&").decode()
    assert sorted(re.findall("<[^>]*>", out)) == sorted(re.findall("<[^>]*>", text))


RUNS = st.recursive(
    st.sampled_from(["foo ", "bar", " ", "&amp;", "<x id='1'/>", "<ph>c</ph>", "<!--c-->", "<![CDATA[<]]>"]),
    lambda inner: st.tuples(st.sampled_from(["hi", "g"]), st.lists(inner, max_size=3)).map(
        lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=11,
)


@given(st.lists(RUNS, max_size=5).map("".join), st.integers(0, 3))
@example("&amp;foo ", 2)
@example("<hi>&amp;&amp;foo </hi>", 1)
def test_translated_xml_is_well_formed_and_has_the_same_codes(run: str, n_words: int) -> None:
    source = f'<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{run}</seg></tuv></tu></body></tmx>'
    said = " ".join(["W&"] * n_words)
    segments = list(etree.fromstring(translated_here(source, "tmx", lambda text: said, tgt_lang="de")).iter("seg"))
    codes = [sorted(e.tag for e in seg.iter() if isinstance(e.tag, str)) for seg in segments]
    assert codes[:1] * len(codes) == codes
    if len(segments) == 2:
        there = "".join(text for text in segments[1].itertext() if text != "c")
        written = "".join(there.replace("<", "").split())
        assert written.lstrip("&") == said.replace(" ", "")  # a label has its sign again, `&foo` or `&&foo`


@pytest.mark.parametrize(
    ("suffix", "declaration", "encoding", "text"),
    [
        ("tmx", '<tmx><a o-encoding="latin-1"/><tu><tuv lang="en"><seg>{}</seg></tuv></tu></tmx>', "utf-8", "É – ok"),
        ("pot", '"Content-Type: text/plain; charset=CHARSET\\n"\nmsgid "{}"\nmsgstr ""\n', "utf-8", "Café ok"),
        ("html", '<meta charset="iso-8859-1"><p>{}</p>', "cp1252", "“Cœur” 5 €"),
        ("html", '<meta charset="big5"><p>{}</p>', "cp950", "裏面 恒 5 € ok"),
        ("html", '<meta charset="ks_c_5601-1987"><p>{}</p>', "cp949", "똠방각하 ok"),
    ],
)  # fmt: skip
def test_encodings_are_read_as_programs_mean_them(suffix: str, declaration: str, encoding: str, text: str) -> None:
    data = declaration.format(text).encode(encoding)
    assert upper(text) in translated_here(data, suffix, src_lang="en", tgt_lang="de").decode(encoding)


def test_tmx_tells_kinds_of_chinese_apart_and_knows_other_spellings() -> None:
    unit = '<tmx><tu><tuv xml:lang="eng"><seg>one</seg></tuv><tuv xml:lang="zh-CN"><seg>一</seg></tuv></tu></tmx>'
    assert translated_here(unit, "tmx", src_lang="en", tgt_lang="zh-Hans") == unit.encode()
    assert 'xml:lang="zh-Hant"><seg>ONE' in translated_here(unit, "tmx", src_lang="en", tgt_lang="zh-Hant").decode()


def test_norwegian_in_tmx_is_bokmal_where_nothing_says_that_closer() -> None:
    unit = '<tmx><tu><tuv xml:lang="{}"><seg>en bok</seg></tuv></tu></tmx>'
    for named, asked in (("no", "nb"), ("nb-NO", "no")):
        out = translated_here(unit.format(named), "tmx", src_lang=asked, tgt_lang="en").decode()
        assert 'xml:lang="en"><seg>EN BOK' in out
    done = '<tmx><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="no"><seg>b</seg></tuv></tu></tmx>'
    assert translated_here(done, "tmx", src_lang="en", tgt_lang="nb").decode() == done


def test_xliff_2_names_the_language_of_its_targets() -> None:
    source = XLIFF2.replace(' trgLang="de"', "")
    root = etree.fromstring(translated_here(source, "xliff", tgt_lang="de"))
    assert root.get("trgLang") == "de"
    assert etree.fromstring(translated_here(XLIFF, "xliff", tgt_lang="de")).get("trgLang") is None


def test_an_admonition_of_markdown_is_translated_and_its_kind_is_not() -> None:
    source = '!!! tip "A *good* title"\n    A line\n    and more.\n\n    $$\n    a b\n    $$\n\n??? Note\n    hidden\n'
    out = translated_here(source, "md").decode()
    assert out == '!!! tip "A *GOOD* TITLE"\n    A LINE AND MORE.\n\n    $$\n    a b\n    $$\n\n??? Note\n    HIDDEN\n'
    assert translated_here('!!! tip "a b"\n', "md", lambda text: 'x "y" z').decode() == "!!! tip \"x 'y' z\"\n"


@pytest.mark.parametrize("sign", ["===", "===!", "===+"])
def test_a_tab_of_markdown_and_what_stands_in_it_are_translated(sign: str) -> None:
    source = f'{sign} "On *Windows*"\n\n    One line.\n\n    ```\n    a b\n    ```\n\nAnd on.\n'
    out = translated_here(source, "md").decode()
    assert out == f'{sign} "ON *WINDOWS*"\n\n    ONE LINE.\n\n    ```\n    a b\n    ```\n\nAND ON.\n'


def test_formulas_of_markdown_stay_and_prices_are_text() -> None:
    out = translated_here("Let $x_i * b$ be, from $5 to $10.\n\n$$\na b\n$$ (1)\n", "md").decode()
    assert out == "LET $x_i * b$ BE, FROM $5 TO $10.\n\n$$\na b\n$$ (1)\n"
