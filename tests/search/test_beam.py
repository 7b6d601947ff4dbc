"""Beam search over a table: against every sequence there is, and against its own rules written as loops."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from fake_model import EOS, FakeModel, Ids, V, all_sequences, make_task, random_table
from torch import Tensor

from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor

SENTENCES = tuple(range(13))
MAX_LENS = [1 + sentence % 5 for sentence in SENTENCES]


def exhaustive(sentence: int, max_len: int, config: SearchConfig) -> list[Hypothesis]:
    """Every translation of at most max_len tokens that ends, best first."""
    everything = []
    for n_tokens in range(config.min_len, max_len + 1):
        for ids in all_sequences(n_tokens):
            steps = [random_table(sentence, ids[:t])[token].item() for t, token in enumerate((*ids, EOS))]
            total = math.fsum(steps)
            everything.append(Hypothesis(ids, total / length_divisor(n_tokens + 1, config), total, True))
    return sorted(everything, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize(("penalty", "alpha"), [("none", 1.0), ("gnmt", 0.6), ("average", 1.0), ("gnmt", 3.0)])
@pytest.mark.parametrize("min_len", [0, 1])
def test_a_wide_beam_equals_exhaustive_search(penalty: str, alpha: float, min_len: int) -> None:
    # 4 tokens besides eos, at most 3: 1 + 4 + 16 + 64 = 85 translations. The last step looks at 64 x 5 continuations:
    # only a beam as wide as that lets every end among them count.
    config = SearchConfig(beam_size=320, n_best=320, penalty=penalty, length_penalty=alpha, min_len=min_len)
    model = FakeModel()
    results = beam_search(model.step, model.start([0, 1, 2]), make_task([3, 2, 3]), config)
    for sentence, (found, max_len) in enumerate(zip(results, [3, 2, 3], strict=True)):
        expected = exhaustive(sentence, max_len, config)
        assert all(hypothesis.is_finished for hypothesis in found)
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-5)
        assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in expected], abs=1e-5)


def naive_beam(model: FakeModel, sentence: int, max_len: int, prefix: Ids, config: SearchConfig) -> list[Hypothesis]:
    """The rules at the top of `beam.py`, for one sentence, with lists."""
    W = config.beam_size
    beams: list[tuple[Ids, float]] = [((), 0.0)]
    found: list[Hypothesis] = []
    in_time: list[Hypothesis] | None = None
    n_empty, anything = 0, config.changed(min_len=0)
    for t in range(max_len + 1):
        candidates = [
            (total + value, ids, token)
            for ids, total in beams
            for token, value in enumerate(model.log_probs(sentence, ids, t, prefix, config if t else anything))
            if value > -math.inf
        ]
        candidates.sort(key=lambda candidate: -candidate[0])
        candidates = candidates[: 2 * W]
        ended = set()
        for total, ids, token in candidates[:W]:
            if token == EOS and t == 0 < config.min_len:
                n_empty = 1
            elif token == EOS:
                found.append(Hypothesis(ids, total / length_divisor(t + 1, config), total, True))
                ended.add(ids)
        if in_time is None and len(found) + n_empty >= W:
            in_time = list(found)
        if t == max_len:
            for ids, total in beams:
                if ids not in ended and len(found) < W:
                    found.append(Hypothesis(ids, total / length_divisor(t, config), total, False))
        if in_time is not None and len(found) >= config.n_best:
            break
        beams = [((*ids, token), total) for total, ids, token in candidates if token != EOS][:W]
    return sorted(found, key=lambda h: (in_time is not None and h not in in_time, -h.score))[: config.n_best]


@pytest.mark.parametrize("beam_size", [1, 2, 3, 7])
@pytest.mark.parametrize("penalty", ["none", "gnmt", "average"])
@pytest.mark.parametrize("has_prefixes", [False, True])
def test_the_beam_follows_its_rules(beam_size: int, penalty: str, has_prefixes: bool) -> None:
    prefixes: list[Ids] = [()] * len(SENTENCES)
    if has_prefixes:
        prefixes[:4] = [(2,), (3, 4), (0, 0, 2), (4, 3, 2, 0)]
    model = FakeModel()
    for min_len, n_best in itertools.product((0, 1, 2), {1, beam_size}):
        config = SearchConfig(beam_size=beam_size, n_best=n_best, penalty=penalty, min_len=min_len)
        results = beam_search(model.step, model.start(SENTENCES), make_task(MAX_LENS, prefixes), config)
        for sentence, found in zip(SENTENCES, results, strict=True):
            expected = naive_beam(model, sentence, MAX_LENS[sentence], prefixes[sentence], config)
            assert [(h.ids, h.is_finished) for h in found] == [(h.ids, h.is_finished) for h in expected]
            assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-5)
            assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in expected], abs=1e-5)


@pytest.mark.parametrize(("n_best", "min_len"), [(7, 0), (6, 1)])  # of seven, one may be the forbidden end at once
def test_hypotheses_are_distinct_and_come_best_first(n_best: int, min_len: int) -> None:
    model, config = FakeModel(), SearchConfig(beam_size=7, n_best=n_best, min_len=min_len)
    for found in beam_search(model.step, model.start(SENTENCES), make_task([5] * len(SENTENCES)), config):
        scores = [hypothesis.score for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.ids for hypothesis in found}) == len(found) == n_best
        assert not any(EOS in hypothesis.ids for hypothesis in found)


def test_an_end_at_once_takes_a_place_and_what_is_missing_comes_last() -> None:
    # A beam of two. Nothing at all and (3,) are the first that end: the search is over. (2, 2) ends later, and better.
    def table(sentence: int, ids: Ids) -> Tensor:
        sure = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]).log()
        return {
            (): torch.tensor([0.0, 0.3, 0.4, 0.3, 0.0]).log(),
            (2,): sure,
            (3,): torch.tensor([0.0, 0.9, 0.0, 0.1, 0.0]).log(),
        }.get(ids, torch.tensor([0.0, 0.9, 0.1, 0.0, 0.0]).log())

    model = FakeModel(table)
    one, two = (
        beam_search(model.step, model.start([0]), make_task([4]), SearchConfig(beam_size=2, n_best=n_best))[0]
        for n_best in (1, 2)
    )
    assert [hypothesis.ids for hypothesis in one] == [(3,)]
    assert [hypothesis.ids for hypothesis in two] == [(3,), (2, 2)]
    assert two[0].score < two[1].score
    # A limit changes nothing of it: what it cuts is likelier than what ended in time, and comes last.
    one, two = (
        beam_search(
            model.step, model.start([0]), make_task([1]), SearchConfig(beam_size=2, n_best=n_best, penalty="none")
        )[0]
        for n_best in (1, 2)
    )
    assert [hypothesis.ids for hypothesis in one] == [(3,)]
    assert [(hypothesis.ids, hypothesis.is_finished) for hypothesis in two] == [((3,), True), ((2,), False)]
    assert two[0].score < two[1].score


def test_fewer_may_be_asked_for_than_are_kept() -> None:
    model = FakeModel()
    task = make_task(MAX_LENS)
    many = beam_search(model.step, model.start(SENTENCES), task, SearchConfig(beam_size=5, n_best=5))
    few = beam_search(model.step, model.start(SENTENCES), task, SearchConfig(beam_size=5, n_best=2))
    assert few == [found[:2] for found in many]


def test_a_wider_beam_finds_what_greedy_misses() -> None:
    # Greedy takes 2 (0.5) and then has to live with 0.3; 3 (0.4) is followed by an almost certain end.
    def garden_path(sentence: int, ids: Ids) -> Tensor:
        if not ids:
            return torch.tensor([0.05, 0.0, 0.5, 0.4, 0.05]).log()
        return torch.tensor([0.025, 0.9, 0.025, 0.025, 0.025] if ids == (3,) else [0.2, 0.3, 0.2, 0.2, 0.1]).log()

    model = FakeModel(garden_path)
    best = {
        beam_size: beam_search(
            model.step, model.start([0]), make_task([4]), SearchConfig(beam_size=beam_size, penalty="none")
        )[0][0]
        for beam_size in (1, 2)
    }
    assert best[1].ids == (2,)
    assert best[1].log_prob == pytest.approx(math.log(0.5 * 0.3), abs=1e-6)
    assert best[2].ids == (3,)
    assert best[2].log_prob == pytest.approx(math.log(0.4 * 0.9), abs=1e-6)


@pytest.mark.parametrize(("end", "counts"), [(0.3, True), (0.15, False)])
def test_an_end_counts_only_among_the_first_beam_of_continuations(end: float, counts: bool) -> None:
    # Beam of two; at first the end is the second best of four continuations, or the third.
    def table(sentence: int, ids: Ids) -> Tensor:
        if not ids:
            return torch.tensor([0.0, end, 0.5, 0.45 - end if counts else 0.3, 0.05]).log()
        return torch.tensor([0.02, 0.9, 0.03, 0.03, 0.02]).log()

    model = FakeModel(table)
    config = SearchConfig(beam_size=2, n_best=2, min_len=0, penalty="none")
    [found] = beam_search(model.step, model.start([0]), make_task([4]), config)
    assert (() in [hypothesis.ids for hypothesis in found]) == counts
    assert found[0].ids == (2,)


@pytest.mark.parametrize(("penalty", "best"), [("none", (2,)), ("average", (3, 3, 3))])
def test_the_length_penalty_decides_between_short_and_long(penalty: str, best: Ids) -> None:
    # Short: 0.4 x 0.9, two tokens. Long: 0.6 x 0.8 x 0.8 x 0.8, four: less likely, but likelier a token.
    def table(sentence: int, ids: Ids) -> Tensor:
        match ids:
            case ():
                return torch.tensor([0.0, 0.0, 0.4, 0.6, 0.0]).log()
            case (2, *_):
                return torch.tensor([0.05, 0.9, 0.05, 0.0, 0.0]).log()
            case _ if len(ids) < 3:
                return torch.tensor([0.1, 0.0, 0.1, 0.8, 0.0]).log()
            case _:
                return torch.tensor([0.1, 0.8, 0.1, 0.0, 0.0]).log()

    model = FakeModel(table)
    config = SearchConfig(beam_size=3, n_best=3, penalty=penalty)
    [found] = beam_search(model.step, model.start([0]), make_task([5]), config)
    assert found[0].ids == best
    scores = {hypothesis.ids: hypothesis.score for hypothesis in found}
    assert scores[(2,)] == pytest.approx(math.log(0.36) / {"none": 1, "average": 2}[penalty], abs=1e-6)
    assert scores[(3, 3, 3)] == pytest.approx(math.log(0.6 * 0.8**3) / {"none": 1, "average": 4}[penalty], abs=1e-6)


def test_a_sentence_finds_the_same_alone_and_in_any_batch_also_with_others_leaving() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=3, n_best=3)
    together = beam_search(model.step, model.start(SENTENCES), make_task(MAX_LENS), config)
    for sentence in SENTENCES:
        [alone] = beam_search(model.step, model.start([sentence]), make_task([MAX_LENS[sentence]]), config)
        assert alone == together[sentence]


def test_done_sentences_leave_the_batch_in_groups() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=3)
    beam_search(model.step, model.start(SENTENCES), make_task(MAX_LENS), config)
    n_rows_together, n_steps = model.n_rows, []
    for sentence in SENTENCES:
        model.n_steps = 0
        beam_search(model.step, model.start([sentence]), make_task([MAX_LENS[sentence]]), config)
        n_steps.append(model.n_steps)
    n_open = [sum(n > t for n in n_steps) for t in range(max(n_steps))]
    assert n_open[0] > 8
    assert min(n_open) < 8
    n_kept = [n if n <= 8 else min(8 * math.ceil(n / 8), len(SENTENCES)) for n in n_open]
    assert n_rows_together == n_kept[0] + 3 * sum(n_kept[1:])  # at first a sentence has one hypothesis


def test_a_search_stops_when_as_many_hypotheses_as_beams_were_found() -> None:
    def ends_soon(sentence: int, ids: Ids) -> Tensor:
        return torch.tensor([0.05, 0.8, 0.05, 0.05, 0.05] if ids else [0.1, 0.1, 0.4, 0.3, 0.1]).log()

    model, config = FakeModel(ends_soon), SearchConfig(beam_size=2)
    beam_search(model.step, model.start([0]), make_task([99]), config)
    assert model.n_steps == 2  # one for the two words, one for their two ends


def test_a_beam_wider_than_the_vocabulary_finds_all_that_there_is() -> None:
    model, config = FakeModel(), SearchConfig(beam_size=11, n_best=11, min_len=0)
    [found] = beam_search(model.step, model.start([0]), make_task([1]), config)
    assert {hypothesis.ids for hypothesis in found} == {(), *all_sequences(1)}
    assert len(found) == V


@pytest.mark.parametrize("penalty", ["none", "average"])
def test_forbidden_tokens_never_come_back(penalty: str) -> None:
    def table(sentence: int, ids: Ids) -> Tensor:
        log_probs = random_table(sentence, ids).clone()
        log_probs[[0, 4]] = -torch.inf
        return log_probs

    model, config = FakeModel(table), SearchConfig(beam_size=7, n_best=7, penalty=penalty)
    for found in beam_search(model.step, model.start(SENTENCES), make_task([3] * len(SENTENCES)), config):
        for hypothesis in found:
            assert set(hypothesis.ids) <= {2, 3}
            assert math.isfinite(hypothesis.score)
