"""Is something of the source missing in the translation? A translation that lacks a clause weighs less than others do.

Less than translations of such a source, that is, by weights that were learnt from training text (`weights`). That costs
microseconds. Alignments and the model itself know little besides: the log says how little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from yiwen.engines.engine import Ids

SPARED: Final = 5.0
"""Subwords added to both sides when their weights are compared, to spare short texts."""


@dataclass(frozen=True)
class Weights:
    """What each id of either side weighs, in target subwords: see `learn_weights`."""

    src: tuple[float, ...]
    tgt: tuple[float, ...]

    def shortness(self, src_ids: Ids, tgt_ids: Ids) -> float:
        """How short a translation is: log of what the source weighs over what the translation does."""
        whole, part = sum(map(self.src.__getitem__, src_ids)), sum(map(self.tgt.__getitem__, tgt_ids))
        return math.log((whole + SPARED) / (part + SPARED))
