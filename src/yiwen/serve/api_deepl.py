"""DeepL's API, version 2, as its clients speak it: JSON or forms, codes in upper case, errors as `message`."""

from __future__ import annotations

import csv
import hmac
import io
from typing import Any, Final, Literal

import sqlalchemy as sa
from pydantic import BaseModel, Field
from starlette.responses import Response

from yiwen.errors import DataError
from yiwen.serve.call import Call, glossary_of, translate_marked
from yiwen.serve.endpoint import FORM, JSON, Dialect, Endpoint, Texts, Upload
from yiwen.serve.errors import ApiError
from yiwen.serve.jobs import Job
from yiwen.serve.pairs import AUTO, Way
from yiwen.text.languages import base, name_of
from yiwen.translator import Translation

DEEPL: Final = Dialect(
    name="deepl",
    refused=lambda error: {"message": str(error)},
    statuses={401: 403, 422: 400},
    takes=(JSON, FORM),
    key_field="auth_key",
)
_NO_LIMIT: Final = 1_000_000_000_000
"""What a key without a quota is told; clients want a number."""
_KINDS: Final = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Targets as DeepL lists them: its clients refuse to ask for EN and PT. A model writes the kind that it has learnt."""


class DeepLAsked(BaseModel):
    """From which language to which, and with which terms; none is named by null, as by nothing."""

    target_lang: str = Field(max_length=35)
    source_lang: str | None = Field(None, max_length=35)
    glossary_id: Texts | None = None
    glossary_ids: Texts | None = None


class DeepLTranslate(DeepLAsked):
    """What is translated; what DeepL has and we have not (formality, context ...) is accepted and ignored."""

    text: Texts
    tag_handling: Literal["html", "xml", ""] | None = None
    ignore_tags: Texts | None = None
    splitting_tags: Texts | None = None
    show_billed_characters: bool = False


class DeepLSide(BaseModel):
    """Which side of a translation."""

    type: Literal["source", "target"] = "source"


class DeepLDocument(Upload, DeepLAsked):
    """A file."""

    output_format: str | None = Field(None, max_length=35)


class DeepLDocumentKey(BaseModel):
    """What was given when the file was sent."""

    document_key: str = Field(max_length=64)


class DeepLGlossary(BaseModel):
    """Terms to keep."""

    name: str = Field(min_length=1, max_length=200)
    source_lang: str = Field(max_length=35)
    target_lang: str = Field(max_length=35)
    entries: str = Field(min_length=1)
    entries_format: Literal["tsv", "csv"] = "tsv"


async def translate(asked: DeepLTranslate, call: Call) -> Any:
    """Translate texts, as DeepL."""
    texts = [asked.text] if isinstance(asked.text, str) else asked.text

    def reply(way: Way, found: list[Translation]) -> dict[str, Any]:
        named = {"detected_source_language": base(way.src).upper()}  # DeepL detects no scripts: ZH
        bills = [{"billed_characters": len(text)} if asked.show_billed_characters else {} for text in texts]
        return {"translations": [{**named, "text": one.text, **bill} for one, bill in zip(found, bills, strict=True)]}

    src, glossary = await _terms(asked, call)
    tags = {"ignored": _listed(asked.ignore_tags), "splitting": _listed(asked.splitting_tags)}
    return await translate_marked(
        call, texts, src=src, tgt=asked.target_lang, markup=asked.tag_handling, then=reply, tags=tags, glossary=glossary
    )


def _listed(given: str | list[str] | None) -> list[str]:
    """Names of tags or glossaries, given one by one or between commas."""
    listed = ",".join([given] if isinstance(given, str) else given or [])
    return [name.strip() for name in listed.split(",") if name.strip()]


async def languages(asked: DeepLSide, call: Call) -> Any:
    """Languages of one side, as DeepL."""
    if asked.type == "source":
        return [{"language": code.upper(), "name": name_of(code)[0]} for code in call.service.pairs.sources]
    named: dict[str, str] = {}
    for code in call.service.pairs.targets():
        named |= _KINDS.get(code, {code.upper(): name_of(code)[0]})
    return [{"language": code, "name": name, "supports_formality": False} for code, name in named.items()]


async def usage(asked: None, call: Call) -> Any:
    """Characters of this month, as DeepL."""
    limit = 0 if call.key is None else call.key.characters_per_month
    return {"character_count": call.service.store.used(call.owner), "character_limit": limit or _NO_LIMIT}


async def send_document(asked: DeepLDocument, call: Call) -> Any:
    """Translate a document, as DeepL."""
    kind = (asked.output_format or "").lower()
    if kind and not asked.filename.lower().endswith(f".{kind}"):
        fault = f"output_format={kind!r} is not that of {asked.filename!r}, and no other is made; leave it out"
        raise ApiError(400, "output_format", fault)
    src, glossary = await _terms(asked, call)
    job = call.service.jobs.add(call, asked, src=src, tgt=asked.target_lang, glossary=glossary)
    return {"document_id": job.id, "document_key": job.secret}


async def document(asked: DeepLDocumentKey, call: Call) -> Any:
    """How far a document is, as DeepL."""
    job = _job(asked, call)
    bill = {"billed_characters": job.paid.total()} if job.status == "done" else {}
    fault = {"error_message": str(job.error)} if job.error is not None else {}
    return {"document_id": job.id, "status": job.status, **bill, **fault}


async def document_result(asked: DeepLDocumentKey, call: Call) -> Response:
    """Fetch a translated document, once, as DeepL."""
    job = _job(asked, call)
    response = job.response(call.request)
    call.service.jobs.remove(job.id)
    return response


async def add_glossary(asked: DeepLGlossary, call: Call) -> Any:
    """Keep a glossary, as DeepL."""
    way = call.service.pairs.way(asked.source_lang, asked.target_lang)
    way.check_glossary()
    entries = await call.aside(_tsv, asked.entries) if asked.entries_format == "csv" else asked.entries
    await call.aside(glossary_of, entries)
    entries = "\n".join(line for line in entries.split("\n") if line.strip())
    named = {"name": asked.name, "source_lang": way.src, "target_lang": way.tgt, "entries": entries}
    most = call.service.config.max_glossaries
    kept = await call.aside(call.service.store.add_glossary, owner=call.owner, most=most, **named)
    if kept is None:
        raise ApiError(400, "glossaries", f"{most} glossaries are kept, which is the limit; remove one")
    return _described(kept)


async def list_glossaries(asked: None, call: Call) -> Any:
    """Glossaries, as DeepL."""
    return {"glossaries": [_described(kept) for kept in await call.aside(call.service.store.glossaries, call.owner)]}


async def get_glossary(asked: None, call: Call) -> Any:
    """A glossary, as DeepL."""
    return _described(await _glossary(call, call.request.path_params["id"]))


async def get_entries(asked: None, call: Call) -> Response:
    """Terms of a glossary, as DeepL."""
    kept = await _glossary(call, call.request.path_params["id"])
    return Response(kept.entries, media_type="text/tab-separated-values")


async def remove_glossary(asked: None, call: Call) -> Response:
    """Forget a glossary, as DeepL."""
    kept = await _glossary(call, call.request.path_params["id"])
    await call.aside(call.service.store.remove_glossary, call.owner, kept.id)
    return Response(status_code=204)


async def glossary_pairs(asked: None, call: Call) -> Any:
    """What glossaries can be for, as DeepL."""
    pairs = {(base(way.src), base(way.tgt)) for way in call.service.pairs.ways.values() if way.keeps_terms}
    return {"supported_languages": [{"source_lang": src, "target_lang": tgt} for src, tgt in sorted(pairs)]}


def _tsv(entries: str) -> str:
    """Terms as DeepL's clients write them as CSV; what is no term is refused with the others later."""
    rows = csv.reader(io.StringIO(entries.removeprefix("\ufeff"), newline=""))  # a quote behind it would be none
    try:
        return "\n".join("\t".join(" ".join(cell.split()) for cell in row[:2]) for row in rows if row)
    except csv.Error as error:
        raise DataError(f"the glossary is not CSV near line {rows.line_num} ({error}); send two columns") from error


