"""Everything that is seen of a sentence, against the model's own numbers; and the refusals."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tiny_model import TinyRun, exported, tampered
from yiwen.analysis import inspection
from yiwen.analysis.inspection import Inspection, inspect_sentence
from yiwen.bundle import load_model, open_bundle
from yiwen.data.batching import collate
from yiwen.errors import CheckpointError, ConfigError, DataError
from yiwen.model.attention import recorded_attention
from yiwen.search.config import SearchConfig
from yiwen.tasks.translate import log_probs_of
from yiwen.translator import Translator


@pytest.fixture(scope="module")
def sentence(tiny_run: TinyRun) -> str:
    return (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[0]


@pytest.fixture(scope="module")
def seen(tiny_run: TinyRun, sentence: str) -> Inspection:
    return inspect_sentence(open_bundle(tiny_run.best), sentence)


def test_it_is_the_translation_that_translating_gives(seen: Inspection, tiny_run: TinyRun, sentence: str) -> None:
    translation = Translator.load(tiny_run.best, engine="torch", threads=1).translate([sentence])[0]
    assert seen.target == translation.text
    assert seen.candidates[0].text == translation.text
    assert seen.candidates[0].score == pytest.approx(translation.score, abs=1e-5)
    assert len(seen.candidates) == 5
    assert [node.fate for node in (seen.tree[number] for number in seen.winner)][-1] == "ended"
    assert [seen.node_tokens[number] for number in seen.winner] == seen.tgt_tokens
    assert seen.verdict.startswith("It beats “")


def test_a_single_word_is_searched_for_as_translating_does(tiny_run: TinyRun) -> None:
    translator = Translator.load(tiny_run.best, engine="torch", threads=1)
    words = sorted(set((tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").replace(".", "").split()))[:11]
    given = [inspect_sentence(translator.bundle, word).target for word in words]
    translations = translator.translate(words, checks=False)
    assert [text.rstrip(".") for text in given] == [found.text.rstrip(".") for found in translations]


def test_a_translation_that_the_limit_cuts_has_no_end(tiny_run: TinyRun, sentence: str) -> None:
    found = inspect_sentence(
        open_bundle(tiny_run.best), sentence, search=SearchConfig(max_len_ratio=0, max_len_extra=2)
    )
    assert not found.candidates[0].is_finished
    assert found.tgt_tokens[-1] == "<cut>"
    assert [found.node_tokens[number] for number in found.winner] == found.tgt_tokens[:-1]
    given = inspect_sentence(open_bundle(tiny_run.best), sentence, target=found.target)
    assert given.tgt_tokens[-1] == "</s>"


def test_a_model_that_takes_the_one_most_like_the_others_is_looked_at_too(
    tiny_run: TinyRun, sentence: str, seen: Inspection
) -> None:
    found = inspect_sentence(open_bundle(tiny_run.best), sentence, search=SearchConfig(beam_size=5, mbr=4))
    assert found.target == seen.target
    assert len(found.candidates) == 5


def test_maps_and_probabilities_are_those_of_a_forced_pass(seen: Inspection, tiny_run: TinyRun) -> None:
    bundle = open_bundle(tiny_run.best)
    model = load_model(bundle)
    src, tgt = bundle.source.encode([seen.source])[0], bundle.target.encode([seen.target])[0]
    batch = collate([src], [tgt])
    with torch.inference_mode(), recorded_attention(model) as maps:
        log_probs = log_probs_of(model.logits(model(batch.src_ids, batch.tgt_in))[0])
    S, T = len(src) + 1, len(tgt) + 1
    assert {name: weights.shape for name, weights in seen.attention.items()} == {
        "encoder": (1, 2, S, S),
        "decoder": (1, 2, T, T),
        "cross": (1, 2, T, S),
    }
    np.testing.assert_allclose(seen.attention["cross"][0], maps["decoder.layers.0.cross_attention"][0], atol=1e-6)
    np.testing.assert_allclose(seen.attention["encoder"][0], maps["encoder.layers.0.self_attention"][0], atol=1e-6)
    assert np.triu(seen.attention["decoder"], k=1).max() == 0.0  # masked: nothing is seen before it is written
    gold = log_probs.gather(1, batch.tgt_out[0][:, None])[:, 0]
    np.testing.assert_allclose(seen.log_probs, gold, atol=1e-5)
    for row, alternatives in zip(log_probs, seen.alternatives, strict=True):
        assert alternatives[0][1] == pytest.approx(row.max().exp().item(), abs=1e-6)
        assert [p for _, p in alternatives] == sorted((p for _, p in alternatives), reverse=True)
    assert seen.src_tokens == [*bundle.source.pieces(src), "</s>"]
    assert seen.tgt_inputs == ["<s>", *seen.tgt_tokens[:-1]]


def test_entropy_is_counted_in_bits(seen: Inspection) -> None:
    weights = {"cross": np.array([[[[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], [[0.25] * 4] * 2]])}
    changed = dataclasses.replace(seen, attention=weights)
    np.testing.assert_allclose(changed.entropy["cross"], [[0.5, 2.0]], atol=1e-6)


def test_a_given_translation_is_looked_at_as_it_stands(tiny_run: TinyRun, sentence: str) -> None:
    found = inspect_sentence(open_bundle(tiny_run.best), sentence, target="Nobu  nobu.")
    assert (found.target, found.is_given, found.candidates, found.tree, found.winner) == (
        "Nobu  nobu.",
        True,
        [],
        [],
        [],
    )
    assert [found.target[start:end] for start, end in found.alignment.tgt] == ["Nobu", "nobu", "."]


def test_it_can_be_written_as_json(seen: Inspection) -> None:
    table = json.loads(json.dumps(seen.to_json()))
    assert np.array(table["attention"]["cross"]).shape == seen.attention["cross"].shape
    assert table["alignment"]["links"] == [[i, j, round(weight, 4)] for i, j, weight in seen.alignment.links]
    assert table["place"] == {"layer": 0, "head": seen.place.head, "is_late": seen.place.is_late}
    assert "attention" not in seen.to_json(with_maps=False)


def test_saliency_of_a_long_sentence_is_left_out(
    tiny_run: TinyRun, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MAX_SALIENCY", 5)
    found = inspect_sentence(open_bundle(tiny_run.best), sentence)
    assert found.gradient is found.erasure is None
    assert found.importance["cross"].shape == (1, 2)


def test_what_cannot_be_looked_at_is_refused(tiny_run: TinyRun, sentence: str, tmp_path: Path) -> None:
    bundle = open_bundle(tiny_run.best)
    with pytest.raises(ConfigError, match="there is nothing to look at in ' '; give a sentence"):
        inspect_sentence(bundle, " ")
    with pytest.raises(ConfigError, match="there is nothing to look at in ''; give a sentence"):
        inspect_sentence(bundle, sentence, target="")
    with pytest.raises(ConfigError, match=r"there is nothing to look at in '\\u200b'; give a sentence"):
        inspect_sentence(bundle, sentence, target="\u200b")
    with pytest.raises(DataError, match=r"source 1 has \d+ subwords, the model has positions for 95"):
        inspect_sentence(bundle, "a " * 200)
    with pytest.raises(DataError, match=r"target 1 has \d+ subwords, the model has positions for 95"):
        inspect_sentence(bundle, sentence, target="a " * 200)
    light = exported(tiny_run.best, tmp_path / "light", has_weights=False)
    with pytest.raises(CheckpointError, match=r"holds no model\.safetensors"):
        inspect_sentence(open_bundle(light), sentence)


def test_what_draws_at_random_is_looked_at_by_its_beam(tiny_run: TinyRun, sentence: str) -> None:
    bundle = open_bundle(tiny_run.best)
    rules = SearchConfig(beam_size=3)
    drawn = inspect_sentence(bundle, sentence, search=rules.changed(sampling=True, mbr=5))
    assert drawn.tree == inspect_sentence(bundle, sentence, search=rules).tree


def test_a_bundle_that_knows_no_alignment_head_is_looked_at_in_the_usual_place(
    tiny_run: TinyRun, sentence: str, tmp_path: Path
) -> None:
    old = open_bundle(tampered(tiny_run.best, tmp_path / "old", alignment=None))
    assert old.info.alignment is None
    found = inspect_sentence(old, sentence)
    assert (found.place.layer, found.place.head) == (0, None)
