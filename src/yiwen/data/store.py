"""The prepared corpus on disk: Arrow IPC files, memory-mapped, subword ids ready as numpy slices.

    runs/.prepared/FINGERPRINT/
      prepared.json          languages, corpora and their shares, tokenizer
      report.json            what was read, kept and dropped
      train-00000.arrow ...  shards of at most two million pairs: src_ids, tgt_ids, corpus, line (src_text, tgt_text)
      valid.arrow test.arrow raw held-out lines, those of more tests in test-*.arrow
      shared.spm             or source.spm and target.spm
      manifest.json          SHA-256 of all the others, written last

The ids carry neither bos nor eos. Reading a row touches only its own bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from yiwen.config import read_stored
from yiwen.data.corpus import Targets, place
from yiwen.errors import CheckpointError, DataError
from yiwen.files import verify_manifest, write_json
from yiwen.text.chinese import rewritten
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword, TokenizerConfig

FORMAT: Final = 1
"""Raised whenever equal inputs and settings would give another store."""
SHARD_ROWS: Final = 2_000_000
Side = Literal["src", "tgt"]
_INFO = "prepared.json"


class TextPairs(NamedTuple):
    """Held-out text, line for line as it was given; a store gives the targets normalised, as models write."""

    src: list[str]
    tgt: list[str]

    def only(self, is_kept: list[bool]) -> TextPairs:
        """Those for which it is true."""
        return TextPairs(list(compress(self.src, is_kept)), list(compress(self.tgt, is_kept)))

    def normalised(self, src_lang: str, tgt_lang: str = "") -> TextPairs:
        """Both sides as a model reads them; Chinese in the script of its language, targets where that is given."""
        src = [rewritten(normalise(text), src_lang) for text in self.src]
        tgt = [rewritten(normalise(text), tgt_lang) for text in self.tgt]
        return TextPairs(src, tgt)


@dataclass(frozen=True, kw_only=True)
class StoreInfo:
    """What `prepared.json` says."""

    fingerprint: str
    src_lang: str
    tgt_lang: str
    corpora: tuple[tuple[str, ...], ...]
    """File names of each corpus."""
    corpus_weights: tuple[float, ...]
    tokenizer: TokenizerConfig
    source_model: str
    """File name of the source's SentencePiece model inside the folder."""
    target_model: str
    targets: Targets = "text"
    labels: tuple[str, ...] = ()
    """All labels or tags, in the order of their numbers, which start from 1."""
    format: int = FORMAT


