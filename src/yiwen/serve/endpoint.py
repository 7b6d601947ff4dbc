"""One entry of the API: what it takes, what it answers, and the one place where bytes become a request.

A body may be JSON, a form or a query, as the clients that we serve send it. Whatever is wrong with it is told with
value, rule and remedy, in the shape that the API's clients read.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from yiwen.errors import ConfigError, DataError
from yiwen.serve.service import ApiError, Gone, Service

Takes = Literal["json", "form", "query", "multipart"]
Style = Literal["v1", "deepl", "libre", "openai"]

MEDIA_TYPES: Final[dict[Takes, str]] = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
}
_MAX_FIELDS: Final = 1000


@dataclass(frozen=True)
class Call:
    """One request on its way: the service, who asks, and what is not in its body."""

    service: Service
    request: Request

    @property
    def is_gone(self) -> Callable[[], Awaitable[bool]]:
        """Whether the caller has left."""
        return self.request.is_disconnected


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A method and a path, and what answers there."""

    method: str
    path: str
    answer: Callable[[Any, Call], Awaitable[Any]]
    """Gets the request as an object of `takes_model` (None where there is none); returns what `gives_model` describes,
    or a response."""
    summary: str
    takes_model: type[BaseModel] | None = None
    takes: tuple[Takes, ...] = ("json",)
    gives_model: Any = None
    example: Any = None
    """A request."""
    gives_example: Any = None
    """What it is answered."""
    style: Style = "v1"
    status: int = 200
    is_open: bool = False
    """True where nobody needs a key: what a client asks before it has one."""


async def respond(endpoint: Endpoint, service: Service, request: Request) -> Response:
    """Answer one request; nothing that a caller sends ends in another exception than Gone."""
    try:
        fields = await _fields(endpoint, service, request)
        sent = None if endpoint.takes_model is None else endpoint.takes_model.model_validate(fields)
        given = await endpoint.answer(sent, Call(service, request))
        if isinstance(given, Response):
            return given
        return json_response(given, status=endpoint.status)
    except ApiError as error:
        return error_response(error, endpoint.style)
    except ValidationError as error:
        return error_response(ApiError(422, "invalid", _explain(error)), endpoint.style)
    except (ConfigError, DataError) as error:
        return error_response(ApiError(400, "invalid", str(error)), endpoint.style)
    except ClientDisconnect:
        raise Gone from None


def json_response(content: Any, *, status: int = 200) -> Response:
    """JSON; numbers that JSON does not have become null."""
    return Response(to_json(content, inf_nan_mode="null"), status, media_type="application/json")


def error_response(error: ApiError, style: Style) -> Response:
    """An error as the clients of an API read it."""
    status, message = error.status, str(error)
    content: dict[str, Any]
    match style:
        case "deepl":
            status, content = (400 if status == 422 else status), {"message": message}
        case "openai":
            status = 429 if status == 456 else status
            content = {"error": {"message": message, "type": error.code, "param": None, "code": error.code}}
        case "libre":
            status = {422: 400, 456: 403}.get(status, status)
            content = {"error": message}
        case _:
            content = {"error": message, "code": error.code}
    response = json_response(content, status=status)
    if error.retry_after_s is not None:
        response.headers["retry-after"] = str(error.retry_after_s)
    if status in (408, 413):  # what is still on its way is not waited for
        response.headers["connection"] = "close"
    return response


async def _fields(endpoint: Endpoint, service: Service, request: Request) -> dict[str, Any]:
    """The fields of a request, from its query and its body."""
    fields: dict[str, Any] = {}
    if "query" in endpoint.takes and request.url.query:
        fields |= _parsed_form(request.url.query.encode())
    if request.headers.get("content-encoding", "identity") != "identity":
        raise ApiError(415, "encoding", "a packed body is not unpacked here; send it as it is")
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if "multipart" in endpoint.takes and media_type == MEDIA_TYPES["multipart"]:
        return fields | await _multipart(request, service.config.max_document_bytes)
    body = await _body(request, service.config.max_body_bytes)
    if not body:
        return fields
    takes = [kind for kind in endpoint.takes if MEDIA_TYPES.get(kind) == media_type]
    if not takes:
        known = " or ".join(MEDIA_TYPES[kind] for kind in endpoint.takes if kind in MEDIA_TYPES) or "no body"
        raise ApiError(415, "media_type", f"content-type {media_type[:60]!r} is not taken here; send {known}")
    return fields | (_parsed_json(body) if takes[0] == "json" else _parsed_form(body))


async def _body(request: Request, limit: int) -> bytes:
    """The body, no byte past the limit."""
    too_long = ApiError(413, "too_long", f"the body is longer than {limit} bytes; send less at a time")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared[:19]) > limit:
        raise too_long
    chunks: list[bytes] = []
    n_bytes = 0
    async for chunk in request.stream():
        n_bytes += len(chunk)
        if n_bytes > limit:
            raise too_long
        chunks.append(chunk)
    return b"".join(chunks)


def _parsed_json(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8"), object_pairs_hook=_without_twins, parse_constant=_no_number)
        if b"\\u" in body:  # half a character, which no file and no socket can hold
            json.dumps(fields, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ApiError(400, "json", "the body nests too deep; send plain fields") from None
    except ValueError as error:
        raise ApiError(400, "json", f"the body is not valid JSON: {error}; send an object in UTF-8") from None
    if not isinstance(fields, dict):
        raise ApiError(400, "json", f"the body is a JSON {type(fields).__name__}; send an object")
    return fields


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _parsed_form(body: bytes) -> dict[str, Any]:
    """Fields of a form; one that is given several times is a list."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise ApiError(
            400, "form", f"the form cannot be read: {error}; send at most {_MAX_FIELDS} fields, percent-encoded UTF-8"
        ) from None
    fields: dict[str, Any] = {}
    for name, value in pairs:
        before = fields.get(name)
        fields[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return fields


async def _multipart(request: Request, limit: int) -> dict[str, Any]:
    raise NotImplementedError


def _explain(error: ValidationError) -> str:
    """Every problem with its place, its value and its rule."""
    problems = []
    for problem in error.errors(include_url=False)[:10]:
        place = ".".join(str(part) for part in problem["loc"]) or "the request"
        shown = "" if problem["type"] == "missing" else f" = {problem['input']!r:.60}"
        problems.append(f"{place}{shown}: {problem['msg']}")
    return "; ".join(problems) + "; see /openapi.json for what is taken here"
