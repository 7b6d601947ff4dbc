"""Scores carry what a reader needs to reproduce and to judge them."""

from __future__ import annotations

import builtins
import json
import math
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yiwen.errors import ConfigError, DataError, MissingDependencyError
from yiwen.evaluation.metrics import (
    EvaluationConfig,
    Score,
    affordable_resamples,
    bleu_tokenizer,
    evaluate,
    quick_score,
)
from yiwen.text.languages import UNSPACED
from yiwen.text.scripts import SCRIPTS

GERMAN = ["Ein Hund läuft über die Wiese.", "Zwei Kinder spielen im Sand.", "Der Mann liest eine Zeitung."] * 4
CHINESE = ["一只狗跑过草地。", "两个孩子在沙滩上玩耍。", "那个男人在看报纸。"] * 4


@pytest.mark.parametrize(
    ("tgt_lang", "tokenizer"),
    [
        ("zh", "zh"),
        ("zh-Hans", "zh"),
        ("zh_TW", "zh"),
        ("ZH-hant", "zh"),
        ("yue", "zh"),
        ("ja", "char"),
        ("ko", "char"),
        ("th", "char"),
        *((code, "char") for code in ("lo", "km", "my", "bo", "dz")),
        ("de", "13a"),
        ("en-GB", "13a"),
        ("no", "13a"),
        ("zu", "13a"),
    ],
)
def test_the_target_language_chooses_the_tokeniser(tgt_lang: str, tokenizer: str) -> None:
    assert bleu_tokenizer(tgt_lang) == tokenizer
    evaluation = evaluate(GERMAN, GERMAN, tgt_lang=tgt_lang, metrics=("bleu",), n_bootstrap=0)
    assert f"|tok:{tokenizer}|" in evaluation["bleu"].signature


def test_no_language_silently_gets_a_tokeniser_that_needs_more_than_sacrebleu() -> None:
    known = [code for _, languages in SCRIPTS.values() for code in languages.split()]
    assert {bleu_tokenizer(code) for code in [*known, *UNSPACED, "", "nonsense"]} == {"zh", "char", "13a"}


def test_perfect_translations_score_100_and_need_no_edits() -> None:
    evaluation = evaluate(CHINESE, CHINESE, tgt_lang="zh", n_bootstrap=0)
    assert evaluation["bleu"].value == pytest.approx(100)
    assert evaluation["chrf"].value == pytest.approx(100)
    assert evaluation["ter"].value == 0
    assert [score.name for score in evaluation.scores] == ["BLEU", "chrF2", "TER"]


def test_bleu_equals_a_score_worked_by_hand() -> None:
    # 7 tokens against 9, so the brevity penalty is exp(1 - 9/7); no n-gram spans the gap after "on"
    hypotheses, references = ["the cat sat on a mat ."], ["the cat sat on top of a mat ."]
    matched = [7 / 7, 5 / 6, 3 / 5, 1 / 4]
    by_hand = 100 * math.exp(1 - 9 / 7) * math.prod(matched) ** (1 / 4)
    assert quick_score(hypotheses, references, tgt_lang="en", metric="bleu") == pytest.approx(by_hand)


def test_a_wrong_character_costs_one_edit_of_a_chinese_line_not_the_whole_line() -> None:
    # 7 characters and the full stop, one replaced: 1 edit of 8
    assert quick_score(["一只猫跑过草地。"], ["一只狗跑过草地。"], tgt_lang="zh", metric="ter") == pytest.approx(12.5)
    signature = evaluate(CHINESE, CHINESE, tgt_lang="zh", metrics=("ter",), n_bootstrap=0)["ter"].signature
    assert "norm:yes" in signature
    assert "asian:yes" in signature


def test_scores_are_cased_unless_asked_otherwise() -> None:
    shouted = [line.upper() for line in GERMAN]
    cased = evaluate(shouted, GERMAN, tgt_lang="de", n_bootstrap=0)
    lowercased = evaluate(shouted, GERMAN, tgt_lang="de", n_bootstrap=0, lowercase=True)
    assert cased["bleu"].value < 50 < lowercased["bleu"].value
    assert cased["ter"].value > 50 > lowercased["ter"].value
    assert all("case:mixed" in score.signature for score in cased.scores)
    assert all("case:lc" in score.signature for score in lowercased.scores)


