"""The name of a prepared store: a hash of everything that decides its bytes, files' contents included."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from yiwen.data import lines
from yiwen.data.config import DataConfig, more_tests
from yiwen.data.corpus import CorpusConfig, Targets, corpus_files
from yiwen.data.store import FORMAT
from yiwen.errors import naming
from yiwen.files import sha256
from yiwen.text.languages import canonical
from yiwen.text.subword import Subword, TokenizerConfig, subword_paths


def fingerprint_of(data: DataConfig, tokenizer: TokenizerConfig, *, base: Path, targets: Targets = "text") -> str:
    """Hash inputs and settings; 16 hex digits.

    A file counts by its name and its content, not by its folder. Reading costs about a second for each gigabyte.

    Raises:
        DataError: If a file does not exist.
    """
    # What a setting of a later version has where nobody sets it is left out: older stores are still good.
    settings = dataclasses.asdict(data)
    own, others = {"valid": data.valid, "test": data.test}, more_tests(data)
    for name, corpus in own.items():
        settings[name] = corpus and _content(corpus, base)
        settings[f"{name}_columns"] = corpus and (corpus.src_column, corpus.tgt_column)
    for name, corpus in others.items():
        settings[name] = [_content(corpus, base), corpus.src_column, corpus.tgt_column]
    del settings["more_tests"]
    if unescaped := [name for name, corpus in {**own, **others}.items() if corpus and corpus.unescape]:
        settings["unescaped"] = unescaped
    for entry, corpus in zip(settings["corpora"], data.corpora, strict=True):
        entry["files"] = _content(corpus, base)
        del entry["src"], entry["tgt"], entry["path"]
        for setting in ("train_only", "unescape"):
            if not entry[setting]:
                del entry[setting]
    learning = dataclasses.asdict(tokenizer)
    if tokenizer.model:
        models = ready_models(tokenizer.model, base=base)
        hashes = [sha256(path) for path in models]
        learning["model"] = hashes[0] if len(hashes) == 1 else hashes
        learning["placeholders"] = n_symbols(models, targets)
    else:
        learning["sentencepiece"] = sentencepiece.__version__
    if not learning["placeholders"]:
        del learning["placeholders"]
    read = [canonical(lang) for lang in (data.src_lang, data.tgt_lang if targets == "read" else "") if lang]
    if any(lang.startswith("zh") for lang in read):
        settings["script"] = ["tw2s 卫 half", *read]  # how Chinese is rewritten before it is read
    inputs = {"format": FORMAT, "data": settings, "tokenizer": learning}
    if targets != "text":
        inputs["targets"] = targets
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def ready_models(model: str, *, base: Path) -> tuple[Path, ...]:
    """The files that `tokenizer.model` means: one for both languages, or, of a model folder, what it has."""
    folder = base / lines.expanded(model)
    with naming("tokenizer.model"):
        return tuple(dict.fromkeys(subword_paths(folder))) if folder.is_dir() else (lines.find(model, base=base),)


def n_symbols(models: Sequence[Path], targets: Targets) -> int:
    """Symbols for spans that are no language (`tokenizer.placeholders`): as many as a translator would use."""
    return min(Subword.load(path).n_placeholders for path in models) if targets == "text" else 0


def _content(corpus: CorpusConfig, base: Path) -> list[tuple[str, str]]:
    return [(path.name, sha256(path)) for path in corpus_files(corpus, base=base)]
