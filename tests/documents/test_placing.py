"""Marks go where the words went: hand-worked alignments, then rules that hold for any."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers import Aligned, words

from yiwen.documents import placing
from yiwen.documents.placing import Linked, place
from yiwen.documents.unit import Mark
from yiwen.plan import Piece


def linked(text: str, target: str, pieces: list[tuple[Piece, Any]]) -> Linked:
    """Without anything that stands in both."""
    return placing.linked(text, target, pieces, ())


def placed(text: str, target: str, links: list[tuple[int, int]] | None, *marks: Mark) -> list[str]:
    """What of the target each mark stands on; `|` at a point's place."""
    alignment = None if links is None else Aligned(words(text), words(target), tuple((i, j, 1.0) for i, j in links))
    piece = Piece(0, len(text), 0, len(target))
    spans = place(marks, linked(text, target, [(piece, alignment)]), [piece])
    return [target[start:end] if start < end else f"{target[:start]}|{target[start:]}" for start, end in spans]


def around(text: str, part: str, parent: int = -1) -> Mark:
    start = text.index(part)
    return Mark(start, start + len(part), parent)


# 0 the 1 red 2 car 3 stops 4 .  ->  0 le 1 coche 2 rojo 3 para 4 .
CROSSED = [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)]


def test_a_mark_follows_its_word_across_another() -> None:
    text, target = "the red car stops.", "el coche rojo para."
    assert placed(text, target, CROSSED, around(text, "red")) == ["rojo"]
    assert placed(text, target, CROSSED, around(text, "car")) == ["coche"]
    assert placed(text, target, CROSSED, around(text, "red car")) == ["coche rojo"]
    assert placed(text, target, CROSSED, around(text, "the red")) in (["el"], ["rojo"])


def test_siblings_may_change_places_and_children_stay_inside() -> None:
    text, target = "the red car stops.", "el coche rojo para."
    outer = around(text, "red car")
    assert placed(text, target, CROSSED, around(text, "red"), around(text, "car")) == ["rojo", "coche"]
    assert placed(text, target, CROSSED, outer, around(text, "red", 0)) == ["coche rojo", "rojo"]


def test_one_word_may_become_several_and_a_gap_is_bridged() -> None:
    text, target = "he looks up", "er schaut es nach"
    links = [(0, 0), (1, 1), (1, 3), (2, 3)]
    assert placed(text, target, links, around(text, "looks up")) == ["schaut es nach"]


def test_chinese_words_are_characters() -> None:
    text, target = "a red car", "一辆红色的车"
    links = [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4), (2, 5)]
    assert placed(text, target, links, around(text, "red")) == ["红色的"]


def test_breaks_lie_between_words_that_are_known_where_no_blanks_are() -> None:
    text, target = "The teacher sees the book, the king loves the city.", "ครูเห็นหนังสือกษัตริย์รักเมือง"
    known, start = [], 0
    for word in ("ครู", "เห็น", "หนังสือ", "กษัตริย์", "รัก", "เมือง"):
        known.append((start, start + len(word)))
        start += len(word)
    alignment = Aligned(words(text), tuple(known), ())
    piece = Piece(0, len(text), 0, len(target))
    at = text.index(" the king")
    ((start, end),) = place([Mark(at, at + 1, is_break=True)], linked(text, target, [(piece, alignment)]), [piece])
    assert (start, end) == (len("ครูเห็นหนังสือ"),) * 2


def test_breaks_lie_between_letters_where_no_word_is_known() -> None:
    text, target = "the book, the city", "หนังสือเมือง"
    at = text.index(" the city")
    piece = Piece(0, len(text), 0, len(target))
    ((start, end),) = place([Mark(at, at + 1, is_break=True)], linked(text, target, [(piece, None)]), [piece])
    assert start == end
    assert 0 < start < len(target)
    assert target[start] not in "ัืี" and target[start - 1] != "เ"  # noqa: PT018


def test_a_vowel_sign_is_no_word_of_its_own() -> None:
    assert placed("the school", "विद्यालय", None, around("the school", "school")) == ["विद्यालय"]


def test_a_word_that_was_left_out_takes_a_word_near_its_place() -> None:
    text, target = "well it stops", "es hält"
    assert placed(text, target, [(1, 0), (2, 1)], around(text, "well")) == ["es"]


def test_punctuation_at_the_edge_stays_outside_unless_it_was_inside() -> None:
    text, target = "stop now please.", "halt, bitte jetzt."
    links = [(0, 0), (0, 1), (1, 3), (2, 2), (3, 4)]
    assert placed(text, target, links, around(text, "stop")) == ["halt"]
    assert placed("so: go", "also: geh", [(0, 0), (1, 1), (2, 2)], around("so: go", "so:")) == ["also:"]


