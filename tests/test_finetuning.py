"""Fine-tuning: weights and vocabulary of another model, its text mixed in, and its test scored beside the new one."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tiny_model import TinyRun
from yiwen.bundle import load_model, load_tensors, open_bundle, save_bundle
from yiwen.data.store import Store
from yiwen.errors import CheckpointError, ConfigError, Stopped, YiwenError
from yiwen.measure import measure
from yiwen.preparing import initial_model, prepare_recipe
from yiwen.recipe import load_recipe, runs_root
from yiwen.runs import train_recipe
from yiwen.stop import StopFlag
from yiwen.text.subword import Subword

CORPORA = """corpora = [
      { src = "train.en", tgt = "train.de", weight = 0.3 }, { src = "new.en", tgt = "new.de", weight = 0.7 }]
more_tests = [{ src = "test.en", tgt = "test.de" }]"""


@pytest.fixture
def recipe(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe that goes on from the tiny model with other text: the same words the other way round."""
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    for name in ("train", "test"):
        for language in ("en", "de"):
            shutil.copy(tiny_run.recipe.with_name(f"{name}.{language}"), tmp_path)
    sources, targets = ((tmp_path / f"train.{lang}").read_text("utf-8").split("\n")[:200] for lang in ("en", "de"))
    backwards = [" ".join(reversed(line.rstrip(".").lower().split())) + "." for line in targets]
    for name, rows in (("new", slice(0, 150)), ("newtest", slice(150, 181)), ("newvalid", slice(181, 198))):
        for language, lines in (("en", sources), ("de", backwards)):
            text = "".join(f"so {line.lower()}\n" for line in lines[rows])
            (tmp_path / f"{name}.{language}").write_text(text, encoding="utf-8")
    text = tiny_run.recipe.read_text(encoding="utf-8")
    text = text.replace('"valid.', '"newvalid.').replace('"test.', '"newtest.')
    text = text.replace('corpora = [{ src = "train.en", tgt = "train.de" }]', CORPORA)
    text = text.replace("[training]\n", f'[training]\ninit_from = "{tiny_run.folder}"\n')
    path = tmp_path / "fine.toml"
    path.write_text(text, encoding="utf-8")
    return path


SHORT = [
    "training.max_steps=20",
    "training.validate_every=10",
    "training.checkpoint_every=10",
    "training.warmup_steps=1",
]


def test_training_goes_on_from_the_weights_and_with_the_vocabulary_of_the_model(
    recipe: Path, tiny_run: TinyRun
) -> None:
    run, progress = train_recipe(load_recipe(str(recipe), [*SHORT, "training.log_every=5"]))
    assert (run / "final" / "shared.spm").read_bytes() == (tiny_run.best / "shared.spm").read_bytes()
    store = Store.open(runs_root() / ".prepared" / progress.data)
    assert store.corpus_weights == pytest.approx((0.3, 0.7))
    before, after = (load_tensors(folder.resolve() / "model.safetensors") for folder in (tiny_run.best, run / "final"))
    distance = sum(float((before[name] - after[name]).square().sum()) for name in before) ** 0.5
    length = sum(float(weight.square().sum()) for weight in before.values()) ** 0.5
    assert 0 < distance < 0.3 * length  # two random models are further apart than they are long
    first = json.loads((run / "metrics.jsonl").read_text("utf-8").split("\n")[0])
    assert first["loss"] < 4  # log 340 = 5.8 for a model that knows nothing


