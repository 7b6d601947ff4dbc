"""Overload, slow senders and readers, callers who leave, swapped models: nobody else notices, nothing is lost."""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import socket
import statistics
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from services import running, service_of
from wire import ask, connect, read_answer, request, translation

from campaign import IS_LONG, noted, size
from tiny_model import TinyRun, exported
from yiwen.errors import CheckpointError
from yiwen.serve.errors import ApiError
from yiwen.serve.service import Service
from yiwen.stop import StopFlag
from yiwen.translator import Translator

TEXT = "Deti gedi bapu."
T = "/v1/translate"


class Slow:
    """An engine that takes its time, or waits until it may go."""

    def __init__(self, engine: Any, seconds: float = 0.0) -> None:
        self._engine, self._seconds = engine, seconds
        self.replicas = 1
        self.n_begun = 0
        self.may_go = threading.Event()
        self.may_go.set()

    def search(self, sources: Any, **options: Any) -> Any:
        self.n_begun += len(sources)
        time.sleep(self._seconds)
        assert self.may_go.wait(120)
        return self._engine.search(sources, **options)


def slowed(service: Service, seconds: float = 0.0) -> Slow:
    """Make the engine of a service slow."""
    (shared,) = service.pairs.engines
    slow = Slow(shared.engine, seconds)
    shared.engine = slow  # type: ignore[assignment]
    return slow


@pytest.fixture
def service(exported_bundle: Path, tmp_path: Path) -> Callable[..., Service]:
    return lambda **settings: service_of(tmp_path, exported_bundle, **settings)


def post(client: httpx.Client, text: Any = TEXT) -> httpx.Response:
    return client.post(T, content=translation(text), headers={"content-type": "application/json"})


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def n_batching() -> int:
    """Threads that fill batches for an engine."""
    return sum(thread.name.endswith("(_work)") for thread in threading.enumerate())


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def test_more_than_the_queue_holds_is_told_to_come_again(service: Callable[..., Service]) -> None:
    running_service = service(queue_requests=3)
    slow = slowed(running_service)
    with running(running_service) as address, ThreadPoolExecutor(3) as pool:
        slow.may_go.clear()
        waiting = [pool.submit(ask, address, request(T, translation(f"{TEXT} {n}"))) for n in range(3)]
        wait_for(lambda: running_service.n_running == 3)
        assert httpx.get(f"{address}/ready").status_code == 503
        assert httpx.get(f"{address}/live").status_code == 200
        refused = ask(address, request(T, translation(TEXT)))
        assert (refused.status, refused.headers["retry-after"], refused.json["code"]) == (429, "1", "overloaded")
        assert "3 requests are under way, which is the limit" in refused.json["error"]
        slow.may_go.set()
        assert [future.result().status for future in waiting] == [200] * 3
        wait_for(lambda: running_service.n_running == 0)
        assert httpx.get(f"{address}/ready").status_code == 200


def test_whoever_watches_sees_what_is_under_way_what_waits_and_what_is_remembered(
    service: Callable[..., Service],
) -> None:
    watched = service()
    slow, (engine,) = slowed(watched), watched.pairs.engines
    with running(watched) as address, ThreadPoolExecutor(2) as pool:

        def shown(*names: str) -> list[float]:
            lines = (line.rpartition(" ") for line in httpx.get(f"{address}/metrics").text.split("\n"))
            values = {name.removeprefix("yiwen_"): value for name, _, value in lines}
            return [float(values[name]) for name in names]

        slow.may_go.clear()
        computed = pool.submit(ask, address, request(T, translation(TEXT)))
        wait_for(lambda: slow.n_begun == 1)
        waiting = pool.submit(ask, address, request(T, translation("Kabe robu.")))
        wait_for(lambda: engine.n_tokens > 0)
        assert shown("running_requests", "waiting_tokens") == [2, engine.n_tokens]
        slow.may_go.set()
        assert [computed.result().status, waiting.result().status] == [200, 200]
        assert ask(address, request(T, translation(TEXT))).status == 200
        assert shown("running_requests", "waiting_tokens", "cache_hits_total") == [0, 0, 1]
        assert shown("cache_bytes", "batch_sentences_count") == [watched.cache.n_bytes, 2]
        assert shown('request_seconds_count{path="/v1/translate"}', "batch_sentences_sum") == [3, 2]
        assert shown('request_seconds_sum{path="/v1/translate"}') > [0]


