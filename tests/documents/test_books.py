"""EPUB: pages, the list of their headings, and what the package says of the book."""

from __future__ import annotations

import io
import zipfile

import pytest
from papers import Fake, texts_of, translated_here, zipped

from yiwen.errors import DataError

PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>One</title></head>
<body><h1>The dog<a id="p1"/></h1><p>He <i>runs</i> &amp; sings.<br/>So&#160;do I.</p>
<img src="x.png" alt="a dog"/></body></html>
"""
PACKAGE = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title id="t">Dogs &amp; cats</dc:title>
<dc:creator>Ann Lee</dc:creator><dc:language>en-GB</dc:language><dc:identifier>a-1</dc:identifier></package>"""
CONTENTS = """<ncx><docTitle><text>The book</text></docTitle><docAuthor><text>Ann Lee</text>
</docAuthor><navLabel><text>First part</text></navLabel></ncx>"""
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>'


@pytest.fixture(scope="module")
def book() -> bytes:
    file = io.BytesIO(
        zipped({
            "META-INF/container.xml": CONTAINER,
            "OEBPS/b.opf": PACKAGE, "OEBPS/toc.ncx": CONTENTS, "OEBPS/a.xhtml": PAGE, "OEBPS/x.png": b"\x89PNG",
        })
    )  # fmt: skip
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
    return file.getvalue()


