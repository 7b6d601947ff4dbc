"""Ensembles: several models decide together on each token, by the mean of their probabilities.

They read the same subwords and write the same; sizes and seeds may differ. Shapes: R rows, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from yiwen.search.step import DecodeState, StepFn


@dataclass(frozen=True)
class MemberStates:
    """What each member remembers of the same hypotheses."""

    states: tuple[DecodeState, ...]

    def select(self, rows: Tensor) -> MemberStates:
        """As of one state."""
        return MemberStates(tuple(state.select(rows) for state in self.states))

    def select_sentences(self, sentences: Tensor) -> MemberStates:
        """As of one state."""
        return MemberStates(tuple(state.select_sentences(sentences) for state in self.states))


def mean_of(log_probs: Sequence[Tensor]) -> Tensor:
    """Logarithm of the mean probability; with 1/2 and 1/8 that is log 5/16."""
    return torch.logsumexp(torch.stack(list(log_probs)), dim=0) - math.log(len(log_probs))


def together(steps: Sequence[StepFn[DecodeState]]) -> StepFn[MemberStates]:
    """One step function of several, (R,) -> (R, V)."""

    def step(last_ids: Tensor, members: MemberStates) -> tuple[Tensor, MemberStates]:
        answers = [one(last_ids, state) for one, state in zip(steps, members.states, strict=True)]
        return mean_of([log_probs for log_probs, _ in answers]), MemberStates(tuple(state for _, state in answers))

    return step
