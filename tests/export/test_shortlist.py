"""Shortlists: what the text says a subword becomes is allowed, in the form that the engine reads."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tiny_model import TinyRun
from yiwen.bundle import EXPORTED, Bundle, open_bundle
from yiwen.data import lexical
from yiwen.data.store import Store
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.errors import CheckpointError, ExportError
from yiwen.export import shortlist as module
from yiwen.export import verify
from yiwen.export.ctranslate2 import export_ctranslate2, print_report
from yiwen.export.shortlist import FILE, Shortlist, add_shortlist, build_shortlist, write_shortlist
from yiwen.files import verify_manifest
from yiwen.search.config import SearchConfig
from yiwen.text.subword import BOS_ID, EOS_ID, UNK_ID, Subword, TokenizerConfig, train_subword


class Text:
    """Stands in for a Store: every source word becomes the same target word, in the opposite order."""

    def __init__(self, vocabulary: Subword, pairs: list[tuple[list[int], list[int]]]) -> None:
        self.source = self.target = vocabulary
        self._pairs = [(np.array(src, np.uint16), np.array(tgt, np.uint16)) for src, tgt in pairs]
        self.src_lengths = np.array([len(src) for src, _ in pairs], np.int32)
        self.tgt_lengths = np.array([len(tgt) for _, tgt in pairs], np.int32)

    def __len__(self) -> int:
        return len(self._pairs)

    def src_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        return [self._pairs[row][0] for row in rows]

    def tgt_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        return [self._pairs[row][1] for row in rows]


@pytest.fixture(scope="module")
def vocabulary() -> Subword:
    words = ["alpha beta gamma delta epsilon zeta, omega! 7"] * 9
    return train_subword(lambda: words, TokenizerConfig(kind="bpe", vocab_size=300))[1]


@pytest.fixture
def words(vocabulary: Subword) -> dict[int, int]:
    """What each of ten source subwords becomes; all of them have letters."""
    pieces = vocabulary.pieces(range(300))
    letters = [index for index in range(260, 300) if any(char.isalpha() for char in pieces[index])]
    return dict(zip(letters[:10], letters[10:20], strict=True))


@pytest.fixture
def text(vocabulary: Subword, words: dict[int, int]) -> Text:
    draw = np.random.default_rng(1)
    sources = [draw.choice(list(words), 3, replace=False).tolist() for _ in range(200)]
    return Text(vocabulary, [(source, [words[word] for word in reversed(source)]) for source in sources])


@pytest.fixture
def store(tiny_run: TinyRun) -> Store:
    return Store.open(tiny_run.runs / ".prepared" / open_bundle(tiny_run.best).info.data_fingerprint)


def rules(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for line in (folder / FILE).read_bytes().decode().removesuffix("\n").split("\n"):
        token, _, names = line.partition("\t")
        yield token, names.split(" ")


def test_model_1_finds_the_word_that_a_word_becomes(text: Text, words: dict[int, int]) -> None:
    shortlist = build_shortlist(text, n_best=1, n_frequent=0)  # type: ignore[arg-type]
    for word, becomes in words.items():
        assert shortlist.allowed[word].tolist() == [becomes, word]  # and itself, as the vocabulary is shared


def test_never_seen_sources_may_only_be_copied(text: Text, words: dict[int, int]) -> None:
    shortlist = build_shortlist(text, n_best=9, n_frequent=0)  # type: ignore[arg-type]
    unseen = next(iter(words.values()))
    assert shortlist.allowed[unseen].tolist() == [unseen]
    assert [shortlist.allowed[special].tolist() for special in range(4)] == [[], [], [], []]


def test_nothing_is_copied_into_a_vocabulary_of_its_own(text: Text, words: dict[int, int]) -> None:
    """The id of a source subword is another word there, or none at all."""
    capitals = ["ALPHA BETA GAMMA DELTA EPSILON ZETA, OMEGA! 7"] * 9
    text.target = train_subword(lambda: capitals, TokenizerConfig(kind="bpe", vocab_size=300))[1]
    shortlist = build_shortlist(text, n_best=1, n_frequent=0)  # type: ignore[arg-type]
    for word, becomes in words.items():
        assert shortlist.allowed[word].tolist() == [becomes]
    unseen = next(iter(words.values()))
    assert shortlist.allowed[unseen].tolist() == []


def test_frequent_targets_bytes_punctuation_and_special_pieces_are_always_allowed(text: Text) -> None:
    shortlist = build_shortlist(text, n_best=1, n_frequent=3)  # type: ignore[arg-type]
    counts = np.bincount(np.concatenate(text.tgt_ids(np.arange(200))))
    always = set(shortlist.always.tolist())
    assert {UNK_ID, BOS_ID, EOS_ID, *np.flatnonzero(text.target.is_byte())} <= always
    assert set(np.argsort(-counts, kind="stable")[:3]) <= always
    pieces = text.target.pieces(range(300))
    assert {index for index, piece in enumerate(pieces) if piece in (",", "!", "7", "▁")} <= always
    assert not {index for index, piece in enumerate(pieces) if piece in ("a", "▁alpha")} & always
    assert not any(set(allowed.tolist()) & always for allowed in shortlist.allowed)  # nothing is said twice


def test_a_word_of_many_meanings_may_become_each_of_them_and_what_is_always_allowed_takes_no_place(
    text: Text, words: dict[int, int]
) -> None:
    word, meanings = next(iter(words)), list(words.values())
    pairs = [([word], [meaning]) for meaning in meanings for _ in range(6 if meaning in meanings[:2] else 2)]
    many: Any = Text(text.source, pairs)
    assert set(build_shortlist(many, n_frequent=0).allowed[word].tolist()) == {*meanings, word}
    shortlist = build_shortlist(many, n_best=5, n_frequent=2)
    assert {*meanings[:2]} < set(shortlist.always.tolist())
    assert len(set(shortlist.allowed[word].tolist()) & {*meanings[2:]}) == 5


def test_large_text_is_sampled_and_the_result_is_always_the_same(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MAX_CELLS", 12 * 50)
    first, again = (build_shortlist(text, n_best=1, n_frequent=0) for _ in range(2))  # type: ignore[arg-type]
    assert all(np.array_equal(a, b) for a, b in zip(first.allowed, again.allowed, strict=True))
    monkeypatch.setattr(lexical, "MAX_CELLS", 1)  # one pair at least
    assert sum(len(allowed) > 1 for allowed in build_shortlist(text, n_frequent=0).allowed) <= 3  # type: ignore[arg-type]


def test_prepared_text_covers_its_own_translations(store: Store) -> None:
    shortlist = build_shortlist(store, n_best=20, n_frequent=20)
    rows = np.arange(len(store))
    pairs = zip(store.src_ids(rows), store.tgt_ids(rows), strict=True)
    always, allowed = shortlist.always, shortlist.allowed
    covered = [np.isin(tgt, np.concatenate([always, *(allowed[word] for word in src)])) for src, tgt in pairs]
    assert np.concatenate(covered).mean() > 0.99


def test_the_file_has_a_line_for_what_is_always_allowed_and_one_for_each_source(
    vocabulary: Subword, tmp_path: Path
) -> None:
    allowed = [np.array([], int)] * 300
    allowed[270], allowed[280] = np.array([271, 272]), np.array([273])
    write_shortlist(tmp_path, Shortlist(np.array([2, 3]), tuple(allowed)), source=vocabulary, target=vocabulary)
    p270, p271, p272, p273, p280 = vocabulary.pieces([270, 271, 272, 273, 280])
    assert list(rules(tmp_path)) == [("", ["<s>", "</s>"]), (p270, [p271, p272]), (p280, [p273])]


def test_sources_are_named_by_their_own_vocabulary_and_targets_by_theirs(
    vocabulary: Subword, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = train_subword(lambda: ["one two"] * 9, TokenizerConfig(kind="bpe", vocab_size=270))[1]
    monkeypatch.setattr(module, "vocabulary", lambda side: ["a", "b"] if side is vocabulary else ["A", "B"])
    write_shortlist(tmp_path, Shortlist(np.array([0]), (np.array([1]),) * 2), source=vocabulary, target=other)
    assert list(rules(tmp_path)) == [("", ["A"]), ("a", ["B"]), ("b", ["B"])]


def test_a_piece_with_a_blank_cannot_be_written_and_is_left_out(
    vocabulary: Subword, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program's subword model may hold one, such as a line break."""
    monkeypatch.setattr(module, "vocabulary", lambda _: ["\n", "a b", "c", "d\t"])
    write_shortlist(tmp_path, Shortlist(np.arange(4), (np.arange(4),) * 4), source=vocabulary, target=vocabulary)
    assert list(rules(tmp_path)) == [("", ["c"]), ("c", ["c"])]


