"""MkDocs calls this for every page: formulas between dollar signs become MathML, which browsers show by themselves.

In code in a table GitHub wants a backslash before a bar; here it would be shown.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page's Markdown with its formulas as MathML; blocks of code stay as they are."""
    parts = _CODE.split(markdown)
    return "".join(_code(part) if place % 2 else _FORMULA.sub(_mathml, part) for place, part in enumerate(parts))


def _code(part: str) -> str:
    return part if part.startswith("```") else part.replace("\\|", "|")


def _mathml(match: re.Match[str]) -> str:
    if match[1]:
        formula = convert(match[1].strip(), display="block")
        return f'<div style="overflow: auto hidden; padding: 0.3em 0">{formula}</div>'
    return convert(match[2].strip())
