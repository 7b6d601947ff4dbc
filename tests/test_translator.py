"""Raw text in, raw text out: one translation a text, in order, whatever the text is."""

from __future__ import annotations

import math
import re
import sys
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiny_model import MAX_TOKENS, TinyRun
from yiwen import translator as module
from yiwen.engines.engine import Ids
from yiwen.errors import ConfigError, DataError, MissingDependencyError, Stopped
from yiwen.plan import plan
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.glossary import Glossary
from yiwen.text.normalise import normalise
from yiwen.translator import Score, Translation, Translator

SHORT = SearchConfig(beam_size=1, max_len_ratio=0.2, max_len_extra=2)
"""A quick search for tests in which the words do not matter."""


@pytest.fixture(scope="session")
def translator(tiny_run: TinyRun) -> Translator:
    return Translator.load(tiny_run.best, threads=1)


@pytest.fixture(scope="session")
def sources(tiny_run: TinyRun) -> list[str]:
    return (tiny_run.recipe.parent / "test.en").read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="session")
def references(tiny_run: TinyRun) -> list[str]:
    return (tiny_run.recipe.parent / "test.de").read_text("utf-8").split("\n")[:-1]


def segments_of(translator: Translator, text: str) -> list[list[int]]:
    """What the engine is given for a text."""
    (stretches,) = plan(
        [text], reader=translator.reader(None), limit=translator.limit, by_sentence=False, wholes=[False]
    )
    return [stretch.ids for stretch in stretches if stretch.ids]


def test_raw_text_goes_in_and_raw_text_comes_out(
    translator: Translator, sources: list[str], references: list[str]
) -> None:
    found = [str(translation) for translation in translator.translate(sources)]
    assert (translator.src_lang, translator.tgt_lang) == ("en", "de")
    assert sum(a == b for a, b in zip(found, references, strict=True)) > len(sources) / 3, "the tiny model is no good"
    assert all(text == normalise(text) and text.endswith(".") for text in found)


@pytest.mark.parametrize("blank", ["", " ", "\t \u3000", "\r", "\x00", "\ufeff", "\u2028", "\u200b"])
def test_blank_lines_come_back_as_they_are_and_never_reach_the_model(blank: str, translator: Translator) -> None:
    assert segments_of(translator, blank) == []
    assert translator.translate([blank]) == [Translation(blank, 0.0)]


def test_a_control_character_at_the_edge_of_a_line_that_is_cut_is_not_written(translator: Translator) -> None:
    (translation,) = translator.translate(["\x1b 00000¡" + 4 * "\U00010000"], search=SHORT)
    assert "segmented" in translation.flags
    assert "\x1b" not in translation.text


def test_no_texts_give_no_translations(translator: Translator) -> None:
    assert translator.translate([]) == []
    assert list(translator.translate_lines([])) == []


NO_TEXT = "\x1b\x1c\x85\x0b\x00\u2028\u200b \n01aB¡….。中"


