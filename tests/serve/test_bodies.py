"""What no honest client sends is refused with a 4xx that says why, and costs no memory; the service lives on."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from wire import ask, connect, read_answer, request, translation

from campaign import noted
from yiwen.serve.metrics import log_to_stderr

LIMIT = 1_000_000
T = "/v1/translate"


def padded(n_bytes: int) -> bytes:
    body = translation("x")
    return body + b" " * (n_bytes - len(body))


def chunked(body: bytes) -> bytes:
    return request(T, body, content_length="", transfer_encoding="chunked")


BODIES: dict[str, tuple[bytes, set[int]]] = {
    "one byte more than the limit": (request(T, padded(LIMIT + 1)), {413}),
    "64 MB declared": (request(T, b"", content_length="64000000"), {413}),
    "64 MB in one chunk": (
        chunked(b"3D09000\r\n" + b" " * 64_000_000),
        {413},
    ),
    "a length that is no number": (request(T, b"{}", content_length="0x2"), {400}),
    "a length of 5,000 digits": (request(T, b"{}", content_length="9" * 5000), {400}),
    "a gzip bomb": (request(T, gzip.compress(b" " * 10_000_000), content_encoding="gzip"), {415}),
    "a header of 200 KB": (request(T, b"{}", x_long="y" * 200_000), {400, 431}),
    "a trailer of 200 KB": (chunked(b"2\r\n{}\r\n0\r\nx: " + b"y" * 200_000), {400, 431}),
    "40,000 trailers": (chunked(b"2\r\n{}\r\n0\r\n" + b"x: y\r\n" * 40_000), {400, 431}),
    "a chunk extension of 200 KB": (chunked(b"2;" + b"y" * 200_000), {400, 431}),
    "JSON 10,000 deep": (request(T, b'{"text":' + b"[" * 10_000 + b"]" * 10_000 + b"}"), {400, 422}),
    "an object of 90,000 keys": (
        request(T, json.dumps({str(i): i for i in range(90_000)})[:LIMIT].encode()),
        {400, 422},
    ),
    "NaN": (request(T, b'{"text": "a", "source": "en", "target": "de", "beam_size": NaN}'), {400}),
    "a key twice": (request(T, b'{"text": "a", "text": "b", "source": "en", "target": "de"}'), {400}),
    "bad UTF-8": (request(T, b'{"text": "\xff", "source": "en", "target": "de"}'), {400}),
    "half a character": (request(T, b'{"text": "\\ud800", "source": "en", "target": "de"}'), {400}),
    "a number for a text": (request(T, translation(1)), {422}),
    "null for a text": (request(T, translation(None)), {422}),
    "a list in a list": (request(T, translation([["a"]])), {422}),
    "no object": (request(T, b"[]"), {400}),
    "nothing": (request(T, b""), {422}),
    "text/plain, which any page may send": (request(T, translation("a"), content_type="text/plain"), {415}),
    "51 texts": (request(T, translation(["a"] * 51)), {413}),
    "a text of 5,001 characters": (request(T, translation("a" * 5001)), {413}),
    "20,001 characters in all": (request(T, translation(["a" * 4001] * 5)), {413}),
    "more alternatives than are given": (request(T, translation("a", alternatives=9)), {422}),
    "a wide beam": (request(T, translation("a", beam_size=10**12)), {422}),
    "no beam": (request(T, translation("a", beam_size=0)), {422}),
    "a field that is not known": (request(T, translation("a", beam=1)), {422}),
    "a stream of several texts": (request(T, translation(["a"], stream=True)), {422}),
    "two prefixes for a text": (request(T, translation("a", prefix=["b", "c"])), {400}),
    "a form of 2,000 fields": (
        request("/translate", b"q=a&" * 2000, content_type="application/x-www-form-urlencoded"),
        {400},
    ),
    "a form of broken characters": (
        request("/translate", b"q=%ff", content_type="application/x-www-form-urlencoded"),
        {400},
    ),
    "LibreTranslate with a number": (request("/translate", b'{"q": 1, "source": "en", "target": "de"}'), {400}),
    "LibreTranslate with words for a number": (
        request("/translate", b'{"q": "a", "source": "en", "target": "de", "alternatives": "x"}'),
        {400},
    ),
    "DeepL without a text": (request("/v2/translate", b'{"target_lang": "DE"}'), {400}),
    "a chat without messages": (request("/v1/chat/completions", b'{"model": "en-de", "messages": []}'), {422}),
    "10,000 parts": (
        request(
            "/v1/documents",
            b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n' * 10_000 + b"--x--",
            content_type="multipart/form-data; boundary=x",
        ),
        {400},
    ),
    "a document without a boundary": (request("/v1/documents", b"abc", content_type="multipart/form-data"), {400}),
    "another HTTP": (b"GET / HTTP/9.9\r\n\r\n", {400}),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10 + b"\r\n\r\n", {400}),
}


@pytest.fixture(scope="module")
def resident(address: str) -> list[int]:
    """Memory of the process at its greatest, in bytes: before, and filled by each test."""
    ask(address, request(T, translation("Deti gedi bapu.")))
    return [psutil.Process().memory_info().rss]


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_request_is_refused_with_a_reason(name: str, address: str, resident: list[int]) -> None:
    raw, allowed = BODIES[name]
    answer = ask(address, raw)
    assert answer.status in allowed, answer
    if answer.headers.get("content-type", "").startswith("application/json"):
        assert answer.json
    alive = ask(address, request(T, translation("Deti gedi bapu.")))
    assert alive.status == 200
    resident.append(psutil.Process().memory_info().rss)
    noted("S3", name, status=answer.status)


def test_none_of_it_costs_memory(resident: list[int]) -> None:
    grown = (max(resident) - resident[0]) / 1e6
    noted("S3", f"{len(resident) - 1} bad requests in turn, memory", grown_mb=round(grown, 1))
    # The test's own 64 MB lie in the same process; they are made when the file is read.
    assert grown < 100


LONG = json.dumps({"text": "a" * 900_000, "target_lang": "DE"}).encode()


@pytest.mark.parametrize(
    ("status", "raw", "settings"),
    [
        (400, request(T, b"{" * 900_000), {}),
        (403, request("/v2/translate", LONG), {"require_key": True}),
        (413, request(T, translation("a" * 900_000)), {}),
        (413, chunked(b"F0000\r\n" + b" " * 0xF0000 + b"\r\nF0000\r\n" + b" " * 0xF0000 + b"\r\n0\r\n\r\n"), {}),
        (415, request(T, LONG, content_type="text/plain"), {}),
        (422, request(T, LONG), {}),
    ],
)
def test_a_refused_body_is_not_kept_in_memory(
    status: int, raw: bytes, settings: dict[str, Any], serve: Callable[..., str]
) -> None:
    address = serve(**settings)
    gc.disable()  # what holds itself stays
    tracemalloc.start()
    try:
        for number in range(9):
            assert ask(address, raw).status == status
            if number == 0:
                first = tracemalloc.get_traced_memory()[0]
        assert tracemalloc.get_traced_memory()[0] - first < 2_000_000
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize(
    ("status", "raw"),
    [
        (413, request(T, content_length="5000000")),
        (413, chunked(b"4C4B40\r\n")),
        (415, request(T, content_length="5000000", content_encoding="gzip", connection="close")),
        (404, request("/nothing", content_length="5000000", connection="close")),
        (403, request(T, content_length="5000000", origin="https://x.example", connection="close")),
    ],
)
def test_a_refusal_reaches_who_reads_after_all_is_sent(status: int, raw: bytes, address: str) -> None:
    for _ in range(20):
        with connect(address) as sock:
            sock.sendall(raw)
            for _ in range(500):
                sock.sendall(b"x" * 10_000)
            sock.sendall(b"\r\n0\r\n\r\n" if b"chunked" in raw else b"")
            answer = read_answer(sock)
            assert (answer.status, answer.is_whole) == (status, True)
            if answer.headers.get("connection") == "close":
                assert sock.recv(1) == b""
            else:
                sock.sendall(request("/live", method="GET"))
                assert read_answer(sock).status == 200


def test_who_is_refused_and_sends_no_more_is_cut_off(serve: Callable[..., str]) -> None:
    with connect(serve(receive_s=0.5)) as sock:
        sock.sendall(request(T, content_length="5000000"))
        assert read_answer(sock).status == 413
        assert sock.recv(1) == b"", "a second answer would be taken for that to the next request"


def test_nothing_is_waited_for_where_all_was_read(address: str) -> None:
    for status, raw in (
        (413, request(T, translation("a" * 5001), connection="close")),
        (413, request(T, padded(LIMIT + 1), connection="close")),
        (400, request(T, b"{", connection="close")),
    ):
        with connect(address) as sock:
            sock.settimeout(5)  # half of receive_s
            sock.sendall(raw)
            assert read_answer(sock).status == status
            assert sock.recv(1) == b""


def test_too_much_besides_the_body_is_refused_in_json(address: str) -> None:
    answer = ask(address, BODIES["a trailer of 200 KB"][0])
    message = "the head has more than 65536 bytes; send fewer or shorter headers"
    assert (answer.status, answer.json) == (431, {"error": message, "code": "head"})


def test_a_message_names_value_rule_and_remedy(address: str) -> None:
    found = ask(address, request(T, translation("a", beam_size=0, target=5))).json
    assert found["code"] == "invalid"
    assert "beam_size = 0: Input should be greater than or equal to 1" in found["error"]
    assert "target = 5: Input should be a valid string" in found["error"]
    long = ask(address, request(T, translation("a" * 5001))).json
    assert long == {
        "error": "5001 characters in a text, the limit is 5000; send less at a time",
        "code": "too_long",
    }


def test_several_requests_over_one_connection_are_answered_in_their_order(address: str) -> None:
    texts = ["Deti gedi bapu.", "Kabe robu.", "Gedi."]
    with connect(address) as sock:
        for text in texts:
            sock.sendall(request(T, translation(text)))
            answer = read_answer(sock)
            assert answer.status == 200
        sock.sendall(b"".join(request("/detect" if not text else T, translation(text)) for text in texts))


def test_a_body_in_chunks_is_read(address: str) -> None:
    body = translation("Deti gedi bapu.")
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"
    assert ask(address, chunked(chunks)).status == 200


@pytest.mark.parametrize("size", [1, 16])
def test_a_long_body_in_tiny_chunks_is_read_and_so_is_what_follows(size: int, address: str) -> None:
    body = padded(900_000)
    chunks = (b"%x\r\n%b\r\n" % (size, body[i : i + size]) for i in range(0, len(body), size))
    with connect(address) as sock:
        for raw in (chunked(b"".join(chunks) + b"0\r\nx: y\r\n\r\n"), request(T, translation("Deti."))):
            sock.sendall(raw)
            assert read_answer(sock).status == 200


def test_nothing_of_a_request_is_a_path(address: str, tmp_path: Path) -> None:
    seen = []
    names = [
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%252e%252e%252fetc",
        "a\x00b",
        "..\\..\\x",
    ]
    names += ["C:\\x", "／etc／passwd", "．．", "CON", "a" * 300, ".", "~root", "file:///etc/passwd", "\u202eten"]
    for name in names:
        for path in (f"/page/{name}", f"/v1/documents/{name}", f"/v1/models/{name}", f"/download_file/{name}"):
            raw = request(path.encode().decode("latin-1").replace("\x00", "%00").replace(" ", "%20"), method="GET")
            seen.append(ask(address, raw).status)
        for field in ("source", "target"):
            seen.append(ask(address, request(T, translation("a", **{field: name}))).status)
    noted("X2", f"{len(seen)} names that lead elsewhere", statuses=sorted(set(seen)))
    assert set(seen) <= {400, 404, 405, 415, 422}
    assert len(seen) >= 60


def test_the_parser_of_forms_logs_as_the_service_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("yiwen.serve", "uvicorn.error", "python_multipart")
    for name in names:
        for setting in ("handlers", "propagate", "level"):
            monkeypatch.setattr(logging.getLogger(name), setting, getattr(logging.getLogger(name), setting))
    log_to_stderr()
    for name in names:
        logging.getLogger(name).error("Expected boundary character %d", 45)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all("Expected boundary character 45" in json.loads(line).values() for line in lines)
