"""Around every request: where it may come from, what every answer carries, the one line of log, the counters."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
import time
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yiwen.serve.endpoint import error_response
from yiwen.serve.errors import ApiError, Gone
from yiwen.serve.metrics import LOG
from yiwen.serve.service import Service

CONTENT_SECURITY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_LEFT: Final = 499
"""What is logged where the caller did not wait for an answer (nginx's number)."""
_PROBES: Final = ("/live", "/health", "/ready")
_WATCHED: Final = ("/", "/metrics", *_PROBES)


class Guard:
    """An application around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.service = service
        self._app = app
        self._prefix, self._numbers = secrets.token_hex(4) + "-", itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        request_id, status, is_received = f"{self._prefix}{next(self._numbers):x}", _LEFT, False
        scope["request_id"] = request_id

        async def receive_noted() -> Message:
            nonlocal is_received
            message = await receive()
            is_received = not message.get("more_body")
            return message

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                # Nothing that follows an Upgrade is parsed.
                closing = [(b"connection", b"close")] if self.service.is_draining or "upgrade" in headers else []
                # Modules of two versions must never meet in a browser; asking whether one is new costs nothing here.
                asking = [(b"cache-control", b"no-cache")] if scope["path"].startswith("/page/") else []
                own = (b"x-request-id", request_id.encode())
                message["headers"] = [*message.get("headers", []), *HEADERS, own, *asking, *closing]
            elif not (is_received or message.get("more_body")):
                # A socket that is closed on unread bytes takes the answer with it: they are thrown away before the end.
                await send({**message, "more_body": True})
                while (await receive()).get("more_body"):
                    pass
                message = {"type": "http.response.body"}
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(headers, scope["path"])
        answer = self._app if refusal is None else error_response(refusal)
        try:
            await answer(scope, receive_noted, send_guarded)
        except Gone:
            pass
        except asyncio.CancelledError:
            if not self.service.is_draining:  # else the server cut it at the end of drain_s, and says so itself
                raise
        finally:
            self._note(scope, scope.get("refused", status), time.perf_counter() - started)

    def _refusal(self, headers: Headers, path: str) -> ApiError | None:
        """Why a request is refused before it is looked at."""
        if "upgrade" in headers and {"content-length", "transfer-encoding"} & {*headers}:  # its body is never parsed
            return ApiError(400, "upgrade", "no body can come with an Upgrade; leave that header out (curl --http1.1)")
        if len(headers.getlist("host")) > 1:  # RFC 9112, section 3.2: a proxy may have read the other one
            return ApiError(400, "host", "more than one Host header came; send one")
        config, host = self.service.config, headers.get("host", "").lower()
        names = config.allow_hosts or (("localhost", "127.0.0.1", "[::1]", config.host) if config.is_loopback else ())
        if names and path not in _PROBES and re.sub(r":\d*$", "", host) not in names:
            return ApiError(400, "host", f"host {host[:80]!r} is not served here; add it to allow_hosts")
        own = (host, re.sub(r":(80|443)$", "", host))  # browsers leave out ports that proxies name
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() not in own and origin not in config.allow_origins:
            return ApiError(403, "origin", f"pages of {origin[:80]!r} may not ask here; add it to allow_origins")
        return None

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope.get("endpoint_path") or (scope["path"] if scope["path"] in _WATCHED else "other")
        self.service.metrics.requests.labels(path, status).inc()
        self.service.metrics.seconds.labels(path).observe(seconds)
        known = {name: scope[name] for name in ("request_id", "method", "characters") if name in scope}
        LOG.info("request", extra={**known, "path": path, "status": status, "took_ms": round(seconds * 1000, 1)})
