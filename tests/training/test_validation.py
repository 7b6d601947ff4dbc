"""Validation text in batches: all of it, the longest first, and none that a model has no room for."""

from __future__ import annotations

import pytest

from yiwen.errors import DataError
from yiwen.training.validation import chunks_of


def test_texts_of_like_length_are_judged_together() -> None:
    texts = [[7] * length for length in (1, 5, 2, 4)]
    assert chunks_of(texts, max_len=6, batch_tokens=12) == [[1, 3], [2, 0]]
    assert chunks_of(texts, max_len=6, batch_tokens=12, only=[0, 2]) == [[2, 0]]


def test_no_text_and_text_that_is_too_long_are_named() -> None:
    with pytest.raises(DataError, match=r"there is no validation text; set data\.valid to a file with text, or"):
        chunks_of([], max_len=6, batch_tokens=12)
    with pytest.raises(DataError, match=r"validation lines 2 have 5 subwords or more, .* or raise model\.max_len"):
        chunks_of([[7], [7] * 5], max_len=5, batch_tokens=12)
