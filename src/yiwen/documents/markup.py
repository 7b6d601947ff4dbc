"""XML, HTML and tags in strings, cut into pieces that together are the source.

Whatever is not changed therefore stays as it is, to the byte. XML is first read by expat, which refuses what is not
well-formed; a document type with declarations is refused too, so that there are no entities to expand or to fetch.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from xml.parsers import expat

from yiwen.documents.unit import Escape, Token
from yiwen.errors import DataError

HIDDEN: Final = "iframe|math|noembed|object|pre|script|style|svg|template|textarea"
"""HTML elements that hold no running text."""
VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
"""HTML elements without an end."""
_ATTRIBUTES: Final = r"(?>(?:=\s*+(?:\"[^\"]*\"|'[^']*')|\{%[^{}\n]*%\}|[^>])*)"
_TAG: Final = rf"<(?P<slash>/?)(?P<name>[^\W\d][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})>"
_CLOSED: Final = r"""<[^\s<>=]+(?:\s[^<>]*["'\s])?/>"""
"""An element without content as XHTML writes it, in which no value goes without quotes: not `<a href=/x/>`."""
_OTHER: Final = r"(?P<other><!--.*?-->|<\?.*?\?>|<%.*?%>|<![^>]*>)"
_XML: Final = re.compile(rf"(?:<!\[CDATA\[.*?\]\]>|[^<]++)+|{_OTHER}|{_TAG}", re.DOTALL)
_HTML: Final = re.compile(
    rf"(?is){_OTHER}|(?:(?!{_CLOSED})(?=<(?P<element>{HIDDEN})[\s/>])|){_TAG}(?(element).*?</(?P=element)\s*>)|[^<]+|<"
)
_FREE: Final = re.compile(_HTML.pattern.replace(HIDDEN, "(?!)").replace("<!-", r"<!\[CDATA\[.*?\]\]>|<!-"))
_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"(?<![\w:.-])([\w:.-]++)\s*+=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))")
OPTION: Final = r"[ \t]*[-+\\]+[\w?]\S*+(?: (?:[A-Z\d_]+|[-<\[{(]\S*))*(?: \w[\w=|-]*)?(?: {2,}|\t+|\n\s{8,})(?=\S)"
"""What a row of a help text begins with, `-o, --output FILE   `: up to two blanks, a tab, or a line that is set in."""
_SHORTCUT: Final = r"(?<=\S)\t(?:(?:(?:Ctrl|Alt|Shift|Cmd|Meta|Win)[+-])+\S+|F\d+|Del|Esc|Ins)\Z"
"""What a label of a menu ends with."""
CODE: Final = re.compile(r"(?i:<(?P<code>code|kbd|samp|tt|var)(?:\s[^<>]*)?>(?P<typed>[^<>]+)</(?P=code)>)")
"""Code in a string, with its tags."""
_IN_STRING: Final = re.compile(
    rf"{CODE.pattern}|"
    r"(?P<lines>(?:</?(?i:br|p|div|[ou]l|li|t[rdh]|h[1-6])(?=[\s/>])[^<>]*>\s*)+"
    r"|(?<=[^\s.!?:;])\r?\n[ \t]*(?=[a-zß-öø-ÿά-ώа-џ])|(?<![\s\"'(`])(?>(?:\\n)+)(?![a-z\s\"'),`]))"
    r"|(?:<(?!r[tp]>|(?<=%<)\w+>[\d.]*[dfs](?!\w))|\{(?=\w+>))"
    r"(?P<slash>/?)(?P<name>[A-Za-z][\w.:-]*|\d+(?=\s*/?>|[>}]))(?P<rest>\}|[^<>]*>)|(?P<point>"
    rf"\A\s*+{OPTION}|{_SHORTCUT}|\{{\\[^{{}}\n]*\}}|<\d[\d:.]*>|<r[tp]>[^<>]*(?:</r[tp]>)?|{_OTHER})|[^<{{\r\n\t\\]+|.",
    re.DOTALL,
)
"""Lines end at blocks, at a \\n that was escaped twice, and inside of sentences, which go on with a small letter.

Points are {\\an8} of SubRip, <00:00:01.000> of WebVTT, and how a word is read."""
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Piece(NamedTuple):
    """A tag, a text, or something else: a comment, a processing instruction, a declaration, a hidden element."""

    kind: str
    """open, close, empty (`<x/>`), text or other."""
    raw: str
    name: str = ""
    """Without its prefix."""
    text: str = ""
    attributes: Mapping[str, str] = {}

    def opens(self, *names: str) -> bool:
        """True for the start tag of an element of one of these names."""
        return self.kind == "open" and self.name in names


def xml_pieces(source: str) -> list[Piece]:
    """The pieces of an XML document.

    Raises:
        DataError: If it is not well-formed, or declares entities.
    """
    parser = expat.ParserCreate("utf-8")  # whatever the declaration says: it was decoded already
    parser.StartDoctypeDeclHandler = _doctype
    parser.SkippedEntityHandler = _unknown
    try:
        parser.Parse(source.encode(), True)
    except expat.ExpatError as error:
        raise DataError(f"no well-formed XML: {error}; export the document again") from error
    return fragment(source)


def fragment(source: str) -> list[Piece]:
    """The pieces of a part of such a document."""
    return [_piece(match) for match in _XML.finditer(source)]


def _doctype(name: str, system: str | None, public: str | None, has_subset: int) -> None:
    if has_subset:
        rule = "which no document may do here; remove what stands between [ and ] in <!DOCTYPE>"
        raise DataError(f"the document type of <{name}> declares entities or elements of its own, {rule}")


def _unknown(name: str, is_parameter: bool) -> None:
    raise DataError(f"&{name}; is an entity that nothing declares; write the character itself")


def html_pieces(source: str, *, has_hidden: bool = True) -> list[Piece]:
    """The pieces of HTML, however broken. Elements that hold no running text (`has_hidden`) are one piece each."""
    end = source.rfind(">") + 1  # behind it nothing is a tag, and each < would look as far as the end for one
    pieces = (_HTML if has_hidden else _FREE).finditer(source, 0, end)
    found = [_piece(match, is_html=True, has_void=has_hidden) for match in pieces]
    if rest := source[end:]:
        found.append(Piece("text", rest, text=html.unescape(rest)))
    return found


def _piece(match: re.Match[str], *, is_html: bool = False, has_void: bool = False) -> Piece:
    raw, name = match[0], match["name"]
    if match["other"]:
        return Piece("other", raw)
    if name is None:
        return Piece("text", raw, text=html.unescape(_CDATA.sub(lambda found: html.escape(found[1]), raw)))
    found = _ATTRIBUTE.findall(match["attributes"])
    attributes = {key.lower() if is_html else key: html.unescape("".join(values)) for key, *values in found}
    name = name.lower() if is_html else name.rpartition(":")[2]
    if is_html and match["element"]:
        kind = "other"  # hidden: the tag, and all that stands before its end
    elif match["slash"]:
        kind = "close"
    else:
        is_empty = (name in VOID or re.match(_CLOSED, raw)) if has_void else raw.endswith("/>")
        kind = "empty" if is_empty else "open"
    return Piece(kind, raw, name, attributes=attributes)


def end_of(pieces: Sequence[Piece], start: int) -> int:
    """The number behind the last piece of the element that starts there; of all pieces where it never ends."""
    depth = 0
    for number in range(start, len(pieces)):
        if pieces[number].name == pieces[start].name:
            depth += {"open": 1, "close": -1}.get(pieces[number].kind, 0)
        if depth == 0:
            return number + 1
    return len(pieces)


def elements(pieces: Sequence[Piece], is_whole: Callable[[Piece], bool]) -> Iterator[Sequence[Piece]]:
    """The pieces in order: each alone, or together with the whole element that it opens where `is_whole` says so."""
    number = 0
    while number < len(pieces):
        end = end_of(pieces, number) if is_whole(pieces[number]) else number + 1
        yield pieces[number:end]
        number = end


def source_of(pieces: Sequence[Piece | Token]) -> str:
    """The source of pieces or tokens."""
    return "".join(piece.raw for piece in pieces)


def string_tokens(source: str, *, is_joined: bool = True, escape: Escape = str) -> Iterator[Token]:
    """Tags in a string of a program or in a subtitle; anything that looks like none is text.

    A sentence that goes on in the next line is one where its lines are to be joined. `escape`: of HTML inside of XML.
    """
    for match in _IN_STRING.finditer(source):
        raw, name = escape(match[0]), match["name"]
        if match["lines"] and (is_joined or raw.strip()):
            yield Token("break", raw, raw)
        elif match["point"] or (name and (match["rest"].endswith("/>") or name.lower() in VOID)):
            yield Token("point", raw)
        elif name:  # </c> ends <c.red>, and <1} what {1> began in Phrase
            is_end = match["slash"] or match["rest"] == "}"
            yield Token("close" if is_end else "open", raw, key=name.partition(".")[0])
        else:
            yield Token("text", raw, match["typed"] or match[0], is_kept=match["code"] is not None)


def escaped(text: str) -> str:
    """Text as XML and HTML write it; what XML cannot hold is left out."""
    return html.escape(_NOT_XML.sub("", text), quote=False)