def test_the_interval_surrounds_the_score_and_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    hypotheses = [line if i % 3 else "Etwas ganz anderes." for i, line in enumerate(GERMAN)]
    first = evaluate(hypotheses, GERMAN, tgt_lang="de", n_bootstrap=200)
    assert first == evaluate(hypotheses, GERMAN, tgt_lang="de", n_bootstrap=200)
    for score in first.scores:
        assert score.low is not None
        assert score.high is not None
        assert score.low < score.value < score.high
        assert "bs:200|seed:12345" in score.signature


def test_where_sacrebleu_cannot_tell_an_interval_no_resamples_are_signed() -> None:
    score = evaluate(["Ein Hund.", ""], ["Ein Hund.", ""], tgt_lang="de", metrics=("chrf",))["chrf"]
    assert (score.value, score.low) == (100.0, None)
    assert "bs:" not in score.signature
    assert "seed:" not in score.signature


def test_no_resamples_no_interval() -> None:
    score = evaluate(GERMAN, GERMAN, tgt_lang="de", metrics=("chrf",), n_bootstrap=0)["chrf"]
    assert (score.low, score.high) == (None, None)
    assert "bs:" not in score.signature
    assert str(score) == f"chrF2 100.00  {score.signature}"
    assert str(Score("BLEU", 37.123, "sig", 36.0, 38.0)) == "BLEU 37.12 [36.00, 38.00]  sig"


def test_resamples_are_bounded_by_memory_not_by_the_size_of_the_set() -> None:
    assert affordable_resamples(1_000, 1000) == 1000
    assert affordable_resamples(100_000, 1000) == 100
    assert affordable_resamples(1_000_000, 1000) == 0
    assert affordable_resamples(10, 0) == 0


def test_french_questions_do_not_look_tokenised() -> None:
    asked = ["Où est-il ?", "Qui court\u202f?"]
    assert evaluate(asked, asked, tgt_lang="fr", n_bootstrap=0).notes == ()


def test_a_single_line_has_no_interval_for_all_resamples_of_it_are_alike() -> None:
    for score in evaluate(GERMAN[:1], GERMAN[1:2], tgt_lang="de").scores:
        assert (score.low, "bs:" in score.signature) == (None, False)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_the_quick_score_is_the_score(metric: str) -> None:
    hypotheses = [line.replace("Hund", "Wolf") for line in GERMAN]
    quick = quick_score(hypotheses, GERMAN, tgt_lang="de", metric=metric)  # type: ignore[arg-type]
    whole = evaluate(hypotheses, GERMAN, tgt_lang="de", metrics=(metric,), n_bootstrap=50)  # type: ignore[arg-type]
    assert quick == whole[metric].value  # type: ignore[index]


def test_unequal_sides_are_refused_with_both_counts() -> None:
    with pytest.raises(DataError, match="12 hypotheses against 11 references; every line needs exactly one"):
        evaluate(GERMAN, GERMAN[1:], tgt_lang="de")
    with pytest.raises(DataError, match="11 hypotheses against 12 references"):
        quick_score(GERMAN[1:], GERMAN, tgt_lang="de", metric="bleu")


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(DataError, match=r"0 hypotheses against 0 references; .* there has to be at least one line"):
        evaluate([], [], tgt_lang="de")


def test_a_reader_is_told_what_makes_scores_say_little() -> None:
    assert evaluate(GERMAN, GERMAN, tgt_lang="de", metrics=("bleu",), n_bootstrap=0).notes == ()
    thai = ["สุนัขสองตัววิ่งบนหญ้า"]
    (note,) = evaluate(thai, thai, tgt_lang="th", n_bootstrap=0).notes
    assert note == "TER compares what stands between blanks, and th has none between words: see chrF2 instead"
    assert evaluate(thai, thai, tgt_lang="th", metrics=("chrf",), n_bootstrap=0).notes == ()
    assert evaluate(["两只狗在跑。"], ["一只猫在跑。"], tgt_lang="zh", n_bootstrap=0).notes == ()
    empty = evaluate(["", " ", *GERMAN[2:]], GERMAN, tgt_lang="de", metrics=("bleu",), n_bootstrap=0)
    assert empty.notes == ("2 of 12 hypotheses are empty",)
    spaced = [line[:-1] + " ." for line in GERMAN]
    for what, texts in (("hypotheses", (spaced, GERMAN)), ("references", (GERMAN, spaced))):
        (note,) = evaluate(*texts, tgt_lang="de", metrics=("bleu",), n_bootstrap=0).notes
        assert note.startswith(f"12 of 12 {what} end in a space and a full stop")