@pytest.fixture
def exported(exported_bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported_bundle / EXPORTED, tmp_path / EXPORTED))


def test_the_engine_translates_as_before_with_a_shortlist_of_its_text(exported: Path, store: Store) -> None:
    sources = [ids.tolist() for ids in store.src_ids(np.arange(20))]
    config = SearchConfig(beam_size=1)
    found = []
    for is_short in (False, True):
        if is_short:
            add_shortlist(exported, store)
        engine = CT2Engine(exported, source=store.source, target=store.target, threads=1, is_new=True)
        found.append([hypotheses[0].ids for hypotheses in engine.search(sources, config=config)])
    assert found[0] == found[1]


def test_the_engine_writes_only_what_the_shortlist_allows(exported: Path, store: Store) -> None:
    """So the file is read as it is meant: by its lines alone."""
    nothing = Shortlist(np.array([EOS_ID]), (np.array([], int),) * store.source.vocab_size)
    write_shortlist(exported, nothing, source=store.source, target=store.target)
    engine = CT2Engine(exported, source=store.source, target=store.target, threads=1, is_new=True)
    ((hypothesis,),) = engine.search([store.src_ids(np.array([0]))[0].tolist()], config=SearchConfig(beam_size=1))
    assert set(hypothesis.ids) <= {UNK_ID, BOS_ID}


