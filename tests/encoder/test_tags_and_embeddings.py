"""Tags stand at their words; texts that mean the same lie near each other; vectors are written as they are."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from toy_labels import MAX_TOKENS, WORDS, tag_of
from yiwen.data.store import Store
from yiwen.encoder import Encoder
from yiwen.encoder.writers import WRITERS, writer_of
from yiwen.errors import ConfigError
from yiwen.tasks.config import EncoderConfig
from yiwen.training.encoding import rate_of


@pytest.fixture(scope="module")
def tagger(tiny_tagger: Path) -> Encoder:
    return Encoder.load(tiny_tagger, threads=1)


def test_words_get_their_tags_whatever_else_is_in_the_call(tagger: Encoder) -> None:
    rng = random.Random(7)
    sentences = [[rng.choice(WORDS) for _ in range(rng.randint(1, 5))] for _ in range(211)]
    found = tagger.tag(sentences)
    right = [[tag_of(words, i) for i in range(len(words))] for words in sentences]
    assert [len(tags) for tags in found] == [len(words) for words in sentences]
    n_right = sum(a == b for tags, wanted in zip(found, right, strict=True) for a, b in zip(tags, wanted, strict=True))
    assert n_right / sum(map(len, right)) > 0.85
    assert [tagger.tag([words])[0] for words in sentences[:7]] == found[:7]


def test_no_word_is_lost_however_long_the_sentence_or_strange_the_word(tagger: Encoder) -> None:
    long = [random.Random(i).choice(WORDS) for i in range(5 * MAX_TOKENS)]
    strange = ["\u200b", "ba" * 99, "ka", "未知"]
    found = tagger.tag([long, strange, [], ["ka"]])
    assert [len(tags) for tags in found] == [len(long), len(strange), 0, 1]
    assert found[0][:3] == tagger.tag([long[: MAX_TOKENS // 2]])[0][:3]


@pytest.mark.parametrize(
    ("src_lang", "sentence"), [("zh", "乾 隆 皇 帝 写 诗"), ("zh-Hant", "皇 后 說 這 裡 有 山 谷")]
)
def test_the_script_of_words_is_that_of_their_sentence(tagger: Encoder, src_lang: str, sentence: str) -> None:
    asked: list[str] = []
    source = SimpleNamespace(encode=lambda words: asked.extend(words) or [[5] for _ in words])
    info = dataclasses.replace(tagger.bundle.info, src_lang=src_lang)
    bundle: Any = SimpleNamespace(info=info, source=source, limit=29)
    Encoder(bundle, tagger.engine).tag([[*sentence.split(" "), "\u200b", "a  b"]])
    assert asked == [*sentence.split(" "), "", "a b"]  # as in training, which sees the sentence


def test_a_text_and_its_translation_find_each_other(tiny_embedder: Path) -> None:
    encoder = Encoder.load(tiny_embedder, threads=1)
    folder = tiny_embedder.parent / ".prepared" / encoder.bundle.info.data_fingerprint
    src, tgt = Store.open(folder).test
    one, other = encoder.features(src), encoder.features(tgt)
    assert np.allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)
    assert np.mean((one @ other.T).argmax(axis=1) == np.arange(len(src))) > 0.6
    free = encoder.features(src, normalised=False)
    assert np.allclose(free / np.linalg.norm(free, axis=1, keepdims=True), one, atol=1e-5)


BLOCKS = [np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5), np.full((2, 5), 1 / 3, dtype=np.float32)]


@pytest.mark.parametrize("suffix", WRITERS)
def test_written_vectors_are_read_back_equal(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with path.open("wb") as file:
        writer_of(path)(iter(BLOCKS), file)
    match suffix:
        case ".npy":
            found = np.load(path)
        case ".arrow":
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            found = np.array(table.column("vector").to_pylist(), dtype=np.float32)
        case _:
            rows = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
            found = np.array([json.loads(row)["vector"] for row in rows], dtype=np.float32)
    assert np.allclose(found, np.concatenate(BLOCKS), atol=1e-6)


def test_what_begins_with_its_length_is_not_written_into_a_pipe() -> None:
    reading, writing = os.pipe()
    with (
        os.fdopen(writing, "wb") as pipe,
        pytest.raises(ConfigError, match=r"a pipe cannot be written as \.npy, whose"),
    ):
        writer_of(Path("a.npy"))(iter(BLOCKS), pipe)
    with os.fdopen(reading, "rb") as rest:
        assert rest.read() == b""


def test_no_text_is_no_vector_but_a_file_that_can_be_read() -> None:
    files = {suffix: io.BytesIO() for suffix in WRITERS}
    for suffix, write in WRITERS.items():
        write(iter([BLOCKS[0][:0]]), files[suffix])
        files[suffix].seek(0)
    assert np.load(files[".npy"]).shape == (0, 5)
    table = pa.ipc.open_file(files[".arrow"]).read_all()
    assert (len(table), table.schema.field("vector").type.list_size) == (0, 5)
    assert files[".jsonl"].getvalue() == b""
    with pytest.raises(
        ConfigError, match=r"--output a.csv has none of the suffixes \.npy, \.arrow, \.jsonl; rename it"
    ):
        writer_of(Path("a.csv"))


def test_lower_layers_learn_more_slowly() -> None:
    encoder = EncoderConfig(rate=0.5, layer_decay=0.5)
    names = [
        "head.weight",
        "pool_query",
        "body.encoder.final_norm.weight",
        "body.encoder.layers.2.feed_forward.inner.bias",
    ]
    names += ["body.encoder.layers.0.x.weight", "body.src_embedding.weight", "body.src_positions.weight"]
    found = [rate_of(name, encoder, n_layers=3) for name in names]
    assert found == [1, 1, 0.5, 0.5, 0.125, 0.0625, 0.0625]


def test_sentences_may_come_from_a_generator(tagger: Encoder) -> None:
    sentences = [["A", "dog"], ["runs"]]
    assert tagger.tag(words for words in sentences) == tagger.tag(sentences)  # type: ignore[arg-type]


@pytest.mark.parametrize("sentences", [None, 7])
def test_sentences_to_tag_stand_in_a_list(tagger: Encoder, sentences: Any) -> None:
    message = "sentences is a .*; give a list that holds the words of each in a list, not"
    with pytest.raises(ConfigError, match=message):
        tagger.tag(sentences)


def test_flags_of_tagged_sentences_are_counted_in_a_counter(tagger: Encoder) -> None:
    with pytest.raises(ConfigError, match=r"flags is a dict; give a Counter, or None, not \{\}"):
        tagger.tag([["A"]], flags={})  # type: ignore[arg-type]


def test_an_encoder_shows_what_it_is(tagger: Encoder) -> None:
    assert repr(tagger) == f"Encoder({str(tagger.bundle.folder)!r}: tag, torch float32 on cpu)"
