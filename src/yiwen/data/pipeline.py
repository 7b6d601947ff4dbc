"""The steps of `prepare`, from raw blocks to the files of the store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from yiwen.data.config import DataConfig
from yiwen.data.fingerprint import n_symbols, ready_models
from yiwen.data.heldout import hold_out, read_given
from yiwen.data.intake import Intake, Job, Split
from yiwen.data.labels import count_labels
from yiwen.data.report import ILL_FITTING, INVALID_UTF_8, MAX_PLACES, N_EXAMPLES, Findings, Report
from yiwen.data.split import Keys, choose, duplicates, joined, keys_of, overlaps
from yiwen.data.stages import SPILLED, EncodeTask, Vocabulary, clean_block, encode_batch
from yiwen.data.store import StoreInfo, TextPairs, write_info, write_shards, write_text
from yiwen.data.workers import Workers, in_threads
from yiwen.errors import DataError
from yiwen.files import write_bytes
from yiwen.text.subword import Subword, train_subword

_SAMPLE_SEED: Final = 0
_FITTING_SHARE: Final = 0.02
"""Share of subwords that spell single bytes, up to which a vocabulary learnt elsewhere fits."""


class Stored(NamedTuple):
    """What the store holds of the training rows."""

    kept: list[int]
    """Pairs of each corpus."""
    overlong: tuple[str, ...]
    """Places of the first pairs that have too many subwords."""
    n_tokens: tuple[int, int]
    """Subwords of the sources and of the targets."""
    bytes_share: tuple[float, float]
    """Share of them that are single bytes or unknown."""


def run(job: Job, fingerprint: str) -> Report:
    """Do all steps and write all files of the store but the report."""
    findings = Findings()
    given = read_given(job, findings)
    with Workers(job.n_workers, job.stop) as workers:
        intake, keys = clean(job, workers, findings)
        split = divide(intake, keys, given, findings)
        del keys  # a quarter of a gigabyte for ten million pairs
        _require(split.train.sum(), intake, findings)
        vocabulary = learn(intake, split, findings)
        stored = encode(intake, split, vocabulary, workers, findings)
    held_out = hold_out(intake, split, given, vocabulary, findings)
    for name, pairs in held_out.items():
        write_text(job.folder / f"{name}.arrow", pairs)
    job.spill.unlink()
    _require(sum(stored.kept), intake, findings)
    _note_losses(intake, stored, held_out, findings)
    _write_info(job, fingerprint, vocabulary, stored.kept)
    src_vocab_size, tgt_vocab_size = vocabulary.sizes()
    return Report(
        read=sum(intake.n_read),
        kept=sum(stored.kept),
        dropped=findings.dropped(),
        overlong=stored.overlong,
        corpora=tuple(zip(job.names, intake.n_read, stored.kept, strict=True)),
        valid_split=len(split.valid),
        test_split=len(split.test),
        valid_pairs=len(held_out["valid"].src),
        test_pairs=len(held_out["test"].src),
        src_tokens=stored.n_tokens[0],
        tgt_tokens=stored.n_tokens[1],
        src_bytes_share=stored.bytes_share[0],
        tgt_bytes_share=stored.bytes_share[1],
        src_vocab_size=src_vocab_size,
        tgt_vocab_size=tgt_vocab_size,
        notes=tuple(findings.notes),
    )


def clean(job: Job, workers: Workers, findings: Findings) -> tuple[Intake, Keys]:
    """Read and clean all corpora into the spill file; the hashes of its pairs are kept beside."""
    for corpus in job.data.corpora:  # one of another form is refused now, not after hours with those before it
        next(job.blocks(corpus), None)
    n_read = [0] * len(job.paths)
    keys: list[Keys] = []
    batch_corpus: list[int] = []

    def tasks() -> Iterator[tuple[Any, ...]]:
        for index, corpus in enumerate(job.data.corpora):
            for block in job.blocks(corpus):
                yield job.cleaning, index, job.paths[index], block

    with pa.ipc.new_file(str(job.spill), SPILLED) as writer:
        for cleaned in workers.map(clean_block, tasks()):
            n_read[cleaned.corpus] += cleaned.n_read
            for reason, count in cleaned.findings.counts.items():
                findings.drop(reason, count, cleaned.findings.examples[reason])
            writer.write_batch(cleaned.batch)
            keys.append(cleaned.keys)
            batch_corpus.append(cleaned.corpus)
            job.tick("cleaning", cleaned.n_read)
    starts = np.cumsum([0, *(len(each.pair) for each in keys)])
    return Intake(job, np.array(batch_corpus, np.uint8), starts, n_read), joined(keys)


def divide(intake: Intake, keys: Keys, given: dict[str, TextPairs], findings: Findings) -> Split:
    """Mark duplicates, choose held-out rows where no file is given, and keep training apart from all held-out text."""
    job, data = intake.job, intake.job.data
    tgt_lang = data.tgt_lang if job.targets == "read" else ""
    keyed = partial(keys_of, is_labelled=job.cleaning.is_labelled)
    held_out = {name: keyed(*pairs.normalised(data.src_lang, tgt_lang)) for name, pairs in given.items()}
    if {"valid", "test"} <= held_out.keys():
        src = given["valid"].src
        if len(both := np.flatnonzero(overlaps(held_out["valid"], held_out["test"]))):
            findings.note(f"valid: {len(both)} of {len(src)} pairs share a side with a test pair: {src[both[0]]!r:.60}")
    overlap = overlaps(keys, joined(list(held_out.values())))
    repeated = duplicates(keys.pair) if data.cleaning.drop_duplicates else np.zeros(len(keys.pair), bool)
    repeated &= ~overlap
    free = ~overlap & ~repeated
    may_go = ~np.array([corpus.train_only for corpus in data.corpora])[intake.row_corpus()]
    chosen = {name: np.zeros(0, np.int64) for name in ("valid", "test")}
    for name, n_pairs in (("test", data.test_pairs), ("valid", data.valid_pairs)):
        if name in given:
            continue
        rows = choose(keys, free & may_go, n_pairs=n_pairs)
        if len(rows) < n_pairs:
            findings.note(f"{name}: {len(rows)} pairs split off, {n_pairs} asked for (at most a tenth of the text)")
        shared = overlaps(keys, Keys(*(column[rows] for column in keys))) & free  # the rows themselves, too
        free &= ~shared
        overlap |= shared
        overlap[rows] = False
        chosen[name] = rows
    _drop_rows(findings, "held-out overlap", intake, np.flatnonzero(overlap))
    _drop_rows(findings, "duplicate pair", intake, np.flatnonzero(repeated))
    return Split(free, chosen["valid"], chosen["test"])


def learn(intake: Intake, split: Split, findings: Findings) -> Vocabulary:
    """Learn the subword models and the labels from the training rows; a ready model is copied."""
    job = intake.job
    rows = np.flatnonzero(split.train)
    models = _copied_models(job, findings) if job.tokenizer.model else _trained_models(intake, rows, findings)
    _note_cut_tags(intake, rows, models[0], findings)
    labels = count_labels(intake.texts(rows, "tgt"), job.targets)[0] if job.cleaning.is_labelled else ()
    return Vocabulary(models[0], models[-1], labels, n_symbols(models, job.targets))


def _copied_models(job: Job, findings: Findings) -> list[Path]:
    """Copies of the subword models that the tokenizer's settings name: one for both sides, or two."""
    given = ready_models(job.tokenizer.model, base=job.base)
    names = ("source.spm", "target.spm") if len(given) > 1 else ("shared.spm",)
    copies = [job.folder / name for name in names]
    for found, copy in zip(given, copies, strict=True):
        model = Subword.load(found)
        if not model.has_bytes:
            findings.note(f"{found.name} has no byte pieces: characters outside its vocabulary are lost")
        if not model.keeps_text:
            rewrites = f"{found.name} rewrites text, full-width signs for example, and so will translations"
            findings.note(f"{rewrites}; train it with --normalization_rule_name=identity")
        write_bytes(copy, found.read_bytes())
    return copies


