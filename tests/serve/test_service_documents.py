"""Documents and texts with tags through the service, as its own clients and those of others send them."""

from __future__ import annotations

import gc
import re
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deepl
import httpx
import pytest
from services import UNLIMITED, running, service_of

from yiwen.documents import formats, translate_document, translate_markup
from yiwen.errors import CheckpointError, DataError
from yiwen.serve import jobs
from yiwen.serve.batcher import Overloaded
from yiwen.serve.errors import ApiError
from yiwen.stop import StopFlag
from yiwen.translator import Translation, Translator

PAGE = b'<html lang="en"><p>Deti <b>gedi</b> bapu.</p><p translate="no">Kabe</p></html>\r\n'


@pytest.fixture(scope="module")
def expected(exported_bundle: Path) -> bytes:
    """The page as the library translates it."""
    translator = Translator.load(exported_bundle, threads=1)
    return translate_document(
        PAGE,
        suffix="html",
        translate=lambda texts: translator.translate(texts, by_sentence=True),
        align=translator.align,
        tgt_lang="de",
    )


def post(
    http: httpx.Client, data: bytes = b"Deti.", *, name: str = "a.txt", path: str = "/v1/documents", **more: Any
) -> httpx.Response:
    """Send a document that is to go from English to German."""
    pair = {"source": "en", "target": "de", **more.pop("fields", {})}
    return http.post(path, files={"file": (name, data)}, data=pair, **more)


def sent(http: httpx.Client, data: bytes = b"Deti.", name: str = "a.txt", **more: Any) -> Any:
    """The state of a document when it is through."""
    answer = post(http, data, name=name, **more)
    assert answer.status_code == 200, answer.text
    while (state := http.get(f"/v1/documents/{answer.json()['id']}").json())["status"] in ("queued", "translating"):
        time.sleep(0.01)
    return {**state, "id": answer.json()["id"]}


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is translated as it is, without the child that takes other documents apart."""

    def translate(data: bytes, *, translate: Callable[[list[str]], list[Translation]], **options: Any) -> bytes:
        return translate([data.decode()])[0].text.encode()

    monkeypatch.setattr(jobs, "translate_document", translate)


def test_a_document_comes_back_as_the_library_translates_it(http: httpx.Client, expected: bytes) -> None:
    state = sent(http, PAGE, "page.HTML")
    assert (state["status"], state["progress"], state["error"]) == ("done", 1.0, None)
    result = http.get(f"/v1/documents/{state['id']}/result")
    assert result.content == expected != PAGE
    assert result.headers["content-disposition"] == 'attachment; filename="translated.html"'
    assert result.headers["content-type"] == "application/octet-stream", "a browser shows it in no place"
    assert http.delete(f"/v1/documents/{state['id']}").status_code == 200
    assert http.get(f"/v1/documents/{state['id']}").status_code == 404


def test_what_cannot_be_translated_says_why(http: httpx.Client) -> None:
    state = sent(http, b"PK no zip", "evil.docx")
    assert (state["status"], state["code"]) == ("error", "invalid")
    assert "no document of its suffix" in state["error"]
    assert http.get(f"/v1/documents/{state['id']}/result").status_code == 422
    unknown = post(http, name="a.exe")
    assert (unknown.status_code, ".docx" in unknown.text) == (415, True)


@pytest.mark.parametrize(("source", "of_header"), [("en", "fr"), ("auto", "en")])
def test_tmx_is_told_the_languages(source: str, of_header: str, http: httpx.Client) -> None:
    unit = '<tu><tuv xml:lang="fr"><seg>Kabe.</seg></tuv><tuv xml:lang="en"><seg>Deti gedi.</seg></tuv></tu>'
    data = f'<tmx version="1.4"><header srclang="{of_header}"/><body>{unit}</body></tmx>'.encode()
    state = sent(http, data, "a.tmx", fields={"source": source})
    asked = {"text": "Deti gedi.", "source": "en", "target": "de"}
    (said,) = http.post("/v1/translate", json=asked).json()["translations"]
    result = http.get(f"/v1/documents/{state['id']}/result").text
    assert f'<tuv xml:lang="de"><seg>{said["text"]}</seg></tuv>' in result


@pytest.mark.usefixtures("often")
def test_deepl_translates_documents_and_tags(
    address: str, tmp_path: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepl.http_client.min_connection_timeout", 100.0)  # a busy machine is no failure
    client = deepl.DeepLClient("any", server_url=address)
    (tmp_path / "a.html").write_bytes(PAGE)
    client.translate_document_from_filepath(
        tmp_path / "a.html", tmp_path / "b.html", source_lang="EN", target_lang="DE"
    )
    assert (tmp_path / "b.html").read_bytes() == expected
    for handling in ("html", "xml"):
        found = client.translate_text(
            'Deti <b>gedi</b> <x id="7"></x> bapu <k>Kabe</k>.',
            source_lang="EN",
            target_lang="DE",
            tag_handling=handling,
            ignore_tags=["k"],
        )
        assert isinstance(found, deepl.TextResult)
        assert re.fullmatch(r"(?!.*Deti).*<b>\w.*?</b>.*", found.text)
        assert found.text.count('<x id="7"></x>') == 1
        assert len(re.findall("<k> ?Kabe</k>", found.text)) == 1  # what is put in by place may take a blank along


def test_libretranslate_translates_files_and_html(http: httpx.Client, expected: bytes, exported_bundle: Path) -> None:
    assert tuple(http.get("/frontend/settings").json()["supportedFilesFormat"]) == formats()
    answer = post(http, PAGE, name="a.html", path="/translate_file").json()
    assert http.get(answer["translatedFileUrl"]).content == expected
    text = "<p>Deti <b>gedi</b> bapu.</p>"
    translator = Translator.load(exported_bundle, threads=1)
    (found,) = translate_markup(
        [text],
        is_html=True,
        translate=lambda texts: translator.translate(texts, by_sentence=True),
        align=translator.align,
    )
    asked = {"q": text, "format": "html", "source": "en", "target": "de"}
    assert http.post("/translate", json=asked).json()["translatedText"] == found != text


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set, it lets the documents go on that wait until then."""
    go_on, translate = threading.Event(), jobs.Job.translate

    def when_told(job: jobs.Job, texts: Sequence[str]) -> Any:
        while not go_on.wait(0.01):
            job.stop.check("translation")
        return translate(job, texts)

    monkeypatch.setattr(jobs.Job, "translate", when_told)
    yield go_on
    go_on.set()


