"""Who may ask: keys in every place where clients put them, rates, quotas; what is kept and what is never shown."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
from services import UNLIMITED, running, service_of
from sqlalchemy import Engine, create_engine
from sqlalchemy.event import listen, remove
from sqlalchemy.exc import DataError, OperationalError
from starlette.requests import Request
from wire import ask, request, translation

from campaign import noted
from yiwen.cli.main import main
from yiwen.errors import ConfigError, MissingDependencyError
from yiwen.serve import api_deepl
from yiwen.serve.call import Call
from yiwen.serve.config import ServeConfig
from yiwen.serve.errors import ApiError, Gone, database_says
from yiwen.serve.service import Service
from yiwen.serve.store import ANYBODY, Store, open_store

T = "/v1/translate"
BODY = translation("Deti gedi bapu.")
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    yield store
    store.close()


@pytest.fixture
def keyed(exported_bundle: Path, tmp_path: Path) -> Iterator[tuple[Service, str]]:
    """A service that asks for keys."""
    service = service_of(tmp_path, exported_bundle, require_key=True)
    with running(service) as address:
        yield service, address


def make(service: Service, *, characters: int = 0, requests: int = 0) -> str:
    return service.store.create_key("somebody", characters_per_month=characters, requests_per_minute=requests)[1]


def test_without_a_valid_key_nobody_gets_in(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    key = make(service)
    revoked_id, revoked = service.store.create_key("gone", **UNLIMITED)
    service.store.revoke_key(revoked_id.id)
    wrong = [
        "",
        "x",
        key[:-1],
        key + "x",
        key.upper(),
        key.lower(),
        key[3:],
        f" {key[:20]}",
        revoked,
        "*",
        "' OR 1=1 --",
    ]
    attempts = {
        **{f"a wrong key {number}": request(T, BODY, authorization=f"Bearer {w}") for number, w in enumerate(wrong)},
        "no key": request(T, BODY),
        "another scheme": request(T, BODY, authorization=f"Basic {key}"),
        "no scheme": request(T, BODY, authorization=key),
        "the key in the query": request(f"{T}?api_key={key}", BODY),
        "the key in the body": request(T, translation("a", api_key=key)),
        "the key in a cookie": request(T, BODY, cookie=f"key={key}"),
        "two keys": request(T, BODY, authorization=f"Bearer {key}\r\nauthorization: Bearer x"),
        "the same key twice": request(T, BODY, authorization=f"Bearer {key}\r\nauthorization: Bearer {key}"),
        "DeepL without a key": request("/v2/translate", b'{"text": ["a"], "target_lang": "DE"}'),
        "DeepL, a wrong one": request("/v2/usage", method="GET", authorization="DeepL-Auth-Key x"),
        "LibreTranslate without": request("/translate", b'{"q": "a", "source": "en", "target": "de"}'),
        "LibreTranslate, a number": request("/translate", b'{"q": "a", "source": "en", "target": "de", "api_key": 1}'),
        "LibreTranslate, a list": request("/translate?api_key=a&api_key=b&q=a&source=en&target=de"),
        "DeepL's form, a wrong one": request("/v2/translate", b"text=a&target_lang=DE&auth_key=x", content_type=FORM),
        "OpenAI without": request("/v1/models", method="GET"),
        "a chat, a wrong one": request("/v1/chat/completions", b"{}", authorization="Bearer x"),
        "a document": request("/v1/documents/x", method="GET"),
        "the metrics": request("/metrics", method="GET"),
        "the metrics, a wrong one": request("/metrics", method="GET", authorization="Bearer x"),
    }
    for name, raw in attempts.items():
        answer = ask(address, raw)
        assert answer.status in (401, 403), (name, answer)
        assert key.encode() not in answer.body
        noted("X5", name, status=answer.status)
    assert ask(address, request(T, b"{" * 100)).status == 401, "before the body is looked at"


def test_a_key_is_taken_where_clients_put_it(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    key = make(service)
    libre = f"q=Deti.&source=en&target=de&api_key={key}"
    deepl = b'{"text": ["a"], "source_lang": "EN", "target_lang": "DE"}'
    for raw in (
        request(T, BODY, authorization=f"Bearer {key}"),
        request(T, BODY, authorization=f"bearer  {key}"),
        request("/v2/translate", deepl, authorization=f"DeepL-Auth-Key {key}"),
        request("/v2/translate", f"text=a&source_lang=EN&target_lang=DE&auth_key={key}".encode(), content_type=FORM),
        request(f"/translate?{libre}"),
        request("/translate", libre.encode(), content_type=FORM),
        request("/translate", f'{{"q": "a", "source": "en", "target": "de", "api_key": "{key}"}}'.encode()),
        request("/v1/models", method="GET", authorization=f"Bearer {key}"),
        request("/metrics", method="GET", authorization=f"Bearer {key}"),
    ):
        assert ask(address, raw).status == 200
    for path in (
        "/live",
        "/ready",
        "/health",
        "/openapi.json",
        "/spec",
        "/languages",
        "/v1/languages",
        "/frontend/settings",
    ):
        assert ask(address, request(path, method="GET")).status in (200, 500), f"{path} is open"


def test_a_quota_ends_with_456_or_what_the_client_knows(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    key = make(service, characters=20)
    bearer = f"Bearer {key}"
    assert ask(address, request(T, translation("a" * 15), authorization=bearer)).status == 200
    over = ask(address, request(T, translation("a" * 6), authorization=bearer))
    assert (over.status, over.json["code"]) == (456, "quota")
    assert over.json["error"].startswith("15 of 20 characters of this month are used, 6 more are too many")
    deepl = b'{"text": ["aaaaaa"], "source_lang": "EN", "target_lang": "DE"}'
    assert ask(address, request("/v2/translate", deepl, authorization=bearer)).status == 456
    assert ask(address, request(f"/translate?q=aaaaaa&source=en&target=de&api_key={key}")).status == 403
    chat = b'{"model": "en-de", "messages": [{"role": "user", "content": "aaaaaa"}]}'
    assert ask(address, request("/v1/chat/completions", chat, authorization=bearer)).status == 429
    usage = ask(address, request("/v2/usage", method="GET", authorization=bearer)).json
    assert usage == {"character_count": 15, "character_limit": 20}
    assert ask(address, request(T, translation("a" * 5), authorization=bearer)).status == 200


def test_what_fails_costs_nothing(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    key = make(service, characters=100)
    headers = {"authorization": f"Bearer {key}"}
    ask(address, request(T, translation("a", prefix=["b", "c"]), **headers))
    ask(address, request(T, translation("aaa", target="xx"), **headers))
    ask(address, request(T, translation("a" * 6000), **headers))
    usage = ask(address, request("/v2/usage", method="GET", **headers)).json
    assert usage["character_count"] == 0


def test_characters_are_counted_once_for_whoever_watches_and_what_fails_is_not(
    exported_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "yiwen.serve")
    with running(service_of(tmp_path, exported_bundle)) as address, httpx.Client(timeout=60, base_url=address) as http:

        def counted() -> float:
            (line,) = (
                each for each in http.get("/metrics").text.split("\n") if re.match("yiwen_characters_total ", each)
            )
            return float(line.rpartition(" ")[2])

        assert counted() == 0
        assert ask(address, request(T, translation("a" * 15))).status == 200
        assert counted() == 15
        assert ask(address, request(T, translation("a" * 7, prefix=["b", "c"]))).status == 400
        assert ask(address, request(T, translation("a" * 7, target="xx"))).status == 400
        assert counted() == 15
        logged = [vars(record) for record in caplog.records if record.message == "request"]
        assert [line.get("characters") for line in logged if line["path"] == T] == [15, 0, None]
        form = {"source": "en", "target": "de"}
        assert http.post("/translate_file", files={"file": ("a.txt", b"Kabe robu.")}, data=form).status_code == 200
        assert counted() == 25


def test_a_clock_that_is_set_back_keeps_nobody_out(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a minute's requests, then the clock on the wall goes back an hour; later a minute is really over."""
    service = service_of(tmp_path, exported_bundle, requests_per_minute=4)
    wall, steady = 1.8e9, 1000.0
    monkeypatch.setattr("time.time", lambda: wall)
    monkeypatch.setattr("time.monotonic", lambda: steady)

    def ask_twice(address: str = "a") -> None:
        for _ in range(2):
            service.admit(None, address, is_work=True)

    ask_twice()
    wall, steady = wall - 3600, steady + 30.25  # 29.75 are left, and who came after 29 would be too early
    ask_twice()
    with pytest.raises(ApiError, match="more than 4 requests a minute; wait 30 s"):
        ask_twice()
    steady += 30
    ask_twice()
    for number in range(1, 1000):
        ask_twice(f"b{number}")
        if number % 40 == 0:
            ask_twice()  # who came first and stays keeps nobody else's time
        steady += 1
    assert len(service._asked) <= 61, "who has not asked for a minute is forgotten"
    service.close()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8:0:7::1", "2001:db8:0:7:ffff::2", True),  # whoever has one has 2^64 of them
        ("2001:db8:0:7::1", "2001:db8:0:8::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),  # IPv4, as a socket for both writes it
        ("192.0.2.1", "192.0.2.2", False),
        ("unknown", "unknown", True),
    ],
)
def test_a_network_of_ipv6_is_one_caller(
    one: str, other: str, is_same: bool, exported_bundle: Path, tmp_path: Path
) -> None:
    service = service_of(tmp_path, exported_bundle, requests_per_minute=1)
    service.admit(None, one, is_work=True)
    with pytest.raises(ApiError, match="more than 1") if is_same else nullcontext():
        service.admit(None, other, is_work=True)
    service.close()


