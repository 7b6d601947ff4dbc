"""HTML: running text between block elements; code, scripts and anything marked translate="no" stay as they are.

Done in two rounds, attributes and then text, as a tag inside of a text is one piece there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from typing import Final

from yiwen.documents.assembling import DEEPEST, kept_token, running, string_unit, units_of
from yiwen.documents.markup import Piece, end_of, escaped, html_pieces, source_of
from yiwen.documents.unit import Part, Token, Unit
from yiwen.text.languages import base
from yiwen.text.scripts import is_leftwards, turns_leftwards

Names = Collection[str]
"""Names of elements, or of attributes."""
_IN_PARAGRAPH: Final = """area audio br button canvas embed iframe link meta noscript object optgroup option param
    picture script select source style template textarea track video""".split()  # noqa: SIM905
_AROUND: Final = """address article aside base blockquote body caption center col colgroup details dialog dir div
    dd dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend
    li main menu nav noembed noframes ol p pre search section summary table tbody td tfoot th thead title tr ul"""
BLOCKS: Final = frozenset([*_IN_PARAGRAPH, *_AROUND.split()])
"""Elements that end a text; all others, and those that nobody knows, are part of it."""
_OTHERS: Final = {"p": BLOCKS.difference(_IN_PARAGRAPH), **dict.fromkeys(("rt", "rp"), frozenset(("rt", "rp", "ruby")))}
"""Elements that may lack an end tag, and the elements at whose tags each of them ends then."""
KEPT: Final = frozenset(("code", "kbd", "samp", "tt", "var"))
_FORMATTING: Final = frozenset("b bpt code em ept font g i it mrk ph small span strong sub sup u".split())  # noqa: SIM905
"""Elements of XML that stand in a text whatever is around them, as HTML and XLIFF have them."""
_READ: Final = ("alt", "title", "placeholder", "aria-label")
_TEMPLATE: Final = re.compile(r"\{%[^{}\n]*%\}")
"""A tag of Jinja or Twig, in which a bare > or & is right, and which HTML cannot take for anything of its own."""
_DESCRIBED: Final = ("description", "og:title", "og:description", "twitter:title", "twitter:description")
_ATTRIBUTE: Final = re.compile(
    rf"""(?:<[^\s/>]+)?(?>(?:[\s/]|{_TEMPLATE.pattern})*)(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s>]+))?"""
)
"""From the end of the attribute before, so that nothing inside of a value looks like one."""


def attributes(source: str, *, src_lang: str = "", tgt_lang: str = "") -> list[Part]:
    """The texts of attributes; `lang` and `dir` become those of the target language where that is known.

    In `<html>`; elsewhere where they are those of the text.
    """
    own = {"lang": tgt_lang, "xml:lang": tgt_lang, "dir": "rtl" if is_leftwards(tgt_lang) else "ltr"}
    side = {True: "ltr", False: "rtl", None: None}[turns_leftwards(src_lang, tgt_lang)]  # which is another one now
    # Before `until` all belongs to an element that stays as it is.
    out, pieces, until = list[Part](), html_pieces(source), 0
    for number, piece in enumerate(pieces):
        if number >= until and _is_untranslated(piece):
            until = _end(pieces, number, is_html=True)
        if number < until:
            out.append(piece.raw)
            continue
        end, is_root = 0, piece.opens("html")
        if is_root and own["dir"] == "rtl" and "dir" not in piece.attributes:
            piece = piece._replace(raw=f'{piece.raw[:5]} dir="rtl"{piece.raw[5:]}')
        while piece.attributes and (match := _ATTRIBUTE.match(piece.raw, end)):
            name, value, end = match["name"].lower(), match["value"] or "", match.end()
            new: Part = value
            plain = value.strip("\"'")
            is_side = name == "dir" and plain.lower() == side and piece.name not in (*KEPT, "bdo", "input", "pre")
            is_language = "lang" in name and base(plain) == base(src_lang)
            if value and tgt_lang and name in own and (is_root or (src_lang and (is_side or is_language))):
                new = f'"{html.escape(own[name])}"'
            elif value and name in _read(piece):
                said = html.unescape(value[1:-1] if value[0] in "'\"" else value)
                new = string_unit([Token("text", "", said)], lambda text: f'"{html.escape(text)}"', raw=value)
            out += [match[0].removesuffix(value), new]
        out.append(piece.raw[end:])
    return out


def _read(piece: Piece) -> Names:
    """Names of the attributes that people read."""
    described = piece.attributes.get("name") or piece.attributes.get("property") or ""
    if piece.name == "meta" and described.lower() in _DESCRIBED:
        return ("content",)
    if piece.name == "input" and piece.attributes.get("type", "").lower() in ("submit", "button", "reset"):
        return (*_READ, "value")
    return (*_READ, "label") if piece.name in ("optgroup", "option", "track") else _READ


def texts(source: str, *, is_html: bool = True, kept: Names = KEPT, splitting: Names = ()) -> list[Part]:
    """The running texts.

    Args:
        source: HTML, whole or a piece of it, or a piece of XML.
        is_html: Which of them: in XML those of its outline end a text, none is hidden, and blanks are what they
            are.
        kept: Elements whose content stays as it is.
        splitting: Elements that end a text besides.
    """
    blocks = {*(BLOCKS if is_html else outline(source)), *splitting}
    tokens = _tokens(html_pieces(source, has_hidden=is_html), blocks, kept, is_html)
    return running(tokens, lambda text: units_of(text, escape=_escaped if is_html else escaped, is_collapsed=is_html))


def outline(source: str) -> set[str]:
    """Names of the elements of XML that never stand in a text: paragraphs and the like, beside which nothing is said.

    Formatting that is known by its name always stands in one: <g>Two</g> <g>parts</g> are one text.

    >>> sorted(outline("<doc><h>A <b>big</b> dog</h><par>runs</par></doc>"))
    ['doc', 'h', 'par']
    """
    around = [(-1, "")]  # the elements that are open, outermost first: number of its tag and name
    found: list[tuple[str, set[tuple[int, str]]]] = []  # name of each element, and those around it
    mixed = set()  # elements with text of their own
    for number, piece in enumerate(html_pieces(source, has_hidden=False)):
        if piece.kind == "open":
            found.append((piece.name, {*around[:DEEPEST]}))
            around.append((number, piece.name))
        elif (piece.kind, piece.name) == ("close", around[-1][1]):
            around.pop()
        elif piece.text.strip():
            mixed.add(around[-1])
    return {name for name, _ in found} - _FORMATTING - {name for name, outer in found if outer & mixed}


def said(source: str, *, is_html: bool) -> list[str]:
    """The texts of a piece of HTML or XML without their tags; numbers stand for what is not translated."""
    parts = texts(source, is_html=is_html, kept=KEPT if is_html else ())
    return [part.with_stand_ins().text for part in parts if isinstance(part, Unit)]


def _escaped(text: str) -> str:
    return _TEMPLATE.sub(lambda found: found[0].replace("&gt;", ">").replace("&amp;", "&"), escaped(text))


def _tokens(pieces: list[Piece], blocks: set[str], kept: Names, is_html: bool) -> Iterator[Token | str]:
    """Tokens of running text, and what stands between two texts as strings."""
    number = 0
    while number < len(pieces):
        piece = pieces[number]
        is_kept = piece.kind == "open" and (_is_untranslated(piece) or piece.name in kept)
        is_kept |= piece.opens("a") and _is_address(pieces[number : number + 15])
        # No mark of a note has more pieces.
        is_aside = is_html and piece.opens("a", "sup", "rt", "rp") and _is_aside(pieces[number : number + 15])
        end = _end(pieces, number, is_html=is_html) if is_kept or is_aside else number + 1
        inner = pieces[number:end]
        if any(p.name in blocks for p in inner):
            yield source_of(inner)
        elif is_aside:
            yield Token("point", source_of(inner))
        else:
            before = pieces[number - 1] if number else piece
            if is_html and piece.opens("a") and (before.kind, before.name) == ("close", "a"):
                yield ""  # links side by side are texts apart: a menu
            kind = piece.kind if piece.kind in ("text", "open", "close") else "point"
            yield kept_token(inner) if is_kept else Token(kind, piece.raw, piece.text, piece.name)  # type: ignore[arg-type]
        number = end


def _is_address(pieces: list[Piece]) -> bool:
    """A link that says its address, whose parts may be hidden or shortened by tags of their own."""
    inner = pieces[: end_of(pieces, 0)]
    return len(inner) > 3 and re.fullmatch(r"https?://\S+", "".join(piece.text for piece in inner)) is not None


def _is_aside(pieces: list[Piece]) -> bool:
    """True where the reading of a word starts, or the mark of a note: raised, a link into a page, without a letter.

    Books may leave it to their style to raise it (`epub:type="noteref"`).
    """
    inner = pieces[: end_of(pieces, 0)]
    is_raised = re.search(r"(?i)<sup\b|\bnoteref\b", source_of(inner)) is not None
    is_link = any("#" in p.attributes.get("href", "") for p in inner)
    is_whole = (inner[-1].kind, inner[-1].name) == ("close", inner[0].name)
    is_note = is_raised and is_link and is_whole and not any(map(str.isalpha, "".join(p.text for p in inner)))
    return is_note or pieces[0].name in ("rt", "rp")


def _end(pieces: list[Piece], number: int, *, is_html: bool) -> int:
    """The number behind an element; one without an end tag ends where one of certain others begins or ends."""
    own = pieces[number].name
    if not is_html or own not in _OTHERS:
        return end_of(pieces, number)
    end = next((n for n in range(number + 1, len(pieces)) if pieces[n].name in _OTHERS[own]), len(pieces))
    return end + (end < len(pieces) and (pieces[end].kind, pieces[end].name) == ("close", own))


def _is_untranslated(piece: Piece) -> bool:
    classes = piece.attributes.get("class", "").split()
    return piece.attributes.get("translate", "").lower() == "no" or not {"notranslate", "mention"}.isdisjoint(classes)
