"""Spans that are no language are found, kept apart and put back; training pairs have symbols where both sides agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.text.protect import (
    MASK,
    MOST_SYMBOLS,
    SPAN,
    apart,
    masked,
    places,
    protected_pair,
    restored,
    symbols,
    unmasked,
)

FOUND = {
    "See https://a.b/c?d=e&f. Then www.x.com/y/.": ["https://a.b/c?d=e&f", "www.x.com/y/"],
    "См. https://ru.wikipedia.org/wiki/Санкт-Петербург, https://кремль.рф.": [
        "https://ru.wikipedia.org/wiki/Санкт-Петербург",
        "https://кремль.рф",
    ],
    "Δες https://a.gr/Νέα_Υόρκη; ar: https://a.eg/مصر، https://b.eg؟": [
        "https://a.gr/Νέα_Υόρκη",
        "https://a.eg/مصر",
        "https://b.eg",
    ],
    "сайт https://a.kz-те, https://b.ruда": ["https://a.kz", "https://b.ru"],
    "访问http://a.cn/b，邮箱x@y.cn。": ["http://a.cn/b", "x@y.cn"],
    "Mail a.b+c@d.co.uk!": ["a.b+c@d.co.uk"],
    "{name} {0} {} {{x}} ${x}": ["{name}", "{0}", "{}", "{{x}}", "${x}"],
    "%s %d %(name)d %1$s %.2f": ["%s", "%d", "%(name)d", "%1$s", "%.2f"],
    '<x id="1"/> <b>bold</b> &amp;': ['<x id="1"/>', "<b>", "</b>", "&amp;"],
    "/usr/bin ./a.sh ~/x C:\\Win\\a.txt": ["/usr/bin", "./a.sh", "~/x", "C:\\Win\\a.txt"],
    "README.md os.path.join() foo() setup.py. a.txt": ["README.md", "os.path.join()", "foo()", "setup.py", "a.txt"],
    "foo_bar __init__ --help": ["foo_bar", "__init__", "--help"],
    "COVID-19 A4 3D F-16 GPT-4": ["COVID-19", "A4", "3D", "F-16", "GPT-4"],
    "1.2.3 10.20.30 v2.0 2024-01-05 0xff 1234567": ["1.2.3", "10.20.30", "v2.0", "2024-01-05", "0xff", "1234567"],
    "`x = 1` ⟦3⟧": ["`x = 1`", "⟦3⟧"],
    "%1 of %2 (%3%), %1%2 %L4": ["%1", "%2", "%3", "%1", "%2", "%L4"],
    "%n file(s), %Ln": ["%n", "%Ln"],
    "@:menu.open, @.lower:menu.file-name. @:{'a b'} @:(x)": [
        "@:menu.open",
        "@.lower:menu.file-name",
        "@:{'a b'}",
        "@:(x)",
    ],
    "seehttp://a.de xftp://b.de 3file://c/d swww.x_y": ["http://a.de", "ftp://b.de", "file://c/d", "www.x_y"],
    "/home/müller/Übersicht.docx année_2 mü@b.de": ["/home/müller/Übersicht.docx", "année_2", "mü@b.de"],
}
NOTHING = ["50%1 and 50%n", "%5 arttı, %1,5 ve %1.5", "%10 %50 a%20dog", "@ann: hi, me @: 5, a@:b",
           "a < b and c > d", "100% sure, 50%, 100%d", "and/or, he/she, km/h", "e.g. i.e. U.S. a.m. z.B.", "3.5mm",
           "end.The", "well-known", "20th 1990s 5km", "12345 3.14", "10:30", "St. Louis", "x = y", "你好"]  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_spans_that_are_no_language_are_found(text: str) -> None:
    assert [span for _, _, span in places(SPAN, text)] == FOUND[text]
    prose, spans = masked(text)
    assert spans == FOUND[text]
    assert unmasked(prose, spans) == text


@pytest.mark.parametrize("text", NOTHING)
def test_language_is_left_to_the_model(text: str) -> None:
    assert masked(text) == (text, [])


pieces = st.sampled_from([*FOUND, *NOTHING, "⟦0⟧", "⟦12⟧", " ", "a_b", MASK, "%", "{"])


@given(st.lists(pieces).map(" ".join) | st.text(max_size=60))
def test_what_was_masked_comes_back(text: str) -> None:
    prose, spans = masked(text)
    assert unmasked(prose, spans) == text.replace(MASK, "")
    assert prose.count(MASK) == len(spans)
    assert not places(SPAN, prose.replace(MASK, " "))


def test_glossary_terms_go_before_spans_that_they_meet() -> None:
    assert masked("open a_b.txt now", [(0, 4, "öffne"), (5, 8, "X")]) == (f"{MASK} {MASK}.txt now", ["öffne", "X"])
    assert masked("{a}dog{b}", [(3, 6, "Hund")]) == (MASK * 3, ["{a}", "Hund", "{b}"])


def test_spans_are_told_apart_from_as_many_others_without_comparing_each_with_each() -> None:
    n_compared = 0

    class Counted(int):
        def __lt__(self, other: int) -> bool:
            nonlocal n_compared
            n_compared += 1
            return int(self) < int(other)

        def __le__(self, other: int) -> bool:
            return not Counted(other) < self

    spans = [(Counted(10 * i), Counted(10 * i + 4), "") for i in range(1000)]
    others = [(Counted(10 * i + 4), Counted(10 * i + 10), "") for i in range(1000)]
    assert apart(spans, others) == spans
    assert n_compared < 50 * 1000  # twice a bisection of 1,000; each with each is half a million
    assert apart(spans, [*others, (Counted(3), Counted(11), "")]) == spans[2:]


def test_symbols_are_put_back_and_invented_ones_go() -> None:
    assert symbols(3) == ("⟦0⟧", "⟦1⟧", "⟦2⟧")
    assert restored("⟦1⟧ und ⟦0⟧, ⟦0⟧ ⟦2⟧", ("a", "b")) == "b und a, a "


def test_half_of_the_pairs_with_the_same_on_both_sides_get_symbols() -> None:
    pairs = [
        (f"Open file_{i}.txt in Berlin, {i} of 37.", f"Öffne file_{i}.txt in Berlin, {i} von 37.") for i in range(1000)
    ]
    found = [protected_pair(src, tgt, 7) for src, tgt in pairs]
    assert found == [protected_pair(src, tgt, 7) for src, tgt in pairs]
    changed = [(pair, new) for pair, new in zip(pairs, found, strict=True) if pair != new]
    assert 400 < len(changed) < 600
    seen = set()
    for (src, _), (new_src, new_tgt) in changed:
        used = [re.findall("⟦.⟧", side) for side in (new_src, new_tgt)]
        assert sorted(used[0]) == sorted(used[1])
        assert len(set(used[0])) == len(used[0]) in (3, 4)  # one-digit numbers are words like others
        assert re.sub("⟦.⟧", "", new_src).split()[0] == "Open"
        assert len(src.split()) == len(new_src.split())
        seen.update(used[0])
    assert seen == set(symbols(7))


def test_what_differs_between_the_sides_stays() -> None:
    pairs = [
        (f"He wrote a_{i} and b_{i}.", f"Er schrieb a_{i}, a_{i} und c_{i}.")
        for i in range(20)  # twice, not there
    ]
    assert [protected_pair(*pair, MOST_SYMBOLS) for pair in pairs] == pairs


def test_a_name_is_a_whole_word_with_its_accents() -> None:
    pairs = [
        (f"Le Président de la Grèce voit Jean-François {i}.", f"Der Präsident sieht Größe und Jean-François {i}.")
        for i in range(20)
    ]
    changed = {new for pair in pairs if (new := protected_pair(*pair, 1)) != pair}
    assert {re.sub(r"\d+\.", "", src) for src, _ in changed} == {"Le Président de la Grèce voit ⟦0⟧ "}
    assert {re.sub(r"\d+\.", "", tgt) for _, tgt in changed} == {"Der Präsident sieht Größe und ⟦0⟧ "}


def test_time_grows_with_the_length_of_a_line_and_no_faster() -> None:
    for part in (
        "a",
        "a.",
        "/a",
        "/-",
        "{",
        "<a",
        "a_",
        "A-",
        "1.",
        "a@",
        "http://",
        "-",
        "%(",
        "&a",
        "`a",
        "aa.",
        "AA1 ",
        "⟦",
    ):
        masked(part * 50_000)
