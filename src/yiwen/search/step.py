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


GROUP = 8
"""Sentences that leave a large batch together."""

State = TypeVar("State", bound=DecodeState)
StepFn = Callable[[Tensor, State], tuple[Tensor, State]]
"""(last_ids (R,), state) -> (log_probs (R, V), state)."""


def places_kept(is_done: Sequence[bool]) -> list[int]:
    """Places of the sentences that go on in the batch: those not done, and some done ones to fill up a group of eight.

    Done sentences leave in groups, because a batch of a new size costs more than a few rows that nobody needs: its
    memories are copied, and matrix libraries prepare a kernel for every size. Of 13 sentences, 4 of them done, all
    stay; once 5 are done, 8 go on; below that they leave one by one.
    """
    going = [place for place, done in enumerate(is_done) if not done]
    done = [place for place, done in enumerate(is_done) if done]
    n_kept = len(going) if len(going) <= GROUP else -(-len(going) // GROUP) * GROUP
    return sorted(going + done[: n_kept - len(going)])


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

    def force_prefix(self, log_probs: Tensor, sentences: Sequence[int], t: int, width: int) -> None:
        """Leave only the prefix's token possible where a sentence has one at position t.

        Args:
            log_probs: (R, V), changed in place.
            sentences: Sentence of each group of `width` rows.
            t: Position, from 0.
            width: Rows per sentence, W.
        """
        for place, sentence in enumerate(sentences):
            if t < len(self.prefixes[sentence]):
                rows = slice(place * width, (place + 1) * width)
                token = self.prefixes[sentence][t]
                kept = log_probs[rows, token].clone()
                log_probs[rows] = -torch.inf
                log_probs[rows, token] = kept
