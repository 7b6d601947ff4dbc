"""Words, where they stand in the text as given, and the links that attention makes between them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_model import TinyRun
from yiwen.analysis.alignment import Cut, align_words, cut
from yiwen.analysis.attention import goes_on
from yiwen.errors import ConfigError, DataError
from yiwen.text.normalise import normalise, normalise_with_spans
from yiwen.text.subword import Subword, TokenizerConfig, train_subword
from yiwen.translator import Translator

TEXT = ["the cats sat on the mat, didn't they?", "我们都喜欢猫和狗。", "3 cats 坐在 mat 上。"] * 20


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subword(request: pytest.FixtureRequest) -> Subword:
    return train_subword(lambda: TEXT, TokenizerConfig(kind=request.param, vocab_size=330))[1]


def words(text: str, subword: Subword) -> list[str]:
    return [text[start:end] for start, end in cut(text, subword).words]


def test_words_stand_between_spaces_and_marks_and_chinese_pieces_alone(subword: Subword) -> None:
    assert words("the cats, didn't they?", subword) == ["the", "cats", ",", "didn't", "they", "?"]
    assert "".join(words("我们都喜欢猫。", subword)) == "我们都喜欢猫。"
    assert len(words("我们都喜欢猫。", subword)) >= 3
    assert words("the 猫 sat", subword) == ["the", "猫", "sat"]


def test_pieces_of_scripts_without_blanks_stand_alone_and_vowel_signs_with_their_letter() -> None:
    assert not goes_on("เมือง", "นี้")
    assert goes_on("นี", "้")
    assert goes_on("เ", "มือง")
    assert goes_on("▁dog", "s")


def test_an_emoji_of_several_is_one_word() -> None:
    """A word that is only the invisible joiner, or a colour of skin, is none."""
    parts = ["👨", "\u200d", "👩", "\u200d👧"]
    assert all(goes_on(before, part) for before, part in pairwise(parts))
    assert goes_on("👍", "🏽")
    assert not goes_on("👍", "👍")


def test_a_character_spelt_in_bytes_is_one_word_or_part_of_one(subword: Subword) -> None:
    assert words("the 🐈 sat", subword) == ["the", "🐈", "sat"]
    assert words("the caféß sat", subword) == ["the", "caféß", "sat"]


def test_spans_are_those_of_the_text_as_given_whatever_normalising_changed(subword: Subword) -> None:
    text = "\ufeff the\u00a0\u3000cafe\u0301s\u200b,  sat\r"
    assert words(text, subword) == ["the", "cafe\u0301s", ",", "sat"]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_code_that_has_a_symbol_is_one_word_and_read_as_that(kind: str) -> None:
    symbolic = train_subword(lambda: TEXT, TokenizerConfig(kind=kind, vocab_size=340, placeholders=2))[1]  # type: ignore[arg-type]
    text = "\ufeffthe  cats sat on a.txt, /tmp/größe.txt and b.txt"
    found = cut(text, symbolic, "en", ("a.txt", "/tmp/größe.txt"))
    said = ["the", "cats", "sat", "on", "a.txt", ",", "/tmp/größe.txt", "and"]
    assert [text[start:end] for start, end in found.words][: len(said)] == said
    assert found.ids == symbolic.encode(["the cats sat on ⟦0⟧, ⟦1⟧ and b.txt"])[0]


@given(st.text(alphabet=st.characters(), max_size=12))
def test_normalising_with_spans_is_normalising_and_every_character_has_its_place(text: str) -> None:
    clean, spans = normalise_with_spans(text)
    assert clean == normalise(text)
    assert len(spans) == len(clean)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert list(spans) == sorted(spans)


_MARKS = (
    "aeqx \u0301\u0323\u0327\u0338\u0344\u0f71\u0f73\u0f74\u0f39\u1100\u1161\u11a8\uac00\u09c7\u09be\u0dd9\u0dca\u200b"
)


@given(st.text(alphabet=_MARKS, max_size=9))
def test_characters_that_combine_in_any_order_keep_their_place(text: str) -> None:
    clean, spans = normalise_with_spans(text)
    assert clean == normalise(text)
    for char, (start, end) in zip(clean, spans, strict=True):
        assert char in unicodedata.normalize("NFC", text[start:end].replace("\u200b", ""))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20))
def test_words_cover_all_that_is_written_in_order(subword: Subword, text: str) -> None:
    found = cut(text, subword)
    assert found.ids == subword.encode([normalise(text)])[0]
    ends = [0, *(end for _, end in found.words)]
    assert all(end <= start for end, (start, _) in zip(ends, found.words, strict=False))
    covered = "".join(normalise(text[start:end]) for start, end in found.words)
    assert sorted(covered.replace(" ", "")) == sorted(normalise(text).replace(" ", "")) or not text.isprintable()
    assert len(found.first) == len(found.words)
    if found.ids:
        assert found.first[0] == 0
        assert found.first == sorted(set(found.first))
        assert found.first[-1] < len(found.ids)


SRC = Cut([11, 12, 13], ((0, 3), (4, 9)), [0, 1])  # the second word has two subwords
TGT = Cut([21, 22, 23], ((0, 2), (2, 3)), [0, 2])  # the first word has two
WEIGHTS = np.array(
    [
        [0.7, 0.1, 0.1, 0.1],
        [0.3, 0.2, 0.4, 0.1],
        [0.1, 0.4, 0.4, 0.1],
        [0.0, 0.1, 0.2, 0.7],
    ]
)


def test_attention_to_a_word_is_the_sum_and_from_a_word_the_mean_of_its_subwords() -> None:
    found = align_words(WEIGHTS, SRC, TGT)
    assert (found.src, found.tgt) == (SRC.words, TGT.words)
    # target word 0: (0.7 + 0.3) / 2 and (0.2 + 0.6) / 2; word 1: 0.1 and 0.8
    assert [(i, j, round(weight, 6)) for i, j, weight in found.links] == [(0, 0, 0.5), (1, 0, 0.4), (1, 1, 0.8)]


def test_late_attention_is_that_of_the_step_after() -> None:
    found = align_words(WEIGHTS, SRC, TGT, is_late=True)
    # word 0: rows 1 and 2; word 1: row 3, whose strongest is eos, so that it is made from no word
    assert [(i, j, round(weight, 6)) for i, j, weight in found.links] == [(1, 0, 0.7)]


def test_no_source_word_of_an_untranslated_text_is_linked() -> None:
    found = align_words(None, SRC, Cut([], (), []))
    assert (found.src, found.links) == (SRC.words, ())


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_word_by_word_translation_is_aligned_word_by_word(
    engine: str, tiny_run: TinyRun, exported_bundle: Path
) -> None:
    translator = Translator.load(exported_bundle, engine=engine, threads=1)
    lines = (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[:-1]
    translations = [str(translation) for translation in translator.translate(lines)]
    alignments = translator.align(lines, translations)
    places: Counter[int] = Counter()
    n_words = 0
    for source, target, alignment in zip(lines, translations, alignments, strict=True):
        assert [source[start:end] for start, end in alignment.src] == [*source.removesuffix(".").split(), "."]
        assert [target[start:end] for start, end in alignment.tgt] == [*target.removesuffix(".").split(), "."]
        n_words += len(alignment.src)
        places.update(j - i for i, j, _ in alignment.links)
    # One layer does not aim well. Where each word looks a step early or late, a neighbour has as many links as the
    # word itself, which has 0.42 of them at most; a link at random is right one time in four.
    assert places.pop(0) / n_words > max(0.5, 1.5 * max(places.values()) / n_words)


def test_blank_sides_are_aligned_to_nothing(exported_bundle: Path) -> None:
    translator = Translator.load(exported_bundle, threads=1)
    first, second, third = translator.align(["", "Bada.", " \u200b"], ["", "", "Bada."])
    assert (first.src, first.tgt, second.links, third.links) == ((), (), (), ())


def test_wrong_counts_and_long_texts_are_refused(exported_bundle: Path) -> None:
    translator = Translator.load(exported_bundle, threads=1)
    with pytest.raises(ConfigError, match="2 sources but 1 targets"):
        translator.align(["a", "b"], ["c"])
    with pytest.raises(DataError, match=r"target 1 has \d+ subwords, the model has positions for 95"):
        translator.align(["a"], ["b " * 200])