def test_a_shortlist_of_other_text_is_refused(exported: Path, text: Text) -> None:
    with pytest.raises(CheckpointError, match="does not hold the 300 subwords of the source in their order"):
        add_shortlist(exported, text)  # type: ignore[arg-type]
    assert not (exported / FILE).exists()


@pytest.fixture
def bundle(tiny_run: TinyRun, tmp_path: Path) -> Bundle:
    """A copy, so that nothing is written into the shared run."""
    return open_bundle(Path(shutil.copytree(tiny_run.best, tmp_path / "best")))


def test_an_export_with_a_shortlist_is_verified_with_it(bundle: Bundle, store: Store) -> None:
    report = export_ctranslate2(bundle, dtype="float32", valid=store.valid, shortlist=store)
    assert (bundle.folder / EXPORTED / FILE).is_file()
    verify_manifest(bundle.folder / EXPORTED)
    assert report.verification["shortlist"]["agreement"] > 0.9
    engine = CT2Engine(bundle.folder / EXPORTED, source=bundle.source, target=bundle.target, threads=1)
    assert engine.description.endswith("with shortlist")
    console = Console(file=io.StringIO(), width=200)
    print_report(report, console)
    assert "  with its shortlist: " in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_shortlist_that_costs_too_much_fails_the_export(
    bundle: Bundle, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_else = Shortlist(np.arange(9), (np.arange(0),) * bundle.source.vocab_size)
    monkeypatch.setattr("yiwen.export.shortlist.build_shortlist", lambda store: nothing_else)
    monkeypatch.setattr(verify, "BLEU_LINES", 10)
    with pytest.raises(ExportError, match=r"it loses .* nothing was written, export without --shortlist"):
        export_ctranslate2(bundle, dtype="float32", valid=store.valid, shortlist=store)
    assert not (bundle.folder / EXPORTED).exists()
