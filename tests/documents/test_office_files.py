"""Word and PowerPoint, written and read by python-docx and python-pptx."""

from __future__ import annotations

import io
import re
import zipfile

import docx
import pptx
import pytest
from lxml import etree
from papers import Fake, docx_of, saved, texts_of, translated_here, zipped

from yiwen.errors import DataError


@pytest.fixture(scope="module")
def word() -> bytes:
    """A document with runs that a person sees as one, a table, a header, tabs and breaks."""
    document = docx.Document()
    paragraph = document.add_paragraph("A ")
    paragraph.add_run("r")
    paragraph.add_run("ed ").bold = None
    paragraph.add_run("dog").bold = True
    paragraph.add_run(" runs & sings.")
    document.add_heading("The title", 1)
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "one\ttwo"
    table.cell(0, 1).text = "three\nfour"
    document.add_paragraph("item", style="List Bullet")
    document.sections[0].header.paragraphs[0].text = "The header"
    return saved(document)


def runs(data: bytes) -> list[list[tuple[str, bool | None]]]:
    return [[(run.text, run.bold) for run in p.runs] for p in docx.Document(io.BytesIO(data)).paragraphs]


def test_without_a_change_the_file_is_the_same(word: bytes) -> None:
    assert translated_here(word, "docx", str) == word
    assert texts_of(word, "docx") == [
        "A red dog runs & sings.",
        "The title",
        "one",
        "two",
        "three",
        "four",
        "item",
        "The header",
    ]


