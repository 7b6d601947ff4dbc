"""Sampling: the distribution that is drawn from, the draws, and their reproducibility."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from fake_model import FakeModel, Ids, make_task, random_table
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.greedy import extend
from yiwen.search.sampling import sampler, truncated_probs

PROBS = torch.tensor([[0.1, 0.4, 0.05, 0.3, 0.15]])


def truncated(**changes: float) -> list[float]:
    values: list[float] = truncated_probs(PROBS.log(), SearchConfig(sampling=True, **changes))[0].tolist()
    return values


def test_without_limits_the_distribution_is_the_models() -> None:
    assert truncated() == pytest.approx(PROBS[0].tolist())


def test_temperature_raises_probabilities_to_a_power() -> None:
    squares = PROBS[0] ** 2
    assert truncated(temperature=0.5) == pytest.approx((squares / squares.sum()).tolist())
    roots = PROBS[0] ** 0.5
    assert truncated(temperature=2.0) == pytest.approx((roots / roots.sum()).tolist())
    assert truncated(temperature=0.01) == pytest.approx([0, 1, 0, 0, 0], abs=1e-6)
    assert truncated(temperature=1e6) == pytest.approx([0.2] * 5, abs=1e-4)


def test_top_k_keeps_the_likeliest_k() -> None:
    assert truncated(top_k=2) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])
    assert truncated(top_k=1) == [0, 1, 0, 0, 0]
    assert truncated(top_k=5) == truncated(top_k=99) == truncated(top_k=0)


def test_top_p_keeps_the_smallest_likely_set_that_reaches_p() -> None:
    assert truncated(top_p=0.69) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])
    assert truncated(top_p=0.71) == pytest.approx([0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85])
    assert truncated(top_p=0.01) == [0, 1, 0, 0, 0]  # never nothing


def test_a_set_that_holds_p_exactly_needs_no_further_token() -> None:
    halves = torch.tensor([[0.25, 0.5, 0.25]]).log()
    assert truncated_probs(halves, SearchConfig(sampling=True, top_p=0.5)).tolist() == [[0, 1, 0]]


def test_temperature_comes_first_then_top_k_then_top_p() -> None:
    # Squares 0.16, 0.09, 0.0225 ... ; of the best three, renormalised 0.587, 0.330, 0.083: 0.9 needs two.
    assert truncated(temperature=0.5, top_k=3, top_p=0.9) == pytest.approx([0, 0.64, 0, 0.36, 0])


def test_a_top_p_of_one_leaves_even_the_least_likely_token_possible() -> None:
    rare = torch.tensor([[1.0, 1e-9, 1e-12]])  # what comes before the second is 1 already, in float32
    assert (truncated_probs(rare.log(), SearchConfig(sampling=True, top_p=1.0)) > 0).all()


def test_each_row_is_cut_by_itself() -> None:
    log_probs = torch.stack([PROBS[0], PROBS[0].flip(0)]).log()
    probs = truncated_probs(log_probs, SearchConfig(sampling=True, top_k=2))
    torch.testing.assert_close(probs[0], probs[1].flip(0))


def test_forbidden_tokens_are_never_drawn() -> None:
    log_probs = PROBS.log().clone()
    log_probs[0, 1] = -torch.inf
    probs = truncated_probs(log_probs, SearchConfig(sampling=True, top_k=2, top_p=0.99))
    assert probs[0].tolist() == pytest.approx([0, 0, 0, 2 / 3, 1 / 3])


def draw(n: int, seed: int, config: SearchConfig, sentence: int = 3, max_len: int = 3) -> list[Ids]:
    model = FakeModel()
    pick = sampler(config, torch.Generator().manual_seed(seed))
    results = extend(model.step, model.start([sentence] * n), make_task([max_len] * n), config, pick=pick)
    return [hypothesis.ids for hypothesis in results]


def test_frequencies_match_the_distribution() -> None:
    n = 10_000
    counts = Counter(draw(n, 1, SearchConfig(sampling=True, min_len=0), max_len=1))
    probs = random_table(3, ()).exp().tolist()
    for token in (0, 2, 3, 4):
        deviation = math.sqrt(probs[token] * (1 - probs[token]) / n)
        assert counts[(token,)] / n == pytest.approx(probs[token], abs=4 * deviation)
    assert counts[()] / n == pytest.approx(probs[1], abs=0.02)


def test_draws_are_reproducible_from_their_generator_and_touch_no_other() -> None:
    config = SearchConfig(sampling=True, temperature=1.3)
    before = torch.get_rng_state()
    assert draw(11, 1, config) == draw(11, 1, config)
    assert draw(11, 1, config) != draw(11, 2, config)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_sample_is_scored_by_the_models_probability_not_by_the_cut_one() -> None:
    model, config = FakeModel(), SearchConfig(sampling=True, top_k=1, temperature=0.3, penalty="none")
    pick = sampler(config, torch.Generator().manual_seed(1))
    [best] = extend(model.step, model.start([3]), make_task([4]), config, pick=pick)
    tokens = (*best.ids, 1) if best.is_finished else best.ids
    expected = sum(random_table(3, tokens[:t])[token].item() for t, token in enumerate(tokens))
    assert best.log_prob == pytest.approx(expected, abs=1e-6)


def test_sampling_keeps_prefixes() -> None:
    model, config = FakeModel(), SearchConfig(sampling=True)
    pick = sampler(config, torch.Generator().manual_seed(1))
    results = extend(model.step, model.start([0] * 7), make_task([5] * 7, [(4, 2)] * 7), config, pick=pick)
    assert {hypothesis.ids[:2] for hypothesis in results} == {(4, 2)}
    assert len({hypothesis.ids for hypothesis in results}) > 1


def test_each_draw_of_a_row_is_independent_of_the_others() -> None:
    def coin(sentence: int, ids: Ids) -> Tensor:
        return torch.tensor([0.0, 0.0, 0.5, 0.5, 0.0]).log()

    model, config = FakeModel(coin), SearchConfig(sampling=True)
    n = 4096
    pick = sampler(config, torch.Generator().manual_seed(1))
    results = extend(model.step, model.start([0] * n), make_task([2] * n), config, pick=pick)
    counts = Counter(hypothesis.ids for hypothesis in results)
    assert all(counts[ids] / n == pytest.approx(0.25, abs=0.03) for ids in ((2, 2), (2, 3), (3, 2), (3, 3)))
