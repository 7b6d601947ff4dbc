"""What the facade needs of an engine: subword ids in, hypotheses or log-probabilities out. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag

if TYPE_CHECKING:
    import numpy as np

Ids = Sequence[int]
"""Subword ids without bos and eos."""
Sentences = Sequence[Ids]
"""Those of several sentences."""


@runtime_checkable
class FindsTerms(Protocol):
    """What an engine offers besides where its search can be told what a translation must hold."""

    def search_terms(
        self,
        sources: Sentences,
        terms: Sequence[Sequence[Ids]],
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        """As `Engine.search`; each translation holds all terms of its source, as long as it has room for them."""


class Engine(Protocol):
    """Translates and scores. Results stand in the order of the input and do not depend on what else is in the call,
    but for ties closer than the rounding of a sum and for what is drawn at random."""

    description: str
    """For people: what computes, e.g. `torch float32 on cpu` or `CTranslate2 int8`."""

    def search(
        self,
        sources: Sentences,
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source, none of them empty, its hypotheses, best first.

        An engine to which scores cost time may leave them undefined (NaN) where `with_scores` is false.
        """

    def score(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[list[float]]:
        """Log-probability of each token of the given translations, eos last; one list a sentence."""

    def attend(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[np.ndarray]:
        """Cross-attention of the alignment head while each step of given translations is forced, none of it empty.

        For each sentence (T + 1, S + 1), float32, rows sum to 1: row t is the step that has to choose target token t
        (the last one: eos), and the last column is the source's eos.
        """


def longest_first(lengths: Sequence[int], batch_tokens: int, only: Iterable[int] | None = None) -> Iterator[list[int]]:
    """Places of texts of like length, at most batch_tokens positions at a time, padding and an end token counted.

    Longest first, so that trouble with memory shows at once.

    Args:
        lengths: Of all texts, in subwords without their end.
        batch_tokens: Positions of a batch; a text that is longer travels alone.
        only: Which texts; all where not given.
    """
    order = sorted(range(len(lengths)) if only is None else only, key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        n = max(1, batch_tokens // (lengths[order[start]] + 1))
        yield order[start : start + n]
        start += n
