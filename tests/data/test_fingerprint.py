"""A store keeps its name from version to version: with another one text is prepared anew, and no run of it goes on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from yiwen.data import fingerprint
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.text.subword import Subword, TokenizerConfig

OTHER = CorpusConfig(path="b.tsv")


@pytest.mark.parametrize(
    ("name", "data", "tokenizer", "targets"),
    [
        ("7f94887943851864", {}, {}, "text"),
        ("d95e2172ba443358", {"valid": OTHER, "test": OTHER}, {}, "text"),
        ("4ff462502c7e9b4c", {"more_tests": (OTHER,)}, {}, "text"),
        ("aa145334779fc332", {}, {"model": "own.model"}, "text"),
        ("41fb76fadf207109", {"tgt_lang": ""}, {}, "label"),
    ],
)
def test_a_store_has_the_name_that_it_had_in_earlier_versions(
    name: str,
    data: dict[str, Any],
    tokenizer: dict[str, Any],
    targets: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where this fails, `fingerprint.FORMAT` says that it was meant: a setting that came later is named only if set."""
    monkeypatch.setattr("sentencepiece.__version__", "0.2.0")
    monkeypatch.setattr(fingerprint, "n_symbols", lambda models, targets: 0)
    for file, content in (("a.tsv", "a\tx\n"), ("b.tsv", "b\tx\n"), ("own.model", "model")):
        (tmp_path / file).write_bytes(content.encode())
    corpora = (CorpusConfig(path="a.tsv"),)
    settings = DataConfig(**{"src_lang": "en", "tgt_lang": "de", "corpora": corpora, **data})
    found = fingerprint.fingerprint_of(settings, TokenizerConfig(**tokenizer), base=tmp_path, targets=targets)
    assert found == name


@pytest.mark.parametrize("held_out", ["valid", "test", "more_tests"])
def test_held_out_text_that_has_changed_makes_another_store(held_out: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tx\n", encoding="utf-8")
    given: Any = {held_out: (OTHER,) if held_out == "more_tests" else OTHER}
    data = DataConfig(src_lang="en", tgt_lang="de", corpora=(CorpusConfig(path="a.tsv"),), **given)
    names = set()
    for text in ("b\tx\n", "c\tx\n"):
        (tmp_path / "b.tsv").write_text(text, encoding="utf-8")
        names.add(fingerprint.fingerprint_of(data, TokenizerConfig(), base=tmp_path))
    assert len(names) == 2


@pytest.mark.parametrize("side", ["source", "target"])
def test_another_vocabulary_of_either_language_makes_another_store(
    side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "n_symbols", lambda models, targets: 0)
    for file in ("a.tsv", "source.spm", "target.spm"):
        (tmp_path / file).write_bytes(b"a\tx\n")
    data = DataConfig(src_lang="en", tgt_lang="de", corpora=(CorpusConfig(path="a.tsv"),))
    tokenizer = TokenizerConfig(model=str(tmp_path))
    before = fingerprint.fingerprint_of(data, tokenizer, base=tmp_path)
    (tmp_path / f"{side}.spm").write_bytes(b"other")
    assert fingerprint.fingerprint_of(data, tokenizer, base=tmp_path) != before


def test_two_vocabularies_have_the_symbols_that_both_have(monkeypatch: pytest.MonkeyPatch) -> None:
    placeholders = {Path("source.spm"): 5, Path("target.spm"): 3}
    monkeypatch.setattr(Subword, "load", lambda path: SimpleNamespace(n_placeholders=placeholders[path]))
    assert fingerprint.n_symbols([*placeholders], "text") == 3
    assert fingerprint.n_symbols([*placeholders], "read") == 0  # nothing is put back where nothing is written
