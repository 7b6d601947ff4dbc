"""OpenDocument: text, slides and sheets as LibreOffice writes them, made here and read by lxml."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from lxml import etree
from papers import Fake, texts_of, translated_here, zipped

from yiwen.errors import DataError

SPACES = {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "text", "table", "style")
} | {"draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "dc": "http://purl.org/dc/elements/1.1/"}
SPACES["fo"] = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"


def xml_of(body: str) -> str:
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in SPACES.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {spaces}>{body}</office:document-content>'


def packed(body: str, **others: str) -> bytes:
    return zipped(
        {"mimetype": "x", "content.xml": xml_of(body), **{f"{name}.xml": xml_of(others[name]) for name in others}}
    )


def content(data: bytes) -> str:
    source = zipfile.ZipFile(io.BytesIO(data)).read("content.xml").decode()
    etree.fromstring(source.encode())
    return re.sub(r"^.*?<office:document-content[^>]*>|</office:document-content>$", "", source, flags=re.DOTALL)


def translated(body: str, suffix: str = "odt", fake: Fake | None = None) -> str:
    return content(translated_here(packed(body), suffix, **({"fake": fake} if fake else {})))


NOTE = (
    '<text:note text:id="ftn1"><text:note-citation>1</text:note-citation><text:note-body><text:p>See there.</text:p>'
    "</text:note-body></text:note>"
)
REMARK = (
    "<office:annotation><dc:creator>Ann Lee</dc:creator><dc:date>2026-11-27</dc:date><text:p>Is it red?</text:p>"
    "</office:annotation>"
)


def test_paragraphs_headings_and_lists_are_texts_and_without_a_change_the_file_is_the_same() -> None:
    body = (
        '<text:h text:outline-level="1">The title</text:h><text:p/><text:list><text:list-item><text:p>one dog</text:p>'
        "</text:list-item></text:list><table:table-cell><text:p>a cell &amp; more</text:p></table:table-cell>"
    )
    data = packed(body, styles="<style:header><text:p>The header</text:p></style:header>")
    assert texts_of(data, "odt") == ["The title", "one dog", "a cell & more", "The header"]
    assert translated_here(data, "odt", str) == data
    assert translated(body) == re.sub(">([^<]+)<", lambda found: found[0].upper().replace("&AMP;", "&amp;"), body)


def test_formatting_and_links_land_on_the_aligned_words() -> None:
    body = (
        '<text:p>a <text:span text:style-name="T1">red</text:span> dog'
        ' <text:a href="http://x.org">sings</text:a></text:p>'
    )
    fake = Fake({"a red dog sings": "un chien rouge chante"}, {"a red dog sings": [(0, 0), (1, 2), (2, 1), (3, 3)]})
    assert translated(body, fake=fake) == (
        '<text:p>un chien <text:span text:style-name="T1">rouge</text:span>'
        ' <text:a href="http://x.org">chante</text:a></text:p>'
    )


def spanned(name: str, text: str) -> str:
    return f'<text:span text:style-name="{name}">{text}</text:span>'


def test_where_all_stands_in_spans_the_commonest_is_that_of_all_words_and_part_of_a_word_has_its_own() -> None:
    body = spanned("A", "All of the water is H") + spanned("B", "2") + spanned("A", "O in ") + spanned("C", "red lakes")
    text = "All of the water is H2O in red lakes"
    links = [(0, 4), (1, 4), (2, 4), (3, 4), (4, 3), (5, 2), (6, 5), (7, 0), (8, 1)]
    fake = Fake({text: "Rote Seen H2O ist Wasser überall"}, {text: links})
    assert translated(f"<text:p>{body}</text:p>", "odp", fake) == (
        f"<text:p>{spanned('C', 'Rote Seen')}{spanned('A', ' H')}{spanned('B', '2')}"
        f"{spanned('A', 'O ist Wasser überall')}</text:p>"
    )


def test_a_link_in_a_span_holds_bare_text_as_slides_want_it_and_a_field_in_one_is_as_large_as_before() -> None:
    link, page = '<text:a href="http://x.org">%s</text:a>', "<text:page-number>9</text:page-number>"
    body = f"<text:p>{spanned('A', 'See our ')}{spanned('A', link)}{spanned('A', ' on ')}{spanned('A', page)}</text:p>"
    assert translated(body % "old page", "odp") == (
        f"<text:p>{spanned('A', 'SEE OUR ')}{spanned('A', link % 'OLD PAGE')}{spanned('A', ' ON')}{spanned('A', ' ')}"
        f"{spanned('A', page)}</text:p>"
    )


def test_a_long_link_in_slides_is_one_link_wherever_the_other_words_go() -> None:
    link = '<text:a href="http://x.org">%s</text:a>'
    links = [(0, 2), (1, 0), (2, 1), (3, 3), (4, 4)]
    fake = Fake({"see our very old page": "unsere sehr siehe alte Seite"}, {"see our very old page": links})
    out = translated(f"<text:p>{spanned('A', 'see ')}{spanned('A', link % 'our very old page')}</text:p>", "odp", fake)
    assert out == f"<text:p>{spanned('A', link % 'unsere sehr siehe alte Seite')}</text:p>"


def test_both_blanks_around_deleted_text_stay() -> None:
    body = '<text:p>one <text:change text:change-id="c"/><text:s/>dog</text:p>'
    assert translated(body) == '<text:p>ONE <text:change text:change-id="c"/><text:s/>DOG</text:p>'


def test_notes_and_comments_are_texts_of_their_own_and_do_not_cut_the_sentence_around_them() -> None:
    body = f"<text:p>A dog{NOTE} runs{REMARK} home.</text:p>"
    assert texts_of(packed(body), "odt") == ["See there.", "Is it red?", "A dog runs home."]
    notes = NOTE.replace("See there.", "SEE THERE."), REMARK.replace("Is it red?", "IS IT RED?")
    assert translated(body) == f"<text:p>A DOG{notes[0]} RUNS{notes[1]} HOME.</text:p>"


def test_tabs_and_line_breaks_end_a_text_and_blanks_do_not() -> None:
    body = '<text:p>one<text:tab/>two dogs<text:line-break/>three\n   dogs<text:s text:c="3"/>run</text:p>'
    assert texts_of(packed(body), "odt") == ["one", "two dogs", "three dogs run"]
    assert translated(body) == "<text:p>ONE<text:tab/>TWO DOGS<text:line-break/>THREE DOGS RUN</text:p>"


def test_what_a_bookmark_is_about_moves_with_its_words_and_how_a_word_is_read_is_left_out() -> None:
    start, end = ('<text:bookmark-%s text:name="b"/>' % which for which in ("start", "end"))  # noqa: UP031
    fake = Fake({"a red dog": "un chien rouge"}, {"a red dog": [(0, 0), (1, 2), (2, 1)]})
    out = translated(f"<text:p>a {start}red{end} dog</text:p>", fake=fake)
    assert out == f"<text:p>un chien {start}rouge{end}</text:p>"
    ruby = "<text:ruby><text:ruby-base>北京</text:ruby-base><text:ruby-text>Běijīng</text:ruby-text></text:ruby>"
    data = packed(f"<text:p>我住在{ruby}。</text:p>")
    assert (texts_of(data, "odt"), translated_here(data, "odt", str)) == (["我住在北京。"], data)


@pytest.mark.parametrize(
    "name", ["span", "a", "meta", "bookmark", "reference-mark", "toc-mark", "alphabetical-index-mark", "change"]
)
def test_what_is_around_several_words_stays_around_them_where_these_change_places(name: str) -> None:
    start, end = f"<text:{name}>", f"</text:{name}>"
    if "mark" in name or name == "change":
        start, end = (f'<text:{name}-{which} text:name="b"/>' for which in ("start", "end"))
    fake = Fake({"a big red dog": "chien rouge grand un"}, {"a big red dog": [(0, 3), (1, 2), (2, 1), (3, 0)]})
    out = translated(f"<text:p>a {start}big red{end} dog</text:p>", fake=fake)
    assert out == f"<text:p>chien {start}rouge grand{end} un</text:p>"


def test_fields_and_deleted_text_stay_and_text_boxes_are_texts() -> None:
    gone = "<text:tracked-changes><text:deletion><text:p>it was here</text:p></text:deletion></text:tracked-changes>"
    box = "<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>"
    body = f"{gone}<text:p>page <text:page-number>nine</text:page-number> of it{box}</text:p>"
    assert texts_of(packed(body), "odt") == ["in a box", "page of it"]
    out = translated(body)
    assert (gone in out, "PAGE <text:page-number>nine</text:page-number> OF IT" in out) == (True, True)


BOX = "<draw:frame><draw:text-box><text:p>it is %sin a box</text:p></draw:text-box></draw:frame>"


@pytest.mark.parametrize(
    "box",
    [
        BOX % NOTE,
        BOX % (BOX % REMARK),
        "<draw:g><draw:custom-shape><text:p>it is in a box</text:p></draw:custom-shape></draw:g>",
    ],
)
def test_a_text_box_does_not_cut_the_sentence_that_it_is_anchored_in(box: str) -> None:
    body = said = f"<text:p>A dog{box} runs.</text:p>"
    assert texts_of(packed(body), "odt")[-1] == "A dog runs."
    for text in ("A dog", "it is", "in a box", "See there.", "Is it red?", "runs."):
        said = said.replace(text, text.upper())
    assert translated(body) == said


def test_what_a_comment_is_about_moves_with_its_words() -> None:
    start = REMARK.replace(">", ' office:name="c7">', 1)
    end = '<office:annotation-end office:name="c7"/>'
    texts = {"Is it red?": "Est-il rouge ?", "a red dog": "un chien rouge"}
    fake = Fake(texts, {"a red dog": [(0, 0), (1, 2), (2, 1)]})
    out = translated(f"<text:p>a {start}red{end} dog</text:p>", fake=fake)
    assert out == f"<text:p>un chien {start}rouge{end}</text:p>".replace("Is it red?", "Est-il rouge ?")


def test_slides_with_their_notes_and_the_cells_of_a_sheet_are_texts() -> None:
    slide = "<draw:page><draw:text-box><text:p>a slide</text:p></draw:text-box></draw:page>"
    assert translated(slide, "odp") == slide.replace("a slide", "A SLIDE")
    kind, page = '<style:style style:family="presentation"/>', "<text:p>Click to add a title</text:p>"
    template = f"{kind}<office:master-styles>{page}</office:master-styles>"
    assert texts_of(packed(slide, styles=template), "odp") == ["a slide"]
    cells = ["12.5", "SKU-123", "a dog", "http://x.org"]
    row = "".join(
        f"<table:table-cell>{REMARK * (cell == 'a dog')}<text:p>{cell}</text:p></table:table-cell>" for cell in cells
    )
    assert texts_of(packed(row), "ods") == ["Is it red?", "a dog"]
    assert translated(row, "ods") == row.replace("a dog", "A DOG").replace("Is it red?", "IS IT RED?")


def test_a_comment_in_a_footnote_is_a_text() -> None:
    note = NOTE.replace("See there.", f"See {REMARK} there.")
    assert texts_of(packed(f"<text:p>A dog{note} runs.</text:p>"), "odt") == ["Is it red?", "See there.", "A dog runs."]
    said = note.replace("See", "SEE").replace(" there", " THERE").replace("Is it red?", "IS IT RED?")
    assert translated(f"<text:p>A dog{note} runs.</text:p>") == f"<text:p>A DOG{said} RUNS.</text:p>"


def test_texts_at_the_edges_of_slides_are_texts() -> None:
    footer = '<presentation:footer-decl presentation:name="f">For us alone</presentation:footer-decl>'
    body = f"<x xmlns:presentation='p'>{footer}<draw:page/></x>"
    assert translated(body, "odp") == body.replace("For us alone", "FOR US ALONE")


def test_a_cell_that_says_its_text_twice_says_the_translation() -> None:
    """LibreOffice shows the attribute, and computes a formula anew that has none."""
    cell = '<table:table-cell%s office:value-type="string"%s><text:p>a dog</text:p></table:table-cell>'
    for formula in ("", ' table:formula="of:=[.A1]"'):
        body = cell % (formula, ' office:string-value="a dog"')
        assert translated(body, "ods") == (cell % (formula, "")).replace("a dog", "A DOG")
        assert translated_here(packed(body), "ods", str) == packed(body)
    other = cell % ("", ' office:string-value="dog"')  # shown by a format
    assert 'office:string-value="dog"' in translated(other, "ods")


@pytest.mark.parametrize("name", ["table-cell", "covered-table-cell"])
@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("float", "three pieces"), ("percentage", "five percent"), ("currency", "5 euros"), ("boolean", "TRUE or not"),
        ("date", "27 November 2026"), ("time", "seven hours"),
    ],
)  # fmt: skip
def test_what_a_cell_shows_of_its_value_stays_and_a_comment_in_it_is_a_text(kind: str, shown: str, name: str) -> None:
    value = f'<table:{name} office:value-type="{kind}" office:value="3">%s<text:p>{shown}</text:p></table:{name}>'
    text = '<table:table-cell office:value-type="string"><text:p>%s</text:p></table:table-cell><text:p>%s</text:p>'
    body = value % REMARK + text % ("a dog", "a bird")
    said = value % REMARK.replace("Is it red?", "IS IT RED?") + text % ("A DOG", "A BIRD")
    assert [translated(body, suffix) for suffix in ("ods", "odt")] == [said, said]


@pytest.mark.parametrize(
    "source",
    [
        '<table:table-cell table:formula="of:=COUNTIF([.A1:.A9];&quot;Done&quot;)"/>',
        '<table:content-validation table:condition="of:cell-content-is-in-list(&quot;Done&quot;;&quot;No&quot;)"/>',
        '<table:filter-condition table:field-number="0" table:value="Done" table:operator="="/>',
        '<table:table table:style-name="ta1" table:name="Done"/><x table:formula="of:=INDIRECT([.A1])"/>',
        '<table:filter-set-item table:value="Done"/>',
        '<table:data-pilot-field table:source-field-name="Done"/>',
    ],
)
def test_what_formulas_lists_and_pivot_tables_go_by_stays_in_its_cells(source: str) -> None:
    cells = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("Done", "a bird"))
    assert texts_of(packed(cells + source), "ods") == ["a bird"]
    assert texts_of(packed(cells), "ods") == ["Done", "a bird"]


def test_what_is_no_opendocument_is_refused() -> None:
    with pytest.raises(DataError, match="is its suffix right"):
        texts_of(zipped({"word/document.xml": "<x/>"}), "odt")


def test_what_a_content_control_shows_is_a_text() -> None:
    control = '<loext:content-control><loext:list-item loext:value="1"/>of this year</loext:content-control>'
    said = f"<text:p>The rules {control} hold.</text:p>".replace("loext:", "office:")
    assert texts_of(packed(said), "odt") == ["The rules of this year hold."]
    assert "THE RULES <office:content-control>" in translated(said)


def style(properties: str, family: str = "paragraph", kind: str = "style") -> str:
    return f'<style:{kind} style:family="{family}">{properties}</style:{kind}>'


@pytest.mark.parametrize("suffix", ["odt", "odp", "ods"])
def test_into_a_language_from_right_to_left_paragraphs_tables_and_their_alignment_change_sides(suffix: str) -> None:
    before = (
        style('<style:paragraph-properties style:writing-mode="page"/>', kind="default-style")
        + style('<style:paragraph-properties fo:text-align="start" style:writing-mode="lr-tb"/>')
        + style('<style:paragraph-properties fo:text-align="end"/>')
        + style('<style:paragraph-properties fo:text-align="center" style:writing-mode="tb-rl"/>')
        + style('<style:table-properties style:writing-mode="lr"/>', "table")
    )
    after = (
        style('<style:paragraph-properties fo:text-align="end" style:writing-mode="rl-tb"/>', kind="default-style")
        + style('<style:paragraph-properties fo:text-align="end" style:writing-mode="rl-tb"/>')
        + style('<style:paragraph-properties fo:text-align="start"/>')
        + style('<style:paragraph-properties fo:text-align="center" style:writing-mode="tb-rl"/>')
        + style('<style:table-properties style:writing-mode="rl-tb"/>', "table")
    )
    said = '<text:p>say fo:text-align="left" here</text:p>'
    data = translated_here(packed(before + said, styles=before), suffix, tgt_lang="ar")
    assert content(data) == after + '<text:p>SAY FO:TEXT-ALIGN="LEFT" HERE</text:p>'
    assert after in zipfile.ZipFile(io.BytesIO(data)).read("styles.xml").decode()


@pytest.mark.parametrize(("src_lang", "tgt_lang"), [("en", "de"), ("ar", "he"), ("", "de"), ("en", "")])
def test_styles_stay_where_the_translation_runs_as_the_text_does(src_lang: str, tgt_lang: str) -> None:
    body = style('<style:paragraph-properties fo:text-align="left"/>') + "<text:p>one</text:p>"
    out = translated_here(packed(body), "odt", src_lang=src_lang, tgt_lang=tgt_lang)
    assert content(out) == body.replace("one", "ONE")


def test_out_of_a_language_from_right_to_left_styles_begin_at_the_left() -> None:
    body = (
        style('<style:paragraph-properties fo:text-align="end" style:writing-mode="rl-tb"/>') + "<text:p>واحد</text:p>"
    )
    out = content(translated_here(packed(body), "odt", lambda _: "one", src_lang="ar", tgt_lang="en"))
    assert 'fo:text-align="start" style:writing-mode="lr-tb"' in out
