"""The demo corpus: reproducible, one translation each way, gold links on real words, combinations really held out."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from yiwen.data.demo import MAX_PAIRS, DemoCorpus, DemoPair, is_held_out, split, write_demo
from yiwen.data.demo_grammar import derive
from yiwen.data.demo_rules import all_rules
from yiwen.data.demo_times import clock_times, dates
from yiwen.data.demo_words import article, chinese_number, counted, english_number, noun, number, plural, verb
from yiwen.errors import ConfigError

NUMBERS = [
    (0, "zero", "零"),
    (2, "two", "二"),
    (10, "ten", "十"),
    (12, "twelve", "十二"),
    (20, "twenty", "二十"),
    (37, "thirty-seven", "三十七"),
    (100, "one hundred", "一百"),
    (105, "one hundred and five", "一百零五"),
    (110, "one hundred and ten", "一百一十"),
    (222, "two hundred and twenty-two", "二百二十二"),
    (237, "two hundred and thirty-seven", "二百三十七"),
    (1000, "one thousand", "一千"),
    (1005, "one thousand and five", "一千零五"),
    (1012, "one thousand and twelve", "一千零一十二"),
    (2300, "two thousand three hundred", "两千三百"),
    (10_000, "ten thousand", "一万"),
    (10_030, "ten thousand and thirty", "一万零三十"),
    (10_305, "ten thousand three hundred and five", "一万零三百零五"),
    (12_000, "twelve thousand", "一万二千"),
    (22_222, "twenty-two thousand two hundred and twenty-two", "两万二千二百二十二"),
    (50_008, "fifty thousand and eight", "五万零八"),
    (99_999, "ninety-nine thousand nine hundred and ninety-nine", "九万九千九百九十九"),
]


@pytest.fixture(scope="module")
def pairs() -> list[DemoPair]:
    return list(split(60_000, 1, 1, seed=7).train)


@pytest.fixture(scope="module")
def corpus() -> DemoCorpus:
    return split(8_000, 100, 300, seed=3)


@pytest.mark.parametrize(("value", "english", "chinese"), NUMBERS)
def test_number_words_agree_with_those_worked_by_hand(value: int, english: str, chinese: str) -> None:
    assert english_number(value) == english
    assert chinese_number(value) == chinese


def test_every_number_has_words_of_its_own() -> None:
    values = range(0, 100_000, 7)
    assert len({english_number(value) for value in values}) == len(values)
    assert len({chinese_number(value) for value in values}) == len(values)


def test_two_of_something_is_liang_and_twelve_and_twenty_two_are_not() -> None:
    book = noun("book", "书", "本")
    chinese = ["".join(word for word, _ in counted(count, book).zh[""]) for count in (1, 2, 12, 22)]
    assert chinese == ["一本书", "两本书", "十二本书", "二十二本书"]
    assert [word for word, _ in number(2).zh[""]] == ["两"]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("at eight o'clock in the morning", "早上八点"),
        ("at five past two in the afternoon", "下午两点零五分"),
        ("at a quarter past six in the evening", "晚上六点一刻"),
        ("at half past eight in the morning", "早上八点半"),
        ("at twenty-five to three in the afternoon", "下午两点三十五分"),
        ("at a quarter to eleven in the evening", "晚上十点三刻"),
        ("at ten to nine in the morning", "早上八点五十分"),
        ("June 30", "六月三十日"),
        ("February 28", "二月二十八日"),
    ],
)
def test_times_and_dates_agree_with_those_worked_by_hand(english: str, chinese: str) -> None:
    times = (
        clock_times("morning", "早上", 6, 12),
        clock_times("afternoon", "下午", 1, 6),
        clock_times("evening", "晚上", 6, 11),
    )
    fillers = [*dates(), *(time for part in times for time in part)]
    assert [filler.chinese for filler in fillers if filler.name == english] == [chinese]
    assert [filler.name for filler in fillers if filler.chinese == chinese] == [english]
    assert not {"February 29", "February 30", "March 31"} & {filler.name for filler in fillers}


def test_english_forms_follow_the_spelling_rules() -> None:
    assert [plural(word) for word in ("box", "dictionary", "key", "watch", "go")] == [
        "boxes", "dictionaries", "keys", "watches", "goes",
    ]  # fmt: skip
    assert [article(word) for word in ("umbrella", "egg", "book", "uniform")] == ["an", "an", "a", "a"]
    study, see = verb("study", "学习"), verb("see", "看", past="saw")
    assert [study.en[form][0][0] for form in ("s", "past", "ing")] == ["studies", "studied", "studying"]
    assert [see.en[form][0][0] for form in ("s", "past", "ing")] == ["sees", "saw", "seeing"]


def test_the_same_seed_gives_the_same_pairs_and_another_seed_others() -> None:
    first, again, other = (split(5_000, 5, 5, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert split(6_000, 5, 5, seed=1).train[:5_000] == first.train


def test_sixty_thousand_pairs_are_distinct_on_both_sides_so_each_sentence_has_one_translation(
    pairs: list[DemoPair],
) -> None:
    assert len({pair.src for pair in pairs}) == 60_000
    assert len({pair.tgt for pair in pairs}) == 60_000


def test_every_derivation_of_a_sentence_gives_the_same_translation_and_the_same_links() -> None:
    rng, rules = Random(11), all_rules()
    derived: dict[str, DemoPair] = {}
    n_again = 0
    for _ in range(40_000):
        pair = derive(rng.choice(rules), rng)
        first = derived.setdefault(pair.src, pair)
        n_again += first is not pair
        assert (first.tgt, first.alignment) == (pair.tgt, pair.alignment)
    assert n_again > 2_000
    assert len({pair.tgt for pair in derived.values()}) == len(derived)


def test_chinese_has_full_width_punctuation_and_no_space_and_english_the_usual_spacing(pairs: list[DemoPair]) -> None:
    for pair in pairs:
        assert re.fullmatch(r"[\u4e00-\u9fff0-9]+(，[\u4e00-\u9fff]+)?[。？]", pair.tgt), pair.tgt
        assert re.fullmatch(r"[A-Z][A-Za-z0-9'-]*( [A-Za-z0-9'-]+,?)+[.?]", pair.src), pair.src
        assert pair.src.endswith("?") == pair.tgt.endswith("？")


def test_articles_agree_with_the_word_that_follows(pairs: list[DemoPair]) -> None:
    for pair in pairs:
        for indefinite, following in re.findall(r"\b([Aa]n?) (\w)", pair.src):
            assert (indefinite.lower() == "an") == (following.lower() in "aeiou"), pair.src


def test_spans_cover_every_character_but_spaces_and_links_stay_inside(pairs: list[DemoPair]) -> None:
    for pair in pairs[:5_000]:
        assert "".join(pair.tgt[start:end] for start, end in pair.tgt_spans) == pair.tgt
        words = [pair.src[start:end] for start, end in pair.src_spans]
        assert re.sub(r" ([.,?])", r"\1", " ".join(words)) == pair.src
        assert all(0 <= i < len(pair.src_spans) and 0 <= j < len(pair.tgt_spans) for i, j in pair.alignment)
        assert list(pair.alignment) == sorted(set(pair.alignment))


def test_nearly_every_chinese_word_is_linked_and_articles_are_not(pairs: list[DemoPair]) -> None:
    n_words = n_linked = 0
    for pair in pairs[:5_000]:
        linked_src, linked_tgt = {i for i, _ in pair.alignment}, {j for _, j in pair.alignment}
        n_words += len(pair.tgt_spans)
        n_linked += len(linked_tgt)
        assert not any(pair.src[slice(*pair.src_spans[i])] == "the" for i in linked_src), pair.src
    assert n_linked / n_words > 0.95


def test_number_words_link_to_number_characters_and_words_to_their_translations(pairs: list[DemoPair]) -> None:
    expected = {
        "thirty-seven": "三十七",
        "Beijing": "北京",
        "tea": "茶",
        "yesterday": "昨天",
        "dollars": "美元",
        "books": "书",
    }
    found: Counter[str] = Counter()
    for pair in pairs:
        for word, translation in expected.items():
            linked = _linked(pair, word)
            if linked is not None and "thousand" not in pair.src:
                assert linked in (translation, translation + "的") or linked.startswith(translation), (pair, linked)
                found[word] += 1
    assert set(found) == set(expected)


def test_a_sum_of_money_is_aligned_part_by_part(pairs: list[DemoPair]) -> None:
    pair = next(pair for pair in pairs if re.search(r"two hundred and thirty-\w+ \w+\.", pair.src))
    assert _linked(pair, "two") == _linked(pair, "hundred") == "二百"
    assert str(_linked(pair, next(word for word in re.findall(r"thirty-\w+", pair.src)))).startswith("三十")
    assert _linked(pair, "and") is None


def test_sums_are_of_yuan_and_dollars_and_never_of_nothing(pairs: list[DemoPair]) -> None:
    assert not [pair.src for pair in pairs if re.search(r"\b(yuans|dollar|euro|zero)\b", pair.src)]


def test_a_verb_that_helps_to_say_no_is_aligned_with_the_no(pairs: list[DemoPair]) -> None:
    pair = next(pair for pair in pairs if " does not " in pair.src)
    assert _linked(pair, "does") == _linked(pair, "not") == "不"


def test_a_measure_word_is_aligned_with_what_it_measures_by() -> None:
    tea = noun("cup/m of/m tea", "茶", "杯")
    assert tea.en["pl"] == (("cups", "m"), ("of", "m"), ("tea", ""))
    assert (tea.zh[""], tea.zh["m"]) == ((("茶", ""),), (("杯", "m"),))


def test_questions_negations_and_aspects_are_well_represented(pairs: list[DemoPair]) -> None:
    share = {
        name: sum(bool(re.search(pattern, pair.tgt)) for pair in pairs) / len(pairs)
        for name, pattern in {
            "question": "？", "ma": "吗？", "what": "什么|几点|多少|哪里|谁", "not": "不|没", "did not": "没有",
            "past": "了", "progressive": "正", "comparison": "比", "location": "在", "two": "两", "price": "多少钱",
            "number": "[百千万]",
        }.items()
    }  # fmt: skip
    least = {"question": 0.2, "ma": 0.1, "what": 0.08, "not": 0.1, "did not": 0.04, "past": 0.2, "progressive": 0.03}
    assert all(share[name] >= bound for name, bound in least.items()), share
    assert all(value >= 0.002 for value in share.values()), share
    assert share["question"] < 0.5
    assert max(Counter(pair.topic for pair in pairs).values()) < len(pairs) / 2


def test_sentences_are_short_and_the_vocabulary_is_small(pairs: list[DemoPair]) -> None:
    lengths = sorted(len(pair.tgt) for pair in pairs)
    assert lengths[len(lengths) // 20] >= 6
    assert lengths[-len(lengths) // 20] <= 20
    assert lengths[-1] <= 32
    assert len({char for pair in pairs for char in pair.tgt}) < 600
    assert len({word for pair in pairs for word in re.findall(r"[a-z]+", pair.src.lower())}) < 800


def test_held_out_combinations_never_occur_in_training_though_each_of_their_words_does(corpus: DemoCorpus) -> None:
    trained = {combination for pair in corpus.train for combination in pair.combinations}
    words = {word for combination in trained for word in combination}
    assert min(map(len, trained)) > 1
    for name, part in (("valid", corpus.valid), ("test", corpus.test)):
        for pair in part:
            held_out = [c for c in pair.combinations if is_held_out(c, seed=3) == name]
            assert held_out, pair
            assert not trained.intersection(held_out)
            assert words.issuperset(word for combination in pair.combinations for word in combination)
    assert not any(is_held_out(combination, seed=3) for combination in trained)


def test_no_sentence_is_shared_between_the_parts_on_either_side(corpus: DemoCorpus) -> None:
    assert [len(part) for part in (corpus.train, corpus.valid, corpus.test)] == [8_000, 100, 300]
    everything = [*corpus.train, *corpus.valid, *corpus.test]
    assert len({pair.src for pair in everything}) == len({pair.tgt for pair in everything}) == 8_400


def test_held_out_pairs_are_of_many_topics_and_of_many_combinations(corpus: DemoCorpus) -> None:
    assert len({pair.topic for pair in corpus.test}) >= 12
    held_out = Counter(c for pair in corpus.test for c in pair.combinations if is_held_out(c, seed=3))
    assert len(held_out) >= 100


def test_written_files_hold_the_corpus_and_the_gold_alignment_of_test(tmp_path: Path) -> None:
    corpus = write_demo(tmp_path / "demo", seed=5, n_train=3_000, n_valid=20, n_test=30)
    for name, part in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        for side, expected in (("en", [p.src for p in part]), ("zh", [p.tgt for p in part])):
            content = (tmp_path / "demo" / f"{name}.{side}").read_bytes()
            assert content.decode("utf-8") == "".join(f"{line}\n" for line in expected)
    lines = (tmp_path / "demo" / "test.align.jsonl").read_bytes().decode("utf-8").split("\n")[:-1]
    gold = json.loads(lines[0])
    assert len(lines) == 30
    assert gold["src"] == corpus.test[0].src
    assert tuple(tuple(link) for link in gold["alignment"]) == corpus.test[0].alignment
    assert tuple(tuple(span) for span in gold["tgt_spans"]) == corpus.test[0].tgt_spans


@pytest.mark.parametrize("n", [-1, MAX_PAIRS + 1])
def test_a_count_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ConfigError, match=f"n_valid is {n}; the demo grammar makes from 1 to 200000 distinct pairs"):
        split(10, n, 10, seed=1)


def test_a_training_set_too_small_to_show_every_word_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"n_train=1 shows too few words .* raise n_train"):
        split(1, 5, 5, seed=1)


def _linked(pair: DemoPair, word: str) -> str | None:
    """What a word's links lead to, joined; None without the word or a link."""
    where = [i for i, (start, end) in enumerate(pair.src_spans) if pair.src[start:end] == word]
    if len(where) != 1:
        return None
    return "".join(pair.tgt[slice(*pair.tgt_spans[j])] for i, j in pair.alignment if i == where[0]) or None
