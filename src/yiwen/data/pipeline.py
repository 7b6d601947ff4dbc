"""The steps of `prepare`, from raw blocks to the files of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from yiwen.data import lines
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig, corpus_files, place, read_blocks
from yiwen.data.report import MAX_PLACES, N_EXAMPLES, Example, Report, Tally
from yiwen.data.split import Keys, choose, duplicates, joined, keys_of, overlaps
from yiwen.data.stages import CleanTask, EncodeTask, clean_block, encode_batch, spilled
from yiwen.data.store import StoreInfo, TextPairs, write_info, write_shards, write_text
from yiwen.data.workers import Workers, in_threads
from yiwen.errors import DataError
from yiwen.files import write_bytes
from yiwen.stop import StopFlag
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword, TokenizerConfig, train_subword

_SAMPLE_SEED: Final = 0
_LATER: Final = ("held-out overlap", "duplicate pair", "too many subwords")
"""Reasons that only the whole corpus, or the subwords, can tell."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one run of `prepare` is given."""

    data: DataConfig
    tokenizer: TokenizerConfig
    base: Path
    """Folder that relative paths start from."""
    folder: Path
    """Where the store is written."""
    n_workers: int
    """Worker processes; 1 = none but this one."""
    stop: StopFlag
    tick: Callable[[str, int], None]
    """Told (step, pairs done since) for a progress bar."""

    @property
    def spill(self) -> Path:
        """Clean text on its way from one stage to the next."""
        return self.folder / "spill.arrow"

    @cached_property
    def paths(self) -> list[tuple[Path, ...]]:
        """Files of each corpus."""
        return [corpus_files(corpus, base=self.base) for corpus in self.data.corpora]

    @property
    def names(self) -> list[str]:
        """What each corpus is called in the report: the name of its first file."""
        return [files[0].name for files in self.paths]


@dataclass(frozen=True)
class Intake:
    """All pairs that passed the checks of a single pair, in the order of the corpora."""

    batch_corpus: np.ndarray
    """Index of the corpus of each batch of the spill file, (batches,)."""
    starts: np.ndarray
    """First row of each batch, then the number of rows, (batches + 1,)."""
    n_read: list[int]
    """Pairs read of each corpus."""


@dataclass(frozen=True)
class Split:
    """What becomes of each row of the intake."""

    train: np.ndarray
    """True for rows to train on, (N,)."""
    valid: np.ndarray
    """Row numbers split off for validation."""
    test: np.ndarray
    """Row numbers split off for the test."""


def run(job: Job, fingerprint: str) -> Report:
    """Do all steps and write all files of the store but the report."""
    notes: list[str] = []
    tally = Tally()
    given = {name: _held_out(job, name, corpus, notes) for name, corpus in _given(job.data)}
    with Workers(job.n_workers, job.stop) as workers:
        intake, keys = clean(job, workers, tally)
        split = divide(job, intake, keys, given, tally, notes)
        del keys  # a quarter of a gigabyte for ten million pairs
        _require(split.train.sum(), intake, tally)
        models = learn(job, intake, split, notes)
        figures = encode(job, workers, intake, split, models, tally)
    valid = given.get("valid") or _texts(job, intake, split.valid)
    test = given.get("test") or _texts(job, intake, split.test)
    write_text(job.folder / "valid.arrow", valid)
    write_text(job.folder / "test.arrow", test)
    job.spill.unlink()
    kept = figures.pop("kept")
    _require(sum(kept), intake, tally)
    notes += [
        f"{name}: no pair is left of {n}" for name, n, k in zip(job.names, intake.n_read, kept, strict=True) if not k
    ]
    _write_info(job, fingerprint, models, kept)
    return Report(
        read=sum(intake.n_read),
        kept=sum(kept),
        dropped=tally.dropped(),
        corpora=tuple(zip(job.names, intake.n_read, kept, strict=True)),
        valid_split=len(split.valid),
        test_split=len(split.test),
        valid_pairs=len(valid.src),
        test_pairs=len(test.src),
        notes=tuple(notes),
        **figures,
    )


def clean(job: Job, workers: Workers, tally: Tally) -> tuple[Intake, Keys]:
    """Read and clean all corpora into the spill file; the hashes of its pairs are kept beside."""
    task = CleanTask(job.data.cleaning, job.data.src_lang, job.data.tgt_lang)
    n_read = [0] * len(job.paths)
    keys: list[Keys] = []
    batch_corpus: list[int] = []
    starts = [0]
    corpora: list[int] = []

    def tasks() -> Iterator[tuple[Any, ...]]:
        for index, corpus in enumerate(job.data.corpora):
            for block in read_blocks(corpus, base=job.base, src_lang=task.src_lang, tgt_lang=task.tgt_lang):
                corpora.append(index)
                yield task, block

    schema = pa.schema({"src": pa.string(), "tgt": pa.string(), "line": pa.uint32()})
    with pa.ipc.new_file(str(job.spill), schema) as writer:
        for cleaned, corpus in zip(workers.map(clean_block, tasks()), corpora, strict=False):
            n_read[corpus] += cleaned.n_read
            for reason, count in cleaned.dropped.items():
                found = [
                    Example(where=place(job.paths[corpus], n), src=src, tgt=tgt)
                    for n, src, tgt in cleaned.examples[reason]
                ]
                tally.add(reason, count, found)
            writer.write_batch(cleaned.batch)
            keys.append(cleaned.keys)
            batch_corpus.append(corpus)
            starts.append(starts[-1] + cleaned.batch.num_rows)
            job.tick("cleaning", cleaned.n_read)
    return Intake(np.array(batch_corpus, np.uint8), np.array(starts), n_read), joined(keys)


