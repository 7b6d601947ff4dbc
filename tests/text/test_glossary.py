"""Terms are read from a table and found as whole words, in the case in which they may stand."""

from __future__ import annotations

import re
import sys
from pathlib import PosixPath
from types import FrameType
from typing import Any

import pytest

from yiwen.errors import ConfigError, DataError
from yiwen.text.glossary import Glossary


def test_a_table_has_terms_and_their_translations() -> None:
    text = "dog\tHund\r\n\n  hot   dog \t Hotdog\nyiwen\t\nNASA\nUS\tUSA\n"
    terms = {"dog": "Hund", "hot dog": "Hotdog", "yiwen": "yiwen", "NASA": "NASA", "US": "USA"}
    assert Glossary.parse(text).terms == terms
    assert Glossary.parse("").find("dog") == []
    assert Glossary.parse("dog\tHund\ndog\tHund\n").terms == {"dog": "Hund"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc", r"terms.tsv: line 1 is 'a\\tb\\tc'; write a source term, TAB, its translation"),
        ("a\tb\n\tc", "terms.tsv: line 2 is"),
        ("dog,Hund\n \ncat,Katze\n", "terms.tsv: each line has a comma or the like, no TAB; write"),
        ("dog，狗\ncat；猫\n", "terms.tsv: each line has a comma or the like, no TAB"),
        ("dog：狗\ncat → 猫\n", "terms.tsv: each line has a comma or the like, no TAB"),
        ("dog  狗\ncat\u3000猫\n", "terms.tsv: each line has a comma or the like, no TAB"),
        ('<?xml version="1.0"?><tbx><term>dog</term></tbx>', "terms.tsv is XML, as TBX is; write a line a term"),
        ("\n<martif type='TBX'>\n\t<text/></martif>", "terms.tsv is XML, as TBX is; write a line a term"),
        ('{\n\t"dog": "Hund"\n}\n', "terms.tsv is JSON; write a line a term"),
        ('[{"source": "dog", "target": "Hund"}]', "terms.tsv is JSON; write a line a term"),
        ('"dog"\t"Hund"\n"cat"\t"Katze"\n', "terms.tsv is a table with quotes; write a line a term"),
        ("Source\tTarget\ndog\tHund\n", "terms.tsv is a table with a header; write a line a term"),
        ("\ufeffSource\tTarget\ndog\tHund\n", "terms.tsv is a table with a header"),
        ("src\ttgt\ndog\tHund\n", "terms.tsv is a table with a header"),
        ("English\tChinese\ndog\t狗\n", "terms.tsv is a table with a header"),
        ("中文\t英文\n狗\tdog\n", "terms.tsv is a table with a header"),
        ("原文\t译文\n狗\tdog\n", "terms.tsv is a table with a header"),
        ("a\tb\na\tc", "line 2 translates 'a' as 'c', a line before as 'b'; keep one of them"),
    ],
)
def test_a_table_that_says_nothing_clear_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Glossary.parse(text, source="terms.tsv")


@pytest.mark.parametrize(
    "text",
    [
        "<br>",
        "{name}\n{}",
        '"dog"\t"Hund"\ncat\tKatze',
        "[1]\n[2]",
        '"dog"',
        "<xmlns>",
        "English\t英文",
        "  dog  \n  cat",
    ],
)
def test_tags_placeholders_and_quoted_words_are_terms(text: str) -> None:
    assert len(Glossary.parse(text).terms) == text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A dog, a Dog, a DOG!", ["Hund", "Hund", "Hund"]),
        ("dogs, underdog, dog-house, dog_house", ["Hund"]),
        ("hot dog and dog", ["Hotdog", "Hund"]),
        ("Hot Dog", ["Hotdog"]),
        ("The US and us", ["USA"]),
        ("Yiwen, YIWEN and yiwen", ["Yiwen", "YIWEN", "yiwen"]),
        ("Apple APPLE apple", ["Apfel GmbH", "Apfel GmbH"]),
        ("用Python写狗狗的程序", ["Python", "Hund", "Hund"]),
        ("C++ and C", ["C++"]),
    ],
)
def test_terms_are_found_as_whole_words_longest_first(text: str, found: list[str]) -> None:
    terms = {"dog": "Hund", "hot dog": "Hotdog", "US": "USA", "Apple": "Apfel GmbH", "Python": "Python", "狗": "Hund"}
    glossary = Glossary({**terms, "C++": "C++", "yiwen": "yiwen"})
    assert [target for _, _, target in glossary.find(text)] == found
    for start, end, _ in glossary.find(text):
        assert text[start:end].casefold() in {term.casefold() for term in glossary.terms}


