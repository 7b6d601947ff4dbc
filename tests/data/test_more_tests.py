"""Several tests, several corpora of one file name: each is told from the others, and none is trained on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from made_text import pair, run, write

from yiwen.data.config import DataConfig, more_tests
from yiwen.data.corpus import CorpusConfig, Targets
from yiwen.data.fingerprint import fingerprint_of
from yiwen.data.store import Store
from yiwen.text.subword import TokenizerConfig


def test_tests_are_called_after_their_folder_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTS", "data/wiki")
    corpora = tuple(
        CorpusConfig(src=f"{name}.en", tgt=f"{name}.zh")
        for name in ("data/ted/dev", "data/news/dev", "other/ted/dev", "x", "${TEXTS}/dev")
    )
    data = DataConfig(src_lang="en", tgt_lang="zh", corpora=(CorpusConfig(path="a.tsv"),), more_tests=corpora)
    assert list(more_tests(data)) == ["test-ted-dev", "test-news-dev", "test-ted-dev-again", "test-x", "test-wiki-dev"]


def test_each_test_is_kept_as_it_is_and_out_of_training(tmp_path: Path) -> None:
    pairs = [pair(n) for n in range(60)]
    train = write(tmp_path, "train", pairs)
    tests = (write(tmp_path, "one", pairs[3:7]), write(tmp_path, "two", [*pairs[50:53], pair(99)]))
    prepared = run(tmp_path, train, more_tests=tests)
    store = Store.open(prepared.folder)
    assert list(store.more_tests) == ["test-one", "test-two"]
    assert [list(zip(*text, strict=True)) for text in store.more_tests.values()] == [
        pairs[3:7],
        [*pairs[50:53], pair(99)],
    ]
    assert {drop.reason: drop.count for drop in prepared.report.dropped} == {"held-out overlap": 7}
    assert len(store) == 53
    assert store.test.src == []


def test_other_tests_make_another_store(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(9)])
    data = DataConfig(src_lang="en", tgt_lang="xx", corpora=(corpus,))
    tokenizer = TokenizerConfig()
    plain = fingerprint_of(data, tokenizer, base=tmp_path)
    other = DataConfig(src_lang="en", tgt_lang="xx", corpora=(corpus,), more_tests=(corpus,))
    assert fingerprint_of(other, tokenizer, base=tmp_path) != plain


@pytest.mark.parametrize("given", ["valid", "test", "more_tests"])
def test_another_column_of_held_out_text_makes_another_store(given: str, tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(9)])
    (tmp_path / "t.tsv").write_text("src\ttgt\tother\nOne.\t.enO\tUn.\n", encoding="utf-8")
    found = set()
    for column in ("tgt", "other"):
        held_out = CorpusConfig(path="t.tsv", tgt_column=column)
        settings: Any = {given: (held_out,) if given == "more_tests" else held_out}
        data = DataConfig(src_lang="en", tgt_lang="xx", corpora=(corpus,), **settings)
        found.add(fingerprint_of(data, TokenizerConfig(), base=tmp_path))
    assert len(found) == 2


def test_another_version_of_what_learns_subwords_makes_another_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(9)])
    data = DataConfig(src_lang="en", tgt_lang="xx", corpora=(corpus,))
    before = fingerprint_of(data, TokenizerConfig(), base=tmp_path)
    monkeypatch.setattr("sentencepiece.__version__", "7.11")
    assert fingerprint_of(data, TokenizerConfig(), base=tmp_path) != before


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "targets", "is_named"),
    [("zh", "en", "text", True), ("en", "zh", "text", False), ("en", "zh", "read", True), ("en", "de", "read", False)],
)
def test_a_store_is_named_by_how_chinese_is_rewritten_where_it_is(
    src_lang: str, tgt_lang: str, targets: Targets, is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are still found when that changes."""
    hashed: list[str] = []
    dumps = json.dumps
    monkeypatch.setattr("json.dumps", lambda value, **how: hashed.append(dumps(value, **how)) or hashed[-1])
    data = DataConfig(src_lang=src_lang, tgt_lang=tgt_lang, corpora=(write(tmp_path, "train", [pair(1)]),))
    fingerprint_of(data, TokenizerConfig(), base=tmp_path, targets=targets)
    assert ["tw2s" in text for text in hashed] == [is_named]


def test_entities_that_are_read_as_characters_make_another_store(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(9)])
    read = dataclasses.replace(corpus, unescape=True)
    plain = DataConfig(src_lang="en", tgt_lang="xx", corpora=(corpus,), valid=corpus, test=corpus, more_tests=(corpus,))
    others = [
        dataclasses.replace(plain, corpora=(read,)),
        dataclasses.replace(plain, valid=read),
        dataclasses.replace(plain, test=read),
        dataclasses.replace(plain, more_tests=(read,)),
    ]
    assert len({fingerprint_of(data, TokenizerConfig(), base=tmp_path) for data in (plain, *others)}) == 5


def test_much_text_that_is_dropped_as_markup_is_told_with_what_mends_it(tmp_path: Path) -> None:
    note = "rows were dropped as markup; where that is entities such as &amp; or &apos;, unescape = true beside"
    for every, n_dropped, is_told in ((10, 6, False), (9, 7, True)):
        pairs = [pair(n) for n in range(60)]
        pairs[::every] = [(src, f"{tgt} l&apos;un") for src, tgt in pairs[::every]]
        corpus = write(tmp_path, f"train{every}", pairs)
        report = run(tmp_path, corpus).report
        assert {drop.reason: drop.count for drop in report.dropped}["markup"] == n_dropped
        assert any(f"{n_dropped} of 60 {note}" in each for each in report.notes) == is_told
        assert not run(tmp_path, dataclasses.replace(corpus, unescape=True)).report.dropped


def test_entities_of_held_out_text_are_read_as_characters(tmp_path: Path) -> None:
    train = write(tmp_path, "train", [pair(n) for n in range(60)])
    escaped = write(tmp_path, "dev", [("Tom &amp; Mary", "Tom &#38; Mary"), ("one&#10;line", "&quot;one&quot;")])
    store = Store.open(run(tmp_path, train, valid=dataclasses.replace(escaped, unescape=True)).folder)
    assert (store.valid.src, store.valid.tgt) == (["Tom & Mary", "one line"], ["Tom & Mary", '"one"'])


def test_entities_that_are_characters_in_training_alone_are_told(tmp_path: Path) -> None:
    """A model would be measured on text of another kind than it learns, and pairs of it would be trained on."""
    pairs = [(f"{src} &amp; so", f"{tgt} &amp; so") for src, tgt in map(pair, range(60))]
    train = dataclasses.replace(write(tmp_path, "train", pairs), unescape=True)
    dev = write(tmp_path, "dev", [*pairs[:7], pair(99)])
    note = "valid: 14 lines hold &amp; or the like; unescape = true, as in a corpus, reads them"
    for is_read in (False, True):
        notes = run(tmp_path, train, valid=dataclasses.replace(dev, unescape=is_read)).report.notes
        assert (note in notes) != is_read
    assert note not in run(tmp_path, dataclasses.replace(train, unescape=False), valid=dev).report.notes


def test_corpora_of_one_file_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    corpora = []
    for name, rows in (("one", range(20)), ("two", range(20, 31))):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "train", [pair(n) for n in rows])
        corpora.append(CorpusConfig(src=f"{name}/train.en", tgt=f"{name}/train.xx"))
    report = run(tmp_path, *corpora).report
    assert report.corpora == (("one/train.en", 20, 20), ("two/train.en", 11, 11))
