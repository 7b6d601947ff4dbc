"""A model folder is verified whole before anything in it is used, and nothing in it can run code."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

import yiwen
from tiny_model import MAX_TOKENS, TinyRun, signed, tampered
from yiwen.bundle import BundleInfo, find_bundle, load_model, model_card, open_bundle, require_language, save_bundle
from yiwen.engines.encoders import load_encoder
from yiwen.engines.exported import card_of
from yiwen.errors import CheckpointError, ConfigError, MissingDependencyError
from yiwen.model.transformer import Transformer
from yiwen.tasks.config import Task
from yiwen.tasks.heads import EncoderModel
from yiwen.text.subword import subword_paths


@pytest.fixture
def folder(tiny_run: TinyRun, tmp_path: Path) -> Path:
    """A copy of a bundle that may be damaged."""
    return Path(shutil.copytree(tiny_run.best, tmp_path / "bundle"))


def test_a_bundle_holds_all_that_translation_needs(tiny_run: TinyRun) -> None:
    names = {path.name for path in tiny_run.best.iterdir()}
    assert names == {"README.md", "bundle.json", "manifest.json", "model.safetensors", "shared.spm"}
    bundle = open_bundle(tiny_run.best)
    assert (bundle.info.src_lang, bundle.info.tgt_lang) == ("en", "de")
    assert (bundle.info.format_version, bundle.info.yiwen_version) == (BundleInfo.format_version, yiwen.__version__)
    assert bundle.info.max_src_tokens == MAX_TOKENS
    assert bundle.info.weights == "ema"
    assert bundle.info.scores["bleu"] > 30
    assert bundle.source is bundle.target


def test_a_model_is_loaded_from_an_opened_bundle(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"bundle is a \w+; give what yiwen\.bundle\.open_bundle returns, not"):
        load_model(folder)  # type: ignore[arg-type]


def test_only_a_translator_is_loaded_as_one(tiny_classifier: Path) -> None:
    with pytest.raises(CheckpointError, match="has task='classify' and is no translator; use `yiwen classi"):
        load_model(open_bundle(tiny_classifier / "best"))


@pytest.mark.parametrize(("longest", "limit"), [(1, 1), (24, 23), (96, 95), (500, 95)])
def test_text_is_read_in_pieces_as_long_as_in_training_and_as_there_are_positions_for(
    longest: int, limit: int, tiny_run: TinyRun, tmp_path: Path
) -> None:
    assert open_bundle(tampered(tiny_run.best, tmp_path / "b", max_src_tokens=longest)).limit == limit


def test_a_language_may_be_spelt_in_another_way_and_is_no_other_script(tiny_run: TinyRun, tmp_path: Path) -> None:
    bundle = open_bundle(tampered(tiny_run.best, tmp_path / "b", tgt_lang="sr-Latn"))
    require_language(bundle, "sr_latn")
    with pytest.raises(ConfigError, match="translates into sr-Latn, not into sr-Cyrl; leave the language out"):
        require_language(bundle, "sr-Cyrl")


def test_without_torch_a_model_names_the_pip_line(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"^a model needs torch: pip install 'yiwen\[train\]' .*torch"):
        load_model(open_bundle(tiny_run.best))


def test_what_is_saved_is_what_is_loaded(tiny_run: TinyRun, tmp_path: Path) -> None:
    first = open_bundle(tiny_run.best)
    weights = dict(load_model(first).named_parameters())
    src_model, tgt_model = subword_paths(first.folder)
    save_bundle(tmp_path / "copy", info=first.info, weights=weights, models=(src_model, tgt_model))
    again = open_bundle(tmp_path / "copy")
    assert again.info == first.info
    assert (tmp_path / "copy" / "model.safetensors").stat().st_mode & 0o777 == 0o644, "whoever serves it may read it"
    loaded = dict(load_model(again).named_parameters())
    assert loaded.keys() == weights.keys()
    assert all(torch.equal(loaded[name], weights[name]) for name in weights)
    assert not load_model(again).training


def test_separate_vocabularies_are_kept_apart(tiny_run: TinyRun, tmp_path: Path) -> None:
    first = open_bundle(tiny_run.best)
    other = shutil.copyfile(tiny_run.best / "shared.spm", tmp_path / "other.spm")
    weights = dict(load_model(first).named_parameters())
    save_bundle(tmp_path / "two", info=first.info, weights=weights, models=(tiny_run.best / "shared.spm", other))
    assert subword_paths(tmp_path / "two") == (tmp_path / "two" / "source.spm", tmp_path / "two" / "target.spm")
    bundle = open_bundle(tmp_path / "two")
    assert bundle.source is not bundle.target


def test_loading_a_model_leaves_the_random_numbers_alone(tiny_run: TinyRun) -> None:
    bundle = open_bundle(tiny_run.best)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    load_model(bundle)
    load_encoder(bundle)
    assert torch.equal(torch.rand(3), expected)


def test_the_encoder_of_a_translator_has_the_source_embeddings_where_both_sides_have_their_own(
    tiny_run: TinyRun, tmp_path: Path
) -> None:
    first = open_bundle(tiny_run.best)
    info = dataclasses.replace(first.info, model=dataclasses.replace(first.info.model, tied_embeddings="target"))
    model = Transformer(info.model, src_vocab_size=info.src_vocab_size, tgt_vocab_size=info.tgt_vocab_size)
    models = subword_paths(first.folder)
    save_bundle(tmp_path / "untied", info=info, weights=dict(model.named_parameters()), models=models)
    encoder = load_encoder(open_bundle(tmp_path / "untied"))
    assert torch.equal(encoder.body.src_embedding.weight, model.src_embedding.weight)


def test_an_encoder_is_loaded_with_all_of_its_head_and_with_nothing_else(tiny_classifier: Path, tmp_path: Path) -> None:
    first = open_bundle(tiny_classifier / "best")
    info, n_labels = dataclasses.replace(first.info, pooling="attention"), len(first.info.labels)
    model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=n_labels, pooling="attention")
    weights, models = dict(model.named_parameters()), subword_paths(first.folder)
    save_bundle(tmp_path / "whole", info=info, weights=weights, models=models)
    loaded = dict(load_encoder(open_bundle(tmp_path / "whole")).named_parameters())
    assert loaded.keys() == weights.keys() >= {"pool_query"}
    assert all(torch.equal(loaded[name], weights[name]) for name in weights)
    save_bundle(tmp_path / "more", info=info, weights={**weights, "surplus": torch.zeros(2)}, models=models)
    with pytest.raises(CheckpointError, match="surplus is not part of the model"):
        load_encoder(open_bundle(tmp_path / "more"))


def test_weights_are_loaded_unrounded_whatever_torch_begins_with(tiny_run: TinyRun) -> None:
    usual, bundle, saved = torch.get_default_dtype(), open_bundle(tiny_run.best), tiny_run.best / "model.safetensors"
    torch.set_default_dtype(torch.bfloat16)
    try:
        model, encoder = load_model(bundle), load_encoder(bundle)
    finally:
        torch.set_default_dtype(usual)
    expected = load_file(saved)["tgt_embedding.weight"]  # tied
    assert torch.equal(model.src_embedding.weight, expected)
    assert torch.equal(encoder.body.src_embedding.weight, expected)


def test_the_model_card_says_what_it_is_and_how_to_use_it(tiny_run: TinyRun) -> None:
    text = (tiny_run.best / "README.md").read_text(encoding="utf-8")
    info = open_bundle(tiny_run.best).info
    assert text == model_card(info)
    for fact in ("en -> de", "1 + 1 layers", "d_model 32", f"| bleu | {info.scores['bleu']:.4g} |", "yiwen translate"):
        assert fact in text
    assert "validation" not in model_card(open_bundle(tiny_run.early).info).split("The scores")[0]


def test_the_card_names_languages_as_yaml_reads_them(tiny_run: TinyRun) -> None:
    info = dataclasses.replace(open_bundle(tiny_run.best).info, src_lang="en", tgt_lang="no")
    _, head, _ = model_card(info).split("---\n")
    assert yaml.safe_load(head) == {"language": ["en", "no"], "tags": ["translation", "yiwen"]}


def test_the_card_of_an_encoder_speaks_of_no_other_side(tiny_classifier: Path) -> None:
    info = open_bundle(tiny_classifier / "best").info
    text = model_card(info)
    assert "\n# classify: en\n" in text
    assert yaml.safe_load(text.split("---\n")[1])["language"] == ["en"]
    assert f"{len(info.labels)} labels: {', '.join(info.labels)}" in text
    assert "--src test.en --ref test.labels\n" in text
    assert f"; {info.src_vocab_size} subwords; " in text
    assert "target" not in text


@pytest.mark.parametrize("task", ["translate", "classify", "tag", "embed", "mlm"])
def test_the_commands_of_a_card_are_those_of_its_task(task: Task, tiny_run: TinyRun) -> None:
    info = dataclasses.replace(open_bundle(tiny_run.best).info, task=task, src_lang="en", tgt_lang="de")
    text = model_card(info)
    assert ("> output.de\n" in text) == (task == "translate"), "only a translator writes the other language"
    assert ("> output.txt\n" in text) == (task != "translate")
    assert ("    yiwen evaluate THIS_FOLDER --src test.en --ref test.de\n" in text) == (task != "mlm")


def test_what_is_not_a_bundle_is_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="missing is not a folder; give a bundle, for example runs/NAME/best"):
        open_bundle(tmp_path / "missing")
    with pytest.raises(CheckpointError, match=r"is not a folder"):
        open_bundle(tiny_run.recipe)
    with pytest.raises(CheckpointError, match=r"has no manifest\.json"):
        open_bundle(tmp_path)


def test_a_run_means_its_best_model(tiny_run: TinyRun, tmp_path: Path) -> None:
    bundle = open_bundle(tiny_run.folder)
    assert (bundle.folder, bundle.info) == (tiny_run.best, open_bundle(tiny_run.best).info)
    assert find_bundle(tiny_run.best) == tiny_run.best
    shutil.copyfile(tiny_run.folder / "recipe.toml", tmp_path / "recipe.toml")
    (model := tmp_path / "model").mkdir()
    for name in ("bundle.json", "recipe.toml"):
        (model / name).touch()
    assert find_bundle(model) == model, "a bundle with a recipe beside its weights is no run"
    with pytest.raises(
        CheckpointError, match=r"is a run before its first validation; go on by `yiwen train RECIPE --resume`"
    ):
        open_bundle(tmp_path)


def test_a_model_card_may_be_edited(folder: Path) -> None:
    (folder / "README.md").write_text("# Ours\r\n", encoding="utf-8")
    bundle = open_bundle(folder)
    assert load_model(bundle)
    assert card_of(bundle) == b"# Ours\r\n", "an export takes it along"


@pytest.mark.parametrize("name", ["bundle.json", "model.safetensors", "shared.spm"])
def test_a_damaged_or_missing_file_is_named(name: str, folder: Path) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"is damaged: {re.escape(name)} has changed"):
        load_model(open_bundle(folder))
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=rf"is damaged: {re.escape(name)} is missing"):
        load_model(open_bundle(folder))


def test_a_bundle_without_weights_opens_and_says_what_it_is_for(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "ctranslate2").mkdir()
    with pytest.raises(CheckpointError, match=r"holds no model\.safetensors: .*; use the bundle that it was exp"):
        load_model(open_bundle(folder))


def test_a_newer_format_asks_for_a_newer_program(tiny_run: TinyRun, tmp_path: Path) -> None:
    folder = tampered(
        tiny_run.best, tmp_path / "b", format_version=BundleInfo.format_version + 1, surprise="from the future"
    )
    with pytest.raises(CheckpointError, match=r"has format 2, this yiwen reads 1; .*, or upgrade yiwen where a newer"):
        open_bundle(folder)


def test_what_a_newer_version_says_more_of_a_model_names_that_version(tiny_run: TinyRun, tmp_path: Path) -> None:
    folder = tampered(tiny_run.best, tmp_path / "b", yiwen_version="9.7", surprise="from the future")
    with pytest.raises(
        CheckpointError, match=r"surprise is not a setting; .*where a newer one wrote it \(that was 9\.7\)"
    ):
        open_bundle(folder)


def test_a_bundle_without_a_version_or_without_facts_is_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="has format None"):
        open_bundle(tampered(tiny_run.best, tmp_path / "b", format_version=None))
    (tmp_path / "b" / "bundle.json").write_text("{", encoding="utf-8")
    with pytest.raises(
        CheckpointError, match=r"bundle\.json cannot be read \(Expecting .*\); give the folder of another"
    ):
        open_bundle(signed(tmp_path / "b"))


def test_unknown_and_missing_facts_are_all_named(tiny_run: TinyRun, tmp_path: Path) -> None:
    folder = tampered(tiny_run.best, tmp_path / "b", src_lang=None, tgt_langs="de")
    with pytest.raises(CheckpointError) as caught:
        open_bundle(folder)
    assert "src_lang is missing" in str(caught.value)
    assert "tgt_langs is not a setting; did you mean 'tgt_lang'?" in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[]", "null", "\xff", "[" * 100_000])
def test_a_bundle_json_that_is_none_is_refused(content: str, folder: Path) -> None:
    (folder / "bundle.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(CheckpointError, match=r"bundle\.json cannot be read|has format None"):
        open_bundle(signed(folder))


def test_subwords_of_another_model_are_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    folder = tampered(tiny_run.best, tmp_path / "b", tgt_vocab_size=999)
    message = "the tgt subword model has 340 entries, bundle.json says 999; the files belong to different models"
    with pytest.raises(CheckpointError, match=message):
        open_bundle(folder)


def test_a_bundle_without_subwords_is_refused(folder: Path) -> None:
    (folder / "shared.spm").rename(folder / "source.spm")
    with pytest.raises(
        CheckpointError, match=r"holds neither shared\.spm nor target\.spm; it is not a complete bundle"
    ):
        open_bundle(signed(folder))


def test_subwords_that_are_no_sentencepiece_model_are_refused(folder: Path) -> None:
    (folder / "shared.spm").write_bytes(b"no model")
    with pytest.raises(CheckpointError, match="is no SentencePiece model"):
        open_bundle(signed(folder))


def drop_a_weight(path: Path) -> None:
    weights = load_file(path)
    del weights["encoder.layers.0.feed_forward.inner.bias"]
    weights["surplus"] = torch.zeros(2)
    weights["tgt_embedding.weight"] = weights["tgt_embedding.weight"].T.contiguous()
    save_file(weights, path)


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (lambda path: path.write_bytes(b"\x80\x04pickle"), ["cannot be read", "restore it from a copy"]),
        (
            drop_a_weight,
            [
                "encoder.layers.0.feed_forward.inner.bias is missing; surplus is not part of the model; "
                "tgt_embedding.weight has shape (32, 340), the model (340, 32)"
            ],
        ),
    ],
)
def test_weights_that_do_not_fit_are_all_named(
    change: Callable[[Path], None], messages: list[str], folder: Path
) -> None:
    change(folder / "model.safetensors")
    bundle = open_bundle(signed(folder))
    with pytest.raises(CheckpointError) as caught:
        load_model(bundle)
    for message in messages:
        assert message in str(caught.value)


def test_a_failed_save_leaves_the_old_bundle_as_it_was(folder: Path, tmp_path: Path) -> None:
    bundle, missing = open_bundle(folder), tmp_path / "missing.spm"
    with pytest.raises(FileNotFoundError):
        save_bundle(folder, info=bundle.info, weights={}, models=(missing, missing))
    assert open_bundle(folder).info == bundle.info
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_bundle_is_plain_json_and_tensors(tiny_run: TinyRun) -> None:
    table = json.loads((tiny_run.best / "bundle.json").read_text(encoding="utf-8"))
    assert table["model"]["d_model"] == 32
    weights = load_file(tiny_run.best / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert "src_embedding.weight" not in weights, "tied weights are stored once"


def test_a_folder_may_be_a_text(tiny_run: TinyRun) -> None:
    assert open_bundle(str(tiny_run.folder)).folder == find_bundle(str(tiny_run.best)) == tiny_run.best
