"""The alignment head is found without gold alignments, and is the one that gold alignments would choose."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from known_models import Toy

from random_models import random_model, sources_for
from yiwen.analysis import heads
from yiwen.analysis.alignment import align_words, cut
from yiwen.analysis.heads import choose_alignment_head, information
from yiwen.bundle import load_model
from yiwen.data.batching import Batch, collate
from yiwen.engines.engine import Sentences
from yiwen.engines.torch_engine import TorchEngine
from yiwen.model.config import AlignmentHead, ModelConfig


def share_right(toy: Toy, place: AlignmentHead, *, is_reversed: bool) -> float:
    """Share of the words that are linked to their counterpart and to no other."""
    bundle = toy.translator.bundle
    src, tgt = [cut(text, bundle.source) for text in toy.sources], [cut(text, bundle.target) for text in toy.targets]
    engine = TorchEngine(load_model(bundle), alignment=place)
    weights = engine.attend([side.ids for side in src], [side.ids for side in tgt])
    n_right = n_words = 0
    for matrix, s, t in zip(weights, src, tgt, strict=True):
        links = [(i, j) for i, j, _ in align_words(matrix, s, t, is_late=place.is_late).links]
        expected = list(range(len(s.words)))[:: -1 if is_reversed else 1]
        n_words += len(expected)
        n_right += sum([j for i, j in links if i == place] == [j] for place, j in enumerate(expected))
    return n_right / n_words


def test_the_chosen_head_of_a_model_that_reverses_is_the_one_that_looks_at_the_mirrored_word(reversing: Toy) -> None:
    places = [
        AlignmentHead(layer=layer, head=head, is_late=is_late)
        for layer in range(2)
        for head in (None, 0, 1)
        for is_late in (False, True)
    ]
    found = {place: share_right(reversing, place, is_reversed=True) for place in places}
    chosen = reversing.translator.bundle.info.alignment
    assert chosen is not None
    assert found[chosen] >= max(found.values()) - 0.05
    assert max(found.values()) - min(found.values()) > 0.3  # there was something to choose


def test_a_guided_head_of_a_model_that_copies_looks_at_the_word_it_copies(copying: Toy) -> None:
    place = copying.translator.bundle.info.alignment
    assert place == AlignmentHead(layer=0, head=0)
    assert share_right(copying, place, is_reversed=False) > 0.9


def test_information_is_high_where_one_word_says_the_other_and_none_by_chance() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(4, 24, 2000)
    sure = np.stack([words, words + 20], axis=1)
    random = np.stack([rng.permutation(words), words + 20], axis=1)
    assert information(sure) / len(sure) == pytest.approx(np.log(20), abs=0.15)  # 20 words, each as likely
    assert information(random) < 0
    assert information(np.empty((0, 2), np.int64)) == 0.0
    assert np.isfinite(information(sure[:1]))


@pytest.mark.parametrize(
    "place", [AlignmentHead(layer=1, head=1), AlignmentHead(layer=1, head=0, is_late=True), AlignmentHead(layer=1)]
)
def test_the_head_that_looks_at_the_word_that_is_written_is_chosen(
    place: AlignmentHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    sources = [rng.permutation(np.arange(4, 23))[:7].tolist() for _ in range(50)]
    by_chance = np.eye(8)[rng.integers(0, 8, (2, 50, 2, 8))]  # two layers, two heads: each word looks at any
    mirrored = np.eye(8)[[6, 5, 4, 3, 2, 1, 0, 7]]
    seen = np.roll(mirrored, 1, axis=0) if place.is_late else mirrored
    if place.head is None:  # the one thing that both heads look at
        by_chance[1] = 0.6 * by_chance[1] + 0.4 * seen
    else:
        by_chance[1, :, place.head] = seen
    maps = {f"decoder.layers.{i}.cross_attention": torch.tensor(layer) for i, layer in enumerate(by_chance)}
    monkeypatch.setattr("yiwen.analysis.heads.recorded_attention", lambda model: nullcontext(maps))
    model = random_model(ModelConfig(d_model=12, n_heads=2, d_ff=7, n_encoder_layers=1, n_decoder_layers=2))
    assert choose_alignment_head(model, sources, [source[::-1] for source in sources]) == place


def test_a_long_sentence_makes_no_other_long_and_changes_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(ModelConfig(d_model=12, n_heads=2, d_ff=7, n_encoder_layers=1, n_decoder_layers=2))
    sources, shapes, judged = [[5, 6, 7]] * 3 + [[11] * 29] + [[8, 1, 9, 4]] * 5, list[torch.Size](), list[np.ndarray]()

    def collated(src: Sentences, tgt: Sentences) -> Batch:
        shapes.append((batch := collate(src, tgt)).src_ids.shape)
        return batch

    def informed(links: np.ndarray) -> float:
        judged.append(links)
        return information(links)

    monkeypatch.setattr(heads, "collate", collated)
    monkeypatch.setattr(heads, "information", informed)
    chosen = choose_alignment_head(model, sources, sources[::-1])
    monkeypatch.setattr(heads, "BATCH_TOKENS", 31)
    assert choose_alignment_head(model, sources, sources[::-1]) == chosen
    assert shapes == [(9, 30), (1, 30), (1, 5), (6, 5), (1, 5)]
    first, second = judged[: len(judged) // 2], judged[len(judged) // 2 :]
    assert all(map(np.array_equal, first, second))


def test_without_text_the_usual_place_is_taken() -> None:
    model = random_model(ModelConfig(d_model=12, n_heads=2, d_ff=7, n_encoder_layers=1, n_decoder_layers=3))
    assert choose_alignment_head(model, [[]], [[]]) == AlignmentHead(layer=1)
    sources = sources_for(model)
    assert choose_alignment_head(model, sources, sources) == choose_alignment_head(model, sources, sources)
