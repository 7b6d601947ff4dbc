"""TMX 1.4: translation memories, read unit by unit however large the file is.

Entities of the file's own are not expanded but read as they are written, and nothing is fetched. A unit without both
languages gives None and is counted later. Numbers that are no character of XML (`&#x1F;`, half of an emoji), which some
programs export, are read as blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from yiwen.data import lines
from yiwen.errors import DataError, needing
from yiwen.text.languages import best_match

_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES: Final = ("bpt", "ept", "it", "ph", "ut")
"""Inline elements that hold formatting codes of the document and not text (TMX 1.4b, section 2.2)."""

_PLAIN: Final[Any] = {"resolve_entities": False, "load_dtd": False, "remove_comments": True, "remove_pis": True}
"""How a file of anybody's is parsed."""
_NUMBER: Final = re.compile(rb"&(\0?)#\1(?:x\1((?:[0-9a-fA-F]\1){1,9})|((?:[0-9]\1){1,9}));")
"""A reference to a character by its number; in UTF-16 with a zero between all of its bytes."""


def read_tmx(path: Path, src_lang: str, tgt_lang: str, *, size: int) -> Iterator[lines.Columns]:
    """Read the units of a translation memory.

    Args:
        path: The file, plain or compressed.
        src_lang: Source language; "en" takes `xml:lang` "EN", else the first of "en-GB" and so on; "zh-Hans" takes
            "zh", "zh-CN" and other codes of that language.
        tgt_lang: Target language.
        size: Units in a list.

    Raises:
        DataError: If it is no well-formed XML, or no unit has both languages.
    """
    found, n_pairs = set[str](), 0

    def pairs() -> Iterator[tuple[bytes | None, bytes | None]]:
        for unit in _units(path):
            sides = [(str(v.get(_LANG) or v.get("lang") or "").strip(), v) for v in unit.iterchildren("{*}tuv")]
            found.update(language for language, _ in sides)
            yield _text_in(src_lang, sides), _text_in(tgt_lang, sides)

    for block in lines.blocks(pairs(), size):
        n_pairs += sum(None not in pair for pair in block)
        yield [src for src, _ in block], [tgt for _, tgt in block]
    if not n_pairs:
        languages = ", ".join(sorted(found)) or "no languages"
        raise DataError(f"{path} has no unit in both {src_lang} and {tgt_lang}, it holds {languages}; name those")


def _units(path: Path) -> Iterator[Any]:
    with needing("Reading TMX needs lxml", extra="train"):
        from lxml import etree
    with lines.opened(path) as file:
        try:
            units = etree.iterparse(_Legal(file), tag="{*}tu", no_network=True, **_PLAIN)
            for _, unit in units:
                yield unit
                unit.clear()
                while unit.getprevious() is not None:  # what was read is forgotten, so memory stays flat
                    del unit.getparent()[0]
        except etree.XMLSyntaxError as error:
            # The error tells the last one: behind an entity that nobody declared, that there is no element at all.
            first = next((f"{entry.message}, line {entry.line}" for entry in units.error_log), error)
            raise DataError(f"{path} is not well-formed TMX: {first}; mend it there, or export it again") from error


class _Legal:
    """What is read of a file, with a blank for each reference to what is no character (XML 1.0, section 2.2)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        while b"&" in data[-32:] and (more := self._file.read(32)):  # a reference goes on behind what was read
            data += more
        return _NUMBER.sub(_if_legal, data)


def _if_legal(reference: re.Match[bytes]) -> bytes:
    code = int((reference[2] or reference[3]).replace(b"\0", b""), 16 if reference[2] else 10)
    legal = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return reference[0] if legal else b" "


def _text_in(wanted: str, sides: list[tuple[str, Any]]) -> bytes | None:
    place = best_match([language for language, _ in sides], wanted)
    segment = None if place is None else sides[place][1].find("{*}seg")
    return None if segment is None else _text(segment).replace("\n", " ").encode("utf-8")


def _text(segment: Any) -> str:
    """The text of a segment without formatting codes."""
    parts: list[str] = [segment.text or ""]
    for child in segment:
        if not isinstance(child.tag, str):  # an entity of the file's own, as it is written
            inner = child.text
        elif child.tag.rpartition("}")[2] in _CODES:
            inner = " " if "<br" in (child.text or "") or child.get("type") == "lb" else ""  # of a line break
        else:
            inner = _text(child)
        parts += [inner, child.tail or ""]
    return "".join(parts)
