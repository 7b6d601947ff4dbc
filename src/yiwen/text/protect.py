"""Spans of a text that are no language: addresses, file names, codes, placeholders, tags. They are kept as they are.

A model that has learnt symbols for them (`tokenizer.placeholders`) is given a symbol for each and copies it; the
spans are put back into its translation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ADDRESS: Final = '[^\\s\u3000-\u303f\uff00-\uffef\u3400-\u9fff“”‘’<>"`]'
SPAN: Final = re.compile(
    rf"""
    </?[A-Za-z][^<>\n]{{0,200}}> | &(?:[A-Za-z]{{2,8}}|\#\d{{1,6}});        # tags and entities
    | `[^`\n]{{1,200}}`                                                     # code
    | (?:(?:https?|ftp|file)://|www\.){_ADDRESS}*[^\W_]/?                   # addresses
    | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}})+
    | \$?\{{\{{?[\w.:!<>^%,$-]{{0,40}}\}}?\}}                               # {{name}}, ${{name}}, {{}}
    | %\(\w{{1,40}}\)[-\#0+.\d]*[a-zA-Z] | %(?:\d\$)?[-\#0+.\d]*[sdifrxXeEgGcu](?![A-Za-z])
    | (?<![\w/.])(?:~|\.{{1,2}})?/(?:[\w.-]+/)*[\w.-]*\w | \b[A-Z]:\\[\w\\.-]+  # paths and files
    | (?<![\w.-])(?=[\d.-]{{0,30}}[A-Za-z_])(?:\w(?=\.\w\w)|[\w-]{{2,60}})(?:\.[\w-]{{1,60}}){{0,8}}
      \.[a-z][a-z0-9]{{0,4}}(?:\(\))?(?!\w|[.-]\w)
    | \b(?:[A-Za-z]\w*_|__?)\w+(?:\(\))? | \b\w+\(\) | (?<![\w-])--[a-z][\w-]*         # names in programs
    | (?<![\w-])(?=[\d-]{{0,20}}[A-Z])(?=[A-Z-]{{0,20}}\d)[A-Z\d]+(?:-[A-Z\d]+)*(?![\w-])               # COVID-19, A4
    | \bv\d+(?:\.\d+)*\b | \b\d+(?:\.\d+){{2,}}\b | \b\d{{4}}-\d\d-\d\d\b | \b0x[\da-fA-F]+\b | \b\d{{7,}}\b
    """,
    re.ASCII | re.VERBOSE,
)
"""What stays as it is in any language."""
MASK: Final = "\ufdd1"
"""Stands for such a span; a noncharacter, which no normalised text holds."""
_HINT: Final = re.compile(r"[<&`@{%/\\_\d]|\w\.[a-z]|--|\(\)|www\.", re.ASCII)
"""What every such span has, and few lines: quicker to look for."""


def masked(text: str) -> tuple[str, list[str]]:
    """The text with a mask in place of each span, and the spans."""
    text = text.replace(MASK, "")
    if not _HINT.search(text):
        return text, []
    spans = [found[0] for found in SPAN.finditer(text)]
    return SPAN.sub(MASK, text) if spans else text, spans


def unmasked(text: str, spans: Sequence[str]) -> str:
    """A masked text with its spans.

    >>> text, spans = masked("read a.txt")
    >>> unmasked(text.upper(), spans)
    'READ a.txt'
    """
    for span in spans:
        text = text.replace(MASK, span, 1)
    return text
