"""A difference is called real only where chance would not make it."""

from __future__ import annotations

import json
import random

import pytest

from yiwen.errors import DataError
from yiwen.evaluation.metrics import Metric
from yiwen.evaluation.significance import Difference, compare

REFERENCES = [f"Satz {i}: ein Hund läuft über die {i % 7}. Wiese und bellt." for i in range(40)]
WORSE = [line.replace("über", "auf").replace("bellt", "schläft") for line in REFERENCES]


def test_a_clearly_better_system_is_significantly_better() -> None:
    comparison = compare(REFERENCES, WORSE, REFERENCES, tgt_lang="de", n_bootstrap=200)
    assert [difference.name for difference in comparison.differences] == ["BLEU", "chrF2", "TER"]
    for difference in comparison.differences:
        assert difference.is_significant
        assert difference.p_value == pytest.approx(1 / 201)
        assert "case:mixed" in difference.signature
        assert "bs:200" in difference.signature
    bleu, _, ter = comparison.differences
    assert bleu.system > bleu.baseline
    assert ter.system < ter.baseline


def test_two_equal_systems_never_differ() -> None:
    comparison = compare(WORSE, WORSE, REFERENCES, tgt_lang="de", n_bootstrap=100)
    for difference in comparison.differences:
        assert difference.p_value == 1.0
        assert not difference.is_significant


def test_equally_good_systems_seem_to_differ_as_rarely_as_the_p_value_says() -> None:
    draw = random.Random(11)
    words = ["ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "ga", "ge", "gi", "go", "gu"]
    references = [" ".join(draw.choices(words, k=11)) for _ in range(31)]

    def translated() -> list[str]:
        return [" ".join(word if draw.random() < 0.6 else "xyz" for word in line.split()) for line in references]

    found = [
        compare(translated(), translated(), references, tgt_lang="de", metrics=("chrf",), n_bootstrap=60).differences[0]
        for _ in range(120)
    ]
    assert sum(difference.is_significant for difference in found) <= 12  # of six that are expected


def test_one_changed_line_of_forty_is_no_proof() -> None:
    almost = [REFERENCES[0].replace("Hund", "Wolf"), *WORSE[1:]]
    baseline = [WORSE[0], *WORSE[1:]]
    (bleu,) = compare(almost, baseline, REFERENCES, tgt_lang="de", metrics=("bleu",), n_bootstrap=200).differences
    assert bleu.p_value is not None
    assert bleu.p_value > 0.05


def test_so_few_lines_that_chance_may_favour_one_system_in_all_of_them_prove_nothing() -> None:
    for n in (1, 2, 5, 6):
        for difference in compare(REFERENCES[:n], WORSE[:n], REFERENCES[:n], tgt_lang="de").differences:
            assert difference.p_value == max(1 / 1001, 2 / 2**n)
            assert difference.is_significant is (n == 6)


def test_a_comparison_is_plain_json_and_reads_as_a_sentence() -> None:
    comparison = compare(REFERENCES, WORSE, REFERENCES, tgt_lang="de", metrics=("chrf",), n_bootstrap=50)
    value = json.loads(json.dumps(comparison.to_json()))
    assert value["n_lines"] == 40
    assert value["differences"][0]["is_significant"] is True
    difference = Difference("BLEU", 38.5, 37.0, 0.012, (0.4, 2.7), "sig")
    assert str(difference) == "BLEU 38.50 against 37.00 (+1.50 [+0.40, +2.70], p = 0.0120)  sig"


def test_each_side_must_match_the_references() -> None:
    with pytest.raises(DataError, match="39 hypotheses against 40 references"):
        compare(REFERENCES[1:], WORSE, REFERENCES, tgt_lang="de")
    with pytest.raises(DataError, match="38 hypotheses against 40 references"):
        compare(REFERENCES, WORSE[2:], REFERENCES, tgt_lang="de")


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_the_interval_of_a_difference_holds_the_difference_and_is_zero_for_equals(metric: Metric) -> None:
    references = [f"{word} geht nach Haus und schläft" for word in ("Er", "Sie", "Der Hund", "Das Kind")] * 11
    good = [line.replace("schläft", "ruht") if n % 3 else line for n, line in enumerate(references)]
    bad = [line.replace("Haus", "Hof") for line in good]

    def interval(system: list[str], baseline: list[str]) -> tuple[float, float]:
        return compare(system, baseline, references, tgt_lang="de", metrics=(metric,)).differences[0].interval

    low, high = interval(good, bad)
    assert 0 < low < high
    assert interval(bad, good) == pytest.approx((-high, -low))
    assert interval(good, good) == (0.0, 0.0)


def test_a_recipe_without_intervals_has_its_differences_told_all_the_same() -> None:
    usual, without = (
        compare(REFERENCES, WORSE, REFERENCES, tgt_lang="de", metrics=("bleu",), n_bootstrap=n).differences
        for n in (1000, 0)
    )
    assert without == usual
    assert without[0].p_value == pytest.approx(1 / 1001)
