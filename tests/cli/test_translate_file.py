"""`yiwen translate-file`: a document with a real, tiny model; whole or not at all."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import asdict
from pathlib import Path

import pytest
from commands import Asked, Commands

from tiny_model import TinyRun, tampered
from yiwen.bundle import open_bundle
from yiwen.documents import translate_markup
from yiwen.stop import StopFlag
from yiwen.translator import Translator


def test_a_document_is_translated_by_sentence(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    source, out = tmp_path / "a.md", tmp_path / "b.md"
    source.write_bytes(b"\xef\xbb\xbf# Deti gedi bapu.\r\n\r\nKabe robu. Deti gedi.\r\n\r\n```\r\ncode\r\n```\r\n")
    done = run("translate-file", source, out, "--model", tiny_run.best, "--beam-size", 1, "--threads", 1)
    assert (done.code, done.out) == (0, b"")
    translator = Translator.load(tiny_run.best, threads=1)
    search = translator.bundle.info.search.changed(beam_size=1)
    heading, text = translator.translate(["Deti gedi bapu.", "Kabe robu. Deti gedi."], search=search, by_sentence=True)
    expected = f"\ufeff# {heading}\r\n\r\n{text}\r\n\r\n```\r\ncode\r\n```\r\n"
    assert out.read_bytes().decode() == expected


def test_all_that_is_asked_is_handed_on(run: Commands, tiny_run: TinyRun, asked_of: Asked, tmp_path: Path) -> None:
    asked = asked_of("yiwen.documents.translate_document")
    (tmp_path / "a.TXT").write_text("Deti.", encoding="utf-8")
    options = "--engine torch --device cpu --dtype bf16 --threads 3 --to de --beam-size 7 --length-penalty 0.5"
    done = run("translate-file", tmp_path / "a.TXT", tmp_path / "b.txt", "--model", tiny_run.best, *options.split(" "))
    assert done.err == f"error: {tmp_path / 'a.TXT'}: enough\n"
    how, rules = asked
    assert how == {"engine": "torch", "device": "cpu", "dtype": "bf16", "threads": 3, "tgt_lang": "de"}
    translating, aligning = rules["translate"].keywords, rules["align"].keywords
    assert (translating["search"].beam_size, translating["search"].length_penalty) == (7, 0.5)
    assert {type(each["stop"]) for each in (translating, aligning)} == {StopFlag}


def test_why_the_exported_engine_is_passed_over_is_told(
    run: Commands, exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Deti.", encoding="utf-8")
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda *device: {"int8"})
    done = run("translate-file", tmp_path / "a.txt", tmp_path / "b.txt", "--model", exported_bundle, "--threads", 1)
    assert (done.code, done.err.startswith(f"note: the exported engine of {exported_bundle} computes in")) == (0, True)


def test_a_stop_while_a_translation_is_written_leaves_the_whole_of_it(
    run: Commands, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(descriptor: int) -> None:
        assert callable(signal.getsignal(signal.SIGTERM))  # else the signal would be the end of pytest
        signal.raise_signal(signal.SIGTERM)
        fsync(descriptor)

    fsync, source, out = os.fsync, tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("Bapu deti.\n", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", stopped)
    assert run("translate-file", source, out, "--model", tiny_run.best, "--threads", 1).code == 0
    assert out.read_bytes().count(b"\n") == 1
    assert not [*tmp_path.glob(".tmp-*")]


def test_formatting_is_placed_by_the_model_itself(run: Commands, trained: TinyRun, tmp_path: Path) -> None:
    source, out = tmp_path / "a.html", tmp_path / "b.html"
    source.write_text('<html lang="en"><p>Deti <b>gedi</b> bapu.', encoding="utf-8")
    assert run("translate-file", source, out, "--model", trained.folder, "--threads", 1).code == 0
    translator = Translator.load(trained.best, threads=1)
    placed, by_share = (
        translate_markup(["<p>Deti <b>gedi</b> bapu."], is_html=True, translate=translator.translate, align=align)
        for align in (translator.align, None)
    )
    written = out.read_text(encoding="utf-8")
    assert [written] == [f'<html lang="de">{text}' for text in placed]
    assert placed != by_share


def test_a_document_keeps_to_a_glossary_and_is_written_in_the_script_that_is_asked_for(
    run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    source, out, terms = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "terms.tsv"
    source.write_text("Bapu deti.\n", encoding="utf-8")
    terms.write_text("deti\tHaus\n", encoding="utf-8")
    options = ("--beam-size", 2, "--threads", 1)
    assert run("translate-file", source, out, "--model", tiny_run.best, "--glossary", terms, *options).code == 0
    assert "Haus" in out.read_text(encoding="utf-8")
    chinese = tampered(tiny_run.best, tmp_path / "zh", tgt_lang="zh-Hans")
    table = tmp_path / "terms.txt"
    refused = run("translate-file", source, terms.rename(table), "--model", tiny_run.best, "--glossary", table)
    assert (refused.code, f"{table} is what is read, and would be lost" in refused.err) == (2, True)
    source.write_text("头发\n", encoding="utf-8")
    assert run("translate-file", source, out, "--model", chinese, "--to", "zh-Hant", *options).code == 0
    assert out.read_text(encoding="utf-8") == "頭髮\n"


@pytest.mark.parametrize(
    ("source", "out", "code", "message"),
    [
        ("missing.md", "b.md", 3, "missing.md is not a file"),
        ("a.md", "no/folder/b.md", 2, "no/folder does not exist; make it first"),
        ("a.md", ".", 2, "is a folder or may not be written; give the path of a file of yours"),
        ("a.md", "b.html", 2, "must end in '.md': a document keeps its format"),
        ("a.exe", "b.exe", 2, "a.exe: 'exe' is not a format of documents here; convert it to one of .arb, .csv, .docx"),
        ("bad.json", "b.json", 3, "bad.json: not JSON"),
        ("a.md", "a.md", 2, "a.md is what is read, and would be lost; give a file of its own"),
    ],
)
def test_what_cannot_be_done_is_told_and_writes_nothing(
    source: str, out: str, code: int, message: str, run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    for name in ("a.md", "a.exe", "bad.json"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    done = run("translate-file", tmp_path / source, tmp_path / out, "--model", tiny_run.best, "--threads", 1)
    assert done.code == code
    assert message in done.err
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "stdin"] == before


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_translated(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    monkeypatch.setattr("yiwen.files.may_write", lambda path: False)  # the user of a container may write anywhere
    done = run("translate-file", tmp_path / "a.txt", tmp_path / "b.txt", "--model", tmp_path / "missing")
    assert (done.code, "b.txt is a folder or may not be written; give" in done.err) == (2, True)


def test_a_beam_for_a_model_that_samples_is_refused(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    search = asdict(open_bundle(tiny_run.best).info.search) | {"sampling": True}
    model, source, out = (
        tampered(tiny_run.best, tmp_path / "model", search=search),
        tmp_path / "a.txt",
        tmp_path / "b.txt",
    )
    source.write_text("Deti.\n", encoding="utf-8")
    done = run("translate-file", source, out, "--model", model, "--beam-size", 2)
    assert (done.code, "search.beam_size: sampling has no beam" in done.err, out.exists()) == (2, True, False)


def test_flags_are_counted(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("deti gedi bapu kabe robu " * 20 + "\n", encoding="utf-8")
    done = run("translate-file", source, tmp_path / "b.txt", "--model", tiny_run.best, "--beam-size", 1)
    assert done.code == 0
    assert re.search(r"flagged texts: (\d+ \w+, )*1 segmented\b", done.err)
