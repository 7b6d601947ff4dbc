"""HTTP by hand, for requests that no client would send."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What came back before the connection was closed or the body was whole."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def connect(address: str) -> socket.socket:
    """A connection to a service, with a timeout that only a hanging one meets."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=60)


def request(path: str, body: bytes = b"", *, method: str = "POST", host: str = "127.0.0.1", **headers: str) -> bytes:
    """A whole request; `content_type="text/plain"` is a header."""
    named = {"host": host, "content-length": str(len(body)), "content-type": "application/json"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def ask_json(address: str, path: str, body: Any) -> Answer:
    """Send JSON and read one answer."""
    return ask(address, request(path, json.dumps(body).encode()))


def translation(text: Any, **fields: Any) -> bytes:
    """The body of a request for a translation."""
    return json.dumps({"text": text, "source": "en", "target": "de", **fields}).encode()


def read_answer(sock: socket.socket) -> Answer:
    """Read one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = sock.recv(65536)
        if not chunk:
            return Answer(0, {}, data, is_whole=False)
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    while len(body) < length and (chunk := sock.recv(65536)):
        body += chunk
    return Answer(int(first.split()[1]), headers, body, is_whole=len(body) == length)


def ask(address: str, raw: bytes) -> Answer:
    """Send bytes and read one answer, over a connection of its own."""
    with connect(address) as sock:
        with suppress(OSError):  # refused before all of it was sent
            sock.sendall(raw)
        return read_answer(sock)
