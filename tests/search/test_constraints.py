"""A constrained search finds the likeliest translation that holds the terms, and always one that does."""

from __future__ import annotations

import itertools
import math
import signal
from typing import Any

import pytest
import torch
from fake_model import BOS, EOS, FakeModel, Ids, V, all_sequences, make_task

from yiwen.errors import Stopped
from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.constraints import constrained_search
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag


def search(
    sentence: int,
    terms: list[Ids],
    *,
    max_len: int = 6,
    prefix: Ids = (),
    n_best: int = 1,
    beam_size: int = 4,
    room: int = 99,
) -> list[Hypothesis]:
    model = FakeModel()
    task = make_task([max_len], [prefix])
    config = SearchConfig(beam_size=beam_size, n_best=n_best, sampling=n_best > beam_size)
    return constrained_search(model.step, model.start([sentence]), task, config, terms, room=room)


def holds(ids: Ids, terms: list[Ids]) -> bool:
    """Whether the terms stand in the sequence, each as often as it is asked for, none over another of its kind."""
    for term in set(terms):
        text, part = ("".join(f"{token};" for token in each) for each in (ids, term))
        if text.count(part) < terms.count(term):
            return False
    return True


def best_of_all(sentence: int, terms: list[Ids], *, max_len: int) -> float:
    """The best score of all sequences that end within the limit and hold the terms."""
    model, config = FakeModel(), SearchConfig(beam_size=1)
    best = -math.inf
    for n_tokens in range(1, max_len + 1):
        for ids in all_sequences(n_tokens):
            if holds(ids, terms):
                steps = [model.log_probs(sentence, ids[:t], t, (), config) for t in range(n_tokens + 1)]
                total = sum(step[token] for step, token in zip(steps, (*ids, EOS), strict=True))
                best = max(best, total / (n_tokens + 1))
    return best


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize("sentence", range(7))
def test_without_terms_it_is_beam_search(sentence: int, beam_size: int) -> None:
    model, config = FakeModel(), SearchConfig(beam_size=beam_size, n_best=beam_size, min_len=0)
    for max_len, prefix in ((7, ()), (2, ()), (7, (3, 2))):
        task = make_task([max_len], [prefix])
        (expected,) = beam_search(model.step, model.start([sentence]), task, config)
        found = constrained_search(model.step, model.start([sentence]), task, config, [], room=99)
        assert [h.ids for h in found] == [h.ids for h in expected]
        assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in expected], abs=1e-5)
        assert [h.is_finished for h in found] == [h.is_finished for h in expected]


TERMS: list[list[Ids]] = [
    [(2,)],
    [(3, 2)],
    [(4,), (2, 2)],
    [(3,), (3,)],
    [(2, 3), (3, 4)],
    [(4, 4, 4)],
    [(2, 3), (2, 3)],
]


@pytest.mark.parametrize("terms", TERMS)
def test_every_translation_holds_its_terms(terms: list[Ids]) -> None:
    for sentence, beam_size in itertools.product(range(20), (1, 5)):
        for hypothesis in search(sentence, terms, n_best=beam_size, beam_size=beam_size):
            assert holds(hypothesis.ids, terms)
            assert hypothesis.is_finished or len(hypothesis.ids) >= 6


def test_as_many_are_found_as_are_asked_for_instead_of_samples() -> None:
    for sentence in range(5):
        found = search(sentence, [(3, 2)], n_best=9, beam_size=2)
        assert len({h.ids for h in found}) == 9
        assert all(holds(h.ids, [(3, 2)]) for h in found)


@pytest.mark.parametrize("terms", TERMS[:4])
def test_a_wide_beam_finds_the_best_of_all_translations_with_the_terms(terms: list[Ids]) -> None:
    n_best = 0
    for sentence in range(11):
        (found,) = search(sentence, terms, max_len=4, beam_size=300)
        best = best_of_all(sentence, terms, max_len=4)
        assert found.is_finished
        assert found.score <= best + 1e-5
        n_best += found.score == pytest.approx(best, abs=1e-5)
    assert n_best == 11


def test_a_narrow_beam_is_not_far_from_the_best() -> None:
    found = [search(sentence, [(3, 2)], max_len=5)[0] for sentence in range(11)]
    lost = [best_of_all(s, [(3, 2)], max_len=5) - h.score for s, h in enumerate(found) if h.is_finished]
    assert len(lost) > 2
    assert min(lost) > -1e-5
    assert sum(lost) / len(lost) < 0.2


