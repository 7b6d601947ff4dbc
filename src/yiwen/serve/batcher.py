"""One engine for many callers: their sentences travel together, in batches bounded by tokens, and short ones first.

`SharedEngine` is an engine itself, so that a translator needs not know of it: each caller's thread hands in its
sentences and waits, a thread for each replica takes batches from what all callers wait for. A sentence's result does
not depend on its neighbours (`engines.engine`), so it is that of a lone request.

Order: a call's turn comes at its arrival plus `_S_PER_TOKEN` for each of its tokens, and later by the seconds that its
sentences have taken. A greeting overtakes a book, and a book is not overtaken for ever. Nothing rides in a batch whose
first sentence is less than half as long.
"""

from __future__ import annotations

import bisect
import itertools
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from yiwen.engines.engine import Engine, Sentences
from yiwen.errors import Stopped, YiwenError
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag, poll

_S_PER_TOKEN: Final = 2e-4
"""Seconds that a call stands behind a later one for each token it has more."""
_POLL_S: Final = 5.0
"""Seconds between two looks at the flag of a caller, for those who set it and never call `drop`."""
_LAST_S: Final = 10.0
"""Seconds that a batch is waited for at the end."""
_TOGETHER: Final = 2048
"""Source positions times hypotheses that are handed to the engine at a time."""
_ALIKE: Final = 16
"""Sentences up to this length ride with the shortest."""

Found = list[Hypothesis]


class Overloaded(YiwenError):
    """More tokens are waiting than the queue may hold."""