class Store:
    """A prepared corpus, opened for reading. Rows are numbered from 0 through all shards.

    Attributes:
        folder: Where it lies.
        fingerprint: Hash of the inputs and settings it was made from.
        src_lang, tgt_lang: The languages.
        corpus_weights: Sampling share of each corpus, sums to 1.
        source, target: The subword models, the same object where the vocabulary is shared.
        source_model, target_model: Their files.
        tokenizer: How they were learnt, and whether to sample.
        targets, labels: What the targets are, and the labels in the order of their numbers, from 1.
        src_lengths, tgt_lengths: Subwords of each row, eos not counted, (N,), int32.
        corpus: Index of the corpus each row came from, (N,), uint8.
    """

    def __init__(self, folder: Path, info: StoreInfo, batches: list[Any]) -> None:
        self.folder = folder
        self.fingerprint = info.fingerprint
        self.src_lang, self.tgt_lang = info.src_lang, info.tgt_lang
        self.corpus_weights = info.corpus_weights
        self.tokenizer = info.tokenizer
        self.targets, self.labels = info.targets, info.labels
        self.source_model, self.target_model = folder / info.source_model, folder / info.target_model
        self.source = Subword.load(self.source_model)
        self.target = self.source if info.source_model == info.target_model else Subword.load(self.target_model)
        self._corpora = info.corpora
        self._batches = batches
        self._starts = np.cumsum([0] + [batch.num_rows for batch in batches])
        self._src, self._tgt = (_Ragged.of(batches, name) for name in ("src_ids", "tgt_ids"))
        self.src_lengths, self.tgt_lengths = self._src.lengths(), self._tgt.lengths()
        self.corpus = np.concatenate([batch.column("corpus").to_numpy() for batch in batches])

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open a folder that `prepare` published.

        Raises:
            CheckpointError: If it is not whole, has changed, lies where `prepare` keeps another one, or was written by
                another version.
        """
        verify_manifest(folder)
        info = read_info(folder)
        if folder.parent.name == ".prepared" and folder.name != info.fingerprint:
            raise CheckpointError(f"{folder} holds {info.fingerprint}; run `yiwen prepare` again, with its recipe")
        shards = map(mapped, sorted(folder.glob("train-*.arrow")))
        return cls(folder, info, [shard.get_batch(i) for shard in shards for i in range(shard.num_record_batches)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def src_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        """Source ids of the rows, views into the file, no eos."""
        return self._src.take(self._places(rows))

    def tgt_ids(self, rows: np.ndarray) -> list[np.ndarray]:
        """Target ids of the rows, views into the file, no eos."""
        return self._tgt.take(self._places(rows))

    def texts(self, rows: np.ndarray, side: Side) -> list[str]:
        """Cleaned text of one side of the rows.

        Raises:
            DataError: If the store has none, because its subwords are not sampled.
        """
        if "src_text" not in self._batches[0].schema.names:
            raise DataError(f"{self.folder} holds no text, only ids; set tokenizer.sampling above 0 and prepare again")
        return [self._batches[batch].column(f"{side}_text")[row].as_py() for batch, row in self._places(rows)]

    def where(self, row: int) -> str:
        """File and line that a row was read from, e.g. "train.en.gz line 123"."""
        ((batch, offset),) = self._places(np.array([row]))
        paths = tuple(Path(name) for name in self._corpora[self.corpus[row]])
        return place(paths, self._batches[batch].column("line")[offset].as_py())

    @cached_property
    def valid(self) -> TextPairs:
        """The validation text, not cleaned; may be empty."""
        return _read_text(self.folder / "valid.arrow")

    @cached_property
    def test(self) -> TextPairs:
        """The test text, not cleaned; may be empty."""
        return _read_text(self.folder / "test.arrow")

    @cached_property
    def more_tests(self) -> dict[str, TextPairs]:
        """The other test texts by name, not cleaned."""
        return {path.stem: _read_text(path) for path in sorted(self.folder.glob("test-*.arrow"))}

    def _places(self, rows: np.ndarray) -> Iterator[tuple[int, int]]:
        """Batch of each row and its place inside."""
        batch = np.searchsorted(self._starts, rows, side="right") - 1
        return zip(batch.tolist(), (rows - self._starts[batch]).tolist(), strict=True)


class _Ragged(NamedTuple):
    """One list column as numpy views: row r of batch b is values[b][offsets[b][r] : offsets[b][r + 1]]."""

    offsets: list[np.ndarray]
    values: list[np.ndarray]

    @classmethod
    def of(cls, batches: list[Any], name: str) -> _Ragged:
        columns = [batch.column(name) for batch in batches]
        return cls([column.offsets.to_numpy() for column in columns], [column.values.to_numpy() for column in columns])

    def lengths(self) -> np.ndarray:
        return np.concatenate([np.diff(offsets) for offsets in self.offsets]).astype(np.int32)

    def take(self, places: Iterable[tuple[int, int]]) -> list[np.ndarray]:
        offsets, values = self.offsets, self.values
        return [values[batch][offsets[batch][row] : offsets[batch][row + 1]] for batch, row in places]


def write_shards(folder: Path, batches: Iterable[Any], *, shard_rows: int = SHARD_ROWS) -> None:
    """Write record batches to `train-00000.arrow` and so on."""
    shard, rows = 0, shard_rows  # full: the first batch opens a shard
    with ExitStack() as opened:
        for batch in batches:
            if rows + batch.num_rows > shard_rows:
                opened.close()
                writer = opened.enter_context(pa.ipc.new_file(str(folder / f"train-{shard:05}.arrow"), batch.schema))
                shard, rows = shard + 1, 0
            writer.write_batch(batch)
            rows += batch.num_rows


def write_text(path: Path, pairs: TextPairs) -> None:
    """Write held-out text."""
    table = pa.table({"src": pa.array(pairs.src, pa.string()), "tgt": pa.array(pairs.tgt, pa.string())})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def write_info(folder: Path, info: StoreInfo) -> None:
    """Write `prepared.json`."""
    write_json(folder / _INFO, asdict(info))


def read_info(folder: Path) -> StoreInfo:
    """Read `prepared.json`.

    Raises:
        CheckpointError: If it is not one of ours, or of another version.
    """
    return read_stored(StoreInfo, folder / _INFO, remedy="run `yiwen prepare` again", version="format")


def mapped(path: Path) -> Any:
    """A reader of an Arrow file, of which only what is looked at is read."""
    return pa.ipc.open_file(pa.memory_map(str(path)))


def _read_text(path: Path) -> TextPairs:
    src, tgt = (column.to_pylist() for column in mapped(path).read_all().columns)
    return TextPairs(src, [normalise(text) for text in tgt])
