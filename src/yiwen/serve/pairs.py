"""The language pairs that a service translates: the loaded bundles, and ways through two of them.

Languages asked for are looked up in a table made at the start; nothing of a request ever becomes a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from yiwen.documents import web
from yiwen.errors import ConfigError, listed
from yiwen.search.config import SearchConfig
from yiwen.serve.batcher import SharedEngine
from yiwen.serve.errors import ApiError
from yiwen.serve.metrics import LOG
from yiwen.stop import StopFlag
from yiwen.text.langid import detect, is_in
from yiwen.text.languages import base, canonical, meant, name_of
from yiwen.translator import Translation, Translator

AUTO: Final = "auto"
"""A source language that is to be told from the text."""
_DETECTED_CHARS: Final = 2000
"""How much of a text its language is told from."""
AS_IT_IS: Final = frozenset(("passed_through", "already_target"))
"""Flags of what no model was asked for."""
_LIBRES: Final = {"zt": "zh-Hant", "pb": "pt"}
"""What LibreTranslate and its clients call Traditional Chinese and Brazilian Portuguese."""


@dataclass(frozen=True)
class Way:
    """From one language to another: through one bundle, or two."""

    src: str
    tgt: str
    hops: tuple[Translator, ...]

    @property
    def name(self) -> str:
        """What a caller sees as the model, e.g. `en-zh-Hans` or `de-en-zh-Hans`."""
        return "-".join((self.src, *(canonical(hop.tgt_lang) for hop in self.hops)))

    def translate(
        self,
        texts: Sequence[str],
        *,
        search: Mapping[str, int | None] | None = None,
        glossary: Any = None,
        stop: StopFlag | None = None,
        **options: Any,
    ) -> list[Translation]:
        """Translate sentence by sentence.

        Args:
            texts: Raw text.
            search: What the bundle's search settings are changed to, on the last hop; None leaves one as it is.
            glossary, options: As `Translator.translate` takes them.
            stop: Polled between batches.

        Raises:
            ApiError: As `check_glossary`, where there is a glossary.
        """
        if glossary is not None:
            self.check_glossary()
        found: list[Translation] = []
        for hop in self.hops[:-1]:
            found = hop.translate(texts, by_sentence=True, with_scores=options.get("with_scores", True), stop=stop)
            texts = [translation.text for translation in found]
        last = self.hops[-1]
        config = _changed(last.bundle.info.search, search or {})
        done = last.translate(texts, by_sentence=True, search=config, glossary=glossary, stop=stop, **options)
        return [_joined(*both) for both in zip(found, done, strict=True)] if found else done

    @property
    def keeps_terms(self) -> bool:
        """Whether it can keep to a glossary; not through another language, in which the terms are not known."""
        return len(self.hops) == 1 and self.hops[0].keeps_terms

    def check_glossary(self) -> None:
        """Make sure that terms can be kept.

        Raises:
            ApiError: 400 where they cannot.
        """
        if not self.keeps_terms:
            alone = "keeps to no terms: it has no tokenizer.placeholders, and is served without the trained model"
            why = "goes through another language" if len(self.hops) > 1 else alone
            raise ApiError(400, "glossary", f"{self.name} {why}; leave the glossary out")

    def align(self, sources: Sequence[str], targets: Sequence[str], *, stop: StopFlag | None = None) -> Sequence[Any]:
        """Which words of two texts go with which; None for each where the way is through another language."""
        return [None] * len(sources) if len(self.hops) > 1 else self.hops[0].align(sources, targets, stop=stop)


def _joined(first: Translation, last: Translation) -> Translation:
    """What is true of both hops; nobody knows which sentence became which."""

    def is_by_model(hop: Translation) -> bool:
        return any(AS_IT_IS.isdisjoint(part.flags) for part in hop.sentences or (hop,))

    flags = tuple(sorted({*first.flags} - AS_IT_IS | {*last.flags}))
    told: list[Any] = [hop.confidence for hop in (first, last) if is_by_model(hop)]
    return replace(last, flags=flags, confidence=None if None in told else min(told, default=None), sentences=())


def _changed(config: SearchConfig, settings: Mapping[str, int | None]) -> SearchConfig:
    """Search settings with changes; beam and candidates are no fewer than the translations that are asked for."""
    n_best = settings.get("n_best") or config.n_best
    beam_size = settings.get("beam_size") or (None if config.sampling else config.beam_size)
    wide = {"beam_size": beam_size and max(beam_size, n_best), "mbr": config.mbr and max(config.mbr, n_best)}
    return config.changed(**{**settings, **wide})


class Pairs:
    """All ways between the languages of the loaded bundles."""

    def __init__(self, direct: Mapping[tuple[str, str], Translator]) -> None:
        """Find the ways through two bundles, too; the translators' languages are canonical codes."""
        self.ways = {pair: Way(*pair, (translator,)) for pair, translator in direct.items()}
        for (src, middle), first in direct.items():
            for (other, tgt), second in direct.items():
                if middle == other and base(src) != base(tgt):
                    self.ways.setdefault((src, tgt), Way(src, tgt, (first, second)))
        self.sources = sorted({src for src, _ in self.ways})
        codes = dict.fromkeys(code for pair in direct for code in pair)
        self.languages = sorted(codes)
        # What means a language here whatever it means elsewhere, in small letters: codes, names, and codes of others.
        # Where only the script tells two apart, the language alone is the first one's.
        self._code_of = {**_LIBRES}
        for code in codes:
            self._code_of.setdefault({"no": "nb", "nb": "no"}.get(code, code.lower()), code)  # as such it is Bokmål
            self._code_of.setdefault(base(code), code)
            self._code_of |= {spelling.lower(): code for spelling in (code, *name_of(code))}

    @classmethod
    def load(cls, folders: Sequence[Path], *, share: Callable[[Any], SharedEngine], **options: Any) -> Pairs:
        """Open and verify bundles; an exported engine translates its golden sentence.

        Args:
            folders: The bundles.
            share: Makes an engine one for many callers.
            options: As `Translator.load` takes them.

        Raises:
            CheckpointError: If anything is wrong with a bundle.
            ConfigError: If two bundles translate the same pair, or engine or device is not to be had.
        """
        direct: dict[tuple[str, str], Translator] = {}
        for folder in folders:
            translator = Translator.load(folder, **options)
            if translator.note:
                LOG.warning("model", extra={"folder": str(folder), "note": translator.note})
            pair = (canonical(translator.src_lang), canonical(translator.tgt_lang))
            if twin := direct.get(pair):
                raise ConfigError(f"{twin.bundle.folder} and {folder} both translate {' to '.join(pair)}; give one")
            direct[pair] = translator
        for translator in direct.values():
            translator.engine = share(translator.engine)
        for (src, tgt), translator in [*direct.items()]:  # Chinese is read and written in either script
            for script in ("zh-Hans", "zh-Hant"):
                if base(tgt) == "zh":
                    direct.setdefault((src, script), translator.written_in(script))
                if base(src) == "zh":
                    direct.setdefault((script, tgt), translator)
        return cls(direct)

    def way(self, src: str, tgt: str) -> Way:
        """How to translate between two languages, however they are spelled.

        Raises:
            ApiError: 400 where no loaded bundle leads from one to the other.
        """
        if way := self.ways.get((self.code(src), self.code(tgt))):
            return way
        from_here_first = sorted(self.ways, key=lambda pair: (pair[0] != self.code(src), pair))
        known = listed([f"{a} to {b}" for a, b in from_here_first])
        raise ApiError(400, "language", f"{src[:35]!r} to {tgt[:35]!r} is not translated here; there is {known}")

    def check(self, src: str, tgt: str) -> None:
        """Make sure that a pair is served, as far as that is known before there is a text: `src` may be `auto`.

        Raises:
            ApiError: 400 where it is not.
        """
        if src != AUTO or self.code(tgt) not in self.targets():
            self.way(src, tgt)

    def way_of(self, texts: Sequence[str], src: str, tgt: str, *, markup: str | None = None) -> Way:
        """How to translate these texts; what `auto` means is told from all of them together.

        Raises:
            ApiError: 400 as for `way`, also where the texts are certainly in a language that does not lead there.
        """
        if src == AUTO:
            text, possible = _said("\n".join(texts), markup), [a for a, b in self.ways if b == self.code(tgt)] or [src]
            found, told = self.detect(text, possible)[0], self.detect(text)[0]
            src = found if found in possible else possible[0]  # a number is no language's own
            if base(told) not in map(base, (*possible, self.code(tgt))) and is_in(text, told, rather_than=src):
                src = told  # from which no way leads there: better said than translated as another language
        return self.way(src, tgt)

    def detect(self, text: str, among: Sequence[str] = (), *, markup: str | None = None) -> tuple[str, float]:
        """The likeliest of some languages, else of all that are served, and how sure that is; tags say nothing."""
        return detect(_said(text, markup)[:_DETECTED_CHARS], among or self.languages)

    def code(self, spelling: str) -> str:
        """The code of a language that is served here, or the spelling itself. A region may be dropped, a script not."""
        code, known = spelling.strip().lower().replace("_", "-"), meant(spelling)
        if code in self._code_of or known in self.languages:
            return self._code_of.get(code, known)
        has_script = "-" in known or any(len(part) == 4 for part in code.split("-")[1:])
        return spelling if has_script else self._code_of.get(known, spelling)

    def targets(self, src: str | None = None) -> list[str]:
        """Languages that can be translated to, from a language or from any."""
        return sorted({tgt for other, tgt in self.ways if src in (None, other)})

    @property
    def engines(self) -> set[SharedEngine]:
        """The engines of the loaded bundles."""
        return {hop.engine for way in self.ways.values() for hop in way.hops if isinstance(hop.engine, SharedEngine)}

    def close(self) -> None:
        """End the engines' threads once nothing waits any more."""
        for engine in self.engines:
            engine.close()


def _said(text: str, markup: str | None) -> str:
    """What a text says, without its tags."""
    is_html = markup == "html"
    return "\n".join(web.said(text, is_html=is_html)) if is_html or markup == "xml" else text
