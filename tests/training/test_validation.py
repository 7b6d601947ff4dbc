"""Validation text in batches: all of it, the longest first, and none that a model has no room for."""

from __future__ import annotations

import math
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import sacrebleu
import torch
import torch.nn.functional as F
from toy_job import CPU

from yiwen.bundle import open_bundle
from yiwen.data.batching import collate, collate_labelled
from yiwen.data.corpus import CorpusConfig
from yiwen.data.labels import numbered
from yiwen.data.prepare import DataConfig, prepare
from yiwen.data.store import Store, TextPairs
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import DataError
from yiwen.evaluation.retrieval import retrieval
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.tasks.classify import label_loss
from yiwen.tasks.config import EncoderConfig
from yiwen.tasks.embed import vectors
from yiwen.tasks.heads import EncoderModel
from yiwen.text.subword import EOS_ID, TokenizerConfig
from yiwen.training.config import TrainingConfig
from yiwen.training.learning import embedding, hiding, labelling
from yiwen.training.validation import ValidationSet, chunks_of


def test_texts_of_like_length_are_judged_together() -> None:
    texts = [[7] * length for length in (1, 5, 2, 4)]
    assert chunks_of(texts, 12, max_len=6) == [[1, 3], [2, 0]]
    assert chunks_of(texts, 12, max_len=6, only=[0, 2]) == [[2, 0]]


@pytest.mark.parametrize("texts", [[], [[], []]], ids=["none", "empty lines"])
def test_no_text_is_refused(texts: list[list[int]]) -> None:
    with pytest.raises(
        DataError, match=r"no validation text; set data\.valid to a file .* than data\.max_tokens are left"
    ):
        chunks_of(texts, 12, max_len=6)


def test_text_that_is_too_long_is_named() -> None:
    with pytest.raises(DataError, match=r"validation lines 2 .* have 5 subwords or more, .* or raise model\.max_len"):
        chunks_of([[7], [7] * 5], 12, max_len=5)


