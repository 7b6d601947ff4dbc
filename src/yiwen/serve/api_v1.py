"""Our own API: everything that a translator knows, in one answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from yiwen.serve.endpoint import Call, Endpoint
from yiwen.serve.pairs import Way
from yiwen.serve.schemas import (
    Detection,
    DetectRequest,
    Language,
    TranslateAnswer,
    TranslateRequest,
)
from yiwen.serve.service import ApiError
from yiwen.translator import Translation


async def translate(asked: TranslateRequest, call: Call) -> Any:
    """Translate texts."""
    started = time.perf_counter()
    texts = [asked.text] if isinstance(asked.text, str) else asked.text
    prefixes = [asked.prefix] if isinstance(asked.prefix, str) else asked.prefix
    service, config = call.service, call.service.config
    service.check_texts(texts)
    for name, limit in (("alternatives", config.max_alternatives), ("beam_size", config.max_beam_size)):
        if (getattr(asked, name) or 0) > limit:
            raise ApiError(422, "invalid", f"{name}={getattr(asked, name)} is more than {limit}; ask for less")
    way = service.way(asked.source, asked.target)
    search = {"beam_size": asked.beam_size, "n_best": asked.alternatives}
    translations = await service.run(
        lambda stop: way.translate(texts, search=search, prefixes=prefixes, stop=stop), is_gone=call.is_gone
    )
    return {
        "translations": [_described(translation, way) for translation in translations],
        "model": way.name,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def _described(translation: Translation, way: Way) -> dict[str, Any]:
    return {
        "text": translation.text,
        "source": way.src,
        "target": way.tgt,
        "score": translation.score,
        "confidence": getattr(translation, "confidence", None),
        "flags": translation.flags,
        "alternatives": [{"text": other.text, "score": other.score} for other in translation.alternatives],
        "sentences": [
            {"source": (piece.src_start, piece.src_end), "target": (piece.tgt_start, piece.tgt_end)}
            for piece in getattr(translation, "sentences", ())
        ],
        "alignment": None,
    }


async def languages(asked: None, call: Call) -> Any:
    """What can be translated into what."""
    pairs = call.service.pairs
    return [{"code": src, "name": src, "native": src, "targets": pairs.targets(src)} for src in pairs.sources]


async def detect(asked: DetectRequest, call: Call) -> Any:
    """Which language a text is in."""
    return [{"language": src, "confidence": 1.0} for src in call.service.pairs.sources[:1]]


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        method="POST",
        path="/v1/translate",
        answer=translate,
        summary="Translate texts",
        takes_model=TranslateRequest,
        gives_model=TranslateAnswer,
        example={"text": ["A dog runs."], "source": "en", "target": "de"},
    ),
    Endpoint(
        method="GET",
        path="/v1/languages",
        answer=languages,
        summary="Languages and what each can be translated to",
        gives_model=list[Language],
        is_open=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/detect",
        answer=detect,
        summary="Tell the language of a text",
        takes_model=DetectRequest,
        gives_model=list[Detection],
        example={"text": "Ein Hund rennt."},
    ),
)
