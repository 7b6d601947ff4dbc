"""What a search needs to know of a model: one function and a state that can be reordered.

Shapes: B sentences, W hypotheses each, R = B x W rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor


class DecodeState(Protocol):
    """What a step function remembers of its hypotheses."""

    def select(self, rows: Tensor) -> Self:
        """Keep, repeat or reorder hypotheses: old row of each new row, (R',)."""

    def select_sentences(self, sentences: Tensor) -> Self:
        """Keep, repeat or reorder sources: old sentence of each new one, (B',)."""


State = TypeVar("State", bound=DecodeState)
StepFn = Callable[[Tensor, State], tuple[Tensor, State]]
"""(last_ids (R,), state) -> (log_probs (R, V), state)."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to search for, sentence by sentence."""

    bos_id: int
    eos_id: int
    max_lens: Sequence[int]
    """Longest translation of each sentence, in subwords without eos."""
    prefixes: Sequence[Sequence[int]]
    """Subwords that each translation must start with; empty for a free choice."""
    device: torch.device | str = "cpu"
    """Where the step function wants its ids and leaves its log-probabilities."""

    def force_prefix(self, log_probs: Tensor, sentences: Sequence[int], t: int, width: int) -> Tensor:
        """Leave only the prefix's token possible where a sentence has one at position t.

        Args:
            log_probs: (R, V), changed in place.
            sentences: Sentence of each group of `width` rows.
            t: Position, from 0.
            width: Rows per sentence, W.
        """
        if not any(self.prefixes):
            return log_probs
        for place, sentence in enumerate(sentences):
            if t < len(self.prefixes[sentence]):
                rows = slice(place * width, (place + 1) * width)
                token = self.prefixes[sentence][t]
                kept = log_probs[rows, token].clone()
                log_probs[rows] = -torch.inf
                log_probs[rows, token] = kept
        return log_probs
