"""Prepare: nothing vanishes uncounted, nothing leaks, nothing is done twice, equal inputs give equal bytes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_text import contents, pair, run, texts, write

from tiny_model import signed
from yiwen.data import pipeline
from yiwen.data.corpus import Block, CorpusConfig, Targets
from yiwen.data.prepare import DataConfig, _n_workers, _progress, prepare
from yiwen.data.stages import CleanTask, clean_block
from yiwen.data.store import Store, TextPairs, mapped
from yiwen.errors import CheckpointError, DataError, MissingDependencyError, Stopped
from yiwen.files import MANIFEST, one_writer, verify_manifest, write_json
from yiwen.stop import StopFlag
from yiwen.tasks.config import TARGETS
from yiwen.text.clean import CleaningConfig
from yiwen.text.normalise import normalise
from yiwen.text.subword import UNK_ID, TokenizerConfig

NASTY: list[tuple[bytes, bytes, str]] = [
    (b"Fine and good.", b"Gut und schoen!", "kept"),
    (b"\xff\xfe broken", b"kaputt", "invalid UTF-8"),
    (b"", b"leer", "empty side"),
    (" \u2028 ".encode(), b"auch leer", "empty side"),
    ("tab\tand\u2028line\x00".encode(), "Tab und\u3000Zeile".encode(), "kept"),
    (b"Fine  and good. ", b"Gut und schoen!\r", "duplicate pair"),
    (b"Same words", b"same words", "copied source"),
    (b"no <b>tags</b>", b"keine Tags", "markup"),
    (b"x" * 6000, b"y", "length"),
    (b"!?!", b"oh je", "too few letters"),
    (b"wooooooooooooooooow", b"ui", "repeated characters"),
    ("только кириллица".encode(), b"nur Kyrillisch", "wrong script"),
    (b"hm", b"das ist nun aber wirklich sehr sehr viel laenger geraten", "length ratio"),
    (b"in valid ALREADY", b"anders", "held-out overlap"),
    (b"other", "TEST\u00a0zwei".encode(), "held-out overlap"),
    (b"word " * 99, b"Wort " * 99, "too many subwords"),
]


def nasty(folder: Path) -> tuple[CorpusConfig, dict[str, CorpusConfig]]:
    for side, code in ((0, "en"), (1, "xx")):
        (folder / f"bad.{code}").write_bytes(b"\n".join(row[side] for row in NASTY) + b"\n")  # type: ignore[misc]
    held_out = {
        "valid": write(folder, "valid", [("In valid already", "Schon"), ("<b>  raw", "\u3000roh\u2028")]),
        "test": write(folder, "test", [("eins", "test eins"), ("zwei", "Test zwei")]),
    }
    return CorpusConfig(src="bad.en", tgt="bad.xx"), held_out


def test_every_pair_is_kept_or_dropped_for_a_counted_reason_with_its_line(tmp_path: Path) -> None:
    corpus, held_out = nasty(tmp_path)
    report = run(tmp_path, corpus, max_tokens=60, **held_out).report
    wanted: dict[str, list[str]] = {}
    for line, (_, _, reason) in enumerate(NASTY, 1):
        wanted.setdefault(reason, []).append(f"bad.en line {line}")
    assert {item.reason: [example.where for example in item.examples] for item in report.dropped} == {
        reason: places for reason, places in wanted.items() if reason != "kept"
    }
    assert report.overlong == ("bad.en line 16",)
    assert (report.read, report.kept, sum(item.count for item in report.dropped)) == (16, 2, 14)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a.TMX.gz", "unit without both languages"), ("a.tsv", "malformed row"), ("a.jsonl", "malformed row")],
)
def test_what_lacks_a_side_is_counted_as_what_it_is(name: str, reason: str) -> None:
    block = Block(1, [b"A dog runs.", b"A cat.", None], [b"Ein Hund rennt.", None, None])
    cleaned = clean_block(CleanTask(CleaningConfig(), "en", "de"), 0, (Path(name),), block)
    assert (cleaned.n_read, cleaned.batch.num_rows, cleaned.findings.counts) == (3, 1, {reason: 2})


def test_the_store_holds_normalised_text_and_names_its_lines(tmp_path: Path) -> None:
    corpus, held_out = nasty(tmp_path)
    store = Store.open(run(tmp_path, corpus, max_tokens=60, **held_out).folder)
    assert texts(store) == [("Fine and good.", "Gut und schoen!"), ("tab and line", "Tab und Zeile")]
    assert [store.where(row) for row in range(2)] == ["bad.en line 1", "bad.en line 5"]


def test_held_out_text_that_is_given_stays_raw_and_its_references_are_read_as_models_write(tmp_path: Path) -> None:
    corpus, held_out = nasty(tmp_path)
    (tmp_path / "test.en").write_bytes(b"\xff eins\r\n\n")
    prepared = run(tmp_path, corpus, max_tokens=60, **held_out)
    store = Store.open(prepared.folder)
    assert store.valid == (["In valid already", "<b>  raw"], ["Schon", "roh"])
    assert mapped(prepared.folder / "valid.arrow").read_all()["tgt"].to_pylist() == ["Schon", "\u3000roh\u2028"]
    assert store.test.src == ["\ufffd eins", ""]
    assert prepared.report.notes[0] == "test: 1 lines are not valid UTF-8; the broken bytes were replaced by U+FFFD"


def test_text_is_split_off_without_leaks_on_either_side(tmp_path: Path) -> None:
    pairs = [pair(n) for n in range(600)]
    pairs += [(src.upper(), f"Different {n} altogether") for n, (src, _) in enumerate(pairs)]
    pairs += [(f"Another {n} wording", tgt) for n, (_, tgt) in enumerate(pairs[:600])]
    prepared = run(tmp_path, write(tmp_path, "train", pairs), valid_pairs=23, test_pairs=29)
    store, report = Store.open(prepared.folder), prepared.report
    assert (len(store.valid.src), len(store.test.src)) == (23, 29) == (report.valid_split, report.test_split)
    sides = [
        [set(map(str.casefold, side)) for side in held]
        for held in (store.valid, store.test, zip(*texts(store), strict=True))
    ]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not sides[one][0] & sides[other][0]
        assert not sides[one][1] & sides[other][1]
    (overlap,) = report.dropped
    assert overlap.reason == "held-out overlap"
    assert overlap.count > 52
    assert report.read == report.kept + report.valid_split + report.test_split + overlap.count == 1800


def test_made_text_is_not_split_off(tmp_path: Path) -> None:
    natural = write(tmp_path, "natural", [pair(n) for n in range(300)])
    made = write(tmp_path, "made", [pair(n) for n in range(300, 1700)])
    only = dataclasses.replace(made, train_only=True)
    names = {}
    for name, corpora in {"all": (natural, made), "natural": (natural, only), "turned": (only, natural)}.items():
        prepared = run(tmp_path, *corpora, valid_pairs=17, test_pairs=13)
        names[name] = prepared.folder
        store = Store.open(prepared.folder)
        held_out = [int(src.split()[-1].rstrip(".")) for src in [*store.valid.src, *store.test.src]]
        assert len(held_out) == 30
        assert (max(held_out) >= 300) == (name == "all")
        assert len(store) == 1700 - 30
    assert len(set(names.values())) == 3
    report = run(tmp_path, only, valid_pairs=17).report
    assert report.valid_split == 0
    assert "valid: 0 pairs split off, 17 asked for (at most a tenth of the text)" in report.notes


def test_a_small_corpus_gives_no_more_than_a_tenth_away(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(100)])
    report = run(tmp_path, corpus, valid_pairs=1000, test_pairs=1000).report
    assert (report.test_split, report.valid_split) == (10, 9)
    assert "test: 10 pairs split off, 1000 asked for (at most a tenth of the text)" in report.notes


@pytest.mark.parametrize(("alone_bytes", "expected"), [(1, 3), (1 << 20, 1)])
def test_a_large_text_takes_as_many_processes_as_a_container_has_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone_bytes: int, expected: int
) -> None:
    data = DataConfig(src_lang="en", tgt_lang="de", corpora=(write(tmp_path, "train", [pair(1)]),))
    monkeypatch.setattr("yiwen.data.prepare._ALONE_BYTES", alone_bytes)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(7)), raising=False)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "300000 100000\n")
    assert _n_workers(data, tmp_path) == expected


def test_equal_inputs_give_equal_bytes_for_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = [
        write(tmp_path, name, [pair(n) for n in rows]) for name, rows in (("a", range(300)), ("b", range(250, 400)))
    ]
    monkeypatch.setattr("yiwen.data.corpus.read_blocks.__kwdefaults__", {"size": 47})
    settings = {"tokenizer": TokenizerConfig(vocab_size=350, shared=False, sampling=0.1, sample_pairs=200)}
    one, two = (run(tmp_path, *corpora, workers=n, root=f"runs{n}", valid_pairs=7, **settings) for n in (1, 2))
    assert contents(one.folder) == contents(two.folder)
    assert one.folder.name == two.folder.name
    assert {path.name for path in one.folder.iterdir()} == {
        "prepared.json", "report.json", "train-00000.arrow", "valid.arrow", "test.arrow", "source.spm", "target.spm",
        MANIFEST,
    }  # fmt: skip
    store = Store.open(one.folder)
    src, tgt = (store.texts(np.array([3, 200]), side) for side in ("src", "tgt"))
    assert list(zip(src, tgt, strict=True)) == [texts(store)[3], texts(store)[200]]


def test_nothing_is_prepared_twice_and_every_change_is_noticed(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    first = run(tmp_path, corpus)
    again = run(tmp_path, corpus)
    assert (first.reused, again.reused) == (False, True)
    assert again.folder == first.folder
    assert again.report.dropped == first.report.dropped
    assert first.report.seconds > again.report.seconds == 0.0  # nothing was read: there is no rate to tell
    others = [
        run(tmp_path, corpus, max_tokens=99),
        run(tmp_path, corpus, cleaning=CleaningConfig(min_letters=0.5)),
        run(tmp_path, corpus, tokenizer=TokenizerConfig(kind="bpe", vocab_size=300, character_coverage=1.0)),
        run(tmp_path, corpus, temperature=2.0),
        run(tmp_path, corpus, test=write(tmp_path, "test", [pair(70)])),
    ]
    write(tmp_path, "train", [pair(n) for n in range(61)])
    others.append(run(tmp_path, corpus))
    assert len({prepared.folder for prepared in (first, *others)}) == 7
    (tmp_path / "moved").mkdir()
    for name in ("train.en", "train.xx"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    assert run(tmp_path, CorpusConfig(src="moved/train.en", tgt="moved/train.xx")).folder == others[-1].folder


def test_a_damaged_store_is_refused_and_made_again(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    first = run(tmp_path, corpus)
    before = contents(first.folder)
    (first.folder / "train-00000.arrow").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match=r"train-00000.arrow has changed"):
        Store.open(first.folder)
    assert not run(tmp_path, corpus).reused
    assert contents(first.folder) == before


def test_a_store_in_the_place_of_another_is_refused_and_made_again(tmp_path: Path) -> None:
    corpora = [write(tmp_path, name, [pair(n) for n in rows]) for name, rows in (("a", range(60)), ("b", range(70)))]
    first, other = (run(tmp_path, corpus).folder for corpus in corpora)
    before = contents(first)
    shutil.rmtree(first)
    shutil.copytree(other, first)
    with pytest.raises(CheckpointError, match=rf"{first.name} holds {other.name}; run `yiwen prepare` again"):
        Store.open(first)
    assert not run(tmp_path, corpora[0]).reused
    assert contents(first) == before


def test_a_store_that_says_more_than_this_version_knows_is_refused_and_made_again(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    folder = run(tmp_path, corpus).folder
    before = contents(folder)
    info = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
    write_json(folder / "prepared.json", info | {"surprise": "from the future"})
    signed(folder)
    with pytest.raises(CheckpointError, match=r"surprise is not a setting; .*run `yiwen prepare` again, or upgrade"):
        Store.open(folder)
    assert not run(tmp_path, corpus).reused
    assert contents(folder) == before


def test_a_ready_model_is_used_as_it_is(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    model = Store.open(run(tmp_path, corpus).folder).source_model
    (tmp_path / "own.model").write_bytes(model.read_bytes())
    store = Store.open(run(tmp_path, corpus, tokenizer=TokenizerConfig(model="own.model")).folder)
    assert store.source_model.read_bytes() == model.read_bytes()
    assert store.source is store.target
    other = Store.open(run(tmp_path, write(tmp_path, "other", [pair(n) for n in range(70, 140)])).folder).source_model
    (tmp_path / "own.model").write_bytes(other.read_bytes())
    again = run(tmp_path, corpus, tokenizer=TokenizerConfig(model="own.model"))
    assert Store.open(again.folder).source_model.read_bytes() == other.read_bytes() != model.read_bytes()


def test_a_model_without_byte_pieces_is_noted(tmp_path: Path) -> None:
    import sentencepiece

    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([pair(1)[0]]), model_prefix=str(tmp_path / "own"), vocab_size=30, minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False,
    )  # fmt: skip
    prepared = run(tmp_path, corpus, tokenizer=TokenizerConfig(model="own.model"))
    report, store = prepared.report, Store.open(prepared.folder)
    assert report.notes[0] == "own.model has no byte pieces: characters outside its vocabulary are lost"
    src, tgt = (np.concatenate(ids(np.arange(60))) for ids in (store.src_ids, store.tgt_ids))
    assert (report.src_tokens, report.tgt_tokens) == (len(src), len(tgt))
    assert (report.src_bytes_share, report.tgt_bytes_share) == ((src == UNK_ID).mean(), (tgt == UNK_ID).mean())
    assert 0 < report.src_bytes_share != report.tgt_bytes_share > 0


@pytest.mark.parametrize(("rule", "n_notes"), [("nmt_nfkc", 1), ("identity", 0)])
def test_a_model_that_rewrites_text_is_noted(tmp_path: Path, rule: str, n_notes: int) -> None:
    import sentencepiece

    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(pair(1)), model_prefix=str(tmp_path / "own"), vocab_size=300, minloglevel=2, pad_id=0,
        unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, byte_fallback=True, normalization_rule_name=rule,
    )  # fmt: skip
    notes = run(tmp_path, corpus, tokenizer=TokenizerConfig(model="own.model")).report.notes
    told = [note for note in notes if "own.model rewrites text, full-width signs for example" in note]
    assert len(told) == n_notes


def test_an_example_of_what_was_dropped_is_not_a_whole_book(tmp_path: Path) -> None:
    too_long, long = ("a " * 500_000, "b"), ("word " * 900, "Wort " * 900)
    report = run(tmp_path, write(tmp_path, "train", [*(pair(n) for n in range(60)), too_long, long, long])).report
    assert {dropped.reason for dropped in report.dropped} >= {"length", "duplicate pair", "too many subwords"}
    assert all(len(example.src) <= 2000 for dropped in report.dropped for example in dropped.examples)


def test_a_vocabulary_too_large_is_noted(tmp_path: Path) -> None:
    report = run(tmp_path, write(tmp_path, "train", [pair(n) for n in range(9)]), tokenizer=TokenizerConfig()).report
    assert report.notes == (
        f"shared vocabulary: {report.src_vocab_size} subwords, 8000 asked for: the text supports no more",
    )


def test_each_tag_that_the_vocabulary_cuts_is_noted_and_not_the_first_alone(tmp_path: Path) -> None:
    rows = [(f"<2{('de', 'fr')[n % 2]}> {pair(n)[0]}", pair(n)[1]) for n in range(60)]
    tokenizer = TokenizerConfig(vocab_size=400, symbols=("<2de>",))
    notes = run(tmp_path, write(tmp_path, "train", rows), tokenizer=tokenizer).report.notes
    assert [re.findall("<2..>", note) for note in notes if "is cut to pieces" in note] == [["<2fr>", "<2fr>"]]


@pytest.mark.parametrize(
    ("weights", "temperature", "shares"),
    [((0.0, 0.0), 1.0, (0.9, 0.1)), ((0.0, 0.0), 2.0, (0.75, 0.25)), ((1.0, 4.0), 1.0, (0.2, 0.8))],
)
def test_corpora_are_weighted_by_size_temperature_or_ratio(
    tmp_path: Path, weights: tuple[float, float], temperature: float, shares: tuple[float, float]
) -> None:
    write(tmp_path, "a", [pair(n) for n in range(90)])
    write(tmp_path, "b", [pair(n) for n in range(90, 100)])
    corpora = [CorpusConfig(src=f"{n}.en", tgt=f"{n}.xx", weight=w) for n, w in zip("ab", weights, strict=True)]
    prepared = run(tmp_path, *corpora, temperature=temperature)
    store = Store.open(prepared.folder)
    assert store.corpus_weights == pytest.approx(shares)
    assert np.bincount(store.corpus).tolist() == [90, 10]
    assert store.where(95) == "b.en line 6"
    assert prepared.report.corpora == (("a.en", 90, 90), ("b.en", 10, 10))


def test_a_corpus_of_which_nothing_is_left_is_noted_and_gets_no_share(tmp_path: Path) -> None:
    pairs = [pair(n) for n in range(50)]
    prepared = run(tmp_path, write(tmp_path, "a", pairs), write(tmp_path, "b", pairs[:20]))
    assert Store.open(prepared.folder).corpus_weights == (1.0, 0.0)
    assert "b.en: no pair is left of 20" in prepared.report.notes


def test_text_in_another_encoding_and_nothing_left_to_validate_with_are_noted(tmp_path: Path) -> None:
    corpus = write(tmp_path, "a", [pair(n) for n in range(9)])
    sound = {path: path.read_bytes() for path in tmp_path.glob("a.*")}

    def notes_of(n_broken: int) -> tuple[str, ...]:
        for path, beginning in sound.items():
            path.write_bytes(beginning + "".join(map("词语{}\n".format, range(n_broken))).encode("gb18030"))
        return tuple(run(tmp_path, corpus, valid_pairs=20).report.notes)

    assert not any("UTF-8" in note for note in notes_of(9))  # of the half, the rest is still a corpus
    notes = notes_of(10)
    assert "10 of 19 rows are not UTF-8: see which encoding they are in and convert them" in notes
    assert "no pair is left for validation, without which nothing can be trained" in notes


@pytest.mark.parametrize("pairs", [[], [("same", "same")]])
def test_nothing_left_to_train_on_is_an_error(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(DataError, match=r"no pair of \d is left to train on \(dropped: (none|1 copied source)\)"):
        run(tmp_path, write(tmp_path, "train", pairs))
    with pytest.raises(DataError, match="is left to train on"):
        run(tmp_path, write(tmp_path, "long", [pair(n) for n in range(9)]), max_tokens=2)
    assert not list((tmp_path / "runs" / ".prepared").glob("[!l]*"))


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        ("tsv", "German\tEnglish\nHund\tdog\n", "no column 'source' or 'target' in the first line"),
        ("jsonl", '{"de": "Hund", "en": "dog"}\n', "the first line has no text under 'source'"),
        ("parquet", "no Parquet", "cannot be read"),
    ],
)
def test_a_corpus_of_another_form_is_refused_before_those_before_it_are_cleaned(
    suffix: str, content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[Any] = []
    monkeypatch.setattr(pipeline, "clean_block", lambda *given: cleaned.append(given))
    good = write(tmp_path, "train", [pair(n) for n in range(30)])
    (tmp_path / f"other.{suffix}").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        run(tmp_path, good, CorpusConfig(path=f"other.{suffix}", src_column="source", tgt_column="target"))
    assert cleaned == []


def test_a_stop_signal_leaves_nothing_that_could_be_taken_for_a_store(tmp_path: Path) -> None:
    stop = StopFlag()
    stop.signum = signal.SIGTERM
    with pytest.raises(Stopped, match="stopped by SIGTERM during prepare"):
        run(tmp_path, write(tmp_path, "train", [pair(n) for n in range(30)]), stop=stop)
    assert [path.name for path in (tmp_path / "runs" / ".prepared").iterdir()] == ["locks"]


def test_a_text_that_changes_while_it_is_read_makes_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(30)])
    read = pipeline.run

    def saved_meanwhile(*given: Any) -> Any:
        write(tmp_path, "train", [pair(n) for n in range(1, 31)])
        return read(*given)

    monkeypatch.setattr(pipeline, "run", saved_meanwhile)
    with pytest.raises(DataError, match="a text was changed while it was read; run the same command again"):
        run(tmp_path, corpus)
    assert [path.name for path in (tmp_path / "runs" / ".prepared").iterdir()] == ["locks"]


PROGRAM = """
import sys
from pathlib import Path
from yiwen.data.corpus import CorpusConfig
from yiwen.data.prepare import DataConfig, prepare
from yiwen.text.subword import TokenizerConfig
folder = Path(sys.argv[1])
data = DataConfig(src_lang="en", tgt_lang="xx", corpora=(CorpusConfig(src="train.en", tgt="train.xx"),))
prepare(data, TokenizerConfig(kind="bpe", vocab_size=400), root=folder / sys.argv[2], base=folder, workers=2)
"""


def started(folder: Path, root: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), root])


def test_a_killed_prepare_leaves_no_store_and_a_second_run_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path, "train", [pair(n) for n in range(2000)])
    assert started(tmp_path, "whole").wait(timeout=120) == 0
    (whole,) = (tmp_path / "whole" / ".prepared").glob("[!l]*")
    shelf, codes = tmp_path / "killed" / ".prepared", []
    for file in ("spill.arrow", "shared.spm", "train-00000.arrow"):  # while cleaning, when learnt, when written
        process = started(tmp_path, "killed")
        while process.poll() is None and not list(shelf.glob(f".tmp-{process.pid}.*/{file}")):
            time.sleep(0.001)
        process.kill()
        codes.append(process.wait())
        for path in shelf.glob("[!l.]*"):  # only a kill that came too late
            verify_manifest(path)
    assert -signal.SIGKILL in codes
    assert started(tmp_path, "killed").wait(timeout=120) == 0
    found = [path for path in shelf.iterdir() if path.name != "locks"]
    assert [path.name for path in found] == [whole.name]
    assert contents(found[0]) == contents(whole)


def test_leftovers_of_other_stores_are_removed_unless_somebody_writes_there(tmp_path: Path) -> None:
    shelf = tmp_path / "runs" / ".prepared"
    for name in (".tmp-dead", ".tmp-old-gone", ".tmp-busy"):
        (shelf / name).mkdir(parents=True)
    with one_writer(shelf / "locks" / "busy"):
        run(tmp_path, write(tmp_path, "train", [pair(n) for n in range(30)]))
    assert [path.name for path in shelf.glob(".tmp-*")] == [".tmp-busy"]


def test_two_at_once_make_one_store(tmp_path: Path) -> None:
    write(tmp_path, "train", [pair(n) for n in range(2000)])
    processes = [started(tmp_path, "runs") for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    (store,) = (tmp_path / "runs" / ".prepared").glob("[!l]*")
    assert len(Store.open(store)) > 1500


def test_waiting_for_another_process_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(30)])
    fingerprint = run(tmp_path, corpus, root="elsewhere").folder.name
    stop = StopFlag()
    monkeypatch.setattr(time, "sleep", lambda seconds: setattr(stop, "signum", signal.SIGINT))
    shown: list[str] = []
    monkeypatch.setattr("yiwen.data.prepare._progress", lambda _: nullcontext(lambda step, pairs: shown.append(step)))
    with one_writer(tmp_path / "runs" / ".prepared" / "locks" / fingerprint), pytest.raises(Stopped, match="SIGINT"):
        run(tmp_path, corpus, stop=stop)
    assert shown == ["waiting for another process that prepares the same,"]


def test_each_step_is_shown_with_the_pairs_that_it_is_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: Counter[str] = Counter()
    monkeypatch.setattr("yiwen.data.prepare._progress", lambda _: nullcontext(lambda step, n: shown.update({step: n})))
    pairs = [pair(n) for n in range(200)]
    run(tmp_path, write(tmp_path, "train", [*pairs, pairs[0], ("", "empty")]), valid_pairs=10, test_pairs=10)
    assert shown == {"cleaning": 202, "learning subwords from": 180, "tokenising": 201}
    assert [*shown] == ["cleaning", "learning subwords from", "tokenising"]


@pytest.mark.parametrize(("is_wanted", "is_terminal"), [(True, True), (True, False), (False, True)])
def test_the_progress_bar_is_for_terminals_only(
    is_wanted: bool, is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    with _progress(is_wanted) as tick:
        tick("cleaning", 5)
        tick("cleaning", 6)
    shown = capsys.readouterr()
    assert (shown.out, "cleaning 11 pairs" in shown.err) == ("", is_wanted and is_terminal)


def test_a_missing_pyarrow_is_named_with_its_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yiwen.data.fingerprint", None)
    with pytest.raises(MissingDependencyError, match=r"Preparing data needs pyarrow: pip install 'yiwen\[train\]'"):
        run(tmp_path, CorpusConfig(path="a.tsv"))


def test_multi30k_loses_almost_nothing(tmp_path: Path) -> None:
    folder = Path(os.environ.get("YIWEN_DATA", "")) / "multi30k"
    if not os.environ.get("YIWEN_DATA") or not folder.is_dir():
        pytest.skip("YIWEN_DATA names no folder with the test data")
    corpus, valid = (CorpusConfig(src=f"{folder}/{name}.en", tgt=f"{folder}/{name}.de") for name in ("train", "val"))
    data = DataConfig(src_lang="en", tgt_lang="de", corpora=(corpus,), valid=valid)
    prepared = prepare(data, TokenizerConfig(kind="bpe"), root=tmp_path, base=tmp_path)
    store = Store.open(prepared.folder)
    assert prepared.report.kept + prepared.report.test_split > 28_900
    row = 12_345
    line = int(store.where(row).rpartition(" ")[2])
    raw = (folder / "train.de").read_bytes().split(b"\n")[line - 1].decode()
    assert store.target.decode(store.tgt_ids(np.array([row]))) == [normalise(raw)]


def test_held_out_rows_that_lack_a_side_are_left_out_and_noted(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", [pair(n) for n in range(60)])
    (tmp_path / "t.tsv").write_text("One.\t.enO\ntorn\nTwo.\t.owT\n", encoding="utf-8")
    prepared = run(tmp_path, corpus, test=CorpusConfig(path="t.tsv"))
    assert Store.open(prepared.folder).test == (["One.", "Two."], [".enO", ".owT"])
    assert "test: 1 rows lack a side and were left out" in prepared.report.notes


def test_split_off_pairs_are_no_longer_than_what_is_trained_on(tmp_path: Path) -> None:
    pairs = [pair(n) if n % 5 else (" ".join(pair(n)[0] for _ in range(9)), pair(n)[1] * 9) for n in range(97)]
    prepared = run(tmp_path, write(tmp_path, "a", pairs), valid_pairs=23, test_pairs=9, max_tokens=67)
    store, report = Store.open(prepared.folder), prepared.report
    for name, split, kept in (("validation", report.valid_split, store.valid), ("test", report.test_split, store.test)):
        assert f"{name}: {split - len(kept.src)} of over 67 subwords left out" in report.notes
        assert max(len(ids) for ids in store.source.encode([normalise(text) for text in kept.src])) < 67
        assert {*zip(kept.src, kept.tgt, strict=True)} <= {*pairs}


@pytest.mark.parametrize("targets", ["text", "read"])
def test_a_pair_may_have_max_tokens_with_its_eos_and_no_more_wherever_it_is_read(
    targets: Targets, tmp_path: Path
) -> None:
    corpus = write(tmp_path, "a", [pair(n) for n in range(97)])
    settings: dict[str, Any] = {"valid_pairs": 9, "test_pairs": 9, "targets": targets}
    whole = Store.open(run(tmp_path, corpus, **settings).folder)
    sides = map(whole.source.encode, whole.valid.normalised("en"))
    lengths = [max(map(len, both)) + 1 for both in zip(*sides, strict=True)]
    limit = sorted(lengths)[len(lengths) // 2]
    prepared = run(tmp_path, corpus, max_tokens=limit, **settings)
    store = Store.open(prepared.folder)
    assert store.valid == whole.valid.only([length <= limit for length in lengths])
    fits = np.maximum(whole.src_lengths, whole.tgt_lengths) + 1 <= limit
    assert [store.where(row) for row in range(len(store))] == [whole.where(row) for row in np.flatnonzero(fits)]
    assert prepared.report.overlong == tuple(whole.where(row) for row in np.flatnonzero(~fits))


def test_a_row_that_lacks_either_side_is_malformed_and_nothing_more(tmp_path: Path) -> None:
    rows = [dict(zip(("src", "tgt"), pair(n), strict=True)) for n in range(31)]
    rows[7] = {"src": None, "tgt": "nur dies"}  # type: ignore[dict-item]
    rows[9] = {"src": "only this", "tgt": None}  # type: ignore[dict-item]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = run(tmp_path, CorpusConfig(path="a.jsonl")).report
    (malformed,) = (item for item in report.dropped if item.reason == "malformed row")
    assert [(each.where, each.src, each.tgt) for each in malformed.examples] == [
        ("a.jsonl line 8", "", "nur dies"),
        ("a.jsonl line 10", "only this", ""),
    ]
    assert report.read == 31


def test_pairs_that_two_tests_share_are_not_told_of_as_validation(tmp_path: Path) -> None:
    corpus, same = write(tmp_path, "train", [pair(n) for n in range(60)]), write(tmp_path, "a", [pair(99)])
    other = write(tmp_path, "b", [pair(99)])
    assert not run(tmp_path, corpus, test=same, more_tests=(other,)).report.notes
    assert any("1 of 1 pairs share a side" in n for n in run(tmp_path, corpus, valid=same, test=other).report.notes)
    assert not run(tmp_path, corpus, valid=write(tmp_path, "c", [pair(98)]), test=other).report.notes


def test_subwords_are_learnt_from_long_texts_too(tmp_path: Path) -> None:
    long = [
        tuple(" ".join(side) for side in zip(*(pair(n + 40 * i) for n in range(200)), strict=True)) for i in range(5)
    ]
    prepared = run(
        tmp_path,
        write(tmp_path, "long", long),  # type: ignore[arg-type]
        cleaning=CleaningConfig(max_length=100_000),
        max_tokens=100_000,
    )
    assert Store.open(prepared.folder).source.vocab_size == 400


def test_traditional_sources_under_zh_are_read_as_they_are_translated(tmp_path: Path) -> None:
    rows = [(f"這個軟體有 {n} 個問題".encode(), f"this software has {n} faults".encode()) for n in range(60)]
    for name, chosen in (("train", rows[:50]), ("valid", rows[50:])):
        for side, suffix in ((0, "zh"), (1, "en")):
            (tmp_path / f"{name}.{suffix}").write_bytes(b"\n".join(row[side] for row in chosen) + b"\n")
    corpora = [CorpusConfig(src=f"{name}.zh", tgt=f"{name}.en") for name in ("train", "valid")]
    data = DataConfig(src_lang="zh", tgt_lang="en", corpora=(corpora[0],), valid=corpora[1], test_pairs=0)
    tokenizer = TokenizerConfig(vocab_size=350, sampling=0.1)
    store = Store.open(prepare(data, tokenizer, root=tmp_path / "runs", base=tmp_path).folder)
    assert store.texts(np.arange(1), "src")[0].startswith("这个软体有")
    assert store.valid.src[0] == "這個軟體有 50 個問題"
    assert store.valid.normalised("zh").src[0] == "这个软体有 50 个问题"
    assert store.valid.normalised("zh-Hant").src == store.valid.src


def test_traditional_targets_under_zh_are_converted_where_they_are_read(tmp_path: Path) -> None:
    for language, text in (("en", "this software has {} faults"), ("zh", "這個軟體有 {} 個問題")):
        (tmp_path / f"train.{language}").write_text("".join(text.format(n) + "\n" for n in range(60)), encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("another source\t這個軟體有 7 個問題\n", encoding="utf-8")
    corpus, valid = CorpusConfig(src="train.en", tgt="train.zh"), CorpusConfig(path="valid.tsv")
    data = DataConfig(src_lang="en", tgt_lang="zh", corpora=(corpus,), valid=valid, test_pairs=0)
    tokenizer = TokenizerConfig(vocab_size=350, sampling=0.1)
    for task, beginning in (("embed", "这个软体有"), ("translate", "這個軟體有")):
        prepared = prepare(data, tokenizer, root=tmp_path / task, base=tmp_path, targets=TARGETS[task])
        assert [(item.reason, item.count) for item in prepared.report.dropped] == [("held-out overlap", 1)]
        assert Store.open(prepared.folder).texts(np.arange(1), "tgt")[0].startswith(beginning)
    assert TextPairs(["A"], ["這個軟體"]).normalised("en", "zh").tgt == ["这个软体"]
