"""Rules of the demo corpus about how things are: prices, numbers, times, weather, comparisons, places."""

# A rule reads as its English over its Chinese; the formatter would make seven lines of the two.
# fmt: off

from __future__ import annotations

from random import Random

from yiwen.data import demo_lexicon as lexicon
from yiwen.data.demo_grammar import Rule, made_by, one_of, one_pair, rule, some, two_of
from yiwen.data.demo_times import (
    HABITS,
    MONTH_NAMES,
    ON_WEEKDAY,
    clock_times,
    dates,
    future_times,
    past_times,
    price,
    years,
)
from yiwen.data.demo_words import Filler, counted, noun, number, person, phrase, phrases, verb

_SEVERAL = (2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
_SIZES = ((21, 99),) * 3 + ((100, 999),) * 4 + ((1000, 9999),) * 2 + ((10_000, 99_999),)
_ANYONE = one_of(lexicon.PEOPLE)
_DEMONSTRATIVE = one_of([person("this", "这"), person("that", "那")])


def rules_of_facts() -> tuple[Rule, ...]:
    """The rules of this file."""
    return (
        *_money(), *_numbers(), *_time(), *_dates(), *_weather(), *_comparisons(), *_belongings(), *_places(),
    )


def _money() -> tuple[Rule, ...]:
    good, money = one_of(lexicon.GOODS), made_by(_sum_of_money)
    return (
        rule("question", "how/w much/w {d.be} {d}/d {n} ?",
             "{d}/d {n.m}/d {n} 多少/w 钱/w", {"d": _DEMONSTRATIVE, "n": good}),
        rule("question", "how/w much/w do these/d {np} cost/c ?",
             "这/d {np} 要/c 多少/w 钱/w", {"np": some(lexicon.GOODS, _SEVERAL)}),
        rule("money", "{d}/d {n} costs/c {m} .",
             "{d}/d {n.m}/d {n} 要/c {m}", {"d": _DEMONSTRATIVE, "n": good, "m": money}),
        rule("money", "these/d {np} cost/c {m} .",
             "这/d {np} 要/c {m}", {"np": some(lexicon.GOODS, _SEVERAL), "m": money}),
        rule("money", "{p} spent/s {m} {t} .",
             "{p} {t} 花/s 了/s {m}", {"p": _ANYONE, "m": money, "t": one_of(past_times())}),
    )


def _sum_of_money(rng: Random) -> Filler:
    en, zh = (("yuan", "元"), ("dollar", "美元"), ("pound", "英镑"), ("euro", "欧元"))[int(rng.random() ** 2 * 4)]
    return price(_amount(rng), en, zh)


def _amount(rng: Random) -> int:
    """Mostly two and three digits, sometimes four and five."""
    low, high = _SIZES[int(rng.random() * len(_SIZES))]
    value = low + int(rng.random() * (high - low + 1))
    return value if value < 1000 or rng.random() < 0.5 else value // 100 * 100


def _numbers() -> tuple[Rule, ...]:
    things = tuple((noun(*where.split()), tuple(noun(*item.split()) for item in items)) for where, *items in (
        ("school 学校 所", "student 学生 个", "teacher 老师 位"), ("factory 工厂 家", "worker 工人 个"),
        ("hospital 医院 家", "doctor 医生 位", "nurse 护士 位", "bed 床 张"), ("hotel 酒店 家", "room 房间 个"),
        ("library 图书馆 座", "book 书 本", "magazine 杂志 本", "newspaper 报纸 份"),
        ("garden 花园 座", "tree 树 棵", "flower 花 朵"), ("village 村子 个", "house 房子 栋", "shop 商店 家"),
    ))
    what = one_pair(things)

    def amount_of(rng: Random) -> tuple[Filler, ...]:
        where, thing = what(rng)
        return where, counted(_amount(rng), thing)

    buses = one_of(phrase(str(line), str(line)) for line in range(1, 400))
    ride = {"p": _ANYONE, "w": one_of(lexicon.PLACES), "t": one_of(past_times()), "m": buses}
    distance = {"c o": two_of(lexicon.CITIES, lexicon.CITIES), "m": made_by(lambda rng: number(_amount(rng)))}
    return (
        rule("numbers", "there/h are/h {np} in/i this/d {w} .",
             "这/d {w.m}/d {w} 里/i 有/h {np}", {"w np": amount_of}),
        rule("question", "how/q many/q {n.pl} are/h there/h in/i this/d {w} ?",
             "这/d {w.m}/d {w} 里/i 有/h 多少/q {n.m}/q {n}", {"w n": what}),
        rule("numbers", "it is {m} kilometres/k from/f {c} to/t {o} .",
             "从/f {c} 到/t {o} 有 {m} 公里/k", distance),
        rule("numbers", "{p} took/b bus/b number/l {m} to/g the {w} {t} .",
             "{p} {t} 坐/b {m} 路/l 公共汽车/b 去/g 了/g {w}", ride, combine=["m w"]),
    )


def _time() -> tuple[Rule, ...]:
    routines = (
        ("morning", "get_up 起床,have_breakfast 吃早饭,go_to_work 去上班,go_to_school 去上学"),
        ("afternoon", "finish_work 下班,go_for_a_walk 去散步,come_home 回家"),
        ("evening", "have_dinner 吃晚饭,go_to_bed 睡觉,take_a_shower 洗澡"),
    )
    pasts = {"get": "got", "have": "had", "go": "went", "take": "took", "come": "came", "finish": "finished"}
    acts = tuple(
        (verb(act.name, act.zh[""][0][0], past=pasts[act.name.split()[0]]), clock_times(part))
        for part, pairs in routines for act in phrases(pairs)
    )
    act = {"p": _ANYONE, "v c": one_pair(acts)}
    asked = {"p": _ANYONE, "v": one_of(v for v, _ in acts), "d": one_of((*HABITS[:1], *ON_WEEKDAY))}
    events = phrases("meeting 会议,concert 音乐会,film 电影,match 比赛,party 聚会,lecture 讲座,show 演出")
    clock = one_of(c for part in ("morning", "afternoon", "evening") for c in clock_times(part))
    return (
        rule("time", "{p} {v:p} {c} {d} .",
             "{p} {d} {c} {v}", act | {"d": one_of(HABITS[:1])}, combine=["v c"]),
        rule("time", "{p} {v.past}/v {c} {d} .",
             "{p} {d} {c} {v}/v 了/v", act | {"d": one_of(past_times()[:1])}, combine=["v c"]),
        rule("question", "what/w time/w {p.do} {p} {v} {d} ?",
             "{p} {d} 几/w 点/w {v}", asked),
        rule("time", "the {e} starts/s {c} {d} .",
             "{e} {d} {c} 开始/s", {"e": one_of(events), "c": clock, "d": one_of(dates())}, combine=["e c"]),
        rule("question", "what/w time/w does the {e} start/s {d} ?",
             "{e} {d} 几/w 点/w 开始/s", {"e": one_of(events), "d": one_of(dates() + ON_WEEKDAY)}),
        rule("time", "the train/n to/g {g} leaves/s {c} .",
             "去/g {g} 的/g 火车/n {c} 出发/s", {"g": one_of(lexicon.CITIES), "c": clock}, combine=["g c"]),
    )


def _dates() -> tuple[Rule, ...]:
    births = {"p": one_of(lexicon.THIRD_PERSONS + lexicon.PRONOUNS), "c": one_of(lexicon.CITIES), "y": one_of(years())}
    return (
        rule("dates", "{p.poss} birthday/b is/i {d.bare} .",
             "{p.poss} 生日/b 是/i {d}", {"p": _ANYONE, "d": one_of(dates())}),
        rule("dates", "{p} {p.was}/b born/b in/i {c} {y} .",
             "{p} {y} 出生/b 在/i {c}", births, combine=["c y"]),
        rule("dates", "{p} came/g to/g {c} {d} {y.bare} .",
             "{p} {y} {d.digits} 来/g 到/g 了/g {c}", births | {"d": one_of(MONTH_NAMES)}, combine=["d y"]),
    )


def _weather() -> tuple[Rule, ...]:
    falls = (verb("rain", "下雨"), verb("snow", "下雪"))
    seasons = phrases("~in_spring 春天,~in_summer 夏天,~in_autumn 秋天,~in_winter 冬天")
    air = one_of(phrases("cold 冷,hot 热,warm 暖和,cool 凉快,dry 干燥,humid 潮湿"))
    climate = {"a": air, "c": one_of(lexicon.CITIES), "t": one_of(seasons + MONTH_NAMES)}
    falling = {"f": one_of(falls), "c": one_of(lexicon.CITIES)}
    past, future = {"t": one_of(past_times())}, {"t": one_of(future_times())}
    ca = ["c a"]
    return (
        rule("weather", "it is very/r {a} in {c} {t} .",
             "{c} {t} 很/r {a}", climate, combine=ca),
        rule("negation", "it is not/x {a} in {c} {t} .",
             "{c} {t} 不/x {a}", climate, combine=ca),
        rule("question", "is/x it {a} in {c} {t} ?",
             "{c} {t} {a} 吗/x", climate, combine=ca),
        rule("weather", "it is/a {f.ing} in {c} now/n .",
             "{c} 现在/n 正在/a {f}", falling),
        rule("weather", "it {f.past}/f in {c} {t} .",
             "{c} {t} {f}/f 了/f", falling | past, combine=["c t"]),
        rule("negation", "it did/x not/x {f} in {c} {t} .",
             "{c} {t} 没有/x {f}", falling | past, combine=["c t"]),
        rule("question", "will/x it {f} in {c} {t} ?",
             "{c} {t} 会/x {f} 吗/x", falling | future, combine=["c t"]),
        rule("weather", "the temperature/w in {c} is/i {m} degrees/d today/t .",
             "今天/t {c} 的 气温/w 是/i {m} 度/d",
             {"c": one_of(lexicon.CITIES), "m": one_of(number(n) for n in range(2, 42))}, combine=["c m"]),
    )


def _comparisons() -> tuple[Rule, ...]:
    people = {"p o": two_of(lexicon.PEOPLE, lexicon.THIRD_PERSONS), "a": one_of(lexicon.ADJECTIVES_OF_PEOPLE)}
    cities = {"c o": two_of(lexicon.CITIES, lexicon.CITIES), "a": one_of(lexicon.ADJECTIVES_OF_CITIES)}
    things = {"n o": two_of(lexicon.GOODS, lexicon.GOODS), "a": one_of(lexicon.ADJECTIVES_OF_THINGS)}
    years_older = people | {"m": one_of(number(n) for n in range(2, 31))}
    return (
        rule("comparison", "{p} {p.be} {a.er} than/b {o} .",
             "{p} 比/b {o} {a}", people, combine=["o a"]),
        rule("negation", "{p} {p.be} not/x as {a} as {o} .",
             "{p} 没有/x {o} {a}", people, combine=["o a"]),
        rule("question", "{p.be}/x {p} {a.er} than/b {o} ?",
             "{p} 比/b {o} {a} 吗/x", people, combine=["o a"]),
        rule("comparison", "{p} {p.be} {m} years/y older/e than/b {o} .",
             "{p} 比/b {o} 大/e {m} 岁/y", years_older, combine=["o m"]),
        rule("comparison", "{c} is {a.er} than/b {o} .",
             "{c} 比/b {o} {a}", cities, combine=["c a", "o a"]),
        rule("negation", "{c} is not/x as {a} as {o} .",
             "{c} 没有/x {o} {a}", cities, combine=["c a", "o a"]),
        rule("question", "is/x {c} {a.er} than/b {o} ?",
             "{c} 比/b {o} {a} 吗/x", cities, combine=["c a", "o a"]),
        rule("comparison", "this/d {n} is {a.er} than/b that/e {o} .",
             "这/d {n.m}/d {n} 比/b 那/e {o.m}/e {o} {a}", things, combine=["n a"]),
        rule("question", "is/x this/d {n} {a.er} than/b that/e {o} ?",
             "这/d {n.m}/d {n} 比/b 那/e {o.m}/e {o} {a} 吗/x", things, combine=["n a"]),
    )


def _belongings() -> tuple[Rule, ...]:
    colours = phrases("red 红色,blue 蓝色,green 绿色,white 白色,black 黑色,yellow 黄色,brown 棕色,grey 灰色")
    owned = {"p": _ANYONE, "n": one_of(lexicon.OWNED)}
    coloured = {"p": _ANYONE, "n": one_of(lexicon.GOODS), "k": one_of(colours)}
    return (
        rule("colours", "{p.poss} {n} is/i {k} .",
             "{p.poss} {n} 是/i {k} 的/i", coloured, combine=["k n"]),
        rule("question", "is/i this/d {p.poss} {n} ?",
             "这/d 是/i {p.poss} {n} 吗/i", owned),
        rule("negation", "that/d is/i not/x {p.poss} {n} .",
             "那/d 不/x 是/i {p.poss} {n}", owned),
    )


def _places() -> tuple[Rule, ...]:
    movable = lexicon.BOOKS + lexicon.SMALL_THINGS + lexicon.DEVICES
    at = {"n": one_of(movable), "w": one_of(lexicon.SPOTS)}
    there = {"np": some(movable + lexicon.ANIMALS[:7], _SEVERAL), "w": one_of(lexicon.SPOTS)}
    one_there = there | {"np": some(movable + lexicon.ANIMALS[:7], (1,))}
    buildings = tuple(noun(place.name, place.zh[""][0][0], "座") for place in lexicon.PLACES if place.name != "beach")
    near = {"a b": two_of(buildings, buildings)}
    return (
        rule("places", "the {n} is {w} .",
             "{n} 在 {w}", at, combine=["n w"]),
        rule("negation", "the {n} is not/x {w} .",
             "{n} 不/x 在 {w}", at, combine=["n w"]),
        rule("question", "is/x the {n} {w} ?",
             "{n} 在 {w} 吗/x", at, combine=["n w"]),
        rule("places", "there/h are/h {np} {w} .",
             "{w} 有/h {np}", there, combine=["np w"]),
        rule("places", "there/h is/h {np} {w} .",
             "{w} 有/h {np}", one_there, combine=["np w"]),
        rule("question", "where/w is/i the {n} ?",
             "{n} 在/i 哪里/w", {"n": one_of(movable + lexicon.PLACES)}),
        rule("question", "is/h there/h {b.a} near/e the {a} ?",
             "{a} 附近/e 有/h {b} 吗/h", near, combine=["a b"]),
    )
