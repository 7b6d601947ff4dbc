"""HTML: running text between block elements; code, scripts and anything marked translate="no" stay as they are.

Done in two rounds, attributes and then text, as a tag inside of a text is one piece there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from typing import Final

from yiwen.documents.assembling import running, string_unit, units_of
from yiwen.documents.markup import Piece, end_of, escaped, html_pieces, source_of
from yiwen.documents.unit import Part, Token
from yiwen.text.scripts import is_leftwards

BLOCKS: Final = frozenset(
    """address area article aside audio base blockquote body br button canvas caption center col colgroup dd
    details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6
    head header hgroup hr html iframe legend li link main menu meta nav noembed noframes noscript object ol
    optgroup option p param picture pre script search section select source style summary table tbody td
    template textarea tfoot th thead title tr track ul video""".split()  # noqa: SIM905
)
"""Elements that end a text; all others, and those that nobody knows, are part of it."""
KEPT: Final = frozenset(("code", "kbd", "samp", "tt", "var"))
_READ: Final = ("alt", "title", "placeholder", "aria-label")
_TEMPLATE: Final = re.compile(r"\{%[^{}\n]*%\}")
"""A tag of Jinja or Twig, in which a bare > or & is right, and which HTML cannot take for anything of its own."""
_DESCRIBED: Final = ("description", "og:title", "og:description", "twitter:title", "twitter:description")
_ATTRIBUTE: Final = re.compile(
    r"""(?:<[^\s/>]+)?[\s/]*(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s>]+))?"""
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
    number, kept_until = 0, 0
    while number < len(pieces):
        piece, end = pieces[number], number + 1
        is_untranslated = piece.kind == "open" and (_is_untranslated(piece) or piece.name in kept)
        if piece.kind == "text":
            yield Token("text", piece.raw, piece.text, is_kept=number < kept_until)
        elif blocks and piece.kind == "open" and piece.name in ("rt", "rp"):  # how it is read, not what it says
            end = _end_before(pieces, number, ("rt", "rp", "ruby"))
            yield Token("point", source_of(pieces[number:end]))
        elif piece.name in blocks:
            if is_untranslated:
                end = _end_before(pieces, number, blocks) if piece.name == "p" else end_of(pieces, number)
            yield source_of(pieces[number:end])
        else:
            if is_untranslated and number >= kept_until:
                kept_until = end_of(pieces, number)
            if blocks and [(p.kind, p.name) for p in pieces[number - 1 : end]] == [("close", "a"), ("open", "a")]:
                yield ""  # links side by side are texts apart: a menu
            kind = piece.kind if piece.kind in ("open", "close") else "point"
            yield Token(kind, piece.raw, key=piece.name)  # type: ignore[arg-type]
        number = end


def _end_before(pieces: list[Piece], number: int, others: Collection[str]) -> int:
    """An element whose own end tag may be left out, as of a paragraph, ends where one of some others begins or ends."""
    end = next((n for n in range(number + 1, len(pieces)) if pieces[n].name in others), len(pieces))
    return end + (end < len(pieces) and (pieces[end].kind, pieces[end].name) == ("close", pieces[number].name))


def _is_untranslated(piece: Piece) -> bool:
    classes = piece.attributes.get("class", "").split()
    return piece.attributes.get("translate", "").lower() == "no" or "notranslate" in classes
