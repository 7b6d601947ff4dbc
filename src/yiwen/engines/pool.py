"""Keeping every core busy on a stream: several blocks under way at a time, results in order, memory bounded.

An engine that is given one block after another leaves cores idle at the end of each, while its last batch runs and
while text is cut into subwords and put together again. With the next block under way already they have work.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from yiwen.stop import StopFlag, poll

T = TypeVar("T")
R = TypeVar("R")

_POLL_S: Final = 0.1
"""Seconds between two looks at the stop flag while a result is waited for."""


def ahead(
    function: Callable[[T, StopFlag | None], R], items: Iterable[T], *, n_at_once: int, stop: StopFlag | None = None
) -> Generator[R, None, None]:
    """Yield `function(item, stop)` for every item, in order, several in threads at a time.

    One item more than that waits its turn, and no further one is read: memory does not grow with the stream.

    Args:
        function: Must be safe to call from several threads, and poll the flag it is given.
        items: Read in the caller's thread.
        n_at_once: Calls at the same time; with 1 they happen in the caller's thread and nothing is read ahead.
        stop: Polled while results are waited for.

    Raises:
        Stopped: If a signal arrived; calls under way have ended by then.
    """
    if n_at_once == 1:
        for item in items:
            yield function(item, stop)
        return
    given_up = StopFlag()  # its own: a caller who takes no more results leaves without any signal
    under_way: deque[Future[R]] = deque()
    with ThreadPoolExecutor(n_at_once) as threads:
        try:
            for item in items:
                under_way.append(threads.submit(function, item, given_up))
                if len(under_way) > n_at_once:
                    yield result(under_way.popleft(), stop)
            while under_way:
                yield result(under_way.popleft(), stop)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            given_up.signum = signal.SIGTERM


def result(future: Future[R], stop: StopFlag | None) -> R:
    """Wait for a result without missing a stop signal.

    Raises:
        Stopped: If a signal arrived.
    """
    while not wait((future,), _POLL_S).done:
        poll(stop, "translation")
    poll(stop, "translation")
    return future.result()
