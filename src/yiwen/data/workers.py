"""Worker processes for the two stages: results in order, a bounded number of tasks under way, the stop flag polled.

Workers are spawned, not forked: the caller may have threads (torch has). They need nothing of the caller's
`__main__`, which is hidden while they start, so a script without an `if __name__ == "__main__"` works too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from yiwen.errors import YiwenError
from yiwen.once import in_thread
from yiwen.stop import StopFlag

T = TypeVar("T")


class Workers:
    """Calls functions on a stream of arguments, here or in other processes.

    Args:
        n_workers: Processes; 1 calls in this one, as does a daemon, which may start none.
        stop: Polled before every task.
    """

    def __init__(self, n_workers: int, stop: StopFlag) -> None:
        n_workers = 1 if multiprocessing.current_process().daemon else n_workers  # which may start none
        self.n_workers, self._stop = n_workers, stop
        context = multiprocessing.get_context("spawn")  # no process starts before the first task
        self._pool = ProcessPoolExecutor(n_workers, mp_context=context, initializer=_start) if n_workers > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[..., T], tasks: Iterator[tuple[Any, ...]]) -> Iterator[T]:
        """Yield `function(*task)` for every task, in the order of the tasks.

        Raises:
            Stopped: If a signal arrived.
            YiwenError: If a worker died.
        """
        if self._pool is None:
            for task in tasks:
                self._stop.check("prepare")
                yield function(*task)
            return
        under_way: deque[Future[T]] = deque()
        try:
            for task in tasks:
                self._stop.check("prepare")
                with _without_main():
                    under_way.append(self._pool.submit(function, *task))
                if len(under_way) > 2 * self.n_workers:
                    yield under_way.popleft().result()
            while under_way:
                self._stop.check("prepare")
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            self._stop.check("prepare")  # a signal to the whole group reached the workers too
            remedy = "free memory, or give it fewer cores (taskset, or workers= in Python)"
            raise YiwenError(f"a worker process of prepare died, most likely for want of memory; {remedy}") from error


def in_threads(calls: Sequence[Callable[[], T]], stop: StopFlag) -> list[T]:
    """Call functions that run without Python's lock side by side, polling the stop flag; results in order.

    A stop signal abandons them: they only compute, and nobody will ask for their result. One that asks for text polls
    the flag itself and is waited for: in C++ it would meet the end of the interpreter with an abort.
    """
    found = [in_thread(call, daemon=True) for call in calls]  # else the end would wait for them
    while not stop and wait(found, 0.1).not_done:
        pass
    if stop:
        wait(found, 1.0)  # seconds in which most have computed what they are at
        stop.check("prepare")
    return [each.result() for each in found]


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide `__main__` from processes that start now: they would run the caller's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start() -> None:
    """Begin a worker: signals are the parent's business, and nobody outlives a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