def small_store(folder: Path) -> Store:
    """Seven lines to validate with, and an empty one, which has no translation and tells no loss."""
    pairs = [(f"Text {'no ' * (i % 5)}{i}.", f"{i}{' ohne' * (i % 4)} Text!") for i in range(67)]
    valid = [*pairs[31:35], ("", "Nichts."), *pairs[35:38]]
    for name, rows in (("a", pairs), ("valid", valid)):
        (folder / f"{name}.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in rows), encoding="utf-8")
    data = DataConfig(
        src_lang="en",
        tgt_lang="de",
        corpora=(CorpusConfig(path="a.tsv"),),
        valid=CorpusConfig(path="valid.tsv"),
        test_pairs=0,
    )
    return Store.open(prepare(data, TokenizerConfig(vocab_size=310), root=folder, base=folder).folder)


def test_a_translator_is_judged_by_each_token_and_each_line_whatever_shares_its_batch(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    src, ref = store.valid
    shape = ModelConfig(d_model=8, n_heads=2, d_ff=8, n_encoder_layers=1, n_decoder_layers=1)
    sizes = {"src_vocab_size": store.source.vocab_size, "tgt_vocab_size": store.target.vocab_size}
    torch.manual_seed(1)
    model = Transformer(shape, **sizes).eval()
    config = TrainingConfig(batch_tokens=67, metric="chrf", label_smoothing=0.3)
    found = ValidationSet(store, config, max_len=61).validate(model, CPU, StopFlag())
    loss, n_tokens = 0.0, 0
    expected = [""] * len(src)
    with torch.inference_mode():
        for i, (ids, tgt) in enumerate(zip(store.source.encode(src), store.target.encode(ref), strict=True)):
            if not ids:
                continue
            batch = collate([ids], [tgt])
            logits = model(batch.src_ids, batch.tgt_in) @ model.output_weight.T
            loss += F.cross_entropy(logits[0], batch.tgt_out[0], reduction="sum").item()
            n_tokens += len(tgt) + 1
            alone = TorchEngine(model, device="cpu", dtype=torch.float32)
            ((best, *_),) = alone.search([ids], config=SearchConfig(beam_size=1), stop=None)
            (expected[i],) = store.target.decode([best.ids])
    assert found.samples == list(zip(src, expected, ref, strict=True))[:5]
    assert len({*expected}) > 3
    assert found.scores["loss"] == pytest.approx(loss / n_tokens, rel=1e-5)
    assert found.scores["perplexity"] == pytest.approx(math.exp(loss / n_tokens), rel=1e-4)
    assert found.scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(expected, [ref]).score)


def test_the_picture_of_a_long_line_stays_small(tmp_path: Path) -> None:
    """One of 1,000 subwords on either side would take 576 MB in blocks of twelve."""
    store = small_store(tmp_path)
    store.valid = TextPairs(["7" * 130], ["Text."])
    (ids,) = store.source.encode(store.valid.src)
    assert 12 * (len(ids) + 1) > 1200
    shape = ModelConfig(d_model=8, n_heads=2, d_ff=8, n_encoder_layers=1, n_decoder_layers=1, max_len=307)
    sizes = {"src_vocab_size": store.source.vocab_size, "tgt_vocab_size": store.target.vocab_size}
    model = Transformer(shape, **sizes).eval()
    found = ValidationSet(store, TrainingConfig(), max_len=307).validate(model, CPU, StopFlag())
    assert found.picture is not None
    assert found.picture.shape[1] in [side * (len(ids) + 1) for side in range(1, 12)]
    assert max(found.picture.shape) <= 1200


def test_lines_whose_source_is_blank_are_no_text_to_validate_with(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.valid = TextPairs(["", " "], ["Nichts.", "Text."])
    with pytest.raises(DataError, match="there is no validation text"):
        ValidationSet(store, TrainingConfig(), max_len=61)


@pytest.mark.parametrize("longer", ["source", "reference"])
def test_a_line_that_is_too_long_on_either_side_is_named(tmp_path: Path, longer: str) -> None:
    store = small_store(tmp_path)
    sides = ["Text."] * 3, ["Text.", "Text " * 61, "Text."]
    store.valid = TextPairs(*(sides if longer == "reference" else sides[::-1]))
    with pytest.raises(DataError, match=r"validation lines 2 \(.* do not count\) have 61 subwords or more"):
        ValidationSet(store, TrainingConfig(), max_len=61)


def test_an_embedder_is_judged_by_the_vectors_of_whole_texts_whatever_shares_their_batch(tiny_embedder: Path) -> None:
    info = open_bundle(tiny_embedder).info
    store = Store.open(tiny_embedder.parent / ".prepared" / info.data_fingerprint)
    torch.manual_seed(1)
    model = EncoderModel(
        info.model, vocab_size=info.src_vocab_size, n_labels=0
    ).eval()  # as drawn: most partners are not found
    learning = embedding(store, TrainingConfig(batch_tokens=97), EncoderConfig(), max_len=61, max_tokens=29)
    with torch.inference_mode():
        scores = learning.judge(model, stopped := Mock()).scores
        src, tgt = (
            torch.cat([vectors(model, torch.tensor([[*ids, EOS_ID]])) for ids in store.source.encode(texts)]).numpy()
            for texts in store.valid
        )
    assert scores == retrieval(src, tgt, *store.valid)
    assert stopped.check.call_count > 1, "a stop signal is looked for between batches"
    assert 0 < scores["accuracy"] < 50
    assert [learning.load(np.arange(5), 1).n_tokens, learning.largest(3, 7).n_tokens] == [5, 3], "pairs are counted"
    assert learning.largest(3, 7).src_ids.shape == (3, 8), "seven subwords and eos"


def test_the_loss_of_a_tagger_is_that_of_a_word_on_average_whatever_shares_its_batch(tiny_tagger: Path) -> None:
    info = open_bundle(tiny_tagger).info
    store = Store.open(tiny_tagger.parent / ".prepared" / info.data_fingerprint)
    model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=len(info.labels)).eval()
    learning = labelling(store, TrainingConfig(batch_tokens=97), EncoderConfig(), max_len=61, max_tokens=29)
    each = numbered(store.source, *store.valid, labels=store.labels, targets=store.targets)
    with torch.inference_mode():
        found = learning.judge(model, stopped := Mock())
        losses = [
            label_loss(0.0)(model, collate_labelled([ids], [tags], for_words=True))
            for ids, tags in zip(*each, strict=True)
        ]
    n_words = sum(len(text.split()) for text in store.valid.src)
    assert found.scores["loss"] == pytest.approx(sum(float(loss) for loss, _ in losses) / n_words, rel=1e-5)
    assert stopped.check.call_count > 1
    assert [(text, gold) for text, _, gold in found.samples] == list(zip(*store.valid, strict=True))[
        : len(found.samples)
    ]


def test_a_model_without_any_weight_is_as_perplexed_by_a_hidden_subword_as_there_are_subwords(
    tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = open_bundle(tiny_embedder).info
    store = Store.open(tiny_embedder.parent / ".prepared" / info.data_fingerprint)
    model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=0).eval()
    learning = hiding(store, TrainingConfig(batch_tokens=97), EncoderConfig(), max_len=61, max_tokens=29)
    with torch.inference_mode():
        for parameter in model.parameters():
            parameter.zero_()
        scores = learning.judge(model, stopped := Mock()).scores
    assert stopped.check.call_count > 1
    assert scores["perplexity"] == pytest.approx(info.src_vocab_size)
    assert scores["loss"] == pytest.approx(math.log(info.src_vocab_size))
    assert scores["accuracy"] == 0  # all alike, the padding comes first
    monkeypatch.setattr("yiwen.training.learning.n_guessed", lambda model, batch: batch.n_tokens)
    with torch.inference_mode():
        assert learning.judge(model, Mock()).scores["accuracy"] == 100