def divide(job: Job, intake: Intake, keys: Keys, given: dict[str, TextPairs], tally: Tally, notes: list[str]) -> Split:
    """Mark duplicates, choose held-out rows where no file is given, and keep training apart from all held-out text."""
    held_out = [keys_of(*([normalise(text) for text in side] for side in pairs)) for pairs in given.values()]
    overlap = overlaps(keys, joined(held_out))
    repeated = duplicates(keys.pair) if job.data.cleaning.drop_duplicates else np.zeros(len(keys.pair), bool)
    repeated &= ~overlap
    free = ~overlap & ~repeated
    chosen = {}
    for name, n_pairs in (("test", job.data.test_pairs), ("valid", job.data.valid_pairs)):
        rows = choose(keys, free, n_pairs=0 if name in given else n_pairs)
        if name not in given and len(rows) < n_pairs:
            notes.append(f"{name}: {len(rows)} pairs split off, {n_pairs} asked for (at most a tenth of the text)")
        shared = overlaps(keys, Keys(*(key[rows] for key in keys))) & free
        shared[rows] = False
        free[rows] = False
        overlap |= shared
        free &= ~shared
        chosen[name] = rows
    for reason, mask in zip(_LATER, (overlap, repeated), strict=False):
        rows = np.flatnonzero(mask)
        if len(rows):
            tally.add(reason, len(rows), _examples(job, intake, rows[:N_EXAMPLES]))
    return Split(free, chosen["valid"], chosen["test"])


def learn(job: Job, intake: Intake, split: Split, notes: list[str]) -> tuple[Path, Path]:
    """Learn the subword models from a seeded sample of the training rows, or copy the one given."""
    if job.tokenizer.model:
        path = job.folder / "shared.spm"
        found = lines.find(job.tokenizer.model, base=job.base)
        if not Subword.load(found).has_bytes:
            notes.append(f"{found.name} has no byte pieces: characters outside its vocabulary are lost")
        write_bytes(path, found.read_bytes())
        return path, path
    rows = np.flatnonzero(split.train)
    if len(rows) > job.tokenizer.sample_pairs:
        rows = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(rows, job.tokenizer.sample_pairs, replace=False))
    sides = {"shared": ("src", "tgt")} if job.tokenizer.shared else {"source": ("src",), "target": ("tgt",)}
    texts = [partial(_column_texts, job, intake, rows, columns) for columns in sides.values()]
    trained = in_threads([partial(train_subword, text, job.tokenizer) for text in texts], job.stop)
    paths = [job.folder / f"{name}.spm" for name in sides]
    for name, path, (content, model) in zip(sides, paths, trained, strict=True):
        write_bytes(path, content)
        if model.vocab_size != job.tokenizer.vocab_size:
            notes.append(
                f"{name} vocabulary: {model.vocab_size} subwords, {job.tokenizer.vocab_size} asked for: "
                "the text supports no more"
            )
    return paths[0], paths[-1]


def encode(
    job: Job, workers: Workers, intake: Intake, split: Split, models: tuple[Path, Path], tally: Tally
) -> dict[str, Any]:
    """Tokenise the training rows into shards; returns figures for the report."""
    task = EncodeTask(job.spill, *models, job.data.max_tokens, job.tokenizer.sampling > 0)
    kept, n_tokens, n_bytes = [0] * len(job.data.corpora), [0, 0], [0, 0]
    overlong: list[np.ndarray] = []
    n_batches = len(intake.batch_corpus)

    def tasks() -> Iterator[tuple[Any, ...]]:
        for index, corpus in enumerate(intake.batch_corpus.tolist()):
            yield task, index, corpus, split.train[intake.starts[index] : intake.starts[index + 1]]

    def batches() -> Iterator[Any]:
        for index, encoded in zip(range(n_batches), workers.map(encode_batch, tasks()), strict=True):
            kept[int(intake.batch_corpus[index])] += encoded.batch.num_rows
            overlong.append(encoded.overlong + intake.starts[index])
            for side, name in enumerate(("src_ids", "tgt_ids")):
                n_tokens[side] += len(encoded.batch.column(name).values)
                n_bytes[side] += encoded.n_bytes[side]
            job.tick("tokenising", int(intake.starts[index + 1] - intake.starts[index]))
            if encoded.batch.num_rows:
                yield encoded.batch

    write_shards(job.folder, batches())
    rows = np.concatenate(overlong) if overlong else np.zeros(0, np.int64)
    if len(rows):
        tally.add(_LATER[2], len(rows), _examples(job, intake, rows[:N_EXAMPLES]))
    sizes = [Subword.load(path).vocab_size for path in models]
    return {
        "kept": kept,
        "overlong": tuple(_places(job, intake, rows[:MAX_PLACES])),
        "src_tokens": n_tokens[0],
        "tgt_tokens": n_tokens[1],
        "src_bytes_share": n_bytes[0] / max(n_tokens[0], 1),
        "tgt_bytes_share": n_bytes[1] / max(n_tokens[1], 1),
        "src_vocab_size": sizes[0],
        "tgt_vocab_size": sizes[1],
    }


