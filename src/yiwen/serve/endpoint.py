"""One entry of the API: the one place where bytes become a request and an answer becomes bytes.

A body may be JSON, a form or a query, as the clients that we serve send it. Whatever is wrong with it is told with
value, rule and remedy, in the shape that the API's clients read. What an entry takes is the model that its function is
annotated with; its summary is the function's docstring.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, get_type_hints
from urllib.parse import parse_qs, unquote

from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from yiwen.serve.call import Call
from yiwen.serve.errors import ApiError, Gone, refusal_of
from yiwen.serve.service import Service

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
_MAX_FIELDS: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How the clients of one API write requests and read refusals."""

    name: str
    refused: Callable[[ApiError], dict[str, Any]]
    """Makes the body of a refusal."""
    statuses: Mapping[int, int] = field(default_factory=dict)
    """What they know a refusal by, where that is another number than ours."""
    takes: tuple[str, ...] = (JSON,)
    """Media types of bodies without a file."""
    key_field: str | None = None
    """The field in which a key may stand too."""
    has_query: bool = False
    """Whether the fields of a POST may stand in its query."""


Texts = str | Annotated[list[str], Field(fail_fast=True)]
"""One or several. Of those that are none the first is told: to tell half a million stops everything for seconds."""


class Upload(BaseModel):
    """A request with a file, which comes as a form of several parts."""

    file: bytes
    filename: str = Field("", max_length=255)


V1: Final = Dialect(name="v1", refused=lambda error: {"error": str(error), "code": error.code})


@dataclass(frozen=True)
class Endpoint:
    """A method and a path, and what answers there."""

    method: str
    path: str
    """With the names of its parameters, such as `/v1/documents/{id}`."""
    answer: Callable[[Any, Call], Awaitable[Any]]
    """Gets the request as an object of its model, or None; returns what becomes JSON, or a response."""
    dialect: Dialect = V1
    is_open: bool = False
    """True where nobody needs a key: what a client asks before it has one."""
    status: int = 200

    @cached_property
    def model(self) -> type[BaseModel] | None:
        """What a request has to be."""
        hint = get_type_hints(self.answer)["asked"]
        return hint if issubclass(hint, BaseModel) else None

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """Media types of bodies."""
        if self.model is not None and issubclass(self.model, Upload):
            return (MULTIPART,)
        return (FORM,) if self.method == "GET" else self.dialect.takes


async def respond(endpoint: Endpoint, service: Service, request: Request) -> Response:
    """Answer one request; nothing that a caller sends ends in another exception than Gone."""
    request.scope["endpoint_path"] = endpoint.path
    try:
        return await _answer(endpoint, service, request)
    except (ClientDisconnect, Gone):
        raise Gone from None
    except asyncio.CancelledError:
        if not service.is_draining:
            raise
        refusal = ApiError(503, "draining", "the service ends now; ask again in a moment", retry_after_s=5)
    except Exception as error:
        refusal = refusal_of(error, request.scope.get("request_id"))
    return error_response(refusal, endpoint.dialect)


def json_response(content: Any, status: int = 200) -> Response:
    """JSON; numbers that JSON does not have become null."""
    return Response(to_json(content, inf_nan_mode="null"), status, media_type=JSON)


def error_response(error: ApiError, dialect: Dialect = V1) -> Response:
    """An error as the clients of an API read it."""
    response = json_response(dialect.refused(error), dialect.statuses.get(error.status, error.status))
    if error.retry_after_s is not None:
        response.headers["retry-after"] = str(error.retry_after_s)
    return response


def secret_of(request: Request, *, is_needed: bool) -> str | None:
    """The key in the head of a request; none where nobody needs one and what stands there is meant for a proxy.

    Raises:
        ApiError: 401 where it stands there twice or in a way that is not known.
    """
    given = request.headers.getlist("authorization")
    scheme, _, secret = (given or [""])[0].partition(" ")
    if len(given) == 1 and scheme.lower() in ("bearer", "deepl-auth-key"):
        return secret.strip()
    if given and is_needed:
        raise ApiError(401, "key", "the key cannot be read; send one header Authorization: Bearer KEY")
    return None


