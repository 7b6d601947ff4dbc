"""Greedy search over a table."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from fake_model import EOS, FakeModel, Ids, V, make_task, random_table
from torch import Tensor

from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.greedy import extend, greedy_search
from yiwen.search.hypothesis import Hypothesis

SENTENCES = tuple(range(23))
MAX_LENS = [1 + sentence % 7 for sentence in SENTENCES]


def naive_greedy(
    model: FakeModel, sentence: int, max_len: int, prefix: Ids, config: SearchConfig
) -> tuple[Ids, float, bool]:
    ids: Ids = ()
    total = 0.0
    while True:
        values = model.log_probs(sentence, ids, len(ids), prefix, config)
        token = max(range(V), key=values.__getitem__)
        if token == EOS:
            return ids, total + values[EOS], True
        if len(ids) == max_len:
            return ids, total, False
        ids, total = (*ids, token), total + values[token]


def worked_table(sentence: int, ids: Ids) -> Tensor:
    """Tokens 2 and 3 with 1/2 and 1/4 at first; after 2 the end has 3/4."""
    probs = {(): [0, 1 / 4, 1 / 2, 1 / 4, 0], (2,): [1 / 8, 3 / 4, 1 / 8, 0, 0]}[ids]
    return torch.tensor(probs).log()


def test_greedy_worked_by_hand() -> None:
    model = FakeModel(worked_table)
    config = SearchConfig(beam_size=1, penalty="average", length_penalty=1.0)
    [[best]] = greedy_search(model.step, model.start([0]), make_task([9]), config)
    # ln(1/2 x 3/4), over two tokens: eos counts.
    log_prob = math.log(3 / 8)
    assert best == Hypothesis((2,), pytest.approx(log_prob / 2), pytest.approx(log_prob), True)


@pytest.mark.parametrize("min_len", [0, 1, 3])
def test_greedy_takes_the_likeliest_token_again_and_again(min_len: int) -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1, penalty="none", min_len=min_len)
    results = greedy_search(model.step, model.start(SENTENCES), make_task(MAX_LENS), config)
    assert len({hypothesis.is_finished for [hypothesis] in results}) == 2  # some end, some are cut
    for sentence, [hypothesis] in zip(SENTENCES, results, strict=True):
        ids, total, is_finished = naive_greedy(model, sentence, MAX_LENS[sentence], (), config)
        assert (hypothesis.ids, hypothesis.is_finished) == (ids, is_finished)
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-6)
        assert hypothesis.score == hypothesis.log_prob


@pytest.mark.parametrize("penalty", ["average", "gnmt", "none"])
@pytest.mark.parametrize("min_len", [0, 1, 3])
def test_beam_of_one_equals_greedy(min_len: int, penalty: str) -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1, penalty=penalty, min_len=min_len)
    task = make_task(MAX_LENS, [(2, 0), (3,)] + [()] * (len(SENTENCES) - 2))
    greedy = greedy_search(model.step, model.start(SENTENCES), task, config)
    beam = beam_search(model.step, model.start(SENTENCES), task, config)
    for [ours], [theirs] in zip(greedy, beam, strict=True):
        assert (ours.ids, ours.is_finished) == (theirs.ids, theirs.is_finished)
        assert (ours.score, ours.log_prob) == pytest.approx((theirs.score, theirs.log_prob), abs=1e-6)


def test_the_end_cannot_come_before_min_len_and_by_default_not_at_once() -> None:
    def likes_to_end(sentence: int, ids: Ids) -> Tensor:
        return torch.tensor([0.01, 0.95, 0.02, 0.01, 0.01]).log()

    model = FakeModel(likes_to_end)
    for min_len in (0, 1, 3):
        config = SearchConfig(beam_size=1, min_len=min_len)
        [[best]] = greedy_search(model.step, model.start([0]), make_task([9]), config)
        assert best.ids == (2,) * min_len
    assert SearchConfig().min_len == 1


def test_a_translation_at_its_limit_is_cut_and_says_so_unless_the_end_comes_just_then() -> None:
    def never_ends(sentence: int, ids: Ids) -> Tensor:
        return torch.tensor([0.1, 0.1, 0.6, 0.1, 0.1]).log()

    def ends_after_three(sentence: int, ids: Ids) -> Tensor:
        return never_ends(sentence, ids) if len(ids) < 3 else torch.tensor([0.1, 0.6, 0.1, 0.1, 0.1]).log()

    config = SearchConfig(beam_size=1, penalty="average")
    for table, is_finished in ((never_ends, False), (ends_after_three, True)):
        model = FakeModel(table)
        [[best]] = greedy_search(model.step, model.start([0]), make_task([3]), config)
        assert best.ids == (2, 2, 2)
        assert best.is_finished == is_finished
        assert best.score == pytest.approx(math.log(0.6))  # what is averaged is what was generated


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_prefixes_are_kept_and_what_follows_is_searched(search: Callable[..., list[list[Hypothesis]]]) -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1, penalty="none")
    prefixes: list[Ids] = [(), (3,), (4, 4, 2), (0, 2)]
    results = search(model.step, model.start(range(4)), make_task([5, 5, 5, 1], prefixes), config)
    for sentence, [hypothesis] in enumerate(results):
        ids, total, is_finished = naive_greedy(model, sentence, [5, 5, 5, 1][sentence], prefixes[sentence], config)
        assert (hypothesis.ids, hypothesis.is_finished) == (ids, is_finished)
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-6)  # the prefix has its price too
    assert results[2][0].ids[:3] == (4, 4, 2)
    assert results[3][0].ids == (0,)  # the limit is stronger than the prefix


def test_finished_sentences_leave_the_batch() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1)
    results = greedy_search(model.step, model.start(SENTENCES), make_task(MAX_LENS), config)
    n_steps = [len(hypothesis.ids) + 1 for [hypothesis] in results]
    n_open = [sum(n > t for n in n_steps) for t in range(max(n_steps))]
    assert model.n_rows == sum(n if n <= 8 else min(8 * math.ceil(n / 8), len(SENTENCES)) for n in n_open)


def test_a_sentence_finds_the_same_alone_and_in_any_batch() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1)
    together = greedy_search(model.step, model.start(SENTENCES), make_task(MAX_LENS), config)
    for sentence in SENTENCES:
        [alone] = greedy_search(model.step, model.start([sentence]), make_task([MAX_LENS[sentence]]), config)
        assert alone == together[sentence]


def test_extending_takes_what_it_is_told_and_scores_it_by_the_model() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=1, penalty="none")
    [worst] = extend(model.step, model.start([0]), make_task([4]), config, pick=lambda rows: torch.full((1,), 3))
    assert (worst.ids, worst.is_finished) == ((3, 3, 3, 3), False)
    expected = sum(random_table(0, (3,) * n)[3].item() for n in range(4))
    assert worst.log_prob == pytest.approx(expected, abs=1e-6)