def _require(n_pairs: int, intake: Intake, tally: Tally) -> None:
    if not n_pairs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in tally.counts.items()) or "none"
        raise DataError(
            f"no pair of {sum(intake.n_read)} is left to train on (dropped: {reasons}); "
            "look at the files, or loosen data.cleaning and data.max_tokens"
        )


def _given(data: DataConfig) -> list[tuple[str, CorpusConfig]]:
    """Held-out text that comes in files of its own."""
    return [(name, corpus) for name, corpus in (("valid", data.valid), ("test", data.test)) if corpus is not None]


def _held_out(job: Job, name: str, corpus: CorpusConfig, notes: list[str]) -> TextPairs:
    """Read held-out text as it is: nothing is filtered, broken UTF-8 is replaced and noted."""
    pairs = TextPairs([], [])
    n_broken = 0  # lines
    for block in read_blocks(corpus, base=job.base, src_lang=job.data.src_lang, tgt_lang=job.data.tgt_lang):
        for side, raws in zip(pairs, (block.src, block.tgt), strict=True):
            for raw in raws:
                try:
                    text = (raw or b"").decode("utf-8")
                except UnicodeDecodeError:
                    text = (raw or b"").decode("utf-8", "replace")
                    n_broken += 1
                side.append(text.replace("\n", " "))
    if n_broken:
        notes.append(f"{name}: {n_broken} lines are no valid UTF-8; the broken bytes were replaced by U+FFFD")
    return pairs


def _write_info(job: Job, fingerprint: str, models: tuple[Path, Path], kept: list[int]) -> None:
    info = StoreInfo(
        fingerprint=fingerprint,
        src_lang=job.data.src_lang,
        tgt_lang=job.data.tgt_lang,
        corpora=tuple(tuple(path.name for path in files) for files in job.paths),
        corpus_weights=_weights(job.data, kept),
        tokenizer=job.tokenizer,
        source_model=models[0].name,
        target_model=models[1].name,
    )
    write_info(job.folder, info)


def _weights(data: DataConfig, kept: list[int]) -> tuple[float, ...]:
    """Sampling share of each corpus: by explicit weight, or by size ** (1 / temperature); an empty one gets nothing."""
    explicit = any(corpus.weight for corpus in data.corpora)
    shares = [
        (corpus.weight if explicit else size ** (1 / data.temperature)) if size else 0.0
        for corpus, size in zip(data.corpora, kept, strict=True)
    ]
    return tuple(share / sum(shares) for share in shares)


def _column_texts(job: Job, intake: Intake, rows: np.ndarray, columns: tuple[str, ...]) -> Iterator[str]:
    """Texts of sorted rows, one batch of the spill file at a time."""
    reader = spilled(job.spill)
    bounds = np.searchsorted(rows, intake.starts)
    for index in range(len(bounds) - 1):
        wanted = rows[bounds[index] : bounds[index + 1]] - intake.starts[index]
        if len(wanted):
            batch = reader.get_batch(index).take(pa.array(wanted))
            for name in columns:
                yield from batch.column(name).to_pylist()


def _texts(job: Job, intake: Intake, rows: np.ndarray) -> TextPairs:
    return TextPairs(*(list(_column_texts(job, intake, rows, (name,))) for name in ("src", "tgt")))


def _places(job: Job, intake: Intake, rows: np.ndarray) -> list[str]:
    """Where rows of the intake stand in their files."""
    batches = np.searchsorted(intake.starts, rows, side="right") - 1
    numbers = _column_texts(job, intake, rows, ("line",))
    return [place(job.paths[intake.batch_corpus[batch]], int(n)) for batch, n in zip(batches, numbers, strict=True)]


def _examples(job: Job, intake: Intake, rows: np.ndarray) -> list[Example]:
    found = zip(_places(job, intake, rows), *_texts(job, intake, rows), strict=True)
    return [Example(where=where, src=src, tgt=tgt) for where, src, tgt in found]
