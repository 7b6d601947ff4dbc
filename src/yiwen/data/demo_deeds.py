"""Rules of the demo corpus about what people do: daily life, shopping, gifts, travel, skills."""

# A rule reads as its English over its Chinese; the formatter would make seven lines of the two.
# fmt: off

from __future__ import annotations

from yiwen.data import demo_lexicon as lexicon
from yiwen.data.demo_grammar import Rule, one_of, one_pair, pair_with_count, rule, some, two_of
from yiwen.data.demo_times import HABITS, future_times, past_times
from yiwen.data.demo_words import number, phrase, phrases, verb

_FEW = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
_ANYONE = one_of(lexicon.PEOPLE)


def rules_of_deeds() -> tuple[Rule, ...]:
    """The rules of this file."""
    return (*_daily_life(), *_shopping(), *_giving_and_having(), *_people(), *_travel())


def _daily_life() -> tuple[Rule, ...]:
    often = one_of(phrases("often 经常,always 总是,sometimes 有时候,never 从来不"))
    past, future, habit, room = map(one_of, (past_times(), future_times(), HABITS, lexicon.ROOMS))
    act = {"p": _ANYONE, "v n": one_pair(lexicon.VERBS_AND_OBJECTS)}
    indoors = {"p": _ANYONE, "v n": one_pair(lexicon.VERBS_IN_ROOMS), "w": room}
    like = {"p": _ANYONE, "l": one_of([verb("like", "喜欢")]), "n": one_of(lexicon.LIKED)}
    wish = act | {"t": future, "w": one_of([verb("want", "想")])}
    vn, ln = ["v n"], ["l n"]
    return (
        rule("habit", "{p} {v:p} {n} {t} .",
             "{p} {t} {v} {n}", act | {"t": habit}, combine=vn),
        rule("habit", "{p} {f} {v:p} {n} {w} .",
             "{p} {f} {w} {v} {n}", indoors | {"f": often}, combine=vn),
        # 正在 before a place that begins with 在 is 正
        rule("progressive", "{p} {p.be}/a {v.ing} {n} {w} .",
             "{p} 正/a {w} {v} {n}", indoors, combine=vn),
        rule("progressive", "{p} {p.be}/a {v.ing} {n} now/n .",
             "{p} 现在/n 正在/a {v} {n}", act, combine=vn),
        rule("question", "{p.be}/a {p} {v.ing} {n} {w} ?",
             "{p} 正/a {w} {v} {n} 吗/a", indoors, combine=vn),
        rule("negation", "{p} {p.do}/x not/x {v} {n} .",
             "{p} 不/x {v} {n}", act, combine=vn),
        rule("negation", "{p} did/x not/x {v} {n} {t} .",
             "{p} {t} 没有/x {v} {n}", act | {"t": past}, combine=vn),
        rule("question", "{p.do}/x {p} {v} {n} {t} ?",
             "{p} {t} {v} {n} 吗/x", act | {"t": habit}, combine=vn),
        rule("wish", "{p} {w:p} ~to {v} {n} {t} .",
             "{p} {t} {w} {v} {n}", wish, combine=vn),
        rule("liking", "{p} {l:p} {n} very/r much/r .",
             "{p} 非常/r {l} {n}", like, combine=ln),
        rule("negation", "{p} {p.do}/x not/x {l} {n} .",
             "{p} 不/x {l} {n}", like, combine=ln),
        rule("question", "{p.do}/x {p} {l} {n} ?",
             "{p} {l} {n} 吗/x", like, combine=ln),
    )


def _shopping() -> tuple[Rule, ...]:
    past, future = one_of(past_times()), one_of(future_times())
    done = {"p": _ANYONE, "v np": pair_with_count(lexicon.VERBS_AND_THINGS, _FEW), "t": past}
    shops = one_of(shop for shop, _ in lexicon.SHOPS_AND_GOODS)
    table = some(lexicon.DRINKS_BY_CUP + lexicon.FOOD_BY_BOWL + lexicon.GIFTS, _FEW)
    wanted = ("drink", "eat", "buy", "read", "learn", "cook")
    sought = one_of(act for act, _ in lexicon.VERBS_AND_OBJECTS if act.name in wanted)
    bought = {"p": _ANYONE, "s np": pair_with_count(lexicon.SHOPS_AND_GOODS, _FEW), "t": past}
    good = one_of(lexicon.GOODS)
    return (
        rule("shopping", "{p} bought/b {np} at/a the {s} {t} .",
             "{p} {t} 在/a {s} 买/b 了/b {np}", bought, combine=["s np"]),
        rule("question", "where/w did {p} buy/b this/d {n} ?",
             "{p} 在/w 哪里/w 买/b 的 这/d {n.m}/d {n}", {"p": _ANYONE, "n": good}),
        rule("question", "what/w did/b {p} buy/b at/a the {s} {t} ?",
             "{p} {t} 在/a {s} 买/b 了/b 什么/w", {"p": _ANYONE, "s": shops, "t": past}),
        rule("question", "what/w {p.do} {p} want/l ~to {v} {t} ?",
             "{p} {t} 想/l {v} 什么/w", {"p": _ANYONE, "t": future, "v": sought}),
        rule("question", "who/w bought/b {np} {t} ?",
             "谁/w {t} 买/b 了/b {np}", {"np": some(lexicon.GOODS, _FEW), "t": past}),
        rule("question", "how/w many/w {n.pl} did/b {p} buy/b {t} ?",
             "{p} {t} 买/b 了/b 多少/w {n.m}/w {n}", {"n": good, "p": _ANYONE, "t": past}),
        rule("shopping", "I/i would/w like/w {np} , please/g .",
             "请/g 给/w 我/i {np}", {"np": table}),
        rule("counting", "{p} {v.past}/v {np} {t} .",
             "{p} {t} {v}/v 了/v {np}", done, combine=["v np"]),
        rule("question", "did/x {p} {v} {np} {t} ?",
             "{p} {t} {v} 了/x {np} 吗/x", done, combine=["v np"]),
    )


