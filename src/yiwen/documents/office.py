"""Word, PowerPoint, Excel: paragraphs of runs. A run is a piece of text with its formatting; equal neighbours are one.

The formatting of most of a paragraph is that of its text, other formatting, links and insertions are marks, pictures,
notes, text boxes and fields that show no text of the document are points. Tabs, elements or characters, and line breaks
end a text. Whatever is not a paragraph is not looked at. Text boxes of Word have a round of their own, before the rest.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Final

from yiwen.documents import direction
from yiwen.documents.assembling import BLANK, SIGNS, pairs, running, units_of
from yiwen.documents.markup import Piece, elements, end_of, escaped, source_of, xml_pieces
from yiwen.documents.unit import Part, Token, Wrap
from yiwen.text.scripts import turns_leftwards

_DRAWN: Final = r"(?:diagrams/(?:data|drawing)|charts/chart|drawings/drawing)\d+"
DOCX: Final = re.compile(rf"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments|{_DRAWN})\.xml")
PPTX: Final = re.compile(rf"ppt/(?:(?:slides/slide|notesSlides/notesSlide)\d+|comments/\w+|{_DRAWN})\.xml")
_NUMBERED: Final = r"comments/?(?:comment)?|tables/table|pivotCache/pivotCacheDefinition"
XLSX: Final = re.compile(rf"(?i)xl/(?:workbook|sharedStrings|worksheets/\w+|{_DRAWN}|(?:{_NUMBERED})\d+)\.xml")
_PARAGRAPHS: Final = frozenset(["p", "si", "is", "text"])
"""What holds runs: a paragraph; a string of Excel that cells share, one of a single cell, and that of a comment."""
_STRING: Final = re.compile(r'(<(\w+:)?c\s(?:[^<>]*\s)?t=")str("[^<>]*>)<(?:\w+:)?v(?:\s[^<>]*)?>([^<]*)</(?:\w+:)?v>')
"""A cell with its text and no formula before it, as SheetJS writes all of them."""
_COLUMN: Final = re.compile(r"<(?:\w+:)?(?:tableColumn|cacheField|(?:customF|f)ilter[\w-]*|data-pilot-field)\s[^>]*")
_NAME: Final = re.compile(r'\s(?:name|totalsRowLabel|val|table:value|table:source-field-name)="([^"]*)"')
_FORMULA: Final = re.compile(r'<(?:\w+:)?f[^<>]*>([^<]*)|\s\w+:(?:formula|condition|value)="([^"]*)"')
_FINDS: Final = r"\wIFS?|LOOKUP|MATCH|SWITCH|EXACT|SEARCH|FIND|PIVOTDATA|list"
_ASKS: Final = re.compile(rf'^"[^"]*"$|(?<!:)[=>]\s*"|"\s*[=<]|(?:{_FINDS})\(')
"""A formula that goes by what a cell says, and a list to choose from (`"yes,no"`)."""
_CALLED: Final = re.compile(r'<(?:\w+:)?(?:sheet|definedName|table|named-range)\s[^<>]*?(?<![-\w])name="([^"]*)"')
"""The name of a sheet or a range."""
_AROUND: Final = frozenset(["hyperlink", "ins", "moveTo", "bdo", "dir", "smartTag", "customXml"])
_RANGE: Final = re.compile(r"(bookmark|commentRange|move\w+Range|perm)(?:(Start)|End)")
"""What a comment or a reference is about, from one empty element to another."""
_BREAKS: Final = frozenset(["br", "cr", "tab", "ptab"])
_APART: Final = re.compile(rf"({SIGNS.pattern[1:-1]}|\A\s+|(?<!\s)(?:\s*[\t\n]\s*|\s+\Z))")
"""What gets a run of its own: blanks at an edge, and a tab, a line break or a sign, which ends a text anywhere."""
_IGNORED: Final = frozenset(["proofErr", "lastRenderedPageBreak", "softHyphen", "rPh", "phoneticPr"])
_PROOFING: Final = re.compile(r'<\w+:(?:lang|noProof)\b[^>]*/>|\s(?:lang|altLang|dirty|err|noProof|smtClean)="[^"]*"')
"""Language and spelling of the source: elements in Word, attributes in PowerPoint."""
_FIELD: Final = re.compile(r"""fldCharType=["'](\w+)""")
_SHOWN: Final = re.compile(r"\b(?:HYPERLINK|TO[AC]|INDEX|(?:CSL_)?BIBLIOGRAPHY|EN\.REFLIST)\b")
"""Fields that show text of the document, or lists over many paragraphs: what stands inside, or behind their separator,
is translated."""
_EMPTY: Final = re.compile(r"<(\w+:)?rPr\s*(?:/>|>\s*</(?:\w+:)?rPr>)")