def test_the_same_letters_in_another_case_may_be_another_term() -> None:
    glossary = Glossary({"US": "USA", "us": "uns"})
    assert [target for _, _, target in glossary.find("US us Us")] == ["USA", "uns", "uns"]


@pytest.mark.parametrize("term", ["don't", "don’t"])
def test_a_term_is_found_with_either_apostrophe(term: str) -> None:
    text = "We don't, we Don’t."
    assert [target for _, _, target in Glossary({term: "nicht"}).find(text)] == ["nicht", "nicht"]
    assert [target for _, _, target in Glossary({term: term}).find(text)] == ["don't", "Don’t"]


def test_a_letter_that_is_two_in_small_letters_is_found() -> None:
    assert Glossary({"dog": "Hund", "istanbul": "X"}).find("bana İstanbul.") == [(5, 13, "X")]


def test_a_term_with_a_letter_that_is_two_in_capitals_is_found_in_capitals() -> None:
    glossary = Glossary({"straße": "street", "Maß's": "measure", "große": "große"})
    assert [target for *_, target in glossary.find("STRASSE, MASS’S, Straße, GROSSE")] == [
        "street", "measure", "street", "GROSSE",
    ]  # fmt: skip


def test_scripts_without_blanks_have_no_whole_words() -> None:
    assert Glossary({"ラーメン": "ramen"}).find("このラーメンは旨い。") == [(2, 6, "ramen")]
    assert Glossary({"กรุงเทพ": "Bangkok"}).find("ฉันรักกรุงเทพมาก") == [(6, 13, "Bangkok")]


def test_vowel_signs_belong_to_their_word_and_particles_do_not() -> None:
    assert Glossary({"कम": "less"}).find("कमी कमाल कम") == [(9, 11, "less")]
    assert Glossary({"روم": "Rome"}).find("می\u200cروم روم") == [
        (7, 10, "Rome")
    ]  # what is joined before it is one word
    assert Glossary({"한국": "Korea"}).find("한국은 한국에서의 한국, 한국인") == [
        (0, 2, "Korea"),
        (4, 6, "Korea"),
        (10, 12, "Korea"),
    ]


def test_a_long_glossary_is_compiled_in_no_time_and_finds_the_longest_first() -> None:
    glossary = Glossary({f"term {n}": str(n) for n in range(3000)} | {"term": "T", "C++": "C"})
    assert [target for *_, target in glossary.find("Term 2999, terms, term and C++.")] == ["2999", "T", "C"]


def test_to_look_for_terms_takes_as_many_steps_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns: list[str] = []
    compile_one = re.compile

    def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
        patterns.append(pattern)
        return compile_one(pattern, flags)

    monkeypatch.setattr(re, "compile", compiled)
    n_steps: list[int] = []
    for n in (100, 10_000):
        glossary = Glossary({f"don't {i:05}": "X" for i in range(n)})
        assert glossary.find("") == []  # all that is done once
        events: list[str] = []

        def note(frame: FrameType, event: str, argument: object, events: list[str] = events) -> None:
            events.append(event)

        sys.setprofile(note)
        found = glossary.find("Say don’t 00007 or DON’T 00042, and other words; no don't 99999.")
        sys.setprofile(None)
        assert len(found) == 2
        n_steps.append(len(events))
    assert n_steps[0] == n_steps[1]
    assert sum(map(len, patterns)) < 1000  # a pattern of all terms is tried one by one at each place of a text


def test_a_glossary_is_read_from_text_or_made_of_a_dict() -> None:
    with pytest.raises(ConfigError, match=r"the glossary is a PosixPath; give its text, not PosixPath\('terms.tsv'\)"):
        Glossary.parse(PosixPath("terms.tsv"))  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=r"the terms of a glossary is a list; give a dict, or a table to Glossary.parse"
    ):
        Glossary([("dog", "Hund")])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"text is a int; give one text to look in, not 1"):
        Glossary({"dog": "Hund"}).find(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("terms", [{"dog": float("nan")}, {"dog": None}, {7: "Hund"}])
def test_a_term_that_is_no_text_is_told(terms: Any) -> None:
    with pytest.raises(ConfigError, match=r"a term is a (float|NoneType|int); give its text, not (nan|None|7)"):
        Glossary(terms)


def test_rows_without_a_term_are_none_and_a_term_without_a_translation_stays() -> None:
    assert Glossary({"": "x", "\u200b": "y", "bike": "", "dog": " "}).terms == {"bike": "bike", "dog": "dog"}


def test_terms_made_in_python_are_read_as_those_of_a_table() -> None:
    found = Glossary({"cafe\u0301": "Kaffee", "the\u00a0grass": "Gras"})
    assert found.terms == {"café": "Kaffee", "the grass": "Gras"}
    assert found.find("A café on the grass.") == [(2, 6, "Kaffee"), (10, 19, "Gras")]
