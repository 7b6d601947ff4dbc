"""An encoder starts from another model's weights and vocabulary: an mlm's, a translator's left half, an embedder's."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tiny_model import MAX_TOKENS, TinyRun
from toy_labels import write_labelled
from yiwen.bundle import load_tensors, open_bundle, save_bundle
from yiwen.data.batching import Batch
from yiwen.data.store import Store
from yiwen.engines.encoders import load_encoder
from yiwen.errors import ConfigError, DataError
from yiwen.preparing import prepare_recipe
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.tasks.heads import EncoderModel
from yiwen.text.subword import TokenizerConfig, train_subword
from yiwen.training.learning import hiding
from yiwen.training.step import Gradients, compute_gradients

SHORT = ["training.max_steps=5", "training.validate_every=5", "training.checkpoint_every=5", "training.warmup_steps=1"]
TRANSLATOR = ["model.n_encoder_layers=1", "model.max_len=96", f"data.max_tokens={MAX_TOKENS}"]


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))


def start(recipe: Path, model: Path, *settings: str, run: str = "run", console: Console | None = None) -> Path:
    loaded = load_recipe(str(recipe), [*SHORT, f"training.init_from={model}", *settings])
    return train_recipe(loaded, run=recipe.parent / run, console=console)[0]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_tensors(folder / "model.safetensors")


def test_a_classifier_starts_from_an_mlm_that_read_the_same_text(tmp_path: Path) -> None:
    train_recipe(
        load_recipe(str(write_labelled(tmp_path, "mlm")), SHORT),
        run=tmp_path / "mlm",
    )
    run = start(write_labelled(tmp_path, "classify"), tmp_path / "mlm", "encoder.rate=1e-9")
    before, after = weights(tmp_path / "mlm" / "best"), weights(run / "final")
    assert set(after) - set(before) == {"head.weight", "head.bias"}
    for name, weight in before.items():
        assert torch.allclose(weight, after[name], atol=1e-6), name
    spm = [(folder / "shared.spm").read_bytes() for folder in (tmp_path / "mlm" / "best", run / "best")]
    assert spm[0] == spm[1]


@pytest.mark.parametrize(("task", "is_cut"), [("classify", True), ("mlm", False), ("tag", False)])
def test_batches_of_labelled_texts_alone_are_cut_where_their_words_are_cut_anew(
    task: str, is_cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    cut = Batch.cut
    monkeypatch.setattr(Batch, "cut", lambda self, size: sizes.append(size) or cut(self, size))
    sampled = [] if task == "tag" else ["tokenizer.sampling=0.1"]
    train_recipe(load_recipe(str(write_labelled(tmp_path, task)), [*SHORT, *sampled]), run=tmp_path / "run")
    assert {*sizes} == ({211} if is_cut else set())


def test_a_frozen_encoder_is_that_of_the_translator_to_the_last_bit(tiny_run: TinyRun, tmp_path: Path) -> None:
    recipe = write_labelled(tmp_path, "classify")
    run = start(recipe, tiny_run.best, *TRANSLATOR, "encoder.is_frozen=true", "training.learning_rate=0.5")
    wanted = dict(load_encoder(open_bundle(tiny_run.best)).body.named_parameters())
    found = weights(run / "best")
    for name, weight in wanted.items():
        assert torch.equal(found[f"body.{name}"], weight), name
    assert len(found) == len(wanted) + 2
    checkpoint = next((run / "checkpoints").glob("step-00000005"))
    state = load_tensors(checkpoint / "optimizer.safetensors")
    assert {name.rpartition("/")[0] for name in state} == {"head.weight", "head.bias"}


def test_an_encoder_reads_with_the_vocabulary_of_the_translators_source(tiny_run: TinyRun, tmp_path: Path) -> None:
    source, target = tiny_run.best / "shared.spm", tmp_path / "target.spm"
    lines = tiny_run.recipe.with_name("train.de").read_text(encoding="utf-8").split("\n")
    content, german = train_subword(lambda: lines, TokenizerConfig(vocab_size=330))
    target.write_bytes(content)
    info = replace(open_bundle(tiny_run.best).info, tgt_vocab_size=german.vocab_size)
    save_bundle(tmp_path / "two", info=info, weights=weights(tiny_run.best), models=(source, target))
    recipe = load_recipe(write_labelled(tmp_path, "classify"), [*TRANSLATOR, f"training.init_from={tmp_path / 'two'}"])
    store = Store.open(prepare_recipe(recipe, stop=None).folder)
    assert store.source_model.read_bytes() == source.read_bytes()


def test_a_model_of_another_shape_or_language_is_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    recipe = write_labelled(tmp_path, "classify")
    with pytest.raises(ConfigError) as caught:
        start(recipe, tiny_run.best, "data.src_lang=de")
    message = str(caught.value)
    assert "best is not of this recipe's kind:" in message
    assert "data.src_lang: 'en' there, 'de' here" in message
    assert "model.n_encoder_layers: 1 there, 2 here" in message
    assert "n_decoder_layers" not in message
    assert "task" not in message


def test_an_embedder_has_read_both_languages(tiny_embedder: Path, tmp_path: Path) -> None:
    run = start(write_labelled(tmp_path, "classify"), tiny_embedder, "data.src_lang=de")
    assert open_bundle(run / "best").info.src_lang == "de"


def test_who_trains_is_told_that_the_vocabulary_does_not_fit(tiny_run: TinyRun, tmp_path: Path) -> None:
    recipe = write_labelled(tmp_path, "classify")
    text = (tmp_path / "classify.tsv").read_text(encoding="utf-8")
    console = Console(record=True, width=300, quiet=False, file=io.StringIO())
    start(recipe, tiny_run.best, *TRANSLATOR, console=console)
    assert "does not fit" not in console.export_text()
    (tmp_path / "classify.tsv").write_text(text.replace("ba", "北").replace("ka", "京"), encoding="utf-8")
    start(recipe, tiny_run.best, *TRANSLATOR, run="other", console=console)
    assert "note: the vocabulary does not fit the text: " in console.export_text()


def test_training_goes_on_with_dropout_behind_a_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[bool] = []

    def compute(model: EncoderModel, *given: Any, **how: Any) -> Gradients:
        modes.append(model.training)
        return compute_gradients(model, *given, **how)

    monkeypatch.setattr("yiwen.training.loop.compute_gradients", compute)
    settings = [*SHORT, "training.validate_every=1", "training.ema_decay=0"]  # the model itself is validated
    train_recipe(load_recipe(write_labelled(tmp_path, "classify"), settings), run=tmp_path / "run")
    assert modes == [True] * 5


def test_tags_without_spans_are_not_judged_by_spans(tmp_path: Path) -> None:
    recipe = write_labelled(tmp_path, "tag")
    path = tmp_path / "tag.conll"
    path.write_text(re.sub("[BI]-(ODD|EVEN)", r"\1", path.read_text("utf-8")), encoding="utf-8")
    with pytest.raises(DataError, match=r"'span_f1', but no tag of the validation text marks a span .*'accuracy'"):
        train_recipe(load_recipe(str(recipe), [*SHORT, "training.metric=span_f1"]), run=tmp_path / "run")


def test_pairs_that_are_alone_in_their_batches_teach_nothing(tmp_path: Path) -> None:
    recipe = write_labelled(tmp_path, "embed")
    with pytest.raises(DataError, match=r"no two pairs share a batch of 5; raise training\.batch_tokens or add"):
        train_recipe(load_recipe(str(recipe), [*SHORT, "training.batch_tokens=5"]), run=tmp_path / "run")


def test_other_subwords_are_hidden_whenever_a_text_comes_by(tmp_path: Path) -> None:
    loaded = load_recipe(str(write_labelled(tmp_path, "mlm")), SHORT)
    store = Store.open(prepare_recipe(loaded, stop=None).folder)
    learning = hiding(store, loaded.recipe.training, loaded.recipe.encoder, max_len=96, max_tokens=MAX_TOKENS)
    first, again, other = (learning.load(np.arange(11), seed).src_ids for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert first.shape == other.shape
    assert not torch.equal(first, other)
