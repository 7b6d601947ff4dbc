"""EPUB 3.3: its XHTML pages, and title, description, language and headings in the files that list them."""

from __future__ import annotations

import html
import re
from typing import Final

from yiwen.documents import web
from yiwen.documents.assembling import replaced, units_of
from yiwen.documents.markup import escaped, string_tokens
from yiwen.documents.unit import Part
from yiwen.text.scripts import is_leftwards

PAGES: Final = re.compile(r"(?!META-INF/).+\.(?:x?html?|xht|xml|opf|ncx)", re.IGNORECASE)

_HTML: Final = re.compile(r"<(?:\w+:)?html[\s>]", re.IGNORECASE)
_SAID: Final = re.compile(r"<(?:dc:title|dc:description|text)\b[^>]*>([^<]++)(?!</text>\s*</docAuthor>)")
"""Of the package, and of the contents that EPUB 2 had (NCX), but for who wrote the book."""
_LANGUAGE: Final = re.compile(r"(<dc:language\b[^>]*>)([^<]*)")
_SPINE: Final = re.compile(r'(<(?:\w+:)?spine\b(?:(?!\spage-)[^>])*)(?:\spage-progression-direction="\w*")?')
"""Where EPUB 3 says to which side pages are turned."""


def attributes(source: str, *, src_lang: str = "", tgt_lang: str = "") -> list[Part]:
    """The texts of attributes of a page; language and side of the pages become those of the translation where known."""
    if _HTML.search(source):
        return web.attributes(source, src_lang=src_lang, tgt_lang=tgt_lang)
    sides = {"rtl" if is_leftwards(named[1]) else "ltr" for named in _LANGUAGE.findall(source)}
    side = "rtl" if is_leftwards(tgt_lang) else "ltr"
    if tgt_lang and sides - {side} and 'version="3' in source:
        source = _SPINE.sub(rf'\1 page-progression-direction="{side}"', source)
    return [_LANGUAGE.sub(rf"\g<1>{html.escape(tgt_lang)}", source) if tgt_lang else source]


def texts(source: str) -> list[Part]:
    """The running texts of a page or of a list of pages."""
    return web.texts(source) if _HTML.search(source) else replaced(source, _SAID, _units)


def _units(said: str) -> list[Part]:
    return units_of(string_tokens(html.unescape(said), escape=escaped), escape=escaped, is_collapsed=True)