def paragraphs(source: str, *, in_boxes: bool, src_lang: str = "", tgt_lang: str = "") -> list[Part]:
    """The units of one part of a Word or PowerPoint file, in the direction of the target language where that is known.

    Those in text boxes or those outside: a box stands inside of the paragraph that it is anchored to, and is a point of
    that. What has that direction keeps it.
    """
    if in_boxes and "txbxContent" not in source:
        return [source]
    find = _of_boxes if in_boxes else _with_paragraphs
    is_leftwards = turns_leftwards(src_lang, tgt_lang)
    if is_leftwards is not None:
        source = direction.turned_tables(source, is_leftwards=is_leftwards)
    return direction.turned(find(xml_pieces(source)), is_leftwards=is_leftwards, is_known=bool(src_lang))


def cells(source: str) -> list[Part]:
    """The units of one part of an Excel file; a line break of Windows is one line break."""
    source = _STRING.sub(r"\1inlineStr\3<\2is><\2t>\4</\2t></\2is>", source.replace("_x000D_", ""))
    return list(_with_paragraphs(xml_pieces(source)))


def names(sources: Iterable[str]) -> frozenset[str]:
    """Lines of a workbook that must stay because something finds cells by them; in small letters, as case never counts.

    Names of columns, what filters show, what formulas compare with and lists hold, and authors; names of sheets and
    ranges where a formula finds these by what a cell says.
    """
    found, called, has_indirect = list[str](), list[str](), False
    for source in sources:
        called += map(html.unescape, _CALLED.findall(source))
        has_indirect |= "INDIRECT(" in source
        found += (html.unescape(name) for column in _COLUMN.findall(source) for name in _NAME.findall(column))
        found += (f"{html.unescape(author)}:" for author in re.findall(r"<(?:\w+:)?author>([^<]*)<", source))
        formulas = (html.unescape(formula or attribute) for formula, attribute in _FORMULA.findall(source))
        for formula in filter(_ASKS.search, formulas):
            for literal in re.findall(r'"((?:[^"]|"")*)"', formula):
                found += (name.lstrip("<>=") for name in (literal, *literal.split(",")))
    found += called if has_indirect else ()
    return frozenset(line.strip().casefold() for name in found for line in re.split("\n|_x000a_", name))


def _of_boxes(pieces: Sequence[Piece]) -> Iterator[Part]:
    for first, *inside in elements(pieces, lambda piece: piece.opens("txbxContent")):
        yield from (first.raw, *_with_paragraphs(inside))


def _with_paragraphs(pieces: Sequence[Piece]) -> Iterator[Part]:
    for first, *inside in elements(pieces, lambda piece: piece.opens(*_PARAGRAPHS)):
        yield first.raw
        if inside:
            yield from (*running(_tokens(inside[:-1]), units_of_runs), inside[-1].raw)


def _tokens(pieces: Sequence[Piece]) -> Iterator[Token | str]:
    """Tokens of running text; text with its run around it. What ends a text comes as it is written."""
    field, depth = list[str](), 0  # the source of a field that has begun, and of how many in each other
    for token in _flat(pieces):
        signs = _FIELD.findall(token.raw) if isinstance(token, Token) and token.kind == "point" else []
        n_begun = signs.count("begin") - signs.count("end")  # what was deleted may hold all of a field
        if not depth and n_begun < 1:
            yield Token("close", token.raw, key="field") if isinstance(token, Token) and n_begun < 0 else token
            continue
        field.append(token if isinstance(token, str) else token.raw)
        depth = max(0, depth + n_begun)
        is_shown = depth == 1 and signs[-1:] == ["separate"] and _SHOWN.search("".join(field))
        if not depth or is_shown:
            yield Token("open" if is_shown else "point", "".join(field), key="field")
            field, depth = [], 0
    yield "".join(field)  # it ends in another paragraph


