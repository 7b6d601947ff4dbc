"""The description of the API is complete, and the service keeps to it whatever a program makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance
from services import UNLIMITED, running, service_of
from wire import ask, request

from campaign import noted, size
from yiwen.serve.app import ENDPOINTS
from yiwen.serve.errors import ApiError
from yiwen.serve.openapi import describe

SHAPE: Any = [content_type_conformance, response_schema_conformance]
"""What of an answer has to be as it is described."""


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(json.dumps(describe(ENDPOINTS)))


@pytest.fixture(scope="module")
def keyed(exported_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    service = service_of(tmp_path_factory.mktemp("keyed"), exported_bundle, require_key=True, max_documents=10_000)
    with running(service) as address:
        yield address, service.store.create_key("fuzz", **UNLIMITED)[1]


def test_every_endpoint_is_described_with_an_example_of_both_sides(document: Any) -> None:
    for endpoint in ENDPOINTS:
        operation = document["paths"][endpoint.path][endpoint.method.lower()]
        assert len(operation["summary"]) > 5
        done = operation["responses"][str(endpoint.status)]
        assert endpoint.status == 204 or all("example" in content for content in done["content"].values())
        if endpoint.method == "POST":
            assert operation["requestBody"]["required"]
            assert (*operation["requestBody"]["content"],) == endpoint.takes
            for content in operation["requestBody"]["content"].values():
                assert content["example"]
        assert all(p["required"] for p in operation["parameters"] if p["in"] == "path")
        assert {f"{{{p['name']}}}" for p in operation["parameters"] if p["in"] == "path"} == set(
            re.findall(r"\{\w+\}", endpoint.path)
        )
    assert len({op["operationId"] for path in document["paths"].values() for op in path.values()}) == len(ENDPOINTS)
    references = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert references <= document["components"]["schemas"].keys()


def test_what_is_open_to_everybody_is_described_so_and_nothing_else(document: Any) -> None:
    operations = [(path, operation) for path, methods in document["paths"].items() for operation in methods.values()]
    without_key = {path for path, operation in operations if operation["security"] == []}
    rest = [operation["security"] for path, operation in operations if path not in without_key]
    assert all(each == [{"key": []}, {}] for each in rest), "a key, or none where a service asks for none"
    assert without_key == {"/v1/languages", "/languages", "/frontend/settings", "/download_file/{id}"}
    assert document["components"]["securitySchemes"].keys() == {"key"}


def test_every_list_says_what_it_holds(document: Any) -> None:
    """A generator of clients leaves the whole answer out where it does not."""

    def lists(part: Any) -> Iterator[Any]:
        if isinstance(part, dict):
            yield from [part] if part.get("type") == "array" else []
            yield from lists([*part.values()])
        elif isinstance(part, list):
            for each in part:
                yield from lists(each)

    found = [*lists(document["paths"]), *lists(document["components"])]
    assert len(found) > 20
    assert all("items" in each or "prefixItems" in each for each in found)
    assert [each.get("items") for each in found].count({}) == 2, "flags, of which the examples have none"


def test_every_refusal_that_the_manual_lists_is_described(document: Any) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "en" / "service.md").read_text(encoding="utf-8")
    paragraph = next(each for each in manual.split("\n\n") if each.startswith("A refusal is"))
    listed = set(re.findall(r"\b[45]\d\d\b", paragraph)) - {"405"}  # of a method that is not described
    for path in document["paths"].values():
        for operation in path.values():
            assert listed <= operation["responses"].keys()


def test_a_refusal_is_described_as_the_clients_of_an_api_read_it(document: Any) -> None:
    for endpoint in ENDPOINTS:
        refusal = document["paths"][endpoint.path][endpoint.method.lower()]["responses"]["400"]
        shown = refusal["content"]["application/json"]["example"]
        refused = endpoint.dialect.refused(ApiError(400, "invalid", "a"))
        assert {name: type(part) for name, part in shown.items()} == {n: type(part) for n, part in refused.items()}


def test_what_a_get_takes_stands_in_its_query(document: Any) -> None:
    (parameter,) = document["paths"]["/v2/languages"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["schema"]["enum"]) == ("type", "query", ["source", "target"])


def test_every_example_is_a_request_that_is_understood(address: str, document: Any) -> None:
    for endpoint in ENDPOINTS:
        if endpoint.model is None or endpoint.method == "GET":
            continue
        body = document["paths"][endpoint.path][endpoint.method.lower()]["requestBody"]["content"]
        example = next(iter(body.values()))["example"]
        if [*body] == ["multipart/form-data"]:
            files = {"file": (example["filename"], example["file"].encode())}
            fields = {name: value for name, value in example.items() if name not in ("file", "filename")}
            answer = httpx.post(f"{address}{endpoint.path}", data=fields, files=files, timeout=60)
        else:
            answer = httpx.post(f"{address}{endpoint.path}", json=example, timeout=60)
        assert answer.status_code in (200, 201, 404), (endpoint.path, answer.text)
        assert (answer.status_code == 404) == ("{id}" in endpoint.path)


def test_the_service_hands_the_description_out(address: str, document: Any) -> None:
    assert ask(address, request("/openapi.json", method="GET")).json == document
    assert ask(address, request("/spec", method="GET")).json == document, "which LibreTranslate calls it"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/translate", {"text": ["Deti.", "Gedi."], "source": "en", "target": "de", "alternatives": 2}),
        ("/v1/translate", {"text": "Deti.", "source": "en", "target": "de", "alignment": True}),
        ("/v1/translate", {"text": "Deti. Gedi.", "source": "en", "target": "de", "stream": True}),
        ("/v2/translate", {"text": "Deti.", "target_lang": "DE", "show_billed_characters": True}),
        ("/translate", {"q": "Deti.", "source": "en", "target": "de", "alternatives": 2}),
        ("/translate", {"q": ["Deti.", "Gedi."], "source": "auto", "target": "de"}),
        ("/v1/chat/completions", {"model": "en-de", "messages": [{"role": "user", "content": "Deti."}]}),
    ],
)
def test_every_shape_of_a_translation_is_described(path: str, body: Any, address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    case = schema[path]["POST"].Case(body=body, media_type="application/json")
    response = case.call(base_url=address, timeout=60)
    assert response.status_code == 200
    case.validate_response(response, checks=SHAPE)


def test_no_generated_request_ends_in_a_server_error_or_outside_of_the_description(keyed: tuple[str, str]) -> None:
    address, key = keyed
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    headers = {"Authorization": f"Bearer {key}"}
    n_cases, statuses = 0, set()
    examples = max(3, size(500, long=5000) // len(ENDPOINTS) // 2)

    for result in schema.get_all_operations():
        operation = result.ok()
        raw = operation.definition.raw
        # Nothing can be wrong with a request that has no fields, and any text may stand in a path.
        has_fields = "requestBody" in raw or any(each["in"] == "query" for each in raw["parameters"])
        for mode in [schemathesis.GenerationMode.POSITIVE, *[schemathesis.GenerationMode.NEGATIVE] * has_fields]:

            @settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                nonlocal n_cases
                n_cases += 1
                response = case.call(base_url=address, headers=headers, timeout=60)
                statuses.add(response.status_code)
                described = str(response.status_code) in raw["responses"]  # noqa: B023
                assert response.status_code < 500 or response.status_code == 503, case.as_curl_command()
                assert described or response.status_code == 405, response.status_code
                if described:
                    case.validate_response(response, checks=SHAPE)

            check()
    noted("S7", f"{n_cases} requests that schemathesis made, with a key", statuses=sorted(statuses))
    assert n_cases > 100