@pytest.mark.parametrize(("prefix", "place"), [("", ""), ("/", ""), ("/mt", "mt/"), ("/a/b/", "a/b/")])
@pytest.mark.usefixtures("in_process")
def test_the_address_of_a_file_is_below_the_prefix_that_a_proxy_names(
    prefix: str, place: str, http: httpx.Client
) -> None:
    headers = {"host": "localhost:81", "x-forwarded-prefix": prefix}
    url = post(http, path="/translate_file", headers=headers).json()["translatedFileUrl"]
    assert url.startswith(f"http://localhost:81/{place}download_file/")


def test_a_file_that_takes_longer_than_its_caller_waits_for_leaves_nothing(
    exported_bundle: Path, tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(tmp_path, exported_bundle, deadline_s=0.3)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        with monkeypatch.context() as patch:
            patch.setattr("yiwen.serve.service._SOON_S", 60.0)  # or the deadline that all requests have comes first
            answer = post(http, path="/translate_file", timeout=60)
        message = "the document takes too long to wait for it; send it to /v1/documents"
        assert (answer.status_code, answer.json()["error"]) == (504, message)
        assert not service.jobs._jobs
        service.config = replace(service.config, deadline_s=60.0)
        with pytest.raises(httpx.ReadTimeout):
            post(http, path="/translate_file", timeout=httpx.Timeout(60, read=0.15))
        while service.jobs._jobs:
            time.sleep(0.01)


@pytest.mark.usefixtures("in_process")
def test_a_file_is_kept_until_it_is_fetched_and_its_address_opens_it_to_whoever_has_it(
    exported_bundle: Path, tmp_path: Path
) -> None:
    service = service_of(tmp_path, exported_bundle, max_documents=1, require_key=True)
    secret = service.store.create_key("a", **UNLIMITED)[1]
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:

        def asked() -> httpx.Response:
            return post(http, path="/translate_file", fields={"api_key": secret})

        url = asked().json()["translatedFileUrl"]
        assert http.head(url).status_code == 200
        assert asked().status_code == 429, "nobody has fetched the first: who asks for its head has got nothing of it"
        assert http.get(url).status_code == 200
        assert asked().status_code == 200
        assert http.get(url).status_code == 404
        http.get(f"/download_file/{next(iter(service.jobs._jobs))}")
        own = post(http, headers={"authorization": f"Bearer {secret}"}).json()
        assert http.get(f"/download_file/{own['id']}").status_code == 404, "another API's documents are not open"


def test_a_document_that_is_given_up_at_the_end_costs_nothing(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = threading.Event()

    def wait_for_the_end(way: Any, texts: Sequence[str], *, stop: Any, **options: Any) -> Any:
        began.set()
        while not stop:
            time.sleep(0.01)
        time.sleep(0.3)
        stop.check("translation")

    service = service_of(tmp_path, exported_bundle)
    monkeypatch.setattr("yiwen.serve.pairs.Way.translate", wait_for_the_end)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        post(http, b"Deti gedi.")
        assert began.wait(60)
        assert service.store.used("") == len("Deti gedi.")
    assert (service.store.used(""), service.store.n_unwritten) == (0, 0)


@pytest.mark.usefixtures("in_process")
def test_a_document_that_is_done_and_was_not_fetched_before_the_end_costs_nothing(
    exported_bundle: Path, tmp_path: Path
) -> None:
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        fetched, left = sent(http, b"Deti."), sent(http, b"Kabe robu.")
        assert http.get(f"/v1/documents/{fetched['id']}/result").status_code == 200
        assert left["status"] == "done"
    assert (service.store.used(""), service.store.n_unwritten) == (len("Deti."), 0)


def test_no_address_of_a_file_is_given_that_leads_nowhere_in_a_moment(
    exported_bundle: Path, tmp_path: Path, held: threading.Event
) -> None:
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(post, http, path="/translate_file")
            while not service.n_running:
                time.sleep(0.01)
            service.is_draining = True
            held.set()
        assert (waiting.result().status_code, waiting.result().headers["retry-after"]) == (503, "5")
    assert service.store.used("") == 0


def test_a_text_whose_placeholder_was_lost_is_paid_for_once(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def without_placeholders(way: Any, texts: Sequence[str], **options: Any) -> list[Translation]:
        asked.extend(texts)
        return [Translation("weg", 0.0) for _ in texts]

    service = service_of(tmp_path, exported_bundle)
    monkeypatch.setattr("yiwen.serve.pairs.Way.translate", without_placeholders)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        assert sent(http, b"Deti {n} gedi.")["status"] == "done"
        assert service.store.used("") == len("Deti {n} gedi.")
    assert asked == ["Deti {n} gedi.", "Deti 7 gedi."]


def test_a_long_document_gives_way_comes_back_in_its_order_and_is_paid_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def translate(texts: Sequence[str], **options: Any) -> list[Translation]:
        asked.append(len(texts))
        if len(asked) == 2:
            raise Overloaded("the queue is full")
        return [Translation(text.upper(), 0.0) for text in texts]

    monkeypatch.setattr(jobs, "_AGAIN_S", 0.0)
    charged: list[int] = []
    told_from: list[Sequence[str]] = []

    def way_of(texts: Sequence[str], src: str, tgt: str) -> Any:
        told_from.append(texts)
        return SimpleNamespace(translate=translate, align=lambda *both, stop: [stop])

    pairs = SimpleNamespace(way_of=way_of)
    call: Any = SimpleNamespace(service=SimpleNamespace(pairs=pairs), charge=charged.append)
    texts = [f"text {number}" for number in range(70)]
    job = jobs.Job(call=call, filename="a.txt", data=b"", src="en", tgt="de")
    assert [found.text for found in job.translate(texts)] == [text.upper() for text in texts]
    assert max(asked) < len(texts), "others have their turn between two blocks"
    assert [found.text for found in job.translate(["more"])] == ["MORE"]
    assert charged == [len("".join(texts)), 4]
    assert job.paid.total() == sum(charged)
    assert told_from == [texts], "all of it is in the language that its beginning is in"
    assert job.align(["more"], ["MORE"]) == [job.stop], "which ends when nobody waits for it"


def test_what_a_document_cost_is_given_back_once_and_to_the_months_that_it_was_counted_in() -> None:
    given_back: list[tuple[str, int, str]] = []

    def charge(owner: str, characters: int, *, month: str = "") -> None:
        given_back.append((owner, characters, month))

    call: Any = SimpleNamespace(owner="a", service=SimpleNamespace(store=SimpleNamespace(charge=charge)))
    paid = Counter({"2026-01": 7, "2026-02": 5})
    job = jobs.Job(call=call, filename="a.txt", data=b"", src="en", tgt="de", paid=paid)
    job.give_back()
    job.give_back()
    assert sorted(given_back) == [("a", -7, "2026-01"), ("a", -5, "2026-02")]


def test_a_document_is_no_longer_than_it_may_be(serve: Callable[..., str]) -> None:
    with httpx.Client(timeout=60, base_url=serve(max_document_bytes=100)) as http:
        state = sent(http, b"a" * 101)
        assert (state["status"], state["error"]) == ("error", "the document has 101 bytes, allowed are 100; split it")
        answer = post(http, b"a" * 20_000)  # is not read at all
        assert (answer.status_code, answer.json()["code"]) == (413, "too_long")
        assert answer.json()["error"] == "a document has at most 100 bytes; send a shorter one"


def test_a_service_that_is_about_to_end_takes_no_document(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        service.is_draining = True
        answer = post(http)
        assert (answer.status_code, answer.json()["code"]) == (503, "draining")
        assert not service.jobs._jobs


def test_a_service_without_documents_says_so(serve: Callable[..., str]) -> None:
    with httpx.Client(timeout=60, base_url=serve(max_documents=0)) as http:
        answer = post(http)
    assert (answer.status_code, answer.json()["error"]) == (403, "no documents are translated here; send texts")


@pytest.mark.usefixtures("in_process")
def test_a_document_that_fails_costs_nothing_and_is_found_in_the_log(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "yiwen.serve")
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        assert sent(http, b"Deti gedi.")["status"] == "done"
        assert service.store.used("") == len("Deti gedi.")
        monkeypatch.setattr("yiwen.serve.pairs.Way.translate", lambda *args, **options: 1 / 0)
        assert sent(http, b"Deti gedi.")["error"] == "something failed here; the log of the service says where"
        assert service.store.used("") == len("Deti gedi.")
    logged = [vars(record) for record in caplog.records]
    (failed,) = (each["request_id"] for each in logged if each["message"] == "failed")
    assert failed in [each["request_id"] for each in logged if each.get("path") == "/v1/documents"]


def test_a_document_that_is_given_up_while_it_is_put_together_costs_nothing(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_translated, is_given_up = threading.Event(), threading.Event()

    def translate(data: bytes, *, translate: Callable[[list[str]], list[Translation]], **options: Any) -> bytes:
        text = translate([data.decode()])[0].text
        is_translated.set()
        assert is_given_up.wait(60)
        return text.encode()

    monkeypatch.setattr(jobs, "translate_document", translate)
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        document = f"/v1/documents/{post(http).json()['id']}"
        assert is_translated.wait(60)
        assert http.delete(document).status_code == 200
        is_given_up.set()
    assert service.store.used("") == 0
    assert b"yiwen_characters_total 0.0" in service.metrics.exposition()


@pytest.mark.parametrize(
    ("error", "status", "of_libre"),
    [(DataError("torn"), 422, 400), (ApiError(456, "quota", "no more"), 456, 403), (CheckpointError("new"), 503, 503)],
)
@pytest.mark.usefixtures("in_process")
def test_what_is_not_the_fault_of_a_document_is_told_as_of_a_text(
    error: Exception, status: int, of_libre: int, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("yiwen.serve.pairs.Way.translate", fail)
    assert http.get(f"/v1/documents/{sent(http)['id']}/result").status_code == status
    assert post(http, path="/translate_file").status_code == of_libre


@pytest.mark.usefixtures("in_process")
def test_fetched_documents_make_room(serve: Callable[..., str]) -> None:
    with httpx.Client(timeout=60, base_url=serve(max_documents=2)) as http:
        ids = [sent(http)["id"] for _ in range(2)]
        assert post(http).status_code == 429
        assert http.get(f"/v1/documents/{ids[1]}/result").status_code == 200
        assert http.get(f"/v1/documents/{ids[1]}/result").status_code == 200  # as often as there is room
        sent(http)
        assert http.get(f"/v1/documents/{ids[1]}").status_code == 404
        assert http.get(f"/v1/documents/{ids[0]}").status_code == 200


def test_a_document_is_forgotten_after_an_hour_though_nobody_comes(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(tmp_path, exported_bundle)
    assert jobs._KEPT_S == 3600
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        kept = sent(http)["id"]
        monkeypatch.setattr(jobs, "_KEPT_S", 0.5)
        old = post(http).json()["id"]
        deadline = time.monotonic() + 60
        while {*service.jobs._jobs} != {kept}:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert [http.get(f"/v1/documents/{id_}").status_code for id_ in (kept, old)] == [200, 404]


@pytest.mark.usefixtures("in_process")
def test_a_document_that_is_kept_keeps_no_model_that_was_replaced(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle)
    (replaced,) = map(weakref.ref, service.pairs.engines)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        assert service.jobs._jobs[sent(http)["id"]].finished.wait(60)
        service.reload()
        gc.collect()
        assert replaced() is None


@pytest.mark.usefixtures("in_process")
def test_a_document_that_failed_makes_room(serve: Callable[..., str]) -> None:
    with httpx.Client(timeout=60, base_url=serve(max_documents=1)) as http:
        assert sent(http, b"\xff")["status"] == "error"
        assert post(http).status_code == 200


@pytest.mark.usefixtures("in_process")
def test_what_one_key_leaves_behind_keeps_no_other_out(exported_bundle: Path, tmp_path: Path) -> None:
    service = service_of(tmp_path, exported_bundle, max_documents=3, require_key=True)
    keys = [service.store.create_key(name, **UNLIMITED)[1] for name in "abc"]
    with running(service) as address:
        one, other, third = (
            httpx.Client(timeout=60, base_url=address, headers={"authorization": f"Bearer {k}"}) for k in keys
        )
        with one, other, third:
            first, *_ = [sent(one)["id"] for _ in range(3)]
            assert sent(other)["status"] == "done"
            assert one.get(f"/v1/documents/{first}").status_code == 404, "the oldest of who keeps most"
            assert service.store.used(service.store.all_keys()[0].id) == 2 * len("Deti."), "and they get it back"
            assert post(other).status_code == 429, "now both keep about as many"
            assert sent(third)["status"] == "done", "who has none is let in"
            assert [post(each).status_code for each in (one, other, third)] == [429] * 3


def test_what_is_in_work_makes_no_room(exported_bundle: Path, tmp_path: Path, held: threading.Event) -> None:
    service = service_of(tmp_path, exported_bundle, max_documents=3, require_key=True)
    keys = [service.store.create_key(name, **UNLIMITED)[1] for name in "ab"]
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        one, other = ({"authorization": f"Bearer {key}"} for key in keys)
        assert [post(http, headers=one).status_code for _ in range(3)] == [200] * 3
        refused = post(http, headers=other)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
        assert len(service.jobs._jobs) == 3
        held.set()


@pytest.mark.parametrize("given", ["utf-8''%E6%96%87%E4%BB%B6.txt", "UTF-8''%e6%96%87%e4%bb%b6.txt; x=y"])
def test_the_name_of_a_file_is_read_as_dotnet_sends_it(given: str, http: httpx.Client) -> None:
    head = f'form-data; name=file; filename="=?utf-8?B?5paH5Lu2LnR4dA==?="; filename*={given}'
    parts = [f"content-disposition: {head}\r\n\r\nDeti."]
    parts += [f"content-disposition: form-data; name={k}\r\n\r\n{v}" for k, v in (("source", "en"), ("target", "de"))]
    body = "".join(f"--x\r\n{part}\r\n" for part in parts) + "--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = http.post("/v1/documents", content=body.encode(), headers=headers)
    assert http.get(f"/v1/documents/{answer.json()['id']}").json()["filename"] == "文件.txt"


def test_the_name_of_a_file_may_stand_beside_it_and_what_is_a_field_is_no_file(http: httpx.Client) -> None:
    asked = {"source": "en", "target": "de"}
    answer = http.post("/v1/documents", files={"file": ("blob", b"Deti.")}, data={**asked, "filename": "a.txt"})
    assert http.get(f"/v1/documents/{answer.json()['id']}").json()["filename"] == "a.txt"
    field = http.post("/v1/documents", files={"file": (None, b"Deti.")}, data=asked)
    assert (field.status_code, field.json()["error"].startswith("'' is no known document; send .arb")) == (415, True)


def test_a_form_in_another_encoding_and_one_of_unknown_length_are_refused(http: httpx.Client) -> None:
    body = b'--x\r\ncontent-disposition: form-data; name="source"\r\n\r\nen\r\n--x--\r\n'
    for charset, code in (("punycode", "form"), ("UTF-8", "invalid")):
        headers = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
        answer = http.post("/v1/documents", content=body, headers=headers)
        assert (answer.status_code // 100, answer.json()["code"]) == (4, code)
    boundary = {"content-type": "multipart/form-data; boundary=charset=x"}
    answer = http.post("/v1/documents", content=body.replace(b"--x", b"--charset=x"), headers=boundary)
    assert answer.json()["code"] == "invalid", "it says no charset"
    answer = http.post("/v1/documents", content=iter([body]), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (
        411,
        "nothing says how long the document is; send it with Content-Length",
    )


def test_a_document_in_a_language_that_nothing_leads_to_is_refused_at_once(http: httpx.Client) -> None:
    answer = post(http, fields={"source": "auto", "target": "xx"})
    assert (answer.status_code, answer.json()["code"]) == (400, "language")


def test_a_document_that_is_still_in_work_says_how_far_it_is_and_is_not_handed_out_as_its_translation(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_done, go_on = threading.Event(), threading.Event()

    def by_halves(data: bytes, *, progress: Callable[[float], None], **options: Any) -> bytes:
        progress(0.5)
        half_done.set()
        assert go_on.wait(60)
        return b"Reta."

    monkeypatch.setattr(jobs, "translate_document", by_halves)
    service = service_of(tmp_path, exported_bundle)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        path = f"/v1/documents/{post(http).json()['id']}"
        assert half_done.wait(60)
        state = http.get(path).json()
        assert (state["status"], state["progress"]) == ("translating", 0.5)
        answer = http.get(f"{path}/result")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert answer.json()["error"] == "it is not translated yet; ask again in a moment"
        go_on.set()
        while http.get(path).json()["status"] == "translating":
            time.sleep(0.01)
        assert http.get(f"{path}/result").content == b"Reta."


def test_who_gives_a_document_up_leaves_nothing_of_it(
    exported_bundle: Path, tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, told = service_of(tmp_path, exported_bundle), list[StopFlag]()
    (engine,) = service.pairs.engines
    monkeypatch.setattr(engine, "drop", told.append)
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        ids = [post(http).json()["id"] for _ in range(3)]
        first, second, waiting = (service.jobs._jobs[job_id] for job_id in ids)
        assert len({first.secret, second.secret, waiting.secret, *ids}) == 6, "of none can another be guessed"
        while not first.status == second.status == "translating":
            time.sleep(0.01)
        assert (waiting.status, waiting.data) == ("queued", b"Deti.")
        hour = service.jobs._timers[waiting.id]
        assert http.delete(f"/v1/documents/{ids[2]}").status_code == 200
        assert waiting.finished.is_set()
        assert (bool(waiting.stop), told) == (True, [waiting.stop]), "or its texts wait on"
        assert hour.cancelled(), "or each document that was fetched leaves a timer for its hour"
        forgotten = weakref.ref(waiting)
        del waiting
        gc.collect()
        assert forgotten() is None, "or those that wait their turn fill the memory"
        held.set()


def test_a_field_that_is_given_twice_is_not_one_of_the_two(http: httpx.Client) -> None:
    asked = {"source": "en", "target": ["fr", "de"]}
    answer = http.post("/v1/documents", files={"file": ("a.txt", b"Deti.")}, data=asked)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert "target = ['fr', 'de']" in answer.json()["error"]
