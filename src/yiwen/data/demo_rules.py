"""What may stand in the slots of the demo grammar's rules, by the names that these have for it.

The rules are in demo_rules.toml: what people do (daily life, shopping, gifts, travel, skills) and how things are
(prices, numbers, times, weather, comparisons, places).
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from yiwen.data import demo_lexicon as lexicon
from yiwen.data import demo_times as times
from yiwen.data.demo_grammar import Chooser, Rule, made_by, one_of, one_pair, pair_with_count, rule, some, two_of
from yiwen.data.demo_words import Filler, counted, noun, nouns, number, person, phrase, phrases, verb

_FEW: Final = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
_SEVERAL: Final = (2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
_SIZES: Final = ((21, 99),) * 3 + ((100, 999),) * 4 + ((1000, 9999),) * 2 + ((10_000, 99_999),)
_CURRENCIES: Final = (("yuan", "元"), ("dollar", "美元"), ("pound", "英镑"), ("euro", "欧元"))
_WISHES: Final = ("drink", "eat", "buy", "read", "learn", "cook")
_ROUTINES: Final = (
    ("morning", "get_up 起床,have_breakfast 吃早饭,go_to_work 去上班,go_to_school 去上学"),
    ("afternoon", "finish_work 下班,go_for_a_walk 去散步,come_home 回家"),
    ("evening", "have_dinner 吃晚饭,go_to_bed 睡觉,take_a_shower 洗澡"),
)
_PASTS: Final = {"get": "got", "have": "had", "go": "went", "take": "took", "come": "came", "finish": "finished"}
_CONTENTS: Final = (
    ("school 学校 所", "student 学生 个,teacher 老师 位"),
    ("factory 工厂 家", "worker 工人 个"),
    ("hospital 医院 家", "doctor 医生 位,nurse 护士 位,bed 床 张"),
    ("hotel 酒店 家", "room 房间 个"),
    ("library 图书馆 座", "book 书 本,magazine 杂志 本,newspaper 报纸 份"),
    ("garden 花园 座", "tree 树 棵,flower 花 朵"),
    ("village 村子 个", "house 房子 栋,shop 商店 家"),
)


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, compiled once. Each is drawn as often: a topic with more to say has more of them."""
    choosers = _choosers()
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(
        rule(topic, en, zh, {slots: choosers[name] for slots, name in chosen_by.items()}, combine=combine)
        for topic, en, zh, chosen_by, combine in table["rules"]
    )


