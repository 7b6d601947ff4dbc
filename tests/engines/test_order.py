"""Texts of like length travel together: each once, as many at a time as the budget allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yiwen.engines.engine import longest_first


@given(
    lengths=st.lists(st.integers(0, 50), max_size=60), batch_tokens=st.integers(1, 200), chosen=st.sets(st.integers(0))
)
def test_every_text_travels_once_longest_first_and_as_many_together_as_the_budget_allows(
    lengths: list[int], batch_tokens: int, chosen: set[int]
) -> None:
    some = [place for place in range(len(lengths)) if place in chosen]
    for places, wanted in ((None, list(range(len(lengths)))), (some, some)):
        batches = list(longest_first(lengths, batch_tokens, only=places))
        order = [i for batch in batches for i in batch]
        assert sorted(order) == wanted
        assert [lengths[i] for i in order] == sorted((lengths[i] for i in wanted), reverse=True)
        for batch in batches:
            n_fitting = batch_tokens // (max(lengths[i] for i in batch) + 1)
            assert len(batch) == max(n_fitting, 1) or (batch is batches[-1] and len(batch) < n_fitting)
