"""Worker processes: order, stop, death, and no dependence on the caller's script."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from yiwen.data.workers import Workers, in_threads
from yiwen.errors import DataError, Stopped, YiwenError
from yiwen.stop import StopFlag


@pytest.mark.parametrize("n_workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_workers: int) -> None:
    with Workers(n_workers, StopFlag()) as workers:
        assert list(workers.map(math.sqrt, ((float(n * n),) for n in range(30)))) == list(range(30))
        assert list(workers.map(math.sqrt, iter([]))) == []
        with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
            list(workers.map(math.sqrt, iter([(4.0,), (-1.0,)])))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_stop_signal_ends_an_endless_stream(n_workers: int) -> None:
    stop = StopFlag()

    def tasks():  # type: ignore[no-untyped-def]
        for n in count():
            if n == 5:
                stop.signum = signal.SIGTERM
            yield (1.0,)

    with Workers(n_workers, stop) as workers, pytest.raises(Stopped, match="stopped by SIGTERM during prepare"):
        list(workers.map(math.sqrt, tasks()))


def test_tasks_are_drawn_no_faster_than_they_are_done() -> None:
    drawn = 0

    def tasks():  # type: ignore[no-untyped-def]
        nonlocal drawn
        for drawn in range(1, 100):  # noqa: B007
            yield (1.0,)

    with Workers(2, StopFlag()) as workers:
        results = workers.map(math.sqrt, tasks())
        next(results)
        assert drawn <= 6


def test_the_death_of_a_worker_is_an_error_and_not_a_wait() -> None:
    with Workers(2, StopFlag()) as workers, pytest.raises(YiwenError, match=r"prepare died.* give it fewer cores"):
        list(workers.map(os._exit, iter([(1,)] * 3)))


def test_workers_that_died_of_the_signal_that_stops_all_are_no_error() -> None:
    stop, told = StopFlag(), []
    check = stop.check

    def checked(doing: str) -> None:
        check(doing)
        told.append(doing)
        stop.signum = signal.SIGTERM if len(told) == 2 else None  # while the only result is waited for

    stop.check = checked  # type: ignore[method-assign]
    with Workers(2, stop) as workers, pytest.raises(Stopped, match="stopped by SIGTERM during prepare"):
        list(workers.map(os._exit, iter([(1,)])))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_daemon_which_may_start_no_process_works_alone() -> None:
    program = (
        "import math, multiprocessing\nfrom yiwen.data.workers import Workers\nfrom yiwen.stop import StopFlag\n"
        "def work():\n    with Workers(2, StopFlag()) as workers:\n"
        "        return list(workers.map(math.sqrt, iter([(9.0,), (25.0,)])))\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool:\n    print(pool.apply(work))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("[3.0, 5.0]\n", "")


@pytest.mark.parametrize(("n_workers", "is_here"), [(1, True), (2, False)])
def test_one_worker_is_the_caller_itself(n_workers: int, is_here: bool) -> None:
    with Workers(n_workers, StopFlag()) as workers:
        (found,) = workers.map(os.getpid, iter([()]))
    assert (found == os.getpid()) == is_here


def test_an_interrupt_of_the_keyboard_is_the_parents_business() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started by
    try:
        with Workers(2, StopFlag()) as workers:
            assert list(workers.map(signal.getsignal, iter([(signal.SIGINT,)]))) == [signal.SIG_IGN]
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_worker_outlives_a_parent_that_was_killed() -> None:
    program = (
        "import os, signal\nfrom yiwen.data.workers import Workers\nfrom yiwen.stop import StopFlag\n"
        "with Workers(2, StopFlag()) as workers:\n"
        "    list(workers.map(abs, ((1,) for _ in range(9))))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # The output ends when the last process that may write there has ended.
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert result.returncode == -signal.SIGKILL


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import math, sys\nfrom yiwen.data.workers import Workers\nfrom yiwen.stop import StopFlag\n"
        "print('begin')\nmain = sys.modules['__main__']\nwith Workers(2, StopFlag()) as workers:\n"
        "    print(sum(workers.map(math.sqrt, ((1.0,) for _ in range(9)))))\n"
        "assert sys.modules['__main__'] is main\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("begin\n9.0\n", "")


def test_threads_give_results_in_order_pass_errors_on_and_can_be_given_up() -> None:
    assert in_threads([lambda: 1, lambda: 2], StopFlag()) == [1, 2]

    def fail() -> int:
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        in_threads([lambda: 1, fail], StopFlag())
    stop, over = StopFlag(), threading.Event()
    stop.signum = signal.SIGINT
    ended: list[bool] = []
    with pytest.raises(Stopped):
        in_threads([lambda: ended.append(over.wait(60))], stop)
    assert ended == []
    over.set()


def test_a_thread_that_hears_the_stop_itself_is_waited_for() -> None:
    stop, left = StopFlag(), threading.Event()

    def reading() -> None:
        stop.signum = signal.SIGINT
        time.sleep(0.2)  # between two texts
        with suppress(Stopped):
            stop.check("prepare")
        left.set()

    with pytest.raises(Stopped):
        in_threads([reading], stop)
    assert left.is_set()


def test_threads_leave_it_to_the_program_how_it_starts_processes() -> None:
    program = (
        "import multiprocessing\nfrom yiwen.data.workers import in_threads\nfrom yiwen.stop import StopFlag\n"
        "print(in_threads([lambda: 3, lambda: 5], StopFlag()))\nmultiprocessing.set_start_method('spawn')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("[3, 5]\n", "")
