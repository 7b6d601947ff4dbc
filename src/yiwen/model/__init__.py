"""The Transformer as tensors: no files, no loops, no commands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yiwen.model.cache import DecoderCache
    from yiwen.model.config import PRESETS, ModelConfig
    from yiwen.model.transformer import Transformer

__all__ = ["PRESETS", "DecoderCache", "ModelConfig", "Transformer"]

_HOME = {"PRESETS": "config", "DecoderCache": "cache", "ModelConfig": "config", "Transformer": "transformer"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'yiwen.model' has no attribute {name!r}")
    return getattr(import_module(f"yiwen.model.{_HOME[name]}"), name)
