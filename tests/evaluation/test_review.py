"""A translation with a fault is looked for once more; the better one is kept and what stays wrong is told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tiny_model import TinyRun
from yiwen.bundle import Bundle, open_bundle
from yiwen.engines.engine import Ids
from yiwen.evaluation.review import Answer, Rules, Source, by_rules, review, with_spares
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag


class Engine:
    """Finds what it was told to find, and remembers how it was asked."""

    def __init__(self, found: Sequence[Sequence[int]], *, is_finished: bool = True) -> None:
        self.group = [Hypothesis(tuple(ids), -1.0, -2.0, is_finished) for ids in found]
        self.asked: list[tuple[list[Ids], dict[str, Any]]] = []

    def search(self, sources: Sequence[Ids], **how: Any) -> list[list[Hypothesis]]:
        self.asked.append((list(sources), how))
        return [self.group for _ in sources]


@pytest.fixture(scope="module")
def bundle(tiny_run: TinyRun) -> Bundle:
    return open_bundle(tiny_run.best)


SOURCES = ["Deti gedi.", "Kabe 25 robu."]
STOP = StopFlag()


def sources_of(bundle: Bundle, texts: Sequence[str]) -> list[Source]:
    return list(zip(texts, bundle.source.encode(list(texts)), strict=True))


def reviewed(
    bundle: Bundle, first: Sequence[str], second: Sequence[str], *, is_finished: bool = True, **search: Any
) -> tuple[list[Answer], Engine]:
    """Review the translations `first` of SOURCES with an engine that then finds `second`."""
    engine = Engine(bundle.target.encode(list(second)), is_finished=is_finished)
    found = [
        Answer([Hypothesis(tuple(ids), -0.5, -1.0, True)], [text])
        for text, ids in zip(first, bundle.target.encode(list(first)), strict=True)
    ]
    wanted = SearchConfig(**search)
    rules = Rules(bundle=bundle, engine=engine, usual=None, search=wanted, stop=STOP)  # type: ignore[arg-type]
    return review(found, sources_of(bundle, SOURCES), rules=rules), engine


def test_good_translations_are_searched_once(bundle: Bundle) -> None:
    answers, engine = reviewed(bundle, ["Reta lire.", "Godi 25 pofo."], [])
    assert [(answer.texts, answer.flags) for answer in answers] == [(["Reta lire."], ()), (["Godi 25 pofo."], ())]
    assert engine.asked == []


def test_a_fault_is_repaired_by_the_likeliest_without_one(bundle: Bundle) -> None:
    answers, engine = reviewed(bundle, ["Reta lire.", "Godi 52 pofo."], ["Godi 7.", "Godi 25.", "Pofo 25."])
    assert [(answer.texts, answer.flags) for answer in answers] == [(["Reta lire."], ()), (["Godi 25."], ("repaired",))]
    ((sources, how),) = engine.asked
    assert sources == bundle.source.encode(SOURCES[1:])
    assert (how["config"], how["stop"]) == (SearchConfig(beam_size=10, n_best=9), STOP)


def test_a_fault_that_stays_is_told_and_the_first_translation_kept(bundle: Bundle) -> None:
    answers, _ = reviewed(bundle, ["Reta lire.", "Godi 52 pofo."], ["Godi 7.", "Pofo."])
    assert (answers[1].texts, answers[1].flags) == (["Godi 52 pofo."], ("numbers",))


def test_fewer_faults_are_better_than_more(bundle: Bundle) -> None:
    answers, engine = reviewed(bundle, ["Lire lire lire.", "Godi 52 godi 52 godi 52."], ["Godi 7."], beam_size=1)
    assert (answers[0].texts, answers[0].flags) == (["Lire lire lire."], ("loop",))  # 7 is invented there
    assert (answers[1].texts, answers[1].flags) == (["Godi 7."], ("numbers", "repaired"))
    assert engine.asked[0][1]["config"] == SearchConfig(beam_size=4, n_best=3)


def test_the_second_beam_is_no_wider_than_a_beam_may_be(bundle: Bundle) -> None:
    _, engine = reviewed(bundle, ["Reta lire.", "Godi 52 pofo."], ["Godi 7."], beam_size=600)
    assert engine.asked[0][1]["config"].beam_size == 1000


@pytest.mark.parametrize("search", [{"n_best": 2}, {"sampling": True}])
def test_what_was_asked_for_in_numbers_or_at_random_is_only_flagged(bundle: Bundle, search: dict[str, Any]) -> None:
    answers, engine = reviewed(bundle, ["Reta lire.", "Godi."], ["Godi 25."], **search)
    assert [answer.flags for answer in answers] == [(), ("numbers",)]
    assert engine.asked == []


def test_where_no_other_translation_would_do_faults_are_only_told(bundle: Bundle) -> None:
    engine = Engine([])
    rules = Rules(bundle=bundle, engine=engine, usual=None, search=SearchConfig(), settled={0})  # type: ignore[arg-type]
    group = [Hypothesis((), -0.5, -1.0, True), Hypothesis((1,), -0.6, -1.1, True)]
    (found,) = review([Answer(group, ["Godi 7."])], sources_of(bundle, SOURCES[1:]), rules=rules)
    assert (found.hypotheses, found.flags, engine.asked) == (group, ("numbers",), [])


def test_what_the_first_search_found_besides_is_tried_before_a_second_search(bundle: Bundle) -> None:
    group = [Hypothesis(tuple(ids), -0.5, -1.0, True) for ids in bundle.target.encode(["Godi 7.", "Pofo.", "Godi 25."])]
    engine = Engine([])
    rules = Rules(bundle=bundle, engine=engine, usual=None, search=SearchConfig())  # type: ignore[arg-type]
    (found,) = review([Answer(group, ["Godi 7."])], sources_of(bundle, SOURCES[1:]), rules=rules)
    assert (found.hypotheses, found.texts, found.flags) == (group[2:], ["Godi 25."], ("repaired",))
    assert engine.asked == []


def test_what_lacks_a_term_takes_no_other_place(bundle: Bundle) -> None:
    group = [Hypothesis(tuple(ids), -0.5, -1.0, True) for ids in bundle.target.encode(["Pofo 7.", "Godi 25."])]
    engine = Engine(bundle.target.encode(["Godi 25.", "Pofo 25."]))
    rules = Rules(
        bundle=bundle,
        engine=engine,  # type: ignore[arg-type]
        usual=None,
        search=SearchConfig(),
        lacks=lambda place, text: (place, "Pofo" in text) == (0, False),
    )
    (found,) = review([Answer(group, ["Pofo 7."])], sources_of(bundle, SOURCES[1:]), rules=rules)
    assert (found.texts, found.flags) == (["Pofo 25."], ("repaired",))


def test_spare_hypotheses_are_asked_for_where_they_are_free_and_wanted() -> None:
    asked = [with_spares(SearchConfig(**how)).n_best for how in ({}, {"beam_size": 2}, {"beam_size": 1}, {"n_best": 2})]
    assert asked == [4, 1, 1, 2]
    assert with_spares(SearchConfig(sampling=True)) == SearchConfig(sampling=True)
    assert with_spares(SearchConfig(mbr=5)) == SearchConfig(mbr=5)


def test_prefixes_are_kept(bundle: Bundle) -> None:
    engine = Engine([[1]])
    answer = Answer([Hypothesis((1,), -0.5, -1.0, False)], ["x"])
    rules = Rules(bundle=bundle, engine=engine, usual=None, search=SearchConfig())  # type: ignore[arg-type]
    (found,) = review([answer], sources_of(bundle, ["Deti."]), rules=rules, prefixes=[[7, 8]])
    assert engine.asked[0][1]["prefixes"] == [[7, 8]]
    assert found.flags == ("repaired",)
    assert dataclasses.replace(found, flags=()).hypotheses == engine.group


def test_a_beam_for_a_single_word_is_asked_by_its_whole_probability() -> None:
    beam, greedy, drawn = SearchConfig(beam_size=3), SearchConfig(beam_size=1), SearchConfig(sampling=True)
    whole = SearchConfig(beam_size=3, penalty="none")
    assert by_rules([4, 1, 2], {1, 2, 9}, beam) == [([4], beam), ([1, 2], whole)]
    assert by_rules([1], {1}, beam) == [([1], whole)]
    assert by_rules([4, 1], {1}, greedy) == [([4, 1], greedy)]
    assert by_rules([1], {1}, drawn) == [([1], drawn)]
    assert by_rules([], {1}, beam) == []


class Usual:
    """Finds everything incomplete that has fewer subwords than it is told."""

    def __init__(self, fewest: int) -> None:
        self.fewest = fewest

    def faults(self, src_ids: Ids, tgt_ids: Ids) -> list[str]:
        return ["omission"] * (len(tgt_ids) < self.fewest)

    def confidence(self, log_prob: float, src_ids: Ids, tgt_ids: Ids) -> float:
        return math.exp(log_prob)


def test_what_leaves_something_out_gives_way_to_what_does_not(bundle: Bundle) -> None:
    texts = ["Reta.", "Reta lire pofo.", "Reta lire."]
    ids = bundle.target.encode(texts)
    group = [Hypothesis(tuple(each), -0.1, log_prob, True) for each, log_prob in zip(ids, (-1, -2, -3), strict=True)]
    usual, engine = Usual(fewest=len(ids[1])), Engine([])
    rules = Rules(bundle=bundle, engine=engine, usual=usual, search=SearchConfig())  # type: ignore[arg-type]
    (found,) = review([Answer(group, texts[:1])], sources_of(bundle, ["Deti gedi kabe."]), rules=rules)
    assert (found.texts, found.flags, found.confidence) == (texts[1:2], ("repaired",), math.exp(-2))
    assert engine.asked == []


def test_an_omission_that_no_hypothesis_mends_is_told(bundle: Bundle) -> None:
    (ids,) = bundle.target.encode(["Reta."])
    engine = Engine([ids])
    rules = Rules(bundle=bundle, engine=engine, usual=Usual(fewest=99), search=SearchConfig())  # type: ignore[arg-type]
    answer = Answer([Hypothesis(tuple(ids), -0.1, -1.0, True)], ["Reta."])
    (found,) = review([answer], sources_of(bundle, ["Deti gedi kabe."]), rules=rules)
    assert (found.texts, found.flags) == (["Reta."], ("omission",))


def test_a_subword_that_stands_for_a_blank_gives_way_to_words(bundle: Bundle) -> None:
    # What most Chinese sentences begin with: it goes round the rule that a translation has one subword or more.
    blank = bundle.target.pieces(range(bundle.target.vocab_size)).index("▁")
    group = [Hypothesis(tuple(ids), -0.1, -0.2, True) for ids in ([blank], *bundle.target.encode(["Reta lire."]))]
    rules = Rules(bundle=bundle, engine=Engine([]), usual=None, search=SearchConfig())  # type: ignore[arg-type]
    (found,) = review([Answer(group, [""])], sources_of(bundle, SOURCES[:1]), rules=rules)
    assert (found.texts, found.flags) == (["Reta lire."], ("repaired",))


def test_reviews_need_no_torch() -> None:
    text = Path(review.__code__.co_filename).read_text(encoding="utf-8")
    assert "torch" not in text
