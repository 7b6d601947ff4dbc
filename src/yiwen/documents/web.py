"""HTML: running text between block elements; code, scripts and anything marked translate="no" stay as they are.

Done in two rounds, attributes and then text, as a tag inside of a text is one piece there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from typing import Final

from yiwen.documents.assembling import kept_token, running, string_unit, units_of
from yiwen.documents.markup import Piece, end_of, escaped, html_pieces, source_of
from yiwen.documents.unit import Part, Token
from yiwen.text.scripts import is_leftwards

_IN_PARAGRAPH: Final = frozenset(
    """area audio br button canvas embed iframe link meta noscript object optgroup option param picture script
    select source style template textarea track video""".split()  # noqa: SIM905
)
"""Elements that end a text and no paragraph."""
_ITEMS: Final = frozenset("dd dt li tbody td tfoot th thead tr".split())  # noqa: SIM905
_HOLDERS: Final = frozenset("dl menu ol table ul".split())  # noqa: SIM905
"""Elements with items, whose end tags may be left out, and lists and tables inside of an item have items again."""
BLOCKS: Final = frozenset(
    """address article aside base blockquote body caption center col colgroup details dialog dir div fieldset
    figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend main nav noembed
    noframes p pre search section summary title""".split()  # noqa: SIM905
).union(_IN_PARAGRAPH, _ITEMS, _HOLDERS)
"""Elements that end a text; all others, and those that nobody knows, are part of it."""
KEPT: Final = frozenset(("code", "kbd", "samp", "tt", "var"))
_MOST_OF_NOTE: Final = 15
"""Pieces that the mark of a note has at most: its tags, brackets and number."""
_BESIDE: Final = [("close", "a"), ("open", "a")]
_READ: Final = ("alt", "title", "placeholder", "aria-label")
_TEMPLATE: Final = re.compile(r"\{%[^{}\n]*%\}")
"""A tag of Jinja or Twig, in which a bare > or & is right, and which HTML cannot take for anything of its own."""
_DESCRIBED: Final = ("description", "og:title", "og:description", "twitter:title", "twitter:description")
_ATTRIBUTE: Final = re.compile(
    r"""(?:<[^\s/>]+)?(?:[\s/]|\{%[^{}\n]*%\})*+(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s>]+))?"""
)
"""From the end of the attribute before, so that nothing inside of a value looks like one."""


def attributes(source: str, *, tgt_lang: str = "") -> list[Part]:
    """The texts of attributes; `<html lang>` and `dir` become those of the target language where that is known."""
    out: list[Part] = []
    own = {"lang": tgt_lang, "xml:lang": tgt_lang, "dir": "rtl" if is_leftwards(tgt_lang) else "ltr"}
    for piece in html_pieces(source):
        at = end = 0
        if (piece.kind, piece.name, own["dir"]) == ("open", "html", "rtl") and "dir" not in piece.attributes:
            piece = piece._replace(raw=f'{piece.raw[:5]} dir="rtl"{piece.raw[5:]}')
        names = _read(piece)
        while piece.attributes and (match := _ATTRIBUTE.match(piece.raw, end)):
            name, value, end = match["name"].lower(), match["value"], match.end()
            new: list[Part] = []
            if piece.name == "html" and value and tgt_lang and name in own:
                new = [f'"{html.escape(own[name])}"']
            elif name in names and value and not _is_untranslated(piece):
                tokens = [Token("text", "", html.unescape(value[1:-1] if value[0] in "'\"" else value))]
                new = string_unit(tokens, lambda text: f'"{html.escape(text)}"', raw=value)
            if new:
                out += [piece.raw[at : match.start("value")], *new]
                at = end
        out.append(piece.raw[at:])
    return out


def _read(piece: Piece) -> Collection[str]:
    """Names of the attributes that people read."""
    described = piece.attributes.get("name") or piece.attributes.get("property") or ""
    if piece.name == "meta" and described.lower() in _DESCRIBED:
        return ("content",)
    if piece.name == "input" and piece.attributes.get("type", "").lower() in ("submit", "button", "reset"):
        return (*_READ, "value")
    return (*_READ, "label") if piece.name in ("optgroup", "option", "track") else _READ


def texts(
    source: str, *, is_html: bool = True, kept: Collection[str] = KEPT, splitting: Collection[str] = ()
) -> list[Part]:
    """The running texts.

    Args:
        source: HTML, whole or a piece of it, or a piece of XML.
        is_html: Which of them: in XML no element ends a text, none is hidden, and blanks are what they are.
        kept: Elements whose content stays as it is.
        splitting: Elements that end a text besides.
    """
    tokens = _tokens(html_pieces(source, has_hidden=is_html), {*(BLOCKS if is_html else ()), *splitting}, kept)
    return running(tokens, lambda text: units_of(text, escape=_escaped if is_html else escaped, is_collapsed=is_html))


def _escaped(text: str) -> str:
    return _TEMPLATE.sub(lambda found: found[0].replace("&gt;", ">").replace("&amp;", "&"), escaped(text))


def _tokens(pieces: list[Piece], blocks: Collection[str], kept: Collection[str]) -> Iterator[Token | str]:
    """Tokens of running text, and what stands between two texts as strings."""
    number = 0
    while number < len(pieces):
        piece, end = pieces[number], number + 1
        kind = piece.kind if piece.kind in ("text", "open", "close") else "point"
        is_kept = kind == "open" and (_is_untranslated(piece) or piece.name in kept)
        if is_kept:
            end = _end(pieces, number) if piece.name in blocks else end_of(pieces, number)
        elif blocks and kind == "open" and piece.name in ("rt", "rp"):  # how it is read, not what it says
            end, kind = _end_before(pieces, number, ("rt", "rp", "ruby")), "point"
        elif blocks and kind == "open" and (length := _length_of_note(pieces[number : number + _MOST_OF_NOTE])):
            end, kind = number + length, "point"
        inner = pieces[number:end]
        if any(p.name in blocks for p in inner):
            yield source_of(inner)
        else:
            is_link_beside = [(p.kind, p.name) for p in pieces[number - 1 : number + 1]] == _BESIDE
            if blocks and is_link_beside and kind != "point":
                yield ""  # links side by side are texts apart: a menu
            yield kept_token(inner) if is_kept else Token(kind, source_of(inner), piece.text, key=piece.name)  # type: ignore[arg-type]
        number = end


def _end(pieces: list[Piece], number: int) -> int:
    """The number after an element, whose own end tag may be left out in HTML."""
    name = pieces[number].name
    if name == "p":
        return _end_before(pieces, number, BLOCKS - _IN_PARAGRAPH)
    if name in ("dd", "dt", "li", "td", "th"):
        return _end_before(pieces, number, _ITEMS, _HOLDERS)
    return end_of(pieces, number)


def _end_before(pieces: list[Piece], number: int, others: Collection[str], holders: Collection[str] = ()) -> int:
    """An element without its own end tag ends where one of some others begins or ends, none that `holders` hold."""
    depth = 0
    for end in range(number + 1, len(pieces)):
        kind, name = pieces[end].kind, pieces[end].name
        if name in holders:
            depth += {"open": 1, "close": -1}.get(kind, 0)
        if depth < 0 or (depth == 0 and name in others):
            return end + ((kind, name) == ("close", pieces[number].name))
    return len(pieces)


def _length_of_note(pieces: list[Piece]) -> int:
    """How many pieces the mark of a note has that stands first: raised, a link into a page, and no letter; else 0."""
    inner = pieces[: end_of(pieces, 0)]
    is_raised = inner[0].name in ("a", "sup") and "sup" in {piece.name for piece in inner}
    is_link = any("#" in piece.attributes.get("href", "") for piece in inner)
    is_mark = is_raised and is_link and not any(any(map(str.isalpha, piece.text)) for piece in inner)
    return len(inner) if is_mark and (inner[-1].kind, inner[-1].name) == ("close", inner[0].name) else 0


def _is_untranslated(piece: Piece) -> bool:
    classes = piece.attributes.get("class", "").split()
    return piece.attributes.get("translate", "").lower() == "no" or "notranslate" in classes
