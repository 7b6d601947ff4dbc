"""The service as the page sees it, without a model: the same paths, headers and shapes, answers that tests can foresee.

A word of the source becomes the same word in capitals, except for the sentences of a small phrase book. A test queues
refusals, holds answers back, and reads what was asked.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from yiwen.serve.guard import CONTENT_SECURITY

PHRASES: dict[str, list[tuple[str, str]]] = {
    "The river is quiet this morning.": [
        ("this", "今天"), ("morning", "早晨"), ("The river", "河水"), ("is", "很"), ("quiet", "平静"), (".", "。"),
    ],
    "Two herons stand in the shallow water.": [
        ("Two", "两只"), ("herons", "苍鹭"), ("stand", "站"), ("in", "在"), ("the shallow", "浅浅的"),
        ("water", "水里"), (".", "。"),
    ],
    "We will be there by 9:45.": [
        ("We", "我们"), ("will", "会"), ("by 9:45", "九点前"), ("be there", "到"), (".", "。"),
    ],
}  # fmt: skip
"""A source sentence and its translation, piece by piece in the order of the translation."""

LANGUAGES = [
    {"code": "en", "name": "English", "native": "English", "targets": ["zh", "ar"]},
    {"code": "zh", "name": "Chinese", "native": "中文", "targets": ["en"]},
    {"code": "ar", "name": "Arabic", "native": "العربية", "targets": ["en"]},
]
TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip

Json = dict[str, Any]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^\s.!?。！？][^.!?。！？\n]*[.!?。！？]*", text)]


def word_pairs(sentence: str) -> list[tuple[str, str]]:
    return PHRASES.get(sentence) or [(word, word.upper()) for word in re.findall(r"\w+|[^\w\s]+", sentence)]


def detected(text: str) -> str:
    if not re.search(r"[^\W\d_]", text):
        return "und"
    return "zh" if re.search(r"[\u4e00-\u9fff]", text) else "ar" if re.search(r"[\u0600-\u06ff]", text) else "en"


def in_order(links: list[tuple[list[int], list[int]]]) -> Json:
    """Words of both sides in the order of their texts, and which go together."""
    source, target = (sorted(pair[side] for pair in links) for side in (0, 1))
    return {
        "source": source,
        "target": target,
        "links": [[source.index(src), target.index(tgt), 0.8] for src, tgt in links],
    }


def translated(text: str, *, source: str, target: str, alignment: bool) -> Json:
    """What `/v1/translate` says about one text."""
    result, sentences, links = "", [], []
    end = 0
    for start, stop in sentence_spans(text):
        sentence, gap = text[start:stop], text[end:start]
        begin = len(result) + len(gap)
        result += gap
        for index, (src, tgt) in enumerate(word_pairs(sentence)):
            result += " " if index and sentence not in PHRASES and tgt.isalnum() else ""
            at = start + sentence.index(src)
            links.append(([at, at + len(src)], [len(result), len(result) + len(tgt)]))
            result += tgt
        flags = ["numbers"] if re.search(r"\d", sentence) else []
        sentences.append({"source": [start, stop], "target": [begin, len(result)], "flags": flags, "confidence": 0.9})
        end = stop
    return {
        "text": result, "source": source, "target": target, "score": -0.4,
        "confidence": 0.87, "flags": sorted({flag for sentence in sentences for flag in sentence["flags"]}),
        "alternatives": [], "sentences": sentences, "alignment": in_order(links) if alignment else None,
    }  # fmt: skip


def kept(text: str, *, source: str, target: str) -> Json:
    """What it says about a text that no model has to look at."""
    flags = ["already_target" if detected(text) == target else "passed_through"]
    sentence = {"source": [0, len(text)], "target": [0, len(text)], "flags": flags, "confidence": None}
    return {
        "text": text, "source": source, "target": target, "score": None, "confidence": None, "flags": flags,
        "alternatives": [], "sentences": [sentence], "alignment": None,
    }  # fmt: skip


@dataclass
class Refusal:
    status: int
    message: str = "refused"
    code: str = "no"
    retry_after: str | None = None


CUT = Refusal(200)
"""An answer that breaks off."""


@dataclass
class FakeService:
    """Its state; `url` is where the page is."""

    url: str = ""
    asked: list[tuple[str, Json]] = field(default_factory=list)
    """Paths and bodies of all calls."""
    refusals: dict[str, deque[Refusal]] = field(default_factory=dict)
    """What the next calls of a path are told instead of an answer."""
    key: str = ""
    """The only key that is accepted; empty: none is needed."""
    hold: threading.Event = field(default_factory=threading.Event)
    """Translations wait for it."""
    output: str | None = None
    """What every text is translated to, whatever it is."""
    max_alternatives: int = 8
    """To ask for more is refused."""
    progress: list[float] = field(default_factory=lambda: [0.4, 1.0])
    """How far the documents are at each look."""

    def __post_init__(self) -> None:
        self.hold.set()

    def refuse(self, path: str, *refusals: Refusal) -> None:
        self.refusals[path] = deque(refusals)

    def bodies(self, path: str) -> list[Json]:
        return [body for asked, body in self.asked if asked == path]

    def texts(self) -> list[str]:
        """Every text that was to be translated, in order."""
        return [text for body in self.bodies("/v1/translate") for text in texts_of(body)]

    def answer(self, method: str, path: str, body: Json) -> Json | bytes | list[Json] | Refusal:
        match [method, *path.split("/")[2:]]:
            case ["GET", "languages"]:
                return LANGUAGES
            case ["POST", "translate"]:
                self.hold.wait(30)
                return self.translate(body)
            case ["POST", "attention"]:
                return attention_of(body)
            case ["POST", "corrections"]:
                return {}
            case ["POST", "documents"]:
                return {"id": "a1"}
            case ["GET", "documents", "a1"]:
                done = self.progress.pop(0) if len(self.progress) > 1 else self.progress[0]
                status = "done" if done == 1 else "translating"
                return {"status": status, "progress": done, "filename": "x.txt", "error": None}
            case ["GET", "documents", "a1", "result"]:
                return "译文\n".encode()
            case ["DELETE", "documents", "a1"]:
                return {}
        raise AssertionError(f"{method} {path} is not asked for by the page")

    def translate(self, body: Json) -> Json | Refusal:
        source, target = body["source"], body["target"]
        leading = [language["code"] for language in LANGUAGES if target in language["targets"]]
        if source == "auto":
            found = detected("\n".join(texts_of(body)))
            source = found if found in leading else leading[0]
        if source not in leading:
            return Refusal(400, f"{source!r} to {target!r} is not translated here", code="language")
        if body.get("alternatives", 1) > self.max_alternatives:
            return Refusal(422, f"alternatives={body['alternatives']} is more than it gives", code="invalid")
        wants_words = bool(body.get("alignment"))
        answers = [
            kept(text, source=source, target=target)
            if detected(text) in (target, "und")
            else translated(text, source=source, target=target, alignment=wants_words)
            for text in texts_of(body)
        ]
        if self.output is not None:
            answers = [whole(answer, text, self.output) for answer, text in zip(answers, texts_of(body), strict=True)]
        n, prefix = body.get("alternatives", 1), body.get("prefix") or ""
        for answer in answers:
            answer["text"] = prefix + answer["text"][len(prefix) :]
            others = [prefix + f"{answer['text'][len(prefix) :]} ({index})" for index in range(2, n + 1)]
            answer["alternatives"] = [{"text": text, "score": -0.5} for text in others]
        return {"translations": answers, "model": "tiny", "took_ms": 12.3}


def whole(answer: Json, text: str, output: str) -> Json:
    """An answer with another translation, in one piece."""
    sentence = {"source": [0, len(text)], "target": [0, len(output)], "flags": []}
    return {**answer, "text": output, "sentences": [sentence], "alignment": None}


def texts_of(body: Json) -> list[str]:
    return [body["text"]] if isinstance(body["text"], str) else list(body["text"])


def attention_of(body: Json) -> Json:
    src = [f"▁{word}" for word in body["source_text"].split()] + ["</s>"]
    tgt = [*body["target_text"][:9], "</s>"]
    heads = [
        [[1.0 if j == (i + head) % len(src) else 0.0 for j in range(len(src))] for i in range(len(tgt))]
        for head in range(3)
    ]
    return {"source_tokens": src, "target_tokens": tgt, "layers": [{"heads": heads}, {"heads": heads}]}


def handler_for(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def _send(self, status: int, body: bytes, content_type: str, retry_after: str | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Security-Policy", CONTENT_SECURITY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if retry_after is not None:
                self.send_header("Retry-After", retry_after)
            self.end_headers()
            self.wfile.write(body)

        def _json(self, status: int, body: object, retry_after: str | None = None) -> None:
            self._send(status, json.dumps(body).encode(), "application/json", retry_after)

        def _refuse(self, refusal: Refusal) -> None:
            if refusal is CUT:
                self.send_response(200)
                self.send_header("Content-Length", "500")
                self.end_headers()
                self.wfile.write(b'{"transl')
                self.close_connection = True
                return
            self._json(refusal.status, {"error": refusal.message, "code": refusal.code}, refusal.retry_after)

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.path.startswith("/v1/"):
                name = "index.html" if self.path == "/" else self.path.removeprefix("/page/")
                page = resources.files("yiwen.serve") / "page" / name
                self._send(200, page.read_bytes(), TYPES[name.rpartition(".")[2]])
                return
            is_json = self.headers.get("Content-Type") == "application/json"
            body = json.loads(raw) if is_json else {"raw": raw.decode("utf-8", "replace")}
            service.asked.append((self.path, body))
            queued = service.refusals.get(self.path)
            if queued:
                refusal = queued.popleft()
                self._refuse(refusal)
            elif service.key and self.headers.get("Authorization") != f"Bearer {service.key}":
                self._json(401, {"error": "this service needs a key", "code": "key"})
            else:
                answer = service.answer(self.command, self.path, body)
                if isinstance(answer, Refusal):
                    self._refuse(answer)
                elif isinstance(answer, bytes):
                    self._send(200, answer, "application/octet-stream")
                else:
                    self._json(200, answer)

        def do_GET(self) -> None:
            try:
                self._serve()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the page has given this question up

        do_POST = do_DELETE = do_GET  # noqa: N815

    return Handler


@contextmanager
def running() -> Iterator[FakeService]:
    """A service on a free port of this machine."""
    service = FakeService()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(service))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        yield service
    finally:
        service.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
