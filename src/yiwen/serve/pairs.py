"""The language pairs that a service translates: the loaded bundles, and ways through two of them.

Languages asked for are looked up in a table made at the start; nothing of a request ever becomes a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yiwen.errors import ConfigError
from yiwen.search.config import SearchConfig
from yiwen.serve.batcher import Cache, SharedEngine
from yiwen.stop import StopFlag
from yiwen.translator import Translation, Translator


@dataclass(frozen=True)
class Way:
    """From one language to another: through one bundle, or two."""

    src: str
    tgt: str
    hops: tuple[Translator, ...]

    @property
    def name(self) -> str:
        """What a caller sees as the model, e.g. `en-zh` or `de-en-zh`."""
        return "-".join((self.hops[0].src_lang, *(hop.tgt_lang for hop in self.hops)))

    def translate(
        self,
        texts: Sequence[str],
        *,
        search: Mapping[str, int | None],
        prefixes: Sequence[str] | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[Translation]:
        """Translate; `search` changes the bundle's search settings, and prefix and rules are those of the last hop."""
        for hop in self.hops[:-1]:
            texts = [translation.text for translation in hop.translate(texts, with_scores=False, stop=stop)]
        last = self.hops[-1]
        return last.translate(
            texts, search=_changed(last, search), prefixes=prefixes, with_scores=with_scores, stop=stop
        )


@dataclass(frozen=True)
class Pairs:
    """All ways between the languages of the loaded bundles."""

    ways: Mapping[tuple[str, str], Way]
    engines: tuple[SharedEngine, ...] = field(default=())

    @classmethod
    def load(
        cls,
        folders: Sequence[Path],
        *,
        engine: str,
        device: str,
        threads: int,
        queue_tokens: int,
        cache: Cache,
        observe: Callable[[int], None],
    ) -> Pairs:
        """Open and verify bundles; an exported engine translates its golden sentence.

        Raises:
            CheckpointError: If anything is wrong with a bundle.
            ConfigError: If two bundles translate the same pair, or engine or device is not to be had.
        """
        direct: dict[tuple[str, str], Translator] = {}
        for folder in folders:
            translator = Translator.load(folder, engine=engine, device=device, threads=threads)
            pair = (translator.src_lang, translator.tgt_lang)
            if pair in direct:
                raise ConfigError(
                    f"{direct[pair].bundle.folder} and {folder} both translate {pair[0]} to {pair[1]}; give one of them"
                )
            direct[pair] = translator
        engines = []
        for translator in direct.values():
            shared = SharedEngine(translator.engine, max_tokens=queue_tokens, cache=cache, observe=observe)
            translator.engine = shared
            engines.append(shared)
        ways = {pair: Way(*pair, (translator,)) for pair, translator in direct.items()}
        for (src, middle), first in direct.items():
            for (other, tgt), second in direct.items():
                if middle == other and src != tgt:
                    ways.setdefault((src, tgt), Way(src, tgt, (first, second)))
        return cls(ways, tuple(engines))

    @property
    def sources(self) -> list[str]:
        """Languages that can be translated from."""
        return sorted({src for src, _ in self.ways})

    def targets(self, src: str | None = None) -> list[str]:
        """Languages that can be translated to, from a language or from any."""
        return sorted({tgt for other, tgt in self.ways if src in (None, other)})

    def close(self) -> None:
        """End the engines' threads once nothing waits any more."""
        for engine in self.engines:
            engine.close()


def _changed(translator: Translator, settings: Mapping[str, int | None]) -> SearchConfig:
    return translator.bundle.info.search.changed(**settings)
