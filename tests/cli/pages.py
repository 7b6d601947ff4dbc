"""The code that a page of the manual shows, of which both languages show the same (tests/architecture)."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of code of a kind, such as bash; there is one at least."""
    found = re.findall(rf"```{kind}\n(.*?)```", (DOCS / "en" / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{page} shows no {kind}"
    return found


def commands(page: str) -> list[str]:
    """All lines of its blocks of bash."""
    return [line for block in blocks(page, "bash") for line in block.strip().split("\n")]
