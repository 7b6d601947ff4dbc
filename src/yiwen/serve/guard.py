"""Around every request: who may ask at all, what every answer carries, and the one line of log."""

from __future__ import annotations

import secrets
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yiwen.serve.endpoint import error_response
from yiwen.serve.service import ApiError, Gone, Service

CONTENT_SECURITY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    ("content-security-policy", CONTENT_SECURITY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """An application around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.service = service
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers["x-request-id"] = request_id
                for name, value in HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        try:
            if refusal is not None:
                await error_response(refusal, "v1")(scope, receive, send_guarded)
            else:
                await self._app(scope, receive, send_guarded)
        except Gone:
            return

    def _refusal(self, headers: Headers) -> ApiError | None:
        config = self.service.config
        host = headers.get("host", "").lower().rpartition(":")[0] or headers.get("host", "").lower()
        names = config.allow_hosts or (_LOCAL_NAMES if config.is_loopback else ())
        if names and host not in names:
            return ApiError(400, "host", f"host {host[:80]!r} is not served here; add it with --allow-host")
        origin = headers.get("origin")
        if origin is not None and not _is_own(origin, headers.get("host", "")) and origin not in config.allow_origins:
            return ApiError(403, "origin", f"pages of {origin[:80]!r} may not call this service; see --allow-origin")
        return None


def _is_own(origin: str, host: str) -> bool:
    return origin.partition("://")[2].lower() == host.lower()
