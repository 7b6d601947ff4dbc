"""Languages as callers write them, ways through two models, texts whose language is not said, sentences one by one."""

from __future__ import annotations

import errno
import json
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import deepl
import httpx
import openai
import pytest
from services import running, service_of
from wire import ask, ask_json, request, translation

from tiny_model import TinyRun, exported, tampered
from yiwen.errors import CheckpointError, ConfigError
from yiwen.plan import Piece
from yiwen.search.config import SearchConfig
from yiwen.serve.batcher import Overloaded
from yiwen.serve.config import ServeConfig
from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import Pairs, Way
from yiwen.serve.service import Service
from yiwen.serve.store import Store
from yiwen.translator import Translation, Translator

T = "/v1/translate"
TEXT = "Deti gedi bapu."


@pytest.fixture(scope="module")
def bundles(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """en to de, de to zh-Hant, zh-Hant to en: one model under three names."""
    base = tmp_path_factory.mktemp("pairs")
    found = []
    for number, (src, tgt) in enumerate((("en-US", "de"), ("de", "zh_TW"), ("zh-Hant", "en"))):
        changed = tampered(tiny_run.best, base / f"t{number}", src_lang=src, tgt_lang=tgt)
        found.append(exported(changed, base / f"{number}"))
    return found


@pytest.fixture(scope="module")
def service(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    service = service_of(tmp_path_factory.mktemp("serve"), *bundles)
    with running(service) as address:
        yield service, address


def test_every_language_leads_to_every_other_directly_or_through_one(service: tuple[Service, str]) -> None:
    ways = service[0].pairs.ways
    assert {pair: len(way.hops) for pair, way in ways.items()} == {
        ("en", "de"): 1,
        ("de", "zh-Hant"): 1,
        ("zh-Hant", "en"): 1,
        ("en", "zh-Hant"): 2,
        ("de", "en"): 2,
        ("zh-Hant", "de"): 2,
        ("de", "zh-Hans"): 1,
        ("zh-Hans", "en"): 1,
        ("en", "zh-Hans"): 2,
        ("zh-Hans", "de"): 2,
    }
    assert ways["en", "zh-Hant"].name == "en-de-zh-Hant"


class Hop:
    """A model that says the same of every text."""

    tgt_lang = "de"
    bundle = SimpleNamespace(info=SimpleNamespace(search=SearchConfig()))

    def __init__(self, found: Translation) -> None:
        self._found = found
        self.asked: Any = None

    def translate(self, texts: Sequence[str], **options: Any) -> list[Translation]:
        self.asked = options.get("search")
        return [self._found] * len(texts)


@pytest.mark.parametrize(
    ("first", "last", "flags", "confidence"),
    [
        (((), 0.9), ((), 0.8), (), 0.8),
        ((("loop", "repaired"), 0.3), (("numbers",), 0.9), ("loop", "numbers", "repaired"), 0.3),
        (((), None), ((), 0.9), (), None),
        ((("already_target",), None), ((), 0.9), (), 0.9),
        ((("passed_through",), None), (("passed_through",), None), ("passed_through",), None),
    ],
)
def test_faults_of_the_first_of_two_models_are_those_of_the_whole(
    first: tuple[tuple[str, ...], float | None],
    last: tuple[tuple[str, ...], float | None],
    flags: tuple[str, ...],
    confidence: float | None,
) -> None:
    hops = tuple(Hop(Translation("b", 0.0, flags=found, confidence=sure)) for found, sure in (first, last))
    (whole,) = Way("zh", "de", hops).translate(["a"])  # type: ignore[arg-type]
    assert (whole.flags, whole.confidence) == (flags, confidence)


@pytest.mark.parametrize(
    ("asked", "beam_size", "n_best"),
    [
        (None, 5, 1),
        ({"beam_size": 2, "n_best": 1}, 2, 1),
        ({"beam_size": None, "n_best": 3}, 5, 3),
        ({"beam_size": 2, "n_best": 7}, 7, 7),
    ],
)
def test_a_caller_chooses_the_search_of_the_last_model_and_of_no_other(
    asked: dict[str, int | None] | None, beam_size: int, n_best: int
) -> None:
    hops = first, last = Hop(Translation("b", 0.0)), Hop(Translation("c", 0.0))
    last.bundle = SimpleNamespace(info=SimpleNamespace(search=SearchConfig(beam_size=5, length_penalty=0.3)))
    Way("zh", "de", hops).translate(["a"], search=asked)  # type: ignore[arg-type]
    assert first.asked is None
    assert last.asked == SearchConfig(beam_size=beam_size, n_best=n_best, length_penalty=0.3)


@pytest.mark.parametrize(
    ("rules", "asked", "found"),
    [
        (SearchConfig(mbr=4), {"n_best": 3}, SearchConfig(mbr=4, n_best=3)),
        (SearchConfig(mbr=4), {"n_best": 7}, SearchConfig(beam_size=7, mbr=7, n_best=7)),
        (SearchConfig(mbr=4, sampling=True), {"n_best": 7}, SearchConfig(mbr=7, n_best=7, sampling=True)),
    ],
)
def test_a_model_that_chooses_by_agreement_gives_as_many_translations_as_are_asked_for(
    rules: SearchConfig, asked: dict[str, int | None], found: SearchConfig
) -> None:
    hop = Hop(Translation("b", 0.0))
    hop.bundle = SimpleNamespace(info=SimpleNamespace(search=rules))
    Way("zh", "de", (hop,)).translate(["a"], search=asked)  # type: ignore[arg-type]
    assert hop.asked == found


def test_a_beam_for_a_model_that_samples_is_refused() -> None:
    hop = Hop(Translation("b", 0.0))
    hop.bundle = SimpleNamespace(info=SimpleNamespace(search=SearchConfig(sampling=True)))
    with pytest.raises(ConfigError, match=r"search\.beam_size: sampling has no beam"):
        Way("zh", "de", (hop,)).translate(["a"], search={"beam_size": 2})  # type: ignore[arg-type]


def test_what_no_model_was_asked_for_hides_no_model_without_confidence() -> None:
    parts = Piece(0, 2, 0, 2, flags=("passed_through",)), Piece(3, 5, 3, 5)
    first = Translation("42 b", 0.0, flags=("passed_through",), sentences=parts)
    hops = Hop(first), Hop(Translation("42 c", 0.0, confidence=0.9))
    (whole,) = Way("zh", "de", hops).translate(["a"])  # type: ignore[arg-type]
    assert whole.confidence is None


def test_nobody_knows_which_words_go_with_which_through_another_language() -> None:
    hops = Hop(Translation("b", 0.0)), Hop(Translation("c", 0.0))
    assert Way("zh", "de", hops).align(["a", "a"], ["c", "c"]) == [None, None]  # type: ignore[arg-type]


def test_a_way_through_two_is_one_after_the_other(service: tuple[Service, str], bundles: list[Path]) -> None:
    first, second = (Translator.load(folder, threads=1) for folder in bundles[:2])
    middle = first.translate([TEXT], by_sentence=True)[0].text
    expected = second.translate([middle], by_sentence=True)[0].text
    answer = ask(service[1], request(T, translation(TEXT, target="zh-Hant", alignment=True))).json
    (found,) = answer["translations"]
    assert (found["text"], answer["model"]) == (expected, "en-de-zh-Hant")
    assert (found["sentences"], found["alignment"]) == ([], None), "nobody knows them through another language"
    refused = ask_json(
        service[1], "/v1/attention", {"source_text": "a", "target_text": "b", "source": "en", "target": "zh-Hant"}
    )
    assert (refused.status, refused.json["code"]) == (404, "no_attention")


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("EN", "en"),
        ("en_GB", "en"),
        ("en-GB-oxendict", "en"),
        ("eng", "en"),
        ("English", "en"),
        ("ger", "de"),
        ("deu", "de"),
        ("Deutsch", "de"),
        ("eng_Latn", "en"),
        ("EN-LATN", "en"),
        ("zho_Hant", "zh-Hant"),
        ("中文", "zh-Hans"),
        ("zh-yue", "zh-yue"),
        ("de-AT", "de"),
        ("zh-TW", "zh-Hant"),
        ("zt", "zh-Hant"),
        ("ZH_HANT", "zh-Hant"),
        ("zh-hant-hk", "zh-Hant"),
        ("zh", "zh-Hant"),
        ("zh-CN", "zh-Hans"),
        ("en-Shaw", "en-Shaw"),
        ("xx", "xx"),
        ("", ""),
        ("-" * 30, "-" * 30),
    ],
)
def test_a_language_is_known_by_its_spellings(written: str, code: str, service: tuple[Service, str]) -> None:
    assert service[0].pairs.code(written) == code


