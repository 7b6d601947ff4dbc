"""Markdown as other programs extend it: what is no text in it stays, and links still lead to where they did."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from papers import Fake, texts_of, translated_here


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("Some <!-- a note --> text\n- b <!-- c -->\n", "SOME <!-- a note --> TEXT\n- B <!-- c -->\n"),
        ("see <?php a b ?> now\n", "SEE <?php a b ?> NOW\n"),
        ("> [!NOTE]\n> Some text.\n", "> [!NOTE]\n> SOME TEXT.\n"),
        ("A dog^[as *he* said [there](x)] runs.\n", "A DOG^[as *he* said [there](x)] RUNS.\n"),
        ("---\r\na: b c\r\n---\r\nSome text\n", "---\r\na: b c\r\n---\r\nSOME TEXT\n"),
    ],
)
def test_what_is_no_text_stays(source: str, written: str) -> None:
    assert translated_here(source, "md").decode() == written


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("See *_the_* dog.", "SEE *_THE_* DOG."),
        ("See _*the*_ dog.", "SEE *_THE_* DOG."),
        ("See **_the_** dog.", "SEE ***THE*** DOG."),
        ("See __*the*__ dog.", "SEE ***THE*** DOG."),
        ("See *the _big_* dog.", "SEE *THE *BIG** DOG."),
        ("See [_the_](a_b) dog.", "SEE [*THE*](a_b) DOG."),
        ("See _the_{.a_b} dog.", "SEE *THE*{.a_b} DOG."),
    ],
)
def test_formatting_in_formatting_is_still_two(source: str, written: str) -> None:
    assert translated_here(source, "md").decode() == written
    before, after = ({child.type for child in MarkdownIt().parse(text)[1].children} for text in (source, written))
    assert before == after


@pytest.mark.parametrize("source", ["See *_the_* dog", "See _*the*_ dog"])
def test_formatting_in_formatting_has_a_blank_on_both_sides_in_chinese(source: str) -> None:
    """A star between a letter and a line marks nothing (CommonMark, section 6.2)."""
    fake = Fake({"See the dog": "看那只狗"}, {"See the dog": [(0, 0), (1, 1), (1, 2), (2, 3)]})
    assert translated_here(source, "md", fake=fake).decode() == "看 *_那只_* 狗"


def test_marks_that_meet_are_one_and_none_ends_behind_a_blank() -> None:
    fake = Fake({"He is in front of us": "他在我们前面"}, {"He is in front of us": [(0, 0), (1, 1), (5, 2), (5, 3)]})
    assert translated_here("**He** is in front of **us**", "md", fake=fake).decode() == "**他**在**我们**前面"
    fake = Fake({"He sees us": "他见我们"}, {"He sees us": [(0, 0), (1, 1), (2, 2), (2, 3)]})
    assert translated_here("**He** **sees** us", "md", fake=fake).decode() == "**他见**我们"
    assert translated_here("**He** *sees* us", "md", fake=fake).decode() == "**他***见*我们"
    assert translated_here("a **run ![i](a.png) by** me", "md").decode() == "A **RUN ![i](a.png) BY** ME"
    fake = Fake({"a run by me": "ich lauf"}, {"a run by me": [(1, 1), (3, 0)]})
    written = translated_here("a **run ![i](a.png) by** me", "md", fake=fake).decode()
    assert written == "ich **lauf![i](a.png)**"


def test_a_link_by_its_own_words_still_leads_to_where_it_did() -> None:
    definitions = "\n\n[the book]: x\n[**a** b]: y\n[z]: z\n"
    out = translated_here("read [the\nbook], [**a** b][] or [it][z]\n\n- [the book]" + definitions, "md").decode()
    assert out == ("READ [THE BOOK][the book], [**A** B][**a** b] OR [IT][z]\n\n- [THE BOOK][the book]" + definitions)


def test_a_footnote_that_a_translation_lost_comes_back() -> None:
    out = translated_here("Dogs[^1] run {n} miles.\n", "md", lambda text: re.sub(r"\[.*?\]|\{n\}", "", text).upper())
    assert out.decode() == "DOGS[^1] RUN {n} MILES.\n"
    word = "A[^1] b\n\n[^1]: Word\n"  # which is a link to some, and a footnote to nearly all
    assert translated_here(word, "md").decode() == "A[^1] B\n\n[^1]: WORD\n"


FOOTNOTES = """# A title[^a_b]

Two sit.[^1] One *runs*[^1], see[^no] {n}.

> One[^2]

