"""The best continuations, against sorting everything; and which sentences stay in a batch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from yiwen.search.continuations import best_continuations
from yiwen.search.step import places_kept


@pytest.mark.parametrize("vocab_size", [5, 63, 64, 65, 128, 331])
@pytest.mark.parametrize(("width", "n"), [(1, 1), (3, 6), (7, 14)])
def test_the_best_continuations_are_those_of_a_whole_sort(vocab_size: int, width: int, n: int) -> None:
    torch.manual_seed(1)
    n = min(n, width * vocab_size)
    log_probs = torch.randn(2 * width, vocab_size).log_softmax(dim=1)
    sums = torch.randn(2, width)
    top_sums, beams, tokens = best_continuations(sums, log_probs, n)
    every = (sums.view(-1, 1) + log_probs).view(2, -1)
    expected = every.topk(n, dim=1)
    torch.testing.assert_close(top_sums, expected.values, rtol=0, atol=0)
    assert torch.equal(beams * vocab_size + tokens, expected.indices)


def test_the_best_continuations_may_each_lie_in_a_block_of_their_own() -> None:
    log_probs = torch.full((1, 331), -9.0)
    log_probs[0, [7, 70, 300]] = torch.tensor([-3.0, -1.0, -2.0])
    top_sums, beams, tokens = best_continuations(torch.zeros(1, 1), log_probs, 3)
    assert (top_sums.tolist(), beams.tolist(), tokens.tolist()) == ([[-1.0, -2.0, -3.0]], [[0, 0, 0]], [[70, 300, 7]])


def test_impossible_continuations_come_last_and_name_real_tokens() -> None:
    log_probs = torch.full((2, 70), -torch.inf)
    log_probs[0, 69], log_probs[1, 3] = -1.0, -2.0
    top_sums, beams, tokens = best_continuations(torch.tensor([[0.0, -5.0]]), log_probs, 4)
    assert top_sums.tolist() == [[-1.0, -7.0, -torch.inf, -torch.inf]]
    assert (beams[0, :2].tolist(), tokens[0, :2].tolist()) == ([0, 1], [69, 3])
    assert int(tokens.max()) < 70


@given(is_done=st.lists(st.booleans(), max_size=40))
def test_all_open_sentences_stay_and_seven_done_ones_at_most(is_done: list[bool]) -> None:
    kept = places_kept(is_done)
    n_open = is_done.count(False)
    assert kept == sorted(set(kept))
    assert {place for place, done in enumerate(is_done) if not done} <= set(kept)
    assert len(kept) - n_open < 8
    assert len(kept) == n_open or n_open > 8


def test_which_of_thirteen_stay() -> None:
    assert len(places_kept([True] * 4 + [False] * 9)) == 13
    assert places_kept([True] * 5 + [False] * 8) == list(range(5, 13))
    assert places_kept([False, True, False]) == [0, 2]
    assert len(places_kept([True] * 7 + [False] * 16)) == 16
