"""OpenDocument (ODF 1.3, part 3), as LibreOffice writes it: paragraphs of text and spans, blanks as in HTML.

Notes and comments stand inside of the paragraph that they belong to, comments in notes, too. So there are three rounds:
theirs first, and then that of the texts around them, in which each is one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from yiwen.documents.assembling import running, units_of
from yiwen.documents.markup import Piece, elements, escaped, source_of, xml_pieces
from yiwen.documents.unit import Part, Token

CONTENT: Final = re.compile(r"content\.xml")
WITH_STYLES: Final = re.compile(r"(?:content|styles)\.xml")
"""With headers and footers; slides have there what a template says."""

_PARAGRAPHS: Final = frozenset(["p", "h", "header-decl", "footer-decl"])
"""With the texts that slides show at their edges."""
_ASIDES: Final = frozenset(["note", "annotation"])
_WHOLE: Final = _PARAGRAPHS | _ASIDES | {"tracked-changes"}
"""What is looked at as one: a paragraph; what another round is for; text that was deleted."""
_AROUND: Final = frozenset(["span", "a", "meta"])
_RANGE: Final = re.compile(r"(bookmark|reference-mark|toc-mark)-(?:(start)|end)")
_TWICE: Final = re.compile(r'(<table:table-cell[^<>]*?) office:string-value="([^"]*)"(?=[^>]*><text:p[^>]*>\2<)')
"""A cell that says its text twice: what counts is its attribute, or the result of its formula where it has none."""


def asides(source: str, *, name: str) -> list[Part]:
    """The units of notes (`note`) or comments (`annotation`)."""
    if f":{name}" not in source:  # as in most sheets, which are long
        return [source]
    found = elements(xml_pieces(source), lambda piece: piece.opens(name))
    return [part for inner in found for part in (inner[0].raw, *_with_paragraphs(inner[1:]))]


def texts(source: str) -> list[Part]:
    """The units of everything else."""
    return [*_with_paragraphs(xml_pieces(_TWICE.sub(r"\1", source)))]


def _with_paragraphs(pieces: Sequence[Piece]) -> Iterator[Part]:
    for inner in elements(pieces, lambda piece: piece.opens(*_WHOLE)):
        if inner[0].name in _PARAGRAPHS and len(inner) > 1:
            units = running(_tokens(inner[1:-1]), partial(units_of, escape=escaped, is_collapsed=True))
            yield from (inner[0].raw, *units, inner[-1].raw)
        else:
            yield source_of(inner)


def _tokens(pieces: Sequence[Piece]) -> Iterator[Token | Part]:
    """Tokens of running text. What ends a text comes as it is written."""
    for inner in elements(pieces, lambda piece: piece.kind == "open" and piece.name not in _AROUND):
        piece, raw = inner[0], source_of(inner)
        if piece.name in _AROUND and piece.kind != "empty":
            yield Token("open" if piece.kind == "open" else "close", raw, key=piece.name)
        elif found := _RANGE.fullmatch(piece.name):
            yield Token("open" if found[2] else "close", raw, key=found[1] + piece.attributes.get("text:name", ""))
        elif piece.name == "ruby":  # its base is the text; how that is read says nothing in another language
            yield Token("text", raw, "".join(p.text for p in next(elements(inner[1:], lambda _: True))))
        elif piece.kind == "text" or piece.name == "s":
            yield Token("text", raw, piece.text or " ")
        elif piece.name not in _ASIDES and any(p.name in _PARAGRAPHS for p in inner):  # a text box
            yield from _with_paragraphs(inner)
        else:
            yield raw if piece.name in ("tab", "line-break") else Token("point", raw)
