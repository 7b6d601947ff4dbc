"""What CTranslate2 does in silence, and how we keep it from reaching a user: one test a trap."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from random_models import exported, fake_subword, random_model, sources_for, vocabularies
from tiny_model import signed
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import CheckpointError, DataError
from yiwen.export.ct2_spec import build_spec, write_encoder, write_model
from yiwen.files import MANIFEST
from yiwen.model.config import ModelConfig
from yiwen.search.config import SearchConfig
from yiwen.tasks.heads import EncoderModel

SHAPE = ModelConfig(
    d_model=22, n_heads=2, d_ff=13, n_encoder_layers=2, n_decoder_layers=1, norm_order="pre", max_len=41
)
BEAM = SearchConfig(beam_size=3, n_best=3)


def test_export_leaves_the_trained_weights_untouched(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    source, target = vocabularies(model)
    write_model(tmp_path, model, source=source, target=target, dtype="int8", alignment=None)
    assert all(np.array_equal(before[name], value.detach()) for name, value in model.named_parameters())


ALIKE = """
import sys, ctranslate2, numpy as np
ids = ctranslate2.StorageView.from_array(np.random.default_rng(1).integers(4, 29, (31, 7), dtype=np.int32))
lengths = ctranslate2.StorageView.from_array(np.full(31, 7, dtype=np.int32))
states = [
    np.array(ctranslate2.Encoder(f"{sys.argv[1]}/{dtype}").forward_batch(ids, lengths).last_hidden_state)
    for dtype in ("float32", "int8")
]
a, b = (each / np.linalg.norm(each, axis=-1, keepdims=True) for each in states)
print((a * b).sum(axis=-1).min())
"""


def test_no_sum_of_rounded_products_is_cut_off_on_a_processor_without_vnni(tmp_path: Path) -> None:
    # There two products are added in 16 bits, where 2 x 255 x 127 has no room.
    torch.manual_seed(1)
    body = EncoderModel(SHAPE, vocab_size=29, n_labels=0).body.eval()
    for dtype in ("float32", "int8"):
        (tmp_path / dtype).mkdir()
        write_encoder(tmp_path / dtype, body, subword=fake_subword(29), dtype=dtype)
    old = {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"}
    done = subprocess.run([sys.executable, "-c", ALIKE, tmp_path], env=os.environ | old, capture_output=True, text=True)
    assert float(done.stdout) > 0.999, done.stderr


def test_no_attention_is_asked_for_and_no_coverage_penalty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a batch with a beam, the first row of an attention comes from another sentence, and coverage with it.
    model = random_model(SHAPE)
    engine = exported(tmp_path / "model", model)
    asked: list[dict[str, Any]] = []
    runtime = engine._runtime._translator

    class Recorder:
        num_translators = 1
        score_batch = staticmethod(runtime.score_batch)

        @staticmethod
        def translate_batch(*arguments: Any, **options: Any) -> Any:
            asked.append(options)
            return runtime.translate_batch(*arguments, **options)

    monkeypatch.setattr(engine._runtime, "_translator", Recorder)
    sources = sources_for(model)
    engine.search(sources, config=BEAM, prefixes=[[5, 6], [], [], []])
    engine.search(sources, config=SearchConfig(beam_size=1, min_len=4))
    assert len(asked) > 4
    for options in asked:
        assert not options.keys() & {"return_attention", "coverage_penalty", "replace_unknowns", "return_alternatives"}


def test_scores_do_not_depend_on_neighbours(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    engine = exported(tmp_path / "model", model)
    sources = sources_for(model, lengths=[3, 11, 7, 1, 17, 5, 2, 13])
    together = engine.search(sources, config=BEAM)
    for source, group in zip(sources, together, strict=True):
        (alone,) = engine.search([source], config=BEAM)
        assert [h.ids for h in alone] == [h.ids for h in group]
        assert [h.score for h in alone] == pytest.approx([h.score for h in group], abs=1e-5)


def test_log_probs_are_those_of_forced_scoring_also_where_an_early_end_is_forbidden(tmp_path: Path) -> None:
    # The end token is likely: forbidding it before the softmax would raise the first step's other probabilities.
    model = random_model(SHAPE, eos=4.0)
    engine = exported(tmp_path / "model", model)
    sources = sources_for(model)
    for config in (BEAM, SearchConfig(beam_size=1), SearchConfig(beam_size=3, n_best=3, min_len=3)):
        for source, group in zip(sources, engine.search(sources, config=config), strict=True):
            for hypothesis in group:
                (row,) = engine.score([source], [hypothesis.ids])
                expected = sum(row if hypothesis.is_finished else row[:-1])
                assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)
                assert len(hypothesis.ids) >= config.min_len


def test_long_source_is_refused_by_us_not_cut(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    engine = exported(tmp_path / "model", model)
    longest, too_long = sources_for(model, lengths=[40, 41])
    (found,) = engine.search([longest], config=BEAM)
    (expected,) = TorchEngine(model).search([longest], config=BEAM)
    assert [h.ids for h in found] == [h.ids for h in expected]
    with pytest.raises(DataError, match="source 2 has 41 subwords, the model has positions for 40; shorten it"):
        engine.search([[5], too_long], config=BEAM)
    with pytest.raises(DataError, match="prefix 1 has 41 subwords"):
        engine.search([[5]], config=BEAM, prefixes=[too_long])
    with pytest.raises(DataError, match="target 1 has 41 subwords"):
        engine.score([[5]], [too_long])


def test_translations_reach_the_last_position(tmp_path: Path) -> None:
    model = random_model(SHAPE, eos=-30.0)  # never ends
    (group,) = exported(tmp_path / "model", model).search([[7] * 30], config=BEAM)
    assert [len(h.ids) for h in group] == [40, 40, 40]
    assert not any(h.is_finished for h in group)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_position_table_is_always_written_and_longer_than_any_limit(positions: Any) -> None:
    model = random_model(ModelConfig(d_model=22, n_heads=2, d_ff=13, positions=positions, max_len=41))
    spec = build_spec(model)
    for side in (spec.encoder, spec.decoder):
        assert side.position_encodings.encodings.shape == (49, 22)
    if positions == "sinusoidal":
        assert spec.encoder.position_encodings.encodings[0].tolist() == [0.0, 1.0] * 11  # from position 0


@pytest.mark.parametrize("damage", ["shorter", "longer", "swapped", "missing", "no_json"])
def test_vocabulary_that_does_not_match_is_refused(tmp_path: Path, damage: str) -> None:
    model = random_model(SHAPE)
    exported(tmp_path / "model", model)
    source, target = vocabularies(model)
    path = tmp_path / "model" / "shared_vocabulary.json"
    tokens = json.loads(path.read_text(encoding="utf-8"))
    match damage:
        case "shorter":
            tokens.pop()
        case "longer":
            tokens.append("one more")
        case "swapped":
            tokens[7], tokens[8] = tokens[8], tokens[7]
    path.write_text("{" if damage == "no_json" else json.dumps(tokens), encoding="utf-8")
    if damage == "missing":
        path.unlink()
    message = "cannot be read" if damage in ("missing", "no_json") else "does not hold the 29 subwords of the source"
    with pytest.raises(CheckpointError, match=message):
        CT2Engine(tmp_path / "model", source=source, target=target, threads=0, is_new=True)


def test_another_models_subwords_are_refused(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    exported(tmp_path / "model", model)
    source, _ = vocabularies(model)
    with pytest.raises(CheckpointError, match="does not hold the 31 subwords of the target"):
        CT2Engine(tmp_path / "model", source=source, target=fake_subword(31), threads=0, is_new=True)


def test_mutants_of_the_model_file_are_refused_by_the_manifest(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    exported(tmp_path / "model", model)
    (tmp_path / "model" / MANIFEST).touch()
    folder = signed(tmp_path / "model")
    source, target = vocabularies(model)
    CT2Engine(folder, source=source, target=target, threads=1)
    path, rng = folder / "model.bin", random.Random(1)
    whole = path.read_bytes()
    for _ in range(50):
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=r"is damaged: model\.bin has changed"):
            CT2Engine(folder, source=source, target=target, threads=1)


def test_memory_is_flat_over_many_batches(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    engine = exported(tmp_path / "model", model)
    rng = random.Random(1)

    def translate(n: int) -> int:
        for _ in range(n):
            engine.search(sources_for(model, [rng.randint(1, 30) for _ in range(7)], seed=rng.random()), config=BEAM)
        return int(psutil.Process().memory_info().rss)

    before = translate(20)
    assert translate(60) - before < 20e6  # bytes


def test_pad_and_bos_are_never_produced(tmp_path: Path) -> None:
    model = random_model(SHAPE)
    model.output_weight.data[[0, 2]] = model.output_weight.data[[3, 7]] * 1.5  # likelier than anything else
    engine = exported(tmp_path / "model", model)
    sources = sources_for(model)
    for config in (BEAM, SearchConfig(beam_size=1)):
        for group in engine.search(sources, config=config):
            assert all(not {0, 2} & set(h.ids) for h in group)
    ours = TorchEngine(model).search(sources, config=SearchConfig(beam_size=1))
    theirs = engine.search(sources, config=SearchConfig(beam_size=1))
    assert [group[0].ids for group in ours] == [group[0].ids for group in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert a[0].log_prob == pytest.approx(b[0].log_prob, abs=1e-4)


def test_unknown_tokens_cannot_reach_the_runtime(tmp_path: Path) -> None:
    # It would read any string it does not know as <unk>. Ids become strings in one place, by position.
    model = random_model(SHAPE)
    engine = exported(tmp_path / "model", model)
    with pytest.raises(IndexError):
        engine.search([[29]], config=BEAM)
