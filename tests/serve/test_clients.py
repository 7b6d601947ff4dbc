"""The clients that people have, each from its own package, and requests of others as they send them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import deepl
import httpx
import openai
import pytest
from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI
from services import running, service_of
from wire import ask, ask_json, request

from campaign import noted
from yiwen.serve.pairs import Way
from yiwen.serve.service import Service
from yiwen.stop import StopFlag
from yiwen.translator import Translation, Translator

TEXT = "Deti gedi bapu."
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def lone(exported_bundle: Path) -> Translator:
    return Translator.load(exported_bundle, threads=1)


@pytest.fixture
def keyed(exported_bundle: Path, tmp_path: Path) -> Iterator[tuple[Service, str, str]]:
    service = service_of(tmp_path, exported_bundle, require_key=True)
    secret = service.store.create_key("client", characters_per_month=300, requests_per_minute=0)[1]
    with running(service) as address:
        yield service, address, secret


def translated(lone: Translator, text: str) -> str:
    return lone.translate([text], by_sentence=True)[0].text


def test_deepl(keyed: tuple[Service, str, str], lone: Translator) -> None:
    _, address, secret = keyed
    client = deepl.DeepLClient(secret, server_url=address)
    one = client.translate_text(TEXT, source_lang="EN", target_lang="DE")
    assert (one.text, one.detected_source_lang, one.billed_characters) == (translated(lone, TEXT), "EN", len(TEXT))  # type: ignore[union-attr]
    several = client.translate_text([TEXT, "Kabe robu."], source_lang="EN", target_lang="DE", formality="prefer_more")
    assert [found.text for found in several] == [translated(lone, text) for text in (TEXT, "Kabe robu.")]  # type: ignore[union-attr]
    assert [(lang.code, lang.name) for lang in client.get_source_languages()] == [("EN", "English")]
    targets = client.get_target_languages()
    assert [(lang.code, lang.name, lang.supports_formality) for lang in targets] == [("DE", "German", False)]
    usage = client.get_usage()
    assert (usage.character.count, usage.character.limit) == (2 * len(TEXT) + len("Kabe robu."), 300)
    assert [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()] == [("en", "de")]
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_text("deti " * 60, source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.DeepLException, match="is not translated here; there is en to de"):
        client.translate_text(TEXT, source_lang="EN", target_lang="FR")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=address).get_usage()


@pytest.mark.usefixtures("often")
def test_deepl_documents(keyed: tuple[Service, str, str], lone: Translator, tmp_path: Path) -> None:
    service, address, secret = keyed
    client = deepl.DeepLClient(secret, server_url=address)
    source, target = tmp_path / "letter.txt", tmp_path / "letter.de.txt"
    source.write_text(f"{TEXT}\n\nKabe robu.\n", encoding="utf-8")
    status = client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
    assert status.done
    assert target.read_text(encoding="utf-8") == f"{translated(lone, TEXT)}\n\n{translated(lone, 'Kabe robu.')}\n"
    assert status.billed_characters == len(TEXT) + len("Kabe robu.")
    assert not service.jobs._jobs, "what was fetched is kept no longer"
    handle = client.translate_document_upload(b"Deti.", target_lang="DE", source_lang="EN", filename="a.txt")
    assert client.translate_document_get_status(handle).status.value in ("queued", "translating", "done")
    stolen = deepl.DocumentHandle(handle.document_id, "0" * 64)
    with pytest.raises(deepl.DeepLException, match="the document key is not that of this document"):
        client.translate_document_get_status(stolen)
    with pytest.raises(deepl.DeepLException, match=r"'\.exe' is no known document; send "):
        client.translate_document_upload(b"MZ", target_lang="DE", filename="virus.exe")


@pytest.mark.usefixtures("often")
def test_deepl_glossaries(
    keyed: tuple[Service, str, str], lone: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, address, secret = keyed
    client = deepl.DeepLClient(secret, server_url=address)
    pair: Any = {"source_lang": "EN", "target_lang": "DE"}
    made = client.create_glossary("terms", "EN", "DE", {"Deti": "Xyxy"})
    other = client.create_glossary("others", "EN", "DE", {"Kabe": "Yzyz"})
    assert [found.glossary_id for found in client.list_glossaries()] == [made.glossary_id, other.glossary_id]
    found = client.get_glossary(made.glossary_id)
    assert (found.name, found.source_lang, found.target_lang, found.entry_count) == ("terms", "EN", "DE", 1)
    assert found.creation_time.tzname() == "UTC"
    assert client.get_glossary_entries(made) == {"Deti": "Xyxy"}
    for named in ({"glossary": made}, {"glossary": made.glossary_id}, {"glossary_ids": [made]}):
        assert "Xyxy" in client.translate_text("Deti gedi.", **pair, **named).text  # type: ignore[union-attr]
    named = {"auth_key": secret, "text": "Deti gedi.", "target_lang": "DE", "glossary_id": None}
    for ids in ([made.glossary_id], made.glossary_id):
        asked = json.dumps({**named, "glossary_ids": ids}).encode()
        assert "Xyxy" in ask(address, request("/v2/translate", asked)).json["translations"][0]["text"]
    source, target = tmp_path / "a.txt", tmp_path / "a.de.txt"
    source.write_text("Deti gedi.")
    client.translate_document_from_filepath(source, target, **pair, glossary=made)
    assert target.read_text() == client.translate_text("Deti gedi.", **pair, glossary=made).text  # type: ignore[union-attr]
    for wrong, message in (
        ({"glossary": "nonsense"}, "there is no such glossary; GET /v2/glossaries lists those that there are"),
        ({"glossary_ids": [made, other]}, "glossary_ids names 2 glossaries; join them, and name that one"),
    ):
        with pytest.raises(deepl.DeepLException, match=message):
            client.translate_text("Deti gedi.", **pair, **wrong)
        with pytest.raises(deepl.DeepLException, match=message):
            client.translate_document_upload(b"Deti.", filename="a.txt", **pair, **wrong)
    monkeypatch.setattr(service, "config", replace(service.config, max_glossaries=2))
    with pytest.raises(deepl.DeepLException, match="2 glossaries are kept, which is the limit; remove one"):
        client.create_glossary("third", "EN", "DE", {"Bapu": "Zxzx"})
    client.delete_glossary(made)
    client.delete_glossary(client.create_glossary("third", "EN", "DE", {"Bapu": "Zxzx"}))
    assert [kept.glossary_id for kept in client.list_glossaries()] == [other.glossary_id]
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made)


def test_a_document_keeps_its_kind_and_who_asks_for_another_is_told(address: str) -> None:
    client = deepl.DeepLClient("any", server_url=address)
    asked: Any = {"filename": "a.TXT", "source_lang": "EN", "target_lang": "DE"}
    assert client.translate_document_upload(b"Deti.", output_format="txt", **asked)
    with pytest.raises(
        deepl.DeepLException, match=r"'docx' is not that of 'a\.TXT', and no other is made; leave it out"
    ):
        client.translate_document_upload(b"Deti.", output_format="docx", **asked)


def test_libretranslatepy(address: str, lone: Translator) -> None:
    client = LibreTranslateAPI(f"{address}/")
    assert client.translate(TEXT, "en", "de") == translated(lone, TEXT)
    assert client.languages() == [{"code": "en", "name": "English", "targets": ["de"]}]


def test_deep_translator(keyed: tuple[Service, str, str], lone: Translator) -> None:
    _, address, secret = keyed
    client = LibreTranslator(source="en", target="de", custom_url=f"{address}/", api_key=secret)
    assert client.translate(TEXT) == translated(lone, TEXT)


def test_openai(keyed: tuple[Service, str, str], lone: Translator) -> None:
    _, address, secret = keyed
    text = f"{TEXT} Kabe robu.\n\nGedi."
    with openai.OpenAI(base_url=f"{address}/v1", api_key=secret, max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["en-de"]
        assert client.models.retrieve("en-de").owned_by == "yiwen"
        messages: Any = [{"role": "system", "content": "Translate."}, {"role": "user", "content": text}]
        answer = client.chat.completions.create(model="en-de", messages=messages, temperature=0.3)
        assert answer.choices[0].message.content == translated(lone, text)
        assert answer.usage is not None
        (src,), (tgt,) = lone.bundle.source.encode([text]), lone.bundle.target.encode([translated(lone, text)])
        told = (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens)
        assert told == (len(src), len(tgt), len(src) + len(tgt))
        chunks = list(client.chat.completions.create(model="en-de", messages=messages, stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == translated(lone, text)
        assert [chunk.choices[0].delta.role for chunk in chunks] == ["assistant", None, None, None]
        assert chunks[-1].choices[0].finish_reason == "stop"
        counted: Any = {"stream": True, "stream_options": {"include_usage": True}}
        *chunks, last = client.chat.completions.create(model="en-de", messages=messages, **counted)
        assert (last.choices, last.usage, {chunk.usage for chunk in chunks}) == ([], answer.usage, {None})
        for text in ("Deti gedi.\n\n", " "):  # what follows the last sentence comes too
            asked: Any = {"model": "en-de", "messages": [{"role": "user", "content": text}]}
            *chunks, last = client.chat.completions.create(**asked, **counted)
            assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == translated(lone, text)
            assert last.usage == client.chat.completions.create(**asked).usage
        with pytest.raises(openai.NotFoundError, match="there is no model 'gpt-9'; there is en-de"):
            client.chat.completions.create(model="gpt-9", messages=messages)
        with pytest.raises(openai.BadRequestError, match="no message is of the role 'user'"):
            client.chat.completions.create(model="en-de", messages=messages[:1])
    with (
        openai.OpenAI(base_url=f"{address}/v1", api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="the key is not valid"),
    ):
        client.models.list()


@pytest.mark.parametrize("none", [None, ""])
def test_no_format_is_text_as_with_libretranslate(none: str | None, address: str, lone: Translator) -> None:
    body = json.dumps({"q": TEXT, "source": "en", "target": "de", "format": none, "api_key": none}).encode()
    assert ask(address, request("/translate", body)).json == {"translatedText": translated(lone, TEXT)}


def test_mastodon_by_libretranslate(address: str, lone: Translator) -> None:
    body = {"q": [f"<p>{TEXT}</p>", "Kabe"], "source": "en", "target": "de", "format": "html", "api_key": ""}
    answer = ask(address, request("/translate", json.dumps(body).encode(), user_agent="Mastodon/4.4 (http.rb)"))
    assert answer.status == 200
    assert answer.json == {"translatedText": [f"<p>{translated(lone, TEXT)}</p>", translated(lone, "Kabe")]}
    one = ask_json(address, "/translate", {**body, "q": TEXT, "format": "text"}).json
    assert one == {"translatedText": translated(lone, TEXT)}
    languages = ask(address, request("/languages", method="GET")).json
    assert languages[0]["targets"] == ["de"]


def test_mastodon_by_deepl(address: str, lone: Translator) -> None:
    form = b"text=%3Cp%3EDeti+gedi+bapu.%3C%2Fp%3E&text=Kabe&source_lang=EN&target_lang=de&tag_handling=html"
    key = {"authorization": "DeepL-Auth-Key any"}
    answer = ask(address, request("/v2/translate", form, content_type=FORM, **key)).json
    assert [found["text"] for found in answer["translations"]] == [
        f"<p>{translated(lone, TEXT)}</p>",
        translated(lone, "Kabe"),
    ]
    assert {found["detected_source_language"] for found in answer["translations"]} == {"EN"}
    for side, code in (("source", "EN"), ("target", "DE")):
        languages = ask(address, request(f"/v2/languages?type={side}", method="GET", **key)).json
        assert [language["language"] for language in languages] == [code]


def test_weblate(address: str, lone: Translator) -> None:
    form = b"api_key=&q=Deti+gedi+bapu.&source=en&target=de"
    libre = ask(address, request("/translate", form, content_type=FORM))
    assert libre.json == {"translatedText": translated(lone, TEXT)}
    marked = 'Deti <x id="0"></x> gedi &amp; bapu.'
    body = {"text": [marked], "source_lang": "EN", "target_lang": "DE", "formality": "default", "tag_handling": "xml"}
    body["ignore_tags"] = ["x"]
    (found,) = ask_json(address, "/v2/translate", body).json["translations"]
    assert found["text"].count('<x id="0"></x>') == 1
    empty = "Deti <x id='1'/> gedi. <x id='2'/> Bapu deti."
    (found,) = ask_json(address, "/v2/translate", {**body, "text": [empty]}).json["translations"]
    whole = ask_json(address, "/v2/translate", {**body, "text": [empty], "ignore_tags": []}).json["translations"][0]
    assert found["text"] == whole["text"] != empty, "nothing stands inside of an element without content"
    kept = 'Deti <x id="0">%s gedi</x> bapu.'
    (found,) = ask_json(address, "/v2/translate", {**body, "text": [kept]}).json["translations"]
    assert '<x id="0">%s gedi</x>' in found["text"]
    assert ask(address, request("/v2/languages?type=target", method="GET")).status == 200


def test_deepls_splitting_tags_set_texts_apart(address: str, lone: Translator) -> None:
    text = "<par>Deti gedi</par><par>bapu</par>"
    body = {"text": [text], "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml", "splitting_tags": "par,x"}
    (found,) = ask_json(address, "/v2/translate", body).json["translations"]
    assert found["text"] == "".join(f"<par>{translated(lone, part)}</par>" for part in ("Deti gedi", "bapu"))


def test_the_outline_of_xml_ends_texts_for_deepls_clients(address: str, lone: Translator) -> None:
    body = {"text": ["<li>Deti gedi</li><li>bapu</li>"], "target_lang": "DE", "tag_handling": "xml"}
    (found,) = ask_json(address, "/v2/translate", body).json["translations"]
    assert found["text"] == "".join(f"<li>{translated(lone, part)}</li>" for part in ("Deti gedi", "bapu"))


@pytest.mark.parametrize("kind", ["0", "1", "nonewlines"])
def test_a_line_ends_a_text_for_deepls_clients_except_in_html(address: str, lone: Translator, kind: str) -> None:
    body = {"text": ["Deti gedi\nbapu"], "source_lang": "EN", "target_lang": "DE", "split_sentences": kind}
    apart, whole = (
        "\n".join(translated(lone, part) for part in ("Deti gedi", "bapu")),
        translated(lone, "Deti gedi bapu"),
    )
    for markup, expected in (("", apart), ("xml", apart), ("html", whole)):
        (found,) = ask_json(address, "/v2/translate", {**body, "tag_handling": markup}).json["translations"]
        assert found["text"] == expected


def test_a_form_in_plain_utf8_is_read(address: str) -> None:
    form = "q=狗。&source=en&target=de".encode()
    expected = ask(address, request("/translate", '{"q": "狗。", "source": "en", "target": "de"}'.encode())).json
    assert ask(address, request("/translate", form, content_type=FORM)).json == expected


def test_zotero_and_a_front_end(address: str, serve: Callable[..., str]) -> None:
    refused = ask(address, request("/translate", b'{"q": "a", "source": "en", "target": "xx", "format": "text"}'))
    assert refused.status == 400
    assert refused.json == {"error": "'en' to 'xx' is not translated here; there is en to de"}
    assert ask(address, request("/health", method="GET")).json == {"status": "ok"}
    assert ask(address, request("/health")).status == 405
    settings = ask(address, request("/frontend/settings", method="GET")).json
    assert settings["language"] == {
        "source": {"code": "en", "name": "English"},
        "target": {"code": "de", "name": "German"},
    }
    assert ".docx" in settings["supportedFilesFormat"]
    limits = {name: settings[name] for name in ("apiKeys", "keyRequired", "charLimit", "filesTranslation")}
    assert limits == {"apiKeys": False, "keyRequired": False, "charLimit": 5000, "filesTranslation": True}
    closed = serve(require_key=True, max_documents=0, max_text_chars=7)
    settings = ask(closed, request("/frontend/settings", method="GET")).json
    limits = {name: settings[name] for name in limits}
    assert limits == {"apiKeys": True, "keyRequired": True, "charLimit": 7, "filesTranslation": False}


def test_libretranslate_files_and_alternatives(address: str, lone: Translator) -> None:
    files = {"file": ("a.txt", b"Deti gedi bapu.", "text/plain")}
    with httpx.Client() as http:
        answer = http.post(f"{address}/translate_file", data={"source": "en", "target": "de"}, files=files).json()
        assert answer["translatedFileUrl"].startswith(f"{address}/download_file/")
        assert http.get(answer["translatedFileUrl"]).text == translated(lone, TEXT)
    body = {"q": TEXT, "source": "en", "target": "de", "alternatives": 2}
    found = ask_json(address, "/translate", body).json
    assert len(found["alternatives"]) == 2
    assert found["translatedText"] not in found["alternatives"]


def test_the_page_of_libretranslate_which_sends_forms_of_several_parts(
    keyed: tuple[Service, str, str], lone: Translator
) -> None:
    _, address, secret = keyed
    fields = {"q": TEXT, "source": "en", "target": "de", "format": "text", "api_key": secret}
    parts = [(name, (None, value)) for name, value in fields.items()]
    with httpx.Client(base_url=address, timeout=60) as http:
        assert http.post("/translate", files=parts).json() == {"translatedText": translated(lone, TEXT)}
        more = http.post("/translate", files=[*parts, ("alternatives", (None, "2"))]).json()
        assert len(more["alternatives"]) == 2
        texts = http.post("/translate", files=[*parts, ("q", (None, "Kabe"))]).json()["translatedText"]
        assert texts == [translated(lone, TEXT), translated(lone, "Kabe")]
        (told,) = http.post("/detect", files={"q": (None, TEXT), "api_key": (None, secret)}).json()
        assert {*told} == {"language", "confidence"}
        assert http.post("/translate", files=parts[:-1]).status_code == 403, "without a key"


def test_html_is_translated_as_well_where_alternatives_are_asked_for_which_it_has_not(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, translate = [], Way.translate

    def noted_and_translated(way: Way, texts: Sequence[str], **options: Any) -> list[Translation]:
        searches.append(options["search"])
        assert not options["with_scores"], "nobody sees them, and they take their time"
        return translate(way, texts, **options)

    monkeypatch.setattr(Way, "translate", noted_and_translated)
    for more, given in (({}, {}), ({"alternatives": 2}, {"alternatives": [[]]})):
        body = {"q": [f"<p>{TEXT}</p>"], "source": "en", "target": "de", "format": "html", **more}
        found = ask_json(address, "/translate", body).json
        assert {name: found[name] for name in found if name != "translatedText"} == given
    assert searches == [{"n_best": 1}] * 2, "where several are asked for, none is looked at for faults"


def test_text_with_tags_is_worked_on_no_longer_than_its_caller_waits(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: dict[str, Any] = {}

    def noting(name: str) -> Callable[..., Any]:
        do = getattr(Way, name)

        def noted(way: Way, *given: Any, **options: Any) -> Any:
            stops[name] = type(options["stop"])
            return do(way, *given, **options)

        return noted

    for name in ("translate", "align"):
        monkeypatch.setattr(Way, name, noting(name))
    body = {"text": ["Deti <b>gedi</b> bapu."], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"}
    assert ask_json(address, "/v2/translate", body).status == 200
    assert stops == {"translate": StopFlag, "align": StopFlag}


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_what_the_model_writes_is_never_markup(
    markup: str, exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each payload is the translation of whatever is asked."""
    service = service_of(tmp_path, exported_bundle, cache_bytes=0)
    payloads = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<a href='javascript:x'>y</a>"]
    payloads += ["&lt;b&gt;", "<svg/onload=alert(1)>", "\u202egnp.exe", "\x1b[2J", "]]><x>", "<!--", "a<b>c & d"]
    with running(service) as address:
        for payload in payloads:
            monkeypatch.setattr(
                "yiwen.text.subword.Subword.decode", lambda self, ids, payload=payload: [payload for _ in ids]
            )
            body = {
                "text": ["<p>Deti <b>gedi</b></p>"],
                "source_lang": "EN",
                "target_lang": "DE",
                "tag_handling": markup,
            }
            (found,) = ask_json(address, "/v2/translate", body).json["translations"]
            inside = found["text"]
            for tag in ("<p>", "</p>", "<b>", "</b>"):
                assert inside.count(tag) == 1
                inside = inside.replace(tag, "")
            assert "<" not in inside
    noted("X1", f"{len(payloads)} payloads as translations, {markup} mode", new_tags=0)