def test_an_evaluation_is_plain_json() -> None:
    evaluation = evaluate(CHINESE, CHINESE, tgt_lang="zh", n_bootstrap=50)
    value = json.loads(json.dumps(evaluation.to_json()))
    assert value["tgt_lang"] == "zh"
    assert value["n_lines"] == 12
    assert [score["name"] for score in value["scores"]] == ["BLEU", "chrF2", "TER"]
    assert value["scores"][0]["signature"] == evaluation["bleu"].signature


def test_a_score_that_was_not_computed_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="ter"):
        evaluate(GERMAN, GERMAN, tgt_lang="de", metrics=("bleu",), n_bootstrap=0)["ter"]


@settings(max_examples=40)
@given(lines=st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=5))
def test_any_text_has_a_score(lines: list[tuple[str, str]]) -> None:
    hypotheses, references = [a for a, _ in lines], [b for _, b in lines]
    for tgt_lang in ("zh", "de"):
        evaluation = evaluate(hypotheses, references, tgt_lang=tgt_lang, n_bootstrap=0)
        assert all(score.value >= 0 for score in evaluation.scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": ()}, r"evaluation\.metrics is \[\]; name some of bleu, chrf, ter, each once"),
        (
            {"metrics": ("bleu", "bleu")},
            r"metrics is \['bleu', 'bleu'\]; name some of bleu, chrf, ter, each once",
        ),
        ({"n_bootstrap": 3}, r"n_bootstrap is 3; use 0 for none or at least 40"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EvaluationConfig(**settings)  # type: ignore[arg-type]
    assert (
        EvaluationConfig(n_bootstrap=0).metrics == EvaluationConfig(n_bootstrap=40).metrics == ("bleu", "chrf", "ter")
    )


def test_without_sacrebleu_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "sacrebleu"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without_sacrebleu(name: str, *arguments: object, **keywords: object) -> object:
        if name.startswith("sacrebleu"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_sacrebleu)
    with pytest.raises(MissingDependencyError, match=r"pip install 'yiwen\[train\]'"):
        quick_score(GERMAN, GERMAN, tgt_lang="de", metric="bleu")


def test_a_model_that_gets_next_to_nothing_right_has_a_score_without_interval() -> None:
    evaluation = evaluate(
        ["我"] + ["x"] * 29, ["我喜欢北京。"] * 29 + ["他们在学校。"], tgt_lang="zh", metrics=("chrf",)
    )
    assert 0 <= evaluation["chrf"].value < 5
    assert evaluation["chrf"].low is None


def test_intervals_stay_where_scores_can_be() -> None:
    evaluation = evaluate(["a b c d e", "x"], ["a b c d e", "x"], tgt_lang="en", n_bootstrap=100)
    assert all(0 <= score.low <= score.high for score in evaluation.scores if score.low is not None)
    assert evaluation["bleu"].high is not None
    assert evaluation["bleu"].high <= 100
    sides = ["ein Hund", "a b c d e f"], ["ein Hund", "y"]  # one line is right, of the other six edits make one word
    ter = evaluate(*sides, tgt_lang="de", metrics=("ter",), n_bootstrap=100)["ter"]
    assert ter.high is not None
    assert (ter.low, ter.value, ter.high > 300) == (0.0, 200.0, True)


def test_memory_does_not_hold_the_n_grams_of_all_references() -> None:
    def peak(n_lines: int) -> int:
        lines = [f"Zeile {n} von vielen, die alle verschieden sind: {n * n} und {n**3}." for n in range(n_lines)]
        tracemalloc.start()
        quick_score(lines, lines, tgt_lang="de", metric="chrf")
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)  # what is loaded once
    assert peak(400) < 4 * peak(40)