def test_the_first_weights_are_those_of_the_model_to_the_digit(
    recipe: Path, tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = StopFlag()
    monkeypatch.setattr("yiwen.training.loop.Trainer._try_largest_batch", lambda self: setattr(stop, "signum", 15))
    with pytest.raises(Stopped, match="SIGTERM"):
        train_recipe(load_recipe(str(recipe), SHORT), stop=stop)
    first = load_tensors(runs_root() / "fine" / "checkpoints" / "step-00000000" / "model.safetensors")
    for name, weight in load_model(open_bundle(tiny_run.best)).named_parameters():
        assert torch.equal(weight, first[name])


def test_a_resumed_run_does_not_start_from_the_model_again(recipe: Path) -> None:
    whole, _ = train_recipe(load_recipe(str(recipe), SHORT), run=recipe.parent / "whole")
    half = [*SHORT, "training.max_steps=10"]
    run, _ = train_recipe(load_recipe(str(recipe), half), run=recipe.parent / "run")
    train_recipe(load_recipe(str(recipe), SHORT), run=run, resume=True)
    assert (run / "final" / "model.safetensors").read_bytes() == (whole / "final" / "model.safetensors").read_bytes()


def test_the_general_test_is_scored_beside_the_new_one(recipe: Path, tiny_run: TinyRun) -> None:
    run, _ = train_recipe(
        load_recipe(str(recipe), [*SHORT, "evaluation.metrics=['bleu']", "evaluation.n_bootstrap=40"])
    )
    measured = measure(run, compare_with=tiny_run.best, threads=1)
    assert (measured.test_set, measured.evaluation.n_lines) == ("test", 31)
    (general,) = measured.more
    assert general.test_set.startswith("test-")
    assert general.test_set.endswith("-test")
    assert general.evaluation.n_lines == 40
    assert measured.comparison is not None
    assert general.comparison is not None
    learnt, kept = (each.comparison.differences[0] for each in (measured, general) if each.comparison)
    assert learnt.system > learnt.baseline
    assert kept.baseline > 50
    names = {re.sub(r"[\da-f]{8}", "HASH", path.name) for path in (run / "evaluations").iterdir()}
    assert names == {f"best-{name}-compared-HASH.json" for name in ("test", general.test_set)}
    assert measured.written is not None
    written = json.loads(measured.written.read_text(encoding="utf-8"))
    assert [each["test_set"] for each in written["more_tests"]] == [general.test_set]


def test_none_of_the_general_test_is_trained_on(recipe: Path) -> None:
    with (recipe.parent / "new.en").open("a", encoding="utf-8") as src, (recipe.parent / "new.de").open("a") as tgt:
        src.write((recipe.parent / "test.en").read_text(encoding="utf-8"))
        tgt.write((recipe.parent / "test.de").read_text(encoding="utf-8"))
    prepared = prepare_recipe(load_recipe(str(recipe)), stop=StopFlag())
    assert {drop.reason: drop.count for drop in prepared.report.dropped}["held-out overlap"] >= 40


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_recipe_of_the_manual_is_measured_on_the_new_text(language: str, tmp_path: Path) -> None:
    page = Path(__file__).parents[1].joinpath(f"docs/{language}/quality.md").read_text(encoding="utf-8")
    (text,) = (found for found in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "my-domain" in found)
    (path := tmp_path / "fine.toml").write_text(re.sub("init_from.*", "", text), encoding="utf-8")
    for name, n in (("my-domain", 300), ("general", 900), ("general-test", 10)):
        for side in ("en", "de"):
            lines = (f"{side} {name} {chr(97 + i % 26)}{chr(97 + i // 26)} {i}\n" for i in range(n))
            (tmp_path / f"{name}.{side}").write_text("".join(lines), encoding="utf-8")
    loaded = load_recipe(str(path), ["tokenizer.vocab_size=320"])
    store = Store.open(prepare_recipe(loaded, stop=StopFlag(), root=tmp_path / "runs").folder)
    assert len(store.valid.src) == 27
    assert all("my-domain" in source for source in (*store.valid.src, *store.test.src))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.d_ff=65", "model.d_ff: 64 there, 65 here"),
        ("model.norm_order='post'", "model.norm_order: 'pre' there, 'post' here"),
        ("model.n_kv_heads=1", "model.n_kv_heads: 2 there, 1 here"),
        ("model.n_decoder_layers=2", "model.n_decoder_layers: 1 there, 2 here"),
        ("data.tgt_lang=nl", "data.tgt_lang: 'de' there, 'nl' here"),
        ("tokenizer.symbols=['<bt>']", "tokenizer.symbols: '<bt>' is not in its vocabulary"),
        ("tokenizer.placeholders=3", "tokenizer.placeholders: 0 there, 3 here"),
        ("tokenizer.model=x.spm", "tokenizer.model: its own vocabulary is used, not 'x.spm'"),
    ],
)
def test_what_does_not_fit_is_named(recipe: Path, tiny_run: TinyRun, setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        train_recipe(load_recipe(str(recipe), [setting]))
    assert f"training.init_from: {tiny_run.best} is not of this recipe's kind:\n  {message}" in str(caught.value)
    assert "change the recipe so that they agree" in str(caught.value)
    assert not (runs_root() / "fine").exists()


def test_a_translator_does_not_start_from_an_encoder_of_its_shape(
    recipe: Path, tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = open_bundle(tiny_run.best)
    encoder = replace(translator, info=replace(translator.info, task="embed"))
    monkeypatch.setattr("yiwen.preparing.open_bundle", lambda folder: encoder)
    with pytest.raises(ConfigError, match="task: 'embed' there, 'translate' here"):
        initial_model(load_recipe(str(recipe)))


def test_symbols_that_its_vocabulary_has_already_are_no_difference(recipe: Path, tiny_run: TinyRun) -> None:
    known = next(piece for piece in open_bundle(tiny_run.best).source.pieces(range(264, 340)) if piece.isalpha())
    loaded = load_recipe(str(recipe), [f"tokenizer.symbols=['{known}']"])
    assert initial_model(loaded) is not None


def test_placeholders_that_it_has_are_those_of_a_recipe_that_names_none(
    recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Subword, "n_placeholders", 3)
    assert initial_model(load_recipe(str(recipe))) is not None


def test_a_vocabulary_for_each_language_is_not_had_from_a_model_that_has_one_for_both(recipe: Path) -> None:
    settings = ["tokenizer.shared=false", "model.tied_embeddings='target'"]
    with pytest.raises(ConfigError, match=r"tokenizer\.shared: True there, False here"):
        train_recipe(load_recipe(str(recipe), settings))


def takes_over(recipe: Path, model: Path, *settings: str) -> bool:
    """Whether a recipe is prepared with the vocabulary of the model that it starts from."""
    prepared = prepare_recipe(load_recipe(str(recipe), settings), stop=StopFlag())
    return (prepared.folder / "shared.spm").read_bytes() == (model / "shared.spm").read_bytes()


def test_words_are_cut_anew_in_fine_tuning_where_the_recipe_says_so(recipe: Path) -> None:
    loaded = load_recipe(str(recipe), ["tokenizer.sampling=0.1"])
    assert Store.open(prepare_recipe(loaded, stop=StopFlag()).folder).tokenizer.sampling == 0.1


def test_a_language_by_another_name_is_the_same(recipe: Path) -> None:
    assert initial_model(load_recipe(str(recipe), ["data.src_lang=eng", "data.tgt_lang=DE"])) is not None


def test_dropout_may_differ_and_no_number_of_heads_means_all(recipe: Path, tiny_run: TinyRun) -> None:
    assert takes_over(recipe, tiny_run.best, "model.dropout=0.3", "model.layer_dropout=0.1", "model.n_kv_heads=2")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.init_from=nothing", "training.init_from: nothing is not a folder; give a bundle"),
        ("tokenizer.model=nothing", r"tokenizer.model: \S+nothing does not exist \(nor with"),
        ("tokenizer.model=.", r"tokenizer.model: \S+ holds neither shared.spm nor source.spm"),
    ],
)
def test_a_model_that_is_not_there_is_named_with_its_setting(recipe: Path, setting: str, message: str) -> None:
    with pytest.raises(YiwenError, match=rf"^{message}"):
        train_recipe(load_recipe(str(recipe), ["training.init_from=''", setting]))