def _flat(pieces: Sequence[Piece]) -> Iterator[Token | str]:
    for inner in elements(pieces, lambda piece: piece.kind == "open" and piece.name not in _AROUND):
        piece, raw, said = inner[0], source_of(inner), "".join(p.text for p in inner)
        if piece.name in _AROUND and piece.kind != "empty":
            yield Token("open" if piece.kind == "open" else "close", raw, key=piece.name)
        elif piece.opens("r"):
            yield from _run(inner)
        elif piece.opens("t"):  # of a cell, which may have text without a run
            yield from cut(said, _wrap("", piece.raw))
        elif (piece.opens("fldSimple") and _SHOWN.search(piece.raw)) or (piece.opens("sdt") and re.search(r"\w", said)):
            # A content control that says nothing, as a box to tick, is a point.
            start = 1 + next((n for n, p in enumerate(inner) if p.opens("fldSimple", "sdtContent")), 0)
            stop = end_of(inner, start - 1) - 1
            yield Token("open", source_of(inner[:start]), key=piece.name)
            yield from (*_flat(inner[start:stop]), Token("close", source_of(inner[stop:]), key=piece.name))
        elif found := _RANGE.fullmatch(piece.name):
            yield Token("open" if found[2] else "close", raw, key=found[1] + piece.attributes.get("w:id", ""))
        elif piece.text.strip():  # a comment of PowerPoint has no runs
            yield from cut(piece.text, ("", ""))
        elif piece.name not in _IGNORED:
            yield raw if piece.name in _BREAKS else Token("point", raw)


def _run(pieces: Sequence[Piece]) -> Iterator[Token | str]:
    """A run with several things inside becomes one run for each."""
    opening, closing, props = pieces[0].raw, pieces[-1].raw, ""
    for inner in elements(pieces[1:-1], lambda piece: piece.kind == "open"):
        piece, raw = inner[0], source_of(inner)
        if piece.name == "rPr":
            props = raw
        elif piece.name in ("t", "noBreakHyphen"):
            text = "".join(p.text for p in inner) if piece.name == "t" else "\u2011"
            yield from cut(text, _wrap(props, opening))
        elif piece.name == "ruby":  # its base is the text; how that is read says nothing in another language
            text = "".join(p.text for p in dropwhile(lambda p: p.name != "rubyBase", inner))
            yield Token("text", f"{opening}{props}{raw}{closing}", text, wrap=_wrap(props, opening))
        elif piece.name and piece.name not in _IGNORED:
            run = f"{opening}{props}{raw}{closing}"
            yield run if piece.name in _BREAKS else Token("point", run)


def cut(text: str, wrap: Wrap) -> Iterator[Token | str]:
    """The text of a run, blanks at its edges in runs of their own."""
    for part in filter(None, _APART.split(text)):
        run = escaped(part).join(wrap)
        yield run if re.search(r"[\t\n]", part) or SIGNS.fullmatch(part) else Token("text", run, part, wrap=wrap)


def _wrap(props: str, opening: str) -> Wrap:
    """Formatting as it is written around a text: what starts its run, up to the text, and what ends it."""
    prefix = re.findall(r"\A<(\w+:|)", opening)[0]
    props = _PROOFING.sub("", props)
    preserve = "" if prefix == "a:" else ' xml:space="preserve"'
    start = f"<{prefix}r>{'' if _EMPTY.fullmatch(props) else props}<{prefix}t{preserve}>"
    return start, f"</{prefix}t></{prefix}r>"


def units_of_runs(tokens: Sequence[Token], *, is_collapsed: bool = False) -> list[Part]:
    """Running text whose commonest formatting is that of the whole; other runs become marks."""
    texts = [number for number, token in enumerate(tokens) if token.kind == "text" and token.text.strip(BLANK)]
    lengths = Counter(tokens[number].wrap for number in texts for sign in tokens[number].text if not sign.isspace())
    if not lengths:
        return [token.raw for token in tokens]
    # Formatting of the whole, the commonest of those in fewest elements, and of each mark that is open.
    base = [max(lengths, key=lambda wrap: (-wrap[1].count("</"), lengths[wrap]))]
    # What is around all of the text becomes no mark.
    marks = {a for a, b in pairs(tokens).items() if not min(a, b) < texts[0] <= texts[-1] < max(a, b)}
    out: list[Token] = []
    for number, token in enumerate(tokens):
        if token.kind == "text" and token.wrap != base[-1]:
            closing = Token("close", "", key="run", wrap=token.wrap)
            if out[-1:] == [closing]:  # the same goes on
                out[-1:] = [token, closing]
            else:
                out += [closing._replace(kind="open"), token, closing]
            continue
        if number in marks and token.kind == "open":
            base.append(next((each.wrap for each in tokens[number:] if each.kind == "text"), base[-1]))
            token = token._replace(wrap=base[-1])
        elif number in marks:
            base.pop()
        out.append(token)
    return units_of(out, escape=escaped, wrap=base[0], is_collapsed=is_collapsed)
