"""The facade: text in, text out. The one place where text, subwords, engine and what users are told meet."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from yiwen.bundle import Bundle, open_bundle
from yiwen.engines.pool import ahead
from yiwen.engines.select import open_engine
from yiwen.errors import ConfigError
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword

if TYPE_CHECKING:
    from yiwen.analysis.alignment import Alignment
    from yiwen.engines.engine import Engine
    from yiwen.search.hypothesis import Hypothesis

T = TypeVar("T")

BLOCK_LINES: Final = 4096
"""Lines of a file that are held at a time: enough to sort by length, few enough to stay small."""

UNSPACED: Final = ("zh", "ja", "th", "lo", "my", "km")
"""Languages whose sentences follow one another without a blank."""


@dataclass(frozen=True)
class Alternative:
    """One more translation of the same text."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A translated text and what there is to know about it. `str()` of it is the text."""

    text: str
    """The translation, as many lines as the source."""
    score: float
    """Log-probability a subword (by the search's length penalty), the mean over its segments; 0 where nothing had
    to be translated, NaN where it was neither asked for nor free."""
    alternatives: tuple[Alternative, ...] = ()
    """All n-best translations, best first, where more than one was asked for and the text is one segment."""
    flags: tuple[str, ...] = ()
    """What a careful reader should know: `segmented` (longer than the model has seen, so translated in pieces),
    `cut` (the length limit ended a translation), `invalid_utf8` (bytes that are no text were replaced)."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score:
    """How likely the model finds a given translation."""

    log_prob: float
    """Natural logarithm of its probability, end included."""
    n_tokens: int
    """Subwords, end included."""

    @property
    def per_token(self) -> float:
        """Log-probability a subword: comparable between texts of different length."""
        return self.log_prob / self.n_tokens


_Plan = list[tuple[str, range]]
"""What one text becomes: its lines, each with the indexes of its segments; none where the line is blank."""


class Translator:
    """Translates raw text with a bundle.

    >>> translator = Translator.load("runs/multi30k-en-de/best")  # doctest: +SKIP
    >>> print(translator.translate(["A dog runs."])[0])  # doctest: +SKIP
    Ein Hund rennt.
    """

    def __init__(self, bundle: Bundle, engine: Engine, *, n_at_once: int = 1, note: str = "") -> None:
        """Join a bundle and its engine; `load` does it for a folder.

        Args:
            bundle: An opened bundle.
            engine: What computes; its ids are the bundle's.
            n_at_once: Blocks of a stream that the engine is given at the same time.
            note: What a user should know of how the engine was chosen.
        """
        self.bundle = bundle
        self.engine = engine
        self.note = note
        self.src_lang = bundle.info.src_lang
        self.tgt_lang = bundle.info.tgt_lang
        self._n_at_once = n_at_once

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        engine: str = "auto",
        device: str = "auto",
        dtype: str = "auto",
        threads: int = 0,
    ) -> Translator:
        """Open and verify a bundle, and make its engine ready.

        Args:
            folder: The bundle, or a run: then its best model.
            engine: `torch`, `ctranslate2` (the bundle must have been exported), or `auto`: the exported engine where
                there is one and nothing below asks for another, else torch.
            device: `auto`, `cpu`, `cuda`. With `engine="auto"` a device other than the CPU means torch.
            dtype: `auto`: as exported, or the torch engine's choice. `float32` (the reference) and `bf16` (faster
                where the hardware has it) mean the torch engine.
            threads: Processor threads; 0 for all.

        Raises:
            CheckpointError: If anything is wrong with the bundle.
            ConfigError: If engine, device or dtype is not to be had.
            MissingDependencyError: If torch is needed and not installed.
        """
        bundle = open_bundle(Path(folder))
        opened = open_engine(bundle, engine=engine, device=device, dtype=dtype, threads=threads)
        return cls(bundle, opened.engine, n_at_once=opened.n_at_once, note=opened.note)

    def translate(
        self,
        texts: Sequence[str],
        *,
        search: SearchConfig | None = None,
        prefixes: Sequence[str] | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[Translation]:
        """Translate texts, each to one translation in the same place.

        A blank text comes back as it is. A text of several lines is translated line by line. A line longer than
        the model has seen in training is cut into pieces at the ends of sentences and flagged; nothing is dropped.

        Args:
            texts: Raw text.
            search: Search rules; those of the bundle where not given.
            prefixes: What each translation must start with, as raw text; `""` for a free choice.
            with_scores: False where nobody will look at them: an exported engine is then 8 % faster in greedy search.
            stop: Polled between batches.

        Raises:
            ConfigError: If prefixes are not as many as texts, or one is too long or given for a text of several lines.
        """
        config = search or self.bundle.info.search
        plans, segments = self._plan(texts)
        forced = self._prefix_ids(plans, prefixes, len(segments)) if prefixes is not None else None
        hypotheses = self.engine.search(segments, config=config, prefixes=forced, with_scores=with_scores, stop=stop)
        texts_of = self._decode(hypotheses)
        return [self._join(plan, hypotheses, texts_of) for plan in plans]

    def translate_lines(
        self,
        lines: Iterable[bytes],
        *,
        search: SearchConfig | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> Iterator[Translation]:
        """Translate a stream of lines with flat memory: one translation a line, in order.

        Args:
            lines: UTF-8 without line ends. Bytes that are no UTF-8 are replaced and flagged.
            search, with_scores: As in `translate`.
            stop: Polled between batches.
        """

        def translated(block: list[bytes], stop: StopFlag) -> list[Translation]:
            # A line is one line whatever it holds: here no character inside it starts another.
            texts = [line.decode("utf-8", errors="replace") for line in block]
            translations = self.translate(texts, search=search, with_scores=with_scores, stop=stop)
            return [
                _flagged(translation, "invalid_utf8") if "\ufffd" in text and not _is_utf8(line) else translation
                for line, text, translation in zip(block, texts, translations, strict=True)
            ]

        blocks = ahead(translated, _blocks(lines), n_at_once=self._n_at_once, stop=stop, doing="translation")
        return itertools.chain.from_iterable(blocks)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, first_line: int = 1, stop: StopFlag | None = None
    ) -> list[Score]:
        """How likely the model finds each target as the translation of its source; for filtering and ranking.

        Args:
            sources: Raw text.
            targets: Its translations.
            first_line: What messages count the lines from.
            stop: Polled between batches.

        Raises:
            ConfigError: If there are not as many targets as sources.
            DataError: If a text is longer than the model has positions for.
        """
        if len(sources) != len(targets):
            raise ConfigError(f"{len(sources)} sources but {len(targets)} targets; give one target a source")
        src_ids = self.bundle.source.encode([normalise(text) for text in sources])
        tgt_ids = self.bundle.target.encode([normalise(text) for text in targets])
        self.bundle.check_room(src_ids, tgt_ids, first_line=first_line)
        rows = self.engine.score(src_ids, tgt_ids, stop=stop)
        return [Score(log_prob=math.fsum(row), n_tokens=len(row)) for row in rows]

    def align(self, sources: Sequence[str], targets: Sequence[str], *, stop: StopFlag | None = None) -> list[Alignment]:
        """Which words of each source its translation was made from, by the attention of the bundle's alignment head.

        Args:
            sources: Raw text.
            targets: Its translations, by this model or by anyone.
            stop: Polled between batches.

        Raises:
            ConfigError: If there are not as many targets as sources.
            DataError: If a text is longer than the model has positions for.
        """
        from yiwen.analysis.alignment import align

        return align(self.bundle, self.engine, sources, targets, stop=stop)

    def score_pairs(self, pairs: Iterable[tuple[str, str]], *, stop: StopFlag | None = None) -> Iterator[Score]:
        """Score a stream of (source, target) with flat memory, in order."""
        first_line = 1
        for block in _blocks(pairs):
            yield from self.score(
                [src for src, _ in block], [tgt for _, tgt in block], first_line=first_line, stop=stop
            )
            first_line += len(block)

    def _plan(self, texts: Sequence[str]) -> tuple[list[_Plan], list[list[int]]]:
        """Cut texts into segments; returns what becomes of each text, and the ids of all segments."""
        lines_of = [text.split("\n") for text in texts]
        clean = [[normalise(line) for line in lines] for lines in lines_of]
        encoded = iter(self.bundle.source.encode([line for lines in clean for line in lines if line]))
        limit = self.limit
        segments: list[list[int]] = []
        plans: list[_Plan] = []
        for lines, clean_lines in zip(lines_of, clean, strict=True):
            plan: _Plan = []
            for line, is_text in zip(lines, clean_lines, strict=True):
                start = len(segments)
                if is_text:
                    ids = next(encoded)
                    segments += (ids,) if len(ids) <= limit else _split_long(ids, self.bundle.source, limit)
                plan.append((line, range(start, len(segments))))
            plans.append(plan)
        return plans, segments

    @property
    def limit(self) -> int:
        """Longest segment, in subwords without eos."""
        return max(1, min(self.bundle.info.max_src_tokens - 1, self.room))

    @property
    def room(self) -> int:
        """Subwords, without eos, that the model has positions for on either side."""
        return self.bundle.room

    def _prefix_ids(self, plans: list[_Plan], prefixes: Sequence[str], n_segments: int) -> list[list[int]]:
        if len(prefixes) != len(plans):
            raise ConfigError(f"{len(prefixes)} prefixes for {len(plans)} texts; give one a text, '' for none")
        forced: list[list[int]] = [[] for _ in range(n_segments)]
        for plan, prefix in zip(plans, prefixes, strict=True):
            if not normalise(prefix):
                continue
            if len(plan) != 1:
                raise ConfigError(f"the prefix {prefix!r} belongs to a text of {len(plan)} lines; use one line")
            (ids,) = self.bundle.target.encode([normalise(prefix)])
            if len(ids) > self.room:
                raise ConfigError(
                    f"the prefix {prefix[:40]!r} has {len(ids)} subwords, the model has positions for {self.room}; "
                    "shorten it"
                )
            for segment in plan[0][1][:1]:
                forced[segment] = ids
        return forced

    def _decode(self, hypotheses: list[list[Hypothesis]]) -> list[list[str]]:
        texts = iter(self.bundle.target.decode([h.ids for group in hypotheses for h in group]))
        return [[next(texts) for _ in group] for group in hypotheses]

    def _join(self, plan: _Plan, hypotheses: list[list[Hypothesis]], texts_of: list[list[str]]) -> Translation:
        """Put the segments of one text together again."""
        used = [segment for _, segments in plan for segment in segments]
        best = [hypotheses[segment][0] for segment in used]
        if len(plan) == 1 and len(used) == 1:  # a line of a file: nearly all there ever is
            group = hypotheses[used[0]]
            texts = texts_of[used[0]]
            alternatives = tuple(map(Alternative, texts, (h.score for h in group))) if len(group) > 1 else ()
            return Translation(texts[0], best[0].score, alternatives, () if best[0].is_finished else ("cut",))
        between = "" if self.tgt_lang.split("-")[0] in UNSPACED else " "
        flags = {"cut": any(not h.is_finished for h in best), "segmented": any(len(s) > 1 for _, s in plan)}
        return Translation(
            text="\n".join(
                between.join(texts_of[segment][0] for segment in segments) if segments else line
                for line, segments in plan
            ),
            score=math.fsum(h.score for h in best) / len(best) if best else 0.0,
            flags=tuple(flag for flag, is_set in flags.items() if is_set),
        )


def _split_long(ids: list[int], subword: Subword, limit: int) -> Iterator[list[int]]:
    """Cut subwords into pieces of at most `limit`: after the end of a sentence, else before a word, else anywhere."""
    while len(ids) > limit:
        pieces = subword.pieces(ids[: limit + 1])
        sentence_ends = [i + 1 for i, piece in enumerate(pieces[:limit]) if piece[-1:] in set("。！？；.!?;…")]
        word_starts = [i for i, piece in enumerate(pieces) if i > 0 and (piece.startswith("▁") or piece in "，、,")]
        # A cut in the first half would make pieces needlessly short.
        cut = next((i for cuts in (sentence_ends, word_starts) for i in reversed(cuts) if i > limit // 2), limit)
        yield ids[:cut]
        ids = ids[cut:]
    yield ids


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _flagged(translation: Translation, flag: str) -> Translation:
    return Translation(
        text=translation.text,
        score=translation.score,
        alternatives=translation.alternatives,
        flags=tuple(sorted({*translation.flags, flag})),
    )


def _blocks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while block := list(itertools.islice(iterator, BLOCK_LINES)):
        yield block
