"""HTML: running text between block elements; code, scripts and what says translate="no" stay as they are.

Done in two rounds, attributes and then text, as a tag inside of a text is one piece there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from yiwen.documents.markup import Piece, end_of, escaped, html_pieces, source_of
from yiwen.documents.unit import Part, Token, running, string_unit

INLINE: Final = frozenset(
    """a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd mark math nobr q rp rt ruby s
    samp small span strike strong sub sup svg time tt u var wbr""".split()  # noqa: SIM905
)
KEPT: Final = frozenset(("code", "kbd", "samp", "tt", "var"))
_READ: Final = re.compile(r"""\s(?:alt|title|placeholder|aria-label)\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)
_CONTENT: Final = re.compile(r"""\scontent\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)
_DESCRIBED: Final = ("description", "og:title", "og:description", "twitter:title", "twitter:description")
_LANG: Final = re.compile(r"""(\slang\s*=\s*)("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


def attributes(source: str, *, tgt_lang: str = "") -> list[Part]:
    """The texts of attributes; <html lang> becomes the target language where that is known."""
    out: list[Part] = []
    for piece in html_pieces(source):
        raw, at = piece.raw, 0
        if piece.name == "html" and tgt_lang:
            raw = _LANG.sub(lambda match: f'{match[1]}"{html.escape(tgt_lang)}"', raw, count=1)
        described = piece.attributes.get("name") or piece.attributes.get("property") or ""
        pattern = _CONTENT if piece.name == "meta" and described.lower() in _DESCRIBED else _READ
        for match in pattern.finditer(raw) if piece.attributes and not _is_untranslated(piece) else ():
            tokens = [Token("text", "", html.unescape(match[1][1:-1]))]
            if unit := string_unit(tokens, lambda text: f'"{html.escape(text)}"', raw=match[1]):
                out += [raw[at : match.start(1)], *unit]
                at = match.end()
        out.append(raw[at:])
    return out


def texts(source: str) -> list[Part]:
    """The running texts."""
    return running(_tokens(html_pieces(source)), escape=escaped, is_collapsed=True)


def _tokens(pieces: list[Piece]) -> Iterator[Token | str]:
    """Tokens of running text, and what stands between two texts as strings."""
    number, kept_until = 0, 0
    while number < len(pieces):
        piece, end = pieces[number], number + 1
        is_untranslated = piece.kind == "open" and _is_untranslated(piece)
        if piece.kind == "text":
            yield Token("text", piece.raw, piece.text, is_kept=number < kept_until)
        elif piece.name not in INLINE:
            end = end_of(pieces, number) if is_untranslated else end
            yield source_of(pieces[number:end]) if piece.name else Token("point", piece.raw)
        else:
            if (is_untranslated or (piece.kind == "open" and piece.name in KEPT)) and number >= kept_until:
                kept_until = end_of(pieces, number)
            kind = piece.kind if piece.kind in ("open", "close") else "point"
            yield Token(kind, piece.raw, key=piece.name)  # type: ignore[arg-type]
        number = end


def _is_untranslated(piece: Piece) -> bool:
    classes = piece.attributes.get("class", "").split()
    return piece.attributes.get("translate", "").lower() == "no" or "notranslate" in classes
