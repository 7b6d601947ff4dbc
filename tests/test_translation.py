"""Which of what a search found is handed out."""

from __future__ import annotations

from typing import cast

from yiwen.plan import Stretch
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.text.reading import Reader, Reading
from yiwen.text.subword import Subword
from yiwen.translation import Answer, assemble, chosen


def test_of_what_was_drawn_several_times_one_is_handed_out_before_any_is_twice() -> None:
    texts = ["a dog", "a dog", "the cat", "a dog", "a cow"]
    group = [Hypothesis((n,), -float(n), -float(n), is_finished=True) for n in range(len(texts))]

    def wanted(n_best: int) -> list[str]:
        config = SearchConfig(mbr=8, beam_size=8, n_best=n_best)
        return chosen(group, texts, lambda text: False, config=config).texts

    assert wanted(1) == ["a dog"]  # by how often it was drawn
    assert sorted(wanted(3)) == ["a cow", "a dog", "the cat"]
    assert wanted(5)[3:] == ["a dog", "a dog"]


def test_candidates_without_a_term_come_last_however_many_agree_on_them() -> None:
    texts = ["the dog sleeps", "a cat sleeps", "a cat sleeps", "a cat sleeps"]
    group = [Hypothesis((n,), -float(n), -float(n), is_finished=True) for n in range(len(texts))]
    config = SearchConfig(mbr=4, beam_size=4)
    assert chosen(group, texts, lambda text: False, config=config).texts == ["a cat sleeps"]
    assert chosen(group, texts, lambda text: "dog" not in text, config=config).texts == ["the dog sleeps"]


def test_a_term_in_capitals_that_lose_their_accents_is_not_lacking() -> None:
    reader = Reader(src_lang="en", model_lang="el", tgt_lang="el", subword=cast(Subword, None))
    reading = Reading("the city of athens", is_capitals=True, terms=("Αθήνα",))
    stretches = [Stretch(0, 18, reading, [7], ())]
    for said, flags in (("η πόλη της Αθήνα", ()), ("η πόλη", ("glossary",))):
        answers = iter([Answer([Hypothesis((7,), -1.0, -1.0, is_finished=True)], [said])])
        found = assemble("THE CITY OF ATHENS", stretches, answers, reader=reader, by_sentence=False)
        assert found.flags == flags
