"""A teacher at work: every source of a store translated, once, and the pairs written down in plain text.

runs/.distilled/FINGERPRINT/       of the teacher's weights, its search and the source text
  teacher.json                     what that is
  shard-000000000/ ...             see shards.py
  pairs-STORE/                     see pairs.py
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from yiwen.data.config import DataConfig
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.files import is_whole, one_writer, write_json
from yiwen.recipe import runs_root
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.synthetic.pairs import LEFT_OUT, write_pairs
from yiwen.synthetic.shards import NOTES, identity_of, translate_missing
from yiwen.training.log import bar_with_rate
from yiwen.translator import Translator


@dataclass(frozen=True, kw_only=True)
class Teachers:
    """A model, or several of the same vocabulary that decide together on each subword; and how they translate."""

    folder: Path
    """A bundle or a run; its exported engine is used where it has one, and draws nothing at random."""
    ensemble: Sequence[Path] = ()
    """Those beside the first."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """Search settings other than the first one's own; None leaves one as it is."""
    device: str = "auto"
    """Where they compute."""
    threads: int = 0
    """Processor threads; 0 for all."""

    def load(self) -> Translator:
        """Open and verify them.

        Raises:
            CheckpointError, ConfigError: As in `Translator.load`; also if a search setting is wrong.
        """
        engine = "torch" if self.search.get("sampling") else "auto"
        translator = Translator.load(
            self.folder, engine=engine, device=self.device, threads=self.threads, ensemble=self.ensemble
        )
        self.rules(translator)  # refused now, not after the text is prepared
        return translator

    def rules(self, translator: Translator) -> SearchConfig:
        """How they search for one translation each: as the first one's bundle says, or at random where that is asked.

        Raises:
            ConfigError: If a setting is wrong, or a beam is wanted where samples are drawn.
        """
        mbr = 0 if self.search.get("sampling") else None  # it would take the most usual of many samples
        return translator.bundle.info.search.changed(**{"n_best": 1, "mbr": mbr, **self.search})


@dataclass(frozen=True, kw_only=True)
class Made:
    """Pairs of sources and a teacher's translations."""

    folder: Path
    """Where they lie, in plain text."""
    corpora: dict[str, int]
    """Pairs of each corpus, by the name of its files."""
    n_translated: int
    """Sources translated now; the others were found translated."""
    left_out: dict[str, int]
    """Sources without a pair, by reason; each is named in `left_out.tsv`."""
    engine: str
    """What the teacher ran on."""
    seconds: float
    """Wall time."""

    @property
    def n_pairs(self) -> int:
        """Pairs in all."""
        return sum(self.corpora.values())

    def __str__(self) -> str:
        """What a user should know of the new text."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.left_out.items()))
        named = f"; left out, and named in {LEFT_OUT}: {left_out}" if left_out else ""
        now = f"{self.n_translated:,} sources translated now by {self.engine}, {self.seconds:.0f} s"
        return f"{self.n_pairs:,} pairs in {self.folder}{named}\n  {now}"


def make_pairs(
    teachers: Teachers,
    translator: Translator,
    store: Store,
    data: DataConfig,
    *,
    tag: str = "",
    check: Callable[[Store, Path], None] = lambda store, pairs: None,
    stop: StopFlag | None,
    console: Console | None,
) -> Made:
    """Translate what is missing of a store's sources, and write all pairs.

    Args:
        teachers: Who translates.
        translator: The same, loaded.
        store: What is translated.
        data: What the store was made of.
        tag: What every translation is to start with, so that a model can tell it from what people wrote.
        check: Is given the store and the folder of pairs that are not there yet, before anything is translated; it may
            refuse.
        stop: Polled between batches.
        console: Where progress is shown, if it is a terminal.

    Raises:
        ConfigError: If both languages are the same.
        DataError: If no translation can be used.
        TrainingError: If another process is translating the same.
    """
    model = translator.bundle.folder
    if store.src_lang == store.tgt_lang:  # files of pairs end in their language
        raise ConfigError(f"{model} translates {store.src_lang} into itself; give one of two languages")
    began = time.perf_counter()
    config = teachers.rules(translator)
    identity = identity_of(translator, config, store)
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    folder = runs_root() / ".distilled" / digest[:16]
    with one_writer(folder):
        write_json(folder / "teacher.json", {"teacher": str(model), "engine": translator.engine.description} | identity)
        tagged = f"-tagged-{hashlib.sha256(tag.encode()).hexdigest()[:8]}" if tag else ""
        pairs = folder / f"pairs-{store.fingerprint}{tagged}"
        if not is_whole(pairs):
            check(store, pairs)
        with bar_with_rate(console or Console(quiet=True, stderr=True)) as bar:
            n_translated = translate_missing(folder, translator, store, config, stop=stop, bar=bar)
        if not is_whole(pairs):
            write_pairs(pairs, folder, store, data, tag=tag)
    notes = json.loads((pairs / NOTES).read_text(encoding="utf-8"))
    return Made(
        folder=pairs,
        corpora=notes["corpora"],
        n_translated=n_translated,
        left_out=notes["left_out"],
        engine=translator.engine.description,
        seconds=time.perf_counter() - began,
    )
