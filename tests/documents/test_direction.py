"""Word and PowerPoint where the translation is written the other way; the schemas are those of ECMA-376, part 1."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import pptx
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Pt
from lxml import etree
from papers import docx_of, saved, translated_here, zipped
from pptx.enum.text import PP_ALIGN
from pptx.util import Inches

ARABIC = {
    "A red dog.": "كلب أحمر (iPhone 7).",
    "a red dog": "كلب أحمر",
    "the title": "العنوان",
    "one": "واحد",
    "two": "اثنان",
    "red": "أحمر",
}
ENGLISH = {arabic: english for english, arabic in ARABIC.items()}

ORDER = {
    "pPr": """pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr suppressLineNumbers pBdr shd tabs
    suppressAutoHyphens kinsoku wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi adjustRightInd
    snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment
    textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange""",
    "rPr": """rStyle rFonts b bCs i iCs caps smallCaps strike dstrike outline shadow emboss imprint noProof snapToGrid
    vanish webHidden color spacing w kern position sz szCs highlight u effect bdr shd fitText vertAlign rtl cs em lang
    eastAsianLayout specVanish oMath glow rPrChange""",
    "tblPr": """tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing
    tblInd tblBorders shd tblLayout tblCellMar tblLook tblCaption tblDescription tblPrChange""",
}
"""What may stand in properties, in the one order that the schema allows; glow stands for extensions of Word 2010."""


def to_arabic(text: str) -> str:
    return ARABIC.get(text, text)


def to_english(text: str) -> str:
    return ENGLISH.get(text, text)


def part_of(data: bytes, name: str = "word/document.xml") -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def body_of(body: str, change: Callable[[str], str] = to_arabic, *, src_lang: str = "en", tgt_lang: str = "ar") -> str:
    """What stands in a Word file after it was translated."""
    out = part_of(translated_here(docx_of(body), "docx", change, src_lang=src_lang, tgt_lang=tgt_lang))
    inside = re.search("<w:body>(.*)</w:body>", out, re.DOTALL)
    assert inside
    return inside[1]


def run(text: str, props: str = "") -> str:
    props = f"<w:rPr>{props}</w:rPr>" if props else ""
    return f'<w:r>{props}<w:t xml:space="preserve">{text}</w:t></w:r>'


def is_on(props: Any, name: str) -> bool:
    """A property of Word: there, and not said to be off."""
    found = props.find(f"{{*}}{name}") if props is not None else None
    return found is not None and found.get(f"{{{found.nsmap['w']}}}val") not in ("0", "false", "off")


@pytest.fixture(scope="module")
def word() -> bytes:
    """A title, text with formatting and sides, a list, a table and a number."""
    document = docx.Document()
    document.add_heading("the title", 1)
    paragraph = document.add_paragraph("a ")
    paragraph.add_run("red").bold = True
    paragraph.add_run(" dog").font.size = Pt(20)
    document.add_paragraph("A red dog.").alignment = WD_ALIGN_PARAGRAPH.RIGHT
    document.add_paragraph("one", style="List Bullet").paragraph_format.left_indent = Pt(30)
    document.add_paragraph("1984")
    table = document.add_table(1, 2, style="Table Grid")
    table.cell(0, 0).text, table.cell(0, 1).text = "one", "two"
    return saved(document)


@pytest.fixture(scope="module")
def deck() -> bytes:
    """A title slide, and one with points, a box and a table."""
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[0])
    first.shapes.title.text, first.placeholders[1].text = "the title", "A red dog."
    second = presentation.slides.add_slide(presentation.slide_layouts[1])
    second.shapes.title.text, second.placeholders[1].text = "the title", "one"
    box = second.shapes.add_textbox(Inches(1), Inches(5), Inches(3), Inches(1)).text_frame
    for text, side in (("one", PP_ALIGN.LEFT), ("two", PP_ALIGN.RIGHT), ("a red dog", PP_ALIGN.CENTER), ("1984", None)):
        paragraph = box.add_paragraph()
        paragraph.text, paragraph.alignment = text, side
    table = second.shapes.add_table(1, 2, Inches(5), Inches(5), Inches(3), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "one", "two"
    return saved(presentation)


@pytest.mark.parametrize("tgt_lang", ["ar", "fa-IR", "ur", "he", "iw", "ckb", "yi"])
def test_each_paragraph_of_a_translation_runs_in_its_direction(word: bytes, tgt_lang: str) -> None:
    out = docx.Document(io.BytesIO(translated_here(word, "docx", to_arabic, tgt_lang=tgt_lang)))
    cells = [cell.paragraphs[0] for cell in out.tables[0].rows[0].cells]
    found = {p.text: (is_on(p._p.pPr, "bidi"), {is_on(r._r.rPr, "rtl") for r in p.runs}) for p in out.paragraphs}
    found |= {p.text: (is_on(p._p.pPr, "bidi"), {is_on(r._r.rPr, "rtl") for r in p.runs}) for p in cells}
    marked = (True, {True})
    assert found.pop("1984") == (False, {False})
    assert found == dict.fromkeys(("العنوان", "كلب أحمر", "كلب أحمر (iPhone 7).", "واحد", "اثنان"), marked)
    assert is_on(out.tables[0]._tbl.tblPr, "bidiVisual")


@pytest.mark.parametrize("tgt_lang", ["", "de", "zh-Hans", "ar-Latn", "sr"])
def test_a_translation_that_runs_the_same_way_has_no_word_of_it(word: bytes, deck: bytes, tgt_lang: str) -> None:
    for data, suffix in ((word, "docx"), (deck, "pptx")):
        assert translated_here(data, suffix, tgt_lang=tgt_lang) == translated_here(data, suffix)


def test_from_one_language_that_runs_leftwards_to_another_the_marks_stay() -> None:
    props = '<w:pPr><w:bidi/><w:jc w:val="left"/></w:pPr>'
    body = f"<w:p>{props}{run('أحمر', '<w:rtl/>')}</w:p><w:p>{run('واحد')}</w:p>"
    said = {"أحمر": "אדום", "واحد": "אחד"}
    written = body_of(body, lambda text: said[text], src_lang="ar", tgt_lang="he")
    assert written == f"<w:p>{props}{run('אדום', '<w:rtl/>')}</w:p><w:p>{run('אחד')}</w:p>"


def test_what_is_not_translated_stays_to_the_byte() -> None:
    number, empty = f"<w:p><w:pPr><w:jc w:val='end'/></w:pPr>{run('1984')}</w:p>", "<w:p/><w:p></w:p>"
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('two')}</w:p></w:txbxContent></w:pict></w:r>"
    body = f"{number}{empty}<w:p><w:pPr/>{box}</w:p><w:p>{run('one')}</w:p>"
    marked = [f"<w:p><w:pPr><w:bidi/></w:pPr>{run(text, '<w:rtl/>')}</w:p>" for text in ("اثنان", "واحد")]
    written = body_of(body)
    assert written == body.replace(f"<w:p>{run('two')}</w:p>", marked[0]).replace(f"<w:p>{run('one')}</w:p>", marked[1])


def test_a_file_in_which_nothing_changes_is_the_same(word: bytes, deck: bytes) -> None:
    assert translated_here(word, "docx", str, tgt_lang="ar") == word
    assert translated_here(deck, "pptx", str, tgt_lang="ar") == deck


def test_marks_stand_where_the_schema_wants_them() -> None:
    def of(kind: str, left_out: str) -> str:
        """Properties of all kinds, as empty elements."""
        prefix = {"glow": "w14"}
        return "".join(
            f"<{prefix.get(name, 'w')}:{name}/>" for name in ORDER[kind].split() if name not in left_out.split()
        )

    runs = of("rPr", "rtl lang noProof rPrChange") + "<w:rPrChange><w:rPr><w:cs/></w:rPr></w:rPrChange>"
    paragraph = of("pPr", "bidi rPr sectPr pPrChange") + "<w:rPr><w:b/></w:rPr><w:sectPr><w:bidi/></w:sectPr>"
    paragraph += "<w:pPrChange><w:pPr><w:bidi/></w:pPr></w:pPrChange>"
    table = f"<w:tbl><w:tblPr>{of('tblPr', 'bidiVisual')}</w:tblPr></w:tbl>"
    sources = [
        f"<w:p><w:pPr>{paragraph}</w:pPr>{run('one', runs)}</w:p>{table}",
        f"<w:p><w:pPr><w:pBdr><w:top/></w:pBdr><w:spacing/></w:pPr>{run('one', '<w:b/><w14:glow/>')}</w:p>",
        f"<w:p>\n <w:pPr>\n  <w:keepNext/>\n  <w:ind/>\n </w:pPr>\n {run('one', '<w:sz/>')}</w:p>",
    ]
    for source in sources:
        source = source.replace("<w:p>", '<w:p xmlns:w14="x">', 1)
        out = etree.fromstring(part_of(translated_here(docx_of(source), "docx", to_arabic, tgt_lang="ar")).encode())
        for kind, mark in (("pPr", "bidi"), ("rPr", "rtl"), ("tblPr", "bidiVisual")):
            for props in out.xpath(f"//*[local-name()='{kind}'][not(ancestor::*[contains(name(), 'Change')])]"):
                names = [etree.QName(child).localname for child in props]
                assert names == sorted(names, key=ORDER[kind].split().index)
                assert names.count(mark) == (etree.QName(props.getparent()).localname != "pPr")
        assert [len(out.findall(f".//{{*}}{name}/{{*}}bidi")) for name in ("sectPr",)] == [source.count("<w:sectPr>")]


def test_back_in_a_language_that_runs_rightwards_the_marks_are_gone(word: bytes) -> None:
    there = translated_here(word, "docx", to_arabic, tgt_lang="ar")
    out = docx.Document(io.BytesIO(translated_here(there, "docx", to_english, src_lang="ar", tgt_lang="en")))
    assert [p.text for p in out.paragraphs] == ["the title", "a red dog", "A red dog.", "one", "1984"]
    assert not re.search(r"<w:(?:rtl|bidiVisual)\b|<w:bidi/>", etree.tostring(out.element).decode())
    assert {is_on(p._p.pPr, "bidi") for p in out.paragraphs} == {False}


def test_where_the_style_runs_leftwards_a_paragraph_says_that_it_does_not() -> None:
    body = f'<w:p><w:pPr><w:bidi w:val="1"/></w:pPr>{run("واحد", "<w:rtl/>")}</w:p><w:p>{run("اثنان")}</w:p>'
    off = '<w:pPr><w:bidi w:val="0"/></w:pPr>'
    written = body_of(body, to_english, src_lang="ar", tgt_lang="en").replace("<w:rPr></w:rPr>", "")
    assert written == f"<w:p>{off}{run('one')}</w:p><w:p>{off}{run('two')}</w:p>"


def test_sides_and_indents_of_word_are_those_of_the_line_and_stay(word: bytes) -> None:
    out = docx.Document(io.BytesIO(translated_here(word, "docx", to_arabic, tgt_lang="ar"))).paragraphs
    before = docx.Document(io.BytesIO(word)).paragraphs
    assert [(p.alignment, p.paragraph_format.left_indent) for p in out] == [
        (p.alignment, p.paragraph_format.left_indent) for p in before
    ]


def test_bold_and_size_are_also_those_of_letters_that_run_leftwards() -> None:
    props = '<w:b/><w:i w:val="0"/><w:iCs/><w:sz w:val="40"/>'
    written = body_of(f"<w:p>{run('one', props)}</w:p>")
    new = '<w:b/><w:bCs/><w:i w:val="0"/><w:iCs/><w:sz w:val="40"/><w:szCs w:val="40"/><w:rtl/>'
    assert written == f"<w:p><w:pPr><w:bidi/></w:pPr>{run('واحد', new)}</w:p>"


@pytest.mark.parametrize(("tgt_lang", "said"), [("th", "หนึ่ง"), ("hi", "एक"), ("km", "មួយ"), ("ta", "ஒன்று")])
def test_bold_and_size_are_also_those_of_complex_scripts(tgt_lang: str, said: str) -> None:
    props = '<w:b/><w:sz w:val="40"/>'
    written = body_of(f"<w:p>{run('one', props)}</w:p>", lambda text: said, tgt_lang=tgt_lang)
    new = '<w:b/><w:bCs/><w:sz w:val="40"/><w:szCs w:val="40"/>'
    assert written == f"<w:p>{run(said, new)}</w:p>"
    assert "Cs/>" not in body_of(f"<w:p>{run('one', '<w:b/>')}</w:p>", lambda text: "eins", tgt_lang="de")


def test_a_run_of_other_letters_alone_runs_rightwards_and_one_of_signs_as_its_paragraph() -> None:
    body = f"<w:p>{run('see the ')}{run('C++', '<w:b/>')}{run(' &amp; all', '<w:i/>')}{run('!', '<w:u/>')}</w:p>"
    written = body_of(body, lambda text: "انظر C++ & كل!")
    marks = {text: "<w:rtl/>" in props for props, text in re.findall(r"<w:r>(.*?)<w:t[^>]*>([^<]*)", written)}
    assert marks == {"انظر ": True, "C++": False, " ": True, "&amp; كل": True, "!": True}


def test_a_text_without_a_known_language_is_told_by_its_letters() -> None:
    arabic = f"<w:p><w:pPr><w:bidi/></w:pPr>{run('واحد', '<w:rtl/>')}</w:p>"
    english = f"<w:p><w:pPr/>{run('one')}</w:p>"
    assert body_of(english, str.upper, src_lang="", tgt_lang="fr") == english.replace("one", "ONE")
    assert body_of(arabic, to_english, src_lang="", tgt_lang="en").count('<w:bidi w:val="0"/>') == 1
    assert body_of(arabic, lambda text: "אחד", src_lang="", tgt_lang="he") == arabic.replace("واحد", "אחד")
    assert body_of(english, src_lang="", tgt_lang="ar").count("<w:bidi/>") == 1


def sides(data: bytes, number: int) -> dict[str, tuple[str | None, str | None]]:
    """By its text, the direction and the side of each paragraph of a slide."""
    slide = pptx.Presentation(io.BytesIO(data)).slides[number]
    found = {}
    for paragraph in slide.element.iter("{*}p"):
        props = paragraph.find("{*}pPr")
        text = "".join(t.text for t in paragraph.iter("{*}t"))
        found[text] = (None, None) if props is None else (props.get("rtl"), props.get("algn"))
    return found


def test_paragraphs_of_slides_change_their_side_and_titles_stay_in_the_middle(deck: bytes) -> None:
    out = translated_here(deck, "pptx", to_arabic, tgt_lang="ar")
    assert sides(out, 0) == {"العنوان": ("1", None), "كلب أحمر (iPhone 7).": ("1", None)}
    found = sides(out, 1)
    assert found.pop("") == found.pop("1984") == (None, None)
    assert found == {"العنوان": ("1", "r"), "واحد": ("1", "r"), "اثنان": ("1", "r"), "كلب أحمر": ("1", "ctr")}


@pytest.mark.parametrize(
    ("props", "to_the_left", "to_the_right"),
    [
        ("", 'rtl="1" algn="r"', 'rtl="0" algn="l"'),
        ("<a:pPr/>", 'rtl="1" algn="r"', 'rtl="0" algn="l"'),
        ('<a:pPr algn="l"/>', 'rtl="1" algn="r"', 'rtl="0" algn="r"'),
        ("<a:pPr algn='r' rtl='0'><a:buNone/></a:pPr>", 'rtl="1" algn="l"', None),
        ('<a:pPr algn="ctr"/>', 'rtl="1" algn="ctr"', 'rtl="0" algn="ctr"'),
        ('<a:pPr algn="just" lvl="2"/>', 'rtl="1" algn="just" lvl="2"', 'rtl="0" algn="just" lvl="2"'),
        ('<a:pPr rtl="1" algn="r"/>', None, 'rtl="0" algn="l"'),
    ],
)
def test_what_a_paragraph_of_a_slide_says_of_its_side(
    props: str, to_the_left: str | None, to_the_right: str | None
) -> None:
    def written(text: str, change: Callable[[str], str], src_lang: str, tgt_lang: str) -> str:
        lines = f"<a:r><a:t>{text}</a:t></a:r><a:br/><a:r><a:t>{text}</a:t></a:r>"
        source = f'<p:sp xmlns:p="p" xmlns:a="a"><a:p>{props}{lines}</a:p></p:sp>'
        data = zipped({"ppt/slides/slide1.xml": source})
        out = part_of(
            translated_here(data, "pptx", change, src_lang=src_lang, tgt_lang=tgt_lang), "ppt/slides/slide1.xml"
        )
        assert len(etree.fromstring(out)[0].findall("{*}pPr")) <= 1
        return out.partition("<a:p>")[2].partition("<a:r>")[0]

    rest = "<a:buNone/>" if "buNone" in props else ""
    wanted = [f"<a:pPr {marks}>{rest}</a:pPr>" if marks else props for marks in (to_the_left, to_the_right)]
    found = [written("one", to_arabic, "en", "ar"), written("واحد", to_english, "ar", "en")]
    assert [text.replace("/>", "></a:pPr>", 1) if not rest else text for text in found] == [
        text.replace("/>", "></a:pPr>", 1) if not rest else text for text in wanted
    ]


def test_shapes_say_where_their_text_stands_and_art_arranges_its_own() -> None:
    line = "<a:p><a:r><a:t>one</a:t></a:r></a:p>"
    middle = f'<p:sp><a:lstStyle><a:lvl1pPr algn="ctr"/></a:lstStyle>{line}</p:sp>'
    data = zipped(
        {
            "ppt/slides/slide1.xml": f'<x xmlns:p="p" xmlns:a="a">{middle}<p:sp><a:lstStyle/>{line}</p:sp></x>',
            "ppt/diagrams/data1.xml": f'<dgm:t xmlns:dgm="d" xmlns:a="a">{line}</dgm:t>',
        }
    )
    out = translated_here(data, "pptx", to_arabic, tgt_lang="ar")
    found = [re.findall("<a:pPr[^>]*>", part_of(out, f"ppt/{name}1.xml")) for name in ("slides/slide", "diagrams/data")]
    assert found == [['<a:pPr rtl="1">', '<a:pPr rtl="1" algn="r">'], ['<a:pPr rtl="1">']]


def test_the_first_column_of_a_table_is_where_its_lines_begin(word: bytes, deck: bytes) -> None:
    there = translated_here(deck, "pptx", to_arabic, tgt_lang="ar")
    back = translated_here(there, "pptx", to_english, src_lang="ar", tgt_lang="en")
    tables = [pptx.Presentation(io.BytesIO(data)).slides[1].shapes[-1].table._tbl.tblPr for data in (there, back, deck)]
    assert [table.get("rtl") for table in tables] == ["1", None, None]
    assert dict(tables[1].attrib) == dict(tables[2].attrib)
    there = translated_here(word, "docx", to_arabic, tgt_lang="ar")
    back = translated_here(there, "docx", to_english, src_lang="ar", tgt_lang="en")
    kept = [re.findall("<w:tblPr>.*?</w:tblPr>", part_of(data)) for data in (word, back)]
    assert kept[0] == kept[1]
    assert part_of(there).count("<w:bidiVisual/>") == 1


def test_a_file_without_prefixes_keeps_its_direction() -> None:
    data = zipped({"word/document.xml": "<document><p><r><t>one</t></r></p></document>"})
    assert "<p><r>" in part_of(translated_here(data, "docx", to_arabic, tgt_lang="ar"))