def test_rates_hold_for_a_key_and_for_an_address(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle, requests_per_minute=3)
    with running(service) as address:
        slow, fast = make(service, requests=2), make(service)
        started = time.monotonic()
        statuses = [ask(address, request(T, BODY)).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        refused = ask(address, request(T, BODY))
        seconds = refused.headers["retry-after"]  # the first of the three leaves the minute then
        assert 60 - (time.monotonic() - started) - 1 <= int(seconds) <= 60
        assert refused.json == {"error": f"more than 3 requests a minute; wait {seconds} s", "code": "rate"}
        by_key = [ask(address, request(T, BODY, authorization=f"Bearer {slow}")).status for _ in range(3)]
        assert by_key == [200, 200, 429]
        usage = [ask(address, request("/v2/usage", method="GET", authorization=f"Bearer {slow}")) for _ in range(3)]
        assert [answer.status for answer in usage] == [200] * 3, "only work is counted"
        told = usage[0].json
        assert (told["character_count"], told["character_limit"] >= 10**12) == (2 * len("Deti gedi bapu."), True)
        assert {ask(address, request(T, BODY, authorization=f"Bearer {fast}")).status for _ in range(9)} == {200}
        guesses = [ask(address, request(T, BODY, authorization=f"Bearer {n}")).status for n in range(3)]
        assert guesses == [429] * 3, "guessing keys counts for the address"
        assert ask(address, request("/live", method="GET")).status == 200


def test_two_keys_of_one_name_have_a_rate_each_wherever_they_are_used(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    one, other = (make(service, requests=1) for _ in range(2))
    for secret in (one, other):
        service.admit(secret, "a", is_work=True)
    with pytest.raises(ApiError, match="more than 1 requests a minute"):
        service.admit(one, "b", is_work=True)
    service.close()


def test_keys_cannot_be_guessed_by_what_costs_no_work_either(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle, require_key=True, requests_per_minute=2)
    with running(service) as address:
        valid = request("/v1/models", method="GET", authorization=f"Bearer {make(service)}")
        wrong = request("/v1/models", method="GET", authorization="Bearer x")
        assert [ask(address, raw).status for raw in (wrong, valid, wrong, wrong, valid)] == [401, 200, 401, 429, 200]


def test_a_service_that_ends_writes_what_was_used(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    service.store.charge(ANYBODY, 7)
    service.close()
    store = Store(f"sqlite:///{tmp_path}/serve.sqlite")
    assert store.used(ANYBODY) == 7
    store.close()


def test_whoever_watches_sees_what_the_database_has_not_counted(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(tmp_path, exported_bundle)
    monkeypatch.setattr(service.store, "_try_sync", lambda: False)
    with running(service) as address:
        assert ask(address, request(T, translation("a" * 13))).status == 200
        assert "\nyiwen_unwritten_characters 13.0\n" in httpx.get(f"{address}/metrics").text


def test_who_needs_no_key_is_told_of_no_limit_that_could_be_reached(address: str) -> None:
    """DeepL's clients want a number, and stop where it is reached."""
    assert ask(address, request("/v2/usage", method="GET")).json["character_limit"] == 10**12


def test_usage_survives_a_restart_and_is_that_of_all_processes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    first, second = Store(url), Store(url)
    key, secret = first.create_key("a", characters_per_month=100, requests_per_minute=0)
    assert first.charge(key.id, 30, limit=100)
    assert second.charge(key.id, 30, limit=100)
    assert second.charge(ANYBODY, 7)
    first.sync()
    second.sync()
    first.sync()
    assert (first.used(key.id), second.used(key.id)) == (60, 60)
    assert not first.charge(key.id, 41, limit=100)
    assert first.charge(key.id, -10)
    first.close()
    second.close()
    third = Store(url)
    assert (third.used(key.id), third.used(ANYBODY)) == (50, 7)
    assert third.find(secret) == key
    third.close()


@pytest.mark.parametrize(
    ("trusted", "statuses"),
    [
        ((), [200, 429, 429, 429]),
        (("10.9.9.9",), [200, 429, 429, 429]),
        (("127.0.0.0/8",), [200, 200, 429, 429]),
    ],
)
def test_only_a_proxy_that_is_trusted_says_who_asks(
    trusted: tuple[str, ...], statuses: list[int], serve: Callable[..., str]
) -> None:
    address = serve(requests_per_minute=1, trusted_proxies=trusted)
    callers = "10.1.1.1", "10.1.1.2", "10.1.1.1", "203.0.113.5, 10.1.1.2"  # who writes the header himself is no other
    assert [ask(address, request(T, BODY, x_forwarded_for=caller)).status for caller in callers] == statuses


def at(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """The store's clock stands."""
    clock = SimpleNamespace(now=lambda zone: datetime.fromisoformat(moment).astimezone(zone))
    monkeypatch.setattr("yiwen.serve.store.datetime", clock)


def test_a_month_begins_with_nothing_used_and_leaves_the_others_as_they_were(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "2026-01-31T23:59+00:00")
    assert store.charge("a", 7, limit=10)
    store.sync()
    assert not store.charge("a", 4, limit=10)
    at(monkeypatch, "2026-01-31T23:01-01:00")  # in UTC it is February
    assert store.charge("a", 10, limit=10)
    store.sync()
    for moment, used in (("2026-02-01T12:00+00:00", 10), ("2026-01-31T12:00+00:00", 7), ("2027-01-01T12:00+00:00", 0)):
        at(monkeypatch, moment)
        store.sync()
        assert store.used("a") == used


def test_what_failed_is_given_back_to_the_month_that_it_was_counted_in(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "2026-01-31T23:59+00:00")
    month = store.charge("a", 7, limit=7)
    assert not store.charge("a", 1, limit=7)
    at(monkeypatch, "2026-02-01T00:00+00:00")
    assert store.charge("a", 7, limit=7), "a month is new before its first second is over, too"
    store.sync()
    store.charge("a", -5, month=month)
    for moment, used in (("2026-02-01T12:00+00:00", 7), ("2026-01-31T12:00+00:00", 2)):
        at(monkeypatch, moment)
        store.sync()
        assert store.used("a") == used


def test_what_fails_after_the_end_of_a_month_costs_neither_month_a_thing(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(tmp_path, exported_bundle)

    def leave() -> None:
        at(monkeypatch, "2026-01-31T23:59+00:00")
        with Call(service, Request({"type": "http"}), None).charged(["a" * 20], "en", "de"):
            at(monkeypatch, "2026-02-01T00:00+00:00")
            raise Gone

    with pytest.raises(Gone):
        leave()
    for moment in ("2026-02-01T12:00+00:00", "2026-01-31T12:00+00:00"):
        at(monkeypatch, moment)
        assert service.store.used(ANYBODY) == 0
    service.close()


def test_a_running_store_writes_by_itself(tmp_path: Path) -> None:
    running_store, other = (Store(f"sqlite:///{tmp_path}/keys.sqlite") for _ in range(2))
    running_store.start()
    running_store.charge(ANYBODY, 5)
    key, secret = other.create_key("a", **UNLIMITED)
    for _ in range(600):
        other.sync()
        if other.used(ANYBODY) == 5 and running_store.find(secret):
            break
        time.sleep(0.1)
    assert other.used(ANYBODY) == 5
    assert running_store.find(secret) == key
    running_store.close()
    other.close()


def test_a_database_that_is_away_costs_nothing_that_was_counted(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    store.charge(ANYBODY, 5)
    with sqlite3.connect(tmp_path / "keys.sqlite") as other:
        other.execute("ALTER TABLE yiwen_usage RENAME TO away")
        with pytest.raises(Exception, match="no such table: yiwen_usage"):
            store.sync()
        assert store.used(ANYBODY) == 5
        other.execute("ALTER TABLE away RENAME TO yiwen_usage")
    other.close()
    store.close()
    again = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    assert again.used(ANYBODY) == 5
    again.close()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Somebody else writes to a database."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)  # the last tries have a thread
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


def test_a_database_that_is_locked_at_the_end_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    store = Store(f"{url}?timeout=0.01")
    store.charge(ANYBODY, 5)
    with ExitStack() as lock:
        lock.enter_context(locked(tmp_path / "keys.sqlite"))
        once = iter([lock.close])
        monkeypatch.setattr("yiwen.serve.store.LOG.error", lambda *args, **more: next(once)())
        store.close()
    assert (store.n_unwritten, Store(url).used(ANYBODY)) == (0, 5)
    lost = Store(f"{url}?timeout=0.01")
    lost.charge(ANYBODY, 7)
    monkeypatch.setattr("yiwen.serve.store.LOG.error", lambda *args, **more: None)
    with locked(tmp_path / "keys.sqlite"):
        lost.close()
    assert lost.n_unwritten == 7


def test_the_log_says_why_a_database_cannot_be_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "keys.sqlite"
    store = Store(f"sqlite:///{file}?timeout=0.01")
    store.charge(ANYBODY, 5)
    with locked(file):
        store._try_sync()
    file.unlink()
    store._try_sync()
    told = [record.__dict__["problem"] for record in caplog.records]
    assert told == ["database is locked", "no such table: yiwen_keys"]
    assert database_says(OperationalError("", {}, ValueError("duplicate key\nDETAIL: (ann)"))) == "duplicate key"


def test_what_one_key_has_used_does_not_hide_what_another_gets_back(store: Store) -> None:
    month = store.charge("fetches no document", 10)
    store.sync()
    store.charge("fetches no document", -10, month=month)
    store.charge("translates", 10)
    assert store.n_unwritten == 20
    store.sync()
    assert store.n_unwritten == 0


def test_a_locked_database_is_told_and_not_waited_for_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    Store(url).close()
    with locked(tmp_path / "keys.sqlite"):
        assert main(["keys", "create", "a", "--database", f"{url}?timeout=0.01"]) == 2
        shown = capsys.readouterr().err.replace("\n", " ")
        assert "the database cannot be used (database is locked)" in shown
        assert "and end what holds it locked" in shown
        assert main(["keys", "list", "--database", url]) == 0


def test_a_store_that_nobody_closes_leaves_no_file_open(tmp_path: Path) -> None:
    file = tmp_path / "keys.sqlite"
    Store(f"sqlite:///{file}").create_key("a", **UNLIMITED)
    assert str(file) not in [opened.path for opened in psutil.Process().open_files()]


@pytest.mark.skipif(os.name == "nt", reason="no such names on Windows")
@pytest.mark.parametrize("name", ["what?", "a%20b", "#1 :@", "译文"])
def test_the_keys_lie_in_the_folder_of_the_runs_whatever_its_name(name: str, tmp_path: Path) -> None:
    store = open_store(None, folder=tmp_path / name)
    store.create_key("a", **UNLIMITED)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "serve.sqlite").is_file()


@pytest.mark.skipif(os.name == "nt", reason="no such modes on Windows")
def test_the_folder_of_the_keys_is_closed_to_other_users(tmp_path: Path) -> None:
    """Glossaries are in it."""
    before = os.umask(0)
    try:
        open_store(None, folder=tmp_path / "runs" / ".serve").close()
    finally:
        os.umask(before)
    assert (tmp_path / "runs" / ".serve").stat().st_mode & 0o777 == 0o770


def test_a_uri_of_sqlite_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Store(f"sqlite:///file:{tmp_path}/there/keys.sqlite?uri=true").close()
    assert (tmp_path / "there" / "keys.sqlite").is_file()
    assert list((tmp_path / "here").iterdir()) == []


def test_a_service_opens_no_database_that_it_may_only_read(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path}/keys.sqlite").close()
    url = f"sqlite:///file:{tmp_path}/keys.sqlite?mode=ro&uri=true"
    assert open_store(url, folder=tmp_path).all_keys() == []
    with pytest.raises(ConfigError, match=r"the database cannot be used .attempt to write a readonly database.; give"):
        open_store(url, folder=tmp_path, config=ServeConfig())


@pytest.mark.parametrize("url", ["sqlite:///:memory:", "sqlite://", "sqlite:///"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    """Each connection would see one of its own."""
    with pytest.raises(ConfigError, match=r"the database cannot be used .no such table: .*; give a URL such as"):
        Store(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://user@host:x/name", r"invalid literal for int\(\) with base 10: 'x'"),
        ("sqlite:///keys.sqlite?timeout=soon", "could not convert string to float: 'soon'"),
    ],
)
def test_a_number_in_a_url_that_is_none_is_told(url: str, shown: str) -> None:
    with pytest.raises(ConfigError, match=f"the database cannot be used .{shown}.; give a URL such as"):
        Store(url)


def test_tables_that_are_there_are_not_made(tmp_path: Path) -> None:
    """Who may write them need not be who may make them."""
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    Store(url).close()
    said: list[str] = []

    def note(*args: Any) -> None:
        said.append(args[2])

    listen(Engine, "before_cursor_execute", note)
    try:
        Store(url).close()
    finally:
        remove(Engine, "before_cursor_execute", note)
    assert any("yiwen_keys" in statement for statement in said)
    assert not [statement for statement in said if "CREATE" in statement]


def test_in_postgresql_tables_are_made_by_one_at_a_time_and_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite stands in for it."""
    said: list[str] = []

    def note(*args: Any) -> tuple[str, Any]:
        said.append(args[2])
        return ("SELECT 1", ()) if re.match("SET|SELECT pg_|LOCK", args[2]) else args[2:4]

    engine = create_engine(f"sqlite:///{tmp_path}/keys.sqlite")
    engine.dialect.name = "postgresql"
    listen(engine, "before_cursor_execute", note, retval=True)
    monkeypatch.setattr("yiwen.serve.store.sa.create_engine", lambda *args, **options: engine)
    store = Store("postgresql+psycopg://user@host/name")
    assert said[0] == "SET LOCAL statement_timeout = '5s'"
    lock, table = (next(i for i, each in enumerate(said) if word in each) for word in ("pg_advisory", "CREATE"))
    assert lock < table
    assert store.all_keys() == []
    assert said[-2].startswith("SET LOCAL"), "in each transaction"
    store.add_glossary(owner="a", most=1, name="n", source_lang="en", target_lang="de", entries="a\tb")
    assert [said[-2], said[-1][:6]] == ["LOCK TABLE yiwen_glossaries IN EXCLUSIVE MODE", "INSERT"], (
        "or two count as one"
    )
    engine.dispose()


def test_a_database_that_never_answers_does_not_keep_a_store_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    store.charge(ANYBODY, 5)
    answer = threading.Event()
    monkeypatch.setattr("yiwen.serve.store._LAST_S", 0.1)
    listen(store._database, "begin", lambda connection: answer.wait())
    ending = threading.Thread(target=store.close, daemon=True)
    ending.start()
    ending.join(30)
    assert not ending.is_alive()
    assert store.n_unwritten == 5
    answer.set()
    store._thread.join()


def test_a_key_is_revoked_where_usage_cannot_be_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    running_store, other = Store(url), Store(url)
    key, secret = other.create_key("a", **UNLIMITED)
    running_store.sync()
    running_store.charge(key.id, 5)
    other.revoke_key(key.id)
    with sqlite3.connect(tmp_path / "keys.sqlite") as admin:
        admin.execute("ALTER TABLE yiwen_usage RENAME TO away")
        with pytest.raises(OperationalError):
            running_store.sync()
        admin.execute("ALTER TABLE away RENAME TO yiwen_usage")
    admin.close()
    assert running_store.find(secret) is None
    running_store.close()
    other.close()


def test_a_key_that_was_made_is_shown_also_where_the_database_is_locked_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")

    def locked() -> None:
        raise OperationalError("", {}, sqlite3.OperationalError("database is locked"))

    with monkeypatch.context() as patch:
        patch.setattr(store, "sync", locked)
        key, secret = store.create_key("a", **UNLIMITED)
        assert store.find(secret) is None
        second, _ = store.create_key("b", **UNLIMITED)
        store.revoke_key(second.id)
    store.sync()
    assert (store.find(secret), [row.revoked is None for row in store.all_keys()]) == (key, [True, False])
    store.close()


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (DataError("", {}, ValueError("no NUL")), 400, "the database takes no such text (no NUL); send another"),
        (OperationalError("", {}, ValueError("gone")), 503, "the database cannot be used now; ask again later"),
    ],
)
def test_what_the_database_says_of_a_request_is_told(
    error: Exception, status: int, shown: str, exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise error

    service = service_of(tmp_path, exported_bundle)
    monkeypatch.setattr(service.store, "glossaries", fail)
    with running(service) as address:
        answer = httpx.get(f"{address}/v2/glossaries")
    assert (answer.status_code, answer.json()["message"]) == (status, shown)


def test_a_database_that_hangs_keeps_nobody_from_the_page(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, go_on = service_of(tmp_path, exported_bundle), threading.Event()
    hanging: list[str] = []

    def hang(*owner: str) -> list[Any]:
        hanging.extend(owner)
        assert go_on.wait(60)
        return []

    monkeypatch.setattr(service.store, "glossaries", hang)
    with running(service) as address, ThreadPoolExecutor(60) as callers:
        answers = [callers.submit(httpx.get, f"{address}/v2/glossaries", timeout=60) for _ in range(60)]
        try:
            while len(hanging) < 8:
                time.sleep(0.01)
            assert httpx.get(f"{address}/page/main.js", timeout=10).status_code == 200
        finally:
            go_on.set()
        assert {answer.result().status_code for answer in answers} == {200}


def test_the_long_table_of_a_glossary_holds_up_nobody_else(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, own = [], api_deepl._tsv

    def beside_the_event_loop(given: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        done.append(given)
        return own(given)

    monkeypatch.setattr(api_deepl, "_tsv", beside_the_event_loop)
    new = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "Deti,Reta", "entries_format": "csv"}
    with running(service_of(tmp_path, exported_bundle)) as address, httpx.Client(base_url=address, timeout=60) as http:
        kept = http.post("/v2/glossaries", json=new).json()
        assert kept["entry_count"] == 1
        assert http.get(f"/v2/glossaries/{kept['glossary_id']}").json() == kept
        assert http.get("/v2/glossaries").json() == {"glossaries": [kept]}
    assert done == ["Deti,Reta"]


def test_the_list_of_glossaries_is_read_without_their_terms(tmp_path: Path) -> None:
    """A hundred of a megabyte would be read for it, by anybody where no key is needed."""
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    for entries in ("a\tb", "c\td\ne\tf\ng\th"):
        assert store.add_glossary(owner="", most=2, name="n", source_lang="en", target_lang="de", entries=entries)
    assert [each.n_terms for each in store.glossaries("")] == [1, 3]
    assert not any("entries" in each._fields for each in store.glossaries(""))
    store.close()


def test_a_key_may_stand_in_the_body_behind_a_proxy_that_asks_for_a_password(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    form = f"q=Deti&source=en&target=de&api_key={make(service)}".encode()
    head = {"content_type": FORM, "authorization": "Basic cHJveHk6cHJveHk="}
    assert ask(address, request("/translate", form, **head)).status == 200
    assert ask(address, request("/translate", form.replace(b"key=yw", b"key=xx"), **head)).status == 403


def test_services_that_start_together_make_their_tables_together(tmp_path: Path) -> None:
    """Each finds no table, then both make them."""
    url = f"sqlite:///{tmp_path}/keys.sqlite"
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(Store, [url] * 8))
    for store in stores:
        store.close()


def test_glossaries_that_are_sent_together_are_as_many_as_may_be(store: Store) -> None:
    def add(name: int) -> bool:
        fields = {"name": f"{name}", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
        return store.add_glossary(owner=f"owner {name % 9}", most=3, **fields) is not None

    with ThreadPoolExecutor(9) as threads:
        added = [*threads.map(add, range(72))]
    assert sum(added) == 9 * 3
    assert [len(store.glossaries(f"owner {number}")) for number in range(9)] == [3] * 9


def test_a_store_that_nobody_uses_writes_nothing(store: Store) -> None:
    store.charge(ANYBODY, 5)
    store.sync()
    written: list[str] = []
    listen(store._database, "before_cursor_execute", lambda *args: written.append(args[2]))
    store.sync()
    assert not [statement for statement in written if not statement.startswith("SELECT")]


def test_what_is_counted_while_usage_is_written_is_not_lost(store: Store) -> None:
    store.charge(ANYBODY, 5)
    listen(store._database, "commit", lambda connection: store.charge(ANYBODY, 7))
    store.sync()
    assert (store.used(ANYBODY), store.n_unwritten) == (12, 7)


def test_what_is_being_written_is_not_counted_twice(store: Store) -> None:
    used: list[int] = []
    looking = threading.Thread(target=lambda: used.append(store.used(ANYBODY)))

    class Watched(Counter[tuple[str, str]]):
        def subtract(self, *written: Any) -> None:
            if looking.ident is None:
                looking.start()
                looking.join(0.1)  # who looks now has to wait
            super().subtract(*written)

    store.charge(ANYBODY, 5)
    store._unwritten = Watched(store._unwritten)
    store.sync()
    looking.join()
    assert used == [5]


def test_the_last_characters_of_a_quota_go_to_one_of_two_who_ask_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid: list[str] = []

    def charge() -> None:
        paid.append(store.charge("a", 7, limit=10))

    second, used = threading.Thread(target=charge), store.used

    def used_while_another_asks(key_id: str) -> int:
        n_used = used(key_id)
        if second.ident is None:
            second.start()
            second.join(0.1)  # has to wait for the first
        return n_used

    monkeypatch.setattr(store, "used", used_while_another_asks)
    charge()
    second.join()
    assert (sorted(map(bool, paid)), used("a")) == ([False, True], 7)


def test_keys_and_glossaries_are_listed_oldest_first(store: Store) -> None:
    for name in "gdabfce":
        store.create_key(name, **UNLIMITED)
        store.add_glossary(owner="a", most=9, name=name, source_lang="en", target_lang="de", entries="a\tb")
    assert [key.name for key in store.all_keys()] == [*"gdabfce"]
    assert [glossary.name for glossary in store.glossaries("a")] == [*"gdabfce"]


def test_a_glossary_is_read_and_removed_by_its_owner_alone(store: Store) -> None:
    pair = {"source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    kept, gone = (store.add_glossary(owner="a", most=2, name=name, **pair) for name in ("kept", "gone"))
    assert kept is not None
    assert gone is not None
    assert [each.entries for each in store.glossaries("a", kept.id)] == ["a\tb"]
    assert store.glossaries("b", kept.id) == []
    store.remove_glossary("b", kept.id)
    store.remove_glossary("a", gone.id)
    assert [each.id for each in store.glossaries("a")] == [kept.id]


def test_only_the_hash_of_a_key_is_kept(store: Store, tmp_path: Path) -> None:
    key, secret = store.create_key("a", **UNLIMITED)
    assert secret.startswith("yw_")
    assert len(secret) > 40
    assert secret.encode() not in (tmp_path / "keys.sqlite").read_bytes()
    assert secret[3:] not in repr(key)
    assert len({store.create_key("a", **UNLIMITED)[1] for _ in range(50)}) == 50


def test_a_database_of_an_older_version_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, "2026-11-28T12:00+00:00")
    with sqlite3.connect(tmp_path / "keys.sqlite") as older:
        older.executescript("""
            CREATE TABLE yiwen_keys (
                id VARCHAR(200) NOT NULL, name VARCHAR(200) NOT NULL, sha256 VARCHAR(200) NOT NULL,
                characters_per_month BIGINT NOT NULL, requests_per_minute BIGINT NOT NULL,
                created VARCHAR(200) NOT NULL, revoked VARCHAR(200), PRIMARY KEY (id));
            CREATE TABLE yiwen_usage (
                key_id VARCHAR(200) NOT NULL, month VARCHAR(200) NOT NULL, characters BIGINT NOT NULL,
                PRIMARY KEY (key_id, month));
            CREATE TABLE yiwen_glossaries (
                id VARCHAR(200) NOT NULL, owner VARCHAR(200) NOT NULL, name VARCHAR(200) NOT NULL,
                source_lang VARCHAR(200) NOT NULL, target_lang VARCHAR(200) NOT NULL, entries TEXT NOT NULL,
                created VARCHAR(200) NOT NULL, PRIMARY KEY (id));
            INSERT INTO yiwen_keys VALUES ('3f9a0c1e', 'newsroom', -- sha256sum of yw_secret
                'a4bf386906d6789cbc2dc7e100b3454c4a35dce3c0fdbd781508415c7a34de4e', 500, 7, '2026-11-01', NULL);
            INSERT INTO yiwen_usage VALUES ('3f9a0c1e', '2026-11', 5);
            INSERT INTO yiwen_glossaries VALUES ('ab', '3f9a0c1e', 'a', 'en', 'de', 'dog\tHund', '2026-11-02');
        """)
    older.close()
    store = Store(f"sqlite:///{tmp_path}/keys.sqlite")
    key = store.find("yw_secret")
    assert key is not None
    assert (key.id, key.characters_per_month, key.requests_per_minute, store.used(key.id)) == ("3f9a0c1e", 500, 7, 5)
    assert [each.entries for each in store.glossaries(key.id, "ab")] == ["dog\tHund"]
    assert [each.n_terms for each in store.glossaries(key.id)] == [1]
    store.close()


def test_a_key_that_is_not_there_cannot_be_revoked(store: Store) -> None:
    key, _ = store.create_key("a", **UNLIMITED)
    with pytest.raises(ConfigError, match=f"no valid key has the id 'x'; valid ones: {key.id}"):
        store.revoke_key("x")
    store.revoke_key(key.id)
    with pytest.raises(ConfigError, match="valid ones: none"):
        store.revoke_key(key.id)


def test_a_service_for_others_opens_with_a_key_that_holds_and_with_no_other(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/keys.sqlite", ServeConfig(host="0.0.0.0")
    store = Store(url)
    for key, _ in [store.create_key(name, **UNLIMITED) for name in "ab"]:
        open_store(url, folder=tmp_path, config=config).close()
        store.revoke_key(key.id)
    with pytest.raises(ConfigError, match=r"whoever reaches 0\.0\.0\.0 needs a key, and there is none"):
        open_store(url, folder=tmp_path, config=config)
    store.close()


def test_a_database_without_its_driver_names_the_cure() -> None:
    with pytest.raises(MissingDependencyError, match=r"the database needs (\w+): pip install \1"):
        Store("mysql://nobody@127.0.0.1/nothing")


@pytest.mark.parametrize(
    "missing", [ImportError("no pq wrapper available"), ModuleNotFoundError("No module", name="psycopg")]
)
def test_psycopg_is_named_with_the_library_that_it_needs(missing: ImportError, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it says it where there is no libpq, and where nothing is there."""

    def fail(*args: object, **options: object) -> None:
        raise missing

    monkeypatch.setattr("yiwen.serve.store.sa.create_engine", fail)
    with pytest.raises(MissingDependencyError, match=r"the database needs .*: pip install 'psycopg\[binary\]'"):
        Store("postgresql+psycopg://user@host/name")


def test_the_command_makes_lists_and_revokes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_DATABASE", f"sqlite:///{tmp_path}/deep/er/keys.sqlite")
    assert main(["keys", "create", "Zeitung", "--characters", "500", "--requests", "7"]) == 0
    shown = capsys.readouterr()
    secret = shown.out.strip()
    assert main(["keys", "list"]) == 0
    line = capsys.readouterr().out
    key_id = line.split("\t")[0]
    assert line == f"{key_id}\tZeitung\tvalid\t0 of 500\t7/min\n"
    assert key_id in shown.err
    assert secret not in line + shown.err
    assert main(["keys", "revoke", key_id]) == 0
    assert main(["keys", "list"]) == 0
    assert "\trevoked 20" in capsys.readouterr().out
    for name in ("", "  "):
        assert main(["keys", "create", name]) == 2
        assert "yiwen keys create needs a name" in capsys.readouterr().err
    assert main(["keys", "revoke"]) == 2
    assert "yiwen keys revoke needs the id of a key" in capsys.readouterr().err


def test_a_revoked_key_is_refused_by_a_running_service(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    key, secret = service.store.create_key("a", **UNLIMITED)
    headers = {"authorization": f"Bearer {secret}"}
    with httpx.Client(timeout=60, base_url=address, headers=headers) as client:
        assert client.get("/v1/models").status_code == 200
        service.store.revoke_key(key.id)
        assert client.get("/v1/models").status_code == 401


def test_without_keys_a_header_meant_for_a_proxy_is_no_concern(address: str) -> None:
    assert ask(address, request(T, BODY, authorization="Basic dTpw")).status == 200


@pytest.mark.parametrize(
    ("limits", "told"), [((-5, 0), "-5 characters a month"), ((0, -3), "-3 requests a"), ((2**63, 0), f"{2**63} char")]
)
def test_limits_that_no_key_can_have_are_refused(store: Store, limits: tuple[int, int], told: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"a key cannot have {told}.*; give 0 \(any number\) or more, fewer than 2\^63"
    ):
        store.create_key("a", characters_per_month=limits[0], requests_per_minute=limits[1])


@pytest.mark.parametrize("name", ["n" * 201, "two\nlines", "two\x85lines", "a\ttab", "a\u2028b", "half \ud800"])
def test_names_that_no_list_or_database_takes_are_refused(store: Store, name: str) -> None:
    with pytest.raises(ConfigError, match=r"a key cannot be named '.*' \(\d+ characters\); give a name of one line"):
        store.create_key(name, **UNLIMITED)
    assert store.create_key("译" * 200, **UNLIMITED)[0].name == "译" * 200


@pytest.mark.parametrize(("lengths", "paid"), [([], 0), ([5, 2], 7)])
def test_what_was_answered_before_it_failed_is_paid_for_and_no_more(
    lengths: list[int], paid: int, exported_bundle: Path, tmp_path: Path
) -> None:
    service = service_of(tmp_path, exported_bundle)

    def leave() -> None:
        with Call(service, Request({"type": "http"}), None).charged(["a" * 20], "en", "de") as answered:
            answered += lengths
            raise Gone

    with pytest.raises(Gone):
        leave()
    service.close()
    assert service.store.used(ANYBODY) == paid
    assert f"\nyiwen_characters_total {paid}.0\n" in service.metrics.exposition().decode()


def test_who_leaves_a_stream_has_paid_for_what_came(keyed: tuple[Service, str]) -> None:
    service, address = keyed
    text = " ".join(f"Deti gedi bapu {'.' * (n % 3 + 1)}" for n in range(60))
    secret = make(service)
    body = {"text": text, "source": "en", "target": "de", "stream": True}
    with httpx.stream("POST", f"{address}{T}", json=body, headers={"authorization": f"Bearer {secret}"}) as answer:
        next(answer.iter_lines())
    owner = service.store.all_keys()[0].id
    for _ in range(200):
        if service.store.used(owner) < len(text):
            break
        time.sleep(0.02)
    assert 0 < service.store.used(owner) <= len(text)
