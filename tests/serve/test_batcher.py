"""One engine for many callers: nobody gets another's sentence, nobody waits long behind a book, nothing is lost."""

from __future__ import annotations

import gc
import itertools
import math
import random
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from campaign import noted, size
from yiwen.engines.engine import Ids
from yiwen.errors import Stopped
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.serve import batcher
from yiwen.serve.batcher import Cache, Overloaded, SharedEngine
from yiwen.stop import StopFlag
from yiwen.translator import Translation, Translator

GREEDY, BEAM = SearchConfig(beam_size=1), SearchConfig(beam_size=3, n_best=2)


class Slow:
    """An engine that takes its time for sentences, and can be held once it has had some."""

    description, replicas = "slow", 1

    def __init__(self, n_free: int = 99) -> None:
        self.order: list[int] = []
        self.n_free = n_free
        self.may_go = threading.Event()

    def search(self, sources: Sequence[Ids], **options: Any) -> list[list[Hypothesis]]:
        self.order += [len(ids) for ids in sources]
        if len(self.order) <= self.n_free:
            time.sleep(0.2)
        else:
            assert self.may_go.wait(60)
        return [[Hypothesis(tuple(ids), 0.0, 0.0, is_finished=True)] for ids in sources]


def test_what_takes_longer_than_its_tokens_say_lets_others_go_first() -> None:
    slow = Slow(n_free=5)
    engine = SharedEngine(slow, max_tokens=99_999, cache=Cache(0), observe=lambda n: None)  # type: ignore[arg-type]
    with ThreadPoolExecutor(2) as pool:
        book = pool.submit(engine.search, [[n] * 350 for n in range(9)], config=BEAM)  # one sentence a batch
        wait_for(lambda: len(slow.order) == 6)  # by its tokens alone the book's turn has come before any from now on
        greeting = pool.submit(engine.search, [[7]], config=BEAM)
        wait_for(lambda: engine.n_tokens == 3 * 350 + 1)
        slow.may_go.set()
        assert len(greeting.result()) == 1
        assert len(book.result()) == len(slow.order) - 1 == 9
    assert slow.order.index(1) == 6, "the greeting waited for the book"
    engine.close()


class Echo:
    """An engine that says what it is given, counts, and can be held."""

    description = "echo"

    def __init__(self, replicas: int = 2) -> None:
        self.replicas = replicas
        self.batches: list[list[tuple[int, ...]]] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.poison: tuple[int, ...] = ()

    def search(
        self,
        sources: Sequence[Ids],
        *,
        config: SearchConfig,
        prefixes: Sequence[Ids] | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        self.batches.append([tuple(ids) for ids in sources])
        assert self.may_go.wait(60)
        if self.poison and self.poison in self.batches[-1]:
            raise ValueError("poison")
        score = float(config.beam_size) if with_scores else math.nan
        begun = zip(prefixes or [()] * len(sources), sources, strict=True)
        found = [Hypothesis((*prefix, *ids), score, score, is_finished=True) for prefix, ids in begun]
        return [[best] * config.n_best for best in found]

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids], *, stop: StopFlag | None = None) -> Any:
        return [[0.0] * len(ids) for ids in targets]

    def attend(self, sources: Sequence[Ids], targets: Sequence[Ids], *, stop: StopFlag | None = None) -> Any:
        return ["attended"] * len(sources)


def shared(engine: Any, *, max_tokens: int = 1_000_000, cache_bytes: int = 0) -> SharedEngine:
    return SharedEngine(engine, max_tokens=max_tokens, cache=Cache(cache_bytes), observe=lambda n: None)


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def held(engine: Echo, callers: SharedEngine, pool: ThreadPoolExecutor) -> None:
    """Keep every thread of the engine busy, so that what comes now has to queue."""
    engine.may_go.clear()
    for number in range(engine.replicas):
        n_before = len(engine.batches)
        pool.submit(callers.search, [(9, number)], config=GREEDY)
        wait_for(lambda n_before=n_before: len(engine.batches) == n_before + 1)


