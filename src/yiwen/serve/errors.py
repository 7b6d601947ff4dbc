"""What a caller is told instead of an answer."""

from __future__ import annotations

import errno

import sqlalchemy as sa
from pydantic import ValidationError

from yiwen.errors import CheckpointError, ConfigError, DataError, YiwenError
from yiwen.serve.metrics import LOG


class ApiError(YiwenError):
    """A refusal: its status, a word for programs, a message for people."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after_s = status, code, retry_after_s


class Gone(Exception):
    """The caller has left; nobody reads an answer."""


def refusal_of(error: Exception, request_id: str | None) -> ApiError:
    """What a caller is told of an exception."""
    match error:
        case ApiError():
            error.__context__ = None  # it holds frames, and so the body, until a full collection; so does a traceback
            return error.with_traceback(None)
        case ValidationError():
            return ApiError(422, "invalid", _explain(error))
        case ConfigError() | DataError():
            return ApiError(400, "invalid", str(error))
        case CheckpointError():
            LOG.error("model", extra={"problem": str(error)})
            return ApiError(503, "model", "it was replaced on disk; have the service reload (SIGHUP)", retry_after_s=30)
        case sa.exc.DataError():
            return ApiError(400, "invalid", f"the database takes no such text ({error.orig}); send another")
        case sa.exc.SQLAlchemyError():
            LOG.error("database", extra={"problem": database_says(error)})
            return ApiError(503, "database", "the database cannot be used now; ask again later", retry_after_s=5)
        # Corrections are written there, and long documents as they come: to a folder that may be gone by now.
        case (
            FileNotFoundError()
            | PermissionError()
            | OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG | errno.EROFS | errno.EIO)
        ):
            LOG.exception("disk", extra={"problem": str(error)})
            return ApiError(507, "disk", f"the disk takes nothing ({error.strerror}); tell whoever runs the service")
    LOG.exception("failed", extra={"request_id": request_id})
    return ApiError(500, "internal", "something failed here; the log of the service says where")


def database_says(error: Exception) -> str:
    """Why a database fails, in its first line: what follows may hold a row."""
    return str(getattr(error, "orig", error)).split("\n")[0]


def _explain(error: ValidationError) -> str:
    """Every problem with its place, its value and its rule."""
    problems = []
    for problem in error.errors(include_url=False)[:10]:
        place = ".".join(str(part) for part in problem["loc"]) or "the request"
        shown = "" if problem["type"] == "missing" else f" = {problem['input']!r:.60}"
        problems.append(f"{place}{shown}: {problem['msg']}")
    return "; ".join(problems) + "; /openapi.json says what is taken here"