[^1]: In red.
[^2]: With a
ball.

    More of it.

    - and a list
[^a_b]: Word
"""


def test_footnotes_are_texts_of_their_own_and_references_are_none() -> None:
    texts = ["A title", "Two sit. One runs, see {n}.", "One", "In red.", "With a ball.", "More of it.", "and a list"]
    assert texts_of(FOOTNOTES, "md") == [*texts, "Word"]
    assert translated_here(FOOTNOTES, "md").decode() == (
        "# A TITLE[^a_b]\n\nTWO SIT.[^1] ONE *RUNS*[^1], SEE[^no] {n}.\n\n> ONE[^2]\n\n[^1]: IN RED.\n"
        "[^2]: WITH A BALL.\n\n    MORE OF IT.\n\n    - AND A LIST\n[^a_b]: WORD\n"
    )


def test_bars_inside_of_cells_are_text() -> None:
    table = "| a \\| b | `x\\|y` c | d |\n|---|---|---|\n| \\| | a\\|b c | *e \\| f* |\n"
    assert texts_of(table, "md") == ["a | b", "x|y c", "d", "a|b c", "e | f"]
    assert translated_here(table, "md", str).decode() == table
    out = translated_here(table, "md", lambda text: text.replace("c", "|").replace("b", "B")).decode()
    assert out == "| a \\| B | `x\\|y` \\| | d |\n|---|---|---|\n| \\| | a\\|B \\| | *e \\| f* |\n"


@pytest.mark.parametrize("kept", ['{{< ref "x.md" >}}', "${a[0]}", "https://x.y/a*b/_c", "www.x.y/a*b/_c"])
def test_what_is_kept_is_not_escaped(kept: str) -> None:
    assert (
        translated_here(f"see {kept} now", "md", lambda text: text.replace("see", "SEE")) == f"SEE {kept} now".encode()
    )


@pytest.mark.parametrize(
    "source",
    [
        "[the guide](guide.md){ .md-button .md-button--primary } is here",
        "# Installing it {#install .unnumbered}",
        "See [@smith2020, p. 5] and [[Home page]] here",
        "It is \\~~not struck\\~~ here.",
        "The [words here]{.underline} of Pandoc",
        "It is \\_\\_lt\\_\\_ here.",
    ],
)
def test_what_other_dialects_write_is_not_escaped(source: str) -> None:
    out = translated_here(source, "md", lambda text: text.replace("here", "HERE").replace("it", "IT")).decode()
    assert out == source.replace("here", "HERE").replace("it ", "IT ")


def test_lines_that_other_dialects_read_are_no_text() -> None:
    for line in ("[TOC]", "[[_TOC_]]", "*[HTML]: Hyper Text", "{: .warning }"):
        assert texts_of(f"{line}\n\nOne here.\n", "md") == ["One here."]


def test_a_table_that_pandoc_draws_around_its_cells_stays_a_table() -> None:
    table = "+------+------+\n| Name | Kind |\n+======+======+\n| dog  | pet  |\n+------+------+\n"
    assert translated_here(f"One here.\n\n{table}", "md").decode() == f"ONE HERE.\n\n{table}"


def test_rows_of_containers_and_templates_are_no_text() -> None:
    source = ":::tip\nOne here.\n:::\n\n{% include note.html %}\n\n{% if x_y %} Two {% endif %}\n"
    assert texts_of(source, "md") == ["One here.", "{% if x_y %} Two {% endif %}"]
    out = translated_here(source, "md", lambda text: text.replace("One here", "ONE").replace("Two", "TWO")).decode()
    assert out == source.replace("One here", "ONE").replace("Two", "TWO")
    block = "<div>\n  {% if x %}\n    <p>Hello there</p>\n  {% endif %}\n</div>\n"
    assert texts_of(block, "md") == ["Hello there"]


def test_attributes_of_images_and_code_stay_with_them() -> None:
    source = "See ![a dog](u){width=300} and `x = 1`{.py} here.\n"
    assert texts_of(source, "md") == ["See and x = 1 here."]
    out = translated_here(source, "md", lambda text: "x = 1 here" if "x = 1" in text else text).decode()
    assert "![a dog](u){width=300}" in out
    assert "`x = 1`{.py}" in out


@pytest.mark.parametrize("mark", ["*a* dog", "<b>a</b> dog", "`a` dog", "[a](b) dog"])
def test_what_stands_in_attributes_is_no_mark_of_the_text(mark: str) -> None:
    attributes = f'{{ title="{mark}" }}'
    written = translated_here(f"see [the guide](u){attributes} here", "md").decode()
    assert written == f"SEE [THE GUIDE](u){attributes} HERE"


def test_attributes_of_a_link_move_with_it() -> None:
    links = [(0, 0), (1, 2), (2, 1)]
    fake = Fake({"a red dog": "un chien rouge", "a red dog.": "un chien rouge."}, {"a red dog": links})
    out = translated_here("a [red](u){.new} dog\n", "md", fake=fake).decode()
    assert out == "un chien [rouge](u){.new}\n"


def test_attributes_inside_of_a_heading_end_no_text() -> None:
    assert texts_of("# A {.red} dog {#one}\n", "md") == ["A {.red} dog"]


def test_an_address_is_not_escaped_whatever_it_begins_with() -> None:
    for address in ("http://a.b/c_d*e", "https://a.b/c_d*e", "www.a.b/c_d*e"):
        source = f"Look at {address} now.\n"
        assert (
            translated_here(source, "md", lambda text: text.replace("Look", "See")).decode()
            == f"See at {address} now.\n"
        )


def test_a_link_that_its_own_words_name_is_named_with_the_marks_in_them() -> None:
    out = translated_here("Use [a *b* c][] now.\n\n[a *b* c]: u\n", "md").decode()
    assert out == "USE [A *B* C][a *b* c] NOW.\n\n[a *b* c]: u\n"


@pytest.mark.parametrize(
    ("source", "target", "written"),
    [
        ("He **is![i](a.png)** there", "他是那", "他**是![i](a.png)** 那"),
        ("He **[is](x)** there", "他是那", "他 **[是](x)** 那"),
        ("He ~~[is](x)~~ *[there](x)*", "他是那", "他 ~~[是](x)~~ *[那](x)*"),
        ("He **is** *[there](x)*", "他是那", "他**是** *[那](x)*"),
        ("**[He](x)** is **there**", "他是那", "**[他](x)** 是**那**"),
        ("**[He](x)** **is** there", "他是那", "**[他](x)是**那"),
        ("[**![i](a.png)He** is](x) there", "他是那", "[**![i](a.png)他**是](x)那"),
        ("He **~~is~~** there", "他是那", "他 **~~是~~** 那"),
        ("He ~~**is**~~ there", "他是那", "他 ~~**是**~~ 那"),
    ],
)
def test_stars_beside_a_sign_still_mark_what_they_marked(source: str, target: str, written: str) -> None:
    fake = Fake({"He is there": target}, {"He is there": [(0, 0), (1, 1), (2, 2)]})
    out = translated_here(source, "md", fake=fake).decode()
    assert out == written
    was, now = (
        re.findall("<(strong|em|s)>", MarkdownIt().enable("strikethrough").render(text)) for text in (source, out)
    )
    assert {*was} == {*now}


def test_an_exclamation_mark_before_a_link_makes_no_picture_of_it() -> None:
    assert translated_here("Look [here](u)[^1]\n", "md", lambda text: "看!这").decode() == "看! [这](u)[^1]\n"
    assert translated_here("Look\\![here](u) now\n", "md").decode() == "LOOK! [HERE](u) NOW\n"
    assert translated_here("Look![^1] Now\n", "md").decode() == "LOOK![^1] NOW\n"


def test_a_digit_in_code_is_not_looked_for_at_the_end_of_a_word() -> None:
    out = translated_here("Set it to `4` for IPv4.\n", "md", lambda text: "Für IPv4 setzen Sie es auf 4.").decode()
    assert out == "Für IPv4 setzen Sie es auf `4`.\n"


def test_code_beside_code_stays_code() -> None:
    fake = Fake({"a b now": "书书红", "7 8 now": "书书红"}, {"7 8 now": [(1, 0), (0, 1)]})
    assert translated_here("`a` `b` now\n", "md", fake=fake).decode() == "`b` `a`红\n"


def test_stars_around_a_word_that_was_lost_are_none() -> None:
    for source, target, written in (
        ("**Big** *dog* here", "狗", "**狗**"),
        ("a **big** ~~red~~ *dog*", "狗", "**狗**"),
        ("a *red* {n}", "{n}", "{n}"),
        ("*[big](x)* **dog**", "狗", "*[狗](x)*"),
        ("**big**![i](a.png) dog", "", "![i](a.png)"),
        ("**[big](x)** [dog](y)", "狗", "[](y)**[狗](x)**"),
    ):
        out = translated_here(source, "md", lambda text, target=target: target).decode()
        assert out.replace(" ", "") == written


def test_terms_and_their_definitions_are_texts_of_their_own() -> None:
    source = "A term\n: What it\n  means.\n\n    More of it.\n\nOther *term*\n\n:   One thing\n:   Another\n"
    assert texts_of(source, "md") == ["A term", "What it means.", "More of it.", "Other term", "One thing", "Another"]
    written = "A TERM\n: WHAT IT MEANS.\n\n    MORE OF IT.\n\nOTHER *TERM*\n\n:   ONE THING\n:   ANOTHER\n"
    assert translated_here(source, "md").decode() == written


def test_brackets_with_a_backslash_in_a_sentence_are_text() -> None:
    assert texts_of("\\[sic\\] he said \\[so\\]\n", "md") == ["[sic] he said [so]"]


@pytest.mark.parametrize(
    ("row", "is_text"),
    [
        ("import Tabs from '@theme/Tabs';", False),
        ('import {a, b} from "react";', False),
        ("import './style.css'", False),
        ("import React from 'react'", False),
        ("import * as dogs from 'dogs'", False),
        ("export { Dog } from './dog'", False),
        ("export * from 'dogs'", False),
        ("export const title = 'Two dogs';", False),
        ("export default function Dog({children}) {", False),
        ('import cars from "Japan"', True),
        ("export dogs from 'Japan'", True),
        ("Import it from '@theme/Tabs'", True),
        ("export default settings to a file", True),
    ],
)
def test_rows_of_mdx_are_no_text(row: str, is_text: bool) -> None:
    assert len(texts_of(f"{row}\n\nOne here.\n", "md")) == 1 + is_text


@pytest.mark.parametrize("attributes", ["{#start}", "{: #start .big}"])
def test_the_attributes_of_a_heading_stay_at_its_end_behind_their_blank(attributes: str) -> None:
    fake = Fake({"Getting started": "入门"})
    out = translated_here(f"# Getting started {attributes}\n", "md", fake=fake).decode()
    assert out == f"# 入门 {attributes}\n"


def test_html_inside_of_lists_is_translated_and_inside_of_quotations_left_alone() -> None:
    source = (
        "- one\n\n  <details>\n  <summary>press me</summary>\n\n  </details>\n\n1. <p>some <b>bold</b>\n   words</p>\n"
        "2. two\n   - <b>\n     alone\n     </b>\n\n> <p>a dog\n> runs</p>\n"
    )
    assert texts_of(source, "md") == ["one", "press me", "some bold words", "two", "alone"]
    written = source.replace("- one", "- ONE").replace("press me", "PRESS ME").replace("alone", "ALONE")
    written = written.replace("some <b>bold</b>\n   words", "SOME <b>BOLD</b> WORDS").replace("two", "TWO")
    assert translated_here(source, "md").decode() == written


def test_code_and_keys_in_tags_stay_as_they_are() -> None:
    source = "Press <kbd>Ctrl</kbd>+<kbd>Page up</kbd> or <CODE>run it</CODE> *now*\n"
    out = source.replace("Press", "PRESS").replace(" or ", " OR ").replace("now", "NOW")
    assert translated_here(source, "md").decode() == out


def test_a_menu_of_links_is_a_text_each() -> None:
    assert texts_of("[One dog](a) | [Two](b) · **more** of it\n", "md") == ["One dog", "Two", "more of it"]


TABLE = """\
 Right     Left of it
-------   ------------
one dog    a tree
two dogs   a big house
"""


@pytest.mark.parametrize("table", [TABLE, TABLE.partition("\n")[2]])
def test_simple_tables_of_pandoc_stay_as_they_are(table: str) -> None:
    source = f"one\n\n{table}\ntwo\n"
    assert translated_here(source, "md").decode() == f"ONE\n\n{table}\nTWO\n"


@pytest.mark.parametrize(("start", "end"), [("```", "```"), ("~~~", "~~~"), ("<pre>", "</pre>"), ("> ```", "> ```")])
def test_code_that_holds_such_a_table_ends_where_it_ends(start: str, end: str) -> None:
    head = "> " if start.startswith(">") else ""
    source = f"{start}\n{head}------- ------\n{head}one dog a tree\n{end}\n\none\n"
    assert texts_of(source, "md") == ["one"]


@pytest.mark.parametrize("rule", ["- - -", "---", "* * *"])
def test_a_rule_is_no_table(rule: str) -> None:
    assert texts_of(f"one\n\n{rule}\ntwo\n", "md") == ["one", "two"]
