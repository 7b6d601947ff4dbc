"""The alignment head is found without gold alignments, and is the one that gold alignments would choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from random_models import random_model, sources_for
from toy_task import write_task
from yiwen.analysis.alignment import align_words, cut
from yiwen.analysis.heads import choose_alignment_head, information
from yiwen.bundle import load_model
from yiwen.engines.torch_engine import TorchEngine
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.translator import Translator


def train(task: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> Translator:
    """A model that has learnt to copy or reverse words, in a few seconds."""
    monkeypatch.setenv("YIWEN_RUNS", str(folder / "runs"))
    recipe = write_task(folder, task, n=600, dropout=0.0)
    changes = {"training.max_steps": 100, "training.validate_every": 100, "model.n_decoder_layers": 2, **settings}
    run, _ = train_recipe(load_recipe(str(recipe), [f"{key}={value}" for key, value in changes.items()]))
    return Translator.load(run, engine="torch", threads=1)


def share_right(translator: Translator, place: AlignmentHead, texts: list[str], *, is_reversed: bool) -> float:
    """Share of the words that are linked to their counterpart and to no other, in right translations."""
    src = [cut(text, translator.bundle.source) for text in texts]
    step = -1 if is_reversed else 1
    tgt = [cut(" ".join(text.split()[::step]), translator.bundle.target) for text in texts]
    engine = TorchEngine(load_model(translator.bundle), alignment=place)
    weights = engine.attend([side.ids for side in src], [side.ids for side in tgt])
    n_right = n_words = 0
    for matrix, s, t in zip(weights, src, tgt, strict=True):
        links = [(i, j) for i, j, _ in align_words(matrix, s, t, is_late=place.is_late).links]
        places = range(len(s.words))
        n_words += len(places)
        n_right += sum([j for i, j in links if i == place] == [places[::step][place]] for place in places)
    return n_right / n_words


def texts_of(folder: Path) -> list[str]:
    """Sentences in which no word occurs twice: which of two equal words became which, nobody can say."""
    lines = next(folder.glob("*.tsv")).read_text(encoding="utf-8").split("\n")[:-1]
    texts = [line.split("\t")[0] for line in lines]
    return [text for text in texts if len(set(text.split())) == len(text.split())][:100]


def test_the_chosen_head_of_a_model_that_reverses_is_the_one_that_looks_at_the_mirrored_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = train("reverse", tmp_path, monkeypatch)
    texts = texts_of(tmp_path)
    places = [
        AlignmentHead(layer=layer, head=head, is_late=is_late)
        for layer in range(2)
        for head in (None, 0, 1)
        for is_late in (False, True)
    ]
    found = {place: share_right(translator, place, texts, is_reversed=True) for place in places}
    chosen = translator.bundle.info.alignment
    assert chosen is not None
    assert found[chosen] >= max(found.values()) - 0.05


def test_a_guided_head_of_a_model_that_copies_looks_at_the_word_it_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = train("copy", tmp_path, monkeypatch, **{"training.guided_alignment": 0.3})
    place = translator.bundle.info.alignment
    assert place == AlignmentHead(layer=0, head=0)
    assert share_right(translator, place, texts_of(tmp_path), is_reversed=False) > 0.9


def test_information_is_high_where_one_word_says_the_other_and_none_by_chance() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(4, 24, 2000)
    sure = np.stack([words, words + 20], axis=1)
    random = np.stack([rng.permutation(words), words + 20], axis=1)
    assert information(sure) / len(sure) == pytest.approx(np.log(20), abs=0.15)  # 20 words, each as likely
    assert information(random) < 0
    assert information(np.empty((0, 2), np.int64)) == 0.0
    assert np.isfinite(information(sure[:1]))


def test_without_text_the_usual_place_is_taken() -> None:
    model = random_model(ModelConfig(d_model=12, n_heads=2, d_ff=7, n_encoder_layers=1, n_decoder_layers=3))
    assert choose_alignment_head(model, [[]], [[]]) == AlignmentHead(layer=1)
    sources = sources_for(model)
    assert choose_alignment_head(model, sources, sources) == choose_alignment_head(model, sources, sources)
