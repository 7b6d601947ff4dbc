"""Sizes of the campaign against the service, and its table: small at every commit, long with `make campaign`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

IS_LONG = bool(os.environ.get("YIWEN_CAMPAIGN"))


def size(commit: int, *, long: int) -> int:
    """How many of something to do."""
    return long if IS_LONG else commit


def noted(row: str, what: str, *, seed: int | None = None, **found: Any) -> None:
    """Write a line for the table where `benchmarks/campaign.py` asked for one."""
    if report := os.environ.get("YIWEN_CAMPAIGN"):
        with Path(report).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"row": row, "what": what, "seed": seed, "found": found}) + "\n")
