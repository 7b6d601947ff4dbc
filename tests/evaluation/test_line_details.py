"""A test set line by line, by hand-worked numbers."""

from __future__ import annotations

import pytest

from yiwen.data.store import TextPairs
from yiwen.evaluation.lines import N_SHOWN, Line, Told, details_of, lines_beside


def line(number: int, source: str, chrf: float, **more: object) -> Line:
    told = {"reference": "ein Hund", "translation": "ein Hund", "flags": (), "confidence": None, **more}
    return Line(number=number, source=source, chrf=chrf, **told)  # type: ignore[arg-type]


def test_lines_stand_in_buckets_of_their_sources_length() -> None:
    texts = ["one two", "one two three four five", "1 2 3 4 5 6", "一二三四五六七", " ".join(["word"] * 60)]
    lines = [line(number, text, 50.0) for number, text in enumerate(texts, 1)]
    details = details_of(lines, tgt_lang="de", good_at=None)
    assert [(edge, n) for edge, n, _, _ in details.buckets] == [(0, 2), (6, 2), (51, 1)]
    assert all((ours, theirs) == (100.0, None) for _, _, ours, theirs in details.buckets)


def test_flags_name_their_lines_and_the_worst_come_first() -> None:
    lines = [line(n, "a b", chrf, flags=flags) for n, chrf, flags in ((1, 30.0, ("loop",)), (2, 10.0, ("cut", "loop")))]
    details = details_of(lines, tgt_lang="de", good_at=None)
    assert details.flagged == {"cut": (2,), "loop": (1, 2)}
    assert [each.number for each in details.worst] == [2, 1]
    assert (details.calibration_error, details.reliability, details.better) == (None, (), ())


def test_a_blank_line_that_stayed_blank_is_none_of_the_worst() -> None:
    blank = line(1, "", 0.0, reference="", translation=" ")
    invented, dropped = line(2, "", 0.0, reference=""), line(3, "a", 0.0, translation="")
    details = details_of([blank, invented, dropped, line(4, "a", 9.0)], tgt_lang="de", good_at=None)
    assert [each.number for each in details.worst] == [2, 3, 4]


def test_gains_and_losses_are_told_apart_and_ties_left_out() -> None:
    lines = [
        line(n, "a b", chrf, other="ein Hund", other_chrf=theirs)
        for n, chrf, theirs in ((1, 50.0, 50.0), (2, 60.0, 20.0), (3, 20.0, 60.0), (4, 90.0, 10.0))
    ]
    details = details_of(lines, tgt_lang="de", good_at=None)
    assert [each.number for each in details.better] == [4, 2]
    assert [each.number for each in details.worse] == [3]
    assert details.buckets == ((0, 4, 100.0, 100.0),)


def test_confidence_is_compared_with_what_was_good() -> None:
    told = ("x", 0.0), ("ein Hund", 100.0)
    lines = [line(n, "a", told[n % 2][1], translation=told[n % 2][0], confidence=0.75) for n in range(100)]
    details = details_of(lines, tgt_lang="de", good_at=50.0)
    assert details.calibration_error == pytest.approx(0.25)
    assert sum(n for n, _, _ in details.reliability) == 100
    assert details.reliability[0] == (10, 0.75, 0.5)


def test_what_is_good_goes_by_case_also_where_scores_ignore_it() -> None:
    test = TextPairs(src=["a dog"] * 100, tgt=["ein Hund"] * 100)
    told: list[Told] = [("ein Hund" if n % 2 else "EIN HUND", (), 0.5) for n in range(100)]  # so half of them are good
    for lowercase, worst in ((True, 100.0), (False, pytest.approx(100 / 7 / 6))):
        lines = lines_beside(test, told, None, tgt_lang="de", lowercase=lowercase)
        details = details_of(lines, tgt_lang="de", good_at=50.0, lowercase=lowercase)
        assert (details.worst[0].chrf, details.calibration_error) == (worst, 0.0)


def test_as_many_gains_and_losses_are_shown_as_worst_lines() -> None:
    chrf = [(60.0, 20.0), (20.0, 60.0)] * (N_SHOWN + 2)
    lines = [line(n, "a", ours, other="ein Hund", other_chrf=theirs) for n, (ours, theirs) in enumerate(chrf)]
    details = details_of(lines, tgt_lang="de", good_at=None)
    assert (len(details.worst), len(details.better), len(details.worse)) == (N_SHOWN,) * 3


def test_details_ignore_case_where_the_scores_do() -> None:
    test = TextPairs(src=["a dog"], tgt=["EIN HUND"])
    told: list[Told] = [("ein Hund", (), None)]
    # One letter of seven is the same in both cases, and none of the five kinds of longer n-grams of chrF.
    for lowercase, expected in ((True, 100.0), (False, pytest.approx(100 / 7 / 6))):
        lines = lines_beside(test, told, ["ein Hund"], tgt_lang="de", lowercase=lowercase)
        details = details_of(lines, tgt_lang="de", good_at=None, lowercase=lowercase)
        assert (lines[0].chrf, lines[0].other_chrf, details.buckets) == (
            expected,
            expected,
            ((0, 1, expected, expected),),
        )


def test_a_line_is_put_together_from_what_both_models_told() -> None:
    test = TextPairs(src=["a dog", "a cat"], tgt=["ein Hund", "eine Katze"])
    told: list[Told] = [("ein Hund", (), 0.75), ("ein Kater", ("loop",), None)]
    first, second = lines_beside(test, told, ["ein Rad", "eine Katze"], tgt_lang="de")
    assert (first.number, first.source, first.reference, first.flags) == (1, "a dog", "ein Hund", ())
    assert (first.translation, first.confidence, first.chrf, first.other) == ("ein Hund", 0.75, 100.0, "ein Rad")
    assert (second.number, second.flags, second.confidence, second.other_chrf) == (2, ("loop",), None, 100.0)
    assert first.other_chrf < first.chrf
    assert second.chrf < second.other_chrf
    assert [each.other for each in lines_beside(test, told, None, tgt_lang="de")] == [None, None]
