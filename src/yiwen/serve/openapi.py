"""The description of the API for programs (OpenAPI 3.1), made from the endpoints and from `examples.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from yiwen import __version__
from yiwen.serve.endpoint import JSON, Endpoint

_TYPES: Final = {bool: "boolean", int: ["number", "null"], float: ["number", "null"], str: "string"}


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    texts = json.loads((resources.files("yiwen.serve") / "examples.json").read_text(encoding="utf-8"))
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, texts, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "yiwen", "version": __version__, "description": "Translation by models of one's own."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, texts: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """One method of one path; an example holds `asked`, `given` by media type (`or` an answer of another shape), and
    `path` for its parameters."""
    example = texts[f"{endpoint.method} {endpoint.path}"]
    done: dict[str, Any] = {"description": "Done."}
    if given := example.get("given"):
        done["content"] = {media_type: _shown(value) for media_type, value in given.items()}
    for media_type, other in example.get("or", {}).items():
        content = done["content"][media_type]
        content["schema"] = {"anyOf": [content["schema"], _schema_of(other)]}
    refusal = {"content": {JSON: _shown(texts["errors"][endpoint.dialect.name])}}
    operation: dict[str, Any] = {
        "summary": (endpoint.answer.__doc__ or "").partition("\n")[0].removesuffix("."),
        "operationId": endpoint.answer.__name__ + "_" + endpoint.dialect.name,
        "tags": [endpoint.dialect.name],
        "security": [] if endpoint.is_open else [{"key": []}, {}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": value}
            for name, value in example.get("path", {}).items()
        ],
        "responses": {
            str(endpoint.status): done,
            **{status: {"description": meaning, **refusal} for status, meaning in texts["refusals"].items()},
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
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0]) if value else {}}
    if isinstance(value, dict):
        return {"type": "object", "properties": {name: _schema_of(part) for name, part in value.items()}}
    return {} if value is None else {"type": _TYPES[type(value)]}
