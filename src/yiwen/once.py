"""Things that take long: loaded when first asked for, once however many ask; or done in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import cache
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