def test_a_request_for_which_the_system_has_no_thread_takes_no_place(
    service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    short_of_threads = service(queue_requests=1)
    with running(short_of_threads) as address:
        with monkeypatch.context() as patch:
            patch.setattr(short_of_threads._threads, "submit", refuse)
            assert [ask(address, request(T, translation(TEXT))).status for _ in range(2)] == [500, 500]
        assert ask(address, request(T, translation(TEXT))).status == 200


def test_a_service_that_is_about_to_end_begins_nothing_new(service: Callable[..., Service]) -> None:
    ending = service()
    with running(ending) as address:
        ending.is_draining = True
        refused = ask(address, request(T, translation(TEXT)))
        assert (refused.status, refused.json["code"]) == (503, "draining")
        assert (refused.headers["retry-after"], refused.headers["connection"]) == ("5", "close")
        assert [httpx.get(f"{address}{path}").status_code for path in ("/ready", "/live")] == [503, 200]


def test_a_request_that_the_end_does_not_wait_for_is_told(service: Callable[..., Service]) -> None:
    ending = service(drain_s=1)
    slow = slowed(ending)
    with ThreadPoolExecutor(1) as pool:
        with running(ending) as address:
            slow.may_go.clear()
            waiting = pool.submit(ask, address, request(T, translation(TEXT)))
            waiting.add_done_callback(lambda _: slow.may_go.set())
            wait_for(lambda: slow.n_begun == 1)
            ending.is_draining = True
        refused = waiting.result()
    assert (refused.status, refused.json["code"]) == (503, "draining"), refused
    assert refused.headers["retry-after"] == "5"


def test_a_stream_that_the_end_does_not_wait_for_is_cut_without_a_traceback(
    service: Callable[..., Service], caplog: pytest.LogCaptureFixture
) -> None:
    ending = service(drain_s=1)
    slow = slowed(ending, 0.3)
    with ExitStack() as stack, running(ending) as address:
        sock = stack.enter_context(connect(address))  # stays to the end
        sock.sendall(request(T, translation(f"{TEXT} Kabe robu. Gedi bapu.", stream=True)))
        assert sock.recv(15) == b"HTTP/1.1 200 OK"
        slow.may_go.clear()
        ending.is_draining = True
        threading.Timer(3, slow.may_go.set).start()
    assert [record.message for record in caplog.records if record.exc_info] == []


def test_more_tokens_than_the_queue_holds_are_told_to_come_again(service: Callable[..., Service]) -> None:
    running_service = service(queue_tokens=40)
    slow = slowed(running_service)
    (engine,) = running_service.pairs.engines
    with running(running_service) as address, ThreadPoolExecutor(4) as pool:
        slow.may_go.clear()
        waiting = []
        for n in range(4):  # one for the engine's thread, the others have to queue
            waiting.append(pool.submit(ask, address, request(T, translation(f"{TEXT} {n}"))))
            wait_for(lambda n=n: slow.n_begun == 1 if n == 0 else engine.n_tokens > 0)
        refused = ask(address, request(T, translation([f"{TEXT} {n}" for n in range(20)])))
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "tokens wait" in refused.json["error"]
        slow.may_go.set()
        assert [future.result().status for future in waiting] == [200] * 4


def test_ten_times_the_capacity_gets_answers_or_refusals_and_nothing_else(service: Callable[..., Service]) -> None:
    running_service = service(queue_requests=8)
    slowed(running_service, 0.02)
    seconds, n_callers, seed = size(0, long=60), 80, 7
    with running(running_service) as address:
        with httpx.Client(timeout=60, base_url=address) as client:
            base = statistics.median(_timed(lambda: post(client))[0] for _ in range(10))
        before = psutil.Process().memory_info().rss
        accepted: list[float] = []
        refused: list[float] = []
        others: list[float] = []

        def caller(number: int) -> None:
            rng = random.Random(seed * 100 + number)
            end = time.monotonic() + seconds
            with connect(address) as sock:
                while time.monotonic() < end or min(len(accepted), len(refused)) <= 20:
                    sock.sendall(request(T, translation(f"{TEXT} {rng.random()}")))
                    took, answer = _timed(lambda: read_answer(sock))
                    {200: accepted, 429: refused}.get(answer.status, others).append(took)
                    if answer.status == 429:
                        assert answer.headers["retry-after"]
                        time.sleep(0.02)

        with ThreadPoolExecutor(n_callers) as pool:
            list(pool.map(caller, range(n_callers)))
        grown = (psutil.Process().memory_info().rss - before) / 1e6
        with httpx.Client(timeout=60, base_url=address) as client:
            after = statistics.median(_timed(lambda: post(client))[0] for _ in range(10))
    noted(
        "S1",
        f"{n_callers} callers, 10 times the capacity, for {seconds} s at least",
        seed=seed,
        accepted=len(accepted),
        refused=len(refused),
        others=len(others),
        p95_accepted_ms=round(percentile(accepted, 0.95) * 1000),
        p99_refused_ms=round(percentile(refused, 0.99) * 1000),
        grown_mb=round(grown, 1),
        base_ms=round(base * 1000),
        after_ms=round(after * 1000),
    )
    assert others == []
    # Who is refused does not queue first; that it holds with an engine that waits is above, and here clocks say so.
    assert not IS_LONG or statistics.median(refused) < statistics.median(accepted)
    assert not IS_LONG or percentile(refused, 0.99) < 0.1
    assert grown < 50


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def test_stuck_senders_are_cut_off_and_nobody_else_notices(service: Callable[..., Service]) -> None:
    n, receive_s = size(20, long=60), 2.0 if not IS_LONG else 10.0
    half_head = b"POST /v1/translate HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-le"
    half_body = request(T, translation(TEXT))[:-5]
    with running(service(receive_s=receive_s)) as address:
        stuck = [connect(address) for _ in range(3 * n)]
        began = time.monotonic()
        for number, sock in enumerate(stuck):
            sock.sendall((half_head, half_body, b"")[number % 3])
        times = []
        with httpx.Client(timeout=60, base_url=address) as client:
            for number in range(size(20, long=500)):
                took, answer = _timed(lambda number=number: post(client, f"{TEXT} {number}"))
                assert answer.status_code == 200
                times.append(took)
        answers = [read_answer(sock) for sock in stuck]  # the last bytes before it was closed
        closed_after = time.monotonic() - began
        for sock in stuck:
            sock.close()
    statuses = sorted({answer.status for answer in answers})
    noted(
        "S2",
        f"{3 * n} stuck sockets: half heads, half bodies, silent ones",
        statuses=statuses,
        all_closed_after_s=round(closed_after, 1),
        p95_of_others_ms=round(percentile(times, 0.95) * 1000),
    )
    assert set(statuses) <= {0, 408}


def test_one_byte_at_a_time_meets_the_same_deadline(service: Callable[..., Service]) -> None:
    with running(service(receive_s=1.0)) as address, connect(address) as sock:
        n_sent = 0
        sock.settimeout(0.05)
        data = b""
        while not data and n_sent < 2000:
            try:
                sock.sendall(b"x")
                n_sent += 1
                data = sock.recv(1000)
            except TimeoutError:
                continue
            except OSError:
                break
    assert n_sent < 2000


def test_what_comes_too_slowly_is_told_so(service: Callable[..., Service]) -> None:
    with running(service(receive_s=0.5)) as address:
        late = ask(address, request(T, translation(TEXT))[:-5])
    message = "the request took longer than receive_s=0.5 s; send less at a time"
    assert (late.status, late.json) == (408, {"error": message, "code": "too_slow"})
    assert (late.headers["content-type"], late.headers["connection"]) == ("application/json", "close")


def test_who_does_not_read_the_answer_is_cut_off_and_no_error_is_logged(
    service: Callable[..., Service], caplog: pytest.LogCaptureFixture
) -> None:
    with running(service(receive_s=1.0, keep_alive_s=1)) as address:
        n = size(5, long=50)
        socks = []
        for _ in range(n):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(60)
            sock.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            for _ in range(60):  # 60 answers of 60 KB, and nobody reads them
                try:
                    sock.sendall(request("/openapi.json", method="GET"))
                except OSError:
                    break
            socks.append(sock)
        process = psutil.Process()
        port = int(address.rpartition(":")[2])

        def n_open() -> int:
            return sum(c.status == "ESTABLISHED" and c.laddr.port == port for c in process.net_connections("tcp"))

        wait_for(lambda: n_open() == 0)
        assert httpx.get(f"{address}/live").status_code == 200
        for sock in socks:
            sock.close()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
    noted("S2", f"{n} callers who read nothing of 60 answers", still_open=0)


@pytest.mark.skipif(not hasattr(socket, "TCP_NOTSENT_LOWAT"), reason="the system does not tell what it holds back")
def test_who_reads_slowly_but_steadily_gets_all_of_the_answer(service: Callable[..., Service]) -> None:
    asked = request("/openapi.json", method="GET")
    with running(service(receive_s=1.0)) as address:
        n_bytes = 60 * len(httpx.get(f"{address}/openapi.json").content)  # more than the system holds for a reader
        with connect(address) as sock:
            sock.sendall(asked * 59 + request("/openapi.json", method="GET", connection="close"))
            for _ in range(50):  # 300 KB a second, a hundred times what is asked for
                n_bytes -= len(sock.recv(15_000, socket.MSG_WAITALL))
                time.sleep(0.05)
            while chunk := sock.recv(1 << 20):
                n_bytes -= len(chunk)
    assert n_bytes < 0, "with their heads"


def test_callers_who_leave_give_their_places_back(
    service: Callable[..., Service], caplog: pytest.LogCaptureFixture
) -> None:
    n, n_at_once, seed = size(60, long=400), 20, 5
    running_service = service(queue_requests=n_at_once)
    slow = slowed(running_service)
    rng = random.Random(seed)
    with running(running_service) as address:
        slow.may_go.clear()
        first = connect(address)
        first.sendall(request(T, translation(f"{TEXT} first")))
        wait_for(lambda: slow.n_begun == 1)
        for _ in range(n // 10):
            left = [connect(address) for _ in range(10)]
            for sock in left:
                sock.sendall(request(T, translation(f"{TEXT} {rng.random()}")))
            wait_for(lambda: running_service.n_running == 11)
            for sock in left:
                sock.close()
            wait_for(lambda: running_service.n_running == 1)
        n_begun = slow.n_begun
        (engine,) = running_service.pairs.engines
        n_waiting = engine.n_tokens
        slow.may_go.set()
        assert read_answer(first).status == 200
        counted = httpx.get(f"{address}/metrics").text
        first.close()
    noted("S5", f"{n} callers leave while they queue", seed=seed, begun=n_begun - 1, tokens_left=n_waiting)
    assert n_begun == 1
    assert n_waiting == 0
    assert f'yiwen_requests_total{{path="/v1/translate",status="499"}} {n}.0' in counted
    assert [record.message for record in caplog.records if record.exc_info] == []


def test_who_leaves_a_stream_ends_the_work_for_it(service: Callable[..., Service]) -> None:
    left = service()
    slow = slowed(left, 0.3)
    sentences = [f"Deti {a}{b} gedi." for a in "bdgklmnprst" for b in "aeiou"]
    with running(left) as address:
        with connect(address) as sock:
            sock.sendall(request(T, translation(" ".join(sentences), stream=True)))
            assert sock.recv(15) == b"HTTP/1.1 200 OK"
        wait_for(lambda: left.n_running == 0)
    assert slow.n_begun < len(sentences)


def test_who_leaves_a_stream_leaves_no_model_behind(service: Callable[..., Service]) -> None:
    left = service()
    slowed(left, 0.3)
    (replaced,) = map(weakref.ref, left.pairs.engines)
    gc.disable()  # a service collects so seldom
    try:
        with running(left) as address:
            with connect(address) as sock:
                sock.sendall(request(T, translation(f"{TEXT} Kabe robu. Gedi bapu.", stream=True)))
                assert sock.recv(15) == b"HTTP/1.1 200 OK"
            wait_for(lambda: left.n_running == 0)
            left.reload()
            wait_for(lambda: replaced() is None)
    finally:
        gc.enable()


def test_an_answer_that_takes_too_long_is_given_up(service: Callable[..., Service]) -> None:
    running_service = service(deadline_s=0.5)
    slow = slowed(running_service)
    with running(running_service) as address:
        slow.may_go.clear()
        late = ask(address, request(T, translation(TEXT)))
        slow.may_go.set()
        assert (late.status, late.json["code"]) == (504, "deadline")
        assert late.json["error"] == "no answer within 0.5 s; send less text at a time"
        wait_for(lambda: running_service.n_running == 0)


def test_work_that_nobody_waits_for_any_more_is_told_to_end(service: Callable[..., Service]) -> None:
    late, has_ended = service(deadline_s=0.1), threading.Event()

    def work(stop: StopFlag) -> None:
        wait_for(lambda: bool(stop))
        has_ended.set()

    with pytest.raises(ApiError, match=r"no answer within 0\.1 s"):
        asyncio.run(late.run(work, gone=lambda: asyncio.Event().wait()))
    assert has_ended.wait(60)
    late.close()


def test_what_just_keeps_to_the_limits_is_taken(service: Callable[..., Service]) -> None:
    limited = service(max_texts=3, max_text_chars=7, max_request_chars=17)
    assert limited.check_texts(["a" * 7, "b" * 7, "c" * 3]) == 17
    limited.close()


def test_models_are_swapped_under_load_and_a_broken_one_is_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    good, other = exported(tiny_run.best, tmp_path / "a"), exported(tiny_run.early, tmp_path / "b")
    link = tmp_path / "current"
    expected = {Translator.load(folder, threads=1).translate([TEXT])[0].text for folder in (good, other)}
    broken = shutil.copytree(good, tmp_path / "broken")
    (broken / "ctranslate2" / "model.bin").write_bytes(b"torn")
    link.symlink_to(good, target_is_directory=True)
    n_threads = n_batching()
    running_service = service_of(tmp_path, link, cache_bytes=0)
    n_swaps, seen, stop = size(6, long=50), [], threading.Event()
    with running(running_service) as address, ThreadPoolExecutor(4) as pool:

        def caller() -> None:
            with httpx.Client(timeout=60, base_url=address) as client:
                while not stop.is_set():
                    answer = post(client)
                    seen.append((answer.status_code, answer.json()["translations"][0]["text"]))

        callers = [pool.submit(caller) for _ in range(4)]
        refusals = []
        for number in range(n_swaps):
            link.unlink()
            link.symlink_to((other, broken, good)[number % 3], target_is_directory=True)
            try:
                running_service.reload()
            except CheckpointError as error:
                refusals.append(str(error))
            n_before = len(seen)
            wait_for(lambda n_before=n_before: len(seen) > n_before + 3)
        stop.set()
        for future in callers:
            future.result()
    wait_for(lambda: n_batching() <= n_threads)  # engines that nobody uses end
    noted("S8", f"{n_swaps} swaps under 4 callers", requests=len(seen), refused_models=len(refusals))
    assert {status for status, _ in seen} == {200}
    assert {text for _, text in seen} <= expected
    assert len(refusals) == len(range(1, n_swaps, 3))
    assert all("model.bin has changed" in refusal for refusal in refusals)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n \t\n",
        "a",
        "。",
        "?!…—«»",
        "a" * 5000,
        "ab " * 1600,
        "🦕" * 1000,
        "👩‍👩‍👧‍👦 👍🏽",
        "ދިވެހި ᚠᚢᚦ 𓀀𓀁",
        "\u202eevil\u202c",
        "\x00\x01\x1b[31mred",
        "\ufeffDeti\u2028gedi\u0085bapu",
        "Deti\r\ngedi\r\n",
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script>",
        "这是一个测试。" * 300,
        "1234567890 " * 400,
        "Ｄｅｔｉ ｇｅｄｉ",
    ],
    ids=lambda text: ascii(text)[:24],
)
def test_any_text_has_an_answer_and_a_blank_one_itself(text: str, address: str) -> None:
    answer = ask(address, request(T, translation(text)))
    noted("S10", ascii(text)[:24], status=answer.status)
    assert answer.status == 200
    found = answer.json["translations"][0]
    if not text.strip():
        assert found["text"] == text
    assert found["text"].count("\n") >= text.strip("\n").count("\n")
    for sentence in found["sentences"]:
        start, end = sentence["source"]
        assert text[start:end].strip() == text[start:end] != ""


def test_file_descriptors_and_memory_stay_where_they_are(serve: Callable[..., str]) -> None:
    address = serve(cache_bytes=0)  # it has a bound of its own
    process, n = psutil.Process(), size(300, long=20_000)
    rng = random.Random(11)

    def burst(n: int) -> None:
        with httpx.Client(timeout=60, base_url=address) as client:
            for _ in range(n):
                text = " ".join(rng.choices(["deti", "gedi", "bapu", "kabe", "robu"], k=rng.randrange(1, 20)))
                assert post(client, text).status_code == 200

    burst(n // 3)
    before, n_files = process.memory_info().rss, process.num_fds()
    burst(n)
    grown = (process.memory_info().rss - before) / 1e6
    noted("S6", f"{n} requests one after another", seed=11, grown_mb=round(grown, 1))
    wait_for(lambda: process.num_fds() <= n_files + 2)
    assert grown < 20
