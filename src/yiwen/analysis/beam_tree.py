"""The hypotheses that a beam search looked at, as a tree, and why one of them won."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor
from yiwen.text.subword import EOS_ID

Fate = Literal["kept", "ended", "dropped"]
"""Went on, is a result, or was not among the best."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One continuation of a hypothesis."""

    parent: int
    """Number of the node it continues; -1 at the beginning."""
    step: int
    """From 0."""
    token: int
    log_prob: float
    """Of the whole hypothesis up to here."""
    fate: Fate
    score: float | None = None
    """What results are ordered by."""


class BeamTree:
    """Watches the search of one sentence (`beam_search(watch=...)`) and keeps what it sees."""

    def __init__(self, config: SearchConfig) -> None:
        self.nodes: list[Node] = []
        self._config = config
        self._going = [-1]  # node of each hypothesis that goes on

    def watch(self, sums: Tensor, beams: Tensor, tokens: Tensor) -> None:
        """One step: the best continuations, best first, under the rules of `search.beam`."""
        step = self.nodes[-1].step + 1 if self.nodes else 0
        width = self._config.beam_size
        going: list[int] = []
        best = zip(sums[0].tolist(), beams[0].tolist(), tokens[0].tolist(), strict=True)
        for rank, (log_prob, beam, token) in enumerate(best):
            if log_prob == -math.inf or beam >= len(self._going):
                continue
            fate: Fate = "dropped"
            score = None
            if token == EOS_ID and rank < width:
                fate, score = "ended", log_prob / length_divisor(step + 1, self._config)
            elif token != EOS_ID and len(going) < width:
                fate = "kept"
                going.append(len(self.nodes))
            node = Node(parent=self._going[beam], step=step, token=token, log_prob=log_prob, fate=fate, score=score)
            self.nodes.append(node)
        self._going = going

    def path(self, ids: Sequence[int]) -> list[int]:
        """The nodes of a hypothesis, first step first; it ends early where the search did not look further."""
        found: list[int] = []
        children = {(node.parent, node.token): i for i, node in enumerate(self.nodes) if node.fate != "dropped"}
        for token in (*ids, EOS_ID):
            if (number := children.get((found[-1] if found else -1, token))) is None:
                break
            found.append(number)
        return found


def verdict(hypotheses: Sequence[Hypothesis], config: SearchConfig, decode: Callable[[Sequence[int]], str]) -> str:
    """One sentence that says why the first of the hypotheses, best first, won."""
    best = hypotheses[0]
    if len(hypotheses) == 1:
        return f"It was the only one that was found, with a beam of {config.beam_size}."
    second = hypotheses[1]
    other, gap = f"“{decode(second.ids)}”", best.score - second.score
    if gap < 0:
        why = "it was found later, when the search for one translation would have ended"
        return f"{other} has a better score ({second.score:.3f} against {best.score:.3f}), but {why}."
    said = f"It beats {other} by {gap:.3f} points of score ({best.score:.3f} against {second.score:.3f})"
    n_best, n_second = (len(h.ids) + h.is_finished for h in (best, second))
    if best.log_prob >= second.log_prob:
        return f"{said}: it is the likelier one, e^{best.log_prob - second.log_prob:.2f} times."
    return (
        f"{said} although it is the less likely one (log-probability {best.log_prob:.2f} against "
        f"{second.log_prob:.2f}): the length penalty divides by {length_divisor(n_best, config):.1f} for its {n_best} "
        f"subwords and by {length_divisor(n_second, config):.1f} for the other's {n_second}."
    )
