"""Normalisation keeps what a translator must write and removes what nobody sees."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.errors import ConfigError
from yiwen.text.normalise import _TABLE, as_texts, normalise

ANY_TEXT = st.text(st.characters(exclude_categories=[]))  # surrogates, controls and unassigned included


@given(ANY_TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(ANY_TEXT)
def test_the_result_is_one_line_of_composed_text(text: str) -> None:
    result = normalise(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in result)
    assert unicodedata.is_normalized("NFC", result)
    assert result == result.strip(" ")
    assert "  " not in result
    result.encode("utf-8")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("Cafe\u0301", "Café"),
        ("a\u00a0b\u2009c\u3000d\te", "a b c d e"),
        ("one\u2028two\u0085three\rfour", "one two three four"),
        ("zero\u200bwidth\ufeff, soft\u00adhyphen, \x00NUL", "zerowidth, softhyphen, NUL"),
        ("\u202eoverride\u202c", "override"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("\ud800\udfff", "\ufffd\ufffd"),
    ],
)
def test_spaces_and_invisible_characters(raw: str, clean: str) -> None:
    assert normalise(raw) == clean


@pytest.mark.parametrize(
    "text", ["他说：“你好，世界！”（真的？）", "ＦＵＬＬ width １２３", "ÀÉ SHOUTS", "می‌خواهم", "ᠬᠠᠷ᠎ᠠ", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
)
def test_case_full_width_signs_and_joiners_stay(text: str) -> None:
    assert normalise(text) == text


def test_the_quick_path_misses_no_character() -> None:
    assert not any(chr(code).isprintable() for code in _TABLE)


@pytest.mark.parametrize("column", [pa.array(["a", "b"]), pa.chunked_array([["a"], ["b"]])])
def test_a_column_of_arrow_is_a_list_of_texts(column: pa.Array | pa.ChunkedArray) -> None:
    assert as_texts(column, "an encoder") == ["a", "b"]
    with pytest.raises(ConfigError, match=r"give a column of strings, not a table, a set or a single text$"):
        as_texts(pa.table({"a": column}), "an encoder")
    with pytest.raises(ConfigError, match=r"item 1 is None$"):
        as_texts(pa.array(["a", None]), "an encoder")


def test_what_is_no_text_is_named_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"give a column of strings, not a table, .*; item 1 is None$"):
        as_texts(["a", None, 3], "an encoder")
    with pytest.raises(ConfigError, match=r"or a single text$"):
        as_texts({"a": 1}, "an encoder")


@pytest.mark.parametrize("values", [np.array("text"), np.array([["a", "b"]])])
def test_an_array_of_texts_has_one_axis(values: np.ndarray) -> None:
    assert as_texts(np.array(["a", "b"]), "an encoder") == ["a", "b"]
    with pytest.raises(ConfigError, match=r"an encoder takes a list of texts; give a column of strings"):
        as_texts(values, "an encoder")
