"""yiwen (译文): from two text files to a translator you own.

The public names are loaded when they are first used, so that `import yiwen` costs milliseconds and needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from yiwen.encoder.facade import Encoder
    from yiwen.errors import (
        CheckpointError,
        ConfigError,
        DataError,
        ExportError,
        FaultError,
        MissingDependencyError,
        Stopped,
        TrainingError,
        YiwenError,
    )
    from yiwen.recipe import Recipe
    from yiwen.search.config import SearchConfig
    from yiwen.text.glossary import Glossary
    from yiwen.translation import Translation
    from yiwen.translator import Translator

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Encoder",
    "ExportError",
    "FaultError",
    "Glossary",
    "MissingDependencyError",
    "Recipe",
    "SearchConfig",
    "Stopped",
    "TrainingError",
    "Translation",
    "Translator",
    "YiwenError",
    "__version__",
]

_HOME = dict.fromkeys(__all__, "errors")
_HOME |= {"Encoder": "encoder.facade", "Glossary": "text.glossary", "Recipe": "recipe", "SearchConfig": "search.config"}
_HOME |= {"Translation": "translation", "Translator": "translator"}


if not TYPE_CHECKING:  # to a type checker a misspelt name would be one of these, of type Any

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'yiwen' has no attribute {name!r}")
        return getattr(import_module(f"yiwen.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
