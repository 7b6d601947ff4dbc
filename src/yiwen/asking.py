"""Asking the engine: most stretches in one search, single words and those with terms by rules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yiwen.engines.engine import Engine, FindsTerms, Ids
from yiwen.plan import Stretch
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor
from yiwen.stop import StopFlag
from yiwen.text.languages import UNSPACED, base
from yiwen.text.subword import Subword


def ask(
    engine: Engine,
    asked: Sequence[Stretch],
    forced: Sequence[Ids] | None,
    config: SearchConfig,
    *,
    terms: Sequence[Sequence[Ids]] | None,
    with_scores: bool,
    stop: StopFlag | None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each stretch, best first.

    Args:
        engine: What computes; one that finds terms, where there are any.
        asked: What is to be translated.
        forced: What each translation must start with.
        config: Search rules.
        terms: What each translation must hold.
        with_scores, stop: As for the engine.
    """
    found: list[list[Hypothesis]] = [[] for _ in asked]
    # The mean over its subwords makes a phrase better than a word, so single words are compared by their whole
    # probability: nothing is to be added to them.
    is_free = forced is None and config.beam_size > 1 and not config.sampling
    bound = [i for i in range(len(asked)) if terms and terms[i]]
    words = [i for i, stretch in enumerate(asked) if is_free and stretch.reading.is_word and i not in bound]
    others = sorted({*range(len(asked))} - {*bound, *words})
    for places, rules in ((others, config), (words, config.changed(penalty="none")), (bound, config)):
        ids = [asked[i].ids for i in places]
        prefixes = None if forced is None else [forced[i] for i in places]
        if places is bound and terms and isinstance(engine, FindsTerms):
            wanted = [terms[i] for i in bound]
            groups = engine.search_terms(ids, wanted, config=rules, prefixes=prefixes, stop=stop)
        elif places:
            groups = engine.search(ids, config=rules, prefixes=prefixes, with_scores=with_scores, stop=stop)
        else:
            groups = []
        for i, group in zip(places, groups, strict=True):
            found[i] = group
    for i in words:
        found[i] = [replace(h, score=h.log_prob / length_divisor(len(h.ids) + h.is_finished, config)) for h in found[i]]
    return found


def term_ids(term: str, subword: Subword, tgt_lang: str) -> Ids:
    """Subwords of a term as they stand inside of a sentence.

    >>> term_ids("头发", subword, "zh")  # doctest: +SKIP
    (1234,)
    """
    if base(tgt_lang) not in UNSPACED:
        return tuple(subword.encode([term])[0])
    before, after = subword.encode(["、", f"、{term}"])  # a mark that no word begins with
    is_apart = after[: len(before)] == before
    return tuple(after[len(before) :] if is_apart else subword.encode([term])[0])