def test_a_language_without_a_script_is_the_one_that_is_served() -> None:
    model: Any = SimpleNamespace()
    pairs = Pairs({("sr-Latn", "en"): model})
    assert {pairs.code(spelling) for spelling in ("sr", "SRP", "sr_Latn", "sr-RS")} == {"sr-Latn"}
    assert (pairs.code("sr-Cyrl"), pairs.code("latn")) == ("sr-Cyrl", "latn")
    assert Pairs({("en", "pt"): model}).code("pb") == "pt", "as LibreTranslate calls that of Brazil"


def test_old_codes_and_those_of_varieties_are_known() -> None:
    model: Any = SimpleNamespace()
    spellings = {"he": "iw", "id": "in IND", "fil": "tl", "ar": "arb arb_Arab", "fa": "pes_Arab prs", "ko": "kor_Hang"}
    for code, written in spellings.items():
        pairs = Pairs({("en", code): model})
        assert {pairs.code(spelling) for spelling in written.split()} == {code}


def test_norwegian_is_bokmal_where_only_one_of_them_is_served() -> None:
    model: Any = SimpleNamespace()
    for code, spellings in (("no", "no nb NB-NO no_NO Norsk"), ("nb", "nb no NO-no nob")):
        pairs = Pairs({(code, "en"): model})
        assert {pairs.code(spelling) for spelling in spellings.split()} == {code}
        assert pairs.code("nn") == "nn"
    both = Pairs({("no", "en"): model, ("nb", "en"): model})
    assert (both.code("no-NO"), both.code("nb_NO")) == ("no", "nb")


