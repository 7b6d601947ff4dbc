"""Subwords: what goes in comes out, in any script; equal inputs give equal models and equal samples."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from yiwen.errors import CheckpointError, ConfigError, DataError
from yiwen.text.normalise import normalise
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Subword, TokenizerConfig, train_subword

SENTENCES = [
    f"{who} {verb} {number} {what} in {place}."
    for who in ("The man", "A woman", "Her brother", "我们", "Das Kind")
    for verb in ("buys", "sees", "卖", "verliert")
    for number in (2, 30, 417)
    for what in ("apples", "苹果", "Äpfel")
    for place in ("Berlin", "北京", "London")
]
SYMBOLS = ("<2zh>", "⟦x⟧")


def learnt(kind: str) -> Subword:
    config = TokenizerConfig(kind=kind, vocab_size=325, symbols=SYMBOLS, character_coverage=1.0)  # type: ignore[arg-type]
    return train_subword(lambda: SENTENCES, config)[1]


MODELS = [learnt("unigram"), learnt("bpe")]


@pytest.fixture(params=MODELS, ids=["unigram", "bpe"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


@settings(max_examples=300)
@given(st.text().map(normalise), st.sampled_from(MODELS))
def test_decoding_gives_back_normalised_text_of_any_script(text: str, model: Subword) -> None:
    assert model.decode(model.encode([text])) == [text]


@given(
    st.lists(st.sampled_from(["▁", " ", "a", "<2zh>", "<unk>", "</s>", "<0x41>", "苹", "𠀀", "\u0301"])),
    st.sampled_from(MODELS),
)
def test_decoding_gives_back_what_looks_like_our_own_marks(parts: list[str], model: Subword) -> None:
    text = normalise("".join(parts))
    ids = model.encode([text])[0]
    assert model.decode([ids]) == [text]
    assert not {PAD_ID, UNK_ID, BOS_ID, EOS_ID} & set(ids)


@settings(max_examples=50)
@given(st.text().map(normalise), st.integers(0, 2**40), st.sampled_from(MODELS))
def test_sampled_subwords_spell_the_same_text(text: str, seed: int, model: Subword) -> None:
    assert model.decode(model.encode_sampled([text], sampling=0.3, seed=seed)) == [text]


def test_sampling_depends_on_the_seed_and_on_nothing_else(model: Subword) -> None:
    first = model.encode_sampled(SENTENCES, sampling=0.3, seed=7)
    model.encode_sampled(SENTENCES[:11], sampling=0.5, seed=8)
    assert model.encode_sampled(SENTENCES, sampling=0.3, seed=7) == first
    assert model.encode_sampled(SENTENCES, sampling=0.3, seed=9) != first
    assert first != model.encode(SENTENCES)


def test_special_ids_say_nothing_and_have_fixed_places(model: Subword) -> None:
    ids = model.encode(["apples in Berlin"])[0]
    assert model.decode([[BOS_ID, *ids, EOS_ID, PAD_ID, PAD_ID]]) == ["apples in Berlin"]
    assert model.pieces([PAD_ID, UNK_ID, BOS_ID, EOS_ID]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert model.decode(np.array([[PAD_ID, *ids]], np.uint16)) == ["apples in Berlin"]  # type: ignore[arg-type]
    assert model.decode([]) == []


def test_a_line_break_that_a_model_spells_in_bytes_stays_on_the_line(model: Subword) -> None:
    pieces = model.pieces(range(model.vocab_size))
    ids = [pieces.index(piece) for piece in ("<0x0A>", "<0x0D>", "<0x00>")]
    assert model.decode([ids, [pieces.index("<0xFF>")]]) == ["   ", "\ufffd"]


def test_symbols_are_one_piece(model: Subword) -> None:
    pieces = model.pieces(model.encode(["<2zh> apples⟦x⟧"])[0])
    assert {"<2zh>", "⟦x⟧"} < set(pieces)
    assert model.has_bytes
    assert model.is_byte().sum() == 256


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_equal_texts_give_equal_models_and_nothing_is_printed(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    config = TokenizerConfig(kind=kind, vocab_size=325, character_coverage=1.0)  # type: ignore[arg-type]
    assert train_subword(lambda: SENTENCES, config)[0] == train_subword(lambda: iter(SENTENCES), config)[0]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_vocabulary_too_large_for_the_text_becomes_the_largest_possible(kind: str) -> None:
    config = TokenizerConfig(kind=kind, vocab_size=5000)  # type: ignore[arg-type]
    _, model = train_subword(lambda: SENTENCES[:7], config)
    assert 260 < model.vocab_size < 1000
    assert model.decode(model.encode(SENTENCES)) == SENTENCES


def test_a_vocabulary_too_small_for_the_characters_says_how_large_it_must_be() -> None:
    characters = ["".join(map(chr, range(0x4E00, 0x4E00 + 300)))]
    with pytest.raises(ConfigError, match=r"vocab_size is 400, the text has 5\d\d .* use more, for example 15\d\d"):
        train_subword(lambda: characters, TokenizerConfig(vocab_size=400, character_coverage=1.0))


def test_no_text_is_an_error() -> None:
    with pytest.raises(DataError, match="no text is left to learn subwords from"):
        train_subword(list, TokenizerConfig())


def test_what_sentencepiece_cannot_do_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**kwargs: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", fail)
    with pytest.raises(
        DataError, match="cannot learn 8000 subwords from this text: out of luck; try another vocab_size"
    ):
        train_subword(lambda: SENTENCES, TokenizerConfig())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vocab_size": 260}, "vocab_size is 260; use more than 260"),
        ({"vocab_size": 2_000_000}, "vocab_size is 2000000"),
        ({"character_coverage": 0.5}, "character_coverage is 0.5; use 0.98 to 1.0"),
        ({"sample_pairs": 0}, "sample_pairs is 0; use at least 1"),
        ({"sampling": 1.0}, r"sampling is 1.0; use 0 \(off\)"),
        ({"symbols": ("a b",)}, "symbols holds 'a b'; a symbol is normalised text without spaces"),
        ({"symbols": ("<s>",)}, "symbols holds '<s>', which SentencePiece uses itself"),
        ({"symbols": ("<0x0A>",)}, "symbols holds '<0x0A>', which SentencePiece uses itself"),
        ({"symbols": ("<a>", "<a>")}, "names a symbol or placeholder twice; remove one"),
        ({"symbols": ("⟦1⟧",), "placeholders": 2}, r"\['⟦1⟧'\] names a symbol or placeholder twice"),
        ({"model": "a.model", "shared": False}, "tokenizer.model 'a.model' is used as it is"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TokenizerConfig(**wrong)  # type: ignore[arg-type]


def test_files_that_are_no_model_of_ours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"none.spm cannot be read \(No such file"):
        Subword.load(tmp_path / "none.spm")
    (tmp_path / "torn.spm").write_bytes(random.Random(0).randbytes(100))
    with pytest.raises(CheckpointError, match=r"torn\.spm is no SentencePiece model"):
        Subword.load(tmp_path / "torn.spm")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(tmp_path / "other"), vocab_size=50, minloglevel=2
    )
    with pytest.raises(
        CheckpointError, match=r"special ids pad, unk, bos, eos \(-1, 0, 1, 2\), ours are \(0, 1, 2, 3\)"
    ):
        Subword.load(tmp_path / "other.model")


def test_the_manual_says_what_a_vocabulary_from_elsewhere_must_have_been_trained_with() -> None:
    options = f"--pad_id={PAD_ID} --unk_id={UNK_ID} --bos_id={BOS_ID} --eos_id={EOS_ID}"
    for language in ("en", "zh"):
        assert options in (Path(__file__).parents[2] / "docs" / language / "compare.md").read_text("utf-8")


def test_a_model_is_not_pickled_by_accident(model: Subword) -> None:
    with pytest.raises(TypeError, match="Subword is read from its file in every process"):
        pickle.dumps(model)
