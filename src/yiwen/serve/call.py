"""One request on its way: who asks, and translating for them; what every API does in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from starlette.requests import Request

from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import Way
from yiwen.serve.service import Service
from yiwen.serve.store import ANYBODY, Key
from yiwen.stop import StopFlag
from yiwen.text.glossary import Glossary

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

    async def _gone(self) -> None:
        """Return when the caller has left."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass

    async def translate(self, texts: list[str], *, src: str, tgt: str, work: Callable[[Way, StopFlag], T]) -> T:
        """Have texts translated in a thread, and charge for them.

        Args:
            texts: Raw text.
            src: Its language, or `auto`.
            tgt: Language to translate to.
            work: Translates them and makes the answer.

        Raises:
            ApiError: If a limit is passed or the pair is not served.
        """
        characters = self.service.check_texts(texts)
        pairs = self.service.pairs
        pairs.check(src, tgt)  # no thread for a language that is not served
        with self.charged(characters):
            return await self.run(lambda stop: work(pairs.way_of(texts, src, tgt), stop))

    def charge(self, characters: int) -> None:
        """Count characters.

        Raises:
            ApiError: 456 where the key has not as many left.
        """
        store, limit = self.service.store, 0 if self.key is None else self.key.characters_per_month
        if not store.charge(self.owner, characters, limit=limit):
            used = f"{store.used(self.owner)} of {limit} characters of this month are used"
            raise ApiError(456, "quota", f"{used}, {characters} more are too many; wait for the next month")

    @contextmanager
    def charged(self, characters: int) -> Iterator[list[int]]:
        """Count characters for what happens in the block; what fails costs nothing but what it says was answered."""
        self.charge(characters)
        self.request.scope["characters"] = characters
        answered: list[int] = []
        try:
            yield answered
        except BaseException:
            self.service.store.charge(self.owner, sum(answered) - characters)
            self.service.metrics.characters.inc(sum(answered))
            raise
        self.service.metrics.characters.inc(characters)


@lru_cache(maxsize=8)
def glossary_of(entries: str) -> Glossary | None:
    """Terms, one a line with a tab between its sides, as the translator takes them; None for none.

    Raises:
        DataError: If a line is no term.
    """
    return Glossary.parse(entries, source="glossary") if entries else None
