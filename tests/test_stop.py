"""A signal sets a flag; loops ask for it at safe points."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from yiwen.errors import Stopped
from yiwen.stop import ECHO, StopFlag, interrupt, stop_on_signals


@pytest.fixture(autouse=True)
def _started_by_hand() -> Iterator[None]:
    usual: dict[signal.Signals, Any] = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {signum: signal.signal(signum, handler) for signum, handler in usual.items()}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def test_an_unset_flag_lets_everything_pass() -> None:
    stop = StopFlag()
    assert not stop
    stop.check("prepare")


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_at_the_next_check_not_before(signum: signal.Signals, code: int) -> None:
    with stop_on_signals() as stop:
        signal.raise_signal(signum)
        assert stop
        with pytest.raises(Stopped, match=f"stopped by {signum.name} during validation") as stopped:
            stop.check("validation")
    assert stopped.value.exit_code == code


@pytest.mark.parametrize("signum", [signal.SIGHUP, signal.SIGINT])  # of nohup; of a script that starts it by `&`
def test_what_a_command_was_started_to_ignore_stops_nothing(signum: signal.Signals) -> None:
    signal.signal(signum, signal.SIG_IGN)
    with stop_on_signals() as stop:
        signal.raise_signal(signum)
        assert not stop
    assert signal.getsignal(signum) == signal.SIG_IGN


def test_a_signal_that_was_lost_while_a_command_loaded_stops_at_the_first_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StopFlag, "early", None)
    with pytest.raises(SystemExit) as ended:  # as in a callback that runs while PyTorch is imported
        interrupt(signal.SIGINT, None)
    assert ended.value.code == 130
    with stop_on_signals() as stop, pytest.raises(Stopped, match="stopped by SIGINT during training"):
        stop.check("training")


def test_a_second_signal_stops_at_once() -> None:
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGTERM)
        stop.since -= 2 * ECHO
        with pytest.raises(Stopped, match="stopped at once by a second SIGINT") as stopped:
            signal.raise_signal(signal.SIGINT)
    assert stopped.value.is_immediate
    assert stopped.value.exit_code == 130


def test_a_signal_that_is_told_twice_at_once_is_one() -> None:
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # by a program that passes on what the whole group was sent
        with pytest.raises(Stopped, match="stopped by SIGINT during training") as stopped:
            stop.check("training")
    assert not stopped.value.is_immediate


def test_the_old_handlers_return_even_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        raise ZeroDivisionError
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_in_another_thread_the_flag_stays_unset_and_no_handler_changes() -> None:
    flags = []
    handlers = []

    def work() -> None:
        with stop_on_signals() as stop:
            flags.append(bool(stop))
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert flags == [False]
    assert handlers == [before]
