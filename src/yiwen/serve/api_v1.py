"""Our own API: everything that a translator knows, in one answer."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from yiwen.documents.placing import joined
from yiwen.errors import DataError
from yiwen.plan import Piece
from yiwen.serve.attention import attention_of
from yiwen.serve.call import Call, glossary_of
from yiwen.serve.endpoint import V1, Endpoint, Texts, Upload
from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import AS_IT_IS, Way
from yiwen.serve.streaming import by_sentence, streamed
from yiwen.stop import StopFlag
from yiwen.text.languages import name_of
from yiwen.translator import Translation

Code = Annotated[str, Field(max_length=35, description="A code of /v1/languages; as source also `auto`.")]
Expression = Annotated[str, Field(max_length=200, pattern=r"^[^\t\r\n]*$")]


class Strict(BaseModel):
    """A request in which a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Term(Strict):
    """How one expression is to be translated; an empty target, or the source itself: it stays as it is."""

    source: Expression
    target: Expression


class TranslateRequest(Strict):
    """One text or several, and how they are to be translated."""

    text: Texts
    source: Code = "auto"
    target: Code
    beam_size: int | None = Field(None, ge=1, description="Hypotheses kept; the model's own setting if not given.")
    alternatives: int = Field(1, ge=1, description="Translations of each text.")
    prefix: Texts | None = Field(None, description="What the translation has to start with; one a text.")
    alignment: bool = Field(False, description="Which words go with which.")
    glossary: list[Term] = Field(default=[], max_length=200)
    stream: bool = Field(False, description="One text, sentence by sentence, a JSON object a line.")


class DetectRequest(Strict):
    """A text of unknown language."""

    text: str


class AttentionRequest(Strict):
    """A sentence and a translation of it."""

    source_text: str = Field(min_length=1, max_length=2000)
    target_text: str = Field(min_length=1, max_length=2000)
    source: Code
    target: Code


class Correction(Strict):
    """What a translation should have been."""

    source: Code
    target: Code
    source_text: str = Field(pattern=r"\S")
    translation: str
    correction: str = Field(pattern=r"\S")


class DocumentForm(Upload):
    """A file and its languages."""

    source: Code = "auto"
    target: Code


async def translate(asked: TranslateRequest, call: Call) -> Any:
    """Translate texts."""
    started = time.perf_counter()
    config = call.service.config
    most = min(config.max_alternatives, config.max_beam_size)  # a beam is as wide as what is asked for
    for name, limit in (("alternatives", most), ("beam_size", config.max_beam_size)):
        if (getattr(asked, name) or 0) > limit:
            raise ApiError(422, "invalid", f"{name}={getattr(asked, name)} is more than {limit}; ask for less")
    terms = glossary_of("\n".join(f"{term.source}\t{term.target}" for term in asked.glossary))
    search = {"beam_size": asked.beam_size, "n_best": asked.alternatives}
    if asked.stream:
        return await _streamed(asked, call, search=search, glossary=terms)
    texts = [asked.text] if isinstance(asked.text, str) else asked.text
    prefixes = [asked.prefix] if isinstance(asked.prefix, str) else asked.prefix
    for text, prefix in zip(texts, prefixes or (), strict=False):
        # No translation starts with more, and to go on from a thousand subwords takes a minute.
        if len(prefix) > (most := min(4 * len(text) + 200, 1000)):
            raise ApiError(413, "too_long", f"{len(prefix)} characters in a prefix, the limit is {most}; send less")

    def answer(way: Way, stop: StopFlag) -> dict[str, Any]:
        translations = way.translate(texts, search=search, prefixes=prefixes, glossary=terms, stop=stop)
        pairs = zip(texts, translations, strict=True)
        told = [_described(one, way, _links(way, text, one, stop) if asked.alignment else None) for text, one in pairs]
        return {"translations": told, "model": way.name, "took_ms": round((time.perf_counter() - started) * 1000, 1)}

    return await call.translate(texts, src=asked.source, tgt=asked.target, work=answer)


def _described(translation: Translation, way: Way, links: Any) -> dict[str, Any]:
    return {
        **_told(translation),
        "source": way.src,
        "target": way.tgt,
        "score": translation.score,
        "alternatives": [{"text": other.text, "score": other.score} for other in translation.alternatives],
        "sentences": [_sentence(piece) for piece in translation.sentences],
        "alignment": links,
    }


def _told(translation: Translation) -> dict[str, Any]:
    return {"text": translation.text, "flags": translation.flags, "confidence": translation.confidence}


def _sentence(piece: Piece) -> dict[str, Any]:
    spans = {"source": (piece.src_start, piece.src_end), "target": (piece.tgt_start, piece.tgt_end)}
    return {**spans, "flags": piece.flags, "confidence": piece.confidence}