async def _glossary(call: Call, glossary_id: str) -> sa.Row[Any]:
    if kept := await call.aside(call.service.store.glossaries, call.owner, glossary_id):
        return kept[0]
    raise ApiError(404, "glossary", "there is no such glossary; GET /v2/glossaries lists those that there are")


async def _terms(asked: DeepLAsked, call: Call) -> tuple[str, Any]:
    """The source language of a request and its glossary, which as with DeepL is for any region or script."""
    ids = _listed(asked.glossary_id) or _listed(asked.glossary_ids)
    if not ids:
        return asked.source_lang or AUTO, None
    if len(ids) > 1:
        raise ApiError(400, "glossary", f"glossary_ids names {len(ids)} glossaries; join them, and name that one")
    kept = await _glossary(call, ids[0])
    src = asked.source_lang or kept.source_lang
    way, made_for = call.service.pairs.way(src, asked.target_lang), (kept.source_lang, kept.target_lang)
    if [base(code) for code in made_for] != [base(way.src), base(way.tgt)]:
        raise ApiError(400, "glossary", f"this glossary is for {' to '.join(made_for)}; leave it out, or make another")
    return src, await call.aside(glossary_of, kept.entries)


def _described(kept: sa.Row[Any]) -> dict[str, Any]:
    """A glossary as DeepL's clients read it: languages without a script, times with a fraction."""
    languages = {"source_lang": base(kept.source_lang), "target_lang": base(kept.target_lang)}
    named = {"glossary_id": kept.id, "name": kept.name, "ready": True, "creation_time": kept.created}
    return {**named, **languages, "entry_count": kept.n_terms}


def _job(asked: DeepLDocumentKey, call: Call) -> Job:
    job = call.service.jobs.get(call)
    if not hmac.compare_digest(job.secret.encode(), asked.document_key.encode()):
        raise ApiError(404, "document", "the document key is not that of this document; send what came with its id")
    return job


ENDPOINTS: Final = (
    Endpoint("POST", "/v2/translate", translate, DEEPL),
    Endpoint("GET", "/v2/languages", languages, DEEPL),
    Endpoint("GET", "/v2/usage", usage, DEEPL),
    Endpoint("POST", "/v2/document", send_document, DEEPL),
    Endpoint("POST", "/v2/document/{id}", document, DEEPL),
    Endpoint("POST", "/v2/document/{id}/result", document_result, DEEPL),
    Endpoint("POST", "/v2/glossaries", add_glossary, DEEPL, status=201),
    Endpoint("GET", "/v2/glossaries", list_glossaries, DEEPL),
    Endpoint("GET", "/v2/glossaries/{id}", get_glossary, DEEPL),
    Endpoint("GET", "/v2/glossaries/{id}/entries", get_entries, DEEPL),
    Endpoint("DELETE", "/v2/glossaries/{id}", remove_glossary, DEEPL, status=204),
    Endpoint("GET", "/v2/glossary-language-pairs", glossary_pairs, DEEPL),
)
