"""A teacher's translations of a prepared corpus, kept in shards: each is whole or absent, and none is made twice.

runs/.distilled/FINGERPRINT/       of the teacher's weights, its search and the source text
  shard-000000000/                 translations.txt, a line for each prepared row from this one on; notes.json
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.progress import Progress

from yiwen.bundle import EXPORTED, WEIGHTS
from yiwen.data.store import Store
from yiwen.files import MANIFEST, is_whole, new_folder, read_json, write_json, write_lines
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.translator import Translation, Translator

SHARD_ROWS: Final = 2048
"""Sources in a shard: seconds of work, which is what a kill may cost."""
_TAGGED: Final = re.compile(r"\A(<2[\w-]+>) ")
TEXT: Final = "translations.txt"
NOTES: Final = "notes.json"
"""In a shard: why the translations at these places are of no use, and which teacher and rows it is `of`."""


def identity_of(translator: Translator, search: SearchConfig, store: Store) -> dict[str, Any]:
    """All that decides the translations: the teachers' files by their hashes, how they search, what they read.

    Hashes are those of when a model was opened: behind a link there may be another by now.
    """
    folder, files = translator.bundle.folder, _telling(translator.bundle.hashes)
    if not translator.engine.description.startswith("torch"):  # rounded weights are other weights
        exported = read_json(folder / EXPORTED / MANIFEST, "export again")
        files = {name: digest for name, digest in files.items() if name != WEIGHTS} | _telling(exported)
    text = hashlib.sha256()
    for rows in shards(store):
        for source in _asked(translator, store, rows):
            text.update(source.encode("utf-8") + b"\n")
    more = {"ensemble": [_telling(other.hashes) for other in translator.others]} if translator.others else {}
    how, source = dataclasses.asdict(search), text.hexdigest()
    return {"files": files, "search": how, "source": source, "shard_rows": SHARD_ROWS, **more}


def _telling(hashes: Mapping[str, str]) -> dict[str, str]:
    """What a manifest says of the files that a translation depends on."""
    return {name: digest for name, digest in hashes.items() if name not in ("README.md", "export.json")}


def translate_missing(
    folder: Path, translator: Translator, store: Store, search: SearchConfig, *, stop: StopFlag | None, bar: Progress
) -> int:
    """Write every shard that is missing or damaged; returns how many sources that were."""
    missing = [rows for rows in shards(store) if not _is_here(shard_of(folder, rows), len(rows))]
    n_missing, n_all = sum(map(len, missing)), len(store)

    def stream_of(parts: list[np.ndarray], search: SearchConfig) -> Iterator[Translation]:
        sources = (source.encode("utf-8") for rows in parts for source in _asked(translator, store, rows))
        return translator.translate_lines(sources, search=search, with_scores=False, checks=False, stop=stop)

    task = bar.add_task("translating", total=n_all, completed=n_all - n_missing, visible=n_missing > 0, rate="")
    began, n_done = time.perf_counter(), 0
    # One stream for all shards: the engine looks ahead, and no core waits between two of them.
    stream = stream_of(missing, search)
    for rows in missing:
        if search.sampling:  # each shard draws by itself: which others are missing must not matter
            stream = stream_of([rows], search.changed(seed=search.seed + int(rows[0])))
        translations = list(itertools.islice(stream, len(rows)))
        left_out = {str(place): fault for place, made in enumerate(translations) if (fault := _fault(made))}
        with new_folder(shard_of(folder, rows)) as shard:
            write_lines(shard / TEXT, [translation.text for translation in translations])
            write_json(shard / NOTES, left_out | {"of": _place_of(shard_of(folder, rows))})
        n_done += len(rows)
        bar.update(task, advance=len(rows), rate=f"{n_done / (time.perf_counter() - began):,.0f} sentences/s")
    return n_missing


def _fault(made: Translation) -> str:
    """Why a translation is no example to learn from, if it is none."""
    if "cut" in made.flags:
        return "cut"
    return "" if made.text.strip() else "empty"


def shards(store: Store) -> Iterator[np.ndarray]:
    """Rows of the store, shard by shard."""
    for first in range(0, len(store), SHARD_ROWS):
        yield np.arange(first, min(first + SHARD_ROWS, len(store)))


def shard_of(folder: Path, rows: np.ndarray) -> Path:
    """Folder of the shard of these rows."""
    return folder / f"shard-{rows[0]:09}"


def _place_of(shard: Path) -> str:
    return f"{shard.parent.name}/{shard.name}"


def _is_here(shard: Path, n_rows: int) -> bool:
    """Whether a shard is whole and in its place; those of earlier versions tell by their length alone."""
    if not is_whole(shard) or (shard / TEXT).read_bytes().count(b"\n") != n_rows:
        return False
    return bool(read_json(shard / NOTES, "remove the shard").get("of", _place_of(shard)) == _place_of(shard))


def _asked(translator: Translator, store: Store, rows: np.ndarray) -> list[str]:
    """What a teacher is given: sources, without a tag such as <2bt> that it has not learnt and would translate."""
    is_known = translator.bundle.source.has_piece
    return [_TAGGED.sub(lambda tag: tag[0] if is_known(tag[1]) else "", source) for source in sources_of(store, rows)]


def sources_of(store: Store, rows: np.ndarray) -> list[str]:
    """Clean source text: kept where subwords are sampled, else put together again from its subwords."""
    if store.tokenizer.sampling > 0:
        return store.texts(rows, "src")
    return store.source.decode([ids.tolist() for ids in store.src_ids(rows)])
