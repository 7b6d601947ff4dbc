"""Symbols for what is no language: in half of the pairs of the store, on both sides, and only where asked for."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from yiwen.data import fingerprint
from yiwen.data.corpus import CorpusConfig
from yiwen.data.fingerprint import fingerprint_of
from yiwen.data.prepare import DataConfig, prepare
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.hardware import Hardware
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.text.protect import symbols
from yiwen.text.subword import EOS_ID, TokenizerConfig
from yiwen.training.config import TrainingConfig
from yiwen.training.translation import translation_job
from yiwen.training.validation import ValidationSet

PLAIN = TokenizerConfig(kind="bpe", vocab_size=400)
WITH = TokenizerConfig(kind="bpe", vocab_size=400, placeholders=3)
CPU = Hardware(device="cpu", precision="float32", threads=1, attention="plain", keeps_memory=False)


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    lines = [(f"open the file name_{i}.txt now", f"jetzt die datei name_{i}.txt auf") for i in range(200)]
    lines += [(f"no code here {'very ' * (i % 9)}good", f"kein code hier {'sehr ' * (i % 9)}gut") for i in range(9)]
    for side, code in enumerate(("en", "de")):
        (tmp_path / f"a.{code}").write_text("".join(f"{pair[side]}\n" for pair in lines), encoding="utf-8")
    corpus = CorpusConfig(src="a.en", tgt="a.de")
    return DataConfig(src_lang="en", tgt_lang="de", corpora=(corpus,), valid_pairs=0, test_pairs=0)


def texts(data: DataConfig, tokenizer: TokenizerConfig, folder: Path, **options: int) -> list[tuple[str, str]]:
    store = Store.open(prepare(data, tokenizer, root=folder / str(options), base=folder, **options).folder)
    rows = np.arange(len(store))
    return list(zip(store.source.decode(store.src_ids(rows)), store.target.decode(store.tgt_ids(rows)), strict=True))


def test_half_of_the_pairs_have_a_symbol_on_both_sides_where_both_say_the_same(
    data: DataConfig, tmp_path: Path
) -> None:
    plain, found = texts(data, PLAIN, tmp_path), texts(data, WITH, tmp_path)
    changed = [pair for pair, before in zip(found, plain, strict=True) if pair != before]
    assert 70 < len(changed) < 130
    used = [[re.findall("⟦.⟧", side) for side in pair] for pair in changed]
    assert all(src == tgt and len(src) == 1 for src, tgt in used)
    assert {src[0] for src, _ in used} == set(symbols(3))
    assert all("name_" not in side for pair in changed for side in pair)
    assert texts(data, WITH, tmp_path, workers=2) == found


def test_validation_reads_and_writes_text_as_users_have_it_read_and_written(data: DataConfig, tmp_path: Path) -> None:
    """Without symbols such a model would be judged by how it spells what it never has to spell."""
    for code, text in (("en", "open a_1.txt, then b_2.txt\n\n"), ("de", "erst b_2.txt, dann a_1.txt auf\n\n")):
        (tmp_path / f"valid.{code}").write_text(text, encoding="utf-8")
    data = dataclasses.replace(data, valid=CorpusConfig(src="valid.en", tgt="valid.de"))
    model = Transformer(ModelConfig(d_model=8, n_heads=2, d_ff=8), src_vocab_size=400, tgt_vocab_size=400)
    for tokenizer, given, written in (
        (PLAIN, ["open a_1.txt, then b_2.txt", "erst b_2.txt, dann a_1.txt auf"], "⟦1⟧ ⟦0⟧ ⟦2⟧"),
        (WITH, ["open ⟦0⟧, then ⟦1⟧", "erst ⟦1⟧, dann ⟦0⟧ auf"], "b_2.txt a_1.txt "),
    ):
        store = Store.open(prepare(data, tokenizer, root=tmp_path, base=tmp_path).folder)
        lines = ValidationSet(store, TrainingConfig(), max_len=97)
        sides = store.source.decode(lines.src_ids), store.target.decode(lines.ref_ids)
        assert [side[0] for side in sides] == given
        with patch.object(store.target, "decode", return_value=["⟦1⟧ ⟦0⟧ ⟦2⟧"]):
            ((_, translation, reference), *_) = lines.validate(model, CPU, StopFlag()).samples
        assert (translation, reference) == (written, "erst b_2.txt, dann a_1.txt auf")


def test_texts_kept_for_sampling_have_the_same_symbols(data: DataConfig, tmp_path: Path) -> None:
    tokenizer = dataclasses.replace(WITH, sampling=0.1)
    store = Store.open(prepare(data, tokenizer, root=tmp_path, base=tmp_path).folder)
    rows = np.arange(len(store))
    assert store.texts(rows, "src") == store.source.decode(store.src_ids(rows))
    assert sum("⟦" in text for text in store.texts(rows, "tgt")) > 70


def test_a_vocabulary_knows_how_many_symbols_it_has(data: DataConfig, tmp_path: Path) -> None:
    for tokenizer, n in ((PLAIN, 0), (WITH, 3)):
        store = Store.open(prepare(data, tokenizer, root=tmp_path, base=tmp_path).folder)
        assert store.source.n_placeholders == n
        assert all(
            (symbol in store.source.pieces(store.source.encode([f"a {symbol} b"])[0])) is bool(n)
            for symbol in symbols(n)
        )


def test_hidden_words_are_no_symbols(data: DataConfig, tmp_path: Path) -> None:
    """No context tells which span a text has, or what a tag says: the target would name what no source shows."""
    data = dataclasses.replace(data, valid_pairs=7)
    for tokenizer, first in ((PLAIN, 4), (dataclasses.replace(WITH, symbols=("<2bt>",)), 8)):
        store = Store.open(prepare(data, tokenizer, root=tmp_path, base=tmp_path).folder)
        assert store.source.pieces(range(4, first)) == ["<2bt>", *symbols(3)][: first - 4]
        assert store.source.first_word == first
    training = TrainingConfig(word_dropout=0.9)
    model = ModelConfig(d_model=8, n_heads=2, d_ff=8)
    job = translation_job(store, model, training, hardware=CPU, max_tokens=97, search=SearchConfig())
    batch = job.load(np.arange(len(store)), 1)
    shown, named = (int(((ids > EOS_ID) & (ids < first)).sum()) for ids in (batch.src_ids, batch.tgt_out))
    assert shown == named > 70


def test_a_ready_vocabulary_gives_the_text_its_symbols(data: DataConfig, tmp_path: Path) -> None:
    folder = prepare(data, WITH, root=tmp_path, base=tmp_path).folder
    ready = TokenizerConfig(model=str(folder))
    assert texts(data, ready, tmp_path) == texts(data, WITH, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "n_symbols", lambda models, targets: 0)  # as before such text had any
        before = fingerprint_of(data, ready, base=tmp_path)
    assert before != fingerprint_of(data, ready, base=tmp_path)
    alone = [fingerprint_of(data, ready, base=tmp_path, targets=targets) for targets in ("none", "label")]
    assert before not in alone  # text that is not translated has none


def test_stores_from_before_there_were_symbols_are_still_found(data: DataConfig, tmp_path: Path) -> None:
    hashed: list[str] = []
    dumps = json.dumps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint.json, "dumps", lambda value, **how: hashed.append(dumps(value, **how)) or hashed[-1])
        names = [fingerprint_of(data, tokenizer, base=tmp_path) for tokenizer in (PLAIN, WITH)]
    assert names[0] != names[1]
    assert ["placeholders" in text for text in hashed] == [False, True]
    assert not [name for name in ("train_only", "unescape") for text in hashed if name in text], "came later, too"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"placeholders": 11}, "tokenizer.placeholders is 11; use 0 for none or up to 10"),
        ({"placeholders": -1}, "tokenizer.placeholders is -1"),
        ({"placeholders": 10, "vocab_size": 265}, "use more than 270"),
        ({"placeholders": 1, "model": "a.model"}, "leave out symbols, placeholders and shared"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TokenizerConfig(**settings)  # type: ignore[arg-type]