async def _answer(endpoint: Endpoint, service: Service, request: Request) -> Response:
    """Admit the caller, read what is asked, and have it answered."""
    fields = None
    key_field = endpoint.dialect.key_field
    secret: Any = secret_of(request, is_needed=service.config.needs_key and key_field is None)
    if secret is None and key_field is not None:
        fields = await _fields(endpoint, service, request)
        secret = fields.pop(key_field, None)
    address = request.client.host if request.client else "unknown"
    key = None if endpoint.is_open else service.admit(secret, address, is_work=endpoint.method == "POST")
    if fields is None:  # the body of a stranger is not read
        fields = await _fields(endpoint, service, request)
    asked = None if endpoint.model is None else endpoint.model.model_validate(fields)
    given = await endpoint.answer(asked, Call(service, request, key))
    return given if isinstance(given, Response) else json_response(given, endpoint.status)


async def _fields(endpoint: Endpoint, service: Service, request: Request) -> dict[str, Any]:
    """The fields of a request, from its query and its body."""
    has_query = endpoint.method == "GET" or endpoint.dialect.has_query
    fields = _parsed_form(request.scope["query_string"]) if has_query else {}
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "encoding", "a packed body is not unpacked here; send it as it is")
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == MULTIPART and MULTIPART in endpoint.takes:
        return fields | await _multipart(request, service.config.max_document_bytes)
    body = await _body(request, service.config.max_body_bytes)
    if not body:
        return fields
    if media_type not in endpoint.takes:
        known = " or ".join(endpoint.takes)
        raise ApiError(415, "media_type", f"content-type {media_type[:60]!r} is not taken here; send {known}")
    return fields | (_parsed_json(body) if media_type == JSON else _parsed_form(body))


def _declared_length(request: Request) -> int:
    """Bytes of a body, as its head says: in digits, but for blanks behind them, and with any number of zeros before."""
    return int(request.headers.get("content-length", "").strip().lstrip("0") or 0)


async def _body(request: Request, limit: int) -> bytes:
    """The body, no byte past the limit."""
    too_long = ApiError(413, "too_long", f"the body is longer than {limit} bytes; send less at a time")
    if _declared_length(request) > limit:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_long
    return bytes(body)


def _parsed_json(body: bytes) -> dict[str, Any]:
    try:
        fields = _JSON.decode(body.decode("utf-8-sig"))
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
    raise ValueError(f"{name} is not a JSON number")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) < 400 else float(digits)  # infinite: Python refuses to read 4,300 of them


_JSON: Final = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_no_number, parse_int=_integer)


def _parsed_form(body: bytes) -> dict[str, Any]:
    """Fields of a form; one that is given several times is a list."""
    try:
        return _listed(parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError as error:
        what = f"at most {_MAX_FIELDS} fields in percent-encoded UTF-8"
        raise ApiError(400, "form", f"the form cannot be read: {error}; send {what}") from None


def _listed(found: Mapping[str, list[str]]) -> dict[str, Any]:
    return {name: values if len(values) > 1 else values[0] for name, values in found.items() if values}


async def _multipart(request: Request, limit: int) -> dict[str, Any]:
    """Fields of a form with a file, whose content and name become `file` and `filename`."""
    if "content-length" not in request.headers:
        raise ApiError(411, "length", "nothing says how long the document is; send it with Content-Length")
    if _declared_length(request) > limit + 10_000:
        raise ApiError(413, "too_long", f"a document has at most {limit} bytes; send a shorter one")
    charset = re.search(r""";\s*charset="?([^\s;"]*)""", request.headers["content-type"], re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise ApiError(400, "form", f"the form is in {charset[1][:40]!r}; send it in UTF-8")
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=20, max_part_size=100_000)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise ApiError(400, "form", f"the form cannot be read: {error.message} Send one file and its fields") from None
    fields = _listed({name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form})
    if isinstance(file := form.get("file"), UploadFile):  # some clients send the name beside the file
        star = re.search(r"filename\*=utf-8''([^;\s]+)", file.headers["content-disposition"], re.IGNORECASE)  # .NET
        fields = {"filename": unquote(star[1]) if star else file.filename or "", "file": await file.read()} | fields
    await form.close()
    return fields
