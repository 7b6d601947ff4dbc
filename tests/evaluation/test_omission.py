"""What a translation lacks is told from lengths and a lexicon, and by asking the model for a source that lacks it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest

from yiwen.engines.engine import Ids
from yiwen.evaluation.omission import LEAST_GAIN, WEIGHT, Coverage, after_asking, shortness
from yiwen.stop import StopFlag

PLAIN = Coverage(tuple({10 + word: 1.0} for word in range(7)), (True,) * 7)
"""Each source word 0 ... 6 becomes the target word that is 10 more."""


class Copier:
    """A model to which each target word that is 10 more than a source word costs 1 nat, and each that lacks 3."""

    description = "copier"

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], list[int]]] = []

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], *, stop: StopFlag | None = None
    ) -> list[list[float]]:
        self.asked += [(list(src), list(tgt)) for src, tgt in zip(sources, targets, strict=True)]
        lacks = [
            (Counter(id_ + 10 for id_ in src) - Counter(tgt)).total() for src, tgt in zip(sources, targets, strict=True)
        ]
        return [[-1.0] * len(tgt) + [-3.0 * n] for tgt, n in zip(targets, lacks, strict=True)]


def test_a_target_word_is_shared_out_among_the_words_that_it_may_have_come_from() -> None:
    coverage = Coverage(({5: 0.6, 6: 0.4}, {5: 0.2}, {7: 1.0}, {}), (True, True, True, True))
    assert coverage.least([0, 1, 2], [5, 7]) == pytest.approx(2.0)  # 0.75 + 0.25 + 1
    assert coverage.least([0, 1, 2, 3], [5, 7]) == pytest.approx(1.25)  # the last three
    assert coverage.least([0, 1], [5, 5, 6]) == pytest.approx(3.0)
    assert coverage.least([3, 3], [8]) == 0.0


def test_pieces_of_a_word_count_together() -> None:
    coverage = Coverage(({5: 1.0}, {6: 1.0}, {7: 1.0}), (True, False, True))
    assert coverage.least([0, 1, 2], [5, 6]) == pytest.approx(2.0)  # two words: nothing is left out
    assert coverage.least([0, 1, 0, 1, 0, 1, 2], [5, 5, 6]) == pytest.approx(3 * 2 / 3)


def test_shortness_grows_as_a_translation_shrinks() -> None:
    assert shortness(8, 8) == 0.0
    assert shortness(8, 3) == pytest.approx(math.log(2.0))
    assert shortness(3, 8) == pytest.approx(-math.log(2.0))


def test_a_source_is_tried_without_the_words_that_the_translation_covers_least() -> None:
    src, tgt = [0, 1, 2, 3, 4, 5], [10, 11, 14, 15]
    shorter = PLAIN.without(src, tgt)
    assert shorter[0] == [0, 1, 4, 5]  # without the two words that got nothing
    assert shorter[2] == [0, 4, 5]  # without three: one of them is covered
    assert [len(ids) for ids in shorter] == [4, 4, 3, 3, 2, 2]  # 2, 3 and 4 words, two places each; a quarter stays


def test_a_word_is_dropped_with_all_its_pieces() -> None:
    coverage = Coverage(({5: 1.0}, {6: 1.0}, {7: 1.0}, {8: 1.0}), (True, False, True, True))
    assert coverage.without([0, 1, 2, 3], [8]) == [[3], [0, 1]]


@pytest.mark.parametrize("n", [1, 2])
def test_of_a_word_or_two_nothing_is_dropped(n: int) -> None:
    assert PLAIN.without(list(range(n)), [10]) == []


def test_a_translation_that_lacks_words_is_likelier_for_a_source_that_lacks_them() -> None:
    engine = Copier()
    src, whole, part = [0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15], [10, 11, 14, 15]
    found = after_asking(engine, PLAIN, [src, src], [whole, part], [1.5, 1.5], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == pytest.approx([1.5, 1.5 + WEIGHT * 6.0])  # two words at 3 nats; a whole one gains nothing
    assert {tuple(src) for src, tgt in engine.asked if tgt == part} >= {tuple(src), (0, 1, 4, 5)}


def test_only_doubtful_translations_are_asked_about() -> None:
    engine = Copier()
    found = after_asking(engine, PLAIN, [[0, 1, 2], [0, 1, 2]], [[10], [11]], [0.5, 1.0], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == [0.0, 0.0]
    assert engine.asked == []


def test_where_nothing_can_be_dropped_the_doubt_is_less() -> None:
    (found,) = after_asking(Copier(), PLAIN, [[0]], [[11]], [4.0], doubtful_at=1.0)  # type: ignore[arg-type]
    assert found == 4.0 + WEIGHT * LEAST_GAIN
