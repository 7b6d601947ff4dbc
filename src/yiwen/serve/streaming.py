"""A long text sentence by sentence: each is sent as soon as it is translated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
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

    What can be refused is refused before the first sentence.

    Args:
        call: Who asks.
        text: Raw text.
        src: Its language, or `auto`.
        tgt: Language to translate to.
        options: As `Way.translate` takes them.
    """
    characters = call.service.check_texts([text])
    way = call.way([text], src, tgt)
    with call.charged(characters) as answered:
        ready: asyncio.Queue[Part | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(part: Part | None) -> None:
            loop.call_soon_threadsafe(ready.put_nowait, part)

        def work(stop: StopFlag) -> None:
            for part in _parts(way, text, stop, options):
                tell(part)

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


def _parts(way: Way, text: str, stop: StopFlag, options: dict[str, Any]) -> Any:
    spans = sentences(text, way.src)
    first, size = 0, 1
    while first < len(spans):
        chunk = spans[first : first + size]
        for (start, end), found in zip(
            chunk, way.translate([text[start:end] for start, end in chunk], stop=stop, **options), strict=True
        ):
            yield Part(start, end, found.text)
        first, size = first + size, min(2 * size, 16)


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