def test_64_callers_get_their_own_sentences_and_nobody_elses() -> None:
    engine, seed = Echo(), 20
    callers = shared(engine)
    n_rounds = size(60, long=320)

    def caller(number: int) -> int:
        rng = random.Random(seed * 1000 + number)
        n_wrong = 0
        for turn in range(n_rounds):
            sources = [(number, turn, i, *range(rng.randrange(40))) for i in range(rng.randrange(1, 11))]
            config = rng.choice([GREEDY, BEAM])
            found = callers.search(sources, config=config)
            n_wrong += sum(group[0].ids != ids for group, ids in zip(found, sources, strict=True))
            n_wrong += sum(group[0].score != config.beam_size for group in found)
        return n_wrong

    with ThreadPoolExecutor(64) as pool:
        wrong = sum(pool.map(caller, range(64)))
    n_sentences = sum(map(len, engine.batches))
    noted("S9", f"{n_sentences} sentences of 64 callers through one engine", seed=seed, wrong=wrong)
    assert wrong == 0
    assert n_sentences > size(15_000, long=100_000)
    assert len(engine.batches) < n_sentences / 2, "sentences of different callers travel together"
    assert callers._open == set(), "nothing is kept of those who have their answers"
    callers.close()


def test_results_are_those_of_a_lone_request(exported_bundle: Path) -> None:
    lone = Translator.load(exported_bundle, threads=1)
    words = ["deti", "gedi", "bapu", "kabe", "robu"]
    rng = random.Random(1)
    texts = [
        " ".join(rng.choices(words, k=rng.randrange(1, 9))).capitalize() + "." for _ in range(size(120, long=2000))
    ]
    rules = [SearchConfig(beam_size=1), SearchConfig(beam_size=4, n_best=3)]
    expected = {config: lone.translate(texts, search=config) for config in rules}
    alone = [lone.translate([text], search=rules[1])[0] for text in texts[:20]]
    together = Translator.load(exported_bundle, threads=1)
    together.engine = shared(together.engine)

    def same(one: Translation, other: Translation) -> bool:
        """Texts, flags and n-best lists are equal; sums of log-probabilities are rounded in another order."""
        groups = zip((one, *one.alternatives), (other, *other.alternatives), strict=True)
        return one.flags == other.flags and all(
            a.text == b.text and a.score == pytest.approx(b.score, abs=2e-5) for a, b in groups
        )

    def caller(number: int) -> bool:
        config = rules[number % 2]
        (found,) = together.translate([texts[number]], search=config)
        return same(found, expected[config][number])

    with ThreadPoolExecutor(32) as pool:
        equal = list(pool.map(caller, range(len(texts))))
    noted("S9", f"{len(texts)} texts of 32 callers against a lone request", seed=1, different=equal.count(False))
    assert all(equal)
    assert all(same(one, other) for one, other in zip(alone, expected[rules[1]], strict=False))


