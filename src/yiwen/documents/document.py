"""One document from bytes to bytes: asked for its units, translated here, and asked to be rebuilt."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from yiwen.documents.sandbox import Limits, asked
from yiwen.documents.translating import Align, Translate, translated
from yiwen.documents.unit import Mark, Unit
from yiwen.errors import ConfigError, DataError

_ALIASES: Final = {"markdown": "md", "tab": "tsv", "pot": "po"}
_FORMATS: Final = "csv docx htm html json md po pptx srt tmx tsv txt vtt xlf xliff".split()  # noqa: SIM905


def formats() -> tuple[str, ...]:
    """The suffixes of documents that can be translated, without a dot."""
    return tuple(sorted([*_FORMATS, *_ALIASES]))


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
) -> bytes:
    """Translate a document.

    Args:
        data: The file.
        suffix: Its format, one of `formats()`, with or without a dot.
        translate: Texts to translations, as `Translator.translate`; what it returns has `text`, and `sentences` where
            it cut the text.
        align: As `Translator.align`: puts marks inside of a text on the right words. Without it they go where the
            same part of the text has been said.
        limits: What the document may cost.
        src_lang: Language of the text; only TMX asks, and knows itself in most files.
        tgt_lang: Language of the translation; TMX needs it, HTML says it in <html lang>.
        progress: Told the share that is done, from 0 to 1.

    Raises:
        ConfigError: If there is no such format, or TMX is not told what language to write.
        DataError: If the document is too large, damaged or not what its suffix says.
    """
    limits = limits or Limits()
    suffix = suffix.removeprefix(".").lower()
    if suffix not in formats():
        raise ConfigError(f"{suffix!r} is no format of documents here; known: {', '.join(formats())}")
    suffix = _ALIASES.get(suffix, suffix)
    if suffix == "tmx" and not tgt_lang:
        raise ConfigError("a TMX file holds any number of languages; say which one to write (tgt_lang)")
    if len(data) > limits.max_bytes:
        raise DataError(f"the document has {len(data):,} bytes, allowed are {limits.max_bytes:,}; split it")
    header = {"suffix": suffix, "src_lang": src_lang, "tgt_lang": tgt_lang}
    units = [
        Unit(text, tuple(Mark(*mark) for mark in marks), tuple((start, end) for start, end in keep))
        for text, marks, keep in asked(data, limits=limits, header=header)["units"]
    ]
    answers = list(translated(units, translate=translate, align=align, progress=progress))
    return base64.b64decode(asked(data, limits=limits, header=header, answers=answers)["data"])
