"""Texts that may hold tags, as DeepL and LibreTranslate take them: the tags are put back where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    markup: str | None,
    then: Callable[[Way, list[str], list[list[str]]], T],
    ignored: Sequence[str] = (),
    **options: Any,
) -> T:
    """Translate.

    Args:
        call: Who asks.
        texts: Raw text, or with tags.
        markup: `html` or `xml`; None where a `<` is a character like any other.
        then: Makes the answer from the way, the translations, and for each all that were found, best first.
        ignored: Names of tags whose content stays as it is.
        options: As `Call.translate` takes them.
    """

    if markup is None:

        def answer(way: Way, found: list[Translation], stop: StopFlag) -> T:
            return then(way, [t.text for t in found], [[other.text for other in t.alternatives] for t in found])

        return await call.translate(texts, then=answer, with_scores=False, **options)
    src, tgt = options.pop("src"), options.pop("tgt")
    characters = call.service.check_texts(texts)

    def work(stop: StopFlag) -> T:
        way = call.way(texts, src, tgt)
        found = translate_markup(
            texts,
            is_html=markup == "html",
            translate=lambda inner: way.translate(inner, with_scores=False, stop=stop, **options),
            align=lambda sources, targets: way.align(sources, targets, stop=stop),
            ignored=ignored,
        )
        return then(way, found, [[text] for text in found])

    with call.charged(characters):
        return await call.run(work)