def test_a_short_text_overtakes_a_book_that_came_before() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    with ThreadPoolExecutor(8) as pool:
        held(engine, callers, pool)
        book = [(1, *range(60))] * 400
        pool.submit(callers.search, book, config=GREEDY)
        wait_for(lambda: callers.n_tokens == 400 * 61)
        pool.submit(callers.search, [(2, 2)], config=GREEDY)
        wait_for(lambda: callers.n_tokens == 400 * 61 + 2)
        n_before = len(engine.batches)
        engine.may_go.set()
    assert engine.batches[n_before] == [(2, 2)], "and the book's sentences do not slow its batch down"
    assert sum(map(len, engine.batches)) == 1 + 400 + 1


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        # A book of 600 tokens stands back for 0.12 seconds; other rules keep what is as short out of the same batch.
        ([(0.0, 60, 10, GREEDY), (0.11, 1, 1, GREEDY), (0.13, 2, 1, BEAM)], [1, 60, 2]),
        # A sentence a batch, which takes a second: by then the turn of whoever waited has come.
        ([(0.0, 350, 3, BEAM), (0.2, 351, 1, BEAM)], [350, 351, 350, 350]),
        # Two batches of 33, which take a second each: the 33 sentences of the first have taken one second, not 33.
        ([(0.0, 60, 66, GREEDY), (0.3, 350, 30, BEAM)], [60, 60, *[350] * 30]),
    ],
    ids=["who comes long after", "who waited while it was computed", "who has many sentences in a batch"],
)
def test_a_book_lets_others_go_first_but_not_for_ever(
    asked: list[tuple[float, int, int, SearchConfig]], order: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, now = Echo(replicas=1), 0.0
    callers, n_tokens = shared(engine), 0
    clock = SimpleNamespace(monotonic=lambda: now + len(engine.batches))
    monkeypatch.setattr("yiwen.serve.batcher.time", clock)
    with ThreadPoolExecutor(8) as pool:
        held(engine, callers, pool)
        for moment, length, n_sentences, config in asked:
            now = moment
            pool.submit(callers.search, [tuple(range(length))] * n_sentences, config=config)
            n_tokens += length * n_sentences
            wait_for(lambda n_tokens=n_tokens: callers.n_tokens == n_tokens)
        engine.may_go.set()
    assert [len(batch[0]) for batch in engine.batches[1:]] == order
    callers.close()


def test_a_batch_holds_no_more_than_its_budget_of_padded_tokens() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    rng = random.Random(3)
    with ThreadPoolExecutor(8) as pool:
        held(engine, callers, pool)
        for number in range(5):
            sources = [(number, *range(rng.randrange(1, 120))) for _ in range(53)]
            pool.submit(callers.search, sources, config=SearchConfig(beam_size=3))
        wait_for(lambda: len(callers._calls) == 5)
        engine.may_go.set()
    batches = engine.batches[1:]
    assert sum(map(len, batches)) == 5 * 53
    assert all(len(batch) * 3 * (max(map(len, batch)) + 1) <= 2048 for batch in batches if len(batch) > 1)
    assert sum(len(batch) for batch in batches) / len(batches) > 5


def test_who_wants_scores_gets_them_beside_others_who_want_none() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    with ThreadPoolExecutor(5) as pool:
        held(engine, callers, pool)
        asked = [pool.submit(callers.search, [(7, n)], config=GREEDY, with_scores=n % 2 == 1) for n in range(4)]
        wait_for(lambda: callers.n_tokens == 4 * 2)
        engine.may_go.set()
    assert [math.isnan(each.result()[0][0].score) for each in asked] == [True, False, True, False]
    callers.close()


@pytest.mark.parametrize(
    ("first", "second", "batches"),
    [
        ([20], [41, 40, 3], [[20, 40, 3], [41]]),  # twice as long, no more; a shorter one may still fit
        ([3], [17, 16, 1], [[3, 16, 1], [17]]),
    ],
)
def test_a_sentence_does_not_wait_for_one_that_is_more_than_twice_as_long(
    first: list[int], second: list[int], batches: list[list[int]]
) -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    with ThreadPoolExecutor(3) as pool:
        held(engine, callers, pool)
        n_tokens = 0
        for lengths in (first, second):
            pool.submit(callers.search, [tuple(range(length)) for length in lengths], config=GREEDY)
            n_tokens += sum(lengths)
            wait_for(lambda n_tokens=n_tokens: callers.n_tokens == n_tokens)
        engine.may_go.set()
    assert [[*map(len, batch)] for batch in engine.batches[1:]] == batches
    callers.close()


def test_a_long_text_is_worked_on_by_all_replicas() -> None:
    engine = Echo(replicas=3)
    callers = shared(engine)
    engine.may_go.clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(callers.search, [tuple(range(1500))] * 3, config=GREEDY)  # two are too many for a batch
        wait_for(lambda: len(engine.batches) == 3)
        engine.may_go.set()
    callers.close()


def test_a_sentence_that_is_longer_than_any_batch_rides_alone() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    long, short, stop = tuple(range(3000)), (1, 2), StopFlag()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(callers.search, [short, long, short], config=GREEDY, stop=stop)
        wait([asked], timeout=30)
        stop.signum = 15  # nobody waits for what never comes
        callers.drop(stop)
        found = asked.result()
    assert [group[0].ids for group in found] == [short, long, short]
    assert engine.batches == [[long], [short, short]]
    callers.close()


def test_what_a_caller_who_left_waited_for_never_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher, "_POLL_S", 90.0)  # they are woken, and need not look
    engine = Echo(replicas=1)
    callers = shared(engine)
    n_callers, stops = size(200, long=2000), []
    with ThreadPoolExecutor(n_callers + 4) as pool:
        held(engine, callers, pool)
        left = []
        for number in range(n_callers):
            stops.append(StopFlag())
            left.append(pool.submit(callers.search, [(7, number)], config=GREEDY, stop=stops[-1]))
        stayed = pool.submit(callers.search, [(8, 8)], config=GREEDY)
        wait_for(lambda: callers.n_tokens == 2 * n_callers + 2)
        for stop in stops:
            stop.signum = 15
            callers.drop(stop)
        for future in left:
            with pytest.raises(Stopped, match="the caller has left"):
                future.result(60)
        assert callers.n_tokens == 2
        engine.may_go.set()
        assert stayed.result(60)[0][0].ids == (8, 8)
    begun = [ids for batch in engine.batches for ids in batch if ids[0] == 7]
    noted("S5", f"{n_callers} callers leave while they queue", begun=len(begun))
    assert begun == []


