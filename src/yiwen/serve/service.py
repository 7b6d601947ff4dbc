"""What every API shares: admission, deadlines, cancellation, and translating with whatever pair is asked for."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from yiwen.errors import Stopped, YiwenError
from yiwen.serve.batcher import Overloaded
from yiwen.serve.config import ServeConfig
from yiwen.serve.pairs import Pairs, Way
from yiwen.stop import StopFlag

T = TypeVar("T")

_POLL_S: Final = 0.1
"""Seconds between two looks at whether the caller is still there."""


class ApiError(YiwenError):
    """What a caller is told instead of an answer."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after_s = status, code, retry_after_s


class Gone(Exception):
    """The caller has left; nobody reads an answer."""


class Service:
    """The state of a running service."""

    def __init__(self, config: ServeConfig, pairs: Pairs) -> None:
        self.config = config
        self.pairs = pairs
        self.n_running = 0
        """Requests that a thread works for."""
        self.is_draining = False
        """After SIGTERM: what is under way is finished, nothing new begins."""
        self._threads = ThreadPoolExecutor(config.queue_requests, thread_name_prefix="request")

    async def run(self, work: Callable[[StopFlag], T], *, is_gone: Callable[[], Awaitable[bool]]) -> T:
        """Do a caller's work in a thread, if there is room; it is given up when its time is over or nobody waits.

        Raises:
            ApiError: 429 where too much is under way, 503 while draining, 504 past the deadline.
            Gone: If the caller has left.
        """
        self.admit()
        loop = asyncio.get_running_loop()
        stop, deadline = StopFlag(), loop.time() + self.config.deadline_s
        self.n_running += 1
        future = loop.run_in_executor(self._threads, work, stop)
        future.add_done_callback(self._leave)
        try:
            while not (await asyncio.wait((future,), timeout=_POLL_S))[0]:
                if loop.time() > deadline:
                    raise ApiError(
                        504, "deadline", f"no answer within {self.config.deadline_s:g} s; send less text at a time"
                    )
                if await is_gone():
                    raise Gone
            return future.result()
        except Overloaded as error:
            raise ApiError(429, "overloaded", str(error), retry_after_s=1) from error
        finally:
            stop.signum = signal.SIGTERM

    def admit(self) -> None:
        """Make sure that there is room for one more request.

        Raises:
            ApiError: 429 or 503, with the time to come again.
        """
        if self.is_draining:
            raise ApiError(503, "draining", "the service is about to end; ask another one", retry_after_s=5)
        if self.n_running >= self.config.queue_requests:
            raise ApiError(
                429,
                "overloaded",
                f"{self.n_running} requests are under way, which is the limit; ask again later",
                retry_after_s=1,
            )

    def way(self, src: str, tgt: str) -> Way:
        """How to translate between two languages.

        Raises:
            ApiError: 400 where no loaded bundle leads from one to the other.
        """
        way = self.pairs.ways.get((src, tgt))
        if way is None:
            known = ", ".join(f"{a} to {b}" for a, b in sorted(self.pairs.ways))
            raise ApiError(400, "language", f"{src[:40]!r} to {tgt[:40]!r} is not translated here; there is {known}")
        return way

    def check_texts(self, texts: list[str]) -> None:
        """Make sure that texts are within the limits.

        Raises:
            ApiError: 413, naming the limit.
        """
        config = self.config
        longest, total = max(map(len, texts), default=0), sum(map(len, texts))
        for value, limit, what in (
            (len(texts), config.max_texts, "texts in a request"),
            (longest, config.max_text_chars, "characters in a text"),
            (total, config.max_request_chars, "characters in a request"),
        ):
            if value > limit:
                raise ApiError(413, "too_long", f"{value} {what}, the limit is {limit}; send less at a time")

    def _leave(self, future: asyncio.Future[T]) -> None:
        self.n_running -= 1
        if not future.cancelled() and isinstance(future.exception(), Stopped):
            pass  # looked at, so that nothing is logged about it

    def close(self) -> None:
        """End threads that nobody waits for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.pairs.close()
