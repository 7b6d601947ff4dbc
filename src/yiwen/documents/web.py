"""HTML: running text between block elements; code, scripts and what says translate="no" stay as they are.

Done in two rounds, attributes and then text, as a tag inside of a text is one piece there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from typing import Final

from yiwen.documents.markup import Piece, end_of, escaped, html_pieces, source_of
from yiwen.documents.unit import Part, Token, running, string_unit

BLOCKS: Final = frozenset(
    """address area article aside audio base blockquote body br button canvas caption center col colgroup dd
    details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6
    head header hgroup hr html iframe legend li link main menu meta nav noembed noframes noscript object ol
    optgroup option p param picture pre script search section select source style summary table tbody td
    template textarea tfoot th thead title tr track ul video""".split()  # noqa: SIM905
)
"""Elements that end a text; all others, and those that nobody knows, are part of it."""
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


def texts(source: str, *, blocks: Collection[str] = BLOCKS, kept: Collection[str] = KEPT) -> list[Part]:
    """The running texts.

    Args:
        source: HTML, whole or a piece of it.
        blocks: Elements that end a text.
        kept: Elements whose content stays as it is.
    """
    return running(_tokens(html_pieces(source), blocks, kept), escape=escaped, is_collapsed=True)


def _tokens(pieces: list[Piece], blocks: Collection[str], kept: Collection[str]) -> Iterator[Token | str]:
    """Tokens of running text, and what stands between two texts as strings."""
    number, kept_until = 0, 0
    while number < len(pieces):
        piece, end = pieces[number], number + 1
        is_untranslated = piece.kind == "open" and _is_untranslated(piece)
        if piece.kind == "text":
            yield Token("text", piece.raw, piece.text, is_kept=number < kept_until)
        elif piece.name in blocks:
            end = end_of(pieces, number) if is_untranslated else end
            yield source_of(pieces[number:end])
        else:
            if (is_untranslated or (piece.kind == "open" and piece.name in kept)) and number >= kept_until:
                kept_until = end_of(pieces, number)
            kind = piece.kind if piece.kind in ("open", "close") else "point"
            yield Token(kind, piece.raw, key=piece.name)  # type: ignore[arg-type]
        number = end


def _is_untranslated(piece: Piece) -> bool:
    classes = piece.attributes.get("class", "").split()
    return piece.attributes.get("translate", "").lower() == "no" or "notranslate" in classes
