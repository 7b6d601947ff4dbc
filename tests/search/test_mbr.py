"""Minimum Bayes risk: sacreBLEU's chrF, and the candidate that the others agree with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from yiwen.search.mbr import by_agreement, chrf, grams_of

TEXTS = st.one_of(
    st.text(max_size=23), st.text("ab c", max_size=17), st.sampled_from(["Ein Hund rennt.", "猫在睡觉。"])
)


@given(TEXTS, TEXTS)
def test_chrf_is_sacrebleus_of_one_sentence_either_way(one: str, other: str) -> None:
    forth, back = chrf(grams_of(one), grams_of(other))
    assert 100 * forth == pytest.approx(CHRF().sentence_score(one, [other]).score, abs=1e-9)
    assert 100 * back == pytest.approx(CHRF().sentence_score(other, [one]).score, abs=1e-9)


def test_the_candidate_most_like_the_others_is_first() -> None:
    texts = ["", "Katzen schlafen", "Ein Hund rennt.", "Ein Hund läuft.", "Der Hund rennt."]
    order = by_agreement(texts)
    assert sorted(order) == list(range(5))
    assert order[0] == 2
    assert order[-1] == 0


def test_what_was_drawn_more_often_counts_for_more() -> None:
    assert by_agreement(["ab cd", "xy zw", "xy zw"])[0] == 1
    assert by_agreement(["ab cd", "ab cd", "xy zw"])[0] == 0


def test_equal_candidates_keep_their_order_and_none_are_none() -> None:
    assert by_agreement(["same", "same", "same"]) == [0, 1, 2]
    assert by_agreement([]) == []
