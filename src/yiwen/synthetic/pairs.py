"""The student's text: sources beside the teacher's translations, and the recipe's data with them in place of its own.

pairs-STORE/    corpus-0.en corpus-0.de ... valid.* test.* left_out.tsv notes.json manifest.json
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from yiwen.data import lines
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.data.store import Store
from yiwen.errors import DataError
from yiwen.files import absolute_path, new_folder, write_json, write_lines
from yiwen.recipe import LoadedRecipe
from yiwen.synthetic.shards import NOTES, TEXT, shard_of, shards, sources_of
from yiwen.text.clean import is_copied

LEFT_OUT: Final = "left_out.tsv"


def write_pairs(pairs: Path, folder: Path, store: Store, data: DataConfig, *, tag: str = "") -> None:
    """Join sources and translations, corpus by corpus so that their weights still hold, beside held-out text.

    Args:
        pairs: Folder to write, whole or not at all.
        folder: Where the shards lie, all of them whole.
        store: What was translated.
        data: The recipe's data.
        tag: What translations are to start with, a blank behind it. Behind a tag nobody would see that a translation
            is no more than its source: such ones are left out here.

    Raises:
        DataError: If no translation can be used.
    """
    n_pairs: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    languages = store.src_lang, store.tgt_lang
    with new_folder(pairs) as temporary, ExitStack() as stack:

        def created(name: str) -> TextIO:
            return stack.enter_context((temporary / name).open("w", encoding="utf-8", newline="\n"))

        names = map(corpus_name, np.unique(store.corpus))
        files = {name: [created(f"{name}.{language}") for language in languages] for name in names}
        named = created(LEFT_OUT)
        for row, source, target, reason in _translated(folder, store):
            if tag and not reason and is_copied(source, target):
                reason = "copied"
            if reason:
                named.write(f"{store.where(row)}\t{reason}\t{source}\n")
                reasons[reason] += 1
                continue
            name = corpus_name(store.corpus[row])
            n_pairs[name] += 1
            for file, text in zip(files[name], (source, f"{tag} {target}" if tag else target), strict=True):
                file.write(f"{text}\n")
        if not n_pairs:
            remedy = "look at the teacher: `yiwen translate` shows what it writes"
            raise DataError(f"none of {len(store)} translations can be used ({dict(reasons)}); {remedy}")
        for name, given, held_out in (("valid", data.valid, store.valid), ("test", data.test, store.test)):
            if given is None and held_out.src:  # split off from the corpora: must not be split off from translations
                for language, texts in zip(languages, held_out, strict=True):
                    write_lines(temporary / f"{name}.{language}", texts)
        write_json(temporary / NOTES, {"corpora": dict(sorted(n_pairs.items())), "left_out": dict(reasons)})


def student_data(loaded: LoadedRecipe, pairs: Path, store: Store, names: Collection[str]) -> DataConfig:
    """The recipe's data with the pairs for its training text; every path absolute, as a run folder needs them.

    Args:
        loaded: The recipe.
        pairs: Folder of the pairs, whether they are there yet or not.
        store: What they are or will be made of.
        names: Of the corpora that have pairs.
    """
    data, pairs = loaded.recipe.data, absolute_path(pairs)

    def made(name: str, weight: float = 0.0) -> CorpusConfig:
        src, tgt = (str(pairs / f"{name}.{language}") for language in (data.src_lang, data.tgt_lang))
        return CorpusConfig(src=src, tgt=tgt, weight=weight)

    def placed(given: CorpusConfig) -> CorpusConfig:
        src, tgt, path = (absolute(name, loaded.base) for name in (given.src, given.tgt, given.path))
        return dataclasses.replace(given, src=src, tgt=tgt, path=path)

    named = {corpus_name(index): corpus.weight for index, corpus in enumerate(data.corpora)}
    corpora = tuple(made(name, weight) for name, weight in named.items() if name in names)
    held_out: dict[str, Any] = {}
    for name in ("valid", "test"):
        given = getattr(data, name)
        if given is not None:
            held_out[name] = placed(given)
        elif getattr(store, name).src:
            held_out[name] = made(name)
        else:
            held_out[f"{name}_pairs"] = 0
    return dataclasses.replace(data, corpora=corpora, more_tests=tuple(map(placed, data.more_tests)), **held_out)


def absolute(path: str, base: Path) -> str:
    """The file or model folder that a recipe means, by a path that holds everywhere; an empty one stays empty."""
    if not path:
        return ""
    folder = base / lines.expanded(path)
    return str(absolute_path(folder if folder.is_dir() else lines.find(path, base=base)))


def _translated(folder: Path, store: Store) -> Iterator[tuple[int, str, str, str]]:
    """Row, source, translation, and why it is of no use or an empty text, of every prepared row."""
    for rows in shards(store):
        shard = shard_of(folder, rows)
        translations = [line.decode("utf-8") for line in lines.lines_of(shard / TEXT)]
        reasons = json.loads((shard / NOTES).read_text(encoding="utf-8"))
        found = zip(rows.tolist(), sources_of(store, rows), translations, strict=True)
        for place, (row, source, target) in enumerate(found):
            yield row, source, target, reasons.get(str(place), "")


def corpus_name(index: int) -> str:
    """What the files of the pairs of a corpus are called."""
    return f"corpus-{index}"
