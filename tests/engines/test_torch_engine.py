"""The reference engine: batches sorted inside, results in order, the same as one sentence at a time."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import psutil
import pytest
import torch

from torch_default import DEFAULTS, torch_making
from yiwen.engines import torch_engine
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import Stopped
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID

V = 29


def random_model(**settings: Any) -> Transformer:
    """Random weights, sharp enough that hypotheses differ."""
    torch.manual_seed(3)
    config = ModelConfig(d_model=24, n_heads=3, d_ff=40, n_encoder_layers=1, n_decoder_layers=2, max_len=31, **settings)
    model = Transformer(config, src_vocab_size=V, tgt_vocab_size=V)
    with torch.no_grad():
        model.output_weight.mul_(4.0)
    return model


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    return TorchEngine(random_model())


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 12, (17,), generator=generator).tolist()
    return [torch.randint(4, V, (n,), generator=generator).tolist() for n in lengths]


@pytest.mark.parametrize(
    "config", [SearchConfig(beam_size=1), SearchConfig(beam_size=3, n_best=2), SearchConfig(penalty="gnmt")]
)
def test_results_are_those_of_sentences_alone(
    config: SearchConfig, engine: TorchEngine, sources: list[list[int]]
) -> None:
    together = engine.search(sources, config=config)
    assert len(together) == len(sources)
    for ids, found in zip(sources, together, strict=True):
        (alone,) = engine.search([ids], config=config)
        assert [h.log_prob for h in alone] == pytest.approx([h.log_prob for h in found], abs=1e-4)
        if len(found) < 2 or found[0].score - found[1].score > 1e-4:
            assert alone[0].ids == found[0].ids


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_what_torch_makes_tensors_of_by_default_changes_no_result(
    default: torch.device | torch.dtype, positions: str, sources: list[list[int]]
) -> None:
    engine = TorchEngine(random_model(positions=positions))
    rules = [SearchConfig(beam_size=1), SearchConfig(beam_size=3, n_best=2), SearchConfig(sampling=True, top_k=5)]

    def results() -> list[Any]:
        found = [engine.search(sources, config=config) for config in rules]
        terms = engine.search_terms(sources, [[ids[-1:]] for ids in sources], config=rules[1])
        return [*found, terms, engine.score(sources, sources)]

    expected = results()
    with torch_making(default):
        assert results() == expected


def test_nothing_to_translate_gives_nothing(engine: TorchEngine) -> None:
    assert engine.search([], config=SearchConfig()) == []
    assert engine.score([], []) == []


def test_pad_and_bos_are_never_written(engine: TorchEngine, sources: list[list[int]]) -> None:
    for config in (SearchConfig(beam_size=4, n_best=4), SearchConfig(sampling=True, n_best=4, temperature=5.0)):
        for hypotheses in engine.search(sources, config=config):
            assert not {PAD_ID, BOS_ID, EOS_ID} & {i for h in hypotheses for i in h.ids}


def test_search_and_forced_scoring_agree(engine: TorchEngine, sources: list[list[int]]) -> None:
    n_finished = 0
    for config in (SearchConfig(beam_size=1), SearchConfig(beam_size=5), SearchConfig(sampling=True)):
        hypotheses = [found[0] for found in engine.search(sources, config=config)]
        for h, row in zip(hypotheses, engine.score(sources, [h.ids for h in hypotheses]), strict=True):
            assert len(row) == len(h.ids) + 1
            assert sum(row if h.is_finished else row[:-1]) == pytest.approx(h.log_prob, abs=1e-4)
            n_finished += h.is_finished
    assert n_finished > len(sources) / 2


def test_scores_do_not_depend_on_the_batch(engine: TorchEngine, sources: list[list[int]]) -> None:
    targets = sources[::-1]
    together = engine.score(sources, targets)
    for src, tgt, row in zip(sources, targets, together, strict=True):
        (alone,) = engine.score([src], [tgt])
        assert alone == pytest.approx(row, abs=1e-4)


def test_no_translation_is_longer_than_the_model_has_positions(engine: TorchEngine) -> None:
    source = [7] * 30
    config = SearchConfig(beam_size=2, max_len_ratio=9.0, min_len=1000)
    (found,) = engine.search([source], config=config)
    assert [len(h.ids) for h in found] == [30]
    assert not found[0].is_finished
    short = SearchConfig(beam_size=2, max_len_ratio=0.0, max_len_extra=1)
    (found,) = engine.search_terms([[7]], [[[*range(4, 24)], [9, 8] * 7]], config=short)
    assert {len(h.ids) for h in found} == {30}, "terms of 34 subwords go as far as there is room"


def test_the_limits_follow_the_length_of_the_source(engine: TorchEngine) -> None:
    config = SearchConfig(beam_size=1, max_len_ratio=1.0, max_len_extra=2)
    for source, limit in (([5] * 3, 5), ([6] * 9, 11)):
        ((found,),) = engine.search([source], config=config.changed(min_len=limit))
        assert len(found.ids) == limit


def test_the_least_length_goes_before_that_limit(engine: TorchEngine) -> None:
    config = SearchConfig(beam_size=1, max_len_ratio=1.0, max_len_extra=2, min_len=13)
    assert [len(found[0].ids) for found in engine.search([[5] * 3, [6] * 9], config=config)] == [13, 13]


def test_prefixes_are_kept_whatever_the_search(engine: TorchEngine, sources: list[list[int]]) -> None:
    prefixes = [[4 + i % 20] * (i % 4) for i in range(len(sources))]
    for config in (
        SearchConfig(beam_size=1),
        SearchConfig(beam_size=3, n_best=3),
        SearchConfig(sampling=True, n_best=2),
    ):
        for prefix, found in zip(prefixes, engine.search(sources, config=config, prefixes=prefixes), strict=True):
            assert all(list(h.ids[: len(prefix)]) == prefix for h in found)


def test_a_prefix_longer_than_the_length_limit_is_kept_whole(engine: TorchEngine) -> None:
    config = SearchConfig(beam_size=2, max_len_ratio=0.0, max_len_extra=1)
    (found,) = engine.search([[5]], config=config, prefixes=[[9, 8, 7, 6, 5]])
    assert found[0].ids[:5] == (9, 8, 7, 6, 5)


def test_terms_and_prefixes_are_those_of_their_source(engine: TorchEngine) -> None:
    prefixes, terms = [[4], [10, 12]], [[[9]], [[11, 8]]]
    config = SearchConfig(beam_size=2)
    first, second = (h[0].ids for h in engine.search_terms([[5, 6], [7]], terms, config=config, prefixes=prefixes))
    assert (first[0], second[:2]) == (4, (10, 12))
    assert 9 in first
    assert (11, 8) in pairwise(second)


def test_a_stop_signal_ends_whatever_is_under_way(engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, config, step = StopFlag(), SearchConfig(beam_size=2), engine._step

    def stopped_meanwhile(*given: Any) -> Any:
        stop.signum = signal.SIGINT
        return step(*given)

    monkeypatch.setattr(engine, "_step", stopped_meanwhile)
    work: list[tuple[str, Callable[[], object]]] = [
        ("translation", lambda: engine.search_terms([[5]], [[[9, 8]]], config=config, stop=stop)),
        ("translation", lambda: engine.search_terms([[5]], [[]], config=config, stop=stop)),
        ("translation", lambda: engine.search([[5]], config=config, stop=stop)),
        ("scoring", lambda: engine.score([[5]], [[6]], stop=stop)),
        ("alignment", lambda: engine.attend([[5]], [[6]], stop=stop)),
    ]
    for name, act in work:  # the first is stopped at its second step, the others before they begin
        with pytest.raises(Stopped, match=name):
            act()


def test_samples_are_reproducible_sorted_and_as_many_as_asked_for(
    engine: TorchEngine, sources: list[list[int]]
) -> None:
    def draw(seed: int) -> list[list[tuple[int, ...]]]:
        found = engine.search(sources, config=SearchConfig(sampling=True, n_best=5, seed=seed))
        assert all([h.score for h in group] == sorted((h.score for h in group), reverse=True) for group in found)
        return [[h.ids for h in group] for group in found]

    assert draw(1) == draw(1) != draw(2)
    assert {len(group) for group in draw(1)} == {5}
    assert any(len(set(group)) > 1 for group in draw(1))


def test_bf16_runs_and_keeps_its_log_probs_in_float32(engine: TorchEngine, sources: list[list[int]]) -> None:
    rounded = TorchEngine(random_model(), dtype=torch.bfloat16)
    exact = engine.score(sources, sources)
    for row, other in zip(exact, rounded.score(sources, sources), strict=True):
        assert row == pytest.approx(other, abs=0.6)
    assert all(found[0].ids for found in rounded.search(sources, config=SearchConfig(beam_size=2)))
    step, state = rounded._start([[5, 6]])
    log_probs, _ = step(torch.tensor([BOS_ID]), state)
    assert log_probs.dtype == torch.float32
    assert log_probs.exp().sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_memory_stays_flat_over_many_batches(engine: TorchEngine, sources: list[list[int]]) -> None:
    def translate(n_calls: int) -> int:
        for i in range(n_calls):  # other numbers of sentences, and so other shapes, at every call
            engine.search(sources[: 1 + i % len(sources)], config=SearchConfig(beam_size=1 + i % 4))
        gc.collect()
        return int(psutil.Process().memory_info().rss)

    before = translate(40)
    assert translate(80) - before < 20e6


def test_what_a_block_of_lines_left_free_is_given_back(engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[int] = []
    monkeypatch.setattr(torch_engine, "release_memory", lambda: given_back.append(1))
    for n_sentences, times in ((1999, 0), (2000, 1)):  # a request to a service is not slowed down by it
        engine.search([[5]] * n_sentences, config=SearchConfig(beam_size=1, max_len_ratio=0.0, max_len_extra=1))
        assert len(given_back) == times


@pytest.mark.parametrize(
    ("config", "most"),
    [
        (SearchConfig(beam_size=1), 37),  # float32 keys and values of two layers of 24: 384 bytes a position
        (SearchConfig(beam_size=3), 2 * 37 // 3),
        (SearchConfig(sampling=True, n_best=3), 2 * 37 // 3),
    ],
)
def test_a_wide_model_searches_fewer_positions_at_a_time(
    config: SearchConfig, most: int, engine: TorchEngine, sources: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_engine, "CACHED_BYTES", 37 * 384)
    narrow = TorchEngine(random_model())
    batches: list[list[int]] = []
    search_batch = narrow._search_batch

    def watched(some: Any, *rest: Any) -> Any:
        batches.append([len(ids) + 1 for ids in some])
        return search_batch(some, *rest)

    monkeypatch.setattr(narrow, "_search_batch", watched)
    found = narrow.search(sources, config=config)
    assert all(len(lengths) * max(lengths) <= most for lengths in batches)
    assert all((len(lengths) + 1) * max(lengths) > most for lengths in batches[:-1])
    if not config.sampling:
        assert [[h.ids for h in row] for row in found] == [
            [h.ids for h in row] for row in engine.search(sources, config=config)
        ]


def test_an_ensemble_remembers_what_all_its_models_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_engine, "CACHED_BYTES", 37 * 384)
    assert TorchEngine(random_model(), others=[random_model()])._cached_tokens == 18
    assert (
        TorchEngine(random_model(), device="meta")._cached_tokens == torch_engine.BATCH_TOKENS
    )  # no cache to fit into
