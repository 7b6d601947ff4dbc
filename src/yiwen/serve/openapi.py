"""The description of the API for programs (OpenAPI 3.1), made from the endpoints and from `examples.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from yiwen import __version__
from yiwen.serve.endpoint import JSON, Endpoint

_REFUSALS: Final = {
    400: "Something about the request is wrong.",
    401: "No key, or not a valid one.",
    403: "Not with this key, or not from this web site.",
    404: "There is no such thing.",
    413: "Too long.",
    415: "Not in this encoding.",
    422: "A field is not what it has to be.",
    429: "Too much at a time; Retry-After says when to come again.",
    456: "The characters of this month are used up.",
    500: "Something failed.",
    503: "Not now; Retry-After says when to come again.",
    504: "It took too long.",
}
_ERRORS: Final = {
    "v1": {"error": "source: Field required", "code": "invalid"},
    "libre": {"error": "q: Field required"},
    "deepl": {"message": "text: Field required"},
    "openai": {"error": {"message": "model: Field required", "type": "invalid", "param": None, "code": "invalid"}},
}


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    examples = json.loads((resources.files("yiwen.serve") / "examples.json").read_text(encoding="utf-8"))
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, examples[endpoint.where], schemas)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "yiwen", "version": __version__, "description": "Translation by models of one's own."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, example: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """One method of one path; an example holds `asked`, `given` by media type, and `path` for its parameters."""
    done: dict[str, Any] = {"description": "Done."}
    if given := example.get("given"):
        done["content"] = {media_type: _shown(value) for media_type, value in given.items()}
    refusal = {"content": {JSON: _shown(_ERRORS[endpoint.style])}}
    operation: dict[str, Any] = {
        "summary": (endpoint.answer.__doc__ or "").partition("\n")[0].removesuffix("."),
        "operationId": endpoint.answer.__name__ + "_" + endpoint.style,
        "tags": [endpoint.style],
        "security": [] if endpoint.is_open else [{"key": []}, {}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": value}
            for name, value in example.get("path", {}).items()
        ],
        "responses": {
            str(endpoint.status): done,
            **{str(status): {"description": meaning, **refusal} for status, meaning in _REFUSALS.items()},
        },
    }
    if endpoint.model is None:
        return operation
    schema = endpoint.model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {})
    if endpoint.method == "GET":
        fields = schema["properties"].items()
        operation["parameters"] += [{"name": name, "in": "query", "schema": field} for name, field in fields]
        return operation
    schemas[schema["title"]] = schema
    body: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{schema['title']}"}, "example": example["asked"]}
    operation["requestBody"] = {"required": True, "content": dict.fromkeys(endpoint.takes, body)}
    return operation


def _shown(example: Any) -> dict[str, Any]:
    """An answer: the schema that its example has, and the example."""
    return {"schema": _schema_of(example), "example": example}


def _schema_of(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": ["number", "null"]}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", **({"items": _schema_of(value[0])} if value else {})}
        case dict():
            return {"type": "object", "properties": {name: _schema_of(part) for name, part in value.items()}}
    return {}
