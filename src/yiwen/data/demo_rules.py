"""The rules of the demo corpus, by topic: what its sentences say, in both languages at once."""

# A rule reads as two lines, its English and its Chinese; the formatter would make five of them.
# fmt: off

from __future__ import annotations

from functools import cache
from random import Random

from yiwen.data import demo_lexicon as lexicon
from yiwen.data.demo_grammar import Rule, made_by, one_of, one_pair, pair_with_count, rule, some, two_of
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
from yiwen.data.demo_words import Filler, counted, noun, number, person, phrase, verb, words

_FEW = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
_SEVERAL = _FEW[2:]
_ANYONE = one_of(lexicon.PEOPLE)
_DEMONSTRATIVE = one_of([person("this", "这"), person("that", "那")])


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, compiled once; a topic with more to say has more of them, so that a fair draw suits."""
    return (
        *_daily_life(), *_shopping(), *_money(), *_numbers(), *_time(), *_weather(), *_comparisons(), *_places(),
        *_people(), *_travel(),
    )


def _daily_life() -> tuple[Rule, ...]:
    pairs = "often 经常,always 总是,sometimes 有时候,never 从来不".split(",")
    often = one_of(phrase(*pair.split()) for pair in pairs)
    past, future, habit, room = map(one_of, (past_times(), future_times(), HABITS, lexicon.ROOMS))
    act = {"p": _ANYONE, "v n": one_pair(lexicon.VERBS_AND_OBJECTS)}
    indoors = {"p": _ANYONE, "v n": one_pair(lexicon.VERBS_IN_ROOMS), "w": room}
    like = {"p": _ANYONE, "l": one_of([verb("like", "喜欢")]), "n": one_of(lexicon.LIKED)}
    wish = act | {"t": future, "w": one_of([verb("want", "想")])}
    vn, ln = ["v n"], ["l n"]
    return (
        rule("habit", "{p} {v:p} {n} {t} .", "{p} {t} {v} {n}", act | {"t": habit}, combine=vn),
        rule("habit", "{p} {f} {v:p} {n} {w} .", "{p} {f} {w} {v} {n}", indoors | {"f": often}, combine=vn),
        # 正在 before a place that begins with 在 is 正
        rule("progressive", "{p} {p.be}/a {v.ing} {n} {w} .", "{p} 正/a {w} {v} {n}", indoors, combine=vn),
        rule("progressive", "{p} {p.be}/a {v.ing} {n} now/n .", "{p} 现在/n 正在/a {v} {n}", act, combine=vn),
        rule("question", "{p.be}/a {p} {v.ing} {n} {w} ?", "{p} 正/a {w} {v} {n} 吗/a", indoors, combine=vn),
        rule("negation", "{p} {p.do}/x not/x {v} {n} .", "{p} 不/x {v} {n}", act, combine=vn),
        rule("negation", "{p} did/x not/x {v} {n} {t} .", "{p} {t} 没有/x {v} {n}", act | {"t": past}, combine=vn),
        rule("question", "{p.do}/x {p} {v} {n} {t} ?", "{p} {t} {v} {n} 吗/x", act | {"t": habit}, combine=vn),
        rule("wish", "{p} {w:p} ~to {v} {n} {t} .", "{p} {t} {w} {v} {n}", wish, combine=vn),
        rule("liking", "{p} {l:p} {n} very/r much/r .", "{p} 非常/r {l} {n}", like, combine=ln),
        rule("negation", "{p} {p.do}/x not/x {l} {n} .", "{p} 不/x {l} {n}", like, combine=ln),
        rule("question", "{p.do}/x {p} {l} {n} ?", "{p} {l} {n} 吗/x", like, combine=ln),
    )


def _shopping() -> tuple[Rule, ...]:
    past, future = one_of(past_times()), one_of(future_times())
    done = {"p": _ANYONE, "v np": pair_with_count(lexicon.VERBS_AND_THINGS, _FEW), "t": past}
    shops = one_of(shop for shop, _ in lexicon.SHOPS_AND_GOODS)
    table = some(lexicon.DRINKS_BY_CUP + lexicon.FOOD_BY_BOWL + lexicon.GIFTS, _FEW)
    give = {"p o": two_of(lexicon.PEOPLE, lexicon.THIRD_PERSONS), "np": some(lexicon.GIFTS, _FEW)}
    sought = one_of(v for v, _ in lexicon.VERBS_AND_OBJECTS if v.name in ("drink", "eat", "buy", "read", "learn", "cook"))
    bought = {"p": _ANYONE, "s np": pair_with_count(lexicon.SHOPS_AND_GOODS, _FEW), "t": past}
    owned, good = one_of(lexicon.OWNED), one_of(lexicon.GOODS)
    return (
        rule("shopping", "{p} bought/b {np} at/a the {s} {t} .", "{p} {t} 在/a {s} 买/b 了/b {np}", bought, combine=["s np"]),
        rule("question", "where/w did {p} buy/b this/d {n} ?", "{p} 在/w 哪里/w 买/b 的 这/d {n.m}/d {n}", {"p": _ANYONE, "n": good}),
        rule("question", "what/w did/b {p} buy/b at/a the {s} {t} ?", "{p} {t} 在/a {s} 买/b 了/b 什么/w",
             {"p": _ANYONE, "s": shops, "t": past}),
        rule("question", "what/w {p.do} {p} want/l ~to {v} {t} ?", "{p} {t} 想/l {v} 什么/w",
             {"p": _ANYONE, "t": future, "v": sought}),
        rule("question", "who/w bought/b {np} {t} ?", "谁/w {t} 买/b 了/b {np}", {"np": some(lexicon.GOODS, _FEW), "t": past}),
        rule("question", "how/w many/w {n.pl} did/b {p} buy/b {t} ?", "{p} {t} 买/b 了/b 多少/w {n.m}/w {n}",
             {"n": good, "p": _ANYONE, "t": past}),
        rule("shopping", "I/i would/w like/w {np} , please/g .", "请/g 给/w 我/i {np}", {"np": table}),
        rule("counting", "{p} {v.past}/v {np} {t} .", "{p} {t} {v}/v 了/v {np}", done, combine=["v np"]),
        rule("question", "did/x {p} {v} {np} {t} ?", "{p} {t} {v} 了/x {np} 吗/x", done, combine=["v np"]),
        rule("giving", "{p} gave/g {o.obj} {np} .", "{p} 给/g 了/g {o} {np}", give),
        rule("giving", "{p} will/f give/g {o.obj} {np} {t} .", "{p} {t} 会/f 给/g {o} {np}", give | {"t": future}),
        rule("having", "{p} {p.have}/h {np} .", "{p} 有/h {np}", {"p": _ANYONE, "np": some(lexicon.OWNED, _FEW)}),
        rule("negation", "{p} {p.do}/x not/x have/h {n.a} .", "{p} 没/x 有/h {n}", {"p": _ANYONE, "n": owned}),
        rule("question", "{p.do}/x {p} have/h {n.a} ?", "{p} 有/h {n} 吗/x", {"p": _ANYONE, "n": owned}),
    )


def _amount(rng: Random) -> int:
    """Mostly two and three digits, sometimes four and five."""
    kind = rng.random()
    low, high = (21, 99) if kind < 0.3 else (100, 999) if kind < 0.8 else (1000, 9999) if kind < 0.95 else (10000, 99999)
    value = low + int(rng.random() * (high - low + 1))
    return value if value < 1000 or rng.random() < 0.5 else value // 100 * 100


def _sum_of_money(rng: Random) -> Filler:
    en, zh = (("yuan", "元"), ("dollar", "美元"), ("pound", "英镑"), ("euro", "欧元"))[int(rng.random() ** 2 * 4)]
    return price(_amount(rng), en, zh)


def _money() -> tuple[Rule, ...]:
    good, money = one_of(lexicon.GOODS), made_by(_sum_of_money)
    return (
        rule("question", "how/w much/w {d.be} {d}/d {n} ?", "{d}/d {n.m}/d {n} 多少/w 钱/w", {"d": _DEMONSTRATIVE, "n": good}),
        rule("question", "how/w much/w do these/d {np} cost/c ?", "这/d {np} 要/c 多少/w 钱/w", {"np": some(lexicon.GOODS, _SEVERAL)}),
        rule("money", "{d}/d {n} costs/c {m} .", "{d}/d {n.m}/d {n} 要/c {m}", {"d": _DEMONSTRATIVE, "n": good, "m": money}),
        rule("money", "these/d {np} cost/c {m} .", "这/d {np} 要/c {m}", {"np": some(lexicon.GOODS, _SEVERAL), "m": money}),
        rule("money", "{p} spent/s {m} {t} .", "{p} {t} 花/s 了/s {m}", {"p": _ANYONE, "m": money, "t": one_of(past_times())}),
    )


def _numbers() -> tuple[Rule, ...]:
    inside = (
        (noun("school", "学校", "所"), "student 学生 个,teacher 老师 位"), (noun("factory", "工厂", "家"), "worker 工人 个"),
        (noun("hospital", "医院", "家"), "doctor 医生 位,nurse 护士 位,bed 床 张"), (noun("hotel", "酒店", "家"), "room 房间 个"),
        (noun("library", "图书馆", "座"), "book 书 本,magazine 杂志 本,newspaper 报纸 份"),
        (noun("garden", "花园", "座"), "tree 树 棵,flower 花 朵"), (noun("village", "村子", "个"), "house 房子 栋,shop 商店 家"),
    )
    things = tuple((where, tuple(noun(*item.split()) for item in items.split(","))) for where, items in inside)
    what = one_pair(things)

    def amount_of(rng: Random) -> tuple[Filler, ...]:
        where, thing = what(rng)
        return where, counted(_amount(rng), thing)

    distance = {"c o": two_of(lexicon.CITIES, lexicon.CITIES), "m": made_by(lambda rng: number(_amount(rng)))}
    return (
        rule("numbers", "there/h are/h {np} in/i this/d {w} .", "这/d {w.m}/d {w} 里/i 有/h {np}", {"w np": amount_of}),
        rule("question", "how/q many/q {n.pl} are/h there/h in/i this/d {w} ?", "这/d {w.m}/d {w} 里/i 有/h 多少/q {n.m}/q {n}",
             {"w n": what}),
        rule("numbers", "it is {m} kilometres/k from/f {c} to/t {o} .", "从/f {c} 到/t {o} 有 {m} 公里/k", distance),
        rule("numbers", "{p} took/b bus/b number/l {m} to/g the {w} {t} .", "{p} {t} 坐/b {m} 路/l 公共汽车/b 去/g 了/g {w}",
             {"p": _ANYONE, "w": one_of(lexicon.PLACES), "t": one_of(past_times()),
              "m": one_of(phrase(str(n), str(n)) for n in range(1, 400))}, combine=["m w"]),
    )


def _time() -> tuple[Rule, ...]:
    routines = (
        ("morning", "get_up 起床,have_breakfast 吃早饭,go_to_work 去上班,go_to_school 去上学"),
        ("afternoon", "finish_work 下班,take_a_walk 散步,come_home 回家"),
        ("evening", "have_dinner 吃晚饭,go_to_bed 睡觉,take_a_shower 洗澡"),
    )
    pasts = {"get": "got", "have": "had", "go": "went", "take": "took", "come": "came", "finish": "finished"}
    acts = tuple(
        (verb(act.name, act.zh[""][0][0], past=pasts[act.name.split()[0]]), clock_times(part))
        for part, pairs in routines for act in _plain(pairs)
    )
    act = {"p": _ANYONE, "v c": one_pair(acts)}
    asked = {"p": _ANYONE, "v": one_of(v for v, _ in acts), "d": one_of((*HABITS[:1], *ON_WEEKDAY))}
    events = _plain("meeting 会议,concert 音乐会,film 电影,match 比赛,party 聚会,lecture 讲座,show 演出")
    clock = one_of(c for part in ("morning", "afternoon", "evening") for c in clock_times(part))
    births = {"p": one_of(lexicon.THIRD_PERSONS + lexicon.PRONOUNS), "c": one_of(lexicon.CITIES), "y": one_of(years())}
    return (
        rule("time", "{p} {v:p} {c} {d} .", "{p} {d} {c} {v}", act | {"d": one_of(HABITS[:1])}, combine=["v c"]),
        rule("time", "{p} {v.past}/v {c} {d} .", "{p} {d} {c} {v}/v 了/v", act | {"d": one_of(past_times()[:1])}, combine=["v c"]),
        rule("question", "what/w time/w {p.do} {p} {v} {d} ?", "{p} {d} 几/w 点/w {v}", asked),
        rule("time", "the {e} starts/s {c} {d} .", "{e} {d} {c} 开始/s", {"e": one_of(events), "c": clock, "d": one_of(dates())}, combine=["e c"]),
        rule("question", "what/w time/w does the {e} start/s {d} ?", "{e} {d} 几/w 点/w 开始/s", {"e": one_of(events), "d": one_of(dates() + ON_WEEKDAY)}),
        rule("time", "the train/n to/g {g} leaves/s {c} .", "去/g {g} 的/g 火车/n {c} 出发/s", {"g": one_of(lexicon.CITIES), "c": clock}, combine=["g c"]),
        rule("dates", "{p.poss} birthday/b is/i {d.bare} .", "{p.poss} 生日/b 是/i {d}", {"p": _ANYONE, "d": one_of(dates())}),
        rule("dates", "{p} {p.was}/b born/b in/i {c} {y} .", "{p} {y} 出生/b 在/i {c}", births, combine=["c y"]),
        rule("dates", "{p} came/g to/g {c} {d} {y.bare} .", "{p} {y} {d} 来/g 到/g 了/g {c}", births | {"d": one_of(MONTH_NAMES)}, combine=["d y"]),
    )


def _plain(pairs: str) -> tuple[Filler, ...]:
    return tuple(phrase(*(side.replace("_", " ") for side in pair.split())) for pair in pairs.split(","))


def _adjectives(rows: str) -> tuple[Filler, ...]:
    """Base, comparative and Chinese: cold colder 冷."""
    entries = (row.replace("_", " ").replace("more ", "~more ").rsplit(" ", 1) for row in rows.split(","))
    return tuple(_adjective(en, zh) for en, zh in entries)


def _adjective(en: str, zh: str) -> Filler:
    base, comparative = en.split(" ", 1)
    return Filler(base, {"": words(base), "er": words(comparative)}, {"": words(zh)})


def _weather() -> tuple[Rule, ...]:
    falls = tuple(Filler(en, {"": words(en), "ing": words(f"{en}ing"), "past": words(f"{en}ed")}, {"": words(zh)})
                  for en, zh in (("rain", "下雨"), ("snow", "下雪")))
    seasons = tuple(phrase(f"~in {en}", zh) for en, zh in (("spring", "春天"), ("summer", "夏天"), ("autumn", "秋天"), ("winter", "冬天")))
    air = one_of(_plain("cold 冷,hot 热,warm 暖和,cool 凉快,dry 干燥,humid 潮湿"))
    climate = {"a": air, "c": one_of(lexicon.CITIES), "t": one_of(seasons + MONTH_NAMES)}
    falling = {"f": one_of(falls), "c": one_of(lexicon.CITIES)}
    past, future = {"t": one_of(past_times())}, {"t": one_of(future_times())}
    ca = ["c a"]
    return (
        rule("weather", "it is very/r {a} in {c} {t} .", "{c} {t} 很/r {a}", climate, combine=ca),
        rule("negation", "it is not/x {a} in {c} {t} .", "{c} {t} 不/x {a}", climate, combine=ca),
        rule("question", "is/x it {a} in {c} {t} ?", "{c} {t} {a} 吗/x", climate, combine=ca),
        rule("weather", "it is/a {f.ing} in {c} now/n .", "{c} 现在/n 正在/a {f}", falling),
        rule("weather", "it {f.past}/f in {c} {t} .", "{c} {t} {f}/f 了/f", falling | past, combine=["c t"]),
        rule("negation", "it did/x not/x {f} in {c} {t} .", "{c} {t} 没有/x {f}", falling | past, combine=["c t"]),
        rule("question", "will/x it {f} in {c} {t} ?", "{c} {t} 会/x {f} 吗/x", falling | future, combine=["c t"]),
        rule("weather", "the temperature/w in {c} is/i {m} degrees/d today/t .", "今天/t {c} 的 气温/w 是/i {m} 度/d",
             {"c": one_of(lexicon.CITIES), "m": one_of(number(n) for n in range(2, 42))}, combine=["c m"]),
    )


def _comparisons() -> tuple[Rule, ...]:
    of_people = one_of(_adjectives("tall taller 高,short shorter 矮,young younger 年轻,busy busier 忙,strong stronger 强壮,clever cleverer 聪明"))
    of_cities = one_of(_adjectives("big bigger 大,cold colder 冷,hot hotter 热,clean cleaner 干净,beautiful more_beautiful 漂亮,quiet quieter 安静,safe safer 安全"))
    of_things = one_of(_adjectives("cheap cheaper 便宜,expensive more_expensive 贵,big bigger 大,small smaller 小,heavy heavier 重,light lighter 轻,new newer 新,good better 好"))
    people = {"p o": two_of(lexicon.PEOPLE, lexicon.THIRD_PERSONS), "a": of_people}
    cities = {"c o": two_of(lexicon.CITIES, lexicon.CITIES), "a": of_cities}
    things = {"n o": two_of(lexicon.GOODS, lexicon.GOODS), "a": of_things}
    colours = _plain("red 红色,blue 蓝色,green 绿色,white 白色,black 黑色,yellow 黄色,brown 棕色,grey 灰色")
    years_older = people | {"m": one_of(number(n) for n in range(2, 31))}
    return (
        rule("comparison", "{p} {p.be} {a.er} than/b {o} .", "{p} 比/b {o} {a}", people, combine=["o a"]),
        rule("negation", "{p} {p.be} not/x as {a} as {o} .", "{p} 没有/x {o} {a}", people, combine=["o a"]),
        rule("question", "{p.be}/x {p} {a.er} than/b {o} ?", "{p} 比/b {o} {a} 吗/x", people, combine=["o a"]),
        rule("comparison", "{p} {p.be} {m} years/y older/e than/b {o} .", "{p} 比/b {o} 大/e {m} 岁/y", years_older, combine=["o m"]),
        rule("comparison", "{c} is {a.er} than/b {o} .", "{c} 比/b {o} {a}", cities, combine=["c a", "o a"]),
        rule("negation", "{c} is not/x as {a} as {o} .", "{c} 没有/x {o} {a}", cities, combine=["c a", "o a"]),
        rule("question", "is/x {c} {a.er} than/b {o} ?", "{c} 比/b {o} {a} 吗/x", cities, combine=["c a", "o a"]),
        rule("comparison", "this/d {n} is {a.er} than/b that/e {o} .", "这/d {n.m}/d {n} 比/b 那/e {o.m}/e {o} {a}", things, combine=["n a"]),
        rule("question", "is/x this/d {n} {a.er} than/b that/e {o} ?", "这/d {n.m}/d {n} 比/b 那/e {o.m}/e {o} {a} 吗/x", things, combine=["n a"]),
        rule("colours", "{p.poss} {n} is/i {k} .", "{p.poss} {n} 是/i {k} 的/i", {"p": _ANYONE, "n": one_of(lexicon.GOODS), "k": one_of(colours)}, combine=["k n"]),
        rule("question", "is/i this/d {p.poss} {n} ?", "这/d 是/i {p.poss} {n} 吗/i", {"p": _ANYONE, "n": one_of(lexicon.OWNED)}),
        rule("negation", "that/d is/i not/x {p.poss} {n} .", "那/d 不/x 是/i {p.poss} {n}", {"p": _ANYONE, "n": one_of(lexicon.OWNED)}),
    )


def _places() -> tuple[Rule, ...]:
    movable = lexicon.BOOKS + lexicon.SMALL_THINGS + lexicon.DEVICES
    at = {"n": one_of(movable), "w": one_of(lexicon.SPOTS)}
    there = {"np": some(movable + lexicon.ANIMALS[:7], _SEVERAL), "w": one_of(lexicon.SPOTS)}
    one_there = there | {"np": some(movable + lexicon.ANIMALS[:7], (1,))}
    buildings = tuple(noun(place.name, place.zh[""][0][0], "座") for place in lexicon.PLACES if place.name != "beach")
    near = {"a b": two_of(buildings, buildings)}
    return (
        rule("places", "the {n} is {w} .", "{n} 在 {w}", at, combine=["n w"]),
        rule("negation", "the {n} is not/x {w} .", "{n} 不/x 在 {w}", at, combine=["n w"]),
        rule("question", "is/x the {n} {w} ?", "{n} 在 {w} 吗/x", at, combine=["n w"]),
        rule("places", "there/h are/h {np} {w} .", "{w} 有/h {np}", there, combine=["np w"]),
        rule("places", "there/h is/h {np} {w} .", "{w} 有/h {np}", one_there, combine=["np w"]),
        rule("question", "where/w is/i the {n} ?", "{n} 在/i 哪里/w", {"n": one_of(movable + lexicon.PLACES)}),
        rule("question", "is/h there/h {b.a} near/e the {a} ?", "{a} 附近/e 有/h {b} 吗/h", near, combine=["a b"]),
    )


def _people() -> tuple[Rule, ...]:
    skills = one_of(_plain("swim 游泳,drive 开车,dance 跳舞,sing 唱歌,cook 做饭,ski 滑雪,play_chess 下棋,ride_a_horse 骑马")
                    + tuple(phrase(f"speak/s {lang.name}", f"说/s {lang.zh[''][0][0]}") for lang in lexicon.LANGUAGES))
    ages = {"p": _ANYONE, "m": one_of(number(n) for n in range(3, 100))}
    lived = {"p": _ANYONE, "c": one_of(lexicon.CITIES), "m": one_of(number(n) for n in range(2, 41))}
    work = {"p": one_of(lexicon.THIRD_PERSONS), "np": some(lexicon.JOBS, (1,)), "c": one_of(lexicon.CITIES)}
    skill = {"p": _ANYONE, "s": skills}
    return (
        rule("people", "{p} {p.be} {m} years/y old/y .", "{p} {m} 岁/y", ages),
        rule("people", "{p} {p.have} lived/l in/i {c} for {m} years/y .", "{p} 在/i {c} 住/l 了/l {m} 年/y", lived, combine=["c m"]),
        rule("people", "{p} {p.be}/i {np} in/t {c} .", "{p} 是/i {c} 的/t {np}", work, combine=["np c"]),
        rule("people", "{p} can/x {s} .", "{p} 会/x {s}", skill),
        rule("negation", "{p} cannot/x {s} .", "{p} 不/x 会/x {s}", skill),
        rule("question", "can/x {p} {s} ?", "{p} 会/x {s} 吗/x", skill),
    )


def _travel() -> tuple[Rule, ...]:
    means = one_of(_plain("by_train 坐火车,by_plane 坐飞机,by_bus 坐公共汽车,by_car 开车,by_ship 坐船"))
    future, past, places = one_of(future_times()), one_of(past_times()), one_of(lexicon.PLACES)
    trip = {"p": _ANYONE, "c": one_of(lexicon.CITIES), "t": future, "w": means}
    visit = {"p": _ANYONE, "w": places, "t": past}
    two = {"p o": two_of(lexicon.THIRD_PERSONS, lexicon.THIRD_PERSONS), "w": places, "t": past}
    why = one_of(_plain("it_was_raining 下雨,it_was_snowing 下雪,the_weather_was_bad 天气不好,it_was_too_cold 太冷,it_was_too_hot 太热"))
    return (
        rule("travel", "{p} will/f go/g to/g {c} {w} {t} .", "{p} {t} 会/f {w} 去/g {c}", trip, combine=["c w"]),
        rule("question", "will/f {p} go/g to/g {c} {w} {t} ?", "{p} {t} 会/f {w} 去/g {c} 吗/f", trip, combine=["c w"]),
        rule("question", "when/w will/f {p} go/g to/g {c} ?", "{p} 什么/w 时候/w 会/f 去/g {c}", trip),
        rule("travel", "{p} went/g to/g the {w} {t} .", "{p} {t} 去/g 了/g {w}", visit, combine=["w t"]),
        rule("travel", "{p} and/a {o} went/g to/g the {w} {t} .", "{p} 和/a {o} {t} 去/g 了/g {w}", two, combine=["w t"]),
        rule("question", "why/y did {p} not/x go/g to/g the {w} {t} ?", "{p} {t} 为什么/y 没有/x 去/g {w}", visit, combine=["w t"]),
        rule("travel", "{p} did/x not/x go/g to/g the {w} {t} because/b {y} .", "因为/b {y} ， {p} {t} 没有/x 去/g {w}",
             visit | {"y": why}),
        rule("travel", "if/i it {f} tomorrow/m ,/c {p} will/j not/x go/g to/g the {w} .", "如果/i 明天/m {f} ，/c {p} 就/j 不/x 去/g {w}",
             {"p": _ANYONE, "w": places, "f": one_of(_plain("rains 下雨,snows 下雪"))}),
    )
