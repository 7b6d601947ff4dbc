"""Attention of given translations: what the engines show is what the model computes, and both show the same."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from random_models import N_TGT, architectures, describe, exported, random_model, sources_for
from yiwen.data.batching import Batch, collate
from yiwen.engines import torch_engine
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import DataError
from yiwen.model.attention import recorded_attention
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.model.transformer import Transformer

SRC_LENGTHS, TGT_LENGTHS = (5, 1, 11, 3, 7), (3, 7, 2, 1, 13)


def targets() -> list[list[int]]:
    rng = random.Random(2)
    return [[rng.randrange(4, N_TGT) for _ in range(n)] for n in TGT_LENGTHS]


@torch.no_grad()
def one_by_one(model: Transformer, sources: list[list[int]], layer: int, head: int | None) -> list[np.ndarray]:
    """The model's own maps, sentence by sentence, without padding."""
    rows = []
    for src, tgt in zip(sources, targets(), strict=True):
        batch = collate([src], [tgt])
        with recorded_attention(model) as maps:
            model(batch.src_ids, batch.tgt_in)
        weights_HTS = maps[f"decoder.layers.{layer}.cross_attention"][0].numpy()
        rows.append(weights_HTS.mean(axis=0) if head is None else weights_HTS[head])
    return rows


@pytest.mark.parametrize("config", list(architectures())[:48:3], ids=describe)
def test_both_engines_show_the_attention_of_the_chosen_head_and_compute_as_before(
    config: ModelConfig, tmp_path: Path
) -> None:
    model = random_model(config)
    sources = sources_for(model, SRC_LENGTHS)
    for layer, head in ((0, None), (config.n_decoder_layers - 1, config.n_heads - 1)):
        place = AlignmentHead(layer=layer, head=head)
        expected = one_by_one(model, sources, place.layer, head)
        engines = [TorchEngine(random_model(config), alignment=place)]
        if config.positions != "alibi":  # cannot be exported
            found = exported(tmp_path / f"head-{head}", model, alignment=place)
            assert np.allclose(
                np.concatenate(found.score(sources, targets())),
                np.concatenate(engines[0].score(sources, targets())),
                atol=1e-4,
            )
            engines.append(found)  # type: ignore[arg-type]
        for engine in engines:
            for weights, wanted in zip(engine.attend(sources, targets()), expected, strict=True):
                assert weights.shape == wanted.shape
                assert weights.dtype == np.float32
                np.testing.assert_allclose(weights, wanted, atol=3e-6)


def test_attention_does_not_depend_on_the_neighbours_in_the_batch(tmp_path: Path) -> None:
    model = random_model(next(architectures()))
    sources = sources_for(model, SRC_LENGTHS)
    engine = exported(tmp_path / "export", model)
    together = engine.attend(sources, targets())
    for weights, src, tgt in zip(together, sources, targets(), strict=True):
        np.testing.assert_allclose(weights, engine.attend([src], [tgt])[0], atol=1e-6)


def test_attention_is_recorded_for_one_caller_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = TorchEngine(random_model(next(architectures())))
    inside: list[int] = []

    @contextmanager
    def recorded(*given: Any, **options: Any) -> Iterator[dict[str, torch.Tensor]]:
        inside.append(1)
        time.sleep(0.05)
        assert len(inside) == 1
        with recorded_attention(*given, **options) as maps:
            yield maps
        inside.pop()

    monkeypatch.setattr(torch_engine, "recorded_attention", recorded)
    with ThreadPoolExecutor(3) as threads:
        assert len([*threads.map(engine.attend, [[[5]]] * 3, [[[6]]] * 3)]) == 3


def test_the_usual_place_is_the_last_layer_but_one() -> None:
    assert AlignmentHead.usual(ModelConfig(n_decoder_layers=6)) == AlignmentHead(layer=4)
    assert AlignmentHead.usual(ModelConfig(n_decoder_layers=1)) == AlignmentHead(layer=0)


def test_a_target_without_room_is_refused_by_name(tmp_path: Path) -> None:
    model = random_model(next(architectures()))
    engine = exported(tmp_path / "export", model)
    with pytest.raises(DataError, match="target 2 has 41 subwords, the model has positions for 36"):
        engine.attend([[5], [6]], [[5], [5] * 41])


@pytest.mark.parametrize(("way", "most"), [("attend", 23), ("score", 11)])
def test_given_translations_pass_in_batches_that_stay_in_a_cache(
    way: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = TorchEngine(random_model(next(architectures())))
    sources = sources_for(engine.model, SRC_LENGTHS)
    whole = getattr(engine, way)(sources, targets())
    batches: list[list[int]] = []

    def watched(src: list[list[int]], tgt: list[list[int]]) -> Batch:
        batches.append([max(len(pair[0]), len(pair[1])) + 1 for pair in zip(src, tgt, strict=True)])
        return collate(src, tgt)

    monkeypatch.setattr(torch_engine, "collate", watched)
    monkeypatch.setattr(torch_engine, "GIVEN_TOKENS", 23)
    parts = getattr(engine, way)(sources, targets())
    assert sum(map(len, batches)) == len(sources)
    assert all(len(lengths) == 1 or len(lengths) * max(lengths) <= most for lengths in batches)
    for some, same in zip(whole, parts, strict=True):
        assert np.allclose(some, same, atol=1e-5)
