"""Asking the engine: most stretches in one search; single words and those with terms by rules of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from yiwen.engines.engine import Engine, FindsTerms, Ids, Sentences
from yiwen.errors import ConfigError
from yiwen.evaluation.review import by_rules
from yiwen.plan import Stretch
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.languages import UNSPACED, base
from yiwen.text.subword import Subword


def ask(
    engine: Engine,
    asked: Sequence[Stretch],
    forced: Sentences | None,
    config: SearchConfig,
    *,
    words: Set[int],
    lacking: Callable[[Stretch, Hypothesis], list[Ids]],
    finder: Callable[[], FindsTerms] | None,
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
        lacking: The terms that a translation has to hold, where it does not hold them all; else none.
        finder: Gives the engine that is asked again with the terms that are lacking.
        with_scores, stop: As for the engine.
    """
    found: dict[int, list[Hypothesis]] = {}

    def prefixes(places: list[int]) -> list[Ids] | None:
        return None if forced is None else [forced[i] for i in places]

    for places, rules in by_rules(range(len(asked)), words, config):
        ids, starts = [asked[i].ids for i in places], prefixes(places)
        groups = engine.search(ids, config=rules, prefixes=starts, with_scores=with_scores, stop=stop)
        found |= zip(places, groups, strict=True)
    # Most translations hold their terms without being told.
    wanted = {i: terms for i, stretch in enumerate(asked) if (terms := lacking(stretch, found[i][0]))}
    if wanted and finder is not None:
        again, starts = [asked[i].ids for i in wanted], prefixes([*wanted])
        groups = finder().search_terms(again, [*wanted.values()], config=config, prefixes=starts, stop=stop)
        found |= zip(wanted, groups, strict=True)
    return [found[i] for i in range(len(asked))]


def forced_ids(
    texts: Sequence[str], plans: list[list[Stretch]], prefixes: Sequence[str], *, subword: Subword, room: int
) -> list[list[int]]:
    """Subwords that the translation of each stretch must start with: for the first of a text, if any.

    Raises:
        ConfigError: If a prefix is longer than `room`, or belongs to a text of several lines.
    """
    forced: list[list[int]] = []
    for text, stretches, prefix in zip(texts, plans, prefixes, strict=True):
        (ids,) = subword.encode([prefix])
        if ids and "\n" in text:
            n_lines = text.count("\n") + 1
            raise ConfigError(f"the prefix {prefix!r} belongs to a text of {n_lines} lines; use one line")
        if len(ids) > room:
            raise ConfigError(
                f"the prefix {prefix[:40]!r} has {len(ids)} subwords, the model has positions for {room}; shorten it"
            )
        forced += [[] if number else ids for number in range(sum(bool(stretch.ids) for stretch in stretches))]
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
