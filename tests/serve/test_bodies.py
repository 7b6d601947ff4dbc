"""What no honest client sends is refused with a 4xx that says why, and costs no memory; the service lives on."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import math
import re
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError
from wire import ask, connect, read_answer, request, translation

from campaign import noted
from yiwen.serve.app import ENDPOINTS
from yiwen.serve.metrics import JsonLines, log_to_stderr
from yiwen.translator import Translator

LIMIT = 1_000_000
T = "/v1/translate"
FORM = "application/x-www-form-urlencoded"


def padded(n_bytes: int) -> bytes:
    body = translation("x")
    return body + b" " * (n_bytes - len(body))


def chunked(body: bytes) -> bytes:
    return request(T, body, content_length="", transfer_encoding="chunked")


NO_HTTP = '"error": "this is not plain HTTP/1.1; send one Content-Length or Transfer-Encoding: chunked", "code": "http"'
LONG_HEAD = '{"error": "the head has more than 65536 bytes; send fewer or shorter headers", "code": "head"}'
BODIES: dict[str, tuple[bytes, int, str]] = {
    "one byte more than the limit": (request(T, padded(LIMIT + 1)), 413, "longer than 1000000 bytes; send less"),
    "64 MB declared": (request(T, b"", content_length="64000000"), 413, "longer than 1000000 bytes; send less"),
    "64 MB in one chunk": (chunked(b"3D09000\r\n" + b" " * 64_000_000), 413, "longer than 1000000 bytes; send less"),
    "a length that is no number": (request(T, b"{}", content_length="0x2"), 400, NO_HTTP),
    "a length of 5,000 digits": (request(T, b"{}", content_length="9" * 5000), 400, NO_HTTP),
    "a length with blanks behind it, which are none of it": (request(T, b"{}", content_length="2 \t"), 422, "target: "),
    "a length of 5,000 zeros": (request(T, b"", content_length="0" * 5000), 422, "target: Field required"),
    "a gzip bomb": (request(T, gzip.compress(b" " * 10_000_000), content_encoding="gzip"), 415, "send it as it is"),
    "a coding that is none": (request(T, translation(1), content_encoding="Identity"), 422, "text.str = 1: Input"),
    "a header of 200 KB": (request(T, b"{}", x_long="y" * 200_000), 431, LONG_HEAD),
    "a header of 66 KB, which arrives in one piece": (request(T, b"{}", x_long="y" * 66_000), 431, LONG_HEAD),
    "a trailer of 200 KB": (chunked(b"2\r\n{}\r\n0\r\nx: " + b"y" * 200_000), 431, LONG_HEAD),
    "40,000 trailers": (chunked(b"2\r\n{}\r\n0\r\n" + b"x: y\r\n" * 40_000), 431, LONG_HEAD),
    "a chunk extension of 200 KB": (chunked(b"2;" + b"y" * 200_000), 431, LONG_HEAD),
    "JSON 10,000 deep": (request(T, b'{"text":' + b"[" * 10_000 + b"]" * 10_000 + b"}"), 400, "nests too deep"),
    "an object of 50,000 keys": (
        request(T, json.dumps({str(i): i for i in range(50_000)}).encode()),
        422,
        "0 = 0: Extra inputs are not permitted",
    ),
    "NaN": (request(T, translation("a", beam_size=math.nan)), 400, "NaN is not a JSON number"),
    "a number of 5,000 digits": (
        request(T, b'{"text": "a", "beam_size": ' + b"1" * 5000 + b"}"),
        422,
        "beam_size = inf: Input should be a valid integer; /op",
    ),
    "a key twice": (request(T, b'{"text": "a", "text": "b"}'), 400, "a key stands twice in one object"),
    "bad UTF-8": (request(T, b'{"text": "\xff"}'), 400, "can't decode byte 0xff in position 10"),
    "half a character": (request(T, b'{"text": "\\ud800"}'), 400, "surrogates not allowed; send an object in UTF-8"),
    "a number for a text": (request(T, translation(1)), 422, "text.str = 1: Input should be a valid string"),
    "null for a text": (request(T, translation(None)), 422, "text.str = None: Input should be a valid string"),
    "a list in a list": (
        request(T, translation([["a"]])),
        422,
        "text.list[str].0 = ['a']: Input should be a valid str",
    ),
    "no object": (request(T, b"[]"), 400, "the body is a JSON list; send an object"),
    "nothing": (request(T, b""), 422, "text: Field required; target: Field required"),
    "text/plain, which any page may send": (
        request(T, translation("a"), content_type="text/plain"),
        415,
        "content-type 'text/plain' is not taken here; send application/json",
    ),
    "51 texts": (request(T, translation(["a"] * 51)), 413, "51 texts in a request, the limit is 50"),
    "a text of 5,001 characters": (request(T, translation("a" * 5001)), 413, "5001 characters in a text, the limit is"),
    "20,005 characters": (request(T, translation(["a" * 4001] * 5)), 413, "20005 characters in a request, the limit"),
    "more alternatives than are given": (request(T, translation("a", alternatives=9)), 422, "alternatives=9 is more"),
    "a wide beam": (request(T, translation("a", beam_size=10**12)), 422, "beam_size=1000000000000 is more than 8; ask"),
    "no beam": (request(T, translation("a", beam_size=0)), 422, "beam_size = 0: Input should be greater than or equal"),
    "a long word for a number": (request(T, translation("a", beam_size="x" * 5000)), 422, "beam_size = 'xxxxx"),
    "a field that is not known": (
        request(T, translation("a", beam=1)),
        422,
        "beam = 1: Extra inputs are not permitted",
    ),
    "a stream of several texts": (
        request(T, translation(["a"], stream=True)),
        422,
        "stream=true is for one text; send",
    ),
    "two prefixes for a text": (
        request(T, translation("a", prefix=["b", "c"])),
        400,
        "2 prefixes for 1 texts; give one",
    ),
    "a prefix that no translation of a letter starts with": (
        request(T, translation(["ab", "b"], prefix=["c" * 208, "c" * 205])),
        413,
        "205 characters in a prefix, the limit is 204; send less",
    ),
    "a prefix of a thousand characters and one": (
        request(T, translation("a" * 900, prefix="b" * 1001)),
        413,
        "1001 characters in a prefix, the limit is 1000; send less",
    ),
    "a form of 2,000 fields": (request("/translate", b"q=a&" * 2000, content_type=FORM), 400, "at most 1000 fields"),
    "a form of broken characters": (request("/translate", b"q=%ff", content_type=FORM), 400, "byte 0xff in position 0"),
    "LibreTranslate with a number": (
        request("/translate", b'{"q": 1, "source": "en", "target": "de"}'),
        400,
        "q.str = 1: Input should be a valid string",
    ),
    "LibreTranslate with words for a number": (
        request("/translate", b'{"q": "a", "source": "en", "target": "de", "alternatives": "x"}'),
        400,
        "alternatives = 'x': Input should be a valid integer",
    ),
    "DeepL without a text": (request("/v2/translate", b'{"target_lang": "DE"}'), 400, "text: Field required"),
    "a chat without messages": (
        request("/v1/chat/completions", b'{"model": "en-de", "messages": []}'),
        422,
        "messages = []: List should have at least 1 item",
    ),
    "10,000 parts": (
        request(
            "/v1/documents",
            b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n' * 10_000 + b"--x--",
            content_type="multipart/form-data; boundary=x",
        ),
        400,
        "Maximum number of fields is 20. Send one file",
    ),
    "a document without a boundary": (
        request("/v1/documents", b"abc", content_type="multipart/form-data"),
        400,
        "Missing boundary in multipart. Send one file",
    ),
    "another HTTP": (b"GET / HTTP/9.9\r\n\r\n", 400, NO_HTTP),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10 + b"\r\n\r\n", 400, NO_HTTP),
}
"""What is sent, the status of the answer, and words of its reason."""


@pytest.fixture(scope="module")
def resident(address: str) -> int:
    """Memory of the process before any of it, in bytes; the 64 MB above lie in the same process already."""
    ask(address, request(T, translation("Deti gedi bapu.")))
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_request_is_refused_with_a_reason_and_costs_no_memory(name: str, address: str, resident: int) -> None:
    raw, status, reason = BODIES[name]
    answer = ask(address, raw)
    assert (answer.status, answer.is_whole, reason in answer.body.decode()) == (status, True, True), answer
    assert len(answer.body) < 2000, "of very many faults the first ones are told"
    assert ask(address, request(T, translation("Deti gedi bapu."))).status == 200
    noted("S3", name, status=answer.status)
    assert psutil.Process().memory_info().rss - resident < 100e6


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


def test_zeros_before_the_length_of_a_document_open_no_door(address: str) -> None:
    head = {"content_type": "multipart/form-data; boundary=b", "content_length": f"{'0' * 20}300000000"}
    answer = ask(address, request("/v1/documents", **head))
    assert (answer.status, "a document has at most" in answer.body.decode()) == (413, True)


@pytest.mark.parametrize(
    ("status", "raw"),
    [
        (413, request(T, content_length="5000000")),
        (413, chunked(b"4C4B40\r\n")),
        (413, chunked(b"4C4B40\r\n").replace(b"host:", b"connection: close\r\nhost:")),
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


def test_every_fault_of_a_request_is_named_at_once(address: str) -> None:
    found = ask(address, request(T, translation("a", beam_size=0, target=5))).json
    assert found["code"] == "invalid"
    assert "beam_size = 0: Input should be greater than or equal to 1" in found["error"]
    assert "target = 5: Input should be a valid string" in found["error"]


@pytest.mark.parametrize("path", ["/v1/translate", "/v2/translate", "/translate", "/v1/chat/completions"])
def test_of_a_long_list_only_the_first_fault_is_told(path: str) -> None:
    """All of a megabyte take seconds, in which nobody else is answered."""
    (model,) = [endpoint.model for endpoint in ENDPOINTS if (endpoint.method, endpoint.path) == ("POST", path)]
    wrong = [1] * 1000
    lists = dict.fromkeys(("text", "q", "prefix", "ignore_tags", "splitting_tags", "glossary_ids"), wrong)
    fields = {name: value for name, value in lists.items() if name in model.model_fields}
    with pytest.raises(ValidationError) as refused:
        model.model_validate({**fields, "messages": [{"role": "user", "content": wrong}]})
    told = [problem["loc"] for problem in refused.value.errors()]
    assert {place[0] for place in told} >= {*fields}
    assert len(told) < 20


def test_requests_sent_together_over_one_connection_are_answered_in_their_order(
    address: str, exported_bundle: Path
) -> None:
    texts = ["Deti gedi bapu.", "Kabe robu.", "Gedi."]
    with connect(address) as sock:
        sock.sendall(b"".join(request(T, translation(text)) for text in texts))
        sock.sendall(request("/live", method="GET", connection="close"))
        said = b"".join(iter(partial(sock.recv, 65536), b"")).decode()
    expected = Translator.load(exported_bundle, threads=1).translate(texts)
    assert re.findall(r'{"translations":\[{"text":"([^"]*)"', said) == [each.text for each in expected]
    assert said.endswith('{"status":"ok"}')


@pytest.mark.parametrize(
    ("status", "raw"),
    [
        (400, b"GET / HTTP/9.9\r\n\r\n"),
        (400, request(T, content_length="", transfer_encoding="gzip, chunked")),
        (400, chunked(b"no size")),
        (431, request(T, x_long="y" * 70_000)),
        (408, b"GET /live HTT"),
        (408, request(T, content_length="9")),
    ],
)
@pytest.mark.parametrize("n_before", [1, 2])
def test_what_is_no_request_is_refused_after_the_answers_to_what_came_before_it(
    n_before: int, status: int, raw: bytes, serve: Callable[..., str]
) -> None:
    with connect(serve(receive_s=0.5)) as sock:
        sock.sendall(request(T, translation("Deti gedi bapu. " * 200)) * n_before + raw)
        said = b"".join(iter(partial(sock.recv, 65536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200"] * n_before + [b"%d" % status]
    assert said.count(b'"took_ms"') == n_before


@pytest.mark.parametrize(("status", "body"), [(408, b""), (400, b"no size")])
def test_a_body_that_is_refused_on_its_way_is_counted_as_that(
    status: int, body: bytes, serve: Callable[..., str]
) -> None:
    address = serve(receive_s=0.5)
    assert ask(address, request(T, body, content_length="", transfer_encoding="chunked")).status == status
    counted = ask(address, request("/metrics", method="GET")).body.decode()
    assert re.findall(r'yiwen_requests_total\{path="/v1/translate",status="(\d+)"} 1.0', counted) == [str(status)]


def test_who_waits_behind_another_answer_is_not_called_slow(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def detect(*args: Any, **options: Any) -> tuple[str, float]:
        time.sleep(1.5)
        return "en", 0.5

    monkeypatch.setattr("yiwen.serve.pairs.Pairs.detect", detect)
    asked = request("/v1/detect", b'{"text": "Deti."}')
    with connect(serve(receive_s=0.5)) as sock:
        for piece in (asked, asked[:-5], asked[-5:]):  # the last one is not read before the first answer is out
            sock.sendall(piece)
            time.sleep(0.2)
        assert [read_answer(sock).status for _ in range(2)] == [200, 200]


def test_an_upgrade_is_the_last_request_of_its_connection(address: str) -> None:
    with connect(address) as sock:
        upgrade = request("/live", method="GET", content_length="", connection="Upgrade", upgrade="h2c")
        sock.sendall(upgrade + request("/live"))
        answer = read_answer(sock)
        assert (answer.status, answer.headers["connection"], sock.recv(1)) == (200, "close", b"")


def test_a_body_of_just_the_limit_is_read(address: str) -> None:
    body = padded(LIMIT)
    for raw in (request(T, body), chunked(b"%x\r\n%b\r\n0\r\n\r\n" % (LIMIT, body))):
        assert ask(address, raw).status == 200


def test_a_body_in_chunks_is_read(address: str) -> None:
    body = translation("Deti gedi bapu.")
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"
    for coding in ("chunked", "Chunked"):  # RFC 9112, section 7: in capitals, too
        assert ask(address, request(T, chunks, content_length="", transfer_encoding=coding)).status == 200


@pytest.mark.parametrize(("size", "n_bytes"), [(1, 100_000), (16, 300_000)])
def test_a_long_body_in_tiny_chunks_is_read_and_so_is_what_follows(size: int, n_bytes: int, address: str) -> None:
    body = padded(n_bytes)
    chunks = (b"%x\r\n%b\r\n" % (size, body[i : i + size]) for i in range(0, len(body), size))
    with connect(address) as sock:
        for raw in (chunked(b"".join(chunks) + b"0\r\nx: y\r\n\r\n"), request(T, translation("Deti."))):
            sock.sendall(raw)
            assert read_answer(sock).status == 200


def test_a_connection_may_be_in_use_for_longer_than_a_request_may_take_to_come(serve: Callable[..., str]) -> None:
    with connect(serve(receive_s=0.5)) as sock:
        for _ in range(3):
            sock.sendall(request("/live", method="GET"))
            assert read_answer(sock).status == 200
            time.sleep(0.3)


def test_heads_of_one_connection_are_not_added_up(address: str) -> None:
    with connect(address) as sock:
        for _ in range(5):
            sock.sendall(request("/live", method="GET", x_long="y" * 20_000))
            assert read_answer(sock).status == 200


def test_nothing_of_a_request_is_a_path(address: str) -> None:
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
    seen = []
    for name in names:
        for path in (f"/page/{name}", f"/v1/documents/{name}", f"/v1/models/{name}", f"/download_file/{name}"):
            raw = request(path.encode().decode("latin-1").replace("\x00", "%00").replace(" ", "%20"), method="GET")
            seen.append(ask(address, raw).status)
        for field in ("source", "target"):
            seen.append(ask(address, request(T, translation("a", **{field: name}))).status)
    noted("X2", f"{len(seen)} names that lead elsewhere", statuses=sorted(set(seen)))
    assert set(seen) <= {400, 404, 405, 415, 422}


def test_of_an_exception_its_kind_and_place_are_logged_and_not_what_it_says() -> None:
    def fail(n_frames: int) -> None:
        if n_frames == 0:
            raise ValueError("Geheimnis")
        fail(n_frames - 1)

    try:
        fail(11)
    except ValueError:
        raised = sys.exc_info()
    record = logging.LogRecord("yiwen.serve", logging.ERROR, __file__, 1, "failed", (), raised)
    record.created = 1.8e9
    line = JsonLines().format(record)
    assert line.startswith('{"time":"2027-01-15T08:00:00.000+00:00","level":"error","event":"failed",')
    assert "Geheimnis" not in line
    assert json.loads(line)["exception"] == "ValueError"
    *_, (place, _) = traceback.walk_tb(raised[2])
    assert json.loads(line)["where"][-1] == f"{__file__}:{place.f_lineno}"


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
    lines = capsys.readouterr().err.strip().split("\n")
    assert ["Expected boundary character 45" in json.loads(line).values() for line in lines] == [True] * 3
