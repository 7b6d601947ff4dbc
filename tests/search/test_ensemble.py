"""Ensembles: the mean of probabilities, worked by hand, and searched like any one model."""

from __future__ import annotations

import math

import pytest
import torch
from fake_model import FakeModel, FakeState, Ids, make_task, random_table

from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.ensemble import MemberStates, mean_of, together
from yiwen.search.greedy import greedy_search


def other_table(sentence: int, ids: Ids) -> torch.Tensor:
    return random_table(sentence + 100, ids)


def mean_table(sentence: int, ids: Ids) -> torch.Tensor:
    return ((random_table(sentence, ids).exp() + other_table(sentence, ids).exp()) / 2).log()


def start(*tables: object) -> tuple[list[FakeModel], MemberStates]:
    models = [FakeModel(table) for table in tables]  # type: ignore[arg-type]
    return models, MemberStates(tuple(model.start([0, 1, 2]) for model in models))


def test_mean_worked_by_hand() -> None:
    one, other = torch.tensor([[0.5, 0.25, 0.25, 0.0]]).log(), torch.tensor([[0.125, 0.25, 0.625, 0.0]]).log()
    expected = [math.log(5 / 16), math.log(1 / 4), math.log(7 / 16), -math.inf]
    assert mean_of([one, other])[0].tolist() == pytest.approx(expected)
    assert torch.equal(mean_of([one]), one)


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_two_models_find_what_one_with_the_mean_of_their_probabilities_finds(beam_size: int) -> None:
    models, states = start(random_table, other_table)
    config = SearchConfig(beam_size=beam_size, n_best=beam_size)
    task = make_task([7, 3, 5])
    search = greedy_search if beam_size == 1 else beam_search
    found = search(together([model.step for model in models]), states, task, config)
    mean = FakeModel(mean_table)
    expected = search(mean.step, mean.start([0, 1, 2]), task, config)
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.log_prob for h in ours] == pytest.approx([h.log_prob for h in theirs], abs=1e-5)


def test_every_member_is_reordered_alike() -> None:
    states = MemberStates((FakeState((0, 1), ((0, (5,)), (1, (6,)))), FakeState((0, 1), ((0, (7,)), (1, (8,))))))
    chosen = states.select(torch.tensor([1])).select_sentences(torch.tensor([1]))
    assert [state.rows for state in chosen.states] == [((1, (6,)),), ((1, (8,)),)]  # type: ignore[attr-defined]
    assert [state.sentences for state in chosen.states] == [(1,), (1,)]  # type: ignore[attr-defined]
