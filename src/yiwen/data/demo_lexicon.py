"""The lexicon of the demo grammar: people, things, places and verbs, grouped by what may be said of them.

The lists of words are in demo_lexicon.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from yiwen.data.demo_words import Filler, adjectives, nouns, person, phrase, phrases, verb

_LISTS: Final[dict[str, str]] = {
    name: ",".join(rows)
    for name, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}

PRONOUNS = (
    person("I", "我", obj="me", poss="my", be="am"),
    person("you", "你", poss="your", be="are"),
    person("he", "他", obj="him", poss="his"),
    person("she", "她", obj="her", poss="her"),
    person("we", "我们", obj="us", poss="our", be="are"),
    person("they", "他们", obj="them", poss="their", be="are"),
)
NAMES = tuple(person(name.name, name.zh[""][0][0]) for name in phrases(_LISTS["names"]))
RELATIVES = tuple(
    person(f"my/o {en}", f"我/o {zh}", poss=f"my/o {en}'s")
    for en, zh in (pair.replace("_", " ").rsplit(" ", 1) for pair in _LISTS["relatives"].split(","))
)
OTHERS = tuple(
    person(f"~the {who.name}", who.zh[""][0][0])
    for who in phrases("doctor 医生,teacher 老师,manager 经理,driver 司机,nurse 护士")
)
JOBS = nouns(_LISTS["jobs"])
PEOPLE = NAMES + PRONOUNS * 3 + RELATIVES * 2 + OTHERS
THIRD_PERSONS = NAMES + RELATIVES + OTHERS

BOOKS = nouns(_LISTS["books"])
FRUIT = nouns(_LISTS["fruit"])
CLOTHES = nouns(_LISTS["clothes"])
DEVICES = nouns(_LISTS["devices"])
SMALL_THINGS = nouns(_LISTS["small_things"])
FURNITURE = nouns(_LISTS["furniture"])
VEHICLES = nouns(_LISTS["vehicles"])
ANIMALS = nouns(_LISTS["animals"])
DRINKS_BY_CUP = nouns(_LISTS["drinks_by_cup"])
FOOD_BY_BOWL = nouns(_LISTS["food_by_bowl"])
GROWN = nouns(_LISTS["grown"])
PLANTS = nouns(_LISTS["plants"])

DRINKS = phrases(_LISTS["drinks"])
DISHES = phrases(_LISTS["dishes"])
FRUITS = phrases(_LISTS["fruits"])
READING = phrases(_LISTS["reading"])
LANGUAGES = phrases(_LISTS["languages"])
BALL_GAMES = phrases(_LISTS["ball_games"])
INSTRUMENTS = phrases(_LISTS["instruments"])
MEDIA = phrases(_LISTS["media"])
MUSIC = phrases(_LISTS["music"])
SKILLS = phrases(_LISTS["skills"])
MEANS_OF_TRAVEL = phrases(_LISTS["means_of_travel"])
EVENTS = phrases(_LISTS["events"])
COLOURS = phrases(_LISTS["colours"])
WEATHER = phrases(_LISTS["weather"])
BAD_WEATHER = phrases(_LISTS["bad_weather"])
SEASONS = phrases(_LISTS["seasons"])

# Verbs with what they are said of in general (I drink tea, 我喝茶): the two are chosen together.
VERBS_AND_OBJECTS: tuple[tuple[Filler, Iterable[Filler]], ...] = (
    (verb("drink", "喝", past="drank"), DRINKS),
    (verb("eat", "吃", past="ate"), DISHES + FRUITS),
    (verb("buy", "买", past="bought"), DRINKS + DISHES + FRUITS + READING[:4]),
    (verb("sell", "卖", past="sold"), DRINKS + DISHES + FRUITS + READING[:4]),
    (verb("cook", "做"), DISHES),
    (verb("read", "看", past="read"), READING),
    (verb("write", "写", past="wrote"), READING[3:]),
    (verb("learn", "学"), LANGUAGES + INSTRUMENTS),
    (verb("teach", "教", past="taught"), LANGUAGES + INSTRUMENTS),
    (verb("speak", "说", past="spoke"), LANGUAGES),
    (verb("play", "打"), BALL_GAMES),
    (verb("play", "踢"), phrases("football 足球")),
    (verb("play", "弹"), INSTRUMENTS[:2]),
    (verb("watch", "看"), MEDIA),
    (verb("listen to", "听"), MUSIC),
)
_IN_ROOMS = ("drink", "eat", "read", "write", "learn", "watch", "listen to")
VERBS_IN_ROOMS = tuple((act, objects) for act, objects in VERBS_AND_OBJECTS if act.name in _IN_ROOMS)
LIKED = DRINKS + DISHES + FRUITS + READING[:4] + LANGUAGES + BALL_GAMES + MEDIA[:1] + MUSIC[:1]

# Verbs with things that are counted (she bought two books, 她买了两本书).
_PORTABLE = BOOKS + CLOTHES + DEVICES + SMALL_THINGS
VERBS_AND_THINGS: tuple[tuple[Filler, Iterable[Filler]], ...] = (
    (verb("buy", "买", past="bought"), _PORTABLE + FRUIT + FURNITURE + VEHICLES + DRINKS_BY_CUP + ANIMALS),
    (verb("sell", "卖", past="sold"), _PORTABLE + FRUIT + FURNITURE + VEHICLES + ANIMALS),
    (verb("lose", "丢", past="lost"), _PORTABLE),
    (verb("borrow", "借"), BOOKS + DEVICES + SMALL_THINGS[:4] + VEHICLES + FURNITURE[3:]),
    (verb("see", "看到", past="saw", ing="seeing"), ANIMALS + VEHICLES + GROWN[:3] + PLANTS),
    (verb("find", "找到", past="found"), _PORTABLE + ANIMALS),
    (verb("repair", "修好"), DEVICES + VEHICLES + FURNITURE),
    (verb("drink", "喝", past="drank"), DRINKS_BY_CUP),
    (verb("eat", "吃", past="ate"), FRUIT + FOOD_BY_BOWL[:2]),
    (verb("order", "点"), DRINKS_BY_CUP + FOOD_BY_BOWL),
    (verb("draw", "画", past="drew"), ANIMALS + PLANTS + FRUIT + VEHICLES),
)
GIFTS = BOOKS + CLOTHES + DEVICES + SMALL_THINGS + FRUIT
GOODS = BOOKS + CLOTHES[:7] + DEVICES + SMALL_THINGS[:11] + FURNITURE + VEHICLES
OWNED = GOODS + ANIMALS
_DRY_GOODS = SMALL_THINGS[:11]
SHOPS_AND_GOODS: tuple[tuple[Filler, Iterable[Filler]], ...] = tuple(
    zip(
        phrases("bookshop 书店,market 市场,supermarket 超市,department_store 百货商店,airport 机场,station 车站"),
        (BOOKS, CLOTHES + FRUIT + _DRY_GOODS, FRUIT + DRINKS_BY_CUP[4:] + _DRY_GOODS, CLOTHES + DEVICES + _DRY_GOODS,
         BOOKS + CLOTHES + DEVICES, BOOKS + FRUIT + DRINKS_BY_CUP),
        strict=True,
    )
)  # fmt: skip

CITIES = phrases(_LISTS["cities"])
PLACES = phrases(_LISTS["places"])
ROOMS = phrases(_LISTS["rooms"])
_SPOTS = "table 桌子,bed 床,chair 椅子,sofa 沙发,desk 书桌,basket 篮子,car 汽车,door 门,window 窗户,tree 树"
SPOTS = tuple(
    phrase(f"{en}/p ~the {thing.name}", f"{thing.zh[''][0][0]} {where}/p")
    for en, where, things in (
        ("on", "上", phrases(_SPOTS)[:5]), ("under", "下面", phrases(_SPOTS)[:7] + phrases(_SPOTS)[9:]),
        ("in", "里", phrases("basket 篮子,car 汽车,suitcase 行李箱,room 房间,drawer 抽屉,cupboard 柜子")),
        ("behind", "后面", phrases(_SPOTS)[2:]), ("next/p to", "旁边", phrases(_SPOTS)),
    )
    for thing in things
)  # fmt: skip

ADJECTIVES_OF_PEOPLE = adjectives(_LISTS["adjectives_of_people"])
ADJECTIVES_OF_CITIES = adjectives(_LISTS["adjectives_of_cities"])
ADJECTIVES_OF_THINGS = adjectives(_LISTS["adjectives_of_things"])
