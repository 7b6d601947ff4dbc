"""Excel, written and read by openpyxl: strings that cells share, comments, charts, and what formulas go by."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from papers import Fake, saved, texts_of, translated_here, zipped

from yiwen.errors import DataError

CELLS = {
    "A1": "The dog runs.", "A2": CellRichText("A ", TextBlock(InlineFont(b=True), "red"), " dog sings."),
    "A3": " two\nlines ", "A4": "SKU-123", "A5": 12.5, "A6": '=IF(A1="yes","a dog","none")', "A7": "http://x.org",
    "C1": "First name", "D1": "Price", "C2": "a cat", "D2": 1, "C3": "Price", "D3": 2, "E1": "The dog runs.",
}  # fmt: skip


@pytest.fixture(scope="module")
def book() -> bytes:
    """A sheet with formatting, a formula, a table, a chart and a comment."""
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "the dogs"
    for place, value in CELLS.items():
        sheet[place] = value
    sheet["A1"].comment = Comment("Ann Lee:\nA good dog", "Ann Lee")
    sheet.add_table(Table(displayName="Cats", ref="C1:D3"))
    chart = BarChart()
    chart.title = "How many dogs"
    chart.add_data(Reference(sheet, min_col=4, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "G2")
    return saved(made)


def values(data: bytes) -> dict[str, object]:
    sheet = openpyxl.load_workbook(io.BytesIO(data), rich_text=True)["the dogs"]
    return {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None}


def test_without_a_change_a_workbook_is_the_same(book: bytes) -> None:
    assert translated_here(book, "xlsx", str) == book
    assert sorted({*texts_of(book, "xlsx")}) == [
        "A good dog", "A red dog sings.", "How many dogs", "The dog runs.", "a cat", "lines", "two",
    ]  # fmt: skip


def test_text_of_cells_changes_and_what_is_computed_stays(book: bytes) -> None:
    kept = {place: CELLS[place] for place in ("A4", "A5", "A6", "A7", "D2", "D3")}
    found = values(translated_here(book, "xlsx"))
    assert {place: found[place] for place in kept} == kept
    assert (found["A1"], found["E1"], found["C2"]) == ("THE DOG RUNS.", "THE DOG RUNS.", "A CAT")
    assert str(found["A3"]) == " TWO\nLINES "
    assert found.keys() == CELLS.keys()


def test_formatting_inside_of_a_cell_lands_on_the_aligned_words(book: bytes) -> None:
    known = {text: text for text in texts_of(book, "xlsx")} | {"A red dog sings.": "Un chien rouge chante."}
    links = {"A red dog sings.": [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)]}
    found = values(translated_here(book, "xlsx", fake=Fake(known, links)))["A2"]
    assert isinstance(found, CellRichText)
    bold = [part.text for part in found if isinstance(part, TextBlock) and part.font.b]
    assert (str(found), bold) == ("Un chien rouge chante.", ["rouge"])


def test_headings_of_tables_stay_wherever_they_stand_as_formulas_go_by_them(book: bytes) -> None:
    out = translated_here(book, "xlsx")
    found = values(out)
    assert (found["C1"], found["D1"], found["C3"]) == ("First name", "Price", "Price")
    table = openpyxl.load_workbook(io.BytesIO(out))["the dogs"].tables["Cats"]
    assert [column.name for column in table.tableColumns] == ["First name", "Price"]


@pytest.mark.parametrize(
    ("name", "said", "named"),
    [
        ("pivotCache/pivotCacheDefinition1", "Dogs &amp; cats", '<cacheField name="Dogs &amp; cats"/>'),
        ("tables/table2", "First\nname", '<x:tableColumn id="1" name="First_x000a_name"/>'),
        ("tables/table2", "All of them", '<x:tableColumn id="1" name="Dogs" totalsRowLabel="All of them"/>'),
    ],
)
def test_what_else_formulas_and_pivot_tables_find_by_its_name_stays(name: str, said: str, named: str) -> None:
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:x="x"'
    files = {
        "xl/workbook.xml": f"<workbook {space}/>",
        "xl/sharedStrings.xml": f"<sst {space}><si><t>{said}</t></si><si><t>a bird</t></si></sst>",
        f"xl/{name}.xml": f"<part {space}>{named}</part>",
    }
    assert texts_of(zipped(files), "xlsx") == ["a bird"]


def test_comments_and_titles_of_charts_are_texts_and_authors_are_not(book: bytes) -> None:
    out = translated_here(book, "xlsx")
    comment = openpyxl.load_workbook(io.BytesIO(out))["the dogs"]["A1"].comment
    assert (comment.text, comment.author) == ("Ann Lee:\nA GOOD DOG", "Ann Lee")
    assert "HOW MANY DOGS" in zipfile.ZipFile(io.BytesIO(out)).read("xl/charts/chart1.xml").decode()


@pytest.mark.parametrize("prefix", ["", "x:"])
def test_strings_that_stand_in_their_cells(prefix: str) -> None:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    p, declared = prefix, f'xmlns{":" * bool(prefix)}{prefix[:-1]}="{space}"'
    string = f'<{p}is><{p}t>a&#10;dog_x000D_</{p}t><{p}rPh sb="0" eb="1"><{p}t>ein</{p}t></{p}rPh></{p}is>'
    sheet = f'<{p}worksheet {declared}><{p}c r="A1" t="inlineStr">{string}</{p}c></{p}worksheet>'
    data = zipped({"xl/workbook.xml": f"<{p}workbook {declared}/>", "xl/worksheets/sheet1.xml": sheet})
    assert texts_of(data, "xlsx") == ["a", "dog"]
    out = zipfile.ZipFile(io.BytesIO(translated_here(data, "xlsx"))).read("xl/worksheets/sheet1.xml").decode()
    assert f'<{p}is><{p}r><{p}t xml:space="preserve">A</{p}t></{p}r>' in out
    assert (out.count("<is>") + out.count("<x:is>"), "rPh" in out, "_x000D_" in out) == (1, False, False)


SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(cells: str, *, rest: str = "", properties: str = "", **others: str) -> bytes:
    """A workbook of one sheet, as raw XML."""
    sheet = f'<worksheet xmlns="{SHEETS}"><sheetData><row>{cells}</row></sheetData>{rest}</worksheet>'
    files = {"workbook": f'<workbook xmlns="{SHEETS}">{properties}</workbook>', "worksheets/sheet1": sheet, **others}
    return zipped({f"xl/{name}.xml": content for name, content in files.items()})


def part(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(f"xl/{name}.xml").decode()


def test_strings_without_a_formula_are_text_as_sheetjs_writes_them_and_results_of_formulas_are_not() -> None:
    result = '<c r="B1" t="str"><f>A1&amp;"!"</f><v>a dog!</v></c>'
    data = workbook(f'<c r="A1" s="2" t="str"><v>a dog &amp; more</v></c>{result}')
    assert texts_of(data, "xlsx") == ["a dog & more"]
    out = part(translated_here(data, "xlsx"), "worksheets/sheet1")
    assert '<c r="A1" s="2" t="inlineStr"><is><r><t xml:space="preserve">A DOG &amp; MORE</t></r></is></c>' in out
    assert result in out
    assert translated_here(data, "xlsx", str) == data


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("Done", '<c><f>IF(A1="done",1,2)</f><v>1</v></c>'),
        ("Done", '<c><f t="shared" si="0">COUNTIF(A:A,&quot;Done&quot;)</f></c>'),
        ("Big dogs", '<c><f>SUMIFS(B:B,A:A,"&lt;&gt;Big dogs",C:C,"x")</f></c>'),
        ("Red & big", '<c><f>VLOOKUP("Red &amp; big",A:B,2)</f></c>'),
        ("North", '<c><f>GETPIVOTDATA("Sales",$A$3,"Region","North")</f></c>'),
        ("no way", '<dataValidation type="list"><formula1>"by all means,no way"</formula1></dataValidation>'),
        ("Done", '<cfRule type="containsText"><formula>NOT(ISERROR(SEARCH("Done",A1)))</formula></cfRule>'),
        ("Done", '<autoFilter><filterColumn><filters><filter val="Done"/></filters></filterColumn></autoFilter>'),
    ],
)
def test_what_formulas_lists_and_filters_go_by_stays_in_its_cells(name: str, formula: str) -> None:
    strings = f'<sst xmlns="{SHEETS}"><si><t>{name.replace("&", "&amp;")}</t></si><si><t>a bird</t></si></sst>'
    assert texts_of(workbook(formula, sharedStrings=strings), "xlsx") == ["a bird"]
    assert texts_of(workbook('<c><f>IF(A1&gt;0,"Done","x")</f></c>', sharedStrings=strings), "xlsx")[1:] == ["a bird"]


@pytest.mark.parametrize(
    "called",
    ['<sheets><sheet name="a cat" r:id="x"/></sheets>', '<definedName localSheetId="2" name="a cat">A1</definedName>'],
)
def test_names_of_sheets_and_ranges_stay_in_cells_that_a_formula_finds_them_by(called: str) -> None:
    strings = f'<sst xmlns="{SHEETS}"><si><t>A cat</t></si><si><t>a bird</t></si></sst>'
    properties = f'<x xmlns:r="r">{called}</x>'
    asks = workbook("<c><f>SUM(INDIRECT(A1))</f></c>", properties=properties, sharedStrings=strings)
    assert texts_of(asks, "xlsx") == ["a bird"]
    assert texts_of(workbook("<c/>", properties=properties, sharedStrings=strings), "xlsx") == ["A cat", "a bird"]


def test_names_of_files_are_read_in_any_case_as_excel_does() -> None:
    strings = f'<sst xmlns="{SHEETS}"><si><t>a bird</t></si></sst>'
    assert texts_of(workbook("<c/>", SharedStrings=strings), "xlsx") == ["a bird"]


def test_excel_computes_formulas_anew_where_a_cell_has_changed() -> None:
    strings = f'<sst xmlns="{SHEETS}"><si><t>a bird</t></si></sst>'
    for before, after in (
        ('<calcPr calcId="7"/>', '<calcPr fullCalcOnLoad="1" calcId="7"/>'),
        ('<calcPr calcId="7" fullCalcOnLoad="1"/>', '<calcPr calcId="7" fullCalcOnLoad="1"/>'),
        ("", ""),
    ):
        data = workbook("<c/>", properties=before, sharedStrings=strings)
        assert f">{after}</workbook>" in part(translated_here(data, "xlsx"), "workbook")
        assert translated_here(data, "xlsx", str) == data


def test_a_workbook_of_numbers_comes_back_as_it_was() -> None:
    made = openpyxl.Workbook()
    made.active["A1"] = 7
    data = saved(made)
    assert (texts_of(data, "xlsx"), translated_here(data, "xlsx")) == ([], data)


def test_titles_of_charts_in_word_and_powerpoint_are_texts() -> None:
    a = "http://schemas.openxmlformats.org/drawingml/2006/main"
    text = f'<x xmlns:a="{a}"><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></x>'
    for suffix, main in (("docx", "word/document"), ("pptx", "ppt/slides/slide1")):
        files = {f"{main}.xml": "a text", f"{main.partition('/')[0]}/charts/chart2.xml": "a title"}
        assert texts_of(zipped({name: text.format(said) for name, said in files.items()}), suffix) == [
            "a text",
            "a title",
        ]


def test_another_office_file_is_no_workbook() -> None:
    with pytest.raises(DataError, match="is its suffix right"):
        texts_of(zipped({"word/document.xml": "<x/>"}), "xlsx")
