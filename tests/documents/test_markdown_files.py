"""Markdown as other programs extend it: what is no text in it stays, and links still lead to where they did."""

from __future__ import annotations

import re

import pytest
from papers import texts_of, translated_here


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("Some <!-- a note --> text\n- b <!-- c -->\n", "SOME <!-- a note --> TEXT\n- B <!-- c -->\n"),
        ("see <?php a b ?> now\n", "SEE <?php a b ?> NOW\n"),
        ("> [!NOTE]\n> Some text.\n", "> [!NOTE]\n> SOME TEXT.\n"),
        ("---\r\na: b c\r\n---\r\nSome text\n", "---\r\na: b c\r\n---\r\nSOME TEXT\n"),
    ],
)
def test_what_is_no_text_stays(source: str, written: str) -> None:
    assert translated_here(source, "md").decode() == written


def test_a_link_by_its_own_words_still_leads_to_where_it_did() -> None:
    definitions = "\n\n[the book]: x\n[**a** b]: y\n[z]: z\n"
    out = translated_here("read [the\nbook], [**a** b][] or [it][z]\n\n- [the book]" + definitions, "md").decode()
    assert out == ("READ [THE BOOK][the book], [**A** B][**a** b] OR [IT][z]\n\n- [THE BOOK][the book]" + definitions)


def test_a_footnote_that_a_translation_lost_comes_back() -> None:
    out = translated_here("Dogs[^1] run {n} miles.\n", "md", lambda text: re.sub(r"\[.*?\]|\{n\}", "", text).upper())
    assert out.decode() == "DOGS[^1] RUN {n} MILES.\n"
    word = "A[^1] b\n\n[^1]: Word\n"  # which is a link to some, and a footnote to others
    assert translated_here(word, "md").decode() == "A[^1] B\n\n[^1]: Word\n"


@pytest.mark.parametrize("kept", ['{{< ref "x.md" >}}', "${a[0]}", "https://x.y/a*b/_c", "[^1]"])
def test_what_is_kept_is_not_escaped(kept: str) -> None:
    assert (
        translated_here(f"see {kept} now", "md", lambda text: text.replace("see", "SEE")) == f"SEE {kept} now".encode()
    )


def test_rows_of_containers_and_templates_are_no_text() -> None:
    source = ":::tip\nOne here.\n:::\n\n{% include note.html %}\n\n{% if x_y %} Two {% endif %}\n"
    assert texts_of(source, "md") == ["One here.", "{% if x_y %} Two {% endif %}"]
    out = translated_here(source, "md", lambda text: text.replace("One here", "ONE").replace("Two", "TWO")).decode()
    assert out == source.replace("One here", "ONE").replace("Two", "TWO")
    block = "<div>\n  {% if x %}\n    <p>Hello there</p>\n  {% endif %}\n</div>\n"
    assert texts_of(block, "md") == ["Hello there"]