@given(texts=st.lists(st.text(max_size=30) | st.text(alphabet=NO_TEXT, max_size=30), max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_text_gives_one_translation_of_as_many_lines(texts: list[str], translator: Translator) -> None:
    translations = translator.translate(texts, search=SHORT)
    assert len(translations) == len(texts)
    for text, translation in zip(texts, translations, strict=True):
        assert translation.text.count("\n") == text.count("\n")
        for line, translated in zip(text.split("\n"), translation.text.split("\n"), strict=True):
            if not normalise(line):
                assert translated == line
            else:  # a line that a model wrote holds nothing that any program takes for a line break
                assert not any(unicodedata.category(character) == "Cc" for character in translated)
                assert len(translated.splitlines()) <= 1


NASTY = {
    "carriage return": b"Deti gedi bapu.\r",
    "a carriage return inside": b"Deti gedi\rbapu.",
    "NUL": b"Deti\x00 gedi bapu.",
    "line separators": "Deti\u2028gedi\u2029bapu\x85.".encode(),
    "byte order mark": b"\xef\xbb\xbfDeti gedi bapu.",
    "no UTF-8": b"Deti \xff\xfe gedi bapu.",
    "half a character": "Deti 你".encode()[:-1],
    "other scripts": "你好，世界！ नमस्ते 🏳️‍🌈 \u202eabc".encode(),
    "form feed": b"Deti\x0cgedi\x0bbapu.\x1c",
    "nothing": b"",
}


def test_every_nasty_line_gives_one_line_and_what_was_replaced_is_flagged(translator: Translator) -> None:
    translations = list(translator.translate_lines(NASTY.values()))
    assert len(translations) == len(NASTY)
    flagged = {name for name, t in zip(NASTY, translations, strict=True) if "invalid_utf8" in t.flags}
    assert flagged == {"no UTF-8", "half a character"}
    for name, translation in zip(NASTY, translations, strict=True):
        assert len(translation.text.splitlines()) == (name != "nothing"), name
    plain = translator.translate(["Deti gedi bapu."])[0].text
    same = ("carriage return", "a carriage return inside", "NUL", "byte order mark", "form feed")
    found = dict(zip(NASTY, translations, strict=True))
    assert {name: found[name].text for name in same} == dict.fromkeys(same, plain)


def test_a_very_long_line_is_translated_in_pieces_and_flagged(translator: Translator) -> None:
    text = "deti gebu " * 5000
    segments = segments_of(translator, text)
    assert sum(map(len, segments)) == len(translator.bundle.source.encode([normalise(text)])[0]) >= 10_000
    (translation,) = translator.translate_lines([text.encode()], search=SHORT)
    assert "segmented" in translation.flags
    assert len(translation.text.split()) >= len(segments)
    assert len(translation.text.splitlines()) == 1


def test_a_line_as_long_as_in_training_stays_whole(translator: Translator) -> None:
    assert translator.limit == MAX_TOKENS - 1
    n_words = 0
    while len(translator.bundle.source.encode([normalise("deti " * (n_words + 1))])[0]) <= translator.limit:
        n_words += 1
    assert len(segments_of(translator, "deti " * n_words)) == 1 < len(segments_of(translator, "deti " * (n_words + 1)))


def test_pieces_are_joined_by_a_blank_where_the_language_has_one(translator: Translator) -> None:
    text = "Deti gedi bapu reta. " * 6
    n_pieces = len(segments_of(translator, text))
    spaced = translator.translate([text])[0].text
    unspaced = Translator(translator.bundle, translator.engine)
    unspaced.tgt_lang = "zh-Hans"
    assert n_pieces > 1
    assert len(spaced) - len(unspaced.translate([text])[0].text) == n_pieces - 1


def test_what_is_no_sentence_never_reaches_the_model(translator: Translator, sources: list[str]) -> None:
    texts = ["42", "https://a.b/c", "", sources[0], "Der Mann liest ein Buch über die Stadt."]
    found = translator.translate(texts)
    assert [t.flags for t in found] == [("passed_through",), ("passed_through",), (), (), ("already_target",)]
    assert [t.text for t in found[:3]] == texts[:3]
    assert found[4].text == texts[4]
    assert found[3].text == translator.translate([sources[0]])[0].text
    assert [piece.flags for t in found for piece in t.sentences] == [t.flags for t in found if t.text]


def test_a_prefix_is_kept_whatever_the_text_is(translator: Translator) -> None:
    for text in ("42", "  Deti gedi. "):
        (found,) = translator.translate([text], prefixes=["Gemi"], by_sentence=True)
        assert found.text.startswith("Gemi")


def test_sentences_are_translated_by_themselves_where_that_is_asked_for(
    translator: Translator, sources: list[str]
) -> None:
    text = f"  {sources[0]} {sources[1]}\n\n{sources[2]} 42. \n"
    (found,) = translator.translate([text], by_sentence=True, checks=False)
    alone = [t.text for t in translator.translate(sources[:3], checks=False)]
    assert found.text == f"  {alone[0]} {alone[1]}\n\n{alone[2]} 42. \n"
    assert [text[piece.src_start : piece.src_end] for piece in found.sentences] == [*sources[:3], "42."]
    assert [found.text[piece.tgt_start : piece.tgt_end] for piece in found.sentences] == [*alone, "42."]
    assert [piece.flags for piece in found.sentences] == [(), (), (), ("passed_through",)]
    assert translator.translate([text], by_sentence=True, prefixes=[""], checks=False)[0] == found


def test_the_most_probable_hypothesis_is_taken_for_a_single_word(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules: list[tuple[int, str]] = []
    search = translator.engine.search

    def noted(sources: Sequence[Ids], **settings: Any) -> list[list[Hypothesis]]:
        rules.append((len(sources), settings["config"].penalty))
        return search(sources, **settings)

    monkeypatch.setattr(translator.engine, "search", noted)
    for beam_size in (3, 1):
        texts = ["deti", "deti gedi", "bapu"]
        found = translator.translate(texts, search=SearchConfig(beam_size=beam_size), checks=False)
        assert all(-5.0 < translation.score < 0.0 for translation in found)
    assert rules == [(1, "average"), (2, "none"), (3, "average")]


def test_a_single_word_is_searched_alike_whatever_another_text_has_to_start_with(
    translator: Translator, sources: list[str]
) -> None:
    search = SearchConfig(beam_size=3)
    for word in ("deti", "bapu", "gedi"):
        (alone,) = translator.translate([word], search=search, checks=False)
        beside, begun = translator.translate([word, sources[0]], search=search, prefixes=["", "Gemi"], checks=False)
        assert begun.text.startswith("Gemi")
        assert beside.text == alone.text
        assert beside.score == pytest.approx(alone.score, abs=1e-5)


def test_a_second_search_for_a_single_word_compares_whole_probabilities_too(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Ids, str]] = []
    search = translator.engine.search

    def noted(sources: Sequence[Ids], **settings: Any) -> list[list[Hypothesis]]:
        asked.extend((ids, settings["config"].penalty) for ids in sources)
        return search(sources, **settings)

    monkeypatch.setattr(translator.engine, "search", noted)
    texts = ["deti77", "Kabe 77 robu."]  # it has never seen a number, and so leaves each out
    word, sentence = translator.bundle.source.encode(texts)
    translator.translate(texts, search=SearchConfig(beam_size=2))
    assert asked == [(sentence, "average"), (word, "none")] * 2


def test_the_translations_of_a_single_word_stand_in_the_order_of_their_scores(translator: Translator) -> None:
    for word in ("deti", "bapu", "gedi"):
        found = translator.translate([word], search=SearchConfig(beam_size=9, n_best=9), checks=False)[0]
        scores = [alternative.score for alternative in found.alternatives]
        assert len(scores) == 9
        assert scores == sorted(scores, reverse=True)
        assert found.score == scores[0]


def test_a_model_writes_the_other_kind_of_chinese_where_asked(translator: Translator) -> None:
    info = replace(translator.bundle.info, tgt_lang="zh")
    bundle = replace(translator.bundle, info=info)
    assert Translator(bundle, translator.engine, tgt_lang="zh_TW").reader(None).tgt_lang == "zh_TW"
    assert Translator(bundle, translator.engine, tgt_lang="zh-Hans").translate(["这是头发"])[0].text == "这是头发"
    assert Translator(bundle, translator.engine, tgt_lang="zh-Hant").translate(["这是头发"])[0].text == "這是頭髮"
    for wrong in ("fr", "yue"):
        with pytest.raises(ConfigError, match=f"translates into zh, not into {wrong}; leave the language out"):
            Translator(bundle, translator.engine, tgt_lang=wrong)
    with pytest.raises(ConfigError, match="tgt_lang is a list; give a code such as 'zh-Hant', not "):
        translator.written_in(["zh"])  # type: ignore[arg-type]


def test_a_text_of_several_lines_keeps_its_lines(translator: Translator, sources: list[str]) -> None:
    alone = [str(translation) for translation in translator.translate(sources[:2])]
    (together,) = translator.translate([f"{sources[0]}\r\n\n\r\n  \n{sources[1]}\n"])  # those of Windows become ours
    assert together.text == f"{alone[0]}\n\n\n  \n{alone[1]}\n"


def test_translations_stand_where_their_texts_stand(translator: Translator, sources: list[str]) -> None:
    texts = [*sources[:9], "", *sources[9:]]
    forwards = translator.translate(texts)
    backwards = translator.translate(texts[::-1])
    assert [t.text for t in forwards] == [t.text for t in backwards[::-1]]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_translation_does_not_depend_on_its_company(
    beam_size: int, translator: Translator, sources: list[str]
) -> None:
    search = SearchConfig(beam_size=beam_size, n_best=min(beam_size, 2))
    together = translator.translate(sources, search=search)
    for text, translation in zip(sources, together, strict=True):
        (alone,) = translator.translate([text], search=search)
        assert alone.score == pytest.approx(translation.score, abs=1e-5)
        scores = [other.score for other in translation.alternatives]
        if not scores or scores[0] - scores[1] > 1e-4:  # closer than that, rounding may decide
            assert alone.text == translation.text


def test_a_beam_of_one_finds_what_greedy_search_finds(
    translator: Translator, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from yiwen.engines import torch_engine

    greedy = translator.translate(sources, search=SearchConfig(beam_size=1))
    monkeypatch.setattr(torch_engine, "greedy_search", torch_engine.beam_search)
    beam = translator.translate(sources, search=SearchConfig(beam_size=1))
    assert [t.text for t in greedy] == [t.text for t in beam]
    assert [t.score for t in greedy] == pytest.approx([t.score for t in beam], abs=1e-5)


def test_n_best_lists_are_distinct_and_best_first(translator: Translator, sources: list[str]) -> None:
    for translation in translator.translate(sources[:5], search=SearchConfig(beam_size=4, n_best=3)):
        scores = [alternative.score for alternative in translation.alternatives]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert (translation.text, translation.score) == (translation.alternatives[0].text, scores[0])
    (plain,) = translator.translate(sources[:1])
    assert plain.alternatives == ()


@pytest.mark.parametrize("by_sentence", [False, True])
def test_blank_lines_around_a_text_do_not_cost_its_n_best_list(
    by_sentence: bool, translator: Translator, sources: list[str]
) -> None:
    translate = partial(translator.translate, search=SearchConfig(beam_size=3, n_best=3), by_sentence=by_sentence)
    (plain,), (line,) = (translate([text]) for text in (sources[0], f"\n{sources[0]}\n\n"))
    assert len(plain.alternatives) == 3
    assert [(each.text, each.score) for each in line.alternatives] == [
        (f"\n{each.text}\n\n", pytest.approx(each.score)) for each in plain.alternatives
    ]
    assert line.alternatives[0].text == line.text


def test_a_text_of_several_pieces_has_no_n_best_list(translator: Translator, sources: list[str]) -> None:
    search = SearchConfig(beam_size=2, n_best=2)
    assert translator.translate([f"{sources[0]}\n{sources[1]}"], search=search)[0].alternatives == ()


def test_a_translation_starts_with_its_prefix(translator: Translator, sources: list[str]) -> None:
    prefixes = ["Gemi", "", "Tobu kiba", " Xyz ", ""]
    free = translator.translate(sources[:5])
    forced = translator.translate(sources[:5], prefixes=prefixes)
    for prefix, translation, unforced in zip(prefixes, forced, free, strict=True):
        assert translation.text.startswith(prefix.strip())
        if not prefix:
            assert translation.text == unforced.text


def test_the_prefix_of_a_text_in_capitals_is_what_the_model_would_write(
    translator: Translator, sources: list[str]
) -> None:
    source = next(text for text in sources if len(text) > 20)
    (free,) = translator.translate([source.upper()], checks=False)
    begun = " ".join(free.text.split(" ")[:2])
    for prefix in (begun, begun.capitalize()):
        (found,) = translator.translate([source.upper()], prefixes=[prefix], checks=False)
        assert (found.text, found.score) == (free.text, pytest.approx(free.score, abs=1e-4))


def test_a_long_prefix_is_kept_whole(translator: Translator) -> None:
    prefix = " ".join(["reta"] * 12)
    search = SearchConfig(beam_size=2, max_len_ratio=0.0, max_len_extra=1)
    (translation,) = translator.translate(["Deti."], prefixes=[prefix], search=search)
    assert translation.text.startswith(prefix)
    assert translation.flags == ("cut", "loop")


def test_a_translation_without_end_is_flagged_as_cut(translator: Translator, sources: list[str]) -> None:
    for checks in (True, False):
        assert translator.translate(sources[:1], search=SHORT, checks=checks)[0].flags == ("cut",)


@pytest.mark.parametrize(
    ("texts", "prefixes", "message"),
    [
        (["a", "b"], ["x"], "1 prefixes for 2 texts; give one a text, '' for none"),
        (["a\nb"], ["x"], "the prefix 'x' belongs to a text of 2 lines; use one line"),
        (["a"], ["deti " * 99], "positions for 95; shorten it"),
    ],
)
def test_prefixes_that_cannot_be_used_are_refused(
    texts: list[str], prefixes: list[str], message: str, translator: Translator
) -> None:
    with pytest.raises(ConfigError, match=message):
        translator.translate(texts, prefixes=prefixes)


def test_sampling_is_reproducible_by_its_seed(translator: Translator, sources: list[str]) -> None:
    def sample(seed: int) -> list[str]:
        search = SearchConfig(sampling=True, n_best=2, seed=seed, temperature=1.5)
        torch.manual_seed(len(sources))  # the default generator plays no part
        return [a.text for t in translator.translate(sources[:8], search=search) for a in t.alternatives]

    assert sample(3) == sample(3) != sample(4)


def test_each_block_of_a_stream_is_drawn_with_other_random_numbers(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_LINES", 4)
    search = SearchConfig(sampling=True, temperature=3.0, seed=2**62 - 1)
    lines = [b"Deti gedi bapu."] * 8
    drawn = [t.text for t in translator.translate_lines(lines, search=search, checks=False)]
    assert drawn[:4] == [t.text for t in translator.translate(["Deti gedi bapu."] * 4, search=search, checks=False)]
    assert drawn[:4] != drawn[4:]


def test_the_score_of_a_translation_is_that_of_the_search(translator: Translator, sources: list[str]) -> None:
    ids = translator.bundle.source.encode(sources)
    for config in (SearchConfig(beam_size=1), SearchConfig(beam_size=4)):
        hypotheses = [found[0] for found in translator.engine.search(ids, config=config)]
        forced = translator.engine.score(ids, [h.ids for h in hypotheses])
        assert all(h.is_finished for h in hypotheses)
        assert [math.fsum(row) for row in forced] == pytest.approx([h.log_prob for h in hypotheses], abs=1e-4)


def test_a_score_is_the_sum_over_its_tokens(translator: Translator, sources: list[str], references: list[str]) -> None:
    scores = translator.score(sources, references)
    rows = translator.engine.score(
        translator.bundle.source.encode(sources), translator.bundle.target.encode(references)
    )
    assert scores == [Score(math.fsum(row), len(row)) for row in rows]
    assert scores[0].per_token == scores[0].log_prob / (len(translator.bundle.target.encode(references)[0]) + 1)
    wrong = translator.score(sources, references[1:] + references[:1])
    assert sum(a.per_token > b.per_token for a, b in zip(scores, wrong, strict=True)) > 0.9 * len(sources)


def test_chinese_is_scored_in_the_script_that_the_model_reads(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "src_lang", "zh")
    simplified, traditional = translator.score(["这个软体", "這個軟體"], ["Deti.", "Deti."])
    assert simplified == traditional


def test_capitals_are_scored_as_they_are_translated(translator: Translator, sources: list[str]) -> None:
    source = next(text for text in sources if len(text) > 20)
    (usual,) = translator.translate([source], checks=False)
    (large,) = translator.translate([source.upper()], checks=False)
    assert large.text == usual.text.upper()
    asked = [source, source.upper()], [usual.text, large.text]
    expected, found = translator.score(*asked)
    assert found == expected


def test_blanks_that_no_model_reads_change_no_score(translator: Translator) -> None:
    clean, stray = translator.score(["Deti gedi.", " Deti\u00a0 gedi. "], ["Bapu reta.", "Bapu\u3000reta.\u200b"])
    assert (stray.n_tokens, stray.log_prob) == (clean.n_tokens, pytest.approx(clean.log_prob, abs=1e-5))


def test_scores_of_a_stream_are_those_of_a_list(
    translator: Translator, sources: list[str], references: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_LINES", 7)
    streamed = translator.score_pairs(zip(sources, references, strict=True))
    together = translator.score(sources, references)
    assert [s.log_prob for s in streamed] == pytest.approx([s.log_prob for s in together], abs=1e-5)


def test_texts_that_cannot_be_scored_are_named_by_their_line(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="1 sources but 0 targets; give one target a source"):
        translator.score(["a"], [])
    for ask in (translator.score, translator.align):
        with pytest.raises(ConfigError, match=r"(score|align) takes a list of texts; give a column of strings"):
            ask("ab", "cd")
    monkeypatch.setattr(module, "BLOCK_LINES", 4)
    pairs = [("a", "b")] * 10 + [("a", "deti " * 99)]
    with pytest.raises(DataError, match=r"target 11 has \d+ subwords, the model has positions for 95; shorten it"):
        list(translator.score_pairs(pairs))
    skipped: list[int] = []
    scores = [score.log_prob for score in translator.score_pairs(pairs, skipped=skipped)]
    assert (skipped, [math.isnan(score) for score in scores]) == ([11], [False] * 10 + [True])


def test_a_side_as_long_as_the_model_has_positions_for_is_scored_and_may_be_a_prefix(translator: Translator) -> None:
    n_subwords = {n: len(translator.bundle.target.encode(["x" * n])[0]) for n in range(80, 120)}
    longest = next(n for n, size in n_subwords.items() if size == translator.bundle.room)
    skipped: list[int] = []
    (score,) = translator.score(["Deti."], ["x" * longest], skipped=skipped)
    assert (skipped, score.n_tokens) == ([], 96)
    assert score.log_prob < 0
    (translation,) = translator.translate(["Deti."], prefixes=["x" * longest], checks=False)
    assert translation.text == "x" * longest


def test_blank_sides_have_a_score_too(translator: Translator) -> None:
    assert [score.n_tokens for score in translator.score(["", "Deti."], ["", ""])] == [1, 1]


def test_a_stream_is_translated_by_the_rules_that_it_is_given(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def noted(texts: list[str], **options: Any) -> list[Translation]:
        told.append(options)
        return [Translation(text, 0.0) for text in texts]

    rules: dict[str, Any] = {"search": SHORT, "glossary": Glossary({"deti": "haus"}), "stop": StopFlag()}
    rules |= {"by_sentence": True, "with_scores": False, "checks": False}
    monkeypatch.setattr(translator, "translate", noted)
    assert [str(each) for each in translator.translate_lines([b"Deti."], **rules)] == ["Deti."]
    assert told == [rules]


def test_as_many_blocks_are_translated_at_once_as_the_engine_takes(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=30)  # passed only when two are inside

    def meet(texts: list[str], **options: Any) -> list[Translation]:
        both.wait()
        return [Translation(text, 0.0) for text in texts]

    monkeypatch.setattr(module, "BLOCK_LINES", 1)
    two = Translator(translator.bundle, translator.engine, n_at_once=2)
    monkeypatch.setattr(two, "translate", meet)
    assert [str(each) for each in two.translate_lines([b"Deti.", b"Gedi."])] == ["Deti.", "Gedi."]


@pytest.fixture
def asked(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the engine is asked for, search by search."""
    seen: list[dict[str, Any]] = []
    search = translator.engine.search

    def noted(sources: Sequence[Ids], **settings: Any) -> list[list[Hypothesis]]:
        seen.append(settings)
        return search(sources, **settings)

    monkeypatch.setattr(translator.engine, "search", noted)
    return seen


def test_scores_that_nobody_looks_at_are_not_asked_for(translator: Translator, asked: list[dict[str, Any]]) -> None:
    for with_scores in (False, True):
        translator.translate(["Deti gedi."], with_scores=with_scores, checks=False)
    assert [settings["with_scores"] for settings in asked] == [False, True]


def test_the_rules_of_a_search_are_those_of_the_bundle_where_nobody_gives_others(
    translator: Translator, asked: list[dict[str, Any]]
) -> None:
    bundle = replace(translator.bundle, info=replace(translator.bundle.info, search=SHORT))
    Translator(bundle, translator.engine).translate(["Deti gedi."], checks=False)
    translator.translate(["Deti gedi."], search=SearchConfig(beam_size=7, mbr=5), checks=False)
    assert [settings["config"] for settings in asked] == [SHORT, SearchConfig(beam_size=7, n_best=5)]


def test_a_prefix_belongs_to_the_first_piece_of_its_own_text_in_the_script_that_the_model_writes(
    translator: Translator, asked: list[dict[str, Any]]
) -> None:
    info = replace(translator.bundle.info, tgt_lang="zh-Hans")
    traditional = Translator(replace(translator.bundle, info=info), translator.engine, tgt_lang="zh-Hant")
    texts = ["", "Deti gedi.\nBapu reta.", "deti gebu " * 20]
    n_pieces = [len(segments_of(translator, text)) for text in texts]
    traditional.translate(texts, prefixes=["", "", "頭髮"], by_sentence=True, checks=False, search=SHORT)
    assert n_pieces[2] > 1
    (begun,) = translator.bundle.target.encode(["头发"])
    nothing: list[int] = []
    assert [settings["prefixes"] for settings in asked] == [
        [*[nothing] * n_pieces[1], begun, *[nothing] * (n_pieces[2] - 1)]
    ]


@pytest.mark.parametrize("n_lines", [0, 1, 7, 8, 50])
def test_a_stream_is_read_one_block_ahead_at_most(
    n_lines: int, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_LINES", 8)
    n_read = 0

    def lines() -> Iterator[bytes]:
        nonlocal n_read
        for _ in range(n_lines):
            n_read += 1
            yield b""

    n_written = 0
    for _ in translator.translate_lines(lines()):
        assert n_read <= n_written + 8
        n_written += 1
    assert n_written == n_read == n_lines


def test_a_stream_comes_out_the_same_whether_blocks_overlap_or_not(
    translator: Translator, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_LINES", 7)
    lines = [text.encode() for text in sources]
    overlapping = Translator(translator.bundle, translator.engine, n_at_once=3)
    assert list(overlapping.translate_lines(lines)) == list(translator.translate_lines(lines))


def test_an_exported_engine_gives_the_same_translations(
    translator: Translator, sources: list[str], exported_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_LINES", 11)
    exported = Translator.load(exported_bundle, threads=1)
    assert exported.engine.description.startswith("CTranslate2")
    texts = [*sources, "", "Deti gedi bapu reta. " * 6]
    expected = translator.translate(texts)
    found = list(exported.translate_lines(text.encode() for text in texts))
    assert [t.text for t in found] == [t.text for t in expected]
    assert [t.flags for t in found] == [t.flags for t in expected]
    assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-4)
    scores = exported.score(texts[:9], texts[1:10])
    assert [s.log_prob for s in scores] == pytest.approx(
        [s.log_prob for s in translator.score(texts[:9], texts[1:10])], abs=1e-3
    )


def test_a_stop_signal_ends_translating_and_scoring(translator: Translator) -> None:
    stop = StopFlag()
    stop.signum = 2
    with pytest.raises(Stopped, match="stopped by SIGINT during translation"):
        translator.translate(["a"], stop=stop)
    with pytest.raises(Stopped, match="stopped by SIGINT during scoring"):
        translator.score(["a"], ["b"], stop=stop)
    with pytest.raises(Stopped, match="stopped by SIGINT during scoring"):
        list(translator.score_pairs([("a", "b")], stop=stop))
    with pytest.raises(Stopped, match="stopped by SIGINT during alignment"):
        translator.align(["a"], ["b"], stop=stop)


def test_bf16_translates_as_float32_does_but_for_rounding(
    translator: Translator, tiny_run: TinyRun, sources: list[str]
) -> None:
    rounded = Translator.load(tiny_run.best, dtype="bf16", threads=1)
    pairs = zip(translator.translate(sources), rounded.translate(sources), strict=True)
    assert sum(a.text == b.text for a, b in pairs) > 0.7 * len(sources)


def test_a_glossary_that_is_none_is_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"glossary is a dict; give a yiwen\.text\.glossary\.Glossary, or None"):
        translator.translate(["a"], glossary={})  # type: ignore[arg-type]


def test_an_unknown_number_type_is_refused(tiny_run: TinyRun) -> None:
    with pytest.raises(ConfigError, match="dtype='int4' is unknown; use 'auto', 'float32' or 'bf16'"):
        Translator.load(tiny_run.best, dtype="int4")


def test_without_torch_the_missing_extra_is_named(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'yiwen\[train\]'"):
        Translator.load(tiny_run.best)


def test_a_translator_works_in_several_threads(translator: Translator, sources: list[str]) -> None:
    expected = [t.text for t in translator.translate(sources)]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        found[number] = [t.text for t in translator.translate(sources)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(3), expected)


def test_what_is_no_list_of_texts_is_refused_and_a_generator_is_one(translator: Translator) -> None:
    assert translator.translate(text for text in ["Deti gedi."]) == translator.translate(["Deti gedi."])  # type: ignore[arg-type]
    wrong: tuple[Any, ...] = ("A dog runs.", [None], [b"A dog."], None)
    for texts in wrong:
        for call in (translator.translate, partial(translator.score, targets=["a"]), partial(translator.align, ["a"])):
            with pytest.raises(
                ConfigError, match=r"(translate|score|align) takes a list of texts; give a column of str"
            ):
                call(texts)  # type: ignore[operator]
    with pytest.raises(ConfigError, match="prefixes takes a list of texts"):
        translator.translate(["a"], prefixes="L")


def test_search_rules_that_are_none_are_refused_before_anything_is_read(translator: Translator) -> None:
    message = r"search is a dict; give a yiwen\.search\.config\.SearchConfig, or None, not \{'beam_size': 2\}"
    with pytest.raises(ConfigError, match=message):
        translator.translate(["a"], search={"beam_size": 2})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        translator.translate_lines(iter([]), search={"beam_size": 2})  # type: ignore[arg-type]


def test_what_the_engine_cannot_do_is_refused_before_a_line_is_read(exported_bundle: Path) -> None:
    exported = Translator.load(exported_bundle, engine="ctranslate2", threads=1)
    for how, message in (
        ({"search": SearchConfig(sampling=True)}, "search.sampling=true is not for an exported model"),
        ({"glossary": Glossary({"deti": "haus"})}, "a glossary needs engine='torch', or a model with symbols"),
    ):
        with pytest.raises(ConfigError, match=message):
            exported.translate_lines(iter([]), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("lines", [["text"], "text", [None], [b"fine", 7]])
def test_lines_that_are_no_bytes_are_refused(translator: Translator, lines: Any) -> None:
    with pytest.raises(ConfigError, match=r"a line is a (str|NoneType|int); give bytes, or texts to `translate`, not"):
        list(translator.translate_lines(lines))


def test_what_cannot_be_gone_through_is_refused(translator: Translator) -> None:
    nothing: Any = None
    with pytest.raises(ConfigError, match="the input is a NoneType; give a file, a list or a generator, not None"):
        list(translator.translate_lines(nothing))


@pytest.mark.parametrize("pairs", [["ab"], "ab", {"ab": "c"}, [7]])
def test_a_text_of_two_letters_is_no_pair(translator: Translator, pairs: Any) -> None:
    with pytest.raises(ConfigError, match=r"a pair is a (str|int); give a source and its target, not"):
        list(translator.score_pairs(pairs))


@pytest.mark.parametrize("pair", [("a",), ("a", "b", "c")])
def test_a_pair_has_two_sides(translator: Translator, pair: Any) -> None:
    with pytest.raises(ConfigError, match=rf"a pair is {re.escape(repr(pair))}; give a source and its target"):
        list(translator.score_pairs([pair]))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_what_is_no_stop_flag_is_refused(exported_bundle: Path, engine: str) -> None:
    translator, stop = Translator.load(exported_bundle, engine=engine, threads=1), False
    with pytest.raises(ConfigError, match=r"stop is a bool; give a yiwen\.stop\.StopFlag, or None, not False"):
        translator.translate(["Deti."], stop=stop)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"stop is a bool; give a yiwen\.stop\.StopFlag, or None, not False"):
        list(translator.translate_lines([b"Deti."], stop=stop))  # type: ignore[arg-type]


@pytest.mark.parametrize("ensemble", ["runs/x", None, 7, Path("runs/x")])
def test_an_ensemble_is_a_list_of_folders(tiny_run: TinyRun, ensemble: Any) -> None:
    with pytest.raises(ConfigError, match=r"ensemble is a .*; give a list of folders, not "):
        Translator.load(tiny_run.best, ensemble=ensemble)


@pytest.mark.parametrize("folder", [None, 7, b"runs/x", ["runs/x"]])
def test_what_is_no_path_is_no_model(folder: Any) -> None:
    with pytest.raises(ConfigError, match=r"folder is a .*; give the path of a bundle or a run, not "):
        Translator.load(folder)


@pytest.mark.parametrize("skipped", [set(), (), {}])
def test_lines_that_are_skipped_are_kept_in_a_list(translator: Translator, skipped: Any) -> None:
    with pytest.raises(ConfigError, match=r"^skipped is a (set|tuple|dict); give a list, or None, not "):
        translator.score(["a"], ["b"], skipped=skipped)


@pytest.mark.parametrize("first_line", ["x", None, 1.5, True])
def test_a_number_of_a_line_is_a_number(translator: Translator, first_line: Any) -> None:
    with pytest.raises(ConfigError, match=r"first_line is a .*; give the number of a line, not "):
        translator.score(["a"], ["b"], first_line=first_line)


def test_a_flag_that_is_none_is_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"stop is a bool; give a yiwen\.stop\.StopFlag, or None, not True"):
        translator.translate(["a"], stop=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_no_device_is_no_device(tiny_run: TinyRun, exported_bundle: Path, engine: str) -> None:
    nothing: Any = None
    with pytest.raises(ConfigError, match="device=None is unknown"):
        Translator.load(exported_bundle if engine == "ctranslate2" else tiny_run.best, engine=engine, device=nothing)


def test_a_translator_shows_what_it_is(translator: Translator, tiny_run: TinyRun) -> None:
    assert repr(translator) == f"Translator({str(tiny_run.best)!r}: en -> de, torch float32 on cpu)"
