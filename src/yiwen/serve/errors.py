"""What a caller is told instead of an answer."""

from __future__ import annotations

from yiwen.errors import YiwenError


class ApiError(YiwenError):
    """A refusal: its status, a word for programs, a message for people."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after_s = status, code, retry_after_s


class Gone(Exception):
    """The caller has left; nobody reads an answer."""
