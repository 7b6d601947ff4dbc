"""Things that take long to load: loaded when first asked for, and only once, however many ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
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