def test_glossaries_are_for_one_model_and_say_what_the_source_is(service: tuple[Service, str]) -> None:
    named = {"name": "g", "source_lang": "en", "entries": "a\tb"}
    with httpx.Client(timeout=60, base_url=service[1]) as http:
        refused = http.post("/v2/glossaries", json={**named, "target_lang": "zh"})
        told = {"message": "en-de-zh-Hant goes through another language; leave the glossary out"}
        assert (refused.status_code, refused.json()) == (400, told)
        made = http.post("/v2/glossaries", json={**named, "entries": "a\tb\n\nc\td\n", "target_lang": "de"}).json()
        assert made["entry_count"] == 2
        asked = {"text": ["我们喜欢看书。"], "target_lang": "de", "glossary_id": made["glossary_id"]}
        (found,) = http.post("/v2/translate", json=asked).json()["translations"]
        assert found["detected_source_language"] == "EN"


def test_a_pair_whose_model_can_keep_no_terms_is_offered_no_glossary_and_takes_none(
    bundles: list[Path], tmp_path: Path
) -> None:
    without_weights = shutil.copytree(bundles[0], tmp_path / "exported")
    (without_weights / "model.safetensors").unlink()
    service = service_of(tmp_path, without_weights, bundles[1])
    terms = {"name": "g", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    with running(service) as address, httpx.Client(timeout=60, base_url=address) as http:
        pairs = http.get("/v2/glossary-language-pairs").json()["supported_languages"]
        assert pairs == [{"source_lang": "de", "target_lang": "zh"}]
        kept = service.store.add_glossary(owner="", most=1, **terms)  # as long as there was another model
        assert kept is not None
        for answer in (
            http.post("/v2/glossaries", json=terms),
            http.post("/v2/translate", json={"text": ["Deti."], "target_lang": "de", "glossary_id": kept.id}),
            http.post(T, json={"text": "Deti.", "target": "de", "glossary": [{"source": "a", "target": "b"}]}),
        ):
            assert answer.status_code == 400
            assert "en-de keeps to no terms" in answer.text
            assert str(tmp_path) not in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (T, translation(TEXT, stream=True)),
        (
            "/v1/chat/completions",
            b'{"model": "en-de", "stream": true, "messages": [{"role": "user", "content": "Deti."}]}',
        ),
    ],
)
def test_an_old_client_gets_a_stream_in_one_part(path: str, body: bytes, service: tuple[Service, str]) -> None:
    """RFC 9112, section 6.1: no Transfer-Encoding to HTTP/1.0."""
    old = ask(service[1], request(path, body).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
    assert (old.status, old.is_whole, "transfer-encoding" in old.headers) == (200, True, False)
    assert int(old.headers["content-length"]) == len(old.body) > 0


def test_what_is_not_served_is_told_with_what_is(service: tuple[Service, str]) -> None:
    all_of_them, from_chinese_first = "de to en, de to zh-Hans, de to zh-Hant, en to de", "zh-Hans to de, zh-Hans to en"
    for src, tgt, known in (("fr", "de", all_of_them), ("zh-CN", "zh-TW", from_chinese_first)):
        with pytest.raises(ApiError, match=f"'{src}' to '{tgt}' is not translated here; there is {known}"):
            service[0].pairs.way(src, tgt)


def test_of_many_pairs_thirty_are_told_those_from_the_language_first() -> None:
    hop: Any = Hop(Translation("b", 0.0))
    pairs = Pairs({("en", f"x{n:02}"): hop for n in range(40)} | {("zz", "en"): hop})
    with pytest.raises(ApiError) as refused:
        pairs.way("zz", "fr")
    told = str(refused.value).partition("there is ")[2]
    assert told.startswith("zz to en, ")
    assert told.count(" to ") == 30
    assert told.endswith(f" and {len(pairs.ways) - 30} more")


def test_chinese_is_served_in_both_scripts_by_one_model_and_engine(service: tuple[Service, str]) -> None:
    pairs = service[0].pairs
    own, other = (pairs.ways["de", code].hops[0] for code in ("zh-Hant", "zh-Hans"))
    assert other.engine is own.engine
    assert (own.tgt_lang, other.tgt_lang) == ("zh_TW", "zh-Hans")
    assert len(pairs.engines) == 3
    (found,) = ask(service[1], request(T, translation("头发", source="de", target="zh-CN"))).json["translations"]
    assert (found["text"], found["flags"]) == ("头发", ["already_target"])
    (found,) = ask(service[1], request(T, translation("头发", source="de", target="zh-TW"))).json["translations"]
    assert found["text"] == "頭髮"


def test_deepls_client_may_ask_for_every_target_that_it_is_told_of(service: tuple[Service, str]) -> None:
    client = deepl.DeepLClient("any", server_url=service[1])
    targets = {language.code: language.name for language in client.get_target_languages()}
    assert [*targets] == ["DE", "EN-GB", "EN-US", "ZH-HANS", "ZH-HANT"]  # of EN and PT it wants to know which kind
    assert targets["EN-GB"] == "English (British)"
    for code in targets:
        client.translate_text(TEXT, source_lang="EN" if code == "DE" else "DE", target_lang=code)


def test_a_glossary_of_deepls_client_is_for_both_scripts(service: tuple[Service, str]) -> None:
    client = deepl.DeepLClient("any", server_url=service[1])
    assert ("de", "zh") in [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]
    made = client.create_glossary("terms", "DE", "ZH", {"Deti": "头发"})
    assert (made.source_lang, made.target_lang) == ("DE", "ZH")
    for code, term in (("ZH", "頭髮"), ("ZH-HANT", "頭髮"), ("ZH-HANS", "头发")):  # the model writes Traditional
        found = client.translate_text("Deti gedi.", source_lang="DE", target_lang=code, glossary=made)
        assert term in found.text, code  # type: ignore[union-attr]


def test_a_text_in_no_named_language_is_told_apart(service: tuple[Service, str]) -> None:
    address = service[1]
    for text, source in (
        ("這是一個測試，我們在這裡。", "zh-Hant"),
        ("The dog is in the house and it is very happy to be there.", "en"),
        ("42", "en"),
    ):
        (found,) = ask(address, request(T, translation(text, source="auto"))).json["translations"]
        assert found["source"] == source, text
        asked = json.dumps({"text": [text], "target_lang": "DE"}).encode()
        (deepl_s,) = ask(address, request("/v2/translate", asked)).json["translations"]
        assert deepl_s["detected_source_language"] == source[:2].upper(), "DeepL's clients know no scripts of sources"
        assert all(piece["confidence"] is None for piece in found["sentences"]), "the model is not calibrated"
    found = ask(
        address, request("/v1/detect", '{"text": "Der Hund ist nicht mit dem Mann auf der Straße."}'.encode())
    ).json
    assert found[0]["language"] == "de"
    assert 0 < found[0]["confidence"] <= 1
    libre = ask(
        address, request("/detect", b"q=The+dog+is+in+the+house", content_type="application/x-www-form-urlencoded")
    )
    assert libre.json[0]["language"] == "en"
    assert 1 < libre.json[0]["confidence"] <= 100
    for text, at_least, at_most in (("這是一個測試。", 100, 100), ("這是一個測試 test。", 50, 99), ("42", 0, 0)):
        asked = json.dumps({"q": text, "source": "auto", "target": "en"}).encode()
        detected = ask(address, request("/translate", asked)).json["detectedLanguage"]
        assert at_least <= detected["confidence"] <= at_most, text
        assert detected["language"] == "zh-Hant", "a number is what it was translated from"
    asked = json.dumps({"q": "Das ist ein Satz in der Sprache, in die er soll.", "source": "auto", "target": "de"})
    detected = ask(address, request("/translate", asked.encode())).json["detectedLanguage"]
    assert detected["language"] == "de"
    assert detected["confidence"] > 50
    several = {"q": ["The dog.", "Das ist ein Satz, der nach dem anderen kommt."], "source": "auto", "target": "en"}
    told = ask_json(address, "/translate", several).json["detectedLanguage"]
    assert [each["language"] for each in told] == ["de", "de"], "what it is is told from all of them"


def test_what_language_it_is_is_told_from_all_texts_and_not_from_their_beginning(
    service: tuple[Service, str],
) -> None:
    pairs = service[0].pairs
    german, english = "Der Hund ist nicht mit dem Mann auf der Straße.", "The dog is in the house with the man."
    assert pairs.detect("4711 / 0815 / 42\n" * 9 + german)[0] == "de"
    for texts, src in (["42", german], "de"), ([german, "42"], "de"), (["42", english], "en"):
        assert pairs.way_of(texts, "auto", "zh-Hant").src == src
    assert pairs.way_of([english], "auto", "en").src == "de", "the likeliest of those that lead there"


def test_a_text_certainly_in_a_language_that_does_not_lead_there_is_refused() -> None:
    hop: Any = Hop(Translation("b", 0.0))
    pairs = Pairs({("en", "de"): hop, ("en", "fr"): hop})
    german, english = "Der Hund ist nicht mit dem Mann auf der Straße.", "The dog is in the house with the man."
    for text, markup in ((german, None), (f"<p>{german}</p>", "html")):
        with pytest.raises(ApiError, match="'de' to 'fr' is not translated here; there is en to de, en to fr"):
            pairs.way_of([text], "auto", "fr", markup=markup)
    for text, tgt in ((german, "de"), (english, "fr"), ("Der Hund.", "fr"), ("42", "fr")):
        assert pairs.way_of([text], "auto", tgt).src == "en", "its own, the target's, or doubtful"
    chinese = '<p class="note"><b>我</b>喜欢<b>狗</b>。</p>'
    with pytest.raises(ApiError, match="'zh-Hans' to 'de' is not"):
        Pairs({("en", "de"): hop, ("de", "zh-Hans"): hop}).way_of([chinese], "auto", "de", markup="html")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("html", "<p>&#36889;&#26159;&#19968;&#20491;&#28204;&#35430;&#12290;</p>"),
        ("html", '<span translate="no"><a href="https://example.org/@bob">@<b>bob</b></a></span> ' * 3 + "這是。"),
        ("html", "<style>.quote { color: red; background: blue; margin: auto }</style>這是。"),
        ("html", f'<img alt="" src="data:image/png;base64,{"iVBORw0KGgo" * 200}">這是。'),
        ("xml", f'<x note="{"what stands here in the other file " * 60}"/>這是。'),
    ],
    ids=["entities", "mentions", "style", "data", "attribute"],
)
def test_tags_say_nothing_about_the_language(markup: str, text: str, service: tuple[Service, str]) -> None:
    assert service[0].pairs.way_of([text], "auto", "de").src == "en", "in plain text they are text"
    asked = {"text": [text], "target_lang": "DE", "tag_handling": markup}
    (found,) = ask_json(service[1], "/v2/translate", asked).json["translations"]
    assert found["detected_source_language"] == "ZH"
    if markup == "html":
        asked = {"q": text, "source": "auto", "target": "de", "format": markup}
        told = ask_json(service[1], "/translate", asked).json["detectedLanguage"]
        assert told == {"language": "zh-Hant", "confidence": 100.0}


