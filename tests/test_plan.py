"""What is translated by itself, where it stood, and that nothing of a text is lost between the two."""

from __future__ import annotations

import unicodedata
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiny_model import TinyRun
from yiwen.bundle import open_bundle
from yiwen.plan import Piece, Stretch, fitting, join, plan
from yiwen.text.glossary import Glossary
from yiwen.text.normalise import normalise
from yiwen.text.reading import Reader, Reading
from yiwen.text.subword import Subword

FIXTURE = [HealthCheck.function_scoped_fixture]
LIMIT = 23
texts_like_text = st.lists(
    st.sampled_from(
        [
            *'abé你好世界 \n\r\t.!?。，、；,;“”"()（）\u3000\u2028\x00👨‍👩‍👧',
            "deti ",
            "Bapu. ",
            "3.5",
            "\u0301",
            "http://a.b/c ",
        ]
    ),
    max_size=120,
).map("".join)


@pytest.fixture(scope="session")
def subword(tiny_run: TinyRun) -> Subword:
    return open_bundle(tiny_run.best).source


class PlainReader:
    """Gives all that is not blank to the model, as it is."""

    def __init__(self, subword: Subword, lang: str, glossary: Glossary | None = None) -> None:
        self.subword, self.src_lang, self.glossary = subword, lang, glossary

    def read(self, text: str, *, must: bool = False) -> Reading:
        return Reading(normalise(text), text)


def planned(
    text: str, subword: Subword, *, by_sentence: bool = False, lang: str = "en", glossary: Glossary | None = None
) -> list[Stretch]:
    reader = cast(Reader, PlainReader(subword, lang, glossary))
    return plan([text], reader=reader, limit=LIMIT, by_sentence=by_sentence, wholes=[False])[0]


class DoubtfulReader(PlainReader):
    """Likewise, but leaves everything as it is unless it must be translated, and says so."""

    def read(self, text: str, *, must: bool = False) -> Reading:
        return Reading(normalise(text), text, flags=("must",)) if must else Reading("", text, flags=("may",))


def inked(text: str) -> str:
    """What a text is but for its blanks; composed anew, because a letter and its accent may have been cut apart."""
    return unicodedata.normalize("NFC", normalise(text).replace(" ", ""))


@given(
    text=texts_like_text | st.text(max_size=200), by_sentence=st.booleans(), lang=st.sampled_from(["en", "zh", "ja"])
)
@settings(max_examples=200, suppress_health_check=FIXTURE)
def test_stretches_together_are_the_whole_text(text: str, by_sentence: bool, lang: str, subword: Subword) -> None:
    stretches = planned(text, subword, by_sentence=by_sentence, lang=lang)
    done = 0
    for stretch in stretches:
        assert done <= stretch.start <= stretch.end
        assert normalise(text[done : stretch.start]) == ""  # what shows nothing may be left out between two
        assert stretch.reading.text == normalise(text[stretch.start : stretch.end])
        assert subword.encode([stretch.reading.text]) == [stretch.ids]
        assert len(stretch.ids) <= LIMIT
        done = stretch.end
    assert normalise(text[done:]) == ""
    assert inked("".join(stretch.reading.text for stretch in stretches)) == inked(text)


def test_no_sentence_and_no_piece_of_a_long_line_ends_inside_of_a_term(subword: Subword) -> None:
    glossary = Glossary({"bapu! gedi": "haus", "deti, deti": "haus", "reta reta": "haus"})
    for text, by_sentence in (("Bapu! Gedi reta. Deti bapu.", True), ("bapu! Gedi. " * 20, False)):
        whole, free = (planned(text, subword, by_sentence=by_sentence, glossary=each) for each in (glossary, None))
        assert all(stretch.reading.text.lower().startswith(("bapu! gedi", "deti")) for stretch in whole)
        assert not all(stretch.reading.text.lower().startswith(("bapu! gedi", "deti")) for stretch in free)
    for term in ("deti, deti", "reta reta"):
        text = f"{'gedi ' * 3}{term} " * 9
        stretches = planned(text, subword, glossary=glossary)
        assert len(stretches) > 1
        assert sum(stretch.reading.text.count(term) for stretch in stretches) == 9
    assert len(planned("reta" * 20, subword, glossary=Glossary({"reta" * 20: "haus"}))) > 1  # longer than there is room


