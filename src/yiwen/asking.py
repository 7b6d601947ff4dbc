"""Asking the engine: most stretches in one search; single words and those with terms by rules of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set

from yiwen.engines.engine import Engine, FindsTerms, Ids, Sentences
from yiwen.errors import ConfigError
from yiwen.evaluation.review import by_rules, prefixes_of
from yiwen.plan import Stretch
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.languages import UNSPACED, base
from yiwen.text.reading import Reader, Reading, begun, in_usual_case
from yiwen.text.subword import Subword


def ask(
    engine: Engine,
    asked: Sequence[Stretch],
    forced: Sentences | None,
    config: SearchConfig,
    *,
    words: Set[int],
    with_scores: bool,
    stop: StopFlag | None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each stretch, best first.

    Args:
        engine: What computes.
        asked: What is to be translated.
        forced: What each translation must start with.
        config: Search rules.
        words: Places of the single words in it, as for `by_rules`.
        with_scores, stop: As for the engine.
    """
    found: dict[int, list[Hypothesis]] = {}
    for places, rules in by_rules(range(len(asked)), words, config):
        ids, starts = [asked[i].ids for i in places], prefixes_of(places, forced)
        groups = engine.search(ids, config=rules, prefixes=starts, with_scores=with_scores, stop=stop)
        found |= zip(places, groups, strict=True)
    return [found[i] for i in range(len(asked))]


def ask_for_terms(
    finder: Callable[[], FindsTerms] | None,
    asked: Sequence[Stretch],
    found: list[list[Hypothesis]],
    forced: Sentences | None,
    config: SearchConfig,
    *,
    reader: Reader,
    target: Subword,
    stop: StopFlag | None,
) -> dict[int, list[Hypothesis]]:
    """The same, by place, for translations that lack terms, found by a search that is told of these; most lack none.

    Args:
        finder: Gives the engine that is told, where one is needed; None for none.
        asked, forced, config, stop: As for `ask`.
        found: What came of it.
        reader: How the stretches were read; knows the terms.
        target: Target subwords.
    """
    wanted: dict[int, list[Ids]] = {}
    for i, stretch in enumerate(asked):
        reading = stretch.reading
        terms = [term for term in reading.terms if term not in reading.kept]  # what a symbol stands for is there anyway
        if terms and reader.lacks_term(reading, target.decode([found[i][0].ids])[0]):
            wanted[i] = [term_ids(reader.to_write(term), target, reader.model_lang) for term in terms]
    if finder is None or not wanted:
        return {}
    ids, starts = [asked[i].ids for i in wanted], prefixes_of(wanted, forced)
    groups = finder().search_terms(ids, [*wanted.values()], config=config, prefixes=starts, stop=stop)
    return dict(zip(wanted, groups, strict=True))


def forced_ids(
    texts: Sequence[str], plans: list[list[Stretch]], prefixes: Sequence[str], *, subword: Subword, lang: str, room: int
) -> list[list[int]]:
    """Subwords that the translation of each stretch must start with: for the first of a text, if any.

    What becomes capitals after the search is searched for in usual case, as the model writes it, and what a symbol
    stands for in the source is the symbol here, or the model would write it once more.

    Raises:
        ConfigError: If a prefix is longer than `room`, or belongs to a text of several lines.
    """
    forced: list[list[int]] = []
    for text, stretches, prefix in zip(texts, plans, prefixes, strict=True):
        reading = stretches[0].reading if prefix else Reading("")
        start = in_usual_case(prefix, subword, lang) if reading.is_capitals else prefix
        for number, span in enumerate(reading.kept):
            first = begun(span, lang) if reading.begins_large and span in reading.terms else span
            start = re.sub(rf"(?<!\w){re.escape(span)}(?!\w)|\A{re.escape(first)}(?!\w)", f"⟦{number}⟧", start)
        (ids,) = subword.encode([start])
        if ids and "\n" in text:
            n_lines = text.count("\n") + 1
            raise ConfigError(f"the prefix {prefix!r} belongs to a text of {n_lines} lines; use one line")
        if len(ids) > room:
            rule = f"the model has positions for {room}; shorten it"
            raise ConfigError(f"the prefix {prefix[:40]!r} has {len(ids)} subwords, {rule}")
        n_asked = sum(bool(stretch.ids) for stretch in stretches)
        forced += [[] if number else ids for number in range(n_asked)]
    return forced


def term_ids(term: str, subword: Subword, tgt_lang: str) -> Ids:
    """Subwords of a term as they stand inside of a sentence.

    >>> term_ids("头发", subword, "zh")  # doctest: +SKIP
    (1234,)
    """
    if base(tgt_lang) not in UNSPACED:
        return tuple(subword.encode([term])[0])
    before, after = subword.encode(["、", f"、{term}"])  # a mark that no word begins with
    return tuple(after[len(before) :] if after[: len(before)] == before else subword.encode([term])[0])
