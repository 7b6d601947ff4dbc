"""Search: from a step function to translations, best first. It knows no model."""

from __future__ import annotations

from yiwen.search.config import SearchConfig

__all__ = ["SearchConfig"]