@pytest.mark.parametrize("name", ["proofErr", "lastRenderedPageBreak", "softHyphen"])
def test_what_a_speller_and_a_printer_left_in_a_text_goes_where_it_changes(name: str) -> None:
    mark = f"<w:{name}/>" if name == "proofErr" else f"<w:r><w:{name}/></w:r>"
    data = docx_of(f"<w:p><w:r><w:t>one </w:t></w:r>{mark}<w:r><w:t>dog</w:t></w:r></w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    assert ("ONE DOG" in out, name in out) == (True, False)


@pytest.mark.parametrize("name", ["commentRange", "bookmark", "perm", "moveToRange"])
def test_what_a_comment_or_a_bookmark_is_about_moves_with_its_words(name: str) -> None:
    def run(text: str) -> str:
        return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'

    start, end = f'<w:{name}Start w:id="3"/>', f'<w:{name}End w:id="3"/>'
    fake = Fake({"a big red dog": "chien rouge grand un"}, {"a big red dog": [(0, 3), (1, 2), (2, 1), (3, 0)]})
    out = translated_here(
        docx_of(f"<w:p>{run('a ')}{start}{run('big red')}{end}{run(' dog')}</w:p>"), "docx", fake=fake
    )
    body = zipfile.ZipFile(io.BytesIO(out)).read("word/document.xml").decode()
    assert f"{run('chien ')}{start}{run('rouge grand')}{end}{run(' un')}" in body


def test_how_a_word_is_read_is_no_part_of_its_sentence() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    ruby = f"<w:r><w:ruby><w:rt>{run('Běijīng')}</w:rt><w:rubyBase>{run('北京')}</w:rubyBase></w:ruby></w:r>"
    document = docx_of(f"<w:p>{run('我住在')}{ruby}{run('。')}</w:p>")
    assert texts_of(document, "docx") == ["我住在北京。"]
    assert translated_here(document, "docx", str) == document


def test_comments_of_a_presentation_are_texts() -> None:
    a = "http://schemas.openxmlformats.org/drawingml/2006/main"
    text = f'<x xmlns:a="{a}"><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></x>'
    files = {
        "slides/slide1": "a slide",
        "comments/modernComment_100_0": "a remark",
        "comments/modernComment_7F_CE": "b",
    }
    deck = {f"ppt/{name}.xml": text.format(said) for name, said in files.items()}
    assert texts_of(zipped(deck), "pptx") == ["a slide", "a remark", "b"]
    older = '<p:cmLst xmlns:p="p"><p:cm idx="1"><p:pos x="2" y="2"/><p:text>%s</p:text></p:cm></p:cmLst>'
    deck = zipped(deck | {"ppt/comments/comment1.xml": older % "one &amp; two\nthree"})
    assert texts_of(deck, "pptx")[3:] == ["one & two", "three"]
    out = zipfile.ZipFile(io.BytesIO(translated_here(deck, "pptx"))).read("ppt/comments/comment1.xml").decode()
    assert out == older % "ONE &amp; TWO\nTHREE"
    assert translated_here(deck, "pptx", str) == deck


def test_text_changes_and_structure_stays(word: bytes) -> None:
    out = translated_here(word, "docx")
    assert runs(out)[0] == [("A RED ", None), ("DOG", True), (" RUNS & SINGS.", None)]
    document = docx.Document(io.BytesIO(out))
    assert [p.style.name for p in document.paragraphs] == ["Normal", "Heading 1", "List Bullet"]
    assert [cell.text for cell in document.tables[0].rows[0].cells] == ["ONE\tTWO", "THREE\nFOUR"]
    assert document.sections[0].header.paragraphs[0].text == "THE HEADER"
    names = [zipfile.ZipFile(io.BytesIO(data)).namelist() for data in (word, out)]
    assert names[0] == names[1]


def test_formatting_lands_on_the_aligned_words(word: bytes) -> None:
    texts = {text: text for text in texts_of(word, "docx")} | {"A red dog runs & sings.": "一只狗 & 唱歌。"}
    links = {"A red dog runs & sings.": [(0, 0), (0, 1), (2, 2), (4, 3), (5, 4), (5, 5), (6, 6)]}
    out = translated_here(word, "docx", fake=Fake(texts, links))
    assert runs(out)[0] == [("一只", None), ("狗", True), (" & 唱歌。", None)]


LINK = '<w:hyperlink r:id="x" xmlns:r="r"><w:r><w:rPr><w:rStyle w:val="L"/></w:rPr><w:t>red</w:t></w:r></w:hyperlink>'
BOX = "<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"


def field_of(instruction: str, text: str) -> str:
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> {instruction} </w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{text}</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def simple_field_of(instruction: str, inside: str) -> str:
    return f'<w:fldSimple w:instr=" {instruction} ">{inside}</w:fldSimple>'


def run_of(text: str, props: str = "") -> str:
    return (
        f'<w:r w:rsidR="00AB"><w:rPr>{props}<w:lang w:val="en-US"/></w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
    )


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (run_of("a ") + LINK + run_of(" dog"), ["a red dog"]),
        (run_of("page ") + field_of("PAGE", "seven") + run_of(" is here"), ["page is here"]),
        (run_of("before ") + BOX + run_of("after"), ["in a box", "before after"]),
        (
            run_of("a ")
            + "<mc:AlternateContent xmlns:mc='m'><mc:Choice>"
            + BOX
            + "</mc:Choice></mc:AlternateContent>"
            + run_of("b c"),
            ["in a box", "a b c"],
        ),
        (run_of("we ") + "<w:proofErr/>" + run_of("are one"), ["we are one"]),
        (
            run_of("old")
            + "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins>"
            + run_of(" new")
            + "</w:ins>",
            ["old new"],
        ),
        (
            "<w:sdt><w:sdtPr/><w:sdtContent>" + run_of("a field") + "</w:sdtContent></w:sdt>" + run_of(" to fill"),
            ["a field to fill"],
        ),
        ("<w:sdt><w:sdtPr/><w:sdtContent>" + run_of("☐") + "</w:sdtContent></w:sdt>" + run_of(" I do"), ["I do"]),
        (run_of("a ") + "<w:sdt><w:sdtPr/></w:sdt>" + run_of("dog"), ["a dog"]),
        (run_of("a ") + "<w:sdt><w:sdtPr/><w:sdtContent/></w:sdt>" + run_of("dog"), ["a dog"]),
        (f'<w:moveTo w:id="1">{run_of("one")}</w:moveTo><w:dir>{run_of(" two")}</w:dir>', ["one two"]),
        (f"<w:bdo>{run_of('one')}</w:bdo><w:moveFrom>{run_of('ONE')}</w:moveFrom>", ["one"]),
        (run_of("see") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run_of(" below"), ["see below"]),
        (run_of("x") + "<w:r><w:fldChar w:fldCharType='begin'/></w:r>" + run_of("y"), ["x"]),
        (run_of("see ") + field_of('HYPERLINK "x"', "the green tea") + run_of(" here"), ["see the green tea here"]),
        (
            run_of("see ") + simple_field_of("HYPERLINK &quot;x&quot;", run_of("the green tea")) + run_of(" here"),
            ["see the green tea here"],
        ),
        (simple_field_of("HYPERLINK x", run_of("all of it")), ["all of it"]),
        (run_of("see ") + f"<w:del>{field_of('REF x', '7')}</w:del>" + run_of(" here"), ["see here"]),
        (run_of("see ") + simple_field_of("REF HYPER", run_of("figure 1")) + run_of(" here"), ["see here"]),
        (run_of("7 %"), []),
    ],
)
def test_what_stands_in_paragraphs(body: str, texts: list[str]) -> None:
    data = docx_of(f"<w:p><w:pPr/>{body}</w:p>")
    assert texts_of(data, "docx") == texts
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml")
    before, after = (etree.fromstring(x) for x in (zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml"), out))
    kept = [
        "hyperlink",
        "fldSimple",
        "fldChar",
        "instrText",
        "txbxContent",
        "footnoteReference",
        "delText",
        "ins",
        "sdtContent",
        "sdt",
    ]
    for name in kept:
        assert len(list(after.iter(f"{{*}}{name}"))) == len(list(before.iter(f"{{*}}{name}")))
    said = ["".join(t.text for t in tree.iter("{*}t")) for tree in (before, after)]
    assert said[1].upper() == said[0].upper()
    assert (said[1] == said[0]) == (not texts)


@pytest.mark.parametrize(
    "field", ["TOC", "INDEX", "BIBLIOGRAPHY", "ADDIN ZOTERO_BIBL {} CSL_BIBLIOGRAPHY", "ADDIN EN.REFLIST"]
)
def test_contents_and_bibliographies_are_translated_in_all_their_lines(field: str) -> None:
    begin, end = field_of(field, "First line").split("First line</w:t></w:r>")
    page = field_of("PAGEREF _1", "7")
    data = docx_of(f"<w:p>{begin}First line</w:t></w:r>{page}</w:p><w:p>{run_of('Second')}{page}{end}</w:p>")
    assert texts_of(data, "docx") == ["First line", "Second"]


def test_formatting_inside_of_a_link_around_all_stays() -> None:
    link = field_of('HYPERLINK "x"', "@").replace(
        "<w:r><w:t>@</w:t></w:r>", run_of("Intro", "<w:b/>") + run_of(" one two long")
    )
    data = docx_of(f"<w:p>{link}</w:p>")
    out = translated_here(data, "docx", lambda text: text.replace("long", "LONG"))
    tree = etree.fromstring(zipfile.ZipFile(io.BytesIO(out)).read("word/document.xml"))
    runs = [("".join(t.text for t in run.iter("{*}t")), bool(list(run.iter("{*}b")))) for run in tree.iter("{*}r")]
    assert [run for run in runs if run[0]] == [("Intro", True), (" one two LONG", False)]


def test_a_content_control_goes_with_its_words_and_does_not_cut_their_sentence() -> None:
    control = f"<w:sdt><w:sdtPr/><w:sdtContent>{run_of('大卫')}</w:sdtContent></w:sdt>"
    fake = Fake(
        {"我叫大卫先生": "Mr David my name is"}, {"我叫大卫先生": [(0, 2), (1, 3), (2, 1), (3, 1), (4, 0), (5, 0)]}
    )
    out = translated_here(docx_of(f"<w:p>{run_of('我叫')}{control}{run_of('先生')}</w:p>"), "docx", fake=fake)
    body = etree.fromstring(zipfile.ZipFile(io.BytesIO(out)).read("word/document.xml"))
    assert "".join(body.itertext()) == "Mr David my name is"
    assert ["".join(each.itertext()) for each in body.iter("{*}sdt")] == ["David"]


@pytest.mark.parametrize("blank", ["", " "])
def test_formatting_inside_of_what_is_around_all_words_stays_beside_a_blank_that_is_outside(blank: str) -> None:
    inserted = f'<w:ins w:id="1">{run_of("Note", "<w:b/>")}{run_of(" on all the dogs")}</w:ins>'
    data = docx_of(f"<w:p>{run_of(blank)}{inserted}{run_of(blank)}</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    said = re.findall(r"<w:r>(<w:rPr><w:b/></w:rPr>)?<w:t[^>]*>([^<]*)", out)
    assert [run for run in said if run[1] != " "] == [("<w:rPr><w:b/></w:rPr>", "NOTE"), ("", " ON ALL THE DOGS")]


def test_a_text_box_stays_whole_in_the_sentence_that_it_is_anchored_in() -> None:
    data = docx_of(f"<w:p>{run_of('It was shown ')}{BOX}{run_of('that plants grow.')}</w:p>")
    assert texts_of(data, "docx") == ["in a box", "It was shown that plants grow."]
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    (box,) = re.findall("<w:r><w:pict><w:txbxContent>.*?</w:pict></w:r>", out)
    assert re.sub("<[^>]*>", "", box) == "IN A BOX"
    assert " ".join(re.sub("<[^>]*>", "", out.replace(box, "")).split()) == "IT WAS SHOWN THAT PLANTS GROW."


def test_a_text_that_has_no_run_leaves_the_end_of_the_link_before_it() -> None:
    data = docx_of(f"<w:p>{LINK}!</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml")
    assert [texts_of(data, "docx"), len(list(etree.fromstring(out).iter("{*}hyperlink")))] == [["red!"], 1]


def test_the_words_of_smart_art() -> None:
    art = '<dgm:t xmlns:dgm="d" xmlns:a="a"><a:p><a:r><a:t>a dog</a:t></a:r></a:p></dgm:t>'
    body = zipfile.ZipFile(io.BytesIO(docx_of(f"<w:p>{run_of('one')}</w:p>"))).read("word/document.xml")
    assert texts_of(zipped({"word/document.xml": body, "word/diagrams/data1.xml": art}), "docx") == ["one", "a dog"]


def test_a_hyphen_that_keeps_its_line_is_a_part_of_the_text() -> None:
    data = docx_of(f"<w:p>{run_of('From 1990')}<w:r><w:noBreakHyphen/></w:r>{run_of('95')}</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    assert (texts_of(data, "docx"), "FROM 1990\u201195<" in out) == (["From 1990\u201195"], True)


def test_the_text_of_a_word_file_may_have_a_numbered_name() -> None:
    body = zipfile.ZipFile(io.BytesIO(docx_of(f"<w:p>{run_of('a dog')}</w:p>"))).read("word/document.xml")
    assert texts_of(zipped({"word/document2.xml": body}), "docx") == ["a dog"]


@pytest.mark.parametrize(("suffix", "first", "read", "left"), [
    ("docx", "word/document", ("header12", "footer3", "footnotes", "endnotes", "comments"), ("styles", "glossary/doc")),
    ("pptx", "ppt/slides/slide1", ("notesSlides/notesSlide12", "diagrams/drawing1"), ("slideLayouts/slideLayout1",)),
])  # fmt: skip
def test_texts_beside_the_main_one_are_read_and_those_of_templates_are_not(
    suffix: str, first: str, read: tuple[str, ...], left: tuple[str, ...]
) -> None:
    body = '<x xmlns:w="w"><w:p><w:r><w:t>text of {}</w:t></w:r></w:p></x>'
    names = [first, *(f"{first.partition('/')[0]}/{name}" for name in (*read, *left))]
    data = zipped({f"{name}.xml": body.format(name) for name in names})
    assert texts_of(data, suffix) == [f"text of {name}" for name in names[: 1 + len(read)]]


@pytest.mark.parametrize(("suffix", "first"), [("docx", "word/document"), ("pptx", "ppt/slides/slide1")])
def test_text_boxes_in_charts_are_texts(suffix: str, first: str) -> None:
    body = '<x xmlns:a="a"><a:p><a:r><a:t>{}</a:t></a:r></a:p></x>'
    files = {f"{first}.xml": "a text", f"{first.partition('/')[0]}/drawings/drawing7.xml": "a box"}
    data = zipped({name: body.format(said) for name, said in files.items()})
    assert texts_of(data, suffix) == ["a text", "a box"]


def test_where_lines_were_once_broken_is_not_carried_over() -> None:
    data = docx_of("<w:p><w:r><w:t>re</w:t><w:softHyphen/><w:t>port</w:t><w:lastRenderedPageBreak/></w:r></w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    assert (texts_of(data, "docx"), "softHyphen" in out, "PageBreak" in out) == (["report"], False, False)


def test_formatting_of_a_blank_alone_goes_to_no_word() -> None:
    html = "<p>the dog<b> </b>runs"
    assert translated_here(html, "html", lambda text: "der Hund läuft").decode() == "<p>der Hund <b></b>läuft"
    data = docx_of(f"<w:p>{run_of('the dog')}{run_of(' ', '<w:b/>')}{run_of('runs')}</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    assert ("".join(re.findall(r"<w:t[^>]*>([^<]*)", out)), "<w:b/>" in out) == ("THE DOG RUNS", False)


def test_formatting_inside_of_a_field_that_ends_in_another_paragraph_is_kept() -> None:
    contents = field_of("TOC", "x").partition("<w:r><w:t>")[0]
    data = docx_of(f"<w:p>{contents}{run_of('One', '<w:b/>')}{run_of(' of the dogs')}</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    said = re.findall(r"<w:r>(<w:rPr><w:b/></w:rPr>)?<w:t[^>]*>([^<]*)", out)
    assert said == [("<w:rPr><w:b/></w:rPr>", "ONE"), ("", " OF THE DOGS")]


def test_slides_and_their_notes() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "The title"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in (("a ", None), ("red", True), (" dog", None)):
        run = paragraph.add_run()
        run.text, run.font.bold = text, is_bold
    slide.notes_slide.notes_text_frame.text = "Say it."
    file = io.BytesIO()
    deck.save(file)
    assert translated_here(file.getvalue(), "pptx", str) == file.getvalue()
    out = pptx.Presentation(io.BytesIO(translated_here(file.getvalue(), "pptx"))).slides[0]
    assert out.shapes.title.text == "THE TITLE"
    assert [(run.text, run.font.bold) for run in out.placeholders[1].text_frame.paragraphs[0].runs] == [
        ("A ", None),
        ("RED", True),
        (" DOG", None),
    ]
    assert out.notes_slide.notes_text_frame.text == "SAY IT."


def test_a_word_has_its_formatting_also_where_more_blanks_have_another() -> None:
    data = docx_of(f"<w:p>{run_of('     ', '<w:i/>')}{run_of('on', '<w:b/>')}</w:p>")
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "docx"))).read("word/document.xml").decode()
    assert '<w:rPr><w:b/></w:rPr><w:t xml:space="preserve">ON<' in out


def test_what_xml_cannot_hold_is_left_out() -> None:
    data = docx_of("<w:p><w:r><w:t>text</w:t></w:r></w:p>")
    out = translated_here(data, "docx", lambda text: "a\x00\x0b<b>\ufffe&")
    assert "a&lt;b&gt;&amp;" in zipfile.ZipFile(io.BytesIO(out)).read("word/document.xml").decode()


def test_another_office_file_is_refused(word: bytes) -> None:
    with pytest.raises(DataError, match="is its suffix right"):
        texts_of(word, "pptx")


def test_a_tab_in_a_text_ends_it() -> None:
    deck = pptx.Presentation()
    box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, 9, 9)
    box.text_frame.text = " A man \t Two dogs run.\t12:30 "
    assert texts_of(saved(deck), "pptx") == ["A man", "Two dogs run."]
    shape = pptx.Presentation(io.BytesIO(translated_here(saved(deck), "pptx"))).slides[0].shapes[0]
    assert shape.text_frame.text == " A MAN \t TWO DOGS RUN.\t12:30 "


def test_what_a_sign_sets_apart_in_a_header_is_a_text_each() -> None:
    letter = docx.Document()
    letter.add_paragraph("Report of May | Draft").add_run(" • red dogs").bold = True
    assert texts_of(saved(letter), "docx") == ["Report of May", "Draft", "red dogs"]
    paragraph = docx.Document(io.BytesIO(translated_here(saved(letter), "docx"))).paragraphs[0]
    assert paragraph.text == "REPORT OF MAY | DRAFT • RED DOGS"
    assert [run.text for run in paragraph.runs if run.bold] == [" • ", "RED DOGS"]
