"""Things that take long: loaded once, when first asked for; done in a thread of their own; how many cores there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[..., T]) -> Callable[..., T]:
    """As `functools.cache`, with which each of several threads would make one of its own."""
    lock, made = threading.Lock(), cache(make)

    def get(*args: Hashable) -> T:
        with lock:
            return made(*args)

    return get


def in_thread(call: Callable[[], T], *, daemon: bool = False) -> Future[T]:
    """Call a function in a thread of its own, also when the main thread has ended: an executor refuses to then.

    The end of the program waits for it, unless it is a daemon: C++ that comes back to a Python which is gone aborts.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=daemon).start()
    return future


def usable_cores() -> int:
    """Cores that this process may run on, or has time for, which in a container are fewer than the machine has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # microseconds in so many of them (`docker run --cpus`), or the word "max"
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split())
        cores = min(cores, max(1, round(quota / period)))
    return cores
