"""From where a browser may ask, under which names the service answers, what every answer carries."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from wire import ask, connect, read_answer, request, translation

from campaign import noted
from yiwen.errors import ConfigError
from yiwen.serve.app import ENDPOINTS
from yiwen.serve.config import ServeConfig

T = "/v1/translate"
BODY = translation("Deti gedi bapu.")
SITE = "https://good.example"


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "https://good.example.evil.example", "x"],
)
def test_pages_of_other_sites_may_not_ask(origin: str, address: str) -> None:
    for raw in (
        request(T, BODY, origin=origin),
        request(
            "/translate", b"q=a&source=en&target=de", origin=origin, content_type="application/x-www-form-urlencoded"
        ),
        request(T, method="OPTIONS", origin=origin, access_control_request_method="POST"),
        request("/v1/languages", method="GET", origin=origin),
    ):
        answer = ask(address, raw)
        noted("X6", f"origin {origin}", status=answer.status)
        assert answer.status == 403
        assert answer.json["code"] == "origin"
        assert "access-control-allow-origin" not in answer.headers


def test_the_services_own_page_may_ask(address: str) -> None:
    host = address.removeprefix("http://")
    assert ask(address, request(T, BODY, host=host, origin=address)).status == 200
    assert ask(address, request(T, BODY, host=host, origin=f"http://evil-{host}")).status == 403, (
        "no other that ends so"
    )


def test_a_port_that_browsers_leave_out_may_stand_in_the_name(serve: Callable[..., str]) -> None:
    address = serve(allow_hosts=("x.example",))
    for host, origin, status in (
        ("x.example:443", "https://x.example", 200),
        ("x.example:80", "http://x.example", 200),
        ("x.example:80", "http://x.example:80", 200),
        ("x.example:8443", "https://x.example:8443", 200),
        ("x.example:8443", "https://x.example", 403),
        ("x.example", "https://x.example:8443", 403),
    ):
        assert ask(address, request(T, BODY, host=host, origin=origin)).status == status, (host, origin)


def test_a_named_site_may_ask_without_credentials(serve: Callable[..., str]) -> None:
    address = serve(allow_origins=(SITE,))
    preflight = ask(
        address,
        request(
            T,
            method="OPTIONS",
            origin=SITE,
            access_control_request_method="POST",
            access_control_request_headers="authorization, content-type",
        ),
    )
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == SITE
    answer = ask(address, request(T, BODY, origin=SITE))
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, SITE)
    assert answer.headers["access-control-expose-headers"] == "Retry-After"
    assert "access-control-allow-credentials" not in answer.headers
    assert ask(address, request(T, BODY, origin="https://other.example")).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::2]:80", "x" * 300]
)
def test_another_name_is_not_served(host: str, address: str) -> None:
    answer = ask(address, request(T, BODY, host=host))
    noted("X6", f"host {host[:30]}", status=answer.status)
    assert (answer.status, answer.json["code"]) == (400, "host")


def test_of_two_names_neither_is_served(address: str) -> None:
    for other in ("evil.example", "localhost"):  # RFC 9112, section 3.2
        for path in (T, "/ready"):
            answer = ask(address, request(path, BODY, host=f"localhost\r\nhost: {other}"))
            assert (answer.status, answer.json["code"]) == (400, "host")
            assert "send one" in str(answer.json)


def test_local_names_and_named_ones_are_served(address: str, serve: Callable[..., str]) -> None:
    for host in ("localhost", "LocalHost:8080", "127.0.0.1:1", "[::1]", "[::1]:8080"):
        assert ask(address, request(T, BODY, host=host)).status == 200
    other = serve(host="127.0.0.2").replace("127.0.0.1", "127.0.0.2")
    assert ask(other, request(T, BODY, host="127.0.0.2:8080")).status == 200
    named = serve(allow_hosts=("translate.example",))
    assert ask(named, request(T, BODY, host="Translate.example:443")).status == 200
    assert ask(named, request(T, BODY, host="localhost")).status == 400


def test_a_service_for_others_is_served_under_any_name_unless_names_are_given(serve: Callable[..., str]) -> None:
    port = serve(host="0.0.0.0").rpartition(":")[2]
    for host in ("mt.example.org", f"192.0.2.7:{port}"):
        answer = ask(f"http://127.0.0.1:{port}", request("/v1/languages", method="GET", host=host))
        assert answer.status == 200, host


def test_whoever_probes_by_another_name_is_told_how_it_is(serve: Callable[..., str]) -> None:
    address = serve(allow_hosts=("x.example",))
    for host in ("", "10.1.2.3:8080"):
        for path, status in (
            ("/ready", 200),
            ("/live", 200),
            ("/health", 200),
            ("/v1/languages", 400),
            ("/ready/x", 400),
        ):
            assert ask(address, request(path, method="GET", host=host)).status == status, (host, path)


HIDDEN = request("/v1/models", method="GET")
SMUGGLED = {
    "a length and chunks": request(T, b"0\r\n\r\n" + HIDDEN, transfer_encoding="chunked"),
    "two lengths": request(T, BODY + HIDDEN, content_length=f"{len(BODY)}\r\ncontent-length: 5"),
    "a coding in disguise": request(T, b"0\r\n\r\n" + HIDDEN, content_length="", transfer_encoding="xchunked"),
    "two codings": request(
        T, b"0\r\n\r\n" + HIDDEN, content_length="", transfer_encoding="identity\r\ntransfer-encoding: chunked"
    ),
    "a blank before the colon": request(T, HIDDEN).replace(b"content-length:", b"content-length :"),
    "an upgrade": request(T, HIDDEN, connection="Upgrade", upgrade="h2c"),
    "a folded header": request("/live", HIDDEN, method="GET", content_length="", x="a\r\n content-length: 99"),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_no_second_request_is_smuggled_into_a_body(name: str, address: str) -> None:
    with connect(address) as sock:
        sock.sendall(SMUGGLED[name])
        first = read_answer(sock)
        noted("X6", f"smuggling: {name}", status=first.status)
        assert first.status == 400
        with suppress(ConnectionResetError):
            assert sock.recv(1) == b"", "nothing is read that follows"


def test_an_upgrade_is_refused_where_its_body_would_be_lost(address: str) -> None:
    upgrade = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2_settings": "AAMAAABkAAQAAP__"}
    refused = ask(address, request(T, BODY, **upgrade))
    assert (refused.status, refused.headers["connection"]) == (400, "close")
    assert refused.json["error"] == "no body can come with an Upgrade; leave that header out (curl --http1.1)"
    asked = request("/v1/languages", method="GET", content_length="", **upgrade)
    assert ask(address, asked).status == 200, "where nothing is lost the offer is passed over"


def test_every_answer_carries_what_keeps_a_page_safe(address: str) -> None:
    ids = set()
    for raw in (
        request(T, BODY),
        request("/nothing", method="GET"),
        request(T, b"{"),
        request("/openapi.json", method="GET"),
        request(T, BODY, host="evil.example"),
        request("/", method="GET"),
        request("/page/main.js", method="GET"),
    ):
        headers = ask(address, raw).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["permissions-policy"] == "camera=(), geolocation=(), microphone=()"
        assert "server" not in headers
        assert len(headers["x-request-id"]) > 8
        ids.add(headers["x-request-id"])
    assert len(ids) == 7, "a line of the log is of one request"


def test_another_method_and_another_path_are_told_in_json(address: str) -> None:
    refused = ask(address, request(T, method="GET"))
    assert (refused.status, refused.headers["allow"], refused.json["code"]) == (405, "POST", "method")
    assert refused.json["error"] == f"{T} is not for GET; use POST; see /openapi.json"
    for path, allowed, field in (
        ("/v2/glossaries", "GET, HEAD, POST", "message"),
        ("/v2/glossaries/x", "DELETE, GET, HEAD", "message"),
        ("/page/main.js", "GET, HEAD", "error"),
    ):
        refused = ask(address, request(path, method="PUT"))
        assert (refused.status, refused.headers["allow"]) == (405, allowed)
        assert refused.json[field] == f"{path} is not for PUT; use {allowed}; see /openapi.json"
    found = ask(address, request("/nothing/here", method="GET"))
    assert (found.status, found.json["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["/v2/write/rephrase", "/v2/translate/", "/v2", "/v3/glossaries"], lambda text: {"message": text}),
        (["/translate/file", "/frontend/", "/download_file"], lambda text: {"error": text}),
        (
            ["/v1/chat/", "/v1/models/a/b"],
            lambda text: {"error": {"message": text, "type": "not_found", "param": None, "code": "not_found"}},
        ),
        (["/v1/embeddings", "/v1", "/v3/translate", "/docs", "//"], lambda text: {"error": text, "code": "not_found"}),
    ],
)
def test_a_path_that_is_nowhere_is_told_as_the_clients_of_the_nearest_api_expect(
    address: str, paths: list[str], told: Callable[[str], Any]
) -> None:
    for path in paths:
        found = ask(address, request(path))
        assert (found.status, found.json) == (404, told("nothing is here; see /openapi.json")), path


def test_a_method_that_a_path_is_not_for_is_told_so_too(address: str) -> None:
    message = "{} is not for PUT; use {}; see /openapi.json"
    libre = ask(address, request("/translate", method="PUT"))
    assert (libre.status, libre.json) == (405, {"error": message.format("/translate", "POST")})
    openai = ask(address, request("/v1/chat/completions", method="PUT"))
    assert openai.status == 405
    assert openai.json["error"]["message"] == message.format("/v1/chat/completions", "POST")


def test_a_slash_too_many_leads_nowhere(address: str) -> None:
    for method, path in (("POST", f"{T}/"), ("GET", "/v2/languages/"), ("GET", "/page"), ("GET", "/live/")):
        found = ask(address, request(path, method=method))
        assert found.status == 404
        assert "location" not in found.headers, "to plain http, and without the prefix that a proxy took off"


def test_clients_may_send_headers_of_their_own(serve: Callable[..., str]) -> None:
    asked = {"access_control_request_method": "POST", "access_control_request_headers": "x-stainless-lang"}
    assert ask(serve(allow_origins=(SITE,)), request(T, method="OPTIONS", origin=SITE, **asked)).status == 200


def test_a_named_site_may_do_all_that_the_service_offers_and_no_more(serve: Callable[..., str]) -> None:
    address = serve(allow_origins=(SITE,))
    offered = {endpoint.method for endpoint in ENDPOINTS}
    for method in sorted(offered | {"PUT", "PATCH"}):
        asked = request(T, method="OPTIONS", origin=SITE, access_control_request_method=method)
        assert ask(address, asked).status == (200 if method in offered else 400), method


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"allow_origins": ("*",)}, "allow_origins has '*'; give sites as https://example.org, in small letters"),
        ({"allow_origins": ("https://a.org/",)}, "allow_origins has 'https://a.org/'"),
        ({"allow_hosts": ("MT.example.org",)}, "allow_hosts has 'MT.example.org'; give names as mt.example.org"),
        ({"allow_hosts": ("mt.example.org:80",)}, "allow_hosts has 'mt.example.org:80'"),
        (
            {"trusted_proxies": ("10.0.0.5/8",)},
            "trusted_proxies has '10.0.0.5/8' (10.0.0.5/8 has host bits set); write 10.0.0.1 or 10.0.0.0/8",
        ),
        ({"trusted_proxies": ("300.1.1.1",)}, "trusted_proxies has '300.1.1.1'"),
        ({"trusted_proxies": ("10.0.0",)}, "trusted_proxies has '10.0.0'"),
        ({"trusted_proxies": ("::1", "fe80::/200")}, "trusted_proxies has 'fe80::/200'"),
        ({"trusted_proxies": ("*",)}, "trusted_proxies has '*'"),
    ],
)
def test_sites_and_names_that_can_never_match_are_refused(settings: dict[str, tuple[str]], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        ServeConfig(**settings)  # type: ignore[arg-type]


def test_proxies_are_addresses_and_networks() -> None:
    ServeConfig(trusted_proxies=("10.0.0.1", "10.0.0.0/8", "::1", "fe80::/10"))


def test_a_browser_extension_may_be_named(serve: Callable[..., str]) -> None:
    for extension in ("moz-extension://a1-b2", "chrome-extension://abc"):
        assert ask(serve(allow_origins=(extension,)), request(T, BODY, origin=extension)).status == 200
