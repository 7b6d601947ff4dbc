"""A long text sentence by sentence: each is sent as soon as it is translated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from yiwen.serve.call import Call
from yiwen.serve.endpoint import Dialect
from yiwen.serve.errors import refusal_of
from yiwen.serve.pairs import Way
from yiwen.stop import StopFlag
from yiwen.text.glossary import inside_terms
from yiwen.text.segment import sentences
from yiwen.translation import Translation


class Part(NamedTuple):
    """A sentence, its number and its place, and its translation."""

    number: int
    span: tuple[int, int]
    translation: Translation


async def by_sentence(call: Call, text: str, *, src: str, tgt: str, **options: Any) -> AsyncIterator[Part]:
    """Translate a text in pieces that grow from one sentence on, so that the first is there at once.

    Args:
        call: Who asks; charged for the parts that came.
        text: Raw text.
        src: Its language, or `auto`.
        tgt: Language to translate to.
        options: As `Way.translate` takes them.
    """
    with call.charged([text], src, tgt) as answered:
        ready: asyncio.Queue[Part | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def work(stop: StopFlag) -> None:
            for part in _parts(call.service.pairs.way_of([text], src, tgt), text, stop, options):
                loop.call_soon_threadsafe(ready.put_nowait, part)

        # Who sends the parts sees when the caller leaves, and cancels.
        task = asyncio.create_task(call.service.run(work, gone=asyncio.Event().wait))
        task.add_done_callback(lambda _: ready.put_nowait(None))
        try:
            while (part := await ready.get()) is not None:
                answered.append(part.span[1] - part.span[0])
                yield part
            await task
        finally:
            task.cancel()
            del task  # it and this frame would hold each other, and the model, until a full collection


def _parts(way: Way, text: str, stop: StopFlag, options: dict[str, Any]) -> Iterator[Part]:
    """Translate one sentence, then two, four and so on up to sixteen at a time."""
    spans = sentences(text, way.src, inside_terms(options.get("glossary"), text))
    done, size = 0, 1
    while done < len(spans):
        chunk = spans[done : done + size]
        translations = way.translate([text[start:end] for start, end in chunk], stop=stop, **options)
        for number, (span, translation) in enumerate(zip(chunk, translations, strict=True), done):
            yield Part(number, span, translation)
        done, size = done + size, min(2 * size, 16)


async def streamed(
    call: Call, parts: AsyncIterator[Any], *, dialect: Dialect, media_type: str, frame: bytes, end: bytes = b""
) -> Response:
    """An answer in parts; to HTTP/1.0 in one, which knows no chunks (RFC 9112, section 6.1).

    What fails before the first of them is refused before this returns. Later there is no status to tell it by: the
    refusal takes the place of the parts that are missing.

    Args:
        call: Who asks.
        parts: What becomes JSON; one at least.
        dialect: How a refusal is told.
        media_type: That of the whole.
        frame: What stands around each part, in the place of `%b`.
        end: What comes last, in any case.
    """
    first = await anext(parts)

    async def framed() -> AsyncIterator[bytes]:
        yield frame % to_json(first)
        try:
            async for part in parts:
                yield frame % to_json(part)
        except Exception as error:
            yield frame % to_json(dialect.refused(refusal_of(error, call.request.scope.get("request_id"))))
        yield end

    if call.request.scope["http_version"] == "1.0":
        return Response(b"".join([part async for part in framed()]), media_type=media_type)
    return StreamingResponse(framed(), media_type=media_type)