def test_who_leaves_without_a_word_is_missed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher, "_POLL_S", 0.01)
    engine, stop = Echo(replicas=1), StopFlag()
    callers = shared(engine)
    with ThreadPoolExecutor(2) as pool:
        held(engine, callers, pool)
        left = pool.submit(callers.search, [(7, 7)], config=GREEDY, stop=stop)
        wait_for(lambda: callers.n_tokens == 2)
        stop.signum = 15
        with pytest.raises(Stopped, match="the caller has left"):
            left.result(60)
        engine.may_go.set()
    callers.close()


def test_nothing_begins_for_a_caller_who_left_between_two_searches() -> None:
    engine, stop = Echo(), StopFlag()
    callers = shared(engine)
    assert callers.search([(7, 7)], config=GREEDY, stop=stop)
    stop.signum = 15
    callers.drop(stop)
    with pytest.raises(Stopped):
        callers.search([(7, 8)], config=GREEDY, stop=stop)
    assert engine.batches == [[(7, 7)]]


def test_more_tokens_than_the_queue_holds_are_refused_but_never_on_an_empty_queue() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine, max_tokens=10)
    assert len(callers.search([tuple(range(99))], config=GREEDY)) == 1
    with ThreadPoolExecutor(4) as pool:
        held(engine, callers, pool)
        pool.submit(callers.search, [(1,) * 8], config=GREEDY)
        wait_for(lambda: callers.n_tokens == 8)
        with pytest.raises(Overloaded, match="8 tokens wait, 3 more exceed 10; ask later"):
            callers.search([(1, 2, 3)], config=GREEDY)
        filling = pool.submit(callers.search, [(1, 2)], config=GREEDY)
        wait_for(lambda: callers.n_tokens == 10 or filling.done())
        engine.may_go.set()
    assert len(filling.result()) == 1, "it holds as many as it may"
    assert callers.n_tokens == 0


def test_a_call_that_was_refused_or_given_up_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, stop = Echo(replicas=1), StopFlag()
    callers = shared(engine, max_tokens=10)
    calls: list[weakref.ref[Any]] = []
    own = batcher._Call

    def noted(**fields: Any) -> Any:
        call = own(**fields)
        calls.append(weakref.ref(call))
        return call

    monkeypatch.setattr(batcher, "_Call", noted)
    with ThreadPoolExecutor(3) as pool:
        held(engine, callers, pool)
        pool.submit(callers.search, [(1, 2, 3)], config=GREEDY)
        wait_for(lambda: callers.n_tokens == 3)
        gc.disable()  # what holds itself stays
        try:
            given_up = pool.submit(callers.search, [(1, 2, 3, 4)], config=GREEDY, stop=stop)
            wait_for(lambda: callers.n_tokens == 3 + 4)
            with suppress(Overloaded):
                callers.search([(1, 2, 3, 4)], config=GREEDY)
            stop.signum = 15
            callers.drop(stop)
            assert isinstance(given_up.exception(60), Stopped)
            del given_up  # whose traceback leads to the call
            wait_for(lambda: [call() is None for call in calls] == [False, False, True, True])
        finally:
            gc.enable()
            engine.may_go.set()
    callers.close()


def test_one_callers_fault_is_nobody_elses() -> None:
    engine = Echo(replicas=1)
    callers = shared(engine)
    engine.poison = (6, 6, 6)
    with ThreadPoolExecutor(8) as pool:
        held(engine, callers, pool)
        bad = pool.submit(callers.search, [engine.poison], config=GREEDY)
        good = [pool.submit(callers.search, [(1, number)], config=GREEDY) for number in range(3)]
        wait_for(lambda: callers.n_tokens == 3 + 6)
        engine.may_go.set()
        with pytest.raises(ValueError, match="poison"):
            bad.result(60)
        assert [future.result(60)[0][0].ids for future in good] == [(1, 0), (1, 1), (1, 2)]
    assert callers.n_tokens == 0