def _choosers() -> dict[str, Chooser]:
    past, dates = times.past_times(), times.dates()
    movable = lexicon.BOOKS + lexicon.SMALL_THINGS + lexicon.DEVICES
    speech = tuple(phrase(f"speak/s {lang.name}", f"说/s {lang.zh[''][0][0]}") for lang in lexicon.LANGUAGES)
    buildings = tuple(noun(place.name, place.zh[""][0][0], "座") for place in lexicon.PLACES if place.name != "beach")
    contents = one_pair((noun(*place.split()), nouns(things)) for place, things in _CONTENTS)
    routines = tuple(
        (verb(act.name, act.zh[""][0][0], past=_PASTS[act.name.split()[0]]), times.clock_times(part))
        for part, acts in _ROUTINES
        for act in phrases(acts)
    )

    def contents_counted(rng: Random) -> tuple[Filler, ...]:
        place, thing = contents(rng)
        return place, counted(_amount(rng), thing)

    return {
        # people
        "anyone": one_of(lexicon.PEOPLE),
        "anyone evenly": one_of(lexicon.THIRD_PERSONS + lexicon.PRONOUNS),
        "two people": two_of(lexicon.PEOPLE, lexicon.THIRD_PERSONS),
        "two others": two_of(lexicon.THIRD_PERSONS, lexicon.THIRD_PERSONS),
        "worker": one_of(lexicon.NAMES + lexicon.RELATIVES),
        "job": some(lexicon.JOBS, (1,)),
        "skill": one_of(lexicon.SKILLS + speech),
        "quality of people": one_of(lexicon.ADJECTIVES_OF_PEOPLE),
        # what they do
        "act": one_pair(lexicon.VERBS_AND_OBJECTS),
        "act indoors": one_pair(lexicon.VERBS_IN_ROOMS),
        "act on some things": pair_with_count(lexicon.VERBS_AND_THINGS, _FEW),
        "routine": one_of(act for act, _ in routines),
        "routine and time": one_pair(routines),
        "want": one_of([verb("want", "想")]),
        "what one wants to do": one_of(act for act, _ in lexicon.VERBS_AND_OBJECTS if act.name in _WISHES),
        "like": one_of([verb("like", "喜欢")]),
        "what one likes": one_of(lexicon.LIKED),
        # things
        "thing": one_of(movable),
        "one thing": some(movable + lexicon.ANIMALS[:7], (1,)),
        "several things": some(movable + lexicon.ANIMALS[:7], _SEVERAL),
        "thing or place": one_of(movable + lexicon.PLACES),
        "article": one_of(lexicon.GOODS),
        "two articles": two_of(lexicon.GOODS, lexicon.GOODS),
        "some articles": some(lexicon.GOODS, _FEW),
        "several articles": some(lexicon.GOODS, _SEVERAL),
        "some gifts": some(lexicon.GIFTS, _FEW),
        "what one orders": some(lexicon.DRINKS_BY_CUP + lexicon.FOOD_BY_BOWL + lexicon.GIFTS, _FEW),
        "possession": one_of(lexicon.OWNED),
        "some possessions": some(lexicon.OWNED, _FEW),
        "this or that": one_of([person("this", "这"), person("that", "那")]),
        "quality of things": one_of(lexicon.ADJECTIVES_OF_THINGS),
        "colour": one_of(lexicon.COLOURS),
        # places
        "place": one_of(lexicon.PLACES),
        "place and what it has": contents,
        "place and its number": contents_counted,
        "two buildings": two_of(buildings, buildings),
        "room": one_of(lexicon.ROOMS),
        "spot": one_of(lexicon.SPOTS),
        "shop": one_of(shop for shop, _ in lexicon.SHOPS_AND_GOODS),
        "shop and some goods": pair_with_count(lexicon.SHOPS_AND_GOODS, _FEW),
        "city": one_of(lexicon.CITIES),
        "two cities": two_of(lexicon.CITIES, lexicon.CITIES),
        "quality of cities": one_of(lexicon.ADJECTIVES_OF_CITIES),
        "means of travel": one_of(lexicon.MEANS_OF_TRAVEL),
        # weather
        "weather": one_of(lexicon.WEATHER),
        "bad weather": one_of(lexicon.BAD_WEATHER),
        "rain or snow": one_of((verb("rain", "下雨"), verb("snow", "下雪"))),
        # numbers
        "age": one_of(map(number, range(3, 100))),
        "years older": one_of(map(number, range(2, 31))),
        "years lived": one_of(map(number, range(2, 41))),
        "degrees": one_of(map(number, range(2, 42))),
        "bus line": one_of(phrase(str(line), str(line)) for line in range(1, 400)),
        "distance": made_by(lambda rng: number(_amount(rng))),
        "sum of money": made_by(_sum_of_money),
        # times
        "past": one_of(past),
        "yesterday": one_of(past[:1]),
        "future": one_of(times.future_times()),
        "how often": one_of(phrases("often 经常,always 总是,sometimes 有时候,never 从来不")),
        "habit": one_of(times.HABITS),
        "every day": one_of(times.HABITS[:1]),
        "every day or on a weekday": one_of((*times.HABITS[:1], *times.ON_WEEKDAY)),
        "day": one_of(dates + times.ON_WEEKDAY),
        "date": one_of(dates),
        "month": one_of(times.MONTH_NAMES),
        "season or month": one_of(lexicon.SEASONS + times.MONTH_NAMES),
        "year": one_of(times.years()),
        "time of day": one_of(time for part, _ in _ROUTINES for time in times.clock_times(part)),
        "event": one_of(lexicon.EVENTS),
    }


def _sum_of_money(rng: Random) -> Filler:
    en, zh = _CURRENCIES[int(rng.random() ** 2 * len(_CURRENCIES))]
    return times.price(_amount(rng), en, zh)


def _amount(rng: Random) -> int:
    """Mostly two and three digits, sometimes four and five."""
    low, high = _SIZES[int(rng.random() * len(_SIZES))]
    value = low + int(rng.random() * (high - low + 1))
    return value if value < 1000 or rng.random() < 0.5 else value // 100 * 100
