"""The state of a running service: admission, deadlines, cancellation, and what all APIs share."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import signal
import threading
import time
from bisect import bisect
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter

from yiwen.serve.batcher import Cache, Overloaded, SharedEngine
from yiwen.serve.config import ServeConfig
from yiwen.serve.errors import ApiError, Gone
from yiwen.serve.jobs import Jobs
from yiwen.serve.metrics import Metrics
from yiwen.serve.pairs import Pairs
from yiwen.serve.store import Key, Store
from yiwen.stop import StopFlag

T = TypeVar("T")

_MINUTE_S: Final = 60.0
_SOON_S: Final = 0.05
"""Seconds after which it is watched whether the caller leaves: nearly all answers are there by then."""


class Service:
    """Bundles, and everybody who asks for them."""

    def __init__(self, config: ServeConfig, pairs_of: Callable[..., Pairs], store: Store, *, folder: Path) -> None:
        """Make a service ready.

        Args:
            config: Its limits.
            pairs_of: Opens the bundles; called again when they are to be read anew.
            store: Keys, usage, glossaries.
            folder: Where corrections go.
        """
        self.config = config
        self.store = store
        self.folder = folder
        self._asked: OrderedDict[str, list[float]] = OrderedDict()  # when, in the last minute; who came last, last
        self.metrics = Metrics()
        self.jobs = Jobs(config.max_documents)
        self.cache = Cache(config.cache_bytes, on_hit=self.metrics.cache_hits.inc)
        observe = self.metrics.batch_sentences.observe
        share = partial(SharedEngine, max_tokens=config.queue_tokens, cache=self.cache, observe=observe)
        self._pairs_of = partial(pairs_of, share=share)
        self.pairs = self._pairs_of()
        self._reloading = threading.Lock()
        self.n_running = 0
        """Requests that a thread works for."""
        self.is_draining = False
        """After SIGTERM: what is under way is finished, nothing new begins."""
        self.aside = CapacityLimiter(8)
        """Threads that wait for the database or a disk: the page's files have others."""
        self._threads = ThreadPoolExecutor(config.queue_requests, thread_name_prefix="request")
        watch = self.metrics.watch
        watch("running_requests", "Requests under way", lambda: self.n_running)
        watch("waiting_tokens", "Subwords that wait for an engine", lambda: sum(e.n_tokens for e in self.pairs.engines))
        watch("cache_bytes", "Memory that remembered translations take", lambda: self.cache.n_bytes)
        watch("unwritten_characters", "Characters that the database has not counted", lambda: self.store.n_unwritten)

    def reload(self) -> None:
        """Open the bundles again, as they are now; where one is broken, those of before stay.

        Raises:
            YiwenError: If a bundle is broken.
        """
        with self._reloading:  # one after the other: what was opened last is what is on disk now
            before, self.pairs = self.pairs, self._pairs_of()
        before.close()

    def admit(self, secret: Any, address: str, *, is_work: bool = False) -> Key | None:
        """The key of a caller, or None where none is needed.

        Args:
            secret: What was given as a key, if anything.
            address: Whose rate counts where there is no key.
            is_work: Counts as one of the requests of a minute, as guessing a key always does.

        Raises:
            ApiError: 401 without a valid key, 429 above the rate of the key or the address.
        """
        key = self.store.find(secret) if isinstance(secret, str) else None
        who, rate = f"address {_counted(address)}", self.config.requests_per_minute
        if key is not None:
            who, rate = f"key {key.id}", key.requests_per_minute
        is_guess = key is None and self.config.needs_key
        if rate and (is_work or is_guess) and (wait_s := self._wait_s(who, rate)):
            raise ApiError(429, "rate", f"more than {rate} requests a minute; wait {wait_s} s", retry_after_s=wait_s)
        if is_guess:
            given = "the key is not valid" if secret else "no key was given"
            raise ApiError(401, "key", f"{given}; send one that `yiwen keys create` made, as Authorization: Bearer KEY")
        return key

    def _wait_s(self, who: str, rate: int) -> int:
        """Seconds until a caller may ask again; 0: now, which is counted."""
        now = time.monotonic()  # the clock on the wall may be set back, and nobody would be let in until it is as far
        asked = self._asked[who] = self._asked.pop(who, [])
        del asked[: bisect(asked, now - _MINUTE_S)]
        if len(asked) >= rate:
            return max(1, math.ceil(asked[0] + _MINUTE_S - now))
        asked.append(now)
        while next(iter(self._asked.values()))[-1] <= now - _MINUTE_S:
            self._asked.popitem(last=False)
        return 0

    async def run(self, work: Callable[[StopFlag], T], *, gone: Callable[[], Awaitable[object]]) -> T:
        """Do a caller's work in a thread, if there is room; it is given up when its time is over or nobody waits.

        Raises:
            ApiError: 429 where too much is under way, 503 while draining, 504 past the deadline.
            Gone: If the caller has left.
        """
        self.check_open()
        if self.n_running >= self.config.queue_requests:
            busy = f"{self.n_running} requests are under way, which is the limit"
            raise ApiError(429, "overloaded", f"{busy}; ask again later", retry_after_s=1)
        stop, deadline_s = StopFlag(), self.config.deadline_s
        future = asyncio.get_running_loop().run_in_executor(self._threads, work, stop)
        self.n_running += 1
        future.add_done_callback(self._leave)
        leaving = None
        try:
            if not (await asyncio.wait((future,), timeout=_SOON_S))[0]:
                leaving = asyncio.ensure_future(gone())
                done, _ = await asyncio.wait((future, leaving), timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED)
                if leaving in done:
                    raise Gone
                if not done:
                    raise ApiError(504, "deadline", f"no answer within {deadline_s:g} s; send less text at a time")
            return future.result()
        except Overloaded as error:
            raise ApiError(429, "overloaded", str(error), retry_after_s=1) from error
        finally:
            if leaving is not None:
                leaving.cancel()
            if not future.done():
                self.drop(stop)

    def drop(self, stop: StopFlag) -> None:
        """Give up what is done under a flag."""
        stop.signum = signal.SIGTERM
        for engine in self.pairs.engines:
            engine.drop(stop)

    def check_texts(self, texts: list[str]) -> int:
        """Make sure that texts are within the limits; returns how many characters they have.

        Raises:
            ApiError: 413, naming the limit.
        """
        longest, total = max(map(len, texts), default=0), sum(map(len, texts))
        for value, limit, what in (
            (len(texts), self.config.max_texts, "texts in a request"),
            (longest, self.config.max_text_chars, "characters in a text"),
            (total, self.config.max_request_chars, "characters in a request"),
        ):
            if value > limit:
                raise ApiError(413, "too_long", f"{value} {what}, the limit is {limit}; send less at a time")
        return total

    def close(self) -> None:
        """Write what is not written yet, and end threads that nobody waits for."""
        self.jobs.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.pairs.close()
        self.store.close()

    def check_open(self) -> None:
        """Make sure that something new may begin.

        Raises:
            ApiError: 503 where the service is about to end.
        """
        if self.is_draining:
            raise ApiError(503, "draining", "the service is about to end; ask again in a moment", retry_after_s=5)

    def _leave(self, future: asyncio.Future[T]) -> None:
        self.n_running -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that nothing is logged where nobody waited


def _counted(address: str) -> str:
    """What stands for a caller: the address, or of IPv6 the half that he does not choose (RFC 4291, section 2.5.4)."""
    with suppress(ValueError):  # a Unix socket has none
        found = ipaddress.ip_address(address)
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
            return f"{int(found) >> 64:x}::/64"
    return address
