"""The exported engine finds what the torch engine finds, whatever the search rules are."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from random_models import exported, fake_subword, random_model, sources_for, vocabularies
from tiny_model import signed
from yiwen.engines import ct2_engine
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.ct2_rules import Seen, replay, settled_beam, settled_greedy
from yiwen.engines.ct2_runtime import BATCH_TOKENS, Runtime
from yiwen.engines.exported import Golden, read_info, write_info
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import CheckpointError, ConfigError, DataError, Stopped
from yiwen.files import MANIFEST
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.subword import EOS_ID, N_SPECIAL, UNK_ID

SHAPE = ModelConfig(
    d_model=22, n_heads=2, d_ff=13, n_encoder_layers=1, n_decoder_layers=2, norm_order="pre", max_len=47
)


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(SHAPE, eos=3.0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model: Transformer) -> CT2Engine:
    return exported(tmp_path_factory.mktemp("ct2") / "model", model)


@pytest.fixture(scope="module")
def trained(engine: CT2Engine, model: Transformer) -> TorchEngine:
    return TorchEngine(random_model(SHAPE, eos=3.0))  # takes its model over


def plain(group: list[Hypothesis]) -> list[tuple[tuple[int, ...], bool]]:
    return [(h.ids, h.is_finished) for h in group]


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(beam_size=1),
        SearchConfig(beam_size=1, min_len=5),
        SearchConfig(beam_size=1, max_len_ratio=0.5, max_len_extra=2),
        SearchConfig(beam_size=4, n_best=4),
        SearchConfig(beam_size=4, n_best=2, min_len=0),
        SearchConfig(beam_size=3, n_best=3, min_len=5),
        SearchConfig(beam_size=5, n_best=5, max_len_ratio=0.5, max_len_extra=2),
        SearchConfig(beam_size=5, n_best=5, max_len_ratio=0.2, max_len_extra=3, min_len=2),
        SearchConfig(beam_size=4, n_best=4, max_len_ratio=0.0, min_len=7),
        SearchConfig(beam_size=4, n_best=4, penalty="none"),
        SearchConfig(beam_size=4, n_best=4, length_penalty=0.0),
        SearchConfig(beam_size=4, n_best=4, length_penalty=-0.5),
        SearchConfig(beam_size=4, n_best=4, penalty="gnmt", length_penalty=0.6),
        SearchConfig(beam_size=7, n_best=7, penalty="gnmt", length_penalty=2.0),
        SearchConfig(beam_size=5, n_best=3, penalty="gnmt", length_penalty=2.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("has_prefixes", [False, True])
def test_both_engines_find_the_same(
    trained: TorchEngine, engine: CT2Engine, model: Transformer, config: SearchConfig, has_prefixes: bool
) -> None:
    sources = sources_for(model, [1, 2, 3, 5, 7, 11, 13, 46], seed=config.beam_size)
    prefixes = [[], [9], [11, 7], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], [], [8] * 5, [4], [6] * 46]
    if not has_prefixes:
        prefixes = [[] for _ in sources]
    ours = trained.search(sources, config=config, prefixes=prefixes)
    theirs = engine.search(sources, config=config, prefixes=prefixes)
    for a, b in zip(ours, theirs, strict=True):
        assert plain(a) == plain(b)
        assert [h.log_prob for h in a] == pytest.approx([h.log_prob for h in b], rel=1e-5, abs=2e-4)
        assert [h.score for h in a] == pytest.approx([h.score for h in b], rel=1e-5, abs=2e-4)


@pytest.mark.parametrize(
    "settings", [{}, {"min_len": 0}, {"min_len": 5}, {"min_len": 99}, {"max_len_ratio": 0.5, "max_len_extra": 2}]
)
def test_greedy_search_without_scores_finds_the_same(
    engine: CT2Engine, model: Transformer, settings: dict[str, float]
) -> None:
    config = SearchConfig(beam_size=1, **settings)  # type: ignore[arg-type]
    sources = sources_for(model, [1, 2, 3, 5, 7, 11, 13, 46], seed=3)
    scored = engine.search(sources, config=config)
    found = engine.search(sources, config=config, with_scores=False)
    assert [plain(group) for group in found] == [plain(group) for group in scored]
    assert all(math.isnan(group[0].score) for group in found)


def test_what_a_limit_cuts_is_not_searched_greedily_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless, config = random_model(SHAPE, eos=-40.0), SearchConfig(beam_size=1, max_len_ratio=1.0, max_len_extra=1)
    engine, trained = exported(tmp_path / "model", endless), TorchEngine(random_model(SHAPE, eos=-40.0))
    begun, submit = [], Runtime.submit

    def counted(self: Runtime, batch: list[list[int]], *given: Any, **options: Any) -> list[Any]:
        begun.append(len(batch))
        return submit(self, batch, *given, **options)

    monkeypatch.setattr(Runtime, "submit", counted)
    sources = sources_for(endless, [2, 3, 5])
    theirs = [best for (best,) in engine.search(sources, config=config)]
    assert begun == [3]
    assert [(len(h.ids), h.is_finished) for h in theirs] == [(3, False), (4, False), (6, False)]
    ours = [best for (best,) in trained.search(sources, config=config)]
    assert [h.log_prob for h in theirs] == pytest.approx([h.log_prob for h in ours], rel=1e-5, abs=2e-4)


def test_forced_log_probs_agree(trained: TorchEngine, engine: CT2Engine, model: Transformer) -> None:
    sources = sources_for(model, [1, 7, 46, 3])
    targets = [[5, 6], [], [7] * 46, [9, 9, 9]]
    for ours, theirs in zip(trained.score(sources, targets), engine.score(sources, targets), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_source_of_more_than_a_thousand_subwords_is_read_whole(tmp_path: Path) -> None:
    model = random_model(dataclasses.replace(SHAPE, max_len=1100))
    engine, trained = exported(tmp_path / "model", model), TorchEngine(model)
    sources, config = sources_for(model, [1099]), SearchConfig(beam_size=2, max_len_ratio=0.0, max_len_extra=3)
    ours, theirs = (each.search(sources, config=config)[0] for each in (trained, engine))
    assert plain(theirs) == plain(ours)
    assert theirs[0].log_prob == pytest.approx(ours[0].log_prob, abs=1e-4)
    assert engine.score(sources, [[5, 6]])[0] == pytest.approx(trained.score(sources, [[5, 6]])[0], abs=1e-4)


def test_an_end_that_is_certain_is_found_where_it_may_be(tmp_path: Path) -> None:
    certain = random_model(SHAPE, eos=40.0)
    engine, trained = exported(tmp_path / "model", certain), TorchEngine(random_model(SHAPE, eos=40.0))
    sources = sources_for(certain, [1, 3, 7])
    prefixes = [[9], [11, 7], [5, 6, 7]]
    assert max(row[-1] for row in trained.score(sources, prefixes)) == 0.0, "a probability of 1 in float32"
    for config in (SearchConfig(beam_size=5), SearchConfig(beam_size=3, n_best=2)):
        ours, theirs = (each.search(sources, config=config, prefixes=prefixes) for each in (trained, engine))
        assert [plain(group[:1]) for group in theirs] == [plain(group[:1]) for group in ours]
        assert [h[0].log_prob for h in theirs] == pytest.approx([h[0].log_prob for h in ours], rel=1e-5, abs=2e-4)
    late = SearchConfig(beam_size=2, n_best=2, min_len=40)  # longer than a short source may become
    for a, b in zip(*(each.search(sources, config=late) for each in (trained, engine)), strict=True):
        assert plain(a) == plain(b)


def test_a_sentence_that_could_only_end_too_early_is_cut_at_its_limit(tmp_path: Path) -> None:
    model = random_model(dataclasses.replace(SHAPE, positions="learned"))
    direction = torch.linspace(-1, 1, SHAPE.d_model)
    with torch.no_grad():  # every hypothesis wants to end after four subwords, and none at any other place
        table = model.tgt_positions.get_parameter("weight")
        table.copy_(-20 * direction)
        table[4] *= -1
        model.output_weight[EOS_ID] = 5 * direction
    engine = exported(tmp_path / "model", model)
    config = SearchConfig(beam_size=3, n_best=2, min_len=5, max_len_ratio=0.0, max_len_extra=1)
    sources = sources_for(model, [1, 3, 7])
    trained = TorchEngine(model)
    for prefixes in (None, [[9], [11, 7], [5, 6, 7, 8, 9]]):
        ours, theirs = (each.search(sources, config=config, prefixes=prefixes) for each in (trained, engine))
        assert [plain(group) for group in theirs] == [plain(group) for group in ours]
        for source, group in zip(sources, theirs, strict=True):
            assert {(len(h.ids), h.is_finished) for h in group} == {(5, False)}
            rows = trained.score([source] * len(group), [h.ids for h in group])
            assert [h.log_prob for h in group] == pytest.approx([sum(row[:-1]) for row in rows], rel=1e-5)


def test_what_the_limit_cuts_behind_a_prefix_counts_what_the_prefix_costs(tmp_path: Path) -> None:
    model = random_model(SHAPE, eos=-2.0)
    engine, trained = exported(tmp_path / "model", model), TorchEngine(model)
    sources, prefixes = sources_for(model, [1, 3, 7, 2]), [[9], [11, 7], [5, 6, 7], [5, 6, 7, 8, 9, 10]]
    config = SearchConfig(beam_size=3, n_best=3, max_len_ratio=0.0, max_len_extra=5)
    for source, group in zip(sources, engine.search(sources, config=config, prefixes=prefixes), strict=True):
        assert False in {h.is_finished for h in group}
        rows = trained.score([source] * len(group), [h.ids for h in group])
        sums = [sum(row) if h.is_finished else sum(row[:-1]) for h, row in zip(group, rows, strict=True)]
        assert [h.log_prob for h in group] == pytest.approx(sums, rel=1e-5)


def test_what_was_left_out_may_be_better_under_another_penalty() -> None:
    # By sums the third, of three subwords and just below -3, is the worst of three, and the runtime hands out two.
    # Divided by (5 + length) / 6, eos counted, they are -2.9 / 1.5 = -1.93, -3.0 / 1.17 = -2.57 and -3.0 / 1.5 = -2.0.
    seen = [Seen((5, 6, 7), -2.9, True), Seen((5,), -3.0, True)]
    config = SearchConfig(beam_size=2, penalty="gnmt", length_penalty=1.0)
    (best,) = settled_beam(seen, limit=9, config=config) or []
    assert (best.ids, best.score) == ((5, 6, 7), pytest.approx(-2.9 / 1.5))
    assert settled_beam(seen, limit=9, config=config.changed(n_best=2)) is None
    assert settled_beam(seen, limit=9, config=config.changed(n_best=2, penalty="average")) is not None
    # The second of these has -2.9 / 1.33 = -2.18; another of -3.0 and three subwords has -2.0, eos counted.
    seen = [Seen((5, 6), -2.9, True), Seen((5, 6, 7), -3.0, True)]
    assert settled_beam(seen, limit=9, config=config.changed(n_best=2)) is None
    # A negative exponent favours the short: -3.0 x 7 / 6 = -3.5 is the best found, and one token with -3.0 is better.
    assert settled_beam(seen, limit=9, config=config.changed(length_penalty=-1.0)) is None


LONG, SHORT, EMPTY = Seen((5, 6), -1.0, True), Seen((7,), -2.0, True), Seen((), -0.5, True)


@pytest.mark.parametrize(
    ("seen", "limit", "changes", "found"),
    [
        ([SHORT, LONG], 2, {}, [LONG, SHORT]),  # -1 / 3 and -2 / 2, eos counted
        ([SHORT, LONG], 1, {}, None),  # one is longer than our limit
        ([SHORT, LONG], 2, {"min_len": 2}, None),  # one is too short
        ([LONG], 2, {"n_best": 1}, None),  # fewer than the beam holds
        ([LONG, dataclasses.replace(SHORT, is_finished=False)], 2, {}, None),
        ([LONG, dataclasses.replace(SHORT, log_prob=-1e10)], 2, {}, None),  # its mark for none
        ([EMPTY, LONG], 2, {}, None),  # one of the two is never handed out
        ([EMPTY, LONG], 2, {"n_best": 1}, [LONG]),
        ([EMPTY, LONG], 2, {"min_len": 0}, [LONG, EMPTY]),
    ],
)
def test_what_the_runtime_found_is_taken_where_our_rules_would_find_the_same(
    seen: list[Seen], limit: int, changes: dict[str, int], found: list[Seen] | None
) -> None:
    config = SearchConfig(**{"beam_size": 2, "n_best": 2, **changes})  # type: ignore[arg-type]
    settled = settled_beam(seen, limit=limit, config=config)
    assert (settled and [(h.ids, h.log_prob) for h in settled]) == (found and [(h.ids, h.log_prob) for h in found])


def test_a_limit_cuts_only_as_many_as_there_are_places_left() -> None:
    # Of two places SHORT has one, with -2 / 2. The likelier of two that go on gets the other, with -1 / 3; to the last,
    # with -2 / 3, nothing is left, though it is better than SHORT.
    going_on = [Seen((8, 8, 8), -2.0, False), Seen((9, 9, 9), -1.0, False)]
    found = replay([SHORT], going_on, limit=3, config=SearchConfig(beam_size=2, n_best=2))
    assert plain(found) == [((9, 9, 9), False), ((7,), True)]


def test_an_empty_translation_that_is_allowed_takes_one_place_of_the_beam_and_not_two() -> None:
    ends = [dataclasses.replace(EMPTY, log_prob=-1.5), SHORT]  # with -1.5 and -2 / 2
    found = replay(ends, [], limit=3, config=SearchConfig(beam_size=2, n_best=2, min_len=0))
    assert plain(found) == [((7,), True), ((), True)]


@pytest.mark.parametrize(("limit", "length", "is_finished"), [(2, 2, False), (3, 3, True), (5, 3, True)])
def test_greedily_what_ends_at_the_limit_has_ended_with_scores_or_without(
    limit: int, length: int, is_finished: bool
) -> None:
    config = SearchConfig(beam_size=1, min_len=3)
    for log_prob in (math.nan, -2.0):
        (found,) = settled_greedy([Seen((5, 6, 7), log_prob, True)], limit=limit, config=config) or []
        assert (found.ids, found.is_finished) == ((5, 6, 7)[:length], is_finished)
        told = log_prob if is_finished else math.nan  # of three subwords, and not of the two that are left
        assert found.log_prob == pytest.approx(told, nan_ok=True)
    assert settled_greedy([Seen((5, 6), -2.0, True)], limit=limit, config=config) is None, "it ended too early"


def test_what_is_longer_than_the_model_has_positions_for_is_refused_by_its_side(engine: CT2Engine) -> None:
    config = SearchConfig()
    for side, act in (
        ("source", lambda: engine.search([[5], [6] * 47], config=config)),
        ("prefix", lambda: engine.search([[5], [6]], config=config, prefixes=[[7], [8] * 47])),
        ("source", lambda: engine.score([[5], [6] * 47], [[7], [8]])),
        ("target", lambda: engine.score([[5], [6]], [[7], [8] * 47])),
    ):
        with pytest.raises(DataError, match=f"{side} 2 has 47 subwords, the model has positions for 46; shorten it"):
            act()


def test_a_model_of_other_subwords_is_refused(tmp_path: Path, model: Transformer) -> None:
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    for sides in ({"source": fake_subword(28), "target": target}, {"source": source, "target": fake_subword(28)}):
        with pytest.raises(CheckpointError, match="in their order; it is another model's: export the model agai"):
            CT2Engine(tmp_path / "model", **sides, threads=0, is_new=True)


def test_an_engine_uses_every_core_where_nobody_says_how_many(
    tmp_path: Path, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    assert CT2Engine(tmp_path / "model", source=source, target=target, threads=0, is_new=True).replicas == 3


def test_a_model_leaves_torch_its_threads(tmp_path: Path, model: Transformer) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        engine = exported(tmp_path / "model", model)
        engine.search([[5, 6, 7]], config=SearchConfig())
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_nothing_in_gives_nothing_out(engine: CT2Engine) -> None:
    assert engine.search([], config=SearchConfig()) == []
    assert engine.score([], []) == []


def test_replicas_change_nothing(tmp_path: Path, engine: CT2Engine, model: Transformer) -> None:
    sources = sources_for(model, [3, 7, 11] * 20)
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    two = CT2Engine(tmp_path / "model", source=source, target=target, threads=2, is_new=True)
    assert (two.replicas, engine.replicas) == (2, 1)
    assert [each._runtime._translator.num_translators for each in (two, engine)] == [2, 1]
    config = SearchConfig(beam_size=2)
    found = two.search(sources, config=config)
    assert [plain(group) for group in found] == [plain(group) for group in engine.search(sources, config=config)]


@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_batch_stays_in_the_cache_of_a_processor(
    engine: CT2Engine, model: Transformer, monkeypatch: pytest.MonkeyPatch, beam_size: int
) -> None:
    sources = sources_for(model, [3, 7, 11, 46] * 30)
    positions: list[int] = []
    submit = Runtime.submit

    def counted(self: Runtime, batch: list[list[int]], config: SearchConfig, **options: Any) -> list[Any]:
        positions.append(len(batch) * max(map(len, batch)) * config.beam_size)
        return submit(self, batch, config, **options)

    monkeypatch.setattr(Runtime, "submit", counted)
    engine.search(sources, config=SearchConfig(beam_size=beam_size))
    assert len(positions) > 4
    assert max(positions) <= BATCH_TOKENS


def test_an_accelerator_gets_larger_batches(model: Transformer) -> None:
    source, target = vocabularies(model)
    sizes = [
        Runtime(SimpleNamespace(device=device), source=source, target=target, uses_shortlist=False).batch_tokens
        for device in ("cpu", "cuda")
    ]
    assert sizes == [512, 2048]


def test_weights_that_stay_in_no_cache_are_read_for_larger_batches(
    model: Transformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = exported(tmp_path / "small", model)
    n_bytes = (tmp_path / "small" / "model.bin").stat().st_size
    sizes = []
    for largest in (n_bytes, n_bytes - 1):
        monkeypatch.setattr(ct2_engine, "LARGE", largest)
        sizes.append(exported(tmp_path / str(largest), model))
    assert [each._runtime.batch_tokens for each in (engine, *sizes)] == [512, 512, 1024]
    sources = sources_for(model, [3, 7, 11, 46] * 30)
    found = [each.search(sources, config=SearchConfig(beam_size=1)) for each in sizes]
    assert [[h.ids for h in row] for row in found[0]] == [[h.ids for h in row] for row in found[1]]


def test_sampling_is_refused_with_the_reason(engine: CT2Engine) -> None:
    with pytest.raises(ConfigError, match="no seed of a call reaches; use engine='torch'"):
        engine.search([[5]], config=SearchConfig(sampling=True))


@pytest.mark.parametrize("prefixes", [None, [[5], [6]]])
def test_a_stop_signal_ends_search_and_score(engine: CT2Engine, prefixes: list[list[int]] | None) -> None:
    stop = StopFlag()
    engine.search([[5], [6]], config=SearchConfig(), prefixes=prefixes, stop=stop)
    stop.signum = signal.SIGINT
    with pytest.raises(Stopped, match="translation"):
        engine.search([[5], [6]], config=SearchConfig(), prefixes=prefixes, stop=stop)
    with pytest.raises(Stopped, match="scoring"):
        engine.score([[5]], [[6]], stop=stop)
    with pytest.raises(Stopped, match="alignment"):
        engine.attend([[5]], [[6]], stop=stop)


@pytest.mark.parametrize("n_sources", [1, 60])
def test_a_stop_signal_ends_what_is_under_way_and_nothing_more_begins(
    engine: CT2Engine, n_sources: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, begun, submit = StopFlag(), [], Runtime.submit

    def stopped_meanwhile(self: Runtime, batch: list[list[int]], *given: Any, **options: Any) -> list[Any]:
        begun.append(len(batch))
        stop.signum = signal.SIGINT
        return submit(self, batch, *given, **options)

    monkeypatch.setattr(Runtime, "submit", stopped_meanwhile)
    with pytest.raises(Stopped, match="translation"):
        engine.search([[5, 6, 7] * 10] * n_sources, config=SearchConfig(), stop=stop)
    assert len(begun) == 1
    assert begun[0] < n_sources or n_sources == 1


def test_devices_and_number_types_that_are_not_there_are_refused_by_name(tmp_path: Path, model: Transformer) -> None:
    for device in ("tpu", "cpu:1", "cuda:x"):
        with pytest.raises(ConfigError, match=f"device='{device}' is unknown to CTranslate2; use 'cpu'"):
            exported(tmp_path / device, model, device=device)
    with pytest.raises(ConfigError, match="device='cuda:77', but CTranslate2 sees"):
        exported(tmp_path / "b", model, device="cuda:77")
    with pytest.raises(ConfigError, match=r"is exported as float16, which CTranslate2 .* export again with --dtype"):
        exported(tmp_path / "c", model, dtype="float16")


def test_a_shortlist_is_used_for_search_and_not_for_score(tmp_path: Path) -> None:
    model = random_model(SHAPE, eos=-3.0)  # whose translations are long
    folder = tmp_path / "model"
    without = exported(folder, model)
    source, target = vocabularies(model)
    # A line is `source<tab>targets`; what follows an empty source is allowed always, and so is unk.
    (folder / "vmap.txt").write_text("\t</s> piece-10 piece-11 piece-12\n", encoding="utf-8")
    allowed = {UNK_ID, 10 + N_SPECIAL, 11 + N_SPECIAL, 12 + N_SPECIAL}
    with_list = CT2Engine(folder, source=source, target=target, threads=1, is_new=True)
    assert with_list.description == "CTranslate2 float32 on cpu with shortlist"
    assert without.description == "CTranslate2 float32 on cpu"
    config = SearchConfig(beam_size=2)
    assert {id_ for h in with_list.search([[5, 6, 7]], config=config)[0] for id_ in h.ids} <= allowed
    assert with_list.score([[5]], [[20]]) == without.score([[5]], [[20]])
    golden = without.greedy(sources_for(model))  # knows no shortlist
    assert with_list.greedy(sources_for(model)) == golden
    assert not {id_ for ids in golden for id_ in ids} <= allowed


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_prefix_is_kept_beside_the_shortlists_of_other_sources(
    tmp_path: Path, model: Transformer, beam_size: int
) -> None:
    folder = tmp_path / "model"
    without = exported(folder, model)
    source, target = vocabularies(model)
    pieces, places = target.pieces(range(target.vocab_size)), range(N_SPECIAL, source.vocab_size)
    lines = ["\t" + " ".join(pieces[UNK_ID : N_SPECIAL + 5])]
    # Each source has six of the 20 others, so that a target stands at another place in each shortlist.
    lines += [
        f"{source.pieces([id_])[0]}\t{' '.join(sorted({pieces[9 + id_ * k % 20] for k in range(6)}))}" for id_ in places
    ]
    (folder / "vmap.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with_list = CT2Engine(folder, source=source, target=target, threads=1, is_new=True)
    config = SearchConfig(beam_size=beam_size)
    for id_ in places:
        with_list.search([[id_]], config=SearchConfig(beam_size=3))
        asked = {"config": config, "prefixes": [[28, 20, id_]]}
        (found,) = with_list.search([[id_ * 7 % 20 + N_SPECIAL]], **asked)
        assert found[0].ids[:3] == (28, 20, id_)
        assert found == without.search([[id_ * 7 % 20 + N_SPECIAL]], **asked)[0]


def test_a_shortlist_that_no_manifest_lists_is_none(tmp_path: Path, model: Transformer) -> None:
    folder = tmp_path / "model"
    exported(folder, model)
    source, target = vocabularies(model)
    (folder / MANIFEST).touch()
    signed(folder)
    (folder / "vmap.txt").write_text("\tnonsense\n", encoding="utf-8")  # left over, or put there by somebody
    assert "shortlist" not in CT2Engine(folder, source=source, target=target, threads=1).description


class WithGolden:
    """An exported model that is opened with one golden sentence or another."""

    def __init__(self, folder: Path, model: Transformer, dtype: str = "float32") -> None:
        engine = exported(folder, model, dtype=dtype)
        (self.output,), self.folder, self.model = engine.greedy([[7, 8]]), folder, model
        (self.log_probs,) = map(tuple, engine.score([[7, 8]], [self.output]))

    def open(self, **changes: object) -> None:
        info, (source, target) = read_info(self.folder), vocabularies(self.model)
        golden = {"source": (7, 8), "output": self.output, "log_probs": self.log_probs, **changes}
        write_info(self.folder, dataclasses.replace(info, golden=Golden(**golden)))  # type: ignore[arg-type]
        (self.folder / MANIFEST).touch()
        CT2Engine(signed(self.folder), source=source, target=target, threads=1)


def test_a_golden_sentence_that_comes_out_otherwise_is_refused(tmp_path: Path) -> None:
    found = WithGolden(tmp_path / "model", random_model(SHAPE, eos=-3.0))
    assert len(found.log_probs) > 1
    found.open()
    with pytest.raises(CheckpointError, match="log-probabilities differ by up to nan"):
        found.open(log_probs=(*found.log_probs[:-1], math.nan))
    for changes in ({"log_probs": ()}, {"source": (10**6,)}, {"output": (10**6,), "log_probs": (0.0, 0.0)}):
        with pytest.raises(CheckpointError, match=r"has no golden sentence \(.*\); export the model again"):
            found.open(**changes)


@pytest.mark.parametrize(("dtype", "fine", "wrong"), [("float32", 0.0009, 0.002), ("int8", 0.09, 0.2)])
def test_the_log_probabilities_of_a_golden_sentence_may_differ_as_kernels_round(
    dtype: str, fine: float, wrong: float, tmp_path: Path, model: Transformer
) -> None:
    found = WithGolden(tmp_path / "model", model, dtype)
    first, *others = found.log_probs
    found.open(log_probs=(first - fine, *others))
    with pytest.raises(CheckpointError, match="log-probabilities differ by up to"):
        found.open(log_probs=(first - wrong, *others))


def test_a_search_that_finds_another_golden_translation_is_refused_where_the_model_was_sure(
    tmp_path: Path, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsure, sure = (
        WithGolden(tmp_path / name, each) for name, each in (("unsure", model), ("sure", random_model(SHAPE, eos=40.0)))
    )
    assert min(unsure.log_probs) < math.log(0.6) < min(sure.log_probs)
    monkeypatch.setattr(CT2Engine, "greedy", lambda engine, sources: [(9, 9)])
    unsure.open()  # another processor may rightly choose another token
    with pytest.raises(CheckpointError, match=r"translates its golden sentence to \[9, 9\] where it has to give"):
        sure.open()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[" * 99_999, "cannot be read"),
        ('{"format_version": 1}', "has format 1, this yiwen reads 2; export the model again, or"),
        ("[]", "has format None"),
    ],
)
def test_an_unreadable_description_is_refused(tmp_path: Path, model: Transformer, content: str, message: str) -> None:
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    (tmp_path / "model" / "export.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=message):
        CT2Engine(tmp_path / "model", source=source, target=target, threads=0, is_new=True)


def test_a_model_that_the_runtime_cannot_read_is_named(tmp_path: Path, model: Transformer) -> None:
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    (tmp_path / "model" / "model.bin").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"CTranslate2 cannot load .*; free memory, or export again"):
        CT2Engine(tmp_path / "model", source=source, target=target, threads=0, is_new=True)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
def test_a_folder_whose_name_is_no_utf_8_can_be_opened(tmp_path: Path, model: Transformer) -> None:
    exported(tmp_path / "model", model)
    folder = (tmp_path / "model").rename(tmp_path / os.fsdecode(b"m\xff"))
    source, target = vocabularies(model)
    assert CT2Engine(folder, source=source, target=target, threads=0, is_new=True).score([[5, 6]], [[7]])


def test_a_number_type_that_is_none_is_damage(tmp_path: Path, model: Transformer) -> None:
    exported(tmp_path / "model", model)
    path = tmp_path / "model" / "export.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"float32"', '"int7"', 1), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"dtype='int7' is unknown to CTranslate2.*; export the model again"):
        read_info(path.parent)


def test_the_folder_names_its_dtype(tmp_path: Path, model: Transformer) -> None:
    exported(tmp_path / "model", model, dtype="int8")
    assert json.loads((tmp_path / "model" / "export.json").read_text(encoding="utf-8"))["dtype"] == "int8"
