"""HTML and XML: which attributes are texts, which elements hide theirs."""

from __future__ import annotations

import pytest
from papers import by, texts_of, translated_here, upper

from yiwen.documents import translate_markup


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("<p onclick=\"var title = 'a b'; c()\">x y</p>", "<p onclick=\"var title = 'a b'; c()\">X Y</p>"),
        ("<a data-x=\"say alt='c d' now\" title='a b'>x</a>", "<a data-x=\"say alt='c d' now\" title=\"A B\">X</a>"),
        ('<input disabled ALT = "a b"/><img alt=dog>', '<input disabled ALT = "A B"/><img alt="DOG">'),
        ("<html data-x=' lang=fr' lang=en>", "<html data-x=' lang=fr' lang=\"de\">"),
    ],
)  # fmt: skip
def test_an_attribute_inside_of_a_value_is_none(source: str, written: str) -> None:
    assert translated_here(source, "html", tgt_lang="de").decode() == written


def test_hidden_elements_have_attributes_to_read_and_no_text() -> None:
    source = """<textarea placeholder="a b">title="c d"</textarea><svg aria-label='e f'><title>g h</title></svg>"""
    assert texts_of(source, "html") == ["a b", "e f"]
    assert 'placeholder="A B">title="c d"</textarea><svg aria-label="E F">' in translated_here(source, "html").decode()


def test_an_element_whose_name_begins_like_that_of_a_hidden_one_is_read() -> None:
    assert texts_of("<svg-icon></svg-icon>one two<svg/>x</svg> <pre-view>three</pre-view>", "html") == ["one two three"]


def test_xml_hides_nothing() -> None:
    source = "<object>One two</object> and <template>three</template>"
    assert translate_markup([source], is_html=False, translate=by(upper)) == [
        "<object>ONE TWO</object> AND <template>THREE</template>"
    ]
    assert translate_markup([source], is_html=True, translate=by(upper)) == [source.replace("and", "AND")]


def test_links_side_by_side_are_texts_apart() -> None:
    source = '<nav><b><a href="/">home</a><a href="/us">about us</a></b></nav><p>see <a>one</a> <a>two</a></p>'
    assert texts_of(source, "html") == ["home", "about us", "see one two"]
    written = '<nav><b><a href="/">HOME</a><a href="/us">ABOUT US</a></b></nav><p>SEE <a>ONE</a> <a>TWO</a></p>'
    assert translated_here(source, "html").decode() == written


def test_the_lines_of_xml_stay_lines() -> None:
    source = "one\ntwo  <b>three</b>.\n\nfour"
    assert translate_markup([source], is_html=False, translate=by(upper)) == [source.upper().replace("B>", "b>")]
    assert translate_markup([source], is_html=True, translate=by(upper)) == ["ONE TWO <b>THREE</b>. FOUR"]
