"""Texts that may hold tags, as DeepL and LibreTranslate take them: the tags are put back where they belong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from yiwen.documents import translate_markup
from yiwen.serve.call import Call
from yiwen.serve.pairs import Way
from yiwen.stop import StopFlag
from yiwen.translator import Translation

T = TypeVar("T")


async def translate_marked(
    call: Call,
    texts: list[str],
    *,
    src: str,
    tgt: str,
    markup: str | None,
    then: Callable[[Way, list[Translation]], T],
    ignored: Sequence[str] = (),
    splitting: Sequence[str] = (),
    **options: Any,
) -> T:
    """Translate.

    Args:
        call: Who asks.
        texts: Raw text, or with tags.
        src, tgt: As for `Call.translate`.
        markup: `html` or `xml`; None where a `<` is a character like any other.
        then: Makes the answer from the way and the translations; of texts with tags, each is all that is known.
        ignored: Names of tags whose content stays as it is.
        splitting: Names of tags that end a text.
        options: As `Way.translate` takes them.
    """

    def work(way: Way, stop: StopFlag) -> T:
        def translate(inner: Sequence[str]) -> list[Translation]:
            return way.translate(inner, with_scores=False, stop=stop, **options)

        if markup is None:
            return then(way, translate(texts))
        align, is_html = partial(way.align, stop=stop), markup == "html"
        marked = translate_markup(
            texts, is_html=is_html, translate=translate, align=align, ignored=ignored, splitting=splitting
        )
        return then(way, [Translation(text, score=math.nan) for text in marked])

    return await call.translate(texts, src=src, tgt=tgt, work=work)