def test_a_model_without_weights_is_refused_before_anything_is_prepared(recipe: Path, exported_bundle: Path) -> None:
    shutil.copytree(exported_bundle, recipe.parent / "small", ignore=lambda *_: ["model.safetensors"])
    with pytest.raises(
        CheckpointError, match=r"small holds no model\.safetensors: it was exported for machines without"
    ):
        train_recipe(load_recipe(str(recipe), ["training.init_from=small"]))
    assert not runs_root().exists()


def test_a_model_is_found_from_the_folder_of_the_recipe_first(
    recipe: Path, tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_run.best, recipe.parent / "general")
    (elsewhere := recipe.parent / "elsewhere" / "general").mkdir(parents=True)  # no model
    monkeypatch.chdir(elsewhere.parent)
    assert takes_over(recipe, tiny_run.best, "training.init_from=general")
    monkeypatch.chdir(tiny_run.folder)
    assert takes_over(recipe, tiny_run.best, "training.init_from=best")


def test_two_vocabularies_are_taken_over_as_two(recipe: Path, tiny_run: TinyRun) -> None:
    bundle = open_bundle(tiny_run.best)
    spm = tiny_run.best / "shared.spm"
    other = recipe.parent / "other.spm"
    other.write_bytes(spm.read_bytes())
    weights = dict(load_model(bundle).named_parameters())
    save_bundle(recipe.parent / "two", info=bundle.info, weights=weights, models=(spm, other))
    prepared = prepare_recipe(load_recipe(str(recipe), ["training.init_from=two"]), stop=StopFlag())
    assert {path.name for path in prepared.folder.glob("*.spm")} == {"source.spm", "target.spm"}
    one = prepare_recipe(load_recipe(str(recipe)), stop=StopFlag())
    rows = np.arange(0, 97, 13)
    ids = [Store.open(each.folder).src_ids(rows) for each in (prepared, one)]
    assert [row.tolist() for row in ids[0]] == [row.tolist() for row in ids[1]]


def test_the_recipe_of_the_manual_is_one(tmp_path: Path) -> None:
    pages = [Path(__file__).parents[1] / "docs" / language / "quality.md" for language in ("en", "zh")]
    english, chinese = (page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0] for page in pages)
    assert english == chinese
    (tmp_path / "fine.toml").write_text(english, encoding="utf-8")
    recipe = load_recipe(str(tmp_path / "fine.toml")).recipe
    assert [corpus.weight for corpus in recipe.data.corpora] == [0.7, 0.3]
    assert recipe.training.init_from == "runs/multi30k-en-de"