def test_a_whole_text_is_not_cut_into_sentences_and_translated_whatever_it_is(subword: Subword) -> None:
    reader = cast(Reader, DoubtfulReader(subword, "en"))
    texts = ["Deti gedi. Bapu reta."] * 2
    whole, cut = plan(texts, reader=reader, limit=LIMIT, by_sentence=True, wholes=[True, False])
    assert [(stretch.reading.text, stretch.flags) for stretch in whole] == [(texts[0], ("must",))]
    assert [(stretch.reading.output, stretch.flags) for stretch in cut] == [
        ("Deti gedi.", ("may",)),
        ("Bapu reta.", ("may",)),
    ]


def test_pieces_of_a_line_that_is_too_long_are_all_translated(subword: Subword) -> None:
    reader = cast(Reader, DoubtfulReader(subword, "en"))
    text = "deti gedi " * 30
    (pieces,) = plan([text], reader=reader, limit=LIMIT, by_sentence=False, wholes=[True])
    assert {stretch.flags for stretch in pieces} == {("segmented", "must")}
    assert max(len(stretch.ids) for stretch in pieces) <= LIMIT
    assert " ".join(stretch.reading.text for stretch in pieces) == text.strip()


def test_a_line_may_have_as_many_subwords_as_the_model_takes(subword: Subword) -> None:
    reader, text = cast(Reader, PlainReader(subword, "en")), "Deti gedi bapu, reta."
    (n,) = map(len, subword.encode([text]))
    flags = {}
    for limit in (n, n - 1):
        (stretches,) = plan([text], reader=reader, limit=limit, by_sentence=False, wholes=[False])
        flags[limit] = [stretch.flags for stretch in stretches]
    assert flags[n] == [()]
    assert set(flags[n - 1]) == {("segmented",)}


def test_a_character_of_more_subwords_than_the_model_takes_is_cut_no_further(subword: Subword) -> None:
    assert fitting("你好", cast(Reader, PlainReader(subword, "en")), 2) == [(0, 1), (1, 2)]


def test_the_end_of_a_line_is_no_part_of_it(subword: Subword) -> None:
    outputs = [[stretch.reading.output for stretch in planned(text, subword)] for text in ("a.b\r\nc\r", "a.b\r")]
    assert outputs == [["a.b", "c"], ["a.b\r"]]


def test_what_stays_as_it_is_has_its_place_too() -> None:
    kept, blank = Reading("", "a.b/c"), Reading("", " ")
    stretches = [Stretch(0, 5, kept, [], ("passed_through",), 0.5), Stretch(6, 7, blank, [])]
    assert join("a.b/c\n ", stretches, ["a.b/c", ""], tgt_lang="de", by_sentence=False) == (
        "a.b/c\n",
        (Piece(0, 5, 0, 5, ("passed_through",), 0.5),),
    )


@given(text=texts_like_text)
@settings(max_examples=100, suppress_health_check=FIXTURE)
def test_sentences_that_are_translated_to_themselves_give_the_text_back(text: str, subword: Subword) -> None:
    stretches = planned(text, subword, by_sentence=True)
    same = [text[stretch.start : stretch.end] for stretch in stretches]
    whole, pieces = join(text, stretches, same, tgt_lang="en", by_sentence=True)
    assert "".join(whole.split()) == "".join(text.split())
    assert whole.count("\n") == text.count("\n")
    for piece in pieces:
        assert whole[piece.tgt_start : piece.tgt_end] == text[piece.src_start : piece.src_end]
    for line, given_line in zip(whole.split("\n"), text.split("\n"), strict=True):
        if not given_line.strip():  # a blank line, whatever it is made of
            assert line == given_line
        n_before = len(given_line) - len(given_line.lstrip())
        assert line[:n_before] == given_line[:n_before]


def test_paragraphs_and_blank_lines_come_back_as_they_were(subword: Subword) -> None:
    text = "\u3000\u3000Deti gedi. Bapu reta!\r\n \t\r\n\n  Deti.  Gedi.\n"
    stretches = planned(text, subword, by_sentence=True)
    upper = [stretch.reading.text.upper() for stretch in stretches]
    whole, pieces = join(text, stretches, upper, tgt_lang="de", by_sentence=True)
    assert whole == "\u3000\u3000DETI GEDI. BAPU RETA!\r\n \t\r\n\n  DETI. GEDI.\n"
    assert [text[p.src_start : p.src_end].upper() for p in pieces] == [whole[p.tgt_start : p.tgt_end] for p in pieces]


