"""What can fill the slots of the demo grammar's rules, by the names that the rules use for it.

The rules are in demo_rules.toml: what people do (daily life, shopping, gifts, travel, skills) and how things are
(prices, numbers, times, weather, comparisons, places).
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

from yiwen.data import demo_lexicon as lexicon
from yiwen.data import demo_times as times
from yiwen.data.demo_grammar import Chooser, Rule, drawn, one_of, one_pair, pair_with_count, rule, some, two_of
from yiwen.data.demo_lexicon import listed
from yiwen.data.demo_words import Filler, columns, made_of, noun, number, phrase, verb

_TABLE: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, compiled once. Each is drawn as often: a topic with more to say has more of them."""
    choosers = _choosers()
    choosers |= {name: one_of(listed(*lists)) for name, lists in _TABLE["one_of"].items()}
    choosers |= {name: two_of(*map(listed, two)) for name, two in _TABLE["two_of"].items()}
    choosers |= {name: some(listed(*lists), _TABLE["counts"][n]) for name, (n, *lists) in _TABLE["some"].items()}
    choosers |= {name: one_of(map(number, range(*span))) for name, span in _TABLE["numbers"].items()}
    return tuple(
        rule(topic, en, zh, {slots: choosers[name] for slots, name in chosen_by.items()}, combine=combine)
        for topic, en, zh, chosen_by, combine in _TABLE["rules"]
    )


def _choosers() -> dict[str, Chooser]:
    buildings = tuple(noun(place.name, place.chinese, "座") for place in listed("places") if place.name != "beach")
    contents = [(noun(*columns(place)), made_of(things, noun)) for place, things in _TABLE["contents"].items()]
    clock_times = {part: times.clock_times(part, *row) for part, row in _TABLE["parts_of_day"].items()}
    routines = [(act, clock_times[part]) for part in clock_times for act in made_of(_TABLE["routines"][part], verb)]
    few = partial(drawn, choices=_TABLE["counts"]["few"])
    return {
        # what they do
        "act": one_pair(lexicon.VERBS_AND_OBJECTS),
        "act indoors": one_pair(lexicon.VERBS_IN_ROOMS),
        "act on some things": pair_with_count(lexicon.VERBS_AND_THINGS, few),
        "routine": one_of(act for act, _ in routines),
        "routine and time": one_pair(routines),
        "what one wants to do": one_of(act for act, _ in lexicon.VERBS_AND_OBJECTS if act.name in _TABLE["wishes"]),
        # things and places
        "place and what it has": one_pair(contents),
        "place and its number": pair_with_count(contents, _amount),
        "two buildings": two_of(buildings, buildings),
        "shop": one_of(shop for shop, _ in lexicon.SHOPS_AND_GOODS),
        "shop and some goods": pair_with_count(lexicon.SHOPS_AND_GOODS, few),
        # numbers and times
        "bus line": one_of(phrase(str(line), str(line)) for line in range(1, 400)),
        "distance": lambda rng: (number(_amount(rng)),),
        "sum of money": lambda rng: (_sum_of_money(rng),),
        "time of day": one_of(time for part in clock_times.values() for time in part),
    }


def _sum_of_money(rng: Random) -> Filler:
    """Two hundred and thirty-seven yuan, 二百三十七元."""
    currencies = _TABLE["currencies"]
    en, zh = currencies[int(rng.random() ** 2 * len(currencies))]
    amount = number(_amount(rng))
    unit = en if en == "yuan" else f"{en}s"
    forms = {"": (*amount.en[""], (unit, "c"))}, {"": (*amount.zh[""], (zh, "c"))}
    return Filler(amount.name, *forms, combinations=((amount.name, en), *amount.combinations))


def _amount(rng: Random) -> int:
    """Mostly two and three digits, sometimes four and five."""
    low, high = drawn(rng, _TABLE["sizes"])
    value: int = low + int(rng.random() * (high - low + 1))
    return value if value < 1000 or rng.random() < 0.5 else value // 100 * 100