def _note_cut_tags(intake: Intake, rows: np.ndarray, model: Path, findings: Findings) -> None:
    """Say which tags that begin sources, such as <2bt>, the subword model cuts to pieces."""
    firsts = np.unique(intake.row_corpus()[rows], return_index=True)[1]  # <2bt> begins all sources of a file or none
    some = rows[np.union1d(firsts, np.arange(0, len(rows), len(rows) // intake.job.tokenizer.sample_pairs + 1))]
    for tag in sorted({text.partition(" ")[0] for text in intake.texts(some, "src")}):
        if re.fullmatch(r"<2[\w-]+>", tag) and not Subword.load(model).has_piece(tag):
            findings.note(f'{ILL_FITTING}: the tag {tag} is cut to pieces; learn one with "{tag}" in tokenizer.symbols')


def _trained_models(intake: Intake, rows: np.ndarray, findings: Findings) -> list[Path]:
    """Subword models learnt from a seeded sample of the training rows: one for both sides, or two."""
    job, tokenizer = intake.job, intake.job.tokenizer
    if len(rows) > tokenizer.sample_pairs:
        rows = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(rows, tokenizer.sample_pairs, replace=False))
    columns: dict[str, tuple[str, ...]] = {"source": ("src",), "target": ("tgt",)}
    if job.targets not in ("text", "read"):
        columns = {"shared": ("src",)}
    elif tokenizer.shared:
        columns = {"shared": ("src", "tgt")}
    texts = [partial(intake.texts, rows, *sides) for sides in columns.values()]
    job.tick("learning subwords from", len(rows))  # which may take longer than the rest
    trained = in_threads([partial(train_subword, text, tokenizer) for text in texts], job.stop)
    paths = [job.folder / f"{name}.spm" for name in columns]
    for name, path, (content, model) in zip(columns, paths, trained, strict=True):
        write_bytes(path, content)
        if model.vocab_size != tokenizer.vocab_size:
            sizes = f"{model.vocab_size} subwords, {tokenizer.vocab_size} asked for"
            findings.note(f"{name} vocabulary: {sizes}: the text supports no more")
    return paths


def encode(intake: Intake, split: Split, vocabulary: Vocabulary, workers: Workers, findings: Findings) -> Stored:
    """Tokenise the training rows into shards."""
    job = intake.job
    task = EncodeTask(job.spill, vocabulary, job.data.max_tokens, job.tokenizer.sampling > 0, job.targets)
    kept = [0] * len(job.data.corpora)
    counts: list[tuple[tuple[int, int], tuple[int, int]]] = []
    overlong: list[np.ndarray] = []

    def tasks() -> Iterator[tuple[Any, ...]]:
        for index, corpus in enumerate(intake.batch_corpus.tolist()):
            yield task, index, corpus, split.train[intake.starts[index] : intake.starts[index + 1]]

    def batches() -> Iterator[Any]:
        for index, encoded in enumerate(workers.map(encode_batch, tasks())):
            kept[intake.batch_corpus[index]] += encoded.batch.num_rows
            overlong.append(encoded.overlong + intake.starts[index])
            counts.append((encoded.n_tokens, encoded.n_bytes))
            job.tick("tokenising", int(intake.starts[index + 1] - intake.starts[index]))
            if encoded.batch.num_rows:
                yield encoded.batch

    write_shards(job.folder, batches())
    rows = np.concatenate(overlong)
    _drop_rows(findings, "too many subwords", intake, rows)
    if vocabulary.labels:
        left = np.setdiff1d(np.flatnonzero(split.train), rows)  # a label may have none but texts that are too long
        findings.note(count_labels(intake.texts(left, "tgt"), job.targets, vocabulary.labels)[1])
    n_tokens, n_bytes = np.sum(counts, axis=0)
    src_share, tgt_share = (n_bytes / np.maximum(n_tokens, 1)).tolist()
    if job.tokenizer.model and (share := max(src_share, tgt_share)) > _FITTING_SHARE:
        remedy = "a vocabulary learnt from this text, and a model that has read such text, would do better"
        findings.note(f"{ILL_FITTING}: {share:.0%} of the subwords are single bytes or unknown; {remedy}")
    n_src, n_tgt = n_tokens.tolist()
    return Stored(kept, tuple(intake.places(rows[:MAX_PLACES])), (n_src, n_tgt), (src_share, tgt_share))


def _drop_rows(findings: Findings, reason: str, intake: Intake, rows: np.ndarray) -> None:
    """Count rows of the intake as dropped for a reason that only the whole corpus, or the subwords, can tell."""
    findings.drop(reason, len(rows), intake.examples(rows[:N_EXAMPLES]))


def _note_losses(intake: Intake, stored: Stored, held_out: dict[str, TextPairs], findings: Findings) -> None:
    """Note a corpus or a validation text of which nothing is left, and text in another encoding."""
    for name, n_read, n_kept in zip(intake.job.names, intake.n_read, stored.kept, strict=True):
        if not n_kept:
            findings.note(f"{name}: no pair is left of {n_read}")
    n_broken, n_rows = findings.counts[INVALID_UTF_8], sum(intake.n_read)
    if 2 * n_broken > n_rows:
        findings.note(f"{n_broken} of {n_rows} rows are not UTF-8: see which encoding they are in and convert them")
    n_markup = findings.counts["markup"]
    if 10 * n_markup > n_rows:
        remedy = "unescape = true beside the corpus reads them as the characters they mean"
        cause = f"where that is entities such as &amp; or &apos;, {remedy}"
        findings.note(f"{n_markup} of {n_rows} rows were dropped as markup; {cause}")
    if intake.job.data.valid_pairs and not held_out["valid"].src:
        findings.note("no pair is left for validation, without which nothing can be trained")


def _require(n_pairs: int, intake: Intake, findings: Findings) -> None:
    if not n_pairs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in findings.counts.items()) or "none"
        remedy = "look at the files, or loosen data.cleaning and data.max_tokens"
        raise DataError(f"no pair of {sum(intake.n_read)} is left to train on (dropped: {reasons}); {remedy}")


def _write_info(job: Job, fingerprint: str, vocabulary: Vocabulary, kept: list[int]) -> None:
    info = StoreInfo(
        fingerprint=fingerprint,
        src_lang=job.data.src_lang,
        tgt_lang=job.data.tgt_lang,
        corpora=tuple(tuple(path.name for path in files) for files in job.paths),
        corpus_weights=_weights(job.data, kept),
        tokenizer=job.tokenizer,
        source_model=vocabulary.source.name,
        target_model=vocabulary.target.name,
        targets=job.targets,
        labels=vocabulary.labels,
    )
    write_info(job.folder, info)


def _weights(data: DataConfig, kept: list[int]) -> tuple[float, ...]:
    """Sampling share of each corpus: by explicit weight, or by size ** (1 / temperature); an empty one gets nothing."""
    both = zip(data.corpora, kept, strict=True)
    shares = [(corpus.weight or size ** (1 / data.temperature)) if size else 0.0 for corpus, size in both]
    return tuple(share / sum(shares) for share in shares)
