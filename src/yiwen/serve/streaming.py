"""A long text sentence by sentence: each is sent as soon as it is translated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from starlette.responses import Response, StreamingResponse

from yiwen.serve.call import Call
from yiwen.serve.pairs import Way
from yiwen.stop import StopFlag
from yiwen.text.languages import RUN_ON, base
from yiwen.text.segment import sentences


class Part(NamedTuple):
    """A sentence and its translation."""

    start: int
    end: int
    text: str


async def by_sentence(call: Call, text: str, *, src: str, tgt: str, **options: Any) -> AsyncIterator[Part]:
    """Translate a text in pieces that grow from one sentence on, so that the first is there at once.

    Args:
        call: Who asks.
        text: Raw text.
        src: Its language, or `auto`.
        tgt: Language to translate to.
        options: As `Way.translate` takes them.

    Returns:
        The parts. Whatever is refused before the first of them is refused before this returns.
    """
    parts = _translated(call, text, src=src, tgt=tgt, **options)
    first = await anext(parts, None)

    async def all_parts() -> AsyncIterator[Part]:
        part = first
        while part is not None:
            yield part
            part = await anext(parts, None)

    return all_parts()


async def _translated(call: Call, text: str, *, src: str, tgt: str, **options: Any) -> AsyncIterator[Part]:
    """Parts as a thread makes them, charged for."""
    with call.charged([text], src, tgt) as answered:
        ready: asyncio.Queue[Part | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def work(stop: StopFlag) -> None:
            way = call.service.pairs.way_of([text], src, tgt)
            for part in _parts(way, text, stop, options):
                loop.call_soon_threadsafe(ready.put_nowait, part)

        # Who sends the parts sees when the caller leaves, and cancels.
        task = asyncio.create_task(call.service.run(work, gone=asyncio.Event().wait))
        task.add_done_callback(lambda _: ready.put_nowait(None))
        try:
            while (part := await ready.get()) is not None:
                answered.append(part.end - part.start)
                yield part
            await task
        finally:
            task.cancel()


def _parts(way: Way, text: str, stop: StopFlag, options: dict[str, Any]) -> Iterator[Part]:
    """Translate one sentence, then two, four and so on up to sixteen at a time."""
    spans = sentences(text, way.src)
    done, size = 0, 1
    while done < len(spans):
        chunk = spans[done : done + size]
        translations = way.translate([text[start:end] for start, end in chunk], stop=stop, **options)
        for (start, end), translation in zip(chunk, translations, strict=True):
            yield Part(start, end, translation.text)
        done, size = done + size, min(2 * size, 16)


async def streamed(call: Call, parts: AsyncIterator[bytes], *, media_type: str) -> Response:
    """An answer in parts; to HTTP/1.0 in one, which knows no chunks (RFC 9112, section 6.1)."""
    if call.request.scope["http_version"] == "1.0":
        return Response(b"".join([part async for part in parts]), media_type=media_type)
    return StreamingResponse(parts, media_type=media_type)


def gap(between: str, tgt: str, *, is_first: bool) -> str:
    """What stands before a sentence of the translation, from what stood before that of the source."""
    if is_first or "\n" in between:
        return between
    return "" if base(tgt) in RUN_ON else " "
