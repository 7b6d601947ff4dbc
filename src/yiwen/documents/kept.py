"""The parts of a text that come out as they went in: addresses, placeholders, formulas, messages that programs read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from yiwen.text.protect import AROUND

_KEEP: Final = re.compile(
    r"""(?:(?:https?|ftp)://|(?<![A-Za-z\d])www\.)
      [^{AROUND}]*[^{AROUND}.,;:!?)]
    | (?a:(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+) | \$?\{\{[^{}]*\}\} | \$\{[^{}]*\} | %\{[^{}]*\}
    | \{:?\s*(?:[.\#][\w-]|[\w-]+=["'\w])[^{}\n]*\}         # {: .note #id key="v"} of Markdown
    | \[\[[^\[\]\n]+\]\] | \[-?@\w[^\[\]\n]*\]                # [[wiki link]], [@citation]
    | \\\([^\n]{0,500}?\\\) | \\\[[^\n]{0,500}?\\\]          # \(x\) and \[x\] of MathJax
    | \{%[^{}\n]*?%\} | \{[^{}\s,]*\} | \{\w+,\s*(?:number|date|time|plural|select|selectordinal)    # {name}; ICU
      (?:,(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*+\})*+)?\}
    | %(?:\(\w+\)|\d+\$)?[-+0]*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?
      (?:[diouxXeEfFgGcsp@](?!(?a:\w))|(?<!\d%)(?<!\d\s%)(?<!%[1-9]\d)[dfsu]) | %%  # %dms, but neither 5 %of nor %20d
    | &(?:\w+|\#\d+|\#x[0-9a-fA-F]+);""".replace("{AROUND}", AROUND),
    re.VERBOSE,
)
"""Addresses, placeholders, entities of another language, what a dialect of Markdown knows and ours does not."""
_MESSAGE: Final = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
"""How a message of ICU begins."""


def is_prose(text: str, keep: Sequence[tuple[int, int]]) -> bool:
    """True where there is a letter to translate."""
    starts, ends = [0, *(end for _, end in keep)], [*(start for start, _ in keep), len(text)]
    return any(any(map(str.isalpha, text[start:end])) for start, end in zip(starts, ends, strict=True))


def breaks_message(text: str, keep: Sequence[tuple[int, int]]) -> bool:
    """True where a message is not kept whole, as with tags inside, so that nothing of the text can be translated."""
    return any(all(not a <= found.start() < b for a, b in keep) for found in _MESSAGE.finditer(text))


def kept(text: str, edges: set[int], code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where such things stand, if no mark begins or ends (`edges`) inside and they are no part of code."""
    inside = {place for span in code for place in range(*span)}
    for start, end in (match.span() for match in _KEEP.finditer(text)):
        if start not in inside and edges.isdisjoint(range(start + 1, end)):
            yield start, end
