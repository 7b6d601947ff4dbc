"""Our own API over a real socket: what goes in, what comes out, what is refused and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from yiwen.errors import DataError
from yiwen.translator import Translator


def post(http: httpx.Client, **fields: Any) -> httpx.Response:
    return http.post("/v1/translate", json={"source": "en", "target": "de", **fields})


def test_texts_are_translated_as_the_translator_translates_them(http: httpx.Client, exported_bundle: Path) -> None:
    texts = ["Deti gedi bapu.", "", "Kabe robu."]
    expected = Translator.load(exported_bundle, threads=1).translate(texts)
    answer = post(http, text=texts).json()
    assert [found["text"] for found in answer["translations"]] == [t.text for t in expected]
    # Sums of float32 depend on the shape of the batch.
    scores = [found["score"] for found in answer["translations"]]
    assert scores == pytest.approx([t.score for t in expected], abs=2e-5)
    assert answer["model"] == "en-de"
    (alone,) = post(http, text=texts[0]).json()["translations"]
    assert alone["text"] == answer["translations"][0]["text"]


def test_alternatives_come_best_first(http: httpx.Client) -> None:
    (found,) = post(http, text="Deti gedi bapu.", alternatives=3).json()["translations"]
    scores = [other["score"] for other in found["alternatives"]]
    assert scores == sorted(scores, reverse=True)
    assert found["alternatives"][0]["text"] == found["text"]
    assert len(scores) == 3


def test_the_page_and_its_modules_are_asked_for_anew(address: str) -> None:
    for path in ("/", "/page/main.js"):
        answer = httpx.get(f"{address}{path}")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize("more", [{"prefix": "Ki"}, {"alignment": True}, {"alternatives": 2}])
def test_a_stream_refuses_what_it_cannot_give(http: httpx.Client, more: dict[str, Any]) -> None:
    asked = {"text": "Deti gedi.", "source": "en", "target": "de", "stream": True} | more
    answer = http.post("/v1/translate", json=asked)
    assert (answer.status_code, "stream=true has no prefix, alignment or alternatives" in answer.text) == (422, True)


def test_every_api_keeps_to_the_limits(serve: Callable[..., str]) -> None:
    with httpx.Client(timeout=60, base_url=serve(max_alternatives=2)) as http:
        for n_more, status in ((1, 200), (2, 400)):
            asked = {"q": "Deti gedi.", "source": "en", "target": "de", "alternatives": n_more}
            answer = http.post("/translate", json=asked)
            assert answer.status_code == status
        assert answer.json()["error"] == "alternatives=2 is more than 1; ask for less"
    with httpx.Client(timeout=60, base_url=serve(max_alternatives=9, max_beam_size=9)) as http:
        answer = http.post("/translate", json=asked | {"alternatives": 8})
        assert (answer.status_code, len(answer.json()["alternatives"])) == (200, 8)
    with httpx.Client(timeout=60, base_url=serve(max_beam_size=2)) as http:
        assert post(http, text="Deti gedi.", alternatives=2).status_code == 200
        refused = post(http, text="Deti gedi.", alternatives=3)
        assert (refused.status_code, "alternatives=3 is more than 2" in refused.text) == (422, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/translate", {"text": "{}", "source": "en", "target": "de"}),
        ("/v1/translate", {"text": "{}", "source": "en", "target": "de", "stream": True}),
        ("/v1/detect", {"text": "{}"}),
        (
            "/v1/corrections",
            {"source": "en", "target": "de", "source_text": "{}", "translation": "", "correction": "a"},
        ),
        (
            "/v1/corrections",
            {"source": "en", "target": "de", "source_text": "a", "translation": "", "correction": "{}"},
        ),
        ("/v1/chat/completions", {"model": "en-de", "messages": [{"role": "user", "content": "{}"}]}),
        ("/v1/chat/completions", {"model": "en-de", "messages": [{"role": "user", "content": "{}"}], "stream": True}),
        ("/v2/translate", {"text": ["{}"], "target_lang": "DE"}),
        ("/v2/translate", {"text": ["{}"], "target_lang": "DE", "tag_handling": "html"}),
        ("/translate", {"q": "{}", "source": "auto", "target": "de"}),
        ("/detect", {"q": "{}"}),
    ],
)
def test_no_api_takes_a_longer_text(path: str, body: Any, http: httpx.Client) -> None:
    content = json.dumps(body).replace("{}", "a" * 5001)
    answer = http.post(path, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, "5001 characters in a text, the limit is 5000" in answer.text) == (413, True)


def test_a_text_that_no_model_was_asked_for_says_so(http: httpx.Client) -> None:
    german = "Die Leute sitzen vor dem Haus und sprechen nicht mit den Kindern."
    found = post(http, text=[german, "42 + 17"], source="auto").json()["translations"]
    assert [(each["text"], each["flags"]) for each in found] == [
        (german, ["already_target"]),
        ("42 + 17", ["passed_through"]),
    ]


def test_words_are_linked_in_what_a_model_was_asked_for_whatever_stands_beside_it(http: httpx.Client) -> None:
    body = {"text": "Deti gedi.\n" + "1234567 " * 600, "source": "en", "target": "de", "alignment": True}
    with_bom = b"\xef\xbb\xbf" + json.dumps(body).encode()
    answer = http.post("/v1/translate", content=with_bom, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["translations"]
    assert max(end for _, end in found["alignment"]["source"]) <= len("Deti gedi.")


def test_a_text_that_cannot_be_aligned_is_translated_all_the_same(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def align(*_: Any, **__: Any) -> None:
        raise DataError("it is longer than the model has positions for")

    monkeypatch.setattr(Translator, "align", align)
    (found,) = post(http, text="Deti gedi.", alignment=True).json()["translations"]
    assert found["text"]
    assert found["alignment"] is None
