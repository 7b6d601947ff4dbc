"""Subwords weigh what makes both sides of training pairs weigh the same."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from yiwen.evaluation.calibration import SPARED, Weights
from yiwen.evaluation.weights import COUNTED, LEAST_WEIGHT, RIDGE, _fitted, _Side, learn_weights

N_WORDS = 11
UNSEEN, STOP = N_WORDS, N_WORDS + 1
PIECES = [*(f"▁{chr(97 + word)}" for word in range(N_WORDS + 1)), "."]


class Pairs:
    """As much of a store as is needed: each source word is said in as many target words as its id modulo 3 and one."""

    source = target = SimpleNamespace(vocab_size=N_WORDS + 2, pieces=lambda ids: [PIECES[id_] for id_ in ids])

    def __init__(self, src: list[list[int]], tgt: list[list[int]]) -> None:
        self.sides = [np.array(ids) for ids in src], [np.array(ids) for ids in tgt]
        self.src_lengths, self.tgt_lengths = (np.array(list(map(len, side))) for side in self.sides)

    def __len__(self) -> int:
        return len(self.src_lengths)

    def src_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        return [self.sides[0][row] for row in rows]

    def tgt_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        return [self.sides[1][row] for row in rows]


def said(word: int) -> list[int]:
    """One source word: 0 is said in one word, 1 in two, 2 in three, 3 in one, ..."""
    return [word] * (1 + word % 3)


def pairs(seed: int, n: int, *, longest: int = 13) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and what each of their words is said in."""
    rng = random.Random(seed)
    src = [[rng.randrange(N_WORDS) for _ in range(rng.randint(longest - 8, longest))] for _ in range(n)]
    return src, [[id_ for word in ids for id_ in said(word)] for ids in src]


SRC, TGT = pairs(1, 3000)


@pytest.fixture(scope="module")
def learnt() -> Weights:
    return learn_weights(Pairs(SRC, TGT))  # type: ignore[arg-type]


def test_a_source_word_weighs_as_much_as_its_translation(learnt: Weights) -> None:
    for word in range(N_WORDS):
        weight_of_translation = sum(learnt.tgt[id_] for id_ in said(word))
        assert learnt.src[word] == pytest.approx(weight_of_translation, rel=0.03)


def test_a_subword_that_was_never_met_weighs_what_all_do(learnt: Weights) -> None:
    assert learnt.src[UNSEEN] == pytest.approx(sum(map(len, TGT)) / sum(map(len, SRC)), abs=1e-3)
    assert learnt.tgt[UNSEEN] == pytest.approx(1.0, rel=0.03)


def test_what_is_whole_is_told_from_what_lacks_a_word_better_than_by_counting(learnt: Weights) -> None:
    src, whole = pairs(2, 500)
    counted = Weights((np.mean(list(map(len, whole))) / np.mean(list(map(len, src))),) * N_WORDS, (1.0,) * N_WORDS)

    def spread(weights: Weights) -> float:
        return float(np.std(list(map(weights.shortness, src, whole))))

    assert spread(learnt) < spread(counted) / 20
    assert max(map(learnt.shortness, src, whole)) < min(map(learnt.shortness, src, [ids[:-1] for ids in whole]))


def test_weights_are_the_least_squares_with_a_ridge() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, (200, 7))
    counts[:, 0] += 1  # no pair is empty
    ids = np.concatenate([np.repeat(np.arange(7), row) for row in counts])
    side = _Side(ids, np.repeat(np.arange(200), counts.sum(axis=1)), 200, np.ones(7, dtype=bool))
    wanted = counts @ rng.uniform(0.5, 2.0, 7) + rng.uniform(0, 2, 200)
    scaled = counts / wanted[:, None]
    unlike_even = wanted - counts @ np.full(7, 1.1)
    exact = 1.1 + np.linalg.solve(counts.T @ scaled + RIDGE * np.eye(7), scaled.T @ unlike_even)
    assert _fitted(side, 1.1, wanted) == pytest.approx(exact, abs=1e-6)


def test_where_counting_is_exact_all_weigh_the_same() -> None:
    src = [[1, 2, 3], [2, 1], [3, 3, 1, 2]]
    weights = learn_weights(Pairs(src, src))  # type: ignore[arg-type]
    assert weights == Weights((*(1.0,) * (N_WORDS + 1), 0.0), (*(1.0,) * (N_WORDS + 1), 0.0))


def test_a_full_stop_stands_whatever_is_missing_and_weighs_nothing() -> None:
    src, tgt = pairs(5, 300, longest=9)
    ended = learn_weights(Pairs([[*ids, STOP] for ids in src], [[*ids, STOP] for ids in tgt]))  # type: ignore[arg-type]
    assert ended == learn_weights(Pairs(src, tgt))  # type: ignore[arg-type]
    assert ended.src[STOP] == ended.tgt[STOP] == 0.0
    only = learn_weights(Pairs([[1, 2], [STOP], [3]], [[1, 2], [STOP, STOP], [STOP]]))  # type: ignore[arg-type]
    assert all(0.0 <= weight <= 2.0 for weight in (*only.src, *only.tgt))


@pytest.mark.parametrize(
    ("pieces", "counts"),
    [(("▁the", "7", "中", "，", "▁,", "<0xE5>"), True), (("。", ".", "▁", "▁...", "”", "（"), False)],
)
def test_what_is_said_and_commas_count(pieces: tuple[str, ...], counts: bool) -> None:
    assert [bool(COUNTED.search(piece)) for piece in pieces] == [counts] * 6


def test_no_word_can_be_left_out_for_nothing() -> None:
    src = [[1, 2, *[3] * n] for n in (1, 2, 3, 5, 7)] * 200
    tgt: list[Any] = [[1] for _ in src]  # 3 is never translated
    weights = learn_weights(Pairs(src, tgt))  # type: ignore[arg-type]
    assert weights.src[3] == LEAST_WEIGHT


def test_shortness_grows_as_a_translation_shrinks() -> None:
    weights = Weights((1.0, 2.0), (0.5, 3.0))
    assert weights.shortness([0, 1], [1]) == 0.0
    assert weights.shortness([0, 1, 1], [1]) == pytest.approx(math.log((5 + SPARED) / (3 + SPARED)))
    assert weights.shortness([1], [1, 0]) == pytest.approx(-math.log((3.5 + SPARED) / (2 + SPARED)))
    assert weights.shortness([], []) == 0.0
