"""Several bundles translate together: probabilities are averaged, vocabularies compared, the choice is told."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from random_models import random_model, sources_for
from tiny_model import TinyRun, signed, tampered
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import CheckpointError, ConfigError
from yiwen.model.config import ModelConfig
from yiwen.search.config import SearchConfig
from yiwen.text.subword import TokenizerConfig, train_subword
from yiwen.translator import Translator

SHAPES = [
    ModelConfig(d_model=24, n_heads=3, d_ff=13, n_encoder_layers=1, n_decoder_layers=2, max_len=37),
    ModelConfig(d_model=14, n_heads=2, d_ff=19, n_encoder_layers=2, n_decoder_layers=1, max_len=29, norm_order="pre"),
]


def model(number: int) -> torch.nn.Module:
    return random_model(SHAPES[number % 2], seed=number)


def test_scores_are_those_of_the_mean_probability() -> None:
    together = TorchEngine(model(0), others=[model(1), model(2)])  # type: ignore[arg-type, list-item]
    sources = sources_for(together.model)
    targets = [[7, 8, 9], [], [10, 11], [12]]
    alone = [TorchEngine(model(number)).score(sources, targets) for number in (0, 1, 2)]  # type: ignore[arg-type]
    for row, *rows in zip(together.score(sources, targets), *alone, strict=True):
        assert row == pytest.approx(mean_of(*rows), abs=1e-4)


def mean_of(*rows: list[float]) -> list[float]:
    return [math.log(sum(map(math.exp, each)) / len(rows)) for each in zip(*rows, strict=True)]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_is_found_has_the_probability_that_score_says(beam_size: int) -> None:
    both = TorchEngine(model(0), others=[model(1)])  # type: ignore[arg-type, list-item]
    sources = sources_for(both.model)
    found = [group[0] for group in both.search(sources, config=SearchConfig(beam_size=beam_size))]
    scores = both.score(sources, [hypothesis.ids for hypothesis in found])
    for hypothesis, row in zip(found, scores, strict=True):
        assert sum(row if hypothesis.is_finished else row[:-1]) == pytest.approx(hypothesis.log_prob, abs=1e-4)
        assert len(hypothesis.ids) <= 28  # the shorter room of the two


def test_a_model_with_itself_is_itself() -> None:
    alone, twice = TorchEngine(model(0)), TorchEngine(model(0), others=[model(0)])  # type: ignore[arg-type, list-item]
    sources = sources_for(alone.model)
    one, two = (
        [[h.ids for h in group] for group in e.search(sources, config=SearchConfig(n_best=5))] for e in (alone, twice)
    )
    assert one == two
    assert twice.description == f"{alone.description}, 2 models together"


def test_bundles_translate_together(tiny_run: TinyRun, exported_bundle: Path) -> None:
    text, references = (
        (tiny_run.recipe.parent / f"test.{lang}").read_text(encoding="utf-8").split("\n")[:7] for lang in ("en", "de")
    )
    both = Translator.load(tiny_run.best, ensemble=[tiny_run.early], threads=1)
    best, early = (Translator.load(folder, threads=1) for folder in (tiny_run.best, tiny_run.early))
    assert both.engine.description.endswith("2 models together")
    together = [str(each) for each in both.translate(text)]
    ids = best.bundle.source.encode(text), best.bundle.target.encode(references)
    for row, first, second in zip(*(each.engine.score(*ids) for each in (both, best, early)), strict=True):
        assert row == pytest.approx(mean_of(first, second), abs=1e-4)
    assert both.note == ""
    assert Translator.load(exported_bundle, ensemble=[tiny_run.early], engine="torch", threads=1).note == ""
    told = Translator.load(exported_bundle, ensemble=[tiny_run.early], threads=1)
    assert told.note == "an exported engine holds one model; using torch"
    assert [str(each) for each in told.translate(text)] == together


def test_an_exported_engine_holds_one_model(tiny_run: TinyRun, exported_bundle: Path) -> None:
    with pytest.raises(ConfigError, match="engine='ctranslate2' holds one model; an ensemble needs engine='torch'"):
        Translator.load(exported_bundle, ensemble=[tiny_run.best], engine="ctranslate2")


@pytest.mark.parametrize(("side", "setting"), [("source", "src_vocab_size"), ("target", "tgt_vocab_size")])
def test_models_of_other_vocabularies_are_refused(side: str, setting: str, tiny_run: TinyRun, tmp_path: Path) -> None:
    lines = (tiny_run.recipe.parent / "train.de").read_text(encoding="utf-8").split("\n")
    content, subword = train_subword(lambda: lines, TokenizerConfig(vocab_size=340))
    other = tampered(tiny_run.best.resolve(), tmp_path / "other", **{setting: subword.vocab_size})
    shared = (other / "shared.spm").rename(other / ("target.spm" if side == "source" else "source.spm"))
    shared.with_name(f"{side}.spm").write_bytes(content)
    with pytest.raises(ConfigError, match=rf"best and .*other have different {side} vocabularies; train them from one"):
        Translator.load(tiny_run.best, ensemble=[signed(other)])


def test_models_of_another_direction_are_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    back = tampered(tiny_run.best.resolve(), tmp_path / "back", src_lang="de", tgt_lang="en")
    with pytest.raises(ConfigError, match=r"best translates en -> de, .*back de -> en; use models of one pair"):
        Translator.load(tiny_run.best, ensemble=[back])


def test_a_model_of_another_task_is_named(tiny_run: TinyRun, tiny_tagger: Path) -> None:
    with pytest.raises(CheckpointError, match="tag/best has task='tag' and is no translator; use `yiwen"):
        Translator.load(tiny_run.best, ensemble=[tiny_tagger])


def test_a_model_with_less_room_has_to_be_named_first(tiny_run: TinyRun, tmp_path: Path) -> None:
    other = tampered(tiny_run.best.resolve(), tmp_path / "other", model={"max_len": 95})
    with pytest.raises(
        ConfigError, match=r"other has model\.max_len=95, less than .*best with 96; name the one with the"
    ):
        Translator.load(tiny_run.best, ensemble=[signed(other)])


def test_a_model_with_more_room_and_another_spelling_of_its_language_goes_along(
    tiny_run: TinyRun, tmp_path: Path
) -> None:
    model = json.loads((tiny_run.best / "bundle.json").read_text(encoding="utf-8"))["model"]
    other = tampered(tiny_run.best.resolve(), tmp_path / "other", model={**model, "max_len": 97}, tgt_lang="DE")
    alone, twice = (
        Translator.load(tiny_run.best, ensemble=others, threads=1).translate(["Deti gedi."], checks=False)
        for others in ([], [other])
    )
    assert [str(each) for each in twice] == [str(each) for each in alone]


def test_none_of_several_models_reads_more_than_it_has_seen(tiny_run: TinyRun, tmp_path: Path) -> None:
    short = tampered(tiny_run.best.resolve(), tmp_path / "short", max_src_tokens=9)
    text = (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").replace("\n", " ", 2).split("\n")[0]
    assert 9 < len(Translator.load(tiny_run.best).bundle.source.encode([text])[0]) < 24
    for folders in ((tiny_run.best, short), (short, tiny_run.best)):
        (translation,) = Translator.load(folders[0], ensemble=folders[1:], threads=1).translate([text])
        assert "segmented" in translation.flags
        assert len(translation.sentences) > 1
