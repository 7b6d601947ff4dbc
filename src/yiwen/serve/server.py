"""Running it: the sockets, the deadline on what arrives and leaves, and an end without loss."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from yiwen.serve.app import build_app
from yiwen.serve.service import Service

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_LEAST_BYTES_S: Final = 1000
"""A reader slower than this many bytes a second is cut off."""


def make_server(service: Service) -> uvicorn.Server:
    """A server that begins with `run()`: until SIGINT or SIGTERM, after which it finishes what is under way."""
    config = service.config
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(service),
            host=config.host,
            port=config.port,
            http=_protocol(config.receive_s),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(config.keep_alive_s),
            timeout_graceful_shutdown=int(config.drain_s),
        )
    )

    def drain(signum: int, frame: Any) -> None:
        if service.is_draining:
            server.force_exit = True
        service.is_draining = True
        server.should_exit = True

    server.handle_exit = drain  # type: ignore[method-assign, assignment]
    return server


def _protocol(receive_s: float) -> type[HttpToolsProtocol]:
    class WithDeadlines(HttpToolsProtocol):
        """uvicorn knows no deadline for what arrives (its issue 157): this one holds for head and body together."""

        _receiving: asyncio.TimerHandle | None = None
        _sending: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._start()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._end()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            if self._sending is not None:
                self._sending.cancel()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def _start(self) -> None:
            if self._receiving is None:
                self._receiving = self.loop.call_later(receive_s, self._give_up)

        def _end(self) -> None:
            if self._receiving is not None:
                self._receiving.cancel()
                self._receiving = None

        def _give_up(self) -> None:
            if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
                self.transport.write(_TOO_SLOW)
            self.transport.abort() if self.transport.is_closing() else self.transport.close()

        def _watch(self, before: float = float("inf")) -> None:
            """Look again and again whether what was written is being read."""
            waiting = self.transport.get_write_buffer_size()
            if self._sending is not None:
                self._sending.cancel()
                self._sending = None
            if waiting > before - _LEAST_BYTES_S * receive_s:
                self.transport.abort()
            elif waiting:
                self._sending = self.loop.call_later(receive_s, self._watch, waiting)

    return WithDeadlines
