"""Text in, features and labels out: as an independent reference has them, whatever else is in the call."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tiny_model import TinyRun, tampered
from toy_labels import MAX_TOKENS, label_of
from yiwen.bundle import load_model, open_bundle
from yiwen.encoder import Encoder
from yiwen.engines.encoders import TorchEncoder, load_encoder
from yiwen.errors import CheckpointError, ConfigError, Stopped
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.tasks.heads import EncoderModel, pool
from yiwen.translator import Translator

TEXTS = ["ba be ka", "", "du  du\u3000di ba", "ke", "ba da bo de bi di", "未知 ba"]


def test_the_head_of_an_encoder_is_what_its_task_has_beside_the_states_in_float32() -> None:
    config = ModelConfig(d_model=14, n_heads=2, d_ff=19, n_encoder_layers=1, n_decoder_layers=1)
    model = EncoderModel(config, vocab_size=29, n_labels=3, pooling="attention").bfloat16()
    head = {name: (array.shape, array.dtype.name) for name, array in TorchEncoder(model).head.items()}
    assert head == {"weight": ((3, 14), "float32"), "bias": ((3,), "float32"), "query": ((14,), "float32")}


@pytest.fixture(scope="module")
def encoder(tiny_classifier: Path) -> Encoder:
    return Encoder.load(tiny_classifier / "best", threads=1)


def reference(encoder: Encoder, text: str, n_layers: int, pooling: Any) -> torch.Tensor:
    """One text by the training model, without the facade."""
    model = load_encoder(encoder.bundle)
    ids = torch.tensor([[*encoder.bundle.source.encode([text])[0], 3]])
    with torch.no_grad():
        states = model(ids) if n_layers == 2 else model.body.states(ids, n_layers)
        return pool(states, ids != 0, pooling, model.pool_query)[0]


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize(("layer", "n_layers"), [(-1, 2), (2, 2), (1, 1), (-2, 1), (0, 0), (-3, 0)])
def test_features_are_the_pooled_states_of_a_layer(encoder: Encoder, layer: int, n_layers: int, pooling: Any) -> None:
    found = encoder.features(["ba be ka", "du du di ba"], layer=layer, pooling=pooling)
    assert (found.shape, found.dtype) == ((2, 32), np.float32)
    for row, text in zip(found, ["ba be ka", "du du di ba"], strict=True):
        assert np.allclose(row, reference(encoder, text, n_layers, pooling).numpy(), atol=1e-5)


def test_order_and_neighbours_change_nothing(encoder: Encoder) -> None:
    together = encoder.features(TEXTS)
    alone = np.concatenate([encoder.features([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-5)
    assert np.allclose(encoder.features(TEXTS[::-1]), together[::-1], atol=1e-5)
    assert encoder.features([]).shape == (0, 32)


@pytest.mark.parametrize(
    ("task", "src_lang", "tgt_lang", "read"),
    [
        ("classify", "zh-Hans", "", ["这个房间", "这个房间", "du"]),
        ("translate", "zh", "en", ["这个房间", "这个房间", "du"]),
        ("embed", "en", "zh-Hans", ["这个房间", "这个房间", "du"]),
        ("embed", "zh-Hant", "en", ["這個房間", "這個房間", "du"]),
        ("translate", "ja", "zh", ["這個房間", "这个房间", "du"]),  # it reads Japanese alone
    ],
)
def test_chinese_in_the_other_script_is_read_as_the_model_knows_it(
    encoder: Encoder, task: Any, src_lang: str, tgt_lang: str, read: list[str]
) -> None:
    texts = ["這個房間", "这个房间", "du"]
    assert what_is_read(encoder, texts, task=task, src_lang=src_lang, tgt_lang=tgt_lang) == read


@pytest.mark.parametrize("langs", [("ja", "zh"), ("zh", "ja")])
def test_japanese_beside_chinese_is_read_as_it_is_written(encoder: Encoder, langs: tuple[str, str]) -> None:
    texts = ["これは日本語です", "這個・房間"]  # the dot between names is Chinese too
    assert what_is_read(encoder, texts, task="embed", src_lang=langs[0], tgt_lang=langs[1]) == [texts[0], "这个・房间"]


def what_is_read(encoder: Encoder, texts: list[str], **info: Any) -> list[str]:
    """What of texts a model of another kind is handed."""
    asked: list[str] = []
    source = SimpleNamespace(encode=lambda texts: asked.extend(texts) or [[5] for _ in texts])
    bundle: Any = SimpleNamespace(info=replace(encoder.bundle.info, **info), source=source, limit=29)
    Encoder(bundle, encoder.engine).features(texts)
    return asked


@pytest.mark.parametrize("pooling", ["mean", "max", "first", "attention"])
def test_a_long_text_is_pooled_over_all_its_pieces(encoder: Encoder, pooling: Any) -> None:
    engine = encoder.engine
    query = np.linspace(-1, 1, 32, dtype=np.float32)
    engine.head["query"] = query
    try:
        text = " ".join(["ba be ka du"] * 15)  # 60 subwords, MAX_TOKENS - 1 a piece
        ids = encoder.bundle.source.encode([text])[0]
        assert len(ids) > 2 * (MAX_TOKENS - 1)
        pieces = [ids[i : i + 20] for i in range(0, 60, 20)]
        states = torch.cat([torch.tensor(engine.states([piece], layer=2)[0]) for piece in pieces])[None]
        wanted = pool(states, torch.ones(1, len(states[0]), dtype=torch.bool), pooling, torch.tensor(query))[0]
        found = encoder.features(["ke", text, "ba"], pooling=pooling)
        assert np.allclose(found[1], wanted.numpy(), atol=1e-5)
        assert np.allclose(found[[0, 2]], encoder.features(["ke", "ba"], pooling=pooling), atol=1e-5)
    finally:
        del engine.head["query"]


def test_labels_and_their_probabilities(encoder: Encoder) -> None:
    texts = ["ba be bi", "da de di", "ba da", "ka ke", "bo bu ka de"]
    predictions = encoder.classify(texts)
    assert [str(p) for p in predictions] == [label_of(text.split()) for text in texts]
    table = encoder.probabilities(texts)
    assert np.allclose(table.sum(axis=1), 1, atol=1e-5)
    for prediction, row in zip(predictions, table, strict=True):
        assert prediction.probabilities == pytest.approx(row.tolist())
        assert prediction.probability == max(prediction.probabilities)
        assert prediction.flags == ()
    assert encoder.classify([" ".join(["ba"] * 99)])[0].flags == ("segmented",)
    assert encoder.classify([" ".join(["ba"] * 99)])[0].label == "b"
    assert np.array_equal(encoder.features(["ba"], layer=np.int64(1)), encoder.features(["ba"], layer=1))  # type: ignore[arg-type]
    assert [prediction.flags for prediction in encoder.classify(["", " \u200b", "ba"])] == [("empty",), ("empty",), ()]


def test_what_is_not_to_be_had_is_refused(encoder: Encoder, tiny_run: TinyRun, tiny_classifier: Path) -> None:
    with pytest.raises(ConfigError, match=r"layer=3: the encoder has the layers 0 \(embeddings\) to 2, or -1"):
        encoder.features(["a"], layer=3)
    with pytest.raises(ConfigError, match="layer='1': the encoder has the layers 0"):
        encoder.features(["a"], layer="1")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="layer=True: the encoder has the layers 0"):
        encoder.features(["a"], layer=True)
    with pytest.raises(ConfigError, match=r"flags is a list; give a Counter, or None, not \[\]"):
        encoder.features(["a"], flags=[])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"takes a list of texts; give a column of strings, not a table, a set or"):
        encoder.features({"a", "b"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"threads=1\.5; use 1 to 512"):
        Encoder.load(tiny_classifier, threads=1.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="pooling='attention' is not to be had; use 'mean', 'max' or 'first'"):
        encoder.features(["a"], pooling="attention")
    with pytest.raises(CheckpointError, match="task 'classify'; use `yiwen classify`, or train one of task 'tag'"):
        encoder.tag([["a"]])
    with pytest.raises(ConfigError, match="threads=-1; use 1 to 512, or 0 for all cores"):
        Encoder.load(tiny_classifier, threads=-1)
    with pytest.raises(ConfigError, match="dtype='int4' is unknown"):
        Encoder.load(tiny_classifier, dtype="int4")
    with pytest.raises(CheckpointError, match="has task='classify' and is no translator; use `yiwen class"):
        Translator.load(tiny_classifier)
    with pytest.raises(CheckpointError, match="task 'translate'; use `yiwen translate`, or train one of task"):
        Encoder.load(tiny_run.best).classify(["a"])
    stop = StopFlag()
    stop.signum = 15
    with pytest.raises(Stopped, match="SIGTERM during encoding"):
        encoder.features(["a"], stop=stop)


@pytest.mark.parametrize("texts", ["ba be", [None], [b"ba"], None, {"text": ["ba"]}])
def test_what_is_no_list_of_texts_is_refused(encoder: Encoder, tiny_tagger: Path, texts: Any) -> None:
    tagger = Encoder.load(tiny_tagger, threads=1)
    for call in (encoder.features, encoder.classify, encoder.probabilities):
        with pytest.raises(ConfigError, match="an encoder takes a list of texts; give a column of strings"):
            call(texts)
    for sentences in ([texts], "ba be", ["ba be"]):
        with pytest.raises(ConfigError, match=r"each sentence to tag takes a list of texts; give .* a single text"):
            tagger.tag(sentences)


def test_without_torch_the_pip_line_is_named(tiny_classifier: Path) -> None:
    load = f"from yiwen import Encoder; Encoder.load({str(tiny_classifier / 'best')!r})"
    program = f"import sys; sys.modules['torch'] = None; {load}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "MissingDependencyError: the torch engine needs torch: pip install 'yiwen[train]'" in result.stderr


def test_a_translator_is_an_encoder_too(tiny_run: TinyRun) -> None:
    bundle = open_bundle(tiny_run.best)
    ids = [*bundle.source.encode(["Hello there."])[0], 3]
    with torch.no_grad():
        memory = load_model(bundle).encode(torch.tensor([ids]))[0]
    found = Encoder.load(tiny_run.best).features(["Hello there."])
    assert np.allclose(found[0], memory.mean(dim=0).numpy(), atol=1e-5)


def test_weights_of_another_shape_are_refused(tiny_classifier: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_classifier / "best", tmp_path / "copy")
    folder = tampered(tmp_path / "copy", tmp_path / "bundle", labels=["a", "b"])
    with pytest.raises(CheckpointError, match=r"head.bias has shape \(3,\), the model \(2,\)"):
        Encoder.load(folder)


def test_bf16_is_near_float32(tiny_classifier: Path, encoder: Encoder) -> None:
    rounded = Encoder.load(tiny_classifier, dtype="bf16").features(TEXTS)
    assert np.abs(rounded - encoder.features(TEXTS)).max() < 0.2