def _giving_and_having() -> tuple[Rule, ...]:
    give = {"p o": two_of(lexicon.PEOPLE, lexicon.THIRD_PERSONS), "np": some(lexicon.GIFTS, _FEW)}
    owned = one_of(lexicon.OWNED)
    return (
        rule("giving", "{p} gave/g {o.obj} {np} .",
             "{p} 给/g 了/g {o} {np}", give),
        rule("giving", "{p} will/f give/g {o.obj} {np} {t} .",
             "{p} {t} 会/f 给/g {o} {np}", give | {"t": one_of(future_times())}),
        rule("having", "{p} {p.have}/h {np} .",
             "{p} 有/h {np}", {"p": _ANYONE, "np": some(lexicon.OWNED, _FEW)}),
        rule("negation", "{p} {p.do}/x not/x have/h {n.a} .",
             "{p} 没/x 有/h {n}", {"p": _ANYONE, "n": owned}),
        rule("question", "{p.do}/x {p} have/h {n.a} ?",
             "{p} 有/h {n} 吗/x", {"p": _ANYONE, "n": owned}),
    )


def _people() -> tuple[Rule, ...]:
    arts = phrases("swim 游泳,drive 开车,dance 跳舞,sing 唱歌,cook 做饭,ski 滑雪,play_chess 下棋,ride_a_horse 骑马")
    speech = tuple(phrase(f"speak/s {lang.name}", f"说/s {lang.zh[''][0][0]}") for lang in lexicon.LANGUAGES)
    skills = one_of(arts + speech)
    ages = {"p": _ANYONE, "m": one_of(number(n) for n in range(3, 100))}
    lived = {"p": _ANYONE, "c": one_of(lexicon.CITIES), "m": one_of(number(n) for n in range(2, 41))}
    work = {"p": one_of(lexicon.NAMES + lexicon.RELATIVES), "np": some(lexicon.JOBS, (1,)), "c": one_of(lexicon.CITIES)}
    skill = {"p": _ANYONE, "s": skills}
    return (
        rule("people", "{p} {p.be} {m} years/y old/y .",
             "{p} {m} 岁/y", ages),
        rule("people", "{p} {p.have} lived/l in/i {c} for {m} years/y .",
             "{p} 在/i {c} 住/l 了/l {m} 年/y", lived, combine=["c m"]),
        rule("people", "{p} {p.be}/i {np} in/t {c} .",
             "{p} 是/i {c} 的/t {np}", work, combine=["np c"]),
        rule("people", "{p} can/x {s} .",
             "{p} 会/x {s}", skill),
        rule("negation", "{p} cannot/x {s} .",
             "{p} 不/x 会/x {s}", skill),
        rule("question", "can/x {p} {s} ?",
             "{p} 会/x {s} 吗/x", skill),
    )


def _travel() -> tuple[Rule, ...]:
    means = one_of(phrases("by_train 坐火车,by_plane 坐飞机,by_bus 坐公共汽车,by_car 开车,by_ship 坐船"))
    future, past, places = one_of(future_times()), one_of(past_times()), one_of(lexicon.PLACES)
    trip = {"p": _ANYONE, "c": one_of(lexicon.CITIES), "t": future, "w": means}
    visit = {"p": _ANYONE, "w": places, "t": past}
    two = {"p o": two_of(lexicon.THIRD_PERSONS, lexicon.THIRD_PERSONS), "w": places, "t": past}
    why = one_of(phrases("it_was_raining 下雨,it_was_snowing 下雪,it_was_too_cold 太冷,it_was_too_hot 太热"))
    falls = one_of((verb("rain", "下雨"), verb("snow", "下雪")))
    return (
        rule("travel", "{p} will/f go/g to/g {c} {w} {t} .",
             "{p} {t} 会/f {w} 去/g {c}", trip, combine=["c w"]),
        rule("question", "will/f {p} go/g to/g {c} {w} {t} ?",
             "{p} {t} 会/f {w} 去/g {c} 吗/f", trip, combine=["c w"]),
        rule("question", "when/w will/f {p} go/g to/g {c} ?",
             "{p} 什么/w 时候/w 会/f 去/g {c}", trip),
        rule("travel", "{p} went/g to/g the {w} {t} .",
             "{p} {t} 去/g 了/g {w}", visit, combine=["w t"]),
        rule("travel", "{p} and/a {o} went/g to/g the {w} {t} .",
             "{p} 和/a {o} {t} 去/g 了/g {w}", two, combine=["w t"]),
        rule("question", "why/y did {p} not/x go/g to/g the {w} {t} ?",
             "{p} {t} 为什么/y 没有/x 去/g {w}", visit, combine=["w t"]),
        rule("travel", "{p} did/x not/x go/g to/g the {w} {t} because/b {y} .",
             "因为/b {y} ， {p} {t} 没有/x 去/g {w}", visit | {"y": why}),
        rule("travel", "if/i it {f.s} tomorrow/m ,/c {p} will/j not/x go/g to/g the {w} .",
             "如果/i 明天/m {f} ，/c {p} 就/j 不/x 去/g {w}", {"p": _ANYONE, "w": places, "f": falls}),
    )
