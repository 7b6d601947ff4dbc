"""The steps of `prepare`, from raw blocks to the files of the store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from yiwen.data.config import DataConfig, more_tests
from yiwen.data.corpus import CorpusConfig, place
from yiwen.data.fingerprint import n_symbols, ready_models
from yiwen.data.intake import Intake, Job, Split, column_texts, examples_of, places_of, texts_of
from yiwen.data.labels import check_held_out, count_labels, with_labels
from yiwen.data.report import ILL_FITTING, INVALID_UTF_8, MAX_PLACES, N_EXAMPLES, Example, Report, Tally
from yiwen.data.split import Keys, choose, duplicates, joined, keys_of, overlaps
from yiwen.data.stages import SPILLED, EncodeTask, clean_block, encode_batch
from yiwen.data.store import StoreInfo, TextPairs, write_info, write_shards, write_text
from yiwen.data.workers import Workers, in_threads
from yiwen.errors import DataError
from yiwen.files import write_bytes
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword, train_subword

_SAMPLE_SEED: Final = 0
_LATER: Final = ("held-out overlap", "duplicate pair", "too many subwords")
"""Reasons that only the whole corpus, or the subwords, can tell."""

_FITTING_SHARE: Final = 0.02
"""Share of subwords that spell single bytes, up to which a vocabulary learnt elsewhere fits."""


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
        labels: tuple[str, ...] = ()
        if job.cleaning.is_labelled:
            targets = column_texts(job, intake, np.flatnonzero(split.train), ("tgt",))
            labels, counts = count_labels(targets, job.targets)
            notes.append(counts)
        figures = encode(job, workers, intake, split, models, labels, tally)
    if job.tokenizer.model and (share := max(figures["src_bytes_share"], figures["tgt_bytes_share"])) > _FITTING_SHARE:
        notes.append(
            f"{ILL_FITTING}: {share:.0%} of the subwords are single bytes or unknown; a vocabulary learnt from this "
            "text, and a model that has read such text, would do better"
        )
    valid = given.get("valid") or texts_of(job, intake, split.valid)
    test = given.get("test") or texts_of(job, intake, split.test)
    held_out = given | {"valid": valid, "test": test}
    for name, pairs in held_out.items():
        title = "validation" if name == "valid" else name
        if labels and name in given:
            check_held_out(pairs, name=title, labels=labels, targets=job.targets)
        elif labels and (rest := with_labels(pairs, labels, job.targets)) != pairs:
            notes.append(f"{title}: {len(pairs.src) - len(rest.src)} with labels that no training text has left out")
            held_out[name] = rest
        elif job.targets == "text" and name not in given and (rest := _short(pairs, models, job.data)) != pairs:
            notes.append(f"{title}: {len(pairs.src) - len(rest.src)} of over {job.data.max_tokens} subwords left out")
            held_out[name] = rest
        write_text(job.folder / f"{name}.arrow", held_out[name])
    job.spill.unlink()
    kept = figures.pop("kept")
    _require(sum(kept), intake, tally)
    notes += [
        f"{name}: no pair is left of {n}" for name, n, k in zip(job.names, intake.n_read, kept, strict=True) if not k
    ]
    n_broken, n_read = tally.counts.get(INVALID_UTF_8, 0), sum(intake.n_read)
    if 2 * n_broken > n_read:
        notes.append(f"{n_broken} of {n_read} rows are no UTF-8: see which encoding they are in and convert them")
    if job.data.valid_pairs and not held_out["valid"].src:
        notes.append("no pair is left for validation, without which nothing can be trained")
    _write_info(job, fingerprint, models, labels, kept)
    return Report(
        read=sum(intake.n_read),
        kept=sum(kept),
        dropped=tally.dropped(),
        corpora=tuple(zip(job.names, intake.n_read, kept, strict=True)),
        valid_split=len(split.valid),
        test_split=len(split.test),
        valid_pairs=len(held_out["valid"].src),
        test_pairs=len(held_out["test"].src),
        notes=tuple(notes),
        **figures,
    )


def clean(job: Job, workers: Workers, tally: Tally) -> tuple[Intake, Keys]:
    """Read and clean all corpora into the spill file; the hashes of its pairs are kept beside."""
    task = job.cleaning
    n_read = [0] * len(job.paths)
    keys: list[Keys] = []
    batch_corpus: list[int] = []
    starts = [0]
    corpora: list[int] = []

    def tasks() -> Iterator[tuple[Any, ...]]:
        for index, corpus in enumerate(job.data.corpora):
            for block in job.blocks(corpus):
                corpora.append(index)
                yield task, block

    with pa.ipc.new_file(str(job.spill), SPILLED) as writer:
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
    is_labelled = job.cleaning.is_labelled
    held_out = {
        name: keys_of(*([normalise(text) for text in side] for side in pairs), is_labelled=is_labelled)
        for name, pairs in given.items()
    }
    valid, test = (held_out.get(name) for name in ("valid", "test"))
    if valid and test and (n_both := int(overlaps(valid, test).sum())):
        notes.append(f"{n_both} of the {len(valid.src)} validation pairs share a side with a test pair")
    overlap = overlaps(keys, joined(list(held_out.values())))
    repeated = duplicates(keys.pair) if job.data.cleaning.drop_duplicates else np.zeros(len(keys.pair), bool)
    repeated &= ~overlap
    free = ~overlap & ~repeated
    stays = np.array([job.data.corpora[corpus].train_only for corpus in intake.batch_corpus.tolist()], bool)
    may_go = ~np.repeat(stays, np.diff(intake.starts))
    chosen = {}
    for name, n_pairs in (("test", job.data.test_pairs), ("valid", job.data.valid_pairs)):
        rows = choose(keys, free & may_go, n_pairs=0 if name in given else n_pairs)
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
            tally.add(reason, len(rows), examples_of(job, intake, rows[:N_EXAMPLES]))
    return Split(free, chosen["valid"], chosen["test"])


def _short(pairs: TextPairs, models: tuple[Path, Path], data: DataConfig) -> TextPairs:
    """Those that are no longer than what is trained on."""
    sides = (Subword.load(model).encode(list(map(normalise, side))) for model, side in zip(models, pairs, strict=True))
    fits = [max(map(len, ids)) < data.max_tokens for ids in zip(*sides, strict=True)]
    return TextPairs(*([text for text, fit in zip(side, fits, strict=True) if fit] for side in pairs))


def learn(job: Job, intake: Intake, split: Split, notes: list[str]) -> tuple[Path, Path]:
    """Learn the subword models from a seeded sample of the training rows, or copy the one given."""
    if job.tokenizer.model:
        given = ready_models(job.tokenizer.model, base=job.base)
        names = ("source.spm", "target.spm") if len(given) > 1 else ("shared.spm",)
        copies = [job.folder / name for name in names]
        for found, path in zip(given, copies, strict=True):
            model = Subword.load(found)
            if not model.has_bytes:
                notes.append(f"{found.name} has no byte pieces: characters outside its vocabulary are lost")
            if not model.keeps_text:
                notes.append(
                    f"{found.name} rewrites text, full-width signs for example, and so will translations; train it "
                    "with --normalization_rule_name=identity"
                )
            write_bytes(path, found.read_bytes())
        return copies[0], copies[-1]
    rows = np.flatnonzero(split.train)
    if len(rows) > job.tokenizer.sample_pairs:
        rows = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(rows, job.tokenizer.sample_pairs, replace=False))
    sides = {"shared": ("src", "tgt")} if job.tokenizer.shared else {"source": ("src",), "target": ("tgt",)}
    if job.targets != "text":
        sides = {"shared": ("src",)}
    texts = [partial(column_texts, job, intake, rows, columns) for columns in sides.values()]
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
    job: Job,
    workers: Workers,
    intake: Intake,
    split: Split,
    models: tuple[Path, Path],
    labels: tuple[str, ...],
    tally: Tally,
) -> dict[str, Any]:
    """Tokenise the training rows into shards; returns figures for the report."""
    placeholders = n_symbols(models, job.targets)
    task = EncodeTask(
        job.spill, *models, job.data.max_tokens, job.tokenizer.sampling > 0, job.targets, labels, placeholders
    )
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
        tally.add(_LATER[2], len(rows), examples_of(job, intake, rows[:N_EXAMPLES]))
    sizes = [Subword.load(path).vocab_size for path in models]
    if labels:
        sizes[1] = len(labels)
    return {
        "kept": kept,
        "overlong": tuple(places_of(job, intake, rows[:MAX_PLACES])),
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
    named = {"valid": data.valid, "test": data.test} | more_tests(data)
    return [(name, corpus) for name, corpus in named.items() if corpus is not None]


def _held_out(job: Job, name: str, corpus: CorpusConfig, notes: list[str]) -> TextPairs:
    """Read held-out text as it is: only torn rows are left out, broken UTF-8 is replaced, and both are noted."""
    pairs = TextPairs([], [])
    n_broken = n_torn = 0  # lines
    for block in job.blocks(corpus):
        for src, tgt in zip(block.src, block.tgt, strict=True):
            if src is None or tgt is None:
                n_torn += 1
                continue
            for side, raw in zip(pairs, (src, tgt), strict=True):
                text = raw.decode("utf-8", "replace")
                n_broken += text.encode() != raw
                side.append(text.replace("\n", " "))
    if n_torn:
        notes.append(f"{name}: {n_torn} rows lack a side and were left out")
    if n_broken:
        notes.append(f"{name}: {n_broken} lines are no valid UTF-8; the broken bytes were replaced by U+FFFD")
    return pairs


def _write_info(
    job: Job, fingerprint: str, models: tuple[Path, Path], labels: tuple[str, ...], kept: list[int]
) -> None:
    info = StoreInfo(
        fingerprint=fingerprint,
        src_lang=job.data.src_lang,
        tgt_lang=job.data.tgt_lang,
        corpora=tuple(tuple(path.name for path in files) for files in job.paths),
        corpus_weights=_weights(job.data, kept),
        tokenizer=job.tokenizer,
        source_model=models[0].name,
        target_model=models[1].name,
        targets=job.targets,
        labels=labels,
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