def test_languages_are_named_in_both_languages(service: tuple[Service, str]) -> None:
    found = httpx.get(f"{service[1]}/v1/languages").json()
    assert {"code": "zh-Hant", "name": "Chinese (Traditional)", "native": "繁體中文", "targets": ["de", "en"]} in found


@pytest.mark.parametrize("glossary", [(), ({"source": "robu! deti", "target": "haus"},)])
def test_a_long_text_comes_sentence_by_sentence_and_is_the_same(
    glossary: Sequence[dict[str, str]], service: tuple[Service, str]
) -> None:
    address = service[1]
    text = f"{TEXT} Kabe robu.\n\n  Gedi bapu! 7 robu. " + "Robu gedi. " * 18 + "Robu! Deti gedi."
    whole = ask(address, request(T, translation(text, glossary=glossary))).json["translations"][0]
    asked = translation(text, stream=True, glossary=glossary)
    with httpx.stream("POST", f"{address}{T}", content=asked, headers={"content-type": "application/json"}) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in answer.read().decode().strip().split("\n")]
    assert lines[-1] == {"done": True}
    assert "numbers" in lines[3]["flags"]
    assert [line["sentence"] for line in lines[:-1]] == list(range(23 if glossary else 24))
    assert bool(glossary) == ("haus" in lines[-2]["text"].lower())  # the term goes over the end of a sentence
    spans = [tuple(line["source"]) for line in lines[:-1]]
    assert spans == [tuple(sentence["source"]) for sentence in whole["sentences"]]
    assert text[slice(*spans[2])] == "Gedi bapu!"
    for line, sentence in zip(lines, whole["sentences"], strict=False):
        assert line["text"] == whole["text"][slice(*sentence["target"])]
        assert (line["flags"], line["confidence"]) == (sentence["flags"], sentence["confidence"])


