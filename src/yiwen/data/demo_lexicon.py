"""The lexicon of the demo grammar: people, things, places and verbs, grouped by what may be said of them.

The words are in demo_lexicon.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from yiwen.data import demo_times as times
from yiwen.data.demo_words import Filler, adjective, columns, made_of, noun, person, phrase, verb

_TABLE: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

Acts = tuple[tuple[Filler, tuple[Filler, ...]], ...]
"""What is done, or where, each with what it may be done to."""

_MAKERS: Final[dict[str, Callable[..., Filler]]] = {
    "people": person,
    "nouns": noun,
    "phrases": phrase,
    "verbs_alone": verb,
    "adjectives": adjective,
}
LISTS: Final = {name: made_of(rows, make) for kind, make in _MAKERS.items() for name, rows in _TABLE[kind].items()}
"""Every list of words by its name."""


def listed(*parts: str) -> tuple[Filler, ...]:
    """Lists one after the other, whole or sliced as in Python: `listed("books", "drinks[:4]")`."""
    found: list[Filler] = []
    for part in parts:
        name, *bounds = re.fullmatch(r"(\w+)(?:\[(\d*):(\d*):?(\d*)\])?", part).groups()  # type: ignore[union-attr]
        found += LISTS[name][slice(*(int(bound) if bound else None for bound in bounds))]
    return tuple(found)


def _acts(rows: list[Any]) -> Acts:
    return tuple((verb(en, zh, past=past, ing=ing), listed(*parts)) for en, zh, past, ing, parts in rows)


LISTS.update(months=times.months(), dates=times.dates(), years=times.years())
for _name, _parts in _TABLE["joined"].items():
    LISTS[_name] = listed(*_parts)

VERBS_AND_OBJECTS, VERBS_AND_THINGS = _acts(_TABLE["verbs"]["and_objects"]), _acts(_TABLE["verbs"]["and_things"])
VERBS_IN_ROOMS = tuple((act, objects) for act, objects in VERBS_AND_OBJECTS if act.name in _TABLE["verbs"]["in_rooms"])
SHOPS_AND_GOODS: Acts = tuple((phrase(*columns(shop)), listed(*parts)) for shop, parts in _TABLE["shops"].items())
LISTS["places_in"] = tuple(
    phrase(f"{en}/p ~the {thing.name}", f"{thing.chinese} {where}/p")
    for en, where, parts in _TABLE["places_in"]["rows"]
    for thing in listed(*parts)
)
