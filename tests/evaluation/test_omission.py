"""What a translation lacks is told by asking the model for a source that lacks it, too."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from yiwen.engines.engine import Ids
from yiwen.evaluation.omission import LEAST_GAIN, SPARED, WEIGHT, Coverage, Weights, after_asking
from yiwen.stop import StopFlag

PLAIN = Coverage(tuple({10 + word: 1.0} for word in range(7)), (True,) * 7)
"""Each source word 0 ... 6 becomes the target word that is 10 more."""


class Copier:
    """A model to which each target word that is 10 more than a source word costs 1 nat, and each that lacks 3."""

    description = "copier"

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], list[int]]] = []
        self.n_calls = 0
        self.stop: StopFlag | None = None

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], *, stop: StopFlag | None = None
    ) -> list[list[float]]:
        self.n_calls += 1
        self.stop = stop
        self.asked += [(list(src), list(tgt)) for src, tgt in zip(sources, targets, strict=True)]
        lacks = [
            (Counter(id_ + 10 for id_ in src) - Counter(tgt)).total() for src, tgt in zip(sources, targets, strict=True)
        ]
        return [[-1.0] * len(tgt) + [-3.0 * n] for tgt, n in zip(targets, lacks, strict=True)]


def test_shortness_grows_as_a_translation_shrinks() -> None:
    weights = Weights((1.0, 2.0), (0.5, 3.0))
    assert weights.shortness([0, 1], [1]) == 0.0
    assert weights.shortness([0, 1, 1], [1]) == pytest.approx(math.log((5 + SPARED) / (3 + SPARED)))
    assert weights.shortness([1], [1, 0]) == pytest.approx(-math.log((3.5 + SPARED) / (2 + SPARED)))
    assert weights.shortness([], []) == 0.0


def test_a_target_word_is_shared_out_among_the_words_that_it_may_have_come_from() -> None:
    coverage = Coverage(({5: 0.6, 6: 0.4}, {5: 0.2}, {7: 1.0}, {}), (True,) * 4)
    assert coverage.words([0, 1, 2, 3], [5, 7]) == ([0, 1, 2, 3, 4], pytest.approx([0.75, 0.25, 1.0, 0.0]))
    assert coverage.words([0, 1], [5, 5, 6])[1] == pytest.approx([2.5, 0.5])
    assert coverage.words([3, 3], [8])[1] == [0.0, 0.0]


def test_pieces_of_a_word_count_together() -> None:
    coverage = Coverage(({5: 1.0}, {6: 1.0}, {7: 1.0}), (True, False, True))
    assert coverage.words([0, 1, 2], [5, 6]) == ([0, 2, 3], pytest.approx([2.0, 0.0]))
    assert coverage.words([1, 0, 1, 0], [5, 5, 6]) == ([0, 1, 3, 4], pytest.approx([0.5, 1.5, 1.0]))


def test_a_source_is_tried_without_the_words_that_the_translation_covers_least() -> None:
    assert PLAIN.without([0, 1, 2, 3, 4, 5, 6], [10, 15, 16]) == [0, 5, 6]  # 1, 2, 3 and 4 got nothing
    assert PLAIN.without([0, 1, 2, 3, 4, 5, 6], [10, 11, 15]) == [0, 5, 6]  # the first of three places with the least


@pytest.mark.parametrize(("n", "left"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3)])
def test_a_quarter_of_the_source_stays(n: int, left: int) -> None:
    assert len(PLAIN.without(list(range(n)), [10])) == left


def test_a_word_is_dropped_with_all_its_pieces() -> None:
    coverage = Coverage(tuple({id_ + 10: 1.0} for id_ in range(7)), (True, False, True, True, True, True, True))
    assert coverage.without([0, 1, 2, 3, 4, 5, 6], [15, 16]) == [5, 6]


def test_a_translation_that_lacks_words_is_likelier_for_a_source_that_lacks_them() -> None:
    engine = Copier()
    src, whole, part = [0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15], [10, 15]
    found = after_asking(engine, PLAIN, [src, src], [whole, part], [1.5, 1.5], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == pytest.approx([1.5, 1.5 + WEIGHT * 12.0])  # four words at 3 nats; a whole one gains nothing
    assert {tuple(src) for src, tgt in engine.asked if tgt == part} == {tuple(src), (0, 5)}


def test_only_doubtful_translations_are_asked_about() -> None:
    engine = Copier()
    found = after_asking(engine, PLAIN, [[0, 1, 2], [0, 1, 2]], [[10], [11]], [0.5, 1.0], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == [0.0, 0.0]
    assert engine.n_calls == 0  # not even for nothing: others may be using it


def test_a_translation_that_needs_all_words_is_doubted_less() -> None:
    class Strict(Copier):
        def score(self, sources: Sequence[Ids], targets: Sequence[Ids], **how: Any) -> list[list[float]]:
            return [[-100.0 / len(src)] for src in sources]

    found = after_asking(Strict(), PLAIN, [[0, 1, 2]], [[11]], [4.0], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == [4.0 + WEIGHT * LEAST_GAIN]


def test_who_waits_for_the_model_can_stop_it() -> None:
    engine, stop = Copier(), StopFlag()
    after_asking(engine, PLAIN, [[0, 1, 2]], [[11]], [4.0], doubtful_at=1.0, stop=stop)  # type: ignore[arg-type]
    assert engine.stop is stop


def test_words_begin_at_blanks_and_every_chinese_character_is_one() -> None:
    class Pieces:
        vocab_size = 5

        def pieces(self, ids: Sequence[int]) -> list[str]:
            return [["▁a", "b▁", "中", "。", "文b"][id_] for id_ in ids]

    lexicon = [[7], [], [], [], [8, 9]], [[1.0], [], [], [], [0.25, 0.75]]
    coverage = Coverage.of(*lexicon, Pieces())  # type: ignore[arg-type]
    assert coverage.opens_word == (True, False, True, True, True)
    assert coverage.becomes == ({7: 1.0}, {}, {}, {}, {8: 0.25, 9: 0.75})
