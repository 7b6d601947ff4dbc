"""Blocks of a stream: several at a time, results in order, memory bounded, stopped at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yiwen.engines.pool import ahead
from yiwen.errors import DataError, Stopped
from yiwen.stop import StopFlag


@given(items=st.lists(st.integers(0, 3), max_size=20), n_at_once=st.integers(1, 4))
@settings(max_examples=30)
def test_results_stand_in_the_order_of_the_items(items: list[int], n_at_once: int) -> None:
    def slow(item: int, stop: StopFlag) -> int:
        time.sleep(item / 10_000)
        return item * 7

    assert list(ahead(slow, items, n_at_once=n_at_once)) == [item * 7 for item in items]


@pytest.mark.parametrize("n_at_once", [2, 3])
def test_calls_run_at_the_same_time(n_at_once: int) -> None:
    together = threading.Barrier(n_at_once, timeout=30)  # passed only when all are inside

    def meet(item: int, stop: StopFlag) -> int:
        together.wait()
        return item

    assert list(ahead(meet, range(2 * n_at_once), n_at_once=n_at_once)) == list(range(2 * n_at_once))


@pytest.mark.parametrize(("n_at_once", "furthest"), [(1, 1), (2, 3), (5, 6)])
def test_a_stream_is_read_only_as_far_as_there_is_work_to_do(n_at_once: int, furthest: int) -> None:
    n_read = 0

    def items() -> Iterator[int]:
        nonlocal n_read
        for item in range(30):
            n_read += 1
            yield item

    for n_done, _ in enumerate(ahead(lambda item, stop: item, items(), n_at_once=n_at_once)):
        assert n_read == min(n_done + furthest, 30)


def wait_for_stop(item: int, stop: StopFlag) -> None:
    while not stop:
        time.sleep(0.001)
    stop.check("a call")


def test_a_stop_signal_ends_the_calls_under_way() -> None:
    stop = StopFlag()
    together = threading.Barrier(3, action=lambda: threading.Timer(0.3, signalled).start(), timeout=30)
    begun = []

    def signalled() -> None:  # while the first result is waited for
        stop.signum = signal.SIGINT

    def under_way(item: int, given: StopFlag) -> None:
        begun.append(item)
        together.wait()
        wait_for_stop(item, given)

    with pytest.raises(Stopped, match="stopped by SIGINT during translation"):
        list(ahead(under_way, range(9), n_at_once=3, stop=stop))
    assert sorted(begun) == [0, 1, 2], "what waits its turn never begins"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]


def test_a_call_in_the_callers_thread_polls_the_callers_flag() -> None:
    stop = StopFlag()
    assert list(ahead(lambda item, given: given is stop, range(2), n_at_once=1, stop=stop)) == [True, True]


def test_a_stop_signal_ends_a_stream_whose_results_are_there_already() -> None:
    stop = StopFlag()
    results = ahead(lambda item, given: item, range(9), n_at_once=2, stop=stop)
    assert next(results) == 0
    stop.signum = signal.SIGINT
    with pytest.raises(Stopped, match="stopped by SIGINT during translation"):
        next(results)


def test_who_takes_no_more_results_ends_the_calls_under_way() -> None:
    def first_only(item: int, stop: StopFlag) -> int:
        if item:
            wait_for_stop(item, stop)
        return item

    results = ahead(first_only, range(9), n_at_once=2)
    assert next(results) == 0
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]


@pytest.mark.parametrize("n_at_once", [1, 2])
def test_an_error_of_a_call_arrives_in_its_place(n_at_once: int) -> None:
    def fail(item: int, stop: StopFlag) -> int:
        if item == 3:
            raise DataError("three")
        return item

    results = ahead(fail, range(9), n_at_once=n_at_once)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DataError, match="three"):
        next(results)