def test_a_line_is_a_stretch_where_nobody_asks_for_sentences(subword: Subword) -> None:
    text = " Deti gedi. Bapu reta. \r\n\n"
    (first, *rest) = planned(text, subword)
    assert (first.reading.text, first.start, first.end) == ("Deti gedi. Bapu reta.", 0, 24)
    assert [(stretch.ids, stretch.end - stretch.start) for stretch in rest] == [([], 0), ([], 0)]
    whole, pieces = join(text, [first, *rest], ["x", "", ""], tgt_lang="de", by_sentence=False)
    assert (whole, pieces) == ("x\n\n", (Piece(0, 24, 0, 1),))


@pytest.mark.parametrize(
    ("tgt_lang", "translations", "expected"),
    [
        ("de", ["Eins.", "Zwei."], "Eins. Zwei."),
        ("zh-Hant", ["一。", "二。"], "一。二。"),
        ("th", ["หนึ่ง", "สอง"], "หนึ่ง สอง"),  # where a blank is what ends a sentence
        ("ja", ["A B", "C"], "A B C"),  # two words never become one
        ("ja", ["一", "C"], "一C"),
        ("ja", ["A B", "二"], "A B二"),
        ("ja", ["A", "(C)"], "A(C)"),
    ],
)
def test_sentences_are_joined_as_the_target_language_does(
    tgt_lang: str, translations: list[str], expected: str, subword: Subword
) -> None:
    text = "Deti.   Gedi."
    stretches = planned(text, subword, by_sentence=True)
    assert join(text, stretches, translations, tgt_lang=tgt_lang, by_sentence=True)[0] == expected


def test_a_long_line_is_cut_behind_sentences_as_many_as_fit(subword: Subword) -> None:
    text = "Deti gedi bapu reta. " * 6
    found = [text[start:end] for start, end in fitting(text, cast(Reader, PlainReader(subword, "en")), LIMIT)]
    assert all(part.endswith(".") for part in found)
    assert " ".join(found) == text.strip()
    sizes = [len(ids) for ids in subword.encode(found)]
    assert max(sizes) <= LIMIT < min(sizes[:-1]) + len(subword.encode(["Deti gedi bapu reta."])[0])


def test_what_stands_behind_a_sentence_that_had_to_be_cut_is_no_part_of_it(subword: Subword) -> None:
    text = f"Kabe. {'Deti gedi bapu, ' * 4}reta. Robu."
    found = [text[start:end] for start, end in fitting(text, cast(Reader, PlainReader(subword, "en")), LIMIT)]
    assert (found[0], found[-1]) == ("Kabe.", "Robu.")
    assert max(map(len, subword.encode(found))) <= LIMIT < len(subword.encode([text[6:-6]])[0])


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("Deti gedi bapu reta, " * 4, ",;"),
        ("deti gedi bapu reta kabe robu " * 5, "aeiou"),
        ("x" * 100, "x"),
        ("你好世界" * 9, "你好世界"),
    ],
)
def test_a_long_sentence_is_cut_behind_commas_else_before_words_else_anywhere(
    text: str, ends: str, subword: Subword
) -> None:
    found = [text[start:end] for start, end in fitting(text, cast(Reader, PlainReader(subword, "en")), LIMIT)]
    assert len(found) > 1
    assert all(part[-1] in ends for part in found)
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
    assert all(len(ids) <= LIMIT for ids in subword.encode(found))


@pytest.mark.parametrize("drawn", ["e\u0301", "กี้", "👩\u200d👩\u200d👧"])
def test_nothing_is_cut_inside_of_what_is_drawn_as_one(drawn: str, subword: Subword) -> None:
    text = drawn * 60
    found = fitting(text, cast(Reader, PlainReader(subword, "en")), LIMIT)
    assert len(found) > 1
    assert {start % len(drawn) for start, _ in found if len(text[start:].lstrip()) > 1} == {0}


def test_what_was_cut_for_its_length_says_so(subword: Subword) -> None:
    short, *rest = planned("Deti.\n" + "deti gedi " * 30, subword, by_sentence=True)
    assert short.flags == ()
    assert {stretch.flags for stretch in rest} == {("segmented",)}


@pytest.mark.parametrize("mark", ["\u0315", "\u200d"])
def test_a_letter_with_thousands_of_marks_is_cut_in_halves(mark: str, subword: Subword) -> None:
    text = f"a{mark * 5000} b"
    found = fitting(text, cast(Reader, PlainReader(subword, "en")), LIMIT)
    assert "".join(text[start:end].strip() for start, end in found) == text.replace(" ", "")
    assert len(found) < 2000