class Cache:
    """What was searched before, least recently used out first, bounded by bytes. Safe for threads."""

    def __init__(self, max_bytes: int, *, on_hit: Callable[[], object] = lambda: None) -> None:
        self.n_bytes = 0
        self._max_bytes, self._on_hit = max_bytes, on_hit
        self._found: OrderedDict[Hashable, tuple[Found, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Found | None:
        """The hypotheses, or None."""
        with self._lock:
            if key not in self._found:
                return None
            self._found.move_to_end(key)
            self._on_hit()
            return self._found[key][0]

    def put(self, key: Hashable, found: Found, *, n_ids: int) -> None:
        """Remember; `n_ids` is the length of the key."""
        # Measured with tracemalloc: 40 bytes an id, 200 a hypothesis and 400 an entry.
        size = 400 + 40 * n_ids + sum(200 + 40 * len(hypothesis.ids) for hypothesis in found)
        with self._lock:
            if key in self._found:
                return
            self._found[key] = (found, size)
            self.n_bytes += size
            while self.n_bytes > self._max_bytes:
                self.n_bytes -= self._found.popitem(last=False)[1][1]


class _Seat(NamedTuple):
    """One sentence of a call."""

    call: _Call
    place: int
    ids: tuple[int, ...]
    prefix: tuple[int, ...]


@dataclass(eq=False)
class _Call:
    """What one caller waits for."""

    rules: tuple[SearchConfig, bool]
    """Sentences of other rules cannot ride in the same batch."""
    found: list[Found]
    stop: StopFlag | None
    waiting: list[_Seat] = field(default_factory=list)
    """What is in no batch yet, the longest last."""
    n_open: int = 0
    """Sentences that are not found yet, those in a batch too."""
    turn: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None


class SharedEngine:
    """An engine that fills its batches from all callers."""

    def __init__(self, engine: Engine, *, max_tokens: int, cache: Cache, observe: Callable[[int], None]) -> None:
        """Start a thread for each replica.

        Args:
            engine: What computes.
            max_tokens: Tokens that may wait; a call on an empty queue is never refused.
            cache: Looked at first; may be shared by several engines.
            observe: Is told the number of sentences of every batch.
        """
        self.engine = engine
        self.description = engine.description
        self.n_tokens = 0
        """Tokens waiting."""
        self._max_tokens, self._cache, self._observe = max_tokens, cache, observe
        self._own = object()  # what is remembered must not keep a model that was replaced
        self._calls: list[_Call] = []  # with sentences that wait, by turn
        self._open: set[_Call] = set()  # those that somebody waits for
        self._is_closed = False
        self._changed = threading.Condition()
        # An engine that tells of no replicas is one model for one thread.
        n_replicas = getattr(engine, "replicas", 0)
        self._alone: Any = nullcontext() if n_replicas else threading.Lock()
        # No more than replicas: a batch that is put together while all of them compute is a smaller one.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(max(1, n_replicas))]
        for thread in self._threads:
            thread.start()

    def search(
        self,
        sources: Sentences,
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[Found]:
        """As the engine's own.

        Raises:
            Overloaded: If too many tokens are waiting.
            Stopped: If the flag was set before all was found; what had not begun never begins.
        """
        poll(stop, "translation")  # set between two searches of one text, when `drop` had nobody to wake
        rules = (config, with_scores)
        call = _Call(rules=rules, found=[[] for _ in sources], stop=stop)
        for place, (ids, prefix) in enumerate(zip(sources, prefixes or itertools.repeat(()), strict=False)):
            known = self._cache.get((self._own, rules, tuple(ids), tuple(prefix)))
            if known is None:
                call.waiting.append(_Seat(call, place, tuple(ids), tuple(prefix)))
            else:
                call.found[place] = known
        if not call.waiting:
            return call.found
        call.waiting.sort(key=lambda seat: len(seat.ids))
        call.n_open = len(call.waiting)
        n_tokens = _n_tokens(call.waiting)
        call.turn = time.monotonic() + n_tokens * _S_PER_TOKEN
        with self._changed:
            is_late = self._is_closed  # the models were replaced since this caller began: no thread may be left
            if self.n_tokens and self.n_tokens + n_tokens > self._max_tokens:
                call.waiting.clear()  # seats and call hold each other, until a full collection
                raise Overloaded(f"{self.n_tokens} tokens wait, {n_tokens} more exceed {self._max_tokens}; ask later")
            self.n_tokens += n_tokens
            self._open.add(call)
            bisect.insort(self._calls, call, key=lambda other: other.turn)
            self._changed.notify()
        if is_late:
            self._work()
        self._wait(call)
        return call.found

    def score(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[list[float]]:
        """As the engine's own; nobody else's sentences ride along."""
        with self._alone:
            return self.engine.score(sources, targets, stop=stop)

    def attend(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[np.ndarray]:
        """As the engine's own; nobody else's sentences ride along."""
        with self._alone:
            return self.engine.attend(sources, targets, stop=stop)

    def close(self) -> None:
        """End the threads once nothing waits any more; one that still computed would meet the interpreter's end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(_LAST_S)

    def drop(self, stop: StopFlag) -> None:
        """Wake those who wait under a flag that was set, so that they need not look at it all the time."""
        with self._changed:
            for call in self._open:
                if call.stop is stop:
                    call.done.set()

    def _wait(self, call: _Call) -> None:
        """Until all of a call is found, or nobody wants it any more."""
        while not call.done.wait(_POLL_S) and not call.stop:
            pass
        with self._changed:  # what has not begun never begins
            self._open.discard(call)
            self.n_tokens -= _n_tokens(call.waiting)
            if call.waiting:
                call.waiting.clear()
                self._calls.remove(call)
        if call.error is not None:
            raise call.error
        if call.n_open:
            raise Stopped("the caller has left", signum=signal.SIGTERM)

    def _work(self) -> None:
        """Take batches for as long as there are calls; what a thread of a replica does all its life."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or self._is_closed)
                if not self._calls:
                    return
                batch = self._next_batch()
                if self._calls:
                    self._changed.notify()
            self._observe(len(batch))
            self._compute(batch)

    def _next_batch(self) -> list[_Seat]:
        """Sentences whose turn it is, of like length, as many as a batch may hold. The lock is held."""
        batch: list[_Seat] = []
        rules = self._calls[0].rules
        longest, limit = 0, max(_ALIKE, 2 * len(self._calls[0].waiting[-1].ids))
        for call in [call for call in self._calls if call.rules == rules]:
            for i in range(len(call.waiting) - 1, -1, -1):
                # One whose beginning is given is searched by itself in any case: alone it keeps nobody else waiting.
                n_ids = _TOGETHER if call.waiting[i].prefix else len(call.waiting[i].ids)
                width = max(longest, n_ids) + 1
                if batch and (n_ids > limit or (len(batch) + 1) * width * rules[0].beam_size > _TOGETHER):
                    continue  # a shorter one may still fit
                longest = max(longest, n_ids)
                batch.append(call.waiting.pop(i))
        self.n_tokens -= _n_tokens(batch)
        self._calls = [call for call in self._calls if call.waiting]
        return batch

    def _compute(self, batch: list[_Seat]) -> None:
        """Have a batch searched, and tell its callers."""
        config, with_scores = batch[0].call.rules
        sources = [seat.ids for seat in batch]
        prefixes = [seat.prefix for seat in batch] if any(seat.prefix for seat in batch) else None
        began = time.monotonic()
        try:
            with self._alone:
                results = self.engine.search(sources, config=config, prefixes=prefixes, with_scores=with_scores)
        except BaseException as error:
            self._fail(batch, error)
            return
        for (call, place, ids, prefix), found in zip(batch, results, strict=True):
            call.found[place] = found
            self._cache.put((self._own, call.rules, ids, prefix), found, n_ids=len(ids) + len(prefix))
        seconds_each = (time.monotonic() - began) / len(batch)
        with self._changed:
            for seat in batch:
                seat.call.turn += seconds_each
                seat.call.n_open -= 1
                if seat.call.n_open == 0:
                    seat.call.done.set()
            self._calls.sort(key=lambda call: call.turn)

    def _fail(self, batch: list[_Seat], error: BaseException) -> None:
        """Tell the caller of a batch; where there are several, try each alone: one's fault is nobody else's."""
        calls = {seat.call for seat in batch}
        for call in calls:
            if len(calls) > 1:
                self._compute([seat for seat in batch if seat.call is call])
            else:
                call.error = error
                call.done.set()


def _n_tokens(seats: Iterable[_Seat]) -> int:
    return sum(len(seat.ids) + len(seat.prefix) for seat in seats)