def test_terms_come_in_even_where_the_limit_is_tight_or_too_short() -> None:
    for sentence in range(5):
        for max_len in (1, 2, 3, 4):
            (found,) = search(sentence, [(4, 2), (3,)], max_len=max_len)
            assert holds(found.ids, [(4, 2), (3,)])
            assert len(found.ids) <= max(max_len, 3)


def test_a_prefix_may_hold_a_term_and_terms_may_overlap_it() -> None:
    for sentence in range(5):
        (found,) = search(sentence, [(2, 3)], prefix=(4, 2))
        assert found.ids[:2] == (4, 2)
        assert holds(found.ids, [(2, 3)])
        (found,) = search(sentence, [(4,)], prefix=(4,))
        assert found.ids[0] == 4


def test_behind_a_prefix_as_long_as_the_limit_there_is_room_for_the_terms() -> None:
    for sentence in range(5):
        (found,) = search(sentence, [(4, 2)], max_len=3, prefix=(3, 3, 2))
        assert found.ids[:3] == (3, 3, 2)
        assert holds(found.ids, [(4, 2)])


def test_a_poor_translation_that_ends_first_does_not_end_the_search() -> None:
    """To begin with the term, 2, is unlikely, and the likeliest of all has it behind 3."""

    def table(sentence: int, ids: Ids) -> torch.Tensor:
        likely = {(): 3, (3,): 2}.get(ids, EOS)
        return torch.full((V,), 0.01).index_fill(0, torch.tensor(likely), 0.96).log()

    model = FakeModel(table)
    (found,) = constrained_search(
        model.step, model.start([0]), make_task([6]), SearchConfig(beam_size=1), [(2,)], room=9
    )
    assert found.ids == (3, 2)


@pytest.mark.parametrize("min_len", [1, 3, 5])
def test_a_translation_with_terms_has_the_least_length_too(min_len: int) -> None:
    model = FakeModel(lambda sentence, ids: torch.tensor([0.01, 0.95, 0.02, 0.01, 0.01]).log())  # would rather end
    config = SearchConfig(beam_size=2, min_len=min_len)
    (found,) = constrained_search(model.step, model.start([0]), make_task([9]), config, [(3,)], room=9)
    assert (len(found.ids), found.is_finished) == (min_len, True)
    assert 3 in found.ids


def test_a_term_that_repeats_its_beginning_is_found_where_it_stands() -> None:
    def table(sentence: int, ids: Ids) -> torch.Tensor:
        wanted = (2, 2, 2, 3, EOS)  # holds (2, 2, 3) from the second token on
        scores = torch.full((V,), -5.0)
        scores[wanted[min(len(ids), 4)]] = 5.0
        return scores.log_softmax(dim=0)

    model = FakeModel(table)
    task = make_task([8])
    config = SearchConfig(beam_size=2)
    (found,) = constrained_search(model.step, model.start([0]), task, config, [(2, 2, 3)], room=9)
    assert found.ids == (2, 2, 2, 3)
    assert BOS not in found.ids


@pytest.mark.parametrize("term", [(2, 3, 2), (2, 2), (3,), (2, 3, 2, 4)])
def test_a_term_that_is_asked_for_twice_stands_there_twice(term: Ids) -> None:
    for sentence in range(5):
        (found,) = search(sentence, [term, term], max_len=9)
        assert holds(found.ids, [term, term])


def test_a_search_for_terms_stops_at_its_next_step() -> None:
    model, stop, n_steps = FakeModel(), StopFlag(), itertools.count(1)

    def step(last_ids: torch.Tensor, state: Any) -> Any:
        if next(n_steps) == 3:
            stop.signum = signal.SIGTERM
        return model.step(last_ids, state)

    how: Any = {"room": 99, "stop": stop}
    with pytest.raises(Stopped, match="translation"):
        constrained_search(step, model.start([0]), make_task([40]), SearchConfig(beam_size=2), [(2, 3)] * 9, **how)
    assert next(n_steps) == 4


def test_terms_that_the_model_has_no_room_for_are_not_all_met() -> None:
    (found,) = search(1, [(3, 2, 4), (4, 4, 3)], max_len=2, room=4)
    assert len(found.ids) == 4
    assert max(len(h.ids) for h in search(1, [(3, 2, 4), (4, 4, 3)], max_len=2)) >= 5


def test_what_is_cut_where_room_ends_holds_as_many_terms_as_go_in() -> None:
    for sentence, beam_size in itertools.product(range(9), (1, 2, 4)):
        (found,) = search(sentence, [(3, 2, 4), (4, 4, 3)], max_len=2, room=4, beam_size=beam_size)
        assert holds(found.ids, [(3, 2, 4)]) or holds(found.ids, [(4, 4, 3)])