def read(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(f"OEBPS/{name}").decode()


def test_pages_titles_and_headings_are_texts_and_names_are_not(book: bytes) -> None:
    said = ["a dog", "Dogs & cats", "The book", "First part", "One", "The dog", "He runs & sings.", "So\xa0do I."]
    assert texts_of(book, "epub") == said


def test_the_language_of_a_translated_book_is_that_of_its_translation(book: bytes) -> None:
    out = translated_here(book, "epub", tgt_lang="zh-Hans")
    assert "<dc:language>zh-Hans</dc:language>" in read(out, "b.opf")
    assert 'xml:lang="zh-Hans" lang="zh-Hans"' in read(out, "a.xhtml")


SPINE = '<package version="{}"><dc:language>{}</dc:language><spine{}><itemref idref="a"/></spine></package>'
RIGHT, LEFT = (f' page-progression-direction="{side}"' for side in ("rtl", "ltr"))


@pytest.mark.parametrize(
    ("version", "src_lang", "before", "tgt_lang", "after"),
    [
        ("3.0", "en", ' toc="n"', "ar", f' toc="n"{RIGHT}'),
        ("3.0", "en-GB", f"{LEFT} toc='n'", "he", f"{RIGHT} toc='n'"),
        ("3.0", "ar", f' toc="n"{RIGHT}', "en", f' toc="n"{LEFT}'),
        ("3.0", "ar", RIGHT, "fa", RIGHT),
        ("3.0", "ja", RIGHT, "en", RIGHT),  # columns of lines, which the style of the book says
        ("3.0", "en", "", "fr", ""),
        ("2.0", "en", "", "ar", ""),  # EPUB 2 cannot say it
    ],
)
def test_pages_are_turned_to_the_side_of_the_translation(
    version: str, src_lang: str, before: str, tgt_lang: str, after: str
) -> None:
    data = zipped({"OEBPS/a.xhtml": PAGE, "OEBPS/b.opf": SPINE.format(version, src_lang, before)})
    assert read(translated_here(data, "epub", tgt_lang=tgt_lang), "b.opf") == SPINE.format(version, tgt_lang, after)


def test_text_changes_and_everything_else_stays(book: bytes) -> None:
    out = translated_here(book, "epub")
    assert read(out, "b.opf") == PACKAGE.replace("Dogs &amp; cats", "DOGS &amp; CATS")
    assert read(out, "toc.ncx") == CONTENTS.replace("The book", "THE BOOK").replace("First part", "FIRST PART")
    assert '<h1>THE DOG<a id="p1"/></h1><p>HE <i>RUNS</i> &amp; SINGS.<br/>SO\xa0DO I.</p>' in read(out, "a.xhtml")
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(io.BytesIO(out)) as new:
        assert new.namelist() == old.namelist()
        assert new.getinfo("mimetype").compress_type == zipfile.ZIP_STORED
        assert new.read("OEBPS/x.png") == old.read("OEBPS/x.png")


def test_tags_in_a_description_stay_tags() -> None:
    said = '&lt;p&gt;A &lt;i class="x"&gt;red&lt;/i&gt; dog.&lt;/p&gt;'
    book = zipped({"a.xhtml": PAGE, "b.opf": f"<package><dc:description>{said}</dc:description></package>"})
    assert "A red dog." in texts_of(book, "epub")
    out = zipfile.ZipFile(io.BytesIO(translated_here(book, "epub"))).read("b.opf").decode()
    assert said.replace("red", "RED").replace("dog", "DOG") in out


@pytest.mark.parametrize("suffix", ["xml", "xht", "XHTML"])
def test_pages_of_other_suffixes_are_texts(suffix: str) -> None:
    book = zipped({"nav.xhtml": PAGE, f"one.{suffix}": PAGE.replace("The dog", "The cat"), "map.xml": "<map>a b</map>"})
    assert {"The dog", "The cat"} <= {*texts_of(book, "epub")}
    assert "a b" not in texts_of(book, "epub")


@pytest.mark.parametrize("name", ["a.htm", "a.html", "a.xhtml"])
def test_a_book_of_pages_of_one_suffix_is_one(name: str) -> None:
    assert texts_of(zipped({name: PAGE}), "epub") == texts_of(zipped({"a.xhtml": PAGE}), "epub")


def test_what_a_book_says_of_itself_as_a_package_is_no_page() -> None:
    book = zipped({"a.xhtml": PAGE, "META-INF/a.xhtml": PAGE.replace("The dog", "The cat")})
    assert texts_of(book, "epub") == texts_of(zipped({"a.xhtml": PAGE}), "epub")


def test_what_holds_no_page_is_refused() -> None:
    with pytest.raises(DataError, match="is its suffix right"):
        texts_of(zipped({"OEBPS/b.opf": PACKAGE}), "epub")


def test_a_book_whose_pages_are_encrypted_is_refused() -> None:
    with pytest.raises(DataError, match="is not utf-8: this is not text, or of another encoding"):
        texts_of(zipped({"OEBPS/a.xhtml": bytes(range(128, 256)), "META-INF/encryption.xml": "<encryption/>"}), "epub")


@pytest.mark.parametrize("empty", ['<script src="a.js"/>', "<code/>", '<div translate="no"/>', "<style media='x' />"])
def test_an_element_that_xhtml_closes_at_once_hides_nothing_behind_it(empty: str) -> None:
    page = PAGE.replace("<h1>", f"{empty}<h1>").replace(
        "</body>", "<style>no</style><script>no</script><div><code>x</code></div></body>"
    )
    data = zipped({"OEBPS/a.xhtml": page})
    assert texts_of(data, "epub") == texts_of(zipped({"OEBPS/a.xhtml": PAGE}), "epub")


def test_a_page_break_inside_of_formatting_does_not_end_it() -> None:
    page = PAGE.replace("He <i>runs</i>", '<span class="b">Big <span id="p2"/>red</span> dogs')
    known = {text: text for text in texts_of(zipped({"a.xhtml": page}), "epub")}
    links = [(0, 1), (1, 0), (2, 2), (3, 3), (4, 4), (5, 5)]
    fake = Fake(known | {"Big red dogs & sings.": "Rouge grand dogs & sings."}, {"Big red dogs & sings.": links})
    out = zipfile.ZipFile(io.BytesIO(translated_here(zipped({"a.xhtml": page}), "epub", fake=fake))).read("a.xhtml")
    assert '<p><span class="b"><span id="p2"/>Rouge grand</span> dogs &amp; sings.' in out.decode()