def test_a_sentence_asked_for_again_is_remembered_with_its_rules() -> None:
    engine, hits = Echo(), itertools.count()
    cache = Cache(1_000_000, on_hit=hits.__next__)
    callers = SharedEngine(engine, max_tokens=1000, cache=cache, observe=lambda n: None)
    first = callers.search([(1, 2), (3,)], config=GREEDY)
    assert callers.search([(3,), (1, 2)], config=GREEDY) == first[::-1]
    assert len(engine.batches) == 1
    (beam,) = callers.search([(3,)], config=BEAM)
    assert [each.score for each in beam] == [3.0, 3.0], "other rules are another question"
    assert callers.search([(3,)], config=GREEDY, prefixes=[(5,)])[0][0].ids == (5, 3), "and so is a prefix"
    assert len(engine.batches) == 3
    assert next(hits) == 2
    assert callers.search([(3,)], config=BEAM) == [beam], "with all that was found"
    for with_scores in (False, True, False, True):
        scored = callers.search([(4,)], config=GREEDY, with_scores=with_scores)[0][0].score
        assert scored == 1.0 if with_scores else math.isnan(scored)
    assert len(engine.batches) == 5, "with scores is yet another"
    n_bytes = []
    for ids, prefix in (((7, 8, 9), ()), ((7,), (8, 9))):
        before = cache.n_bytes
        callers.search([ids], config=GREEDY, prefixes=[prefix])
        n_bytes.append(cache.n_bytes - before)
    assert n_bytes[0] == n_bytes[1], "a prefix takes as much memory"
    assert callers.search([(7,)], config=GREEDY)[0][0].ids == (7,), "without its prefix it was never asked for"


def test_a_sentence_keeps_its_own_prefix_beside_others_that_have_none() -> None:
    callers = shared(Echo())
    found = callers.search([(1, 2), [3], (4,)], config=GREEDY, prefixes=[(), [5, 6], ()])  # lists, too
    assert [group[0].ids for group in found] == [(1, 2), (5, 6, 3), (4,)]
    callers.close()


def test_a_sentence_whose_beginning_is_given_rides_alone() -> None:
    """It is searched by itself in any case, and takes long: in a batch of fifty it could not be given up."""
    engine = Echo()
    callers = shared(engine)
    callers.search([(1, 2), (3,), (4,), (7,)], config=GREEDY, prefixes=[(), (5,), (6,), ()])
    assert sorted(map(sorted, engine.batches)) == [[(1, 2), (7,)], [(3,)], [(4,)]]
    callers.close()


def test_the_subwords_of_a_given_beginning_wait_too() -> None:
    engine = Echo()
    callers = shared(engine, max_tokens=10)
    with ThreadPoolExecutor(4) as pool:
        held(engine, callers, pool)
        pool.submit(callers.search, [(1,)], config=GREEDY, prefixes=[(5,) * 6])
        wait_for(lambda: callers.n_tokens)
        with pytest.raises(Overloaded, match="7 tokens wait, 4 more exceed 10; ask later"):
            callers.search([(2,)], config=GREEDY, prefixes=[(5,) * 3])
        engine.may_go.set()
    callers.close()


def test_the_cache_forgets_the_least_recently_used_and_keeps_its_bound() -> None:
    cache = Cache(10_000)
    found = [Hypothesis((1, 2, 3), 0.0, 0.0, is_finished=True)]
    for key in range(50):
        cache.put(key, found, n_ids=3)
        assert cache.n_bytes <= 10_000
        assert cache.get(0) == found, "used all the time, so it stays"
    assert [cache.get(key) for key in (1, 2, 30)] == [None, None, None]
    assert cache.get(49) == found
    cache.put("long", found * 24, n_ids=3)
    assert (cache.get("long"), cache.n_bytes <= 10_000) == (found * 24, True), "in the place of several"
    once, twice = Cache(10_000), Cache(10_000)
    for each in (once, twice, twice):
        each.put(1, found, n_ids=3)
    assert twice.n_bytes == once.n_bytes, "of two callers who asked at once"
    none = Cache(0)
    none.put(1, found, n_ids=3)
    assert (none.get(1), none.n_bytes) == (None, 0)


def bytes_of(root: object) -> int:
    """What an object takes with all that it leads to."""
    known: dict[int, object] = {}
    found = [root]
    while found:
        thing = found.pop()
        if id(thing) not in known and not isinstance(thing, type):
            known[id(thing)] = thing
            found += gc.get_referents(thing)
    return sum(map(sys.getsizeof, known.values()))


