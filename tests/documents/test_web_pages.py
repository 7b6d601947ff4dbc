"""HTML and XML: which attributes are texts, which elements hide theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from papers import Fake, Said, by, texts_of, translated_here, upper

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


@pytest.mark.parametrize(
    ("source", "tgt_lang", "written"),
    [
        ("<html lang=en><p>a b", "ar", '<html dir="rtl" lang="ar"><p>A B'),
        ("<html><p>a b", "he", '<html dir="rtl"><p>A B'),
        ('<HTML dir=ltr lang="en"><p>a b', "fa-IR", '<HTML dir="rtl" lang="fa-IR"><p>A B'),
        ('<html dir="auto"><bdo dir=ltr>a b', "ur", '<html dir="rtl"><bdo dir=ltr>A B'),
        ('<html lang="ar" dir="rtl"><p dir="rtl">a b', "en", '<html lang="en" dir="ltr"><p dir="rtl">A B'),
        ('<html dir="rtl"><p>a b', "", '<html dir="rtl"><p>A B'),
        ('<html lang="en" translate="no"><p>a b', "ar", '<html lang="en" translate="no"><p>a b'),
        ("<html lang=en><p>a b</html>", "zh-Hant", '<html lang="zh-Hant"><p>A B</html>'),
        ('<html xml:lang="en" lang="en"><p>a b', "ckb", '<html dir="rtl" xml:lang="ckb" lang="ckb"><p>A B'),
        ("<p>a b</p>", "ar", "<p>A B</p>"),
        ('<html dir="rtl"><p>a b', "ur-Latn", '<html dir="ltr"><p>A B'),
    ],
)
def test_a_page_runs_in_the_direction_of_its_new_language(source: str, tgt_lang: str, written: str) -> None:
    assert translated_here(source, "html", tgt_lang=tgt_lang).decode() == written


def test_language_and_direction_of_the_text_change_wherever_they_are_said() -> None:
    source = '<div dir="ltr" lang="en-US"><p DIR=ltr>a <b lang="fr">b</b> <bdo dir="ltr">c</bdo><input dir="ltr"></p>'
    arabic = '<div dir="rtl" lang="ar"><p DIR="rtl">A <b lang="fr">B</b> <bdo dir="ltr">C</bdo><input dir="ltr"></p>'
    english = '<div dir="ltr" lang="en"><p DIR="ltr">A <b lang="fr">B</b> <bdo dir="ltr">C</bdo><input dir="ltr"></p>'
    assert translated_here(source, "html", src_lang="en", tgt_lang="ar").decode() == arabic
    assert translated_here(arabic, "html", src_lang="ar", tgt_lang="en").decode() == english
    assert 'dir="ltr" lang="de"' in translated_here(source, "html", src_lang="en", tgt_lang="de").decode()
    phone = '<p lang="he">x <span dir="ltr">+1</span>'
    assert translated_here(phone, "html", src_lang="ar", tgt_lang="fa").decode() == phone.replace("x", "X")


def test_labels_of_buttons_and_choices_are_texts() -> None:
    source = '<input type=Submit value="a b"><input value="c"><optgroup label="d e"><option label="f g">x</option>'
    assert texts_of(source, "html") == ["a b", "d e", "f g", "x"]


def test_labels_inside_of_what_is_not_to_be_translated_stay_as_they_are() -> None:
    source = (
        '<div translate=no><p><img alt="a b"></p></div><img alt="c d"><p class=notranslate title="e f">x<p title="g h">'
    )
    assert texts_of(source, "html") == ["c d", "g h"]


def test_what_search_engines_and_networks_show_of_a_page_is_text_and_its_address_is_not() -> None:
    names = ["description", "og:title", "og:description", "twitter:title", "twitter:description"]
    metas = [
        f'<meta {by}="{name}" content="{name} here">' for by in ("name", "property") for name in [*names, "og:url"]
    ]
    assert texts_of("".join(metas), "html") == [f"{name} here" for name in names] * 2


@pytest.mark.parametrize(
    "reading",
    ["<rt>xuéxiào</rt>", "<rt>xuéxiào", "<rp>(</rp><rt>xuéxiào</rt><rp>)</rp>", "<rp>(<rt>xuéxiào<rp>)"],
)
def test_how_a_word_is_read_is_no_part_of_the_sentence(reading: str) -> None:
    source = f"<p>我住在<ruby>学校{reading}</ruby>。</p>"
    assert texts_of(source, "html") == ["我住在学校。"]
    assert translated_here(source, "html", str).decode() == source


def test_tags_of_templates_stay_as_they_are() -> None:
    source = "<p>Hello <%= user.name %>, {% if a > 1 && b < 2 %}you{% endif %} & <% if (x) { %>me<% } %></p>"
    out = translated_here(source, "html", upper).decode()
    for tag in ("<%= user.name %>", "{% if a > 1 && b &lt; 2 %}", "<% if (x) { %>", "<% } %>", "HELLO", " &amp; "):
        assert tag in out


def test_in_xml_every_sign_is_escaped_in_templates_too() -> None:
    source = '["{% if a > 1 && b %} dog"]'
    (text,) = translate_markup(["<x>{% if a &gt; 1 &amp;&amp; b %} dog</x>"], is_html=False, translate=by(str.title))
    assert "&gt; 1 &amp;&amp;" in text
    assert translated_here(source, "json", upper).decode() == '["{% if a > 1 && b %} DOG"]'


@pytest.mark.parametrize(("label", "text"), [("shift_jis", "①髙"), ("euc-kr", "똠"), ("x-gbk", "㐀")])
def test_labels_of_encodings_mean_what_browsers_read(label: str, text: str) -> None:
    codec = {"shift_jis": "cp932", "euc-kr": "cp949", "x-gbk": "gb18030"}[label]
    source = f'<meta charset="{label}"><p>one {text}</p>'.encode(codec)
    assert translated_here(source, "html", upper).decode(codec).endswith(f"<p>ONE {text}</p>")


def test_hidden_elements_have_attributes_to_read_and_no_text() -> None:
    source = """<textarea placeholder="a b">title="c d"</textarea><svg aria-label='e f'><title>g h</title></svg>"""
    assert texts_of(source, "html") == ["a b", "e f"]
    assert 'placeholder="A B">title="c d"</textarea><svg aria-label="E F">' in translated_here(source, "html").decode()


def test_an_element_whose_name_begins_like_that_of_a_hidden_one_is_read() -> None:
    assert texts_of("<svg-icon></svg-icon>one two<svg/a>x</svg> <pre-view>three</pre-view>", "html") == [
        "one two three"
    ]


def test_xml_hides_nothing() -> None:
    source = "<object>One two</object> and <template>three</template>"
    assert translate_markup([source], is_html=False, translate=by(upper)) == [
        "<object>ONE TWO</object> AND <template>THREE</template>"
    ]
    assert translate_markup([source], is_html=True, translate=by(upper)) == [source.replace("and", "AND")]


def test_in_xml_a_section_of_characters_stays_as_it_is() -> None:
    (text,) = translate_markup(["a dog <![CDATA[<b> & c]]> runs"], is_html=False, translate=by(upper))
    assert text == "A DOG <![CDATA[<b> & c]]> RUNS"


@pytest.mark.parametrize("empty", ['<x id="0"></x>', '<x id="0"/>'])
def test_a_placeholder_without_content_stays_a_word_of_its_own_before_a_sign(empty: str) -> None:
    for source in (f"plays with {empty}.", f"plays{empty}.", f"plays (with {empty})", f"{empty}. Plays"):
        said = by(lambda text: upper(text).replace(" .", ".").replace(" )", ")"))
        assert translate_markup([source], is_html=False, translate=said, ignored=["x"]) == [
            source.upper().replace(empty.upper(), empty)
        ]


def test_a_blank_that_keeps_its_line_is_no_sign_before_which_a_point_is_a_word() -> None:
    source = "<p>the <i></i>\u00a0dog runs"
    assert translated_here(source, "html").decode() == "<p>THE \u00a0<i></i>DOG RUNS"


def test_links_side_by_side_are_texts_apart() -> None:
    source = '<nav><b><a href="/">home</a><a href="/us">about us</a></b></nav><p>see <a>one</a> <a>two</a></p>'
    assert texts_of(source, "html") == ["home", "about us", "see one two"]
    written = '<nav><b><a href="/">HOME</a><a href="/us">ABOUT US</a></b></nav><p>SEE <a>ONE</a> <a>TWO</a></p>'
    assert translated_here(source, "html").decode() == written


def test_the_lines_of_xml_stay_lines() -> None:
    source = "one\ntwo  <b>three</b>.\n\nfour"
    assert translate_markup([source], is_html=False, translate=by(upper)) == [source.upper().replace("B>", "b>")]
    assert translate_markup([source], is_html=True, translate=by(upper)) == ["ONE TWO <b>THREE</b>. FOUR"]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<span>One here.</span><span>Two here.</span>", ["One here. Two here."]),
        ("One here.<img src=x>Two <b>here.</b>Three", ["One here. Two here. Three"]),
        ("a file.<b>txt</b> is <i>here</i>", ["a file.txt is here"]),
    ],
)
def test_sentences_that_only_tags_set_apart_are_two(source: str, texts: list[str]) -> None:
    assert texts_of(source, "html") == texts
    assert translated_here(source, "html").decode() == re.sub(r"(<[^>]*>)|[a-z]", _kept_or_upper, source)


def _kept_or_upper(found: re.Match[str]) -> str:
    return found[1] or found[0].upper()


def test_tags_that_cross_others_keep_their_order() -> None:
    source = "<p>I like <b>green <i>tea</b> and</i> beef.</p>"
    out = translated_here(source, "html", lambda text: " ".join(reversed(text.split()))).decode()
    assert re.findall("<[^>]*>", out) == ["<p>", "<b>", "<i>", "</b>", "</i>", "</p>"]


def test_an_untranslated_element_without_its_end_tag_ends_where_the_next_begins() -> None:
    assert texts_of("<p>One<p translate=no>Brand<p>two</p><p>three</p>", "html") == ["One", "two", "three"]
    assert texts_of("<td><p translate=no>Brand</td><td>two", "html") == ["two"]
    kept = "<div translate=no><div>A</div><div>B</div>"
    assert texts_of(kept, "html") == []
    assert texts_of("one <span class=notranslate>Big <span>Brand</span> name", "html") == ["one Big Brand name"]


def test_what_a_break_between_sentences_was_put_into_stays_between_words() -> None:
    source = "<p>See Fig.<b>A</b> today"
    said = "Heute siehe Bild A"
    fake = Fake({"See Fig. A today": said}, {"See Fig. A today": [(0, 1), (1, 2), (3, 3), (4, 0)]})
    assert "".join(re.split("<[^>]*>", translated_here(source, "html", fake=fake).decode())) == said


def test_kept_code_with_tags_inside_is_written_once() -> None:
    source = "<p>Use <code>a<b>b</b> c</code> now</p>"
    out = translated_here(source, "html", lambda text: text.replace("Use", "USE").replace(" now", " NOW")).decode()
    assert out == source.replace("Use", "USE").replace("now", "NOW")


def test_only_a_page_s_own_words_say_its_encoding() -> None:
    page = '<script charset="gbk"></script><!-- charset=latin1 --><title>How to set charset=foo: é</title>'
    assert texts_of(page.encode(), "html") == ["How to set charset=foo: é"]
    declared = f'<meta charset="iso-8859-1">{page}'
    assert texts_of(declared.encode("iso-8859-1"), "html") == ["How to set charset=foo: é"]


def test_html_that_ends_in_tags_never_closed_takes_no_time() -> None:
    assert translated_here("<p>one</p>" + "<a " * 100_000, "html").decode().startswith("<p>ONE</p>&lt;A &lt;A")


def test_a_tag_that_is_ignored_and_ends_a_text_stays() -> None:
    source = "<par>never</par> yes"
    (found,) = translate_markup([source], is_html=False, translate=by(upper), ignored=["par"], splitting=["par"])
    assert found == "<par>never</par> YES"


def test_tags_that_are_named_end_a_text() -> None:
    source = "<li>Green tea</li><li>black <b>tea</b></li>"
    asked: list[str] = []

    def translate(texts: Sequence[str]) -> list[Said]:
        asked.extend(texts)
        return by(upper)(texts)

    (found,) = translate_markup([source], is_html=False, translate=translate, splitting=["LI"])
    assert asked == ["Green tea", "black tea"]
    assert found == "<li>GREEN TEA</li><li>BLACK <b>TEA</b></li>"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (  # DeepL's own example of structured XML
            "<doc><meta><title>Title</title></meta><par>The first. Followed <b>by</b> it.</par><par>Third</par></doc>",
            ["Title", "The first. Followed by it.", "Third"],
        ),
        ("<li>dog</li><li>cat</li>", ["dog", "cat"]),
        ("<doc><b>A dog</b><p>in <b><i>big</i></b> <i>cars</i></p></doc>", ["A dog", "in big cars"]),
        ("Press <b>Go</b> <i>on</i> now", ["Press Go on now"]),
        ('<p><b>Press</b> <i>go</i></p><g id="1">A</g><x id="2"/> <g id="3">dog</g>', ["Press go", "A dog"]),
        ("<a>" * 3000 + "x", ["x"]),
    ],
)
def test_elements_of_xml_end_a_text_unless_they_stand_in_one(source: str, texts: list[str]) -> None:
    asked: list[str] = []

    def translate(texts: Sequence[str]) -> list[Said]:
        asked.extend(texts)
        return by(upper)(texts)

    assert translate_markup([source], is_html=False, translate=translate) == [
        re.sub(r"(<[^>]*>)|[a-z]", _kept_or_upper, source)
    ]
    assert asked == texts


def test_a_blank_inside_of_formatting_does_not_move_behind_it() -> None:
    for source in ("<p>foo <b> bar</b>, baz", "<p>foo <b>\n<i> bar</i></b>, baz"):
        assert re.sub("<[^>]*>", "", translated_here(source, "html").decode()) == "FOO BAR, BAZ"
    assert translated_here('"foo <b> bar</b>, baz"', "json").decode() == '"FOO <b> BAR</b>, BAZ"'


def test_a_paragraph_that_is_not_translated_ends_where_the_next_begins() -> None:
    assert texts_of('<p translate="no">one<p class="notranslate">two<p>three', "html") == ["three"]


def test_tags_that_cross_keep_their_order_wherever_the_words_go() -> None:
    text, links = "one two three four five", [(n, 4 - n) for n in range(5)]
    fake = Fake({text: "cinco cuatro tres dos uno"}, {text: links})
    out = translated_here("<p>one <b>two <i>three</b> four</i> five", "html", fake=fake).decode()
    assert re.findall("</?[bi]>", out) == ["<b>", "<i>", "</b>", "</i>"]


@pytest.mark.parametrize(
    "mark",
    [
        '<sup id="r1" class="reference"><a href="#n1"><span>&#91;</span>1<span>&#93;</span></a></sup>',
        '<a href="#fn1" class="footnote-ref" role="doc-noteref"><sup>1</sup></a>',
        '<sup><a href="notes.html#n1">1</a></sup><sup><a href="notes.html#n2">2</a></sup>',
        '<a href="notes.xhtml#n1" id="r1" epub:type="noteref">1</a>',
        '<a href="#n1" role="doc-noteref">[1]</a>',
    ],
)
def test_the_mark_of_a_note_is_no_word(mark: str) -> None:
    source = f"<p>A dog{mark} runs</p>"
    assert texts_of(source, "html") == ["A dog runs"]
    assert translated_here(source, "html").decode() == source.replace("A dog", "A DOG").replace("runs", "RUNS")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>two m<sup>2</sup> more</p>", "two m2 more"),
        ('<p>see Figure <a href="#f1">1</a> here</p>', "see Figure 1 here"),
        ('<p>the <sup><a href="#x">next</a></sup> one</p>', "the next one"),
        ('<p>a dog <a href="#x"><sup>1', "a dog 1"),
        ('<p>the <a href="#x" epub:type="noteref">next</a> one</p>', "the next one"),
    ],
)
def test_what_is_raised_or_a_link_and_not_both_is_text(source: str, text: str) -> None:
    assert texts_of(source, "html") == [text]


@pytest.mark.parametrize(
    "kept",
    [
        "<code>a &lt; b</code>",
        '<span translate="no">Widget <b>Super</b> Acme</span>',
        '<code><span class="pre">--no-cache</span> <span class="pre">x.y</span></code>',
        '<code translate="no"><img src="x"></code>',
        '<a href="https://example.org/@bob" class="u-url mention">@<span>bob</span></a>',
        '<a href="https://x.org/a/b"><span class="invisible">https://</span>x.org/a<span>/b</span></a>',
    ],
)
def test_an_element_that_is_kept_stays_whole(kept: str) -> None:
    source = f"<p>Use {kept} now today</p>"
    (text,) = texts_of(source, "html")
    fake = Fake({text: " ".join(reversed(text.split())), "Use 7 now today": "today now 7 Use"})
    assert kept in translated_here(source, "html", fake=fake).decode()


def test_a_paragraph_that_is_not_translated_goes_on_behind_a_line_break() -> None:
    assert texts_of('<p translate="no">Brand<br>name <select><option>one</select> here<p>two', "html") == ["two"]


def test_a_tag_of_a_template_inside_of_a_tag_is_part_of_it() -> None:
    source = '<p {% if x > 1 %}class="a"{% endif %} title="b c">one</p>'
    assert texts_of(source, "html") == ["b c", "one"]
    assert translated_here(source, "html").decode() == source.replace("b c", "B C").replace("one", "ONE")


def test_what_is_not_to_be_translated_may_say_so_in_capitals() -> None:
    source = '<p translate="NO">one dog</p><p>two dogs</p>'
    assert translated_here(source, "html").decode() == source.replace("two dogs", "TWO DOGS")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_link_that_says_its_address_in_parts_is_one_name(scheme: str) -> None:
    source = f'<p>see <a href="{scheme}://a.b/red"><span>{scheme}://</span>a.b<span>/red</span></a> red</p>'
    out = translated_here(source, "html", lambda text: text.replace("red", "RED")).decode()
    assert out == source.replace(" red", " RED")


@pytest.mark.parametrize("sign", [" | ", " • ", " · ", "&nbsp;|&nbsp;", " &middot; ", "&nbsp;&bull; "])
def test_what_a_sign_sets_apart_in_a_title_or_a_menu_is_a_text_each(sign: str) -> None:
    source = f"<title>How to use it{sign}A tool</title><a>One dog</a>{sign}<a>two</a>"
    assert texts_of(source, "html") == ["How to use it", "A tool", "One dog", "two"]
    said = f"<title>HOW TO USE IT{sign}A TOOL</title><a>ONE DOG</a>{sign}<a>TWO</a>"
    assert translated_here(source, "html").decode() == said


@pytest.mark.parametrize("text", ["P(A | B) is small", "a force F · d here", "|x| is small", "a|b", "l·l"])
def test_a_sign_in_a_formula_or_a_word_sets_nothing_apart(text: str) -> None:
    assert texts_of(f"<p>{text}</p>", "html") == [text]


def test_code_with_such_a_sign_is_one_name() -> None:
    assert texts_of("<p>Type <code>ls | more</code> here</p>", "html") == ["Type ls | more here"]


def test_what_mails_put_behind_their_first_words_for_nobody_to_see_is_no_text() -> None:
    unseen = "&nbsp;&zwnj;&nbsp;&zwnj;&nbsp;&zwnj;"
    assert texts_of(f"<div>Your order is here{unseen}</div>", "html") == ["Your order is here"]
    assert translated_here(f"<div>One{unseen}</div>", "html").decode() == f"<div>ONE{unseen}</div>"


def test_signs_in_a_row_take_no_longer_than_other_text() -> None:
    assert texts_of(f"<p>one{' |' * 100_000}two</p>", "html") == [f"one{' |' * 100_000}two"]