def test_what_deepls_clients_join_by_commas_is_taken_apart_and_glossaries_fit_their_pair(
    keyed: tuple[Service, str, str],
) -> None:
    service, address, secret = keyed
    with httpx.Client(timeout=60, base_url=address, headers={"authorization": f"DeepL-Auth-Key {secret}"}) as http:
        text = "Deti <x>gedi</x> bapu <y>gedi</y>."
        asked = {"text": text, "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}
        for nothing in ({"tag_handling": ""}, {"ignore_tags": None, "splitting_tags": None, "glossary_id": None}):
            plain = {"text": ["Deti."], "source_lang": "EN", "target_lang": "DE", **nothing}
            assert http.post("/v2/translate", json=plain).status_code == 200
        joined, listed = (
            http.post("/v2/translate", data={**asked, "ignore_tags": tags}).json() for tags in ("x,y", ["x", "y"])
        )
        assert joined == listed
        made: dict[str, str] = {"name": "g", "source_lang": "de", "target_lang": "en", "entries": "a\tb"}
        (key,) = service.store.all_keys()
        for src, tgt in (("de", "en"), ("en", "fr"), ("de", "de")):
            pair = {"source_lang": src, "target_lang": tgt}
            kept = service.store.add_glossary(owner=key.id, most=100, **{**made, **pair})
            assert kept is not None
            answer = http.post("/v2/translate", json={**asked, "text": [text], "glossary_id": kept.id})
            assert (answer.status_code, f"this glossary is for {src} to {tgt}" in answer.text) == (400, True)
        broken = {**made, "source_lang": "en", "target_lang": "de", "entries_format": "csv"}
        answer = http.post("/v2/glossaries", json={**broken, "entries": '\ufeff"big\nhouse",Haus\r\n"a, b",c,en,de\n'})
        terms = http.get(f"/v2/glossaries/{answer.json()['glossary_id']}/entries").text
        assert terms.split("\n") == ["big house\tHaus", "a, b\tc"]
        spaced = {**broken, "entries_format": "tsv", "entries": "a\tb\n\nc\td\n"}
        assert http.post("/v2/glossaries", json=spaced).json()["entry_count"] == 2
        most = csv.field_size_limit(1000)
        try:
            answer = http.post("/v2/glossaries", json={**broken, "entries": "a" * 2000})
        finally:
            csv.field_size_limit(most)
        assert (answer.status_code, "the glossary is not CSV near line 1 (" in answer.text) == (400, True)


def test_only_the_text_of_the_last_message_counts(address: str, lone: Translator) -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    said = {"role": "user", "content": [{"type": "text", "text": TEXT}]}
    body: dict[str, Any] = {"model": "en-de", "messages": [picture, said], "stream": None}
    answer = ask_json(address, "/v1/chat/completions", body).json
    assert answer["choices"][0]["message"]["content"] == translated(lone, TEXT)
    parts = [{"type": "text", "text": part} for part in ("Deti gedi.", "Bapu.")]
    answer = ask_json(address, "/v1/chat/completions", {**body, "messages": [{**said, "content": parts}]})
    assert answer.json["choices"][0]["message"]["content"] == translated(lone, "Deti gedi.\nBapu.")
    body["messages"].reverse()
    refused = ask_json(address, "/v1/chat/completions", body)
    assert refused.status == 422
    assert "a part of the message is of type 'image_url'; only text is translated" in refused.body.decode()


def test_lines_of_xml_are_lines_for_deepls_clients_too(address: str, lone: Translator) -> None:
    body = {"text": [f"{TEXT}\n\nKabe robu."], "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}
    (found,) = ask_json(address, "/v2/translate", body).json["translations"]
    assert found["text"] == f"{translated(lone, TEXT)}\n\n{translated(lone, 'Kabe robu.')}"
