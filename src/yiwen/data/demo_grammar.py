"""A synchronous grammar of English and Chinese: one derivation gives a sentence of each and the words that correspond.

A rule is a pair of patterns with the same slots (Lewis and Stearns 1968; Chiang 2007 calls it a synchronous
context-free grammar). In a pattern, `{n}` is the plain form of the filler of slot n, `{n.pl}` its form "pl", `{v:p}`
the present tense of verb v that agrees with the subject p. A literal word is `word` or, linked to the words of the
same label on the other side, `word/x`; `{p.was}/x` links a form to a literal in the same way.

    {p} bought/v {np} {t}        she bought two books yesterday
    {p} {t} 买/v 了/v {np}        她昨天买了两本书
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import TypeVar

from yiwen.data.demo_words import Filler, counted, words

T = TypeVar("T")
Chooser = Callable[[Random], tuple[Filler, ...]]
"""Chooses the fillers of one slot, or of several that depend on each other."""

_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::(\w+))?\}(?:/(\w+))?")
_CLOSED_UP = frozenset(",.?")  # no space before them in English
_FULL_WIDTH = {".": "。", "?": "？"}


@dataclass(frozen=True, slots=True)
class DemoPair:
    """A sentence pair with its gold word alignment.

    Spans are character offsets [start, end) of the words of each side, punctuation marks included; they cover every
    character but the spaces. `alignment` holds (index into src_spans, index into tgt_spans), sorted; a word without a
    counterpart (English "the") is in no link, and a word with several is in several.
    """

    src: str
    tgt: str
    alignment: tuple[tuple[int, int], ...]
    src_spans: tuple[tuple[int, int], ...]
    tgt_spans: tuple[tuple[int, int], ...]
    topic: str
    """What the rule is about: shopping, time, ..."""
    combinations: tuple[tuple[str, ...], ...]
    """The combinations of words that it takes part in, such as (drink, tea) or (three, book): what is held out."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One element of a pattern: a literal word (slot is empty) or a form of a slot's filler."""

    slot: str
    form: str
    agrees_with: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A pair of patterns, made by `rule`."""

    topic: str
    en: tuple[_Part, ...]
    zh: tuple[_Part, ...]
    slots: tuple[tuple[tuple[str, ...], Chooser], ...]
    combine: tuple[tuple[str, ...], ...]


def rule(topic: str, en: str, zh: str, slots: Mapping[str, Chooser], *, combine: Iterable[str] = ()) -> Rule:
    """Compile a rule from the notation above.

    Args:
        topic: What it is about.
        en: English pattern, ending in "." or "?" as a word of its own.
        zh: Chinese pattern without the final mark, words apart.
        slots: Slot name, or several names with spaces between, to what chooses the fillers.
        combine: Slots whose fillers together form a combination, names with spaces between.
    """
    end = en[-1]
    en_parts = (*_parts(en[:-1]), _Part("", end, "", "end"))
    zh_parts = (*_parts(zh), _Part("", _FULL_WIDTH[end], "", "end"))
    choosers = tuple((tuple(names.split()), chooser) for names, chooser in slots.items())
    return Rule(topic, en_parts, zh_parts, choosers, tuple(tuple(names.split()) for names in combine))


def drawn(rng: Random, choices: Sequence[T]) -> T:
    """One of them, each as likely. Of `Random` only `random` is promised to give the same numbers in every Python."""
    return choices[int(rng.random() * len(choices))]


def one_of(fillers: Iterable[Filler]) -> Chooser:
    """Choose one, each as likely."""
    choices = tuple(fillers)
    return lambda rng: (drawn(rng, choices),)


def one_pair(groups: Iterable[tuple[Filler, Iterable[Filler]]]) -> Chooser:
    """Choose a verb and one of its objects, each pair as likely."""
    choices = [(first, second) for first, seconds in groups for second in seconds]
    return lambda rng: drawn(rng, choices)


def two_of(first: Sequence[Filler], second: Sequence[Filler]) -> Chooser:
    """Choose one of each, never the same word twice."""

    def choose(rng: Random) -> tuple[Filler, ...]:
        while True:
            one, other = drawn(rng, first), drawn(rng, second)
            if one.name != other.name:
                return one, other

    return choose


def some(nouns: Iterable[Filler], counts: Sequence[int]) -> Chooser:
    """Choose a noun and how many of it."""
    choices = tuple(nouns)
    return lambda rng: (counted(drawn(rng, counts), drawn(rng, choices)),)


def pair_with_count(groups: Iterable[tuple[Filler, Iterable[Filler]]], count: Callable[[Random], int]) -> Chooser:
    """Choose a verb, one of its objects and how many of it."""
    pair = one_pair(groups)

    def choose(rng: Random) -> tuple[Filler, ...]:
        first, second = pair(rng)
        return first, counted(count(rng), second)

    return choose


def derive(chosen: Rule, rng: Random) -> DemoPair:
    """One random derivation of a rule."""
    fillers: dict[str, Filler] = {}
    for names, chooser in chosen.slots:
        fillers.update(zip(names, chooser(rng), strict=True))
    src, src_spans, src_labels = _rendered(chosen.en, fillers, is_english=True)
    tgt, tgt_spans, tgt_labels = _rendered(chosen.zh, fillers, is_english=False)
    pairs = product(enumerate(src_labels), enumerate(tgt_labels))
    links = tuple((i, j) for (i, label), (j, other) in pairs if label is not None and other == label)
    found = [combination for filler in fillers.values() for combination in filler.combinations]
    found += [tuple([fillers[name].name for name in names]) for names in chosen.combine]
    return DemoPair(src, tgt, links, tuple(src_spans), tuple(tgt_spans), chosen.topic, tuple(found))


def _parts(pattern: str) -> list[_Part]:
    parts = []
    for token in pattern.split():
        if match := _SLOT.fullmatch(token):
            slot, form, agrees_with, label = match.groups()
            parts.append(_Part(slot, form or "", agrees_with or "", label))
        else:
            ((word, label),) = words(token, None)
            parts.append(_Part("", word, "", label))
    return parts


def _rendered(
    parts: tuple[_Part, ...], fillers: Mapping[str, Filler], *, is_english: bool
) -> tuple[str, list[tuple[int, int]], list[object]]:
    """The text of one side, the spans of its words and their labels."""
    text, spans, labels = "", [], []
    for part in parts:
        for word, label in _labelled(part, fillers, is_english=is_english):
            if is_english and text and word not in _CLOSED_UP:
                text += " "
            spans.append((len(text), len(text) + len(word)))
            labels.append(label)
            text += word
    return text[0].upper() + text[1:], spans, labels


def _labelled(part: _Part, fillers: Mapping[str, Filler], *, is_english: bool) -> list[tuple[str, object]]:
    """Words of a part with labels that are unique in the sentence: a filler's own carry the name of the slot."""
    if not part.slot:
        return [(part.form, part.label)]
    filler, form = fillers[part.slot], part.form
    if part.agrees_with:
        form = "s" if fillers[part.agrees_with].is_third else ""
    found = (filler.en if is_english else filler.zh)[form]
    if part.label:
        return [(word, part.label) for word, _ in found]
    return [(word, None if label is None else (part.slot, label)) for word, label in found]
