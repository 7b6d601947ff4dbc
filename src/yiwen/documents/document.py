"""One document from bytes to bytes: asked for its units, translated here, and asked to be rebuilt; texts with tags."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from yiwen.documents import web
from yiwen.documents.reading import parsers
from yiwen.documents.sandbox import Limits, asked
from yiwen.documents.unit import Mark, Unit
from yiwen.documents.writing import all_written
from yiwen.errors import ConfigError, DataError, expect
from yiwen.text.languages import spelt
from yiwen.text.normalise import as_texts

if TYPE_CHECKING:
    from yiwen.documents.translating import Align, Flag, Translate


def formats() -> tuple[str, ...]:
    """The suffixes of documents that can be translated, each with its dot."""
    return tuple(sorted(f".{suffix}" for suffix in parsers()))


def translate_document(
    data: bytes,
    *,
    suffix: str,
    translate: Translate,
    align: Align | None = None,
    limits: Limits | None = None,
    src_lang: str = "",
    tgt_lang: str = "",
    progress: Callable[[float], None] | None = None,
    flag: Flag | None = None,
    again: Translate | None = None,
) -> bytes:
    """Translate a document.

    Args:
        data: The file.
        suffix: Its format, one of `formats()`, with or without a dot.
        translate: Texts to translations, as `Translator.translate`; what it returns has `text`, and may have
            `sentences`, where it cut the text, and `flags`.
        align: As `Translator.align`: puts marks inside of a text on the right words. Without it they go where the
            same part of the text has been said.
        limits: What the document may cost.
        src_lang: Language of the text; TMX is read in it, XLIFF in another one is refused.
        tgt_lang: Language of the translation; TMX needs it, HTML says it in `<html lang>`.
        progress: Told the share that is done, from 0 to 1.
        flag: Told the flags of each text; `placeholders` where one was changed and could not be put back.
        again: As `translate`, for texts that are asked for once more because a placeholder was lost.

    Raises:
        ConfigError: If there is no such format, TMX is not told what language to write, there are more or fewer
            translations than texts, or the program is frozen, which has no Python to parse documents in.
        DataError: If the document is too large, damaged or not what its suffix says.
    """
    from yiwen.documents.translating import translated  # the process that parses would import it, too

    expect(data, bytes | bytearray, "a document", "its bytes, as Path.read_bytes returns")
    expect(translate, Callable, "translate", "a function, as Translator.translate is")
    limits = expect(limits or Limits(), Limits, "limits", "a yiwen.documents.sandbox.Limits, or None")
    suffix = str(suffix).removeprefix(".").lower()
    if f".{suffix}" not in formats():
        raise ConfigError(f"{suffix!r} is not a format of documents here; convert it to one of {', '.join(formats())}")
    if suffix == "tmx" and not tgt_lang:
        raise ConfigError("a TMX file holds any number of languages; say which one to write (tgt_lang)")
    if len(data) > limits.max_bytes:
        raise DataError(f"the document has {len(data):,} bytes, allowed are {limits.max_bytes:,}; split it")
    header = {"suffix": suffix, "src_lang": spelt(src_lang or ""), "tgt_lang": spelt(tgt_lang or "")}
    found = asked(data, limits=limits, header=header)["units"]
    units = [Unit(text, tuple(Mark(*mark) for mark in marks), tuple(map(tuple, keep))) for text, marks, keep in found]
    answers = list(translated(units, translate=translate, align=align, progress=progress, flag=flag, again=again))
    # Rebuilding is parsing and more; a document that was let in is not refused when all of it is translated.
    roomier = {name: 2 * getattr(limits, name) for name in ("memory_mb", "seconds", "clock_seconds")}
    return base64.b64decode(asked(data, limits=replace(limits, **roomier), header=header, answers=answers)["data"])


def translate_markup(
    texts: Sequence[str],
    *,
    is_html: bool,
    translate: Translate,
    align: Align | None = None,
    ignored: Collection[str] = (),
    splitting: Collection[str] = (),
) -> list[str]:
    """Translate short texts with tags in them, in this process.

    Args:
        texts: Pieces of HTML, or of XML, in which a text ends at the tags of its outline and at those that are named.
        is_html: Which of them.
        translate, align: As for `translate_document`.
        ignored: Names of tags whose content stays as it is.
        splitting: Names of tags that end a text.

    Raises:
        DataError: If a text holds more marks than can be put back.
    """
    from yiwen.documents.translating import translated

    kept = {*(web.KEPT if is_html else ()), *map(str.lower, ignored)}  # there may be thousands, and thousands of tags
    apart = {*map(str.lower, splitting)}
    parts_of = [web.texts(text, is_html=is_html, kept=kept, splitting=apart) for text in as_texts(texts, "markup")]
    units = [part for parts in parts_of for part in parts if isinstance(part, Unit)]
    answers = translated(units, translate=translate, align=align, progress=None)
    return [all_written(parts, answers) for parts in parts_of]