def test_a_word_without_signs_takes_no_bare_sign() -> None:
    """In Markdown `**,**` between words would be shown."""
    text, target = "plays with lights now", "spielt , im Licht jetzt"
    links = [(0, 0), (1, 1), (2, 3), (3, 4)]
    assert placed(text, target, links, around(text, "with")) == ["im"]
    assert placed("go & see", "geh & sieh", [(0, 0), (1, 1), (2, 2)], around("go & see", "&")) == ["&"]


def test_formatting_never_ends_inside_of_a_word_with_an_ampersand() -> None:
    """In Markdown a blank would come between the two: **F&** E-Team."""
    text, target = "The R&D team.", "Unser F&E-Team."
    assert placed(text, target, None, around(text, "R&D")) == ["F&E"]
    assert placed(text, "我们的R&D团队。", None, Mark(0, 7)) == ["我们的R&D"]


def test_marks_that_part_such_a_word_keep_to_their_parts() -> None:
    """With the word as one, the second of two links went to a word that has nothing to do with it."""
    text = "see salt&pepper here"
    marks = around(text, "salt"), around(text, "pepper")
    for target, parts in (("voir sel&poivre ici", ["sel", "poivre"]), ("看盐&胡椒这里", ["盐", "胡椒"])):
        assert placed(text, target, None, *marks) == parts
    assert placed("see Q&A here", "voir Q & R ici", None, around("see Q&A here", "A")) == ["R"]


def test_punctuation_that_a_letter_follows_stays_outside_too() -> None:
    assert placed("so: go", "那么：走", [(0, 0), (0, 1), (1, 2), (2, 3)], around("so: go", "so:")) == ["那么"]
    assert placed("go (so)", "走（所以）", [(0, 0), (1, 1), (2, 2), (2, 3), (3, 4)], around("go (so)", "(so")) == [
        "所以"
    ]


def test_points_stand_before_the_next_word_or_cling_to_the_one_before() -> None:
    text, target = "the red car stops.", "el coche rojo para."
    assert placed(text, target, CROSSED, Mark(4, 4)) == ["el coche |rojo para."]
    assert placed(text, target, CROSSED, Mark(7, 7)) == ["el coche rojo| para."]
    assert placed(text, target, CROSSED, Mark(0, 0), Mark(len(text), len(text))) == [f"|{target}", f"{target}|"]
    assert placed("the red car", "coche rojo", [(1, 1), (2, 0)], Mark(3, 3)) == ["|coche rojo"]


def test_a_number_takes_the_place_of_the_word_that_is_most_its_own() -> None:
    text, target = "see 7 here", "hier etwas ansehen"
    alignment = Aligned(words(text), words(target), ((0, 2, 1.0), (1, 1, 0.8), (1, 2, 0.1), (2, 0, 1.0)))
    piece = Piece(0, len(text), 0, len(target))
    assert place([Mark(4, 5, is_number=True)], linked(text, target, [(piece, alignment)]), [piece]) == [(5, 10)]


def test_a_part_of_a_word_goes_to_the_same_part_of_the_other() -> None:
    text, target = "5 m2 of H2O2 in Rom1", "im Rom1 5 m2 an H2O2"
    links = [(0, 2), (1, 3), (2, 4), (3, 5), (4, 0), (5, 1)]
    marks = [Mark(3, 4), Mark(9, 10), Mark(11, 12), Mark(19, 20), Mark(19, 20, 3)]
    piece = Piece(0, len(text), 0, len(target))
    alignment = Aligned(words(text), words(target), tuple((i, j, 1.0) for i, j in links))
    assert place(marks, linked(text, target, [(piece, alignment)]), [piece]) == [
        (11, 12),
        (17, 18),
        (19, 20),
        (6, 7),
        (6, 7),
    ]
    assert placed("a redder car", "ein roter Wagen", [(1, 1)], Mark(2, 5)) == ["roter"]


def test_without_links_marks_go_by_place() -> None:
    text, target = "one two three four", "eins zwei drei vier"
    assert placed(text, target, None, around(text, "three")) == ["drei"]
    assert placed("one two three four", "一二三四五六七八", None, around(text, "four")) == ["七八"]


def test_where_no_word_is_mostly_its_own_a_mark_takes_the_one_that_is_most_so() -> None:
    links = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]  # a third of x, half of y
    assert placed("a b c", "x y", links, around("a b c", "a")) == ["y"]


@pytest.mark.parametrize(("weight", "place_of_number"), [(0.4, (5, 5)), (0.6, (5, 8))])
def test_a_number_takes_the_place_of_a_word_that_was_surely_made_from_it(
    weight: float, place_of_number: tuple[int, int]
) -> None:
    text, target = "see 7 now", "sieh das jetzt"
    piece = Piece(0, len(text), 0, len(target))
    alignment = Aligned(words(text), words(target), ((1, 1, weight),))
    assert place([Mark(4, 5, is_number=True)], linked(text, target, [(piece, alignment)]), [piece]) == [place_of_number]


