"""OpenDocument (ODF 1.3, part 3), as LibreOffice writes it: paragraphs of text and spans, blanks as in HTML.

Notes, comments and text boxes stand inside of the paragraph that they belong to, and of each other. So there are
rounds: those that lie deepest come first, each is one piece for what is around it, and the texts around all come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Final

from yiwen.documents.assembling import running
from yiwen.documents.markup import Piece, elements, source_of, xml_pieces
from yiwen.documents.office import cut, units_of_runs
from yiwen.documents.unit import Part, Token, Wrap
from yiwen.text.scripts import turns_leftwards

PARTS: Final = re.compile(r"(?:content|styles)\.xml")
"""Styles hold headers and footers, too."""

_PARAGRAPHS: Final = frozenset(["p", "h", "header-decl", "footer-decl"])
"""With the texts that slides show at their edges."""
_DRAWN: Final = "caption circle connector custom-shape ellipse line measure path polygon polyline rect regular-polygon"
"""Shapes, which may hold paragraphs (ODF 1.3, part 3, section 10.3)."""
_ASIDES: Final = frozenset(["note", "annotation", "text-box", *_DRAWN.split()])
_ASIDE: Final = re.compile(rf"<(/?)\w+:(?:{'|'.join(_ASIDES)})(?:\s[^<>]*)?(?<!/)>")
_WHOLE: Final = _PARAGRAPHS | _ASIDES | {"tracked-changes"}
"""What is looked at as one: a paragraph; what another round is for; text that was deleted."""
_AROUND: Final = frozenset(["span", "a", "meta", "content-control"])
_RANGE: Final = re.compile(r"((?:bookmark|change|[\w-]+-mark)(?=-)|annotation)(?:-start)?(-end)?")
"""From one empty element to another, a tracked insertion among them; a comment stands where what it is about begins."""
_WAY: Final = re.compile(r'(\s(?:style:writing-mode|fo:text-align)=")(?!tb|center|justify)([^"]*)(?="[^<>]*>)')
_OTHER_SIDE: Final = {"left": "end", "start": "end", "right": "start", "end": "start"}
_DEFAULT: Final = r'<style:default-style style:family="(?:paragraph|graphic)">(?:<[^<>]*/>)?'
_UNALIGNED: Final = re.compile(rf"({_DEFAULT}<style:paragraph-properties\b)(?![^<>]*\sfo:text-align=)")
"""Up to where the side would be named that a text begins at unless its style says otherwise."""
_TWICE: Final = re.compile(r'(<table:table-cell[^<>]*?) office:string-value="([^"]*)"(?=[^>]*><text:p[^>]*>\2<)')
"""A cell that says its text twice: what counts is its attribute, or the result of its formula where it has none."""


def turned(source: str, *, src_lang: str = "", tgt_lang: str = "") -> list[Part]:
    """The source; where the translation runs the other way than the text, so do its paragraphs and tables.

    LibreOffice takes the start of a line for its left, so that alignment changes sides. A text whose language is not
    given runs rightwards.
    """
    is_leftwards = turns_leftwards(src_lang or "en", tgt_lang)
    if is_leftwards is None:
        return [source]
    way, start = ("rl-tb", "end") if is_leftwards else ("lr-tb", "start")
    source = _WAY.sub(lambda found: found[1] + _OTHER_SIDE.get(found[2], way), source)
    return [_UNALIGNED.sub(rf'\1 fo:text-align="{start}"', source)]


def texts(source: str, *, depth: int) -> list[Part]:
    """The units of what stands in as many notes, comments and text boxes around each other; none of a template."""
    deepest = max(accumulate(-1 if slash else 1 for slash in _ASIDE.findall(source)), default=0)
    is_template = "<office:master-styles>" in source and 'style:family="presentation"' in source
    if is_template or deepest < depth:  # at 0 in most sheets, which are long
        return [source]
    return list(_with_paragraphs(xml_pieces(source if depth else _TWICE.sub(r"\1", source)), depth))


def _with_paragraphs(pieces: Sequence[Piece], depth: int) -> Iterator[Part]:
    def is_whole(piece: Piece) -> bool:
        has_value = piece.attributes.get("office:value-type", "string") != "string"  # a cell that only shows it
        return piece.opens(*_ASIDES) if depth else piece.opens(*_WHOLE) or has_value

    for first, *inside in elements(pieces, is_whole):
        yield first.raw
        if inside and depth:
            yield from _with_paragraphs(inside, depth - 1)
        elif inside and first.name in _PARAGRAPHS:
            yield from (*running(_tokens(inside[:-1]), partial(units_of_runs, is_collapsed=True)), inside[-1].raw)
        else:
            yield source_of(inside)


def _tokens(pieces: Sequence[Piece]) -> Iterator[Token | str]:
    """Tokens of running text, each in spans of its own. What ends a text comes as it is written."""
    wraps: list[Wrap] = [("", "")]  # what is around each text: spans, and a link in one, which may hold none in slides
    for inner in elements(pieces, lambda piece: piece.kind == "open" and piece.name not in _AROUND):
        piece, raw, (before, after) = inner[0], source_of(inner), wraps[-1]
        if piece.opens("span") or (before and piece.opens("a")):
            wraps.append((f"{before}{raw}", f"</{raw[1:-1].split()[0]}>{after}"))
        elif piece.kind == "close" and after.startswith(raw[:-1].rstrip()):
            wraps.pop()
        elif piece.name in _AROUND and piece.kind != "empty":
            yield Token("open" if piece.kind == "open" else "close", raw, key=piece.name)
        elif found := _RANGE.fullmatch(piece.name):
            name = piece.attributes.get("office:name" if found[1] == "annotation" else "text:name", "")
            yield Token("close" if found[2] else "open", raw, key=found[1] + name)
        elif piece.name in ("ruby", "s"):  # how a word is read says nothing in another language
            said = "".join(p.text for p in next(elements(inner[1:], lambda _: True), ())) or " "
            yield Token("text", raw.join(wraps[-1]), said, wrap=wraps[-1])
        elif piece.kind == "text":
            yield from cut(" ".join(re.split("[ \t\r\n]+", piece.text)), wraps[-1])
        else:
            run = raw.join(wraps[-1])
            yield run if piece.name in ("tab", "line-break") else Token("point", run)


ROUNDS: Final = [partial(texts, depth=depth) for depth in (5, 4, 3, 2, 1, 0)]
"""A comment in a note in a text box is at 3; what lies deeper than 5 stays as it is."""
