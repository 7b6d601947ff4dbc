"""Stop signals: set a flag, and let every long loop ask for it at a safe point.

A handler that raises would cut a write in half; a flag that is polled cannot. The second signal
gives up waiting and stops at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar, Final

from yiwen.errors import Stopped, expect

GO_ON: Final = "go on with --resume"
"""What a stopped training advises; who starts trainings without that option puts another advice in its place."""
ECHO: Final = 0.1
"""Seconds in which a second signal is the first one, told once more by a program that passes on what all were told."""
NEW_RUN: Final = "start a new run with --run FOLDER"
"""What is advised where a run cannot go on; the same holds."""


class StopFlag:
    """Remembers which stop signal arrived, if any.

    >>> stop = StopFlag()
    >>> stop.check("prepare")  # nothing happens until a signal arrives
    """

    early: ClassVar[int | None] = None
    """Of a signal that came before there was a flag: every flag is set from the start."""

    def __init__(self) -> None:
        self.signum: int | None = StopFlag.early
        """The signal; None until one arrives, or another thread sets it."""
        self.since: float = 0.0

    def __bool__(self) -> bool:
        return self.signum is not None

    def check(self, doing: str) -> None:
        """Raise Stopped when a signal has arrived; `doing` says what is given up."""
        if self.signum is not None:
            raise Stopped(f"stopped by {signal.Signals(self.signum).name} during {doing}", signum=self.signum)


def poll(stop: StopFlag | None, doing: str) -> None:
    """`StopFlag.check` where a caller may have no flag."""
    if stop is not None:
        expect(stop, StopFlag, "stop", "a yiwen.stop.StopFlag, or None").check(doing)


def interrupt(signum: int, frame: FrameType | None) -> None:
    """What SIGINT and SIGTERM do while a command loads, and where none of its loops asks for a flag.

    What is being written is removed on the way out; as process 1 of a container a command would ignore SIGTERM without
    this. The signal is noted, too: the exception may be lost in what PyTorch imports.
    """
    StopFlag.early = signum
    raise SystemExit(128 + signum)


@contextmanager
def stop_on_signals() -> Iterator[StopFlag]:
    """Give a StopFlag that SIGINT, SIGTERM and a closed terminal (SIGHUP) set; the old handlers return at the end.

    What is ignored stays so: SIGHUP under nohup, SIGINT where a script starts a command by `&` (POSIX, shells, 2.12).
    Outside the main thread, where Python allows no handlers, the flag simply stays unset.
    """
    stop = StopFlag()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        if stop.signum is None:
            stop.signum, stop.since = signum, time.monotonic()
        elif time.monotonic() - stop.since > ECHO:  # asked twice: stop at once, files are whole at every moment anyway
            name = signal.Signals(signum).name
            raise Stopped(f"stopped at once by a second {name}", signum=signum, is_immediate=True)

    known = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # the last Windows has not
    before = {signum: signal.signal(signum, handle) for signum in known if signal.getsignal(signum) != signal.SIG_IGN}
    try:
        yield stop
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