def test_breaks_lie_at_ends_of_words_where_the_same_share_is_said() -> None:
    text = "aaaa bbbb cccc dddd"
    target = "eeee ffff gggg hhhh"
    spans = [Mark(9, 10, is_break=True), Mark(14, 15, is_break=True)]
    piece = Piece(0, len(text), 0, len(target))
    assert place(spans, linked(text, target, [(piece, None)]), [piece]) == [(9, 10), (14, 15)]
    chinese = "我们今天，去公园玩"
    (found,) = place(spans[:1], linked(text, chinese, [(Piece(0, 19, 0, 9), None)]), [Piece(0, 19, 0, 9)])
    assert chinese[: found[0]] == "我们今天，"  # a comma near is better than the middle


def test_a_break_between_sentences_stays_there() -> None:
    text, target = "One is here. Two.", "Eins. Zwei ist da und hier."
    pieces = [Piece(0, 12, 0, 5), Piece(13, 17, 6, 27)]
    (span,) = place([Mark(12, 13, is_break=True)], linked(text, target, [(p, None) for p in pieces]), pieces)
    assert target[: span[0]] == "Eins."


def test_breaks_without_a_word_left_are_at_the_end() -> None:
    piece = Piece(0, 5, 0, 4)
    spans = place(
        [Mark(1, 2, is_break=True), Mark(3, 4, is_break=True)], linked("a b c", "eins", [(piece, None)]), [piece]
    )
    assert spans == [(4, 4), (4, 4)]


@st.composite
def tangles(draw: st.DrawFn) -> tuple[str, str, Aligned, list[Mark]]:
    text = " ".join(draw(st.lists(st.sampled_from(["ab", "c", "，", "def"]), min_size=1, max_size=7)))
    target = " ".join(draw(st.lists(st.sampled_from(["x", "，", "ab", "def", "好"]), min_size=1, max_size=7)))
    src, tgt = words(text), words(target)
    links = draw(st.sets(st.tuples(st.integers(0, len(src) - 1), st.integers(0, len(tgt) - 1))))
    marks: list[Mark] = []

    def fill(parent: int, start: int, end: int, depth: int) -> None:
        at = start
        for _ in range(draw(st.integers(0, 3))):
            first = draw(st.integers(at, end))
            last = draw(st.integers(first, end))
            is_break = first < last == first + 1 and text[first] == " " and draw(st.booleans())
            marks.append(Mark(first, last, parent, is_break=is_break))
            if depth < 2 and not is_break:
                fill(len(marks) - 1, first, last, depth + 1)
            at = last

    fill(-1, 0, len(text), 0)
    return text, target, Aligned(src, tgt, tuple((i, j, 1.0) for i, j in sorted(links))), marks


@given(tangles())
def test_what_was_nested_stays_nested_and_nothing_overlaps(tangle: tuple[str, str, Aligned, list[Mark]]) -> None:
    text, target, alignment, marks = tangle
    piece = Piece(0, len(text), 0, len(target))
    spans = place(marks, linked(text, target, [(piece, alignment)]), [piece])
    for parent in range(-1, len(marks)):
        lo, hi = spans[parent] if parent >= 0 else (0, len(target))
        children = sorted(spans[n] for n, mark in enumerate(marks) if mark.parent == parent)
        assert all(lo <= start <= end <= hi for start, end in children), (parent, spans)
        assert all(a[1] <= b[0] for a, b in pairwise(children)), spans
    breaks = [spans[n] for n, mark in enumerate(marks) if mark.is_break]
    assert breaks == sorted(breaks)


def test_breaks_for_which_there_are_too_few_places_keep_their_order() -> None:
    """The last of them stand at the end."""
    marks = [Mark(0, 6), Mark(5, 6, 0, is_break=True), Mark(14, 15, is_break=True)]
    alignment = Aligned(words("ab ab ab ab ab ab"), words("x x"), ())
    piece = Piece(0, 17, 0, 3)
    spans = place(marks, linked("ab ab ab ab ab ab", "x x", [(piece, alignment)]), [piece])
    assert spans == [(0, 2), (1, 2), (3, 3)]


def test_points_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty thousand of them in one paragraph would take longer than a document may."""
    compared: list[object] = []
    monkeypatch.setattr(placing, "_outside", lambda at, spans: compared.extend(spans) or at)
    assert placed("a b", "c d", None, *[Mark(1, 1)] * 7) == ["c| d"] * 7
    assert compared == []


@pytest.mark.parametrize("target", ["", "   "])
def test_an_empty_translation_leaves_marks_around_nothing(target: str) -> None:
    whole = Piece(0, 7, 0, len(target))
    spans = place([Mark(0, 3)], linked("red car", target, [(whole, None)]), [whole])
    assert spans == [(0, 0)]


@pytest.mark.parametrize("sign", "،؛؟۔।॥")
def test_a_point_in_front_of_a_sign_of_arabic_or_devanagari_clings_to_its_word(sign: str) -> None:
    point = Mark(5, 5)
    assert placed(f"a dog{sign} here", "xyz here", [(1, 0), (3, 1)], point) == ["xyz| here"]
