"""Attention pictures: every weight in its place, never wider than the terminal, Chinese aligned by cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from yiwen.analysis.attention import attention_picture, word_weights
from yiwen.errors import ConfigError


def test_a_small_picture_is_the_one_drawn_by_hand() -> None:
    weights = [[0.9, 0.1, 0.0], [0.02, 0.45, 0.53], [0.3, 0.3, 0.4]]
    assert attention_picture(weights, ["I", "am", "x"], ["我", "tea", "。"]).split("\n") == [
        "       a",
        "     I m x",
        "    ┌──────┐",
        " 我 │██░░  │",
        "tea │  ▓▓▓▓│",
        " 。 │▒▒▒▒▓▓│",
        "    └──────┘",
        "     ░ 5%  ▒ 20%  ▓ 40%  █ 70%",
    ]


def test_chinese_heads_stand_over_their_columns_and_rows_end_in_one_line() -> None:
    picture = attention_picture(np.eye(4), list("我爱你。"), ["I", "love", "you", "."])
    head, *rows = [line for line in picture.split("\n") if "│" in line or "我" in line]
    assert head == " " * 6 + "我爱你。"
    for column, row in enumerate(rows):
        start = cell_len(row[: row.index("█")])
        assert start == cell_len(head[: 6 + column])
        assert cell_len(row) == cell_len(rows[0])


def test_tokens_too_long_to_stand_are_numbered_with_a_legend() -> None:
    src = ["incomprehensibilities", *"bcdefghijkl"]
    lines = attention_picture(np.full((1, 12), 1 / 12), src, ["t"]).split("\n")
    assert lines[0] == " " * 21 + "1 1 1"  # tens over ones: 10, 11, 12
    assert lines[1] == "   1 2 3 4 5 6 7 8 9 0 1 2"
    assert "1 incomprehensibilities  2 b  3 c  4 d" in lines[-3]


def test_wide_characters_in_narrow_columns_are_numbered() -> None:
    picture = attention_picture(np.full((1, 60), 1 / 60), ["字"] * 60, ["t"])
    assert "60 字" in picture
    assert "123456789" in picture


def test_a_sentence_too_long_for_the_width_is_continued_below() -> None:
    weights = np.zeros((1, 60))
    weights[0, 59] = 1.0
    lines = attention_picture(weights, list("ab" * 30), ["t"], width=30).split("\n")
    rows = [line for line in lines if line.startswith("t │")]
    assert [cell_len(row) for row in rows] == [30, 30, 12]
    assert ["█" in row for row in rows] == [False, False, True]
    assert max(map(cell_len, lines)) <= 30


@pytest.mark.parametrize("n", [1, 2, 8, 25, 60, 100])
@pytest.mark.parametrize("token", ["a", "字", "▁tokenise", "incomprehensibility"])
def test_no_line_is_wider_than_80_cells(n: int, token: str) -> None:
    lines = attention_picture(np.full((n, n), 1 / n), [token] * n, [token] * n).split("\n")
    assert max(map(cell_len, lines)) <= 80
    assert sum("│" in line for line in lines) % n == 0


@settings(max_examples=60)
@given(
    st.lists(st.text(max_size=15), min_size=1, max_size=40),
    st.lists(st.text(max_size=15), min_size=1, max_size=5),
    st.integers(min_value=30, max_value=120),
)
def test_any_text_gives_lines_that_fit_and_rows_that_align(src: list[str], tgt: list[str], width: int) -> None:
    lines = attention_picture(np.full((len(tgt), len(src)), 0.5), src, tgt, width=width).split("\n")
    assert max(map(cell_len, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_a_masked_row_without_numbers_is_blank() -> None:
    assert "t │    │" in attention_picture([[float("nan"), float("nan")]], ["a", "b"], ["t"])


def test_pieces_are_merged_into_words_with_columns_summed_and_rows_averaged() -> None:
    src = ["▁The", "▁trans", "form", "er", ".", "</s>"]
    tgt = ["▁Der", "▁Trans", "former"]
    weights = [[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.0, 0.2, 0.2, 0.2, 0.2, 0.2], [0.2, 0.4, 0.0, 0.2, 0.2, 0.0]]
    merged, src_words, tgt_words = word_weights(weights, src, tgt)
    assert src_words == ["The", "transformer", ".", "</s>"]
    assert tgt_words == ["Der", "Transformer"]
    np.testing.assert_allclose(merged, [[0.5, 0.3, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1]])
    np.testing.assert_allclose(merged.sum(axis=1), 1.0)


def test_chinese_pieces_stay_apart_and_a_lone_mark_joins_what_follows() -> None:
    pieces = ["▁", "他", "喝茶", "，", "and", "'", "s", "。"]
    _, words, _ = word_weights(np.zeros((1, 8)), pieces, ["▁x"])
    assert words == ["他", "喝茶", "，", "and's", "。"]


@pytest.mark.parametrize(("n_rows", "n_columns"), [(3, 2), (2, 2), (0, 3)])
def test_weights_of_another_shape_are_refused(n_rows: int, n_columns: int) -> None:
    weights = np.zeros((n_rows, n_columns))
    tokens = ["a", "b", "c"], ["t"] * min(n_rows, 2)
    message = (
        rf"weights have the shape \({n_rows}, {n_columns}\) for {min(n_rows, 2)} target and 3 source tokens; give one"
    )
    with pytest.raises(ConfigError, match=message):
        attention_picture(weights, *tokens)
    with pytest.raises(ConfigError, match=message):
        word_weights(weights, *tokens)


def test_a_width_too_small_is_refused() -> None:
    with pytest.raises(ConfigError, match="width is 29; a picture needs 30 cells or more"):
        attention_picture([[1.0]], ["a"], ["b"], width=29)
