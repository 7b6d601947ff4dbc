"""Model 1 against a plain reading of the paper, and against the example that everyone learns it by."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from yiwen.data import lexical
from yiwen.data.lexical import LexicalTable, model_1

DAS, HAUS, BUCH, EIN = range(4)
THE, HOUSE, BOOK, A = range(4)
PAIRS = [([DAS, HAUS], [THE, HOUSE]), ([DAS, BUCH], [THE, BOOK]), ([EIN, BUCH], [A, BOOK])]


def learn(pairs: list[tuple[list[int], list[int]]]) -> LexicalTable:
    src, tgt = ([np.array(pair[side], np.uint16) for pair in pairs] for side in (0, 1))
    return model_1(src, tgt, src_vocab_size=4, tgt_vocab_size=5)


def by_the_paper(pairs: list[tuple[list[int], list[int]]], n_rounds: int) -> dict[tuple[int, int], float]:
    t: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(n_rounds):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in pairs:
            sources = [4, *source]  # 4: no word
            for e in target:
                norm = sum(t[f, e] for f in sources)
                for f in sources:
                    counts[f, e] += t[f, e] / norm
                    totals[f] += t[f, e] / norm
        t = defaultdict(float, {(f, e): count / totals[f] for (f, e), count in counts.items()})
    return t


@pytest.mark.parametrize("n_rounds", [1, 3, 5])
def test_it_computes_what_the_paper_says(n_rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "N_ITERATIONS", n_rounds)
    table, expected = learn(PAIRS), by_the_paper(PAIRS, n_rounds)
    for f in range(5):
        found = table(np.full(4, f), np.arange(4))
        np.testing.assert_allclose(found, [expected[f, e] for e in range(4)], atol=1e-12)
        assert found.sum() == pytest.approx(1.0)


def test_words_that_always_meet_become_each_other() -> None:
    table = learn(PAIRS)
    assert table(np.array([DAS, BUCH]), np.array([THE, BOOK])).min() > 0.6
    assert table(np.array([DAS]), np.array([BOOK]))[0] < 0.2


def test_words_that_never_met_have_no_chance_and_shapes_are_broadcast() -> None:
    table = learn(PAIRS)
    found = table(np.array([[DAS, HAUS, EIN]]), np.array([[THE], [A]]))
    assert found.shape == (2, 3)
    assert found[0, 2] == found[1, 0] == found[1, 1] == 0.0
    assert table(np.array([EIN]), np.array([4]))[0] == 0.0  # behind the last pair


class Lengths:
    """As much of a store as `sample` looks at: 100 pairs of 3 and 7 subwords."""

    src_lengths, tgt_lengths = np.full(100, 3, np.uint16), np.full(100, 7, np.uint16)

    def __len__(self) -> int:
        return 100


def test_as_many_pairs_are_drawn_as_their_cells_or_other_sizes_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = Lengths()
    assert lexical.sample(store).tolist() == list(range(100))
    monkeypatch.setattr(lexical, "MAX_CELLS", 28 * 31 + 1)  # a pair has 3 words and no word, times 7
    rows = lexical.sample(store).tolist()
    assert len(rows) == 31
    assert rows == sorted(set(rows)) != list(range(31))
    assert len(lexical.sample(store, store.src_lengths + store.tgt_lengths)) == 28 * 31 // 10
