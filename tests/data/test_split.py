"""Duplicates, held-out rows and overlap, on hashes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from yiwen.data.split import MOST_HELD_OUT, Keys, choose, duplicates, joined, keys_of, overlaps

WORDS = st.sampled_from([f"word{n}" for n in range(40)])
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=200)


def keys(pairs: list[tuple[str, str]]) -> Keys:
    return keys_of([src for src, _ in pairs], [tgt for _, tgt in pairs])


def test_hashes_are_the_same_on_every_machine() -> None:
    assert keys([("Dog", "Hund")]).src.tolist() == keys([("dOG", "")]).src.tolist() == [0x9F9C5ED2C1C78439]


def test_neither_side_is_told_from_the_same_in_capitals() -> None:
    assert overlaps(keys([("a", "Hund"), ("DOG", "b"), ("c", "d")]), keys([("dog", "hUND")])).tolist() == [
        True,
        True,
        False,
    ]


def test_pairs_that_join_to_the_same_text_differ() -> None:
    pair = keys([("ab", "c"), ("a", "bc"), ("A", "bc"), ("a b", "c"), ("a", "b c")]).pair
    assert len(set(pair.tolist())) == 5


@given(PAIRS)
def test_only_the_first_of_equal_pairs_stays(pairs: list[tuple[str, str]]) -> None:
    kept = [pair for pair, repeated in zip(pairs, duplicates(keys(pairs).pair), strict=True) if not repeated]
    assert kept == list(dict.fromkeys(pairs))


@given(PAIRS, PAIRS)
def test_overlap_is_sharing_a_side(pairs: list[tuple[str, str]], held_out: list[tuple[str, str]]) -> None:
    sources, targets = {src for src, _ in held_out}, {tgt for _, tgt in held_out}
    expected = [src in sources or tgt in targets for src, tgt in pairs]
    assert overlaps(keys(pairs), keys(held_out)).tolist() == expected


@given(PAIRS, st.integers(0, 20), st.data())
def test_held_out_rows_share_no_side_and_do_not_depend_on_order(
    pairs: list[tuple[str, str]], n_pairs: int, data: st.DataObject
) -> None:
    pairs = list(dict.fromkeys(pairs))
    everything = np.ones(len(pairs), bool)
    rows = choose(keys(pairs), everything, n_pairs=n_pairs)
    chosen = [pairs[row] for row in rows]
    assert len(chosen) <= min(n_pairs, len(pairs) * MOST_HELD_OUT)
    assert len({src for src, _ in chosen}) == len({tgt for _, tgt in chosen}) == len(chosen)
    assert rows.tolist() == sorted(rows)
    shuffled = data.draw(st.permutations(pairs))
    assert {shuffled[row] for row in choose(keys(shuffled), everything, n_pairs=n_pairs)} == set(chosen)


def test_as_many_as_asked_for_are_held_out_and_only_free_ones() -> None:
    pairs = [(f"source {n}", f"target {n}") for n in range(1000)]
    free = np.arange(1000) % 3 != 0
    rows = choose(keys(pairs), free, n_pairs=50)
    assert len(rows) == 50
    assert free[rows].all()
    assert len(choose(keys(pairs), free, n_pairs=500)) == 66  # a tenth of the 666 free ones


def test_a_source_repeated_for_ever_is_held_out_once() -> None:
    pairs = [("yes", f"ja {n}") for n in range(500)] + [(f"no {n}", f"nein {n}") for n in range(500)]
    rows = choose(keys(pairs), np.ones(1000, bool), n_pairs=100)
    assert len(rows) == 100
    assert sum(pairs[row][0] == "yes" for row in rows) <= 1


def test_where_fewer_than_asked_for_share_no_side_those_are_held_out() -> None:
    pairs = [(f"text {n}", "label") for n in range(100)]
    assert len(choose(keys(pairs), np.ones(100, bool), n_pairs=7)) == 1


def test_joining_keeps_order_and_empties_the_parts() -> None:
    parts = [keys([("a", "b")]), keys([]), keys([("c", "d"), ("e", "f")])]
    expected = keys([("a", "b"), ("c", "d"), ("e", "f")])
    result = joined(parts)
    assert all((one == other).all() for one, other in zip(result, expected, strict=True))
    assert parts == []
    assert [len(key) for key in joined([])] == [0, 0, 0]


def test_rows_are_looked_through_until_enough_are_found() -> None:
    texts = [f"source {n}" for n in range(500)]
    in_order = np.argsort(keys([(text, "") for text in texts]).src)
    targets = {int(row): "the same" if place < 211 else f"target {place}" for place, row in enumerate(in_order)}
    rows = choose(keys([(text, targets[n]) for n, text in enumerate(texts)]), np.ones(500, bool), n_pairs=23)
    assert len(rows) == 23
    assert sum(targets[row] == "the same" for row in rows.tolist()) == 1
