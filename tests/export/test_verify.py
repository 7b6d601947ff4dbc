"""How much an exported model may differ from the trained one: the bounds stand where the manual says they do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tiny_model import TinyRun, tampered
from yiwen.bundle import Bundle, open_bundle
from yiwen.data.store import TextPairs
from yiwen.errors import ExportError
from yiwen.evaluation.metrics import quick_score
from yiwen.export import verify
from yiwen.export.verify import TestSet, choose_golden, compare_exactly, compare_quality, fixed_sources, make_test_set
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.reading import Reading
from yiwen.text.subword import N_SPECIAL


class Told:
    """An engine that finds what it is told, each token as likely as it is told."""

    description = "told"

    def __init__(
        self,
        found: Sequence[Sequence[int]],
        log_probs: Mapping[int, float],
        *,
        is_finished: bool = True,
        end: float = -1.0,
    ) -> None:
        self.found, self.log_probs, self.is_finished, self.end = found, log_probs, is_finished, end

    def search(self, sources: Any, **options: Any) -> list[list[Hypothesis]]:
        found = zip(sources, self.found, strict=True)
        return [[Hypothesis(tuple(ids), 0.0, 0.0, self.is_finished)] for _, ids in found]

    def score(self, sources: Any, targets: Sequence[Sequence[int]], **options: Any) -> list[list[float]]:
        return [[*(self.log_probs.get(id_, -1.0) for id_ in ids), self.end] for ids in targets]


def refused(match: str) -> AbstractContextManager[Any]:
    return pytest.raises(ExportError, match=match)


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [
        (0.00009, nullcontext()),
        (0.00011, refused(r"1 differences in 1 sentences; .* differs by 0\.00011")),
        (math.nan, refused(r"1 differences in 1 sentences; .* differs by nan")),
    ],
)
def test_a_log_probability_may_differ_by_a_ten_thousandth(
    difference: float, outcome: AbstractContextManager[Any]
) -> None:
    with outcome:
        compare_exactly(Told([[9, 5]], {5: -2.0}), Told([[9, 5]], {5: -2.0 + difference}), [[7, 8]], stop=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("margin", "outcome"),
    [
        (0.0009, nullcontext()),
        (0.0011, refused(r"greedy token 2 differs where the margin is 0\.0011")),
        (math.nan, refused("greedy token 2 differs where the margin is nan")),
    ],
)
def test_another_token_may_be_taken_where_it_is_a_thousandth_less_likely(
    margin: float, outcome: AbstractContextManager[Any]
) -> None:
    log_probs = {5: -2.0, 6: -2.0 - margin}
    with outcome:
        found = compare_exactly(Told([[9, 5]], log_probs), Told([[9, 6]], log_probs), [[7, 8]], stop=None)  # type: ignore[arg-type]
        assert found["n_ties"] == 1


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (-2.0005, nullcontext()),
        (-2.5, refused("greedy token 2 differs where the margin is 0.5")),
        # A token less likely than the end was taken where it may not end yet: the other ended too early.
        (-1.5, refused("greedy token 2 differs where the margin is -0.5")),
    ],
)
def test_a_translation_may_end_earlier_only_where_that_is_as_likely(
    end: float, outcome: AbstractContextManager[Any]
) -> None:
    ours, theirs = (Told([ids], {5: -2.0}, end=end) for ids in ([9, 5], [9]))
    with outcome:
        assert compare_exactly(ours, theirs, [[7, 8]], stop=None)["n_ties"] == 1  # type: ignore[arg-type]


def test_what_is_reported_of_sentences_is_that_of_the_worst() -> None:
    ours, theirs = Told([[5], [6]], {}), Told([[5], [6]], {5: -1.00003, 6: -1.00007})
    found = compare_exactly(ours, theirs, [[7], [8]], stop=None)  # type: ignore[arg-type]
    assert found["largest_log_prob_difference"] == pytest.approx(0.00007)
    assert (found["n_sentences"], found["n_tokens"], found["n_ties"]) == (2, 4, 0)


def test_a_translation_that_is_cut_where_the_other_ends_is_another_one() -> None:
    with refused("greedy token 3 differs where the margin is inf"):
        compare_exactly(Told([[9, 5]], {}), Told([[9, 5]], {}, is_finished=False), [[7, 8]], stop=None)  # type: ignore[arg-type]


def test_the_golden_sentence_is_that_of_usual_length_whose_least_sure_token_is_the_surest() -> None:
    # Of 3 and of 30 subwords: surer, but too short and too long. Of 5: its translation is empty. Of 27: surer in all.
    outputs = {3: (8,), 4: (5, 7), 5: (), 27: (5,), 28: (6, 5), 29: (6, 6), 30: (8,)}
    engine: Any = SimpleNamespace(
        greedy=lambda sources: [outputs[len(ids)] for ids in sources],
        score=Told([], {5: -2.0, 6: -1.5, 7: -3.0}).score,
    )
    golden = choose_golden(engine, [[8] * length for length in outputs])
    assert (golden.source, golden.output, golden.log_probs) == ((8,) * 29, (6, 6), (-1.5, -1.5, -1.0))
    assert choose_golden(engine, [[8] * 3]).output == (8,), "where there is no other"


@pytest.mark.parametrize(("vocab_size", "limit"), [(29, 60), (29, 7), (5, 3), (11, 1)])
def test_made_up_sentences_are_of_every_length_that_a_model_reads_and_of_real_subwords(
    vocab_size: int, limit: int
) -> None:
    found = fixed_sources(vocab_size, limit=limit)
    assert found == fixed_sources(vocab_size, limit=limit)
    assert {min(length, limit) for length in (1, 2, 3, 5, 8, 13, 21, 34, 55, limit)} <= {len(ids) for ids in found}
    assert all(0 < len(ids) <= limit for ids in found)
    assert {id_ for ids in found for id_ in ids} <= {*range(N_SPECIAL, vocab_size)}
    assert [vocab_size - 1] in found, "the rarest"
    assert any(len(ids) == min(11, limit) and len({*ids}) == 1 for ids in found), "one again and again"


def test_a_model_is_verified_on_the_first_thousand_lines_that_it_reads_whole(
    tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "BLEU_LINES", 3)
    source = open_bundle(tiny_run.best).source
    texts = ["Deti gedi.", " ", "Deti gedi bapu reta.", "Kabe.", "Bapu.", "Reta."]
    limit = len(source.encode(["Deti gedi."])[0])
    found = make_test_set(source, TextPairs(texts, [*"abcdef"]), limit=limit)
    assert found.references == ["a", "d", "e"]
    assert found.sources == fixed_sources(source.vocab_size, limit=limit) + source.encode([texts[i] for i in (0, 3, 4)])


def test_a_stop_signal_reaches_whatever_is_compared(tiny_run: TinyRun) -> None:
    told, stop = [], StopFlag()

    class Asked(Told):
        def search(self, sources: Any, **options: Any) -> list[list[Hypothesis]]:
            told.append(options["stop"])
            return super().search(sources, **options)

        def score(self, sources: Any, targets: Sequence[Sequence[int]], **options: Any) -> list[list[float]]:
            told.append(options["stop"])
            return super().score(sources, targets, **options)

    engine: Any = Asked([[300]], {})
    compare_exactly(engine, engine, [[7]], stop=stop)
    bundle = searching(tiny_run.best, SearchConfig())
    compare_quality(engine, engine, TestSet([[7]], [], []), bundle=bundle, remedy="", stop=stop)
    assert told == [stop] * 8


def test_sentences_are_verified_as_a_translator_reads_them(tiny_run: TinyRun) -> None:
    source, reader = open_bundle(tiny_run.best).source, SimpleNamespace(read=lambda text: Reading(text.swapcase()))
    found = make_test_set(source, TextPairs(["Deti", "Kabe"], ["a", "b"]), limit=20, reader=reader)  # type: ignore[arg-type]
    assert [source.decode([ids])[0] for ids in found.sources[-2:]] == ["dETI", "kABE"]
    assert (found.readings, found.references) == ([Reading("dETI"), Reading("kABE")], ["a", "b"])


def searching(folder: Path, search: SearchConfig) -> Bundle:
    bundle = open_bundle(folder)
    return replace(bundle, info=replace(bundle.info, search=search))


def test_a_model_that_is_meant_to_be_sampled_from_is_compared_by_its_likeliest_translations(tiny_run: TinyRun) -> None:
    asked = []

    class Asked(Told):
        def search(self, sources: Any, *, config: SearchConfig, **options: Any) -> list[list[Hypothesis]]:
            asked.append(config)
            return super().search(sources)

    search = SearchConfig(beam_size=2, sampling=True, n_best=5, mbr=16)
    engine: Any = Asked([[300]], {})
    compare_quality(engine, engine, TestSet([[7]], [], []), bundle=searching(tiny_run.best, search), remedy="")
    assert asked == [SearchConfig(beam_size=2)] * 2


def test_a_rounded_model_is_told_by_its_equal_translations_and_by_how_far_its_log_probabilities_are_apart(
    tiny_run: TinyRun,
) -> None:
    ours, theirs = Told([[300], [301], [302]], {}), Told([[300], [301], [303]], {300: -1.3, 301: -0.7})
    test_set = TestSet([[7], [8], [9]], [], [])
    bundle = searching(tiny_run.best, SearchConfig())
    found = compare_quality(ours, theirs, test_set, bundle=bundle, remedy="")  # type: ignore[arg-type]
    # Of six tokens, three of them ends, two are 0.3 apart, one in each direction.
    assert (found["n_sentences"], found["agreement"]) == (3, pytest.approx(2 / 3))
    assert found["mean_log_prob_difference"] == pytest.approx(0.1)
    assert found["largest_log_prob_difference"] == pytest.approx(0.3)


@pytest.mark.parametrize("damage", [-math.inf, math.nan])
def test_a_rounded_model_whose_log_probabilities_are_no_numbers_is_refused(damage: float, tiny_run: TinyRun) -> None:
    """As of float16, where the weights are too large for it."""
    engines: Any = Told([[300]], {}), Told([[300]], {300: damage})
    with refused("not numbers; its weights do not fit into this dtype: export with --dtype float32"):
        compare_quality(*engines, TestSet([[7]], [], []), bundle=searching(tiny_run.best, SearchConfig()), remedy="")


def test_bleu_is_of_the_text_that_users_get_in_the_words_of_its_language(tiny_run: TinyRun, tmp_path: Path) -> None:
    bundle = open_bundle(tampered(tiny_run.best, tmp_path / "zh", tgt_lang="zh"))
    engines: Any = [Told(bundle.target.encode([text]), {}) for text in ("我们明天去,他们不去.", "我们明天来,他们不去.")]
    made_up = [8, 9]
    test_set = TestSet([made_up, [7]], [Reading("Deti gedi.")], ["我们明天去，他们不去。"])
    found = compare_quality(*engines, test_set, bundle=bundle, remedy="")
    assert found["bleu_trained"] == pytest.approx(100)
    assert 50 < found["bleu_exported"] < 90


def test_rounding_may_cost_three_tenths_of_bleu_on_a_thousand_lines(tiny_run: TinyRun) -> None:
    bundle = searching(tiny_run.best, SearchConfig())
    target = bundle.target
    texts = (tiny_run.recipe.parent / "valid.de").read_text("utf-8").split("\n")[:-1]
    right = (target.encode(texts) * 1000)[:1000]
    references = target.decode(right)

    def damaged(n: int) -> list[list[int]]:
        return [[*reversed(ids)] if i < n else ids for i, ids in enumerate(right)]

    def lost(n: int) -> float:
        return 100 - quick_score(target.decode(damaged(n)), references, tgt_lang="de", metric="bleu")

    def compare(n: int, n_lines: int, *, has_gained: bool = False) -> dict[str, Any]:
        engines: Any = [Told(found[:n_lines], {}) for found in (right, damaged(n))]
        engines = engines[::-1] if has_gained else engines
        test_set = TestSet([[7]] * n_lines, [Reading("")] * n_lines, references[:n_lines])
        return compare_quality(*engines, test_set, bundle=bundle, remedy="")

    most = next(n for n in range(1, 100) if lost(n + 1) > 0.3)
    assert 0.1 < lost(most) <= 0.3
    assert compare(most, 1000)["is_bleu_checked"]
    with refused(rf"on 1000 lines, the trained one 100\.00: it loses {lost(most + 1):.2f}, more than 0\.3"):
        compare(most + 1, 1000)
    assert compare(most + 1, 1000, has_gained=True)["bleu_loss"] < -0.3
    few = compare(most + 1, 999)
    assert (few["is_bleu_checked"], few["bleu_loss"] > 0.3) == (False, True)
