"""The command itself: where it listens, what it logs, and an end in which nothing that was accepted is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from services import service_of
from wire import ask, connect, read_answer, request, translation

from campaign import noted, size
from yiwen.cli.main import main
from yiwen.files import new_folder, write_json
from yiwen.serve.config import ServeConfig
from yiwen.serve.server import listen, make_server, reload_on_hangup

T = "/v1/translate"


@contextmanager
def spawned(bundle: Path, folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process of its own; gives its address."""
    command = [sys.executable, "-m", "yiwen", "serve", str(bundle), "--port", "0", "--threads", "1", *options]
    environment = {**os.environ, "YIWEN_RUNS": str(folder), "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "serving en-de\n", (folder / "log").read_text()
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        process.stdout.close()


def test_sigterm_under_load_loses_nothing(exported_bundle: Path, tmp_path: Path) -> None:
    n_ends, seed = size(1, long=100), 4
    rng = random.Random(seed)
    statuses: list[int] = []
    for _ in range(n_ends):
        with spawned(exported_bundle, tmp_path, "--set", "requests_per_minute=0") as (address, process):
            readiness: list[int] = []
            cut = threading.Event()

            def caller(number: int, address: str = address, cut: threading.Event = cut) -> None:
                """A request a connection, until told that the service ends."""
                text = "Deti gedi bapu. " * (1 + 40 * (number % 3))
                for turn in range(10_000):
                    try:
                        with connect(address) as sock:
                            sock.sendall(request(T, translation(f"{text}{number} {turn}")))
                            answer = read_answer(sock)
                    except ConnectionError:  # the doors are closed, maybe just as it came
                        return
                    if not answer.is_whole or answer.status not in (200, 429, 503):
                        cut.set()
                    statuses.append(answer.status)
                    if answer.status == 503:
                        assert answer.headers["connection"] == "close"
                        assert answer.headers["retry-after"]
                        return

            def watcher(address: str = address, readiness: list[int] = readiness) -> None:
                while True:
                    try:
                        readiness.append(ask(address, request("/ready", method="GET")).status)
                    except OSError:
                        return
                    time.sleep(0.02)

            with ThreadPoolExecutor(13) as pool:
                callers = [pool.submit(caller, number) for number in range(12)]
                watching = pool.submit(watcher)
                time.sleep(rng.uniform(0.3, 1.5))
                while not readiness or statuses.count(200) < 12:  # on a busy machine callers begin late
                    time.sleep(0.05)
                process.send_signal(signal.SIGTERM)
            code = process.wait(60)
        for each in (*callers, watching):
            each.result()
        assert not cut.is_set()
        assert code == 0
        assert readiness[0] == 200
        assert 503 in readiness, "who asks is told before the doors close"
    counted = {str(status): statuses.count(status) for status in sorted(set(statuses))}
    noted("S4", f"{n_ends} times SIGTERM under 12 callers", seed=seed, statuses=counted, lost=statuses.count(0))
    assert set(statuses) <= {200, 429, 503}
    assert statuses.count(200) > 10


IMPATIENT = """
import builtins, os, signal
from yiwen.__main__ import main

def told(*lines, tell=print, **options):
    tell(*lines, **options)
    os.kill(os.getpid(), signal.SIGTERM)

builtins.print = told
raise SystemExit(main())
"""


def test_a_signal_sent_as_soon_as_the_address_is_told_ends_the_service_as_a_later_one(
    exported_bundle: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", IMPATIENT, "serve", str(exported_bundle), "--port", "0", "--threads", "1"]
    environment = {**os.environ, "YIWEN_RUNS": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("serving en-de\nhttp://127.0.0.1:")


def test_neither_texts_nor_keys_are_logged(exported_bundle: Path, tmp_path: Path) -> None:
    with spawned(exported_bundle, tmp_path, "--set", "queue_requests=5") as (address, process):
        secrets = {"Geheimnis": "text", "yw_sekret": "key"}
        ask(address, request(T, translation("Geheimnis"), authorization="Bearer yw_sekret"))
        ask(address, request("/translate?q=Geheimnis&source=en&target=de&api_key=yw_sekret"))
        ask(address, request("/Geheimnis?api_key=yw_sekret", method="GET", cookie="yw_sekret", x_note="Geheimnis"))
        ask(address, request(T, translation("Geheimnis", yw_sekret="Geheimnis"), referer="http://127.0.0.1/Geheimnis"))
        ask(address, b"GET /Geheimnis yw_sekret\r\n\r\n")
        shown = httpx.get(f"{address}/metrics").text
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    for secret, kind in secrets.items():
        assert secret not in log + shown, kind
    lines = [json.loads(line) for line in log.split("\n") if line]
    requests = [line for line in lines if line["event"] == "request"]
    assert [(line["path"], line["status"]) for line in requests[:4]] == [
        (T, 200),
        ("/translate", 200),
        ("other", 404),
        (T, 422),
    ]
    assert requests[0]["characters"] == len("Geheimnis")
    assert requests[0]["took_ms"] >= 1
    names = "time level event request_id method path status characters took_ms"
    assert requests[0].keys() == {*names.split(" ")}


def test_what_could_not_be_written_at_the_end_is_told_and_ends_with_1(exported_bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.sqlite"
    with spawned(exported_bundle, tmp_path, "--database", f"sqlite:///{file}?timeout=0.01") as (address, process):
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert ask(address, request(T, translation("Deti."))).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1
        other.close()
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "the database was locked or away: 5 characters of usage are not written" in log
    assert "Traceback" not in log


def test_a_second_interrupt_ends_at_once_and_loses_no_usage(exported_bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.sqlite"
    with spawned(exported_bundle, tmp_path, "--database", f"sqlite:///{file}") as (address, process):
        assert ask(address, request(T, translation("Deti."))).status == 200
        text = "\n".join(["Deti gedi bapu."] * 3000).encode()
        form = {"source": "en", "target": "de"}
        sent = httpx.post(f"{address}/v1/documents", data=form, files={"file": ("a.txt", text)})
        assert sent.status_code == 200, sent.text
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert "usage are not written" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_a_hangup_that_meets_an_unreadable_model_keeps_the_old_one(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    service = service_of(tmp_path, exported_bundle)
    before, done = service.pairs, threading.Event()

    def unreadable() -> None:
        raise PermissionError("not yours")

    def note(event: str, extra: dict[str, str]) -> None:
        told.append(extra["problem"])
        done.set()

    monkeypatch.setattr(service, "_pairs_of", unreadable)
    monkeypatch.setattr("yiwen.serve.server.LOG.error", note)
    handler = signal.getsignal(signal.SIGHUP)
    try:
        reload_on_hangup(service)
        signal.raise_signal(signal.SIGHUP)
        assert done.wait(60)
    finally:
        signal.signal(signal.SIGHUP, handler)
        service.close()
    assert (told, service.pairs) == (["not yours"], before)


def test_a_hangup_before_there_is_a_service_ends_nothing(tmp_path: Path) -> None:
    handler = signal.getsignal(signal.SIGHUP)
    try:
        assert main(["serve", str(tmp_path / "none"), "--port", "70000"]) == 2
        signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, handler)


def test_the_log_tells_what_to_know_of_a_model(exported_bundle: Path, tmp_path: Path) -> None:
    bundle = shutil.copytree(exported_bundle, tmp_path / "earlier")
    with new_folder(bundle / "calibration") as folder:
        write_json(folder / "calibration.json", {"format_version": 1})
    with spawned(bundle, tmp_path):
        told = json.loads((tmp_path / "log").read_text().split("\n")[0])
    assert (told["level"], told["event"], told["folder"]) == ("warning", "model", str(bundle))
    assert told["note"].endswith(f"measure it again: yiwen evaluate {bundle}")


def test_a_hangup_reads_the_models_again(exported_bundle: Path, tmp_path: Path) -> None:
    with spawned(exported_bundle, tmp_path) as (address, process):
        process.send_signal(signal.SIGHUP)
        for _ in range(600):
            if "reloaded" in (tmp_path / "log").read_text():
                break
            time.sleep(0.1)
        assert ask(address, request(T, translation("Deti."))).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert '"event":"reloaded"' in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "whoever reaches 0.0.0.0 needs a key, and there is none: `yiwen keys create NAME`"),
        (["--require-key"], "needs a key, and there is none"),
        (["--port", "70000"], "port is 70000; use 1 to 65535, or 0 for any free one"),
        (["--host", "203.0.113.9", "--insecure"], "cannot listen on 203.0.113.9 port"),
        (
            ["--host", "203.0.113.9", "--insecure"],
            "choose another --port, or give an address of this machine as --host",
        ),
        (["--set", "queue_request=3"], "queue_request is not a setting; did you mean 'queue_requests'?"),
        (["--set", "queue_requests=0"], "queue_requests is 0; use 1 or more"),
        (["--set", 'trusted_proxies=["foo"]'], "trusted_proxies has 'foo' ('foo' does not appear to be"),
        (["--set", 'trusted_proxies=["127.0.0.0/33"]'], "trusted_proxies has '127.0.0.0/33'"),
        (["--set", "deadline_s=0"], "deadline_s is 0.0; use more than 0 and no more than a day, 86400"),
        (["--database", "nonsense"], "the database cannot be used"),
        (["--database", "sqlite:////proc/nowhere/x.sqlite"], "the database cannot be used"),
    ],
)
def test_what_cannot_be_served_is_told(
    options: list[str],
    message: str,
    exported_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    assert main(["serve", str(exported_bundle), "--port", "0", *options]) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_either_kind_of_address_is_listened_on(
    host: str, family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every machine of the tests has IPv6."""
    monkeypatch.setattr("socket.create_server", lambda address, **options: (address, options["family"]))
    assert listen(ServeConfig(host=host, port=8090)) == ((host, 8090), family)


def test_a_service_that_was_closed_leaves_no_thread_of_its_engines(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    threads = [thread for engine in service.pairs.engines for thread in engine._threads]
    assert all(thread.is_alive() for thread in threads)
    assert threads
    service.close()
    assert not any(thread.is_alive() for thread in threads)


def test_connections_are_kept_and_the_end_waits_as_long_as_was_set(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle, keep_alive_s=7, drain_s=11)
    server = make_server(service)
    assert (server.config.timeout_keep_alive, server.config.timeout_graceful_shutdown) == (7, 11)
    assert service.store._thread.is_alive(), "from now on usage is written and keys are read every second"
    service.close()


def test_a_second_signal_waits_for_nobody(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    server = make_server(service)
    server.handle_exit(signal.SIGTERM, None)
    assert (service.is_draining, server.force_exit) == (True, False)
    server.handle_exit(signal.SIGINT, None)
    assert (server.should_exit, server.force_exit) == (True, True)
    service.close()


def test_a_service_in_the_background_of_a_script_hears_no_ctrl_c(exported_bundle: Path, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for `&` in a script
    service = service_of(tmp_path, exported_bundle)
    server = make_server(service)
    signal.signal(signal.SIGINT, before)
    server.handle_exit(signal.SIGINT, None)
    assert not service.is_draining
    server.handle_exit(signal.SIGTERM, None)
    assert service.is_draining
    service.close()


def test_two_models_of_one_pair_are_refused(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    monkeypatch.setattr("yiwen.serve.metrics.log_to_stderr", lambda: None)  # other tests look at the log, too
    assert main(["serve", str(exported_bundle), str(exported_bundle), "--port", "0"]) == 2
    assert "both translate en to de; give one" in capsys.readouterr().err


def test_without_its_packages_the_command_names_the_cure(
    exported_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["serve", str(exported_bundle)]) == 1
    names = "anyio, httptools, prometheus_client, python_multipart, sqlalchemy, starlette, uvicorn"
    assert f"a service needs {names}: pip install 'yiwen[serve]'" in capsys.readouterr().err
