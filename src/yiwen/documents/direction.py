"""Which way paragraphs and tables of Word and PowerPoint run, where the translation is written the other way.

After ECMA-376 part 1: bidi (17.3.1.6), rtl (17.3.2.30) and bidiVisual (17.4.1) of Word, attributes of DrawingML
(21.1.2.2.7, 21.1.3.15). Word takes the left of a paragraph that runs leftwards for the side where its lines begin, so
alignment and indents turn with it; PowerPoint takes it for the left.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from yiwen.documents.unit import Part, Unit

_LATER: Final = {
    "bidi": "adjustRightInd|snapToGrid|spacing|ind|contextualSpacing|mirrorIndents|suppressOverlap|jc|textDirection"
    "|textAlignment|textboxTightWrap|outlineLvl|divId|cnfStyle|rPr|sectPr|pPrChange",
    "rtl": "cs|em|lang|eastAsianLayout|specVanish|oMath|rPrChange",
}
"""What the schema puts behind a mark."""
_NO_PROPS: Final = re.compile(r"^\s*<(?!a:)\w+:pPr\b[^>]*/>|^(?!\s*<\w+:pPr\b)")
_PARAGRAPH: Final = re.compile(r"<(/?)\w+:p(?:\s[^>]*)?(?<!/)>")
_TABLE: Final = re.compile(r"(<(\w+:)tblPr>(?:\s*<\2tbl(?:Style|pPr|Overlap)\b[^>]*/>)*)(?:\s*<\2bidiVisual\b[^>]*/>)?")
_RUN: Final = re.compile(r"(<(?!a:)(\w+:)r>)((?:<\2rPr>(?:(?!</\2r>).)*</\2rPr>)?)(<\2t\b[^>]*>)([^<]*)", re.DOTALL)
"""As `office` writes one: its beginning, prefix, formatting, and text."""
_LATIN_ONLY: Final = re.compile(r"<(\w+:)(b|i|sz)(\s[^>]*)?/>(?!\s*<\1\2Cs\b)")
"""Formatting that does not go for runs from right to left, nor for complex scripts, which have their own."""
_COMPLEX: Final = re.compile("[\u0590-\u109f\u1780-\u17ff]")
"""Letters of these scripts: from Hebrew and Arabic over those of India to Thai, Lao, Burmese and Khmer."""
_ATTRIBUTE: Final = re.compile(r"""\s(rtl|algn)\s*=\s*["'](\w*)["']""")
_PLACE: Final = re.compile(r"""<\w+:(?:(sp|tc)\b|(?:ph|lvl1pPr)\b[^>]*["'](?:ctrTitle|subTitle|ctr)["'])""")
"""A shape or a cell, whose text begins at a side unless it says otherwise; or what puts it into the middle."""


def turned_tables(source: str, *, is_leftwards: bool) -> str:
    """The source of a part, the columns of its tables counted from the other side."""
    source = _TABLE.sub(r"\1<\2bidiVisual/>" if is_leftwards else r"\1", source)
    return re.sub(r"<a:tblPr\b[^>]*", lambda found: _drawn(found[0], ' rtl="1"' if is_leftwards else ""), source)


def turned(parts: Iterable[Part], *, is_leftwards: bool | None, is_known: bool) -> list[Part]:
    """The parts; each paragraph with a text to translate runs the other way.

    Args:
        parts: Where a paragraph starts and ends is a part of its own.
        is_leftwards: Whether the translation is written from right to left; None: the same way as the text.
        is_known: Whether it is known that the text is not written the same way; else its letters tell.
    """
    out, is_sided = list[Part](), False
    starts: list[int] = []  # of the paragraphs that have not ended; the part behind each begins with its properties
    for part in parts:
        if isinstance(part, Unit):
            way = is_leftwards if starts and (is_known or _runs_leftwards(part.text) != is_leftwards) else None
            if way is not None:
                start, head = map(str, out[starts[-1] : starts[-1] + 2])
                out[starts[-1] + 1] = _head(head, start[1:].partition("p")[0], is_leftwards=way, is_sided=is_sided)
            part = replace(part, finish=partial(_RUN.sub, partial(_run, way)))
        elif found := _PARAGRAPH.fullmatch(part):
            if found[1]:
                starts.pop()
            else:
                starts.append(len(out))
        elif found := _PLACE.match(part):
            is_sided = found[1] is not None
        out.append(part)
    return out


def _head(head: str, prefix: str, *, is_leftwards: bool, is_sided: bool) -> str:
    """What stands first in a paragraph, with its direction and, in PowerPoint, its side among the properties."""
    head = _NO_PROPS.sub(f"<{prefix}pPr></{prefix}pPr>", head)
    if prefix != "a:":
        return _marked(head, "bidi", f"<{prefix}bidi/>" if is_leftwards else f'<{prefix}bidi {prefix}val="0"/>')
    tag, end, rest = head.partition(">")
    old = dict(_ATTRIBUTE.findall(tag))
    if old.get("rtl") in (("1", "true") if is_leftwards else ("0", "false")):
        return head
    side = old.get("algn") or (("l" if is_leftwards else "r") if is_sided else "")
    side = {"l": "r", "r": "l"}.get(side, side)
    return _drawn(tag, f' rtl="{int(is_leftwards)}"' + (f' algn="{side}"' if side else "")) + end + rest


def _run(is_leftwards: bool | None, found: re.Match[str]) -> str:
    """A run of Word as it is written where a translation has been put in; one of other letters only goes rightwards."""
    start, prefix, props, tag, text = found.groups()
    is_turned = is_leftwards and _runs_leftwards(html.unescape(text))
    if is_turned or _COMPLEX.search(text):
        props = _LATIN_ONLY.sub(r"\g<0><\1\2Cs\3/>", props)
    if is_turned:
        props = _marked(props or f"<{prefix}rPr></{prefix}rPr>", "rtl", f"<{prefix}rtl/>")
    elif props and is_leftwards is not None:
        props = _marked(props, "rtl", "")
    return f"{start}{props}{tag}{text}"


def _marked(props: str, name: str, mark: str) -> str:
    """Properties of Word with a mark in its place, and without the one that they had."""
    before, after = re.split(rf"(?=<(?:\w+:(?:{_LATER[name]})\b|w1\d:|/\w+:[pr]Pr\b))", props, maxsplit=1)
    return re.sub(rf"<\w+:{name}\b[^>]*/>", "", before) + mark + after


def _drawn(tag: str, new: str) -> str:
    """A tag of DrawingML with attributes for those that it had."""
    return re.sub(r"\w:\w+", rf"\g<0>{new}", _ATTRIBUTE.sub("", tag), count=1)


def _runs_leftwards(text: str) -> bool:
    """True of a text with letters that are written from right to left, and of one without letters (UAX 9, table 4)."""
    kinds = {*map(unicodedata.bidirectional, text)}
    return bool(kinds & {"R", "AL"}) or "L" not in kinds
