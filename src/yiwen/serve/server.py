"""Running it: the sockets, the deadline on what arrives and leaves, and an end without loss."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from yiwen.errors import ConfigError, YiwenError
from yiwen.serve.app import build_app
from yiwen.serve.config import ServeConfig
from yiwen.serve.metrics import LOG
from yiwen.serve.service import Service

_MAX_HEAD_BYTES: Final = 65_536
_NOTICE_S: Final = 1.0
"""Seconds between "not ready" and closed doors, so that who asks /ready can see it."""
_LEAST_BYTES_S: Final = 1000
"""A reader slower than this many bytes a second is cut off."""


def listen(config: ServeConfig) -> socket.socket:
    """Bind the address, so that a taken port is told before anything is loaded.

    Raises:
        ConfigError: If it cannot be bound.
    """
    try:
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        return socket.create_server((config.host, config.port), family=family, backlog=1024)
    except OSError as error:
        why, remedy = error.strerror or error, "choose another --port, or give an address of this machine as --host"
        raise ConfigError(f"cannot listen on {config.host} port {config.port} ({why}); {remedy}") from error


def make_server(service: Service) -> uvicorn.Server:
    """A server whose `run(sockets=[...])` ends after SIGINT or SIGTERM, when what was under way is finished."""
    service.store.start()
    config = service.config
    uvicorn_config = uvicorn.Config(
        build_app(service),
        http=_protocol(config.receive_s),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(config.trusted_proxies),
        timeout_keep_alive=config.keep_alive_s,
        timeout_graceful_shutdown=config.drain_s,
    )
    server = uvicorn.Server(uvicorn_config)

    is_ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # by a script that starts the service by `&`

    def drain(signum: int, frame: Any) -> None:
        if signum == signal.SIGINT and is_ignored:
            return
        if service.is_draining:
            server.force_exit = server.should_exit = True
            return
        service.is_draining = True  # first nothing new is begun and /ready says so, then nobody is let in any more
        threading.Timer(_NOTICE_S, setattr, (server, "should_exit", True)).start()

    server.handle_exit = drain  # type: ignore[method-assign, assignment]
    return server


def ignore_hangup() -> None:
    """Do not end at a SIGHUP that comes before there is anything to reload."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def reload_on_hangup(service: Service) -> None:
    """Open the bundles again at SIGHUP, where the system has that."""

    def work() -> None:
        try:
            service.reload()
            LOG.info("reloaded")
        except (YiwenError, OSError) as error:
            LOG.error("not reloaded, the models of before stay", extra={"problem": str(error)})

    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda signum, frame: threading.Thread(target=work).start())


def _refusal(status: int, code: str, message: str) -> bytes:
    """An answer to what never becomes a request."""
    body = json.dumps({"error": message, "code": code}).encode()
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return STATUS_LINE[status] + head % len(body) + body


def _protocol(receive_s: float) -> type[HttpToolsProtocol]:
    too_slow = _refusal(408, "too_slow", f"the request took longer than receive_s={receive_s:g} s; send less at a time")
    no_http = _refusal(400, "http", "this is not plain HTTP/1.1; send one Content-Length or Transfer-Encoding: chunked")
    too_large = _refusal(431, "head", f"the head has more than {_MAX_HEAD_BYTES} bytes; send fewer or shorter headers")

    class WithDeadlines(HttpToolsProtocol):
        """uvicorn knows no deadline for what arrives (its issue 157): this one holds for head and body together."""

        _last = b""  # a refusal, after which nothing is read any more
        _running: Any = None  # the request that is answered, where `cycle` is the one that came last
        _n_head = 0  # bytes of a request that are no body: heads, trailers, what a chunk says besides its size

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            # Else megabytes wait in the system, which does not tell whether any of them leave.
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):
                transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 65_536)
            self._timers = {"receiving": self.loop.call_later(receive_s, self._refuse, too_slow)}

        def data_received(self, data: bytes) -> None:
            self._n_head += len(data)
            if not self._last:
                super().data_received(data)
            if self._n_head > _MAX_HEAD_BYTES:
                self._refuse(too_large)

        def send_400_response(self, msg: str) -> None:
            self._refuse(no_http)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if "receiving" not in self._timers:
                self._timers["receiving"] = self.loop.call_later(receive_s, self._refuse, too_slow)

        def on_chunk_header(self) -> None:
            self._n_head -= 6  # its size and two ends of line: what is no more than that may come any number of times

        def on_body(self, body: bytes) -> None:
            self._n_head -= len(body)
            super().on_body(body)

        def on_headers_complete(self) -> None:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
            if size > _MAX_HEAD_BYTES:
                self._refuse(too_large)
            if self._last or codings not in ([], [b"chunked"]):
                raise ValueError("a proxy may read it otherwise")  # becomes a 400, unless it was refused already
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._n_head = 0
            self._timers.pop("receiving").cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in self._timers.values():
                timer.cancel()
            self.cycle = self._running  # which uvicorn would not tell: it would go on, and meet a closed socket
            super().connection_lost(exc)

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            self._running = cycle
            super()._start_asgi_task(cycle, app)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch()

        def on_response_complete(self) -> None:
            if self._last and not (self.pipeline or self.transport.is_closing()):
                self._hang_up()
            super().on_response_complete()
            self._watch()

        def _refuse(self, answer: bytes) -> None:
            """Refuse what never becomes a request, after the answers to those before it (RFC 9112, section 9.3.2)."""
            if answer is too_slow and self.flow.read_paused:  # it is not read, while others are answered
                self._timers["receiving"] = self.loop.call_later(receive_s, self._refuse, too_slow)
            elif not self._last:
                self._last = answer
                self.flow.resume_reading()  # a socket that is closed on unread bytes takes the answers with it
                if self.pipeline and self.cycle.more_body:  # what is refused had a head, and waits behind others
                    self.pipeline.popleft()
                elif self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                    self._hang_up()

        def _hang_up(self) -> None:
            if self.cycle is not None and not self.cycle.response_started:
                # For the guard, which sees only that nobody waits.
                self.cycle.scope["refused"] = int(self._last.split()[1])  # type: ignore[typeddict-unknown-key]
            if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
                self.transport.write(self._last)
            self.transport.close()
            self._watch()

        def _watch(self, before: float = float("inf")) -> None:
            """Look again and again whether what was written is being read."""
            waiting = self.transport.get_write_buffer_size()
            if "sending" in self._timers:
                self._timers.pop("sending").cancel()
            if waiting > before - _LEAST_BYTES_S * receive_s:
                self.transport.abort()
            elif waiting:
                self._timers["sending"] = self.loop.call_later(receive_s, self._watch, waiting)

    return WithDeadlines