@pytest.mark.parametrize(("n_ids", "n_found", "n_best"), [(900, 1, 1), (1, 900, 1), (20, 20, 4), (1, 1, 8), (1, 1, 1)])
def test_the_cache_takes_the_memory_that_it_may_and_no_more(n_ids: int, n_found: int, n_best: int) -> None:
    cache = Cache(400_000)
    for number in range(1000, 1900):  # small numbers are Python's own
        ids = [tuple(range(number, number + n_found)) for _ in range(n_best)]
        found = [Hypothesis(each, number / 7, number / 9, is_finished=True) for each in ids]
        cache.put((0, tuple(range(number, number + n_ids)), ()), found, n_ids=n_ids)
    assert 300_000 < bytes_of(cache._found) < 420_000


def test_a_caller_who_comes_when_the_threads_have_ended_is_served_all_the_same() -> None:
    """A request that began with models which were replaced before it asked them, or asked again to repair."""
    callers = shared(Echo())
    callers.close()
    wait_for(lambda: not any(thread.is_alive() for thread in callers._threads))
    with ThreadPoolExecutor(5) as pool:
        texts = [[(n, n + 7), (n,)] for n in range(2, 31)]
        found = [*pool.map(lambda text: callers.search(text, config=GREEDY), texts)]
    assert [[group[0].ids for group in each] for each in found] == texts


def test_scores_and_attention_pass_through_and_close_ends_the_threads() -> None:
    callers = shared(Echo())
    assert callers.score([(1,)], [(1, 2)]) == [[0.0, 0.0]]
    assert callers.attend([(1,)], [(2,)]) == ["attended"]
    callers.close()
    assert not any(thread.is_alive() for thread in callers._threads)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_as_many_batches_of_an_exported_model_are_under_way_as_it_has_replicas(
    threads: int, exported_bundle: Path
) -> None:
    callers = shared(Translator.load(exported_bundle, engine="ctranslate2", threads=threads).engine)
    assert len(callers._threads) == threads
    assert isinstance(callers._alone, nullcontext), "they wait for one another where an engine tells of none"
    callers.close()


def test_an_engine_that_tells_of_no_replicas_is_asked_by_one_thread_at_a_time() -> None:
    class Alone:
        description, n_inside, most_inside = "alone", 0, 0

        def search(self, sources: Sequence[Ids], *targets: Any, **options: Any) -> list[Any]:
            self.n_inside += 1
            self.most_inside = max(self.most_inside, self.n_inside)
            time.sleep(0.02)
            self.n_inside -= 1
            return [[] for _ in sources]

        score = attend = search

    engine = Alone()
    callers = shared(engine)
    with ThreadPoolExecutor(9) as pool:
        for number in range(3):
            pool.submit(callers.search, [(number,)], config=GREEDY)
            pool.submit(callers.score, [(number,)], [(7,)])
            pool.submit(callers.attend, [(number,)], [(7,)])
    assert engine.most_inside == 1
    callers.close()


def test_close_waits_for_what_is_being_computed() -> None:
    """A thread that comes back from C++ to an interpreter that has ended aborts the process."""
    slow = Slow()
    callers = SharedEngine(slow, max_tokens=99_999, cache=Cache(0), observe=lambda n: None)  # type: ignore[arg-type]
    stop = StopFlag()
    with ThreadPoolExecutor(1) as pool:
        given_up = pool.submit(callers.search, [[7] * 350], config=BEAM, stop=stop)
        while not slow.order:
            time.sleep(0.01)
        stop.signum = 15
        callers.drop(stop)
        callers.close()
        assert not any(thread.is_alive() for thread in callers._threads)
        given_up.exception()


def test_what_is_remembered_keeps_no_engine_that_was_replaced() -> None:
    cache = Cache(1_000_000)
    shared = SharedEngine(Echo(), cache=cache, max_tokens=100, observe=lambda n: None)
    shared.search([[5]], config=GREEDY)
    shared.close()
    for thread in shared._threads:  # which hold it until they have ended
        thread.join(timeout=30)
    del thread
    alive = weakref.ref(shared)
    del shared
    gc.collect()
    assert alive() is None
    assert cache.n_bytes > 0
    again = Echo()
    SharedEngine(again, cache=cache, max_tokens=100, observe=lambda n: None).search([[5]], config=GREEDY)
    assert again.batches == [[(5,)]]  # nor is it taken for another's
