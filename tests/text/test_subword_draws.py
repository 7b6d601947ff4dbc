"""Words cut at random: SentencePiece's own rules, the probabilities of the papers, the same draws in every process."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from yiwen.text.normalise import normalise
from yiwen.text.sampling import SubwordSampler
from yiwen.text.subword import Subword, TokenizerConfig, train_subword

SENTENCES = [
    f"{who} {verb} the {what} in {where}."
    for who in ("The man", "A woman", "Her brother", "我们的朋友", "Das kleine Kind")
    for verb in ("buys", "sees", "卖了", "verliert", "painted")
    for what in ("apples", "苹果和香蕉", "Äpfel", "running dogs")
    for where in ("Berlin", "北京大学", "London")
]
CONTENT = {
    kind: train_subword(
        lambda: SENTENCES,
        TokenizerConfig(kind=kind, vocab_size=360, symbols=("<2zh>", "<2"), character_coverage=0.99),  # type: ignore[arg-type]
    )[0]
    for kind in ("bpe", "unigram")
}
REAL = {kind: sentencepiece.SentencePieceProcessor(model_proto=content) for kind, content in CONTENT.items()}
WORDS = st.lists(st.sampled_from([*" ".join(SENTENCES), "<2zh>", "<2", "ж", "𠀀", "  "]), max_size=31)
TEXTS = st.one_of(WORDS.map("".join), st.sampled_from(SENTENCES), st.text()).map(normalise)


class Pieces:
    """A made-up model: pieces with scores, and nothing else."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.pieces = list(scores)
        self.scores = list(scores.values())

    def get_piece_size(self) -> int:
        return len(self.pieces)

    def id_to_piece(self, number: int) -> str:
        return self.pieces[number]

    def piece_to_id(self, piece: str) -> int:
        return self.pieces.index(piece) if piece in self.pieces else -1

    def get_score(self, number: int) -> float:
        return self.scores[number]

    def is_unknown(self, number: int) -> bool:
        return False

    is_control = is_byte = is_unused = is_unknown


def drawn(sampler: SubwordSampler, word: str, n: int) -> dict[str, float]:
    """Share of each way to cut a word among n draws."""
    numbers = Counter(sampler._cut(word, way) for way in range(n))
    pieces = {number: piece for piece, number in sampler._ids.items()}
    return {" ".join(pieces[number] for number in way): count / n for way, count in numbers.items()}


@given(TEXTS)
def test_bpe_that_skips_nothing_is_sentencepieces(text: str) -> None:
    assert SubwordSampler(REAL["bpe"], 0.0).encode([text], 1) == [REAL["bpe"].encode(text)]


@given(TEXTS)
def test_unigram_with_a_large_alpha_finds_a_best_way(text: str) -> None:
    real = REAL["unigram"]
    (ids,) = SubwordSampler(real, 1e6).encode([text], 1)
    best = real.encode(text)  # ties may be cut another way
    assert real.decode(ids) == real.decode(best)
    assert sum(map(real.get_score, ids)) == pytest.approx(sum(map(real.get_score, best)), abs=1e-3)


def test_unigram_draws_every_way_in_proportion_to_its_probability_to_the_alpha() -> None:
    scores = {"▁": -3.0, "a": -2.0, "b": -2.5, "▁a": -3.5, "ab": -4.5, "▁ab": -4.2}
    ways = {"▁ a b": -7.5, "▁a b": -6.0, "▁ ab": -7.5, "▁ab": -4.2}
    for alpha in (0.1, 0.7):
        weights = {way: math.exp(alpha * score) for way, score in ways.items()}
        n = 4001
        shares = drawn(SubwordSampler(Pieces(scores), alpha), "▁ab", n)
        for way, weight in weights.items():
            expected = weight / sum(weights.values())
            assert shares[way] == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / n))


def test_bpe_skips_a_merge_with_the_given_probability() -> None:
    # a+b ranks before ▁+a: without a skip ab is made first. Skipped (0.3), ▁a may be made in its place (0.7).
    n = 4001
    shares = drawn(SubwordSampler(Pieces({"▁": -9.0, "a": -9.0, "b": -9.0, "ab": -1.0, "▁a": -2.0}), 0.3), "▁ab", n)
    for way, expected in {"▁ ab": 0.7, "▁a b": 0.3 * 0.7, "▁ a b": 0.3 * 0.3}.items():
        assert shares[way] == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / n))


@pytest.mark.parametrize("kind", REAL)
def test_symbols_are_never_cut_and_the_longer_one_wins(kind: str) -> None:
    subword = Subword.from_bytes(CONTENT[kind])
    symbol, short = (REAL[kind].piece_to_id(piece) for piece in ("<2zh>", "<2"))
    for seed in range(31):
        (ids,) = subword.encode_sampled(["a<2zh>b <2z"], sampling=0.9, seed=seed)
        assert (ids.count(symbol), ids.count(short)) == (1, 1)


@pytest.mark.parametrize("kind", REAL)
def test_words_are_cut_in_many_ways_short_or_long(kind: str) -> None:
    subword = Subword.from_bytes(CONTENT[kind])
    long = "verliertpainted" * 200
    for text, fewest in (("verliert", 2), (long, 11)):
        ways = {tuple(subword.encode_sampled([text], sampling=0.5, seed=seed)[0]) for seed in range(11)}
        assert len(ways) >= fewest
        assert {*subword.decode(list(ways))} == {text}


def test_pieces_that_hold_spaces_are_found_too() -> None:
    scores = {"▁": -3.0, "a": -2.0, "▁a": -3.5, "a▁a": -2.1, "▁a▁a": -2.2}
    shares = drawn(SubwordSampler(Pieces(scores), 1.0), "▁a▁a", 401)
    assert {"▁a▁a", "▁ a▁a", "▁a ▁a"} <= set(shares)
    assert SubwordSampler(Pieces(scores), 1.0)._words.findall("▁a▁a") == ["▁a▁a"]


def test_another_process_draws_the_same(tmp_path: Path) -> None:
    program = """
import hashlib, sys
from pathlib import Path
from yiwen.text.subword import Subword
ids = Subword.load(Path(sys.argv[1])).encode_sampled(sys.argv[2:], sampling=0.3, seed=7)
print(hashlib.sha256(repr(ids).encode()).hexdigest())
"""
    for kind, content in CONTENT.items():
        path = tmp_path / f"{kind}.spm"
        path.write_bytes(content)
        ids = Subword.load(path).encode_sampled(SENTENCES[:61], sampling=0.3, seed=7)
        command = [sys.executable, "-c", program, str(path), *SENTENCES[:61]]
        environment = {**os.environ, "PYTHONHASHSEED": "5"}
        found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True).stdout
        assert found.strip() == hashlib.sha256(repr(ids).encode()).hexdigest()
