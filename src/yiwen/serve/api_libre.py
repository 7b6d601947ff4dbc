"""LibreTranslate's API, as its clients speak it: JSON, forms, or all of it in the query, the key too."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, Field
from starlette.responses import Response

from yiwen.documents import formats
from yiwen.serve.call import Call, translate_marked
from yiwen.serve.endpoint import FORM, JSON, MULTIPART, Dialect, Endpoint, Texts, Upload
from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import AUTO, Way
from yiwen.text.languages import name_of
from yiwen.translator import Translation

LIBRE: Final = Dialect(
    name="libre",
    refused=lambda error: {"error": str(error)},
    statuses={401: 403, 422: 400, 456: 403},
    takes=(JSON, FORM, MULTIPART),  # the last is what LibreTranslate's own page sends
    key_field="api_key",
    has_query=True,
)


class LibreTranslate(BaseModel):
    """What is translated."""

    q: Texts
    source: str = Field(max_length=35)
    target: str = Field(max_length=35)
    format: Literal["text", "html", ""] | None = "text"
    alternatives: int = Field(0, ge=0)


class LibreDetect(BaseModel):
    """A text of unknown language."""

    q: str


class LibreFile(Upload):
    """A file."""

    source: str = Field(max_length=35)
    target: str = Field(max_length=35)


async def translate(asked: LibreTranslate, call: Call) -> Any:
    """Translate texts, as LibreTranslate."""
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    most = min(call.service.config.max_alternatives, call.service.config.max_beam_size) - 1
    if asked.alternatives > most:
        raise ApiError(400, "invalid", f"alternatives={asked.alternatives} is more than {most}; ask for less")

    def shaped(found: list[Any]) -> Any:
        return found[0] if isinstance(asked.q, str) else found

    def answer(way: Way, found: list[Translation]) -> dict[str, Any]:
        given: dict[str, Any] = {"translatedText": shaped([translation.text for translation in found])}
        if asked.alternatives:
            given["alternatives"] = shaped([[other.text for other in one.alternatives[1:]] for one in found])
        if asked.source == AUTO:
            language, sure = call.service.pairs.detect("\n".join(texts), markup=asked.format)
            told = {"language": language if sure else way.src, "confidence": round(100 * sure, 1)}
            given["detectedLanguage"] = shaped([told] * len(texts))
        return given

    search = {"n_best": 1 if asked.format == "html" else asked.alternatives + 1}  # of HTML LibreTranslate has none
    return await translate_marked(
        call, texts, src=asked.source, tgt=asked.target, markup=asked.format, then=answer, search=search
    )


async def detect_language(asked: LibreDetect, call: Call) -> Any:
    """Tell the language of a text, as LibreTranslate; confidence in percent."""
    call.service.check_texts([asked.q])
    language, confidence = await call.run(lambda stop: call.service.pairs.detect(asked.q))
    return [{"language": language, "confidence": round(100 * confidence, 1)}]


async def languages(asked: None, call: Call) -> Any:
    """Languages and where each leads, as LibreTranslate."""
    pairs = call.service.pairs
    return [{"code": code, "name": name_of(code)[0], "targets": pairs.targets(code)} for code in pairs.sources]


async def settings(asked: None, call: Call) -> Any:
    """What a front end wants to know, as LibreTranslate."""
    config, pairs = call.service.config, call.service.pairs
    src, tgt = ({"code": code, "name": name_of(code)[0]} for code in min(pairs.ways))
    return {
        "apiKeys": config.needs_key,
        "keyRequired": config.needs_key,
        "charLimit": config.max_text_chars,
        "filesTranslation": config.max_documents > 0,
        "frontendTimeout": 500,
        "language": {"source": src, "target": tgt},
        "suggestions": False,
        "supportedFilesFormat": formats(),
    }


async def translate_file(asked: LibreFile, call: Call) -> Any:
    """Translate a document while you wait, as LibreTranslate."""
    job = call.service.jobs.add(call, asked, src=asked.source, tgt=asked.target)
    try:
        if not await call.run(lambda stop: job.finished.wait(call.service.config.deadline_s)):
            raise ApiError(504, "deadline", "the document takes too long to wait for it; send it to /v1/documents")
        job.response(call.request)
    except BaseException:  # nobody has its id
        call.service.jobs.remove(job.id)
        raise
    job.is_fetched, job.is_open = False, True
    call.service.check_open()  # or its address would lead nowhere in a moment
    prefix = call.request.headers.get("x-forwarded-prefix", "").strip("/")
    return {"translatedFileUrl": f"{call.request.base_url}{prefix and prefix + '/'}download_file/{job.id}"}


async def download(asked: None, call: Call) -> Response:
    """Fetch a translated document, as LibreTranslate."""
    return call.service.jobs.get(call).response(call.request)


ENDPOINTS: Final = (
    Endpoint("POST", "/translate", translate, LIBRE),
    Endpoint("POST", "/detect", detect_language, LIBRE),
    Endpoint("GET", "/languages", languages, LIBRE, is_open=True),
    Endpoint("GET", "/frontend/settings", settings, LIBRE, is_open=True),
    Endpoint("POST", "/translate_file", translate_file, LIBRE),
    Endpoint("GET", "/download_file/{id}", download, LIBRE, is_open=True),
)
