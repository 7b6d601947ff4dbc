"""The store: rows by number through batches and shards, views without copies, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from yiwen.data.stages import _ids_type
from yiwen.data.store import FORMAT, Store, StoreInfo, TextPairs, write_info, write_shards, write_text
from yiwen.errors import CheckpointError, DataError
from yiwen.files import new_folder
from yiwen.text.subword import TokenizerConfig, train_subword

N = 23
LENGTHS = [1 + n % 5 for n in range(N)]
EMPTY = TextPairs([], [])


def batch(start: int, end: int, with_text: bool) -> pa.RecordBatch:
    """Rows start to end: row n has n % 5 + 1 times the source id n, and one target id 300 + n."""
    rows = range(start, end)
    columns = {
        "src_ids": pa.array([[n] * LENGTHS[n] for n in rows], pa.list_(pa.uint16())),
        "tgt_ids": pa.array([[300 + n] for n in rows], pa.list_(pa.uint16())),
        "corpus": pa.array([n % 2 for n in rows], pa.uint8()),
        "line": pa.array([n + 1 for n in rows], pa.uint32()),
    }
    if with_text:
        columns |= {"src_text": pa.array([f"s{n}" for n in rows]), "tgt_text": pa.array([f"t{n}" for n in rows])}
    return pa.record_batch(columns)


def written(path: Path, *, with_text: bool = True, test: TextPairs = EMPTY) -> Path:
    """Four batches in three shards."""
    config = TokenizerConfig(kind="bpe", vocab_size=300, symbols=("<x>",))
    with new_folder(path) as folder:
        parts = [batch(start, end, with_text) for start, end in ((0, 7), (7, 9), (9, 20), (20, N))]
        write_shards(folder, parts, shard_rows=11)
        write_text(folder / "valid.arrow", TextPairs(["a\u2028", ""], ["b", "\ufffd"]))
        write_text(folder / "test.arrow", test)
        write_text(folder / "test-more.arrow", test)
        (folder / "shared.spm").write_bytes(train_subword(lambda: ["some text to learn from"] * 9, config)[0])
        info = StoreInfo(
            fingerprint="f", src_lang="en", tgt_lang="zh", corpora=(("a.en", "a.zh"), ("b.tmx",)),
            corpus_weights=(0.25, 0.75), tokenizer=config, source_model="shared.spm", target_model="shared.spm",
        )  # fmt: skip
        write_info(folder, info)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(written(tmp_path / "store"))


def test_rows_are_found_through_batches_and_shards(store: Store) -> None:
    assert len(list(store.folder.glob("train-*.arrow"))) == 3
    rows = np.array([22, 0, 9, 8, 7, 19, 20, 0])
    assert [ids.tolist() for ids in store.src_ids(rows)] == [[n] * LENGTHS[n] for n in rows.tolist()]
    assert [ids.tolist() for ids in store.tgt_ids(rows)] == [[300 + n] for n in rows.tolist()]
    assert store.texts(rows, "src") == [f"s{n}" for n in rows]
    assert store.texts(rows, "tgt") == [f"t{n}" for n in rows]


def test_columns_cover_all_rows(store: Store) -> None:
    assert len(store) == N
    assert store.src_lengths.tolist() == LENGTHS
    assert store.tgt_lengths.tolist() == [1] * N
    assert store.src_lengths.dtype == np.int32
    assert store.corpus.tolist() == [n % 2 for n in range(N)]
    assert store.corpus.dtype == np.uint8


def test_ids_are_views_into_the_file(store: Store) -> None:
    first, again = (store.src_ids(np.array([21]))[0] for _ in range(2))
    assert first.dtype == np.uint16
    assert np.shares_memory(first, again)
    assert not first.flags.writeable


def test_everything_else_comes_back(store: Store) -> None:
    assert [store.where(row) for row in (0, 1, 22)] == ["a.en line 1", "b.tmx unit 2", "a.en line 23"]
    assert store.valid == (["a\u2028", ""], ["b", "\ufffd"])
    assert store.test == ([], [])
    assert (store.fingerprint, store.src_lang, store.tgt_lang) == ("f", "en", "zh")
    assert store.corpus_weights == (0.25, 0.75)
    assert store.source is store.target
    assert store.tokenizer == TokenizerConfig(kind="bpe", vocab_size=300, symbols=("<x>",))


def test_held_out_targets_are_as_models_write_and_sources_are_as_given(tmp_path: Path) -> None:
    given = ["cafe\u0301", "\u095c ", "\uff0cＡ", "a\u00adb"]  # of macOS; of Hindi; not to be rewritten; not seen
    store = Store.open(written(tmp_path / "store", test=TextPairs(given, given)))
    assert store.test == store.more_tests["test-more"] == (given, ["caf\u00e9", "\u0921\u093c", "\uff0cＡ", "ab"])


def test_a_store_without_text_says_what_to_do(tmp_path: Path) -> None:
    store = Store.open(written(tmp_path / "store", with_text=False))
    with pytest.raises(DataError, match=r"holds no text, only ids; set tokenizer.sampling above 0"):
        store.texts(np.array([0]), "src")


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no manifest\.json"):
        Store.open(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": FORMAT + 1}, rf"has format {FORMAT + 1}, this yiwen reads {FORMAT}; run `yiwen prepare` again"),
        ({"tokenizer": None}, r"prepared\.json: tokenizer(.|\n)*; run `yiwen prepare` again"),
        ({"surplus": 1}, r"prepared\.json: surplus is not a setting"),
    ],
)
def test_a_store_of_another_version_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = written(tmp_path / "store")
    fields = json.loads((path / "prepared.json").read_text(encoding="utf-8")) | change
    with new_folder(tmp_path / "other") as other:
        (other / "prepared.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(CheckpointError, match=message):
        Store.open(tmp_path / "other")


def test_ids_take_two_bytes_each_where_all_of_the_vocabulary_fit() -> None:
    assert [_ids_type(vocab_size).value_type for vocab_size in (65_536, 65_537)] == [pa.uint16(), pa.uint32()]


def test_no_shard_holds_more_rows_than_it_may(tmp_path: Path) -> None:
    for end, n_shards in ((11, 1), (12, 2)):
        (folder := tmp_path / str(end)).mkdir()
        write_shards(folder, [batch(0, 7, False), batch(7, end, False)], shard_rows=11)
        assert len(list(folder.iterdir())) == n_shards
