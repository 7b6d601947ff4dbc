"""The facade: text in, text out. The one place where text, subwords, engine and what users are told meet."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from yiwen.asking import ask, ask_for_terms, forced_ids
from yiwen.bundle import CALIBRATION, Bundle, check_room, open_bundle, require_language
from yiwen.data.lines import BLOCK_LINES, blocks
from yiwen.engines.engine import Engine, FindsTerms
from yiwen.engines.pool import ahead
from yiwen.engines.select import open_engine
from yiwen.errors import ConfigError, expect
from yiwen.evaluation.calibration import Usual, open_calibration
from yiwen.evaluation.review import Rules, review, with_spares
from yiwen.plan import plan
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.text.glossary import Glossary
from yiwen.text.normalise import as_texts, normalise
from yiwen.text.protect import named_alike
from yiwen.text.reading import Reader, ids_as_read
from yiwen.translation import Alternative, Score, Translation, assemble, chosen

__all__ = ["Alternative", "Score", "Translation", "Translator"]

if TYPE_CHECKING:
    from yiwen.analysis.alignment import Alignment


class Translator:
    """Translates raw text with a bundle.

    >>> translator = Translator.load("runs/multi30k-en-de/best")  # doctest: +SKIP
    >>> print(translator.translate(["A dog runs."])[0])  # doctest: +SKIP
    Ein Hund rennt.
    """

    def __init__(
        self,
        bundle: Bundle,
        engine: Engine,
        *,
        n_at_once: int = 1,
        note: str = "",
        tgt_lang: str = "",
        finder: Callable[[], FindsTerms] | None = None,
    ) -> None:
        """Join a bundle and its engine; `load` does it for a folder.

        Args:
            bundle: An opened bundle.
            engine: What computes; its ids are the bundle's.
            n_at_once: Blocks of a stream that the engine is given at the same time.
            note: What a user should know about how the engine was chosen.
            tgt_lang: The script of Chinese that the model does not write, to have its translations converted.
            finder: Opens an engine for glossaries, where neither `engine` nor the model's symbols can keep to one.

        Raises:
            ConfigError: If the model writes another language.
        """
        self.bundle = bundle
        self.engine = engine
        self._note = note
        self.src_lang: str = bundle.info.src_lang
        self.tgt_lang: str = tgt_lang or bundle.info.tgt_lang
        require_language(bundle, self.tgt_lang)
        self.others: Sequence[Bundle] = ()
        """Bundles that decide together with it."""
        self.limit: int = bundle.limit
        """Longest segment, in subwords without eos."""
        self._n_at_once = n_at_once
        self.usual: Usual | None = open_calibration(bundle)
        finder = None if bundle.reader.n_symbols else finder  # symbols keep to a glossary
        self._finder = (lambda: engine) if isinstance(engine, FindsTerms) else finder

    @property
    def note(self) -> str:
        """What a user should know: how the engine was chosen, and that nothing tells what is usual for the model."""
        if self.usual is not None or not (self.bundle.folder / CALIBRATION).is_dir():
            return self._note
        why = f"an earlier version measured what they need; measure it again: yiwen evaluate {self.bundle.folder}"
        return " · ".join(filter(None, (self._note, f"no confidence, no check of lengths and omissions: {why}")))

    def __repr__(self) -> str:
        return f"Translator({str(self.bundle.folder)!r}: {self.src_lang} -> {self.tgt_lang}, {self.engine.description})"

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        engine: str = "auto",
        device: str = "auto",
        dtype: str = "auto",
        threads: int = 0,
        ensemble: Sequence[str | Path] = (),
        tgt_lang: str = "",
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
            ensemble: More bundles of the same vocabulary: all decide together on each subword. Means torch.
            tgt_lang: `zh-Hant` or `zh-Hans` where the model writes the other one, to have its translations converted.

        Raises:
            CheckpointError: If anything is wrong with a bundle.
            ConfigError: If engine, device or dtype is not available, or the models of an ensemble do not fit together.
            MissingDependencyError: If torch is needed and not installed.
        """
        expect(ensemble, Iterable, "ensemble", "a list of folders", but=str)
        bundle, *others = map(open_bundle, (folder, *ensemble))
        opened = open_engine(bundle, engine=engine, device=device, dtype=dtype, threads=threads, others=others)
        translator = cls(
            bundle, opened.engine, n_at_once=opened.n_at_once, note=opened.note, tgt_lang=tgt_lang, finder=opened.finder
        )
        translator.others = others
        translator.limit = min(each.limit for each in (bundle, *others))  # none reads more than it has seen
        return translator

    def written_in(self, tgt_lang: str) -> Translator:
        """The same, engine and all, with its translations in the other script of Chinese.

        Raises:
            ConfigError: If the model writes another language.
        """
        require_language(self.bundle, tgt_lang)
        other = copy.copy(self)
        other.tgt_lang = tgt_lang
        return other

    def translate(
        self,
        texts: Sequence[str],
        *,
        search: SearchConfig | None = None,
        prefixes: Sequence[str] | None = None,
        glossary: Glossary | None = None,
        by_sentence: bool = False,
        with_scores: bool = True,
        checks: bool = True,
        stop: StopFlag | None = None,
    ) -> list[Translation]:
        """Translate texts, each to one translation in the same place.

        A blank text comes back as it is. A text of several lines is translated line by line. A line longer than
        the model has seen in training is cut into pieces at the ends of sentences and flagged; nothing is dropped.

        Args:
            texts: Raw text.
            search: Search rules; those of the bundle where not given.
            prefixes: What each translation must start with, as raw text; `""` for a free choice.
            glossary: How terms must be translated, or that they must not be. A model with symbols
                (`tokenizer.placeholders`) is given one for each term; else the trained model searches for the terms.
            by_sentence: Translate each sentence by itself, as documents are best translated, and keep blanks at the
                edges of lines; a text with a prefix is not cut that way. False: a line is a sentence, as in a test set.
            with_scores: False where nobody will look at them: an exported engine is then 8 % faster in greedy search.
            checks: Check each translation, and look once more for one that has a fault (`evaluation.review`).
            stop: Polled between batches.

        Raises:
            ConfigError: If texts is not a list of strings, prefixes are not as many, or one is too long or given for a
                text of several lines; or if neither search nor model can keep to a glossary.
        """
        texts = as_texts(texts, "translate")
        expect(search, SearchConfig | None, "search", "a yiwen.search.config.SearchConfig, or None")
        config = search or self.bundle.info.search
        reader, target = self.reader(glossary), self.bundle.target
        prefixes = [""] * len(texts) if prefixes is None else [*map(reader.to_write, as_texts(prefixes, "prefixes"))]
        if len(prefixes) != len(texts):
            raise ConfigError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one a text, '' for none")
        wholes = [bool(prefix) for prefix in prefixes]
        plans = plan(texts, reader=reader, limit=self.limit, by_sentence=by_sentence, wholes=wholes)
        asked = [stretch for stretches in plans for stretch in stretches if stretch.ids]
        begun = partial(forced_ids, subword=target, lang=reader.model_lang, room=self.bundle.room)
        forced = begun(texts, plans, prefixes) if any(prefixes) else None
        # A search that hands out its other hypotheses too costs nothing more, and a review may take one of them.
        wanted = config.changed(mbr=0, n_best=config.mbr) if config.mbr else config
        wanted = with_spares(wanted) if checks else wanted
        words = {i for i, stretch in enumerate(asked) if stretch.reading.is_word and not (forced and forced[i])}
        found = ask(self.engine, asked, forced, wanted, words=words, with_scores=with_scores, stop=stop)
        told = ask_for_terms(self._finder, asked, found, forced, wanted, reader=reader, target=target, stop=stop)
        found = [told.get(i, group) for i, group in enumerate(found)]
        shown = [group[: config.mbr or config.n_best] for group in found]
        written = iter(target.decode([h.ids for group in shown for h in group]))
        texts_of = [[*itertools.islice(written, len(group))] for group in shown]
        lacks = [partial(reader.lacks_term, stretch.reading) for stretch in asked]
        answers = [*map(partial(chosen, config=config), found, texts_of, lacks)]
        if checks:
            means = partial(Rules, bundle=self.bundle, engine=self.engine, usual=self.usual, stop=stop)
            rules = means(search=config, words=words, settled={*told}, lacks=lambda i, text: lacks[i](text))
            sources = [(stretch.reading.text, stretch.ids) for stretch in asked]
            answers = review(answers, sources, rules=rules, prefixes=forced)
        queue = iter(answers)
        return [
            assemble(text, stretches, queue, reader=reader, by_sentence=by_sentence and not whole)
            for text, stretches, whole in zip(texts, plans, wholes, strict=True)
        ]

    def translate_lines(
        self,
        lines: Iterable[bytes],
        *,
        search: SearchConfig | None = None,
        glossary: Glossary | None = None,
        by_sentence: bool = False,
        with_scores: bool = True,
        checks: bool = True,
        stop: StopFlag | None = None,
    ) -> Iterator[Translation]:
        """Translate a stream of lines with flat memory: one translation a line, in order.

        Args:
            lines: UTF-8 without line ends. Bytes that are not UTF-8 are replaced and flagged.
            search, glossary, by_sentence, with_scores, checks: As in `translate`.
            stop: Polled between batches.

        Raises:
            ConfigError: If lines are not bytes; else as in `translate`, for search and glossary before any is read.
        """
        expect(search, SearchConfig | None, "search", "a yiwen.search.config.SearchConfig, or None")
        config = search or self.bundle.info.search
        self.reader(glossary)  # what cannot be done is refused before anything is read
        self.engine.search([], config=config)
        translate = partial(
            self.translate, glossary=glossary, by_sentence=by_sentence, with_scores=with_scores, checks=checks
        )

        def translated(numbered: tuple[int, list[bytes]], stop: StopFlag | None) -> list[Translation]:
            number, block = numbered
            for line in block:
                expect(line, bytes | bytearray, "a line", "bytes, or texts to `translate`")
            # A line is one line whatever it holds: here no character inside it starts another.
            texts = [line.decode("utf-8", errors="replace") for line in block]
            # Every search starts its random numbers anew: equal lines of two blocks must not meet the same ones.
            rules = config.changed(seed=config.seed ^ number) if config.sampling else config
            return [
                translation.flagged("invalid_utf8") if text.encode() != line else translation
                for line, text, translation in zip(block, texts, translate(texts, search=rules, stop=stop), strict=True)
            ]

        numbered = enumerate(blocks(lines, BLOCK_LINES))
        return itertools.chain.from_iterable(ahead(translated, numbered, n_at_once=self._n_at_once, stop=stop))

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        first_line: int = 1,
        skipped: list[int] | None = None,
        stop: StopFlag | None = None,
    ) -> list[Score]:
        """How likely the model finds each target as the translation of its source; for filtering and ranking.

        Args:
            sources: Raw text.
            targets: Its translations.
            first_line: Number of the first line, for messages.
            skipped: Where given, a pair with a side longer than the model has positions for gets NaN, and its line is
                added here.
            stop: Polled between batches.

        Raises:
            ConfigError: If there are not as many targets as sources.
            DataError: If a text is longer than the model has positions for, and `skipped` is not given.
        """
        sources, targets = as_texts(sources, "score"), as_texts(targets, "score")
        expect(first_line, int, "first_line", "the number of a line", but=bool)
        expect(skipped, list | None, "skipped", "a list, or None")
        if len(sources) != len(targets):
            raise ConfigError(f"{len(sources)} sources but {len(targets)} targets; give one target a source")
        n = self.bundle.reader.n_symbols
        pairs = [named_alike(*pair, n) for pair in zip(map(normalise, sources), map(normalise, targets), strict=True)]
        src_ids = ids_as_read([src for src, _, _ in pairs], self.src_lang, self.bundle.source)
        tgt_ids = ids_as_read([tgt for _, tgt, _ in pairs], self.bundle.info.tgt_lang, self.bundle.target)
        if skipped is None:
            check_room(self.bundle.room, first_line=first_line, source=src_ids, target=tgt_ids)
        fits = [max(map(len, sides)) <= self.bundle.room for sides in zip(src_ids, tgt_ids, strict=True)]
        asked = ([*itertools.compress(side, fits)] for side in (src_ids, tgt_ids))
        rows = iter(self.engine.score(*asked, stop=stop))
        if skipped is not None:
            skipped += [line for line, is_short in enumerate(fits, first_line) if not is_short]
        log_probs = [math.fsum(next(rows)) if is_short else math.nan for is_short in fits]
        return [Score(log_prob, len(ids) + 1) for log_prob, ids in zip(log_probs, tgt_ids, strict=True)]

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

    def score_pairs(
        self, pairs: Iterable[tuple[str, str]], *, skipped: list[int] | None = None, stop: StopFlag | None = None
    ) -> Iterator[Score]:
        """Score a stream of (source, target) with flat memory, in order; `skipped` and errors as in `score`."""
        first_line = 1
        for block in blocks(pairs, BLOCK_LINES):
            for pair in block:
                if len(expect(pair, tuple | list, "a pair", "a source and its target")) != 2:
                    raise ConfigError(f"a pair is {pair!r:.60}; give a source and its target")
            sides = [src for src, _ in block], [tgt for _, tgt in block]
            yield from self.score(*sides, first_line=first_line, skipped=skipped, stop=stop)
            first_line += len(block)

    @property
    def keeps_terms(self) -> bool:
        """Whether it can keep to a glossary: by symbols, or by a search that is told of the terms."""
        return self._finder is not None or self.bundle.reader.n_symbols > 0

    def reader(self, glossary: Glossary | None) -> Reader:
        """How the model reads text, and how its answers are written."""
        expect(glossary, Glossary | None, "glossary", "a yiwen.text.glossary.Glossary, or None")
        if glossary is not None and not self.keeps_terms:
            remedy = f"{self.bundle.folder} has none: train it with tokenizer.placeholders = 10"
            raise ConfigError(f"a glossary needs engine='torch', or a model with symbols; {remedy}")
        return replace(self.bundle.reader, tgt_lang=self.tgt_lang, glossary=glossary, uses_symbols=self._finder is None)