def _links(way: Way, text: str, translation: Translation, stop: StopFlag) -> Any:
    """Words and links of a whole text, from those of its sentences; none of what no model was asked for."""
    if not translation.sentences:  # through another language nobody knows them
        return None
    pieces = [piece for piece in translation.sentences if AS_IT_IS.isdisjoint(piece.flags)]
    sources = [text[piece.src_start : piece.src_end] for piece in pieces]
    targets = [translation.text[piece.tgt_start : piece.tgt_end] for piece in pieces]
    try:
        alignments = way.align(sources, targets, stop=stop)
    except DataError:  # with an address that was a symbol one is longer than the model has positions for
        return None
    src, tgt, links = joined(zip(pieces, [(each.src, each.tgt, each.links) for each in alignments], strict=True))
    return {"source": src, "target": tgt, "links": [(i, j, round(weight, 4)) for i, j, weight in links]}


async def _streamed(asked: TranslateRequest, call: Call, **options: Any) -> Response:
    if not isinstance(asked.text, str):
        raise ApiError(422, "invalid", "stream=true is for one text; send a string, or leave stream out")
    if asked.prefix or asked.alignment or asked.alternatives > 1:
        raise ApiError(422, "invalid", "stream=true has no prefix, alignment or alternatives; leave them or stream out")
    parts = by_sentence(call, asked.text, src=asked.source, tgt=asked.target, **options)

    async def lines() -> AsyncIterator[Any]:
        async for number, span, translation in parts:
            yield {"index": 0, "sentence": number, "source": span, **_told(translation)}
        yield {"done": True}

    return await streamed(call, lines(), dialect=V1, media_type="application/x-ndjson", frame=b"%b\n")


async def languages(asked: None, call: Call) -> Any:
    """Languages and what each can be translated to."""
    pairs = call.service.pairs
    named = ((code, *name_of(code)) for code in pairs.sources)
    return [{"code": c, "name": name, "native": native, "targets": pairs.targets(c)} for c, name, native in named]


async def detect_language(asked: DetectRequest, call: Call) -> Any:
    """Which of the languages that are served a text is in."""
    call.service.check_texts([asked.text])
    language, confidence = await call.run(lambda stop: call.service.pairs.detect(asked.text))
    return [{"language": language, "confidence": confidence}]


async def attention(asked: AttentionRequest, call: Call) -> Any:
    """Where each head of each layer looks."""
    way = call.service.pairs.way(asked.source, asked.target)
    if len(way.hops) > 1:
        raise ApiError(404, "no_attention", f"{way.name} goes through another language; ask for one pair at a time")
    return await call.run(lambda stop: attention_of(way.hops[0].bundle, asked.source_text, asked.target_text))


async def correct(asked: Correction, call: Call) -> Any:
    """Say what a translation should have been."""
    call.service.check_texts([asked.source_text, asked.correction])
    way = call.service.pairs.way(asked.source, asked.target)
    file = call.service.folder / f"corrections.{way.src}-{way.tgt}.tsv"
    line = "\t".join(" ".join(side.split()) for side in (asked.source_text, asked.correction))
    await call.aside(_append, file, f"{line}\n".encode())
    return {"status": "kept"}


def _append(file: Path, line: bytes) -> None:
    """Add a line in one write, so that callers do not mix; `yiwen train` reads the file as a corpus.

    Raises:
        OSError: If there is no room for all of it; then nothing of it is kept.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "ab", buffering=0, opener=partial(os.open, mode=0o600)) as corrections:
        if (n_written := corrections.write(line)) < len(line):
            corrections.truncate(corrections.tell() - n_written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))


async def send_document(asked: DocumentForm, call: Call) -> Any:
    """Translate a document."""
    return {"id": call.service.jobs.add(call, asked, src=asked.source, tgt=asked.target).id}


async def document(asked: None, call: Call) -> Any:
    """How far a document is."""
    job = call.service.jobs.get(call)
    fault = {"error": job.error and str(job.error), "code": job.error and job.error.code}
    return {"status": job.status, "progress": job.progress, "filename": job.filename, **fault}


async def document_result(asked: None, call: Call) -> Response:
    """Fetch a translated document."""
    return call.service.jobs.get(call).response(call.request)


async def forget_document(asked: None, call: Call) -> Any:
    """Stop and forget a document."""
    call.service.jobs.remove(call.service.jobs.get(call).id)
    return {"status": "forgotten"}


ENDPOINTS: Final = (
    Endpoint("POST", "/v1/translate", translate),
    Endpoint("POST", "/v1/attention", attention),
    Endpoint("GET", "/v1/languages", languages, is_open=True),
    Endpoint("POST", "/v1/detect", detect_language),
    Endpoint("POST", "/v1/corrections", correct),
    Endpoint("POST", "/v1/documents", send_document),
    Endpoint("GET", "/v1/documents/{id}", document),
    Endpoint("GET", "/v1/documents/{id}/result", document_result),
    Endpoint("DELETE", "/v1/documents/{id}", forget_document),
)
