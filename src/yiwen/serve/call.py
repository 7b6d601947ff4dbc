"""One request on its way: who asks, and translating for them; what every API does in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from anyio import to_thread
from starlette.requests import Request

from yiwen.documents import translate_markup
from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import Way
from yiwen.serve.service import Service
from yiwen.serve.store import ANYBODY, Key
from yiwen.stop import StopFlag
from yiwen.text.glossary import Glossary
from yiwen.translator import Translation

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One request: the service, the raw request, and the key."""

    service: Service
    request: Request
    key: Key | None

    @property
    def owner(self) -> str:
        """Whose usage, glossaries and documents these are."""
        return ANYBODY if self.key is None else self.key.id

    async def run(self, work: Callable[[StopFlag], T]) -> T:
        """Do work in a thread, as `Service.run`."""
        return await self.service.run(work, gone=self._gone)

    async def aside(self, work: Callable[..., T], *args: Any, **fields: Any) -> T:
        """Do what waits for a disk or a database in one of a few threads, so that one that hangs stops nothing else."""
        return await to_thread.run_sync(partial(work, *args, **fields), limiter=self.service.aside)

    async def _gone(self) -> None:
        """Return when the caller has left."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass

    async def translate(
        self, texts: list[str], *, src: str, tgt: str, work: Callable[[Way, StopFlag], T], markup: str | None = None
    ) -> T:
        """Have texts translated in a thread, and charge for them.

        Args:
            texts: Raw text.
            src: Its language, or `auto`.
            tgt: Language to translate to.
            work: Translates them and makes the answer.
            markup: `html` or `xml`, whose tags say nothing about the language.

        Raises:
            ApiError: If a limit is passed or the pair is not served.
        """
        with self.charged(texts, src, tgt):
            return await self.run(lambda stop: work(self.service.pairs.way_of(texts, src, tgt, markup=markup), stop))

    def charge(self, characters: int) -> str:
        """Count characters; returns in which month.

        Raises:
            ApiError: 456 where the key has not as many left.
        """
        store, limit = self.service.store, 0 if self.key is None else self.key.characters_per_month
        if not (month := store.charge(self.owner, characters, limit=limit)):
            used = f"{store.used(self.owner)} of {limit} characters of this month are used"
            raise ApiError(456, "quota", f"{used}, {characters} more are too many; wait for the next month")
        return month

    @contextmanager
    def charged(self, texts: list[str], src: str, tgt: str) -> Iterator[list[int]]:
        """Count characters for what happens in the block; where it fails, only the numbers that it adds to the list.

        Raises:
            ApiError: If a limit is passed or the pair is not served.
        """
        characters = self.service.check_texts(texts)
        self.service.pairs.check(src, tgt)  # no thread for a language that is not served
        month = self.charge(characters)
        self.request.scope["characters"] = characters
        answered: list[int] = []
        try:
            yield answered
        except BaseException:
            self.service.store.charge(self.owner, sum(answered) - characters, month=month)
            characters = self.request.scope["characters"] = sum(answered)
            raise
        finally:
            self.service.metrics.characters.inc(characters)


async def translate_marked(
    call: Call,
    texts: list[str],
    *,
    src: str,
    tgt: str,
    markup: str | None,
    then: Callable[[Way, list[Translation]], T],
    tags: Mapping[str, Sequence[str]] | None = None,
    **options: Any,
) -> T:
    """Translate texts that may hold tags, as DeepL and LibreTranslate take them: these are put back where they belong.

    Args:
        call: Who asks.
        texts: Raw text, or with tags.
        src, tgt: As for `Call.translate`.
        markup: `html` or `xml`; where it is none of them, a `<` is a character like any other.
        then: Makes the answer from the way and the translations; of texts with tags, each is all that is known.
        tags: Names of tags that are `ignored`, and of those `splitting` a text, as `translate_markup` takes them.
        options: As `Way.translate` takes them.
    """

    def work(way: Way, stop: StopFlag) -> T:
        def translate(inner: Sequence[str]) -> list[Translation]:
            return way.translate(inner, with_scores=False, stop=stop, **options)

        if markup not in ("html", "xml"):
            return then(way, translate(texts))
        align, is_html = partial(way.align, stop=stop), markup == "html"
        marked = translate_markup(texts, is_html=is_html, translate=translate, align=align, **tags or {})
        return then(way, [Translation(text, score=math.nan) for text in marked])

    return await call.translate(texts, src=src, tgt=tgt, work=work, markup=markup)


@lru_cache(maxsize=8)
def glossary_of(entries: str) -> Glossary | None:
    """Terms, one a line with a tab between its sides, as the translator takes them; None for none.

    Raises:
        DataError: If a line is no term.
    """
    return Glossary.parse(entries, source="glossary") if entries else None