def test_the_pieces_of_a_stream_grow_from_one_sentence_to_sixteen(
    service: tuple[Service, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is there at once, and those of a long text ride together."""
    sizes: list[int] = []

    def translate(way: Way, texts: Sequence[str], **options: Any) -> list[Translation]:
        sizes.append(len(texts))
        return [Translation("Reta.", 0.0) for _ in texts]

    monkeypatch.setattr(Way, "translate", translate)
    assert ask(service[1], request(T, translation("Robu gedi. " * 53, stream=True))).status == 200
    assert sizes == [1, 2, 4, 8, 16, 16, 6]


def test_latin_words_of_two_chinese_sentences_stay_apart_in_a_stream_too(
    service: tuple[Service, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yiwen.text.subword.Subword.decode", lambda self, ids: ["HTTP" for _ in ids])
    asked: Any = {"model": "de-zh-Hant", "messages": [{"role": "user", "content": "Deti gedi. Kabe robu."}]}
    with openai.OpenAI(base_url=f"{service[1]}/v1", api_key="any", max_retries=0) as client:
        whole = client.chat.completions.create(**asked).choices[0].message.content
        chunks = client.chat.completions.create(**asked, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole == "HTTP HTTP"


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (Overloaded("full"), "full", "overloaded"),
        (CheckpointError("gone"), "it was replaced on disk; have the service reload (SIGHUP)", "model"),
        (RuntimeError("boom"), "something failed here; the log of the service says where", "internal"),
    ],
)
@pytest.mark.parametrize(
    ("path", "asked", "end"),
    [
        (T, {"text": "{}", "source": "en", "target": "de"}, '{"error":"MESSAGE","code":"CODE"}\n'),
        (
            "/v1/chat/completions",
            {"model": "en-de", "messages": [{"role": "user", "content": "{}"}]},
            'data: {"error":{"message":"MESSAGE","type":"CODE","param":null,"code":"CODE"}}\n\ndata: [DONE]\n\n',
        ),
    ],
)
def test_a_stream_that_fails_on_its_way_says_so_at_its_end_and_costs_what_came(
    path: str,
    asked: Any,
    end: str,
    error: Exception,
    message: str,
    code: str,
    exported_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def translate(way: Way, texts: Sequence[str], **options: Any) -> list[Translation]:
        if texts != [TEXT]:
            raise error
        return [Translation("Reta.", 0.0)]

    monkeypatch.setattr(Way, "translate", translate)
    caplog.set_level(logging.INFO, logger="yiwen.serve")
    service = service_of(tmp_path, exported_bundle)
    body = json.dumps({**asked, "stream": True}).replace("{}", f"{TEXT} Kabe robu. Gedi bapu.")
    with running(service) as address:
        answer = httpx.post(f"{address}{path}", content=body, headers={"content-type": "application/json"})
    assert answer.text.count("Reta.") == 1
    *told, request = (vars(record) for record in caplog.records if record.name == "yiwen.serve")
    assert [each["message"] for each in told] == {"model": ["model"], "internal": ["failed"]}.get(code, [])
    assert {each["request_id"] for each in told if each["message"] == "failed"} <= {request["request_id"]}
    assert (request["path"], request["status"], request["characters"]) == (path, 200, len(TEXT))
    assert answer.text.endswith(end.replace("MESSAGE", message).replace("CODE", code))
    assert service.store.used("") == len(TEXT)


def test_a_stream_that_cannot_begin_has_a_status_and_a_blank_one_ends_at_once(service: tuple[Service, str]) -> None:
    address = service[1]
    assert ask(address, request(T, translation("a", target="xx", stream=True))).status == 400
    assert ask(address, request(T, translation("a" * 6000, stream=True))).status == 413
    assert (
        httpx.post(f"{address}{T}", json={"text": " ", "source": "en", "target": "de", "stream": True}).text
        == '{"done":true}\n'
    )


def test_words_are_linked_in_the_whole_text(service: tuple[Service, str]) -> None:
    text = f"{TEXT} Kabe robu."
    (found,) = ask(service[1], request(T, translation(text, alignment=True))).json["translations"]
    words = found["alignment"]
    assert [text[start:end] for start, end in words["source"]] == ["Deti", "gedi", "bapu", ".", "Kabe", "robu", "."]
    assert all(0 <= i < len(words["source"]) and 0 <= j < len(words["target"]) for i, j, _ in words["links"])
    assert all(0 < weight <= 1 for _, _, weight in words["links"])
    boundary = found["sentences"][1]
    for i, j, _ in words["links"]:
        is_second = (words["source"][i][0] >= boundary["source"][0], words["target"][j][0] >= boundary["target"][0])
        assert is_second in ((True, True), (False, False)), "no link leaves its sentence"


def test_a_prefix_is_kept(service: tuple[Service, str]) -> None:
    (found,) = ask(service[1], request(T, translation(TEXT, prefix="Soto"))).json["translations"]
    assert found["text"].startswith("Soto")


def test_heads_of_every_layer_are_shown(service: tuple[Service, str], monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"source_text": "Deti gedi.", "target_text": "Reta lire.", "source": "en", "target": "de"}
    answer = ask_json(service[1], "/v1/attention", body).json
    assert (answer["source_tokens"][-1], answer["target_tokens"][-1]) == ("</s>", "</s>")
    assert len(answer["layers"]) == 1
    assert len(answer["layers"][0]["heads"]) == 2
    for head in answer["layers"][0]["heads"]:
        assert len(head) == len(answer["target_tokens"])
        assert all(sum(row) == pytest.approx(1, abs=1e-3) and len(row) == len(answer["source_tokens"]) for row in head)
    longer = ask_json(service[1], "/v1/attention", {**body, "target_text": "Reta " * 300})
    assert (longer.status, "the model has positions for" in longer.json["error"]) == (400, True)
    monkeypatch.setattr("yiwen.serve.attention.MOST_WEIGHTS", 3)
    long = ask_json(service[1], "/v1/attention", body)
    assert long.status == 400
    assert "attention weights are too many for one answer; send one sentence" in long.json["error"]
    blank = ask_json(service[1], "/v1/attention", {**body, "source_text": " "})
    assert (blank.status, blank.json["error"]) == (400, "a text without words has no attention; send one with words")
    monkeypatch.setattr("yiwen.serve.attention.find_spec", lambda name: None)
    without_torch = ask_json(service[1], "/v1/attention", body)
    assert (without_torch.status, without_torch.json["code"]) == (404, "no_attention")


def test_heads_are_those_of_the_model_that_is_served_now(tiny_run: TinyRun, tmp_path: Path) -> None:
    body = {"source_text": "Deti gedi.", "target_text": "Reta lire.", "source": "en", "target": "de"}
    shown = []
    exported(tiny_run.best, tmp_path / "bundle")
    service = service_of(tmp_path, tmp_path / "bundle")
    with running(service) as address:
        for other in (tiny_run.early, None):
            shown.append(ask_json(address, "/v1/attention", body).body)
            if other is not None:
                shutil.rmtree(tmp_path / "bundle")
                exported(other, tmp_path / "bundle")
                service.reload()
    assert shown[0] != shown[1]


def test_a_model_that_was_replaced_on_disk_is_asked_for_nothing_until_it_is_read_again(
    tiny_run: TinyRun, tmp_path: Path
) -> None:
    bundle = exported(tiny_run.best, tmp_path / "bundle")
    heads = {"source_text": "Deti gedi.", "target_text": "Reta lire.", "source": "en", "target": "de"}
    terms = translation(TEXT, glossary=[{"source": "deti", "target": "haus"}])
    asked = [request("/v1/attention", json.dumps(heads).encode()), request(T, terms)]
    service = service_of(tmp_path, bundle)
    with running(service) as address:
        shutil.rmtree(bundle)
        exported(tiny_run.early, bundle)
        assert ask(address, request(T, translation(TEXT))).status == 200
        for refused in [ask(address, each) for each in asked]:
            assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (503, "model", "30")
            assert refused.json["error"] == "it was replaced on disk; have the service reload (SIGHUP)"
        service.reload()
        assert [ask(address, each).status for each in asked] == [200, 200]


def test_hangups_that_overlap_leave_what_is_on_disk_at_the_last(tmp_path: Path) -> None:
    made: list[Fake] = []
    on_disk = "first"
    is_opening, is_swapped = threading.Event(), threading.Event()

    class Fake:
        """Bundles as they are on disk; the second take longer to open than the third, if both may be opened at once."""

        is_closed = False

        def __init__(self, **options: object) -> None:
            self.name = on_disk
            made.append(self)
            if self.name == "second":
                is_opening.set()
                is_swapped.wait(0.3)

        def close(self) -> None:
            self.is_closed = True

    state: Any = Service(ServeConfig(), Fake, Store(f"sqlite:///{tmp_path}/x.sqlite"), folder=tmp_path)  # type: ignore[arg-type]
    on_disk = "second"
    hangup = threading.Thread(target=state.reload)
    hangup.start()
    assert is_opening.wait(60)
    on_disk = "third"
    state.reload()
    is_swapped.set()
    hangup.join()
    assert state.pairs.name == "third"
    assert {pairs.name: pairs.is_closed for pairs in made} == {"first": True, "second": True, "third": False}


def test_a_model_without_its_weights_shows_no_heads(tiny_run: TinyRun, tmp_path: Path) -> None:
    bundle = exported(tiny_run.best, tmp_path / "bundle", has_weights=False)
    body = {"source_text": "Deti.", "target_text": "Reta.", "source": "en", "target": "de"}
    with running(service_of(tmp_path, bundle)) as address:
        found = ask_json(address, "/v1/attention", body)
    assert (found.status, found.json["code"]) == (404, "no_attention")


def test_corrections_are_a_corpus(service: tuple[Service, str], tmp_path: Path) -> None:
    from yiwen.data.corpus import CorpusConfig, read_blocks

    state, address = service
    for text, right in (("Deti\tgedi.", "Reta\nlire."), ("=cmd|' /C calc'", "Soto.")):
        body = {"source": "EN", "target": "de-AT", "source_text": text, "translation": "x", "correction": right}
        assert ask_json(address, "/v1/corrections", body).json == {"status": "kept"}
    file = state.folder / "corrections.en-de.tsv"
    assert file.read_text(encoding="utf-8") == "Deti gedi.\tReta lire.\n=cmd|' /C calc'\tSoto.\n"
    assert file.stat().st_mode & 0o077 == 0, "nobody else reads what users wrote"
    blank = ask_json(address, "/v1/corrections", {**body, "correction": " \n"})
    assert (blank.status, "correction = ' \\n': String should match" in blank.json["error"]) == (422, True)
    (block,) = read_blocks(CorpusConfig(path=str(file)), base=tmp_path, src_lang="en", tgt_lang="de")
    assert block.src == [b"Deti gedi.", b"=cmd|' /C calc'"]
    assert block.tgt == [b"Reta lire.", b"Soto."]


def test_a_correction_that_a_full_disk_cuts_short_is_not_kept_at_all(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from yiwen.serve.api_v1 import _append
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
        for line in ("Deti gedi.\\tReta lire.\\n", "Bapu deti reta.\\tSoto mira lire.\\n", "Deti.\\tReta.\\n"):
            try:
                _append(Path(sys.argv[1]), line.encode())
            except OSError as error:
                print(error.strerror)
    """
    file = tmp_path / "corrections.tsv"
    done = subprocess.run([sys.executable, "-c", dedent(code), file], capture_output=True, text=True, check=True)
    assert done.stdout == "No space left on device\n"
    assert file.read_text(encoding="utf-8") == "Deti gedi.\tReta lire.\nDeti.\tReta.\n"


def test_a_correction_for_which_the_disk_has_no_room_is_refused_with_the_reason(
    exported_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "corrections.en-de.tsv").symlink_to("/dev/full")
    body = {"source": "en", "target": "de", "source_text": "Deti.", "translation": "x", "correction": "Reta."}
    with running(service_of(tmp_path, exported_bundle)) as address:
        refused = ask_json(address, "/v1/corrections", body)
    message = "the disk takes nothing (No space left on device); tell whoever runs the service"
    assert (refused.status, refused.json) == (507, {"error": message, "code": "disk"})
    (line,) = [record for record in caplog.records if record.message == "disk"]
    assert line.__dict__["problem"] == "[Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EROFS, "Read-only file system"),
        (errno.EACCES, "Permission denied"),
        (errno.EFBIG, "File too large"),
        (errno.ENOENT, "No such file or directory"),
    ],
)
def test_a_correction_that_may_not_be_written_is_refused_with_the_reason(
    code: int, reason: str, exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(code, reason, "corrections.en-de.tsv")

    monkeypatch.setattr("yiwen.serve.api_v1._append", refuse)
    body = {"source": "en", "target": "de", "source_text": "Deti.", "translation": "x", "correction": "Reta."}
    with running(service_of(tmp_path, exported_bundle)) as address:
        refused = ask_json(address, "/v1/corrections", body)
    message = f"the disk takes nothing ({reason}); tell whoever runs the service"
    assert (refused.status, refused.json) == (507, {"error": message, "code": "disk"})


@pytest.mark.parametrize(("written", "code"), [("zh", "zh-Hant"), ("ZH-CN", "zh-Hans"), ("en_GB.UTF-8", "en")])
def test_a_document_says_the_language_that_it_was_translated_into(
    written: str, code: str, service: tuple[Service, str]
) -> None:
    with httpx.Client(timeout=60, base_url=service[1]) as http:
        form = {"source": "de", "target": written}
        job = http.post("/v1/documents", files={"file": ("a.html", b'<html lang="de">Deti</html>')}, data=form).json()
        assert service[0].jobs._jobs[job["id"]].finished.wait(60)
        assert f'<html lang="{code}">' in http.get(f"/v1/documents/{job['id']}/result").text
