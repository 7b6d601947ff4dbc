"""A new recipe: sized by the corpus, loadable, honest about what the corpus is not."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
import signal
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from yiwen.data.batching import epoch_updates
from yiwen.data.corpus import CorpusConfig, corpus_files
from yiwen.data.loader import lengths_of
from yiwen.data.store import Store
from yiwen.errors import ConfigError, DataError, Stopped
from yiwen.newrecipe import MAX_STEPS, SIZES, Survey, new_recipe, recipe_text, what_next
from yiwen.preparing import prepare_recipe
from yiwen.recipe import load_recipe
from yiwen.stop import StopFlag

ENGLISH = [f"This is sentence number {n}." for n in range(120)]
CHINESE = [f"这是第{n}个句子。" for n in range(120)]
PAIRS = list(zip(ENGLISH, CHINESE, strict=True))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, lines: list[str]) -> Path:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Path(name)


def tsv(name: str = "corpus.tsv", header: str = "") -> Path:
    return write(name, [*([header] if header else []), *(f"{src}\t{tgt}" for src, tgt in PAIRS)])


def tmx(name: str = "corpus.tmx") -> Path:
    units = "".join(
        f'<tu><tuv xml:lang="en-GB"><seg>{src}</seg></tuv><tuv xml:lang="zh-CN"><seg>{tgt}</seg></tuv></tu>'
        for src, tgt in PAIRS
    )
    return write(name, [f'<tmx version="1.4"><header/><body>{units}</body></tmx>'])


def jsonl(name: str, *, nested: bool) -> Path:
    rows: list[dict[str, object]] = [{"en": src, "zh": tgt} for src, tgt in PAIRS]
    return write(name, [json.dumps({"translation": row} if nested else row) for row in rows])


def parquet(name: str) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"src": ENGLISH, "tgt": CHINESE}), name)
    return Path(name)


def compressed(path: Path) -> Path:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return Path(f"{path}.gz")


def survey_of(n_pairs: int) -> Survey:
    return Survey(n_rows=n_pairs, n_pairs=n_pairs, n_chars=(20 * n_pairs, 20 * n_pairs), samples=PAIRS[:1])


FORMS = {
    "tsv": lambda: (tsv(),),
    "tsv with a header": lambda: (tsv(header="en\tzh"),),
    "tsv, compressed": lambda: (compressed(tsv()),),
    "jsonl": lambda: (jsonl("corpus.jsonl", nested=False),),
    "jsonl, nested": lambda: (jsonl("corpus.jsonl", nested=True),),
    "parquet": lambda: (parquet("corpus.parquet"),),
    "tmx": lambda: (tmx(),),
    "two files": lambda: (write("corpus.en", ENGLISH), write("corpus.zh", CHINESE)),
    "two files, compressed": lambda: tuple(
        compressed(path) for path in (write("corpus.en", ENGLISH), write("corpus.zh", CHINESE))
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_corpus_is_counted_and_named_in_a_recipe_that_loads(form: str, here: Path) -> None:
    files = FORMS[form]()
    path, survey, size = new_recipe(files, src_lang="en", tgt_lang="zh")
    assert path == Path("corpus.toml")
    assert (survey.n_rows, survey.n_pairs, survey.samples[0]) == (120, 120, PAIRS[0])
    assert size is SIZES[0]
    loaded = load_recipe(str(path))
    (corpus,) = loaded.recipe.data.corpora
    assert corpus_files(corpus, base=loaded.base) == tuple(here / file for file in files)
    assert all(not Path(name).is_absolute() for name in (corpus.src, corpus.tgt, corpus.path))
    assert (loaded.recipe.data.src_lang, loaded.recipe.data.tgt_lang) == ("en", "zh-Hans")


@pytest.mark.parametrize("n_pairs", [100, 4_999, 5_000, 49_999, 50_000, 499_999, 500_000, 4_999_999, 5_000_000, 10**9])
@pytest.mark.parametrize("languages", [("en", "de"), ("zh", "en"), ("de", "ja")])
def test_every_size_gives_a_recipe_that_loads(n_pairs: int, languages: tuple[str, str], here: Path) -> None:
    size = next(size for size in SIZES if n_pairs < size.below)
    src_lang, tgt_lang = languages
    corpus = CorpusConfig(path="corpus.tsv")
    text = recipe_text(corpus, survey_of(n_pairs), size, src_lang=src_lang, tgt_lang=tgt_lang, folder=here)
    path = here / "sized.toml"
    path.write_text(text, encoding="utf-8")
    recipe = load_recipe(str(path)).recipe
    assert recipe.model.dropout == size.dropout
    assert recipe.training.warmup_steps < recipe.training.max_steps <= MAX_STEPS
    assert recipe.training.validate_every <= recipe.training.max_steps
    assert 0 < recipe.data.valid_pairs <= n_pairs / 10
    assert max(len(line) for line in text.split("\n")) <= 120
    assert "_column" not in text, "they have their usual names"
    assert ("what an update learns from" in text) == (recipe.training.update_tokens == 0)


def test_each_setting_of_a_recipe_has_a_comment(here: Path) -> None:
    corpus = CorpusConfig(src="train.en", tgt="train.zh")
    for size in SIZES:
        text = recipe_text(corpus, survey_of(1000), size, src_lang="en", tgt_lang="zh", folder=here)
        lines = [line for line in text.split("\n") if " = " in line and not line.startswith("#")]
        settings = [line for line in lines if not line.startswith(("src = ", "tgt = "))]
        assert len(settings) > 15
        assert [line for line in settings if "  # " not in line] == []


def test_text_with_many_codes_gets_symbols_for_them() -> None:
    for every, n_symbols in ((10, 10), (50, 0)):
        pairs = [(src, tgt) for src, tgt in PAIRS]
        coded = [
            (f"{src} file_{i}.txt", f"{tgt} file_{i}.txt") if i % every == 0 else (src, tgt)
            for i, (src, tgt) in enumerate(pairs)
        ]
        file = write(f"codes{every}.tsv", [f"{src}\t{tgt}" for src, tgt in coded])
        path, survey, _ = new_recipe((file,), src_lang="en", tgt_lang="zh", columns=("1", "2"))
        assert survey.n_spans == len(range(0, len(pairs), every))
        assert load_recipe(str(path)).recipe.tokenizer.placeholders == n_symbols


def test_text_whose_apostrophes_are_escaped_is_read_as_it_was_meant() -> None:
    for every, is_escaped in ((50, True), (200, False)):
        rows = [f"{src}\t{tgt}{' &apos;' if i % every == 0 else ''}" for i, (src, tgt) in enumerate(PAIRS)]
        file = write(f"escaped{every}.tsv", rows)
        path, survey, _ = new_recipe((file,), src_lang="en", tgt_lang="zh", columns=("1", "2"))
        assert survey.n_escaped == len(range(0, len(PAIRS), every))
        assert [corpus.unescape for corpus in load_recipe(str(path)).recipe.data.corpora] == [is_escaped]
    quoted = [f"{src} &apos;\t{tgt} &apos;{' &apos;' if i % 50 == 0 else ''}" for i, (src, tgt) in enumerate(PAIRS)]
    path, _, _ = new_recipe((write("quoted.tsv", quoted),), src_lang="en", tgt_lang="zh", columns=("1", "2"))
    recipe = load_recipe(str(path)).recipe
    assert (recipe.data.corpora[0].unescape, recipe.tokenizer.placeholders) == (True, 0), "no code, no address"
    both = write("markup.tsv", [f"{src} &amp;\t{tgt} &amp;" for src, tgt in PAIRS])  # markup that is to stay
    path, _, _ = new_recipe((both,), src_lang="en", tgt_lang="zh", columns=("1", "2"))
    assert "unescape" not in path.read_text("utf-8")


def test_more_text_gets_a_larger_model_more_subwords_and_less_dropout() -> None:
    assert [size.preset for size in SIZES] == ["tiny", "tiny", "small", "base", "big"]
    for smaller, larger in itertools.pairwise(SIZES):
        assert smaller.below < larger.below
        assert smaller.dropout >= larger.dropout
        assert smaller.vocab_size <= larger.vocab_size


def test_the_papers_corpus_gets_the_papers_training() -> None:
    # WMT 2014 English to German: 4.5 million pairs of some 125 characters, 100,000 updates of 25,000 tokens.
    survey = Survey(n_pairs=4_500_000, n_chars=(4_500_000 * 125, 4_500_000 * 125))
    text = recipe_text(CorpusConfig(path="a.tsv"), survey, SIZES[-2], src_lang="en", tgt_lang="de", folder=Path())
    Path("wmt.toml").write_text(text, encoding="utf-8")
    recipe = load_recipe("wmt.toml").recipe
    assert 80_000 <= recipe.training.max_steps <= 130_000
    assert recipe.training.update_tokens == 25_000
    assert recipe.model.d_model == 512


def said_of(recipe: Path) -> tuple[int, int]:
    """Updates, and the passes through the text that the recipe says they are."""
    found = re.search(r"max_steps = (\d+)  # about (\d+) times", recipe.read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]), int(found[2])


def test_passes_through_the_text_count_the_longer_side_of_a_batch(here: Path) -> None:
    # 11 and 21 subwords a side with the end: 4,096 positions are 195 rows of the longer one, less a tenth.
    for src_chars, tgt_chars in ((40, 80), (80, 40), (80, 80)):
        survey = Survey(n_pairs=10_000, n_chars=(10_000 * src_chars, 10_000 * tgt_chars))
        text = recipe_text(CorpusConfig(path="a.tsv"), survey, SIZES[1], src_lang="en", tgt_lang="de", folder=here)
        steps, epochs = said_of(write("a.toml", text.split("\n")))
        assert epochs == pytest.approx(SIZES[1].epochs, abs=1)
        assert steps * 4096 * 0.9 / 21 / 10_000 == pytest.approx(epochs, rel=0.05)


@pytest.mark.parametrize(("src_lang", "tgt_lang"), [("en", "zh"), pytest.param("zh", "en", marks=pytest.mark.slow)])
def test_real_text_is_gone_through_about_as_often_as_the_recipe_says(src_lang: str, tgt_lang: str, here: Path) -> None:
    corpus = Path(os.environ.get("YIWEN_DATA", "")) / "tatoeba-en-zh"
    if not corpus.is_dir():
        pytest.skip("set YIWEN_DATA to a folder with tatoeba-en-zh/train.en and train.zh")
    files = corpus / f"train.{src_lang}", corpus / f"train.{tgt_lang}"
    recipe, _, size = new_recipe(files, src_lang=src_lang, tgt_lang=tgt_lang, output=here / "tatoeba.toml")
    loaded = load_recipe(str(recipe))
    store = Store.open(prepare_recipe(loaded, stop=None, root=here).folder)
    batches = epoch_updates(lengths_of(store), seed=1, epoch=0, batch_tokens=size.batch_tokens, update_tokens=0)
    steps, epochs = said_of(recipe)
    assert steps / len(batches) == pytest.approx(epochs, rel=0.25)


def test_little_text_of_very_many_characters_has_a_subword_for_each_and_room_for_words(here: Path) -> None:
    many = [chr(0x4E00 + number) for number in range(3960)]
    lines = [f"line {number} of it\t{''.join(many[20 * number : 20 * number + 20])}" for number in range(198)]
    Path("many.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path, survey, _ = new_recipe((Path("many.tsv"),), src_lang="en", tgt_lang="zh")
    assert survey.letters == {*many, *"line of it", *"0123456789"}
    loaded = load_recipe(str(path))
    assert loaded.recipe.tokenizer.vocab_size == 5000  # 3,960 and 17 and 1,000, in two digits
    store = Store.open(prepare_recipe(loaded, stop=None, root=here).folder)
    learnt = {*"".join(store.target.decode([ids.tolist() for ids in store.tgt_ids(np.arange(len(store)))]))}
    assert len(learnt) > 3000
    assert all(map(store.target.has_piece, learnt))


def test_little_text_has_a_small_vocabulary_in_any_script() -> None:
    for tgt_lang in ("zh-Hant", "de"):
        text = recipe_text(
            CorpusConfig(path="a.tsv"), survey_of(200), SIZES[0], src_lang="en", tgt_lang=tgt_lang, folder=Path()
        )
        Path("a.toml").write_text(text, encoding="utf-8")
        assert load_recipe("a.toml").recipe.tokenizer.vocab_size == 4000


def test_a_corpus_elsewhere_is_named_by_its_whole_path(here: Path) -> None:
    (here / "recipes").mkdir()
    path, _, _ = new_recipe((tsv(),), src_lang="en", tgt_lang="zh", output=Path("recipes/mine.toml"))
    loaded = load_recipe(str(path))
    assert loaded.recipe.data.corpora[0].path == str(here / "corpus.tsv")
    assert loaded.name == "mine"


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=20))
def test_any_file_name_survives_the_recipe(name: str) -> None:
    corpus = CorpusConfig(path=f"my{name}.tsv")
    text = recipe_text(corpus, survey_of(100), SIZES[0], src_lang="en", tgt_lang="zh", folder=Path())
    assert tomllib.loads(text)["data"]["corpora"][0]["path"] == f"my{name}.tsv"


def test_columns_can_be_named() -> None:
    file = write("corpus.tsv", ["id\tenglish\tchinese", *(f"7\t{src}\t{tgt}" for src, tgt in PAIRS)])
    path, survey, _ = new_recipe((file,), src_lang="en", tgt_lang="zh", columns=("english", "chinese"))
    assert survey.samples[0] == PAIRS[0]
    assert load_recipe(str(path)).recipe.data.corpora[0].src_column == "english"


def test_rows_without_text_on_both_sides_are_no_pairs() -> None:
    file = write("corpus.tsv", [*(f"{src}\t{tgt}" for src, tgt in PAIRS), "alone", "\t", " \t空", "one\t "])
    with file.open("ab") as more:
        more.write(b"broken \xff\t\xe5\x8f\xa5\nbroken\t\xe5\n")
    path, survey, size = new_recipe((file,), src_lang="en", tgt_lang="zh")
    assert (survey.n_rows, survey.n_pairs) == (126, 120)
    assert what_next(path, survey, size).startswith("120 pairs (126 rows), such as\n  This is sentence number 0.\n")
    shown = what_next(path, survey, size)
    assert "\nleft out: 1 sources are not UTF-8 (from GBK: `iconv -f GB18030 -t UTF-8 OLD > NEW`" in shown
    assert "\nleft out: 1 targets are not UTF-8 (" in shown


def test_long_pairs_are_shown_in_80_columns() -> None:
    survey = Survey(n_rows=100, n_pairs=100, samples=[("long " * 50, "很长的句子" * 50), ("x" * 76, "句" * 38)])
    shown = what_next(Path("a.toml"), survey, SIZES[0]).split("\n")
    assert max(cell_len(line) for line in shown[1:5]) <= 80
    assert [line.endswith("…") for line in shown[1:5]] == [True, True, False, False]


def test_a_file_without_pairs_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"corpus.tsv: 0 of 2 rows have text on both sides; training needs at least 100"
    ):
        new_recipe((write("corpus.tsv", ["\t", "\t"]),), src_lang="en", tgt_lang="zh")
    assert not Path("corpus.toml").exists()


def test_a_hundred_pairs_are_enough_and_one_less_is_not() -> None:
    def taken(n_pairs: int) -> int:
        files = write(f"{n_pairs}.en", ENGLISH[:n_pairs]), write(f"{n_pairs}.zh", CHINESE[:n_pairs])
        return new_recipe(files, src_lang="en", tgt_lang="zh")[1].n_pairs

    assert taken(100) == 100
    with pytest.raises(DataError, match="99 of 99 rows have text on both sides; training needs at least 100 pairs"):
        taken(99)


def test_a_file_in_another_encoding_is_told_with_what_mends_it() -> None:
    Path("corpus.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS), encoding="gb18030")
    with pytest.raises(DataError) as error:
        new_recipe((Path("corpus.tsv"),), src_lang="en", tgt_lang="zh")
    assert str(error.value).startswith(
        "corpus.tsv: 0 of 120 rows have text on both sides, "
        "120 targets are not UTF-8 "
        "(from GBK: `iconv -f GB18030 -t UTF-8 OLD > NEW`, from Western Europe: `-f WINDOWS-1252`); "
    )


def test_two_empty_files_are_refused() -> None:
    with pytest.raises(DataError, match=r"a\.en and a\.zh: 0 of 0 rows"):
        new_recipe((write("a.en", []), write("a.zh", [])), src_lang="en", tgt_lang="zh")


def test_sides_of_unequal_length_are_refused() -> None:
    with pytest.raises(DataError, match=r"a.en has 120 lines and a.zh has 119: they must be equal"):
        new_recipe((write("a.en", ENGLISH), write("a.zh", CHINESE[:-1])), src_lang="en", tgt_lang="zh")


def test_a_language_that_the_memory_does_not_hold_is_named_beside_those_it_does() -> None:
    with pytest.raises(DataError, match=r"no unit in both en and de, it holds en-GB, zh-CN"):
        new_recipe((tmx(),), src_lang="en", tgt_lang="de")


def test_a_memory_with_several_regions_of_a_language_is_read_in_the_one_asked_for() -> None:
    sides = {"en": "A bus number {0}.", "pt-PT": "Um autocarro número {0}.", "pt-BR": "Um ônibus número {0}."}
    unit = "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in sides.items())
    units = "".join(f"<tu>{unit.format(n)}</tu>" for n in range(120))
    memory = write("memory.tmx", [f'<tmx version="1.4"><header/><body>{units}</body></tmx>'])
    path, survey, _ = new_recipe((memory,), src_lang="English", tgt_lang="pt-BR")
    assert survey.samples[0] == ("A bus number 0.", "Um ônibus número 0.")
    data = load_recipe(path).recipe.data
    assert (data.src_lang, data.tgt_lang) == ("en", "pt-BR")


def test_swapped_sides_are_noticed() -> None:
    with pytest.raises(DataError, match=r"the sides seem to be swapped: '这是第0个句子。' should be en"):
        new_recipe((write("a.zh", CHINESE), write("a.en", ENGLISH)), src_lang="en", tgt_lang="zh")


def test_of_a_text_without_line_ends_the_beginning_tells_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("yiwen.newrecipe.is_in", lambda prose, *_, **__: seen.append(len(prose)) or True)
    endless = " ".join(ENGLISH * 100)
    write("a.en", [*ENGLISH, endless])
    write("a.zh", [*CHINESE, endless])
    _, survey, _ = new_recipe((Path("a.en"), Path("a.zh")), src_lang="en", tgt_lang="zh")
    assert survey.n_pairs == len(ENGLISH) + 1
    assert max(seen) == 10_000 < len(endless)


@pytest.mark.parametrize(
    ("said", "asked", "told", "right"),
    [("他们说这是书", "zh-TW", "Simplified", "zh-Hans"), ("他們說這是書", "zh", "Traditional", "zh-Hant")],
)
def test_translations_in_the_other_script_of_chinese_are_noticed(said: str, asked: str, told: str, right: str) -> None:
    lines = [f"they say that this is book {n}\t{said} {n}" for n in range(100)]
    path = write("corpus.tsv", lines)
    with pytest.raises(ConfigError, match=rf"the translations are Chinese \({told}\); give --to {right}"):
        new_recipe((path,), src_lang="en", tgt_lang=asked)
    new_recipe((path,), src_lang="en", tgt_lang=right)


def test_swapped_sides_in_one_script_are_noticed() -> None:
    french = [f"Voici la phrase numéro {n} de cette longue collection." for n in range(120)]
    english = [f"This is sentence number {n} of this long collection." for n in range(120)]
    with pytest.raises(DataError, match=r"seem to be swapped: 'Voici la phrase numéro 0 .*' should be en and"):
        new_recipe((write("a.en", french), write("a.fr", english)), src_lang="en", tgt_lang="fr")
    new_recipe((write("b.en", english), write("b.fr", french)), src_lang="en", tgt_lang="fr")


@pytest.mark.parametrize(
    "header", ["ZH\tEN", "zh-CN\ten-US", "n\tzh_Hans\ten_GB", "Chinese\tEnglish", "translation.zh\ttranslation.en"]
)
def test_columns_are_found_however_their_language_is_spelt(header: str) -> None:
    *_, zh, en = names = header.split("\t")
    before = "7\t" * (len(names) - 2)
    tsv = write("corpus.tsv", [header, *(f"{before}{tgt}\t{src}" for src, tgt in PAIRS)])
    json_lines = write("rows.jsonl", [json.dumps({zh: tgt, en: src}) for src, tgt in PAIRS])
    for file in (tsv, json_lines):
        path, survey, _ = new_recipe((file,), src_lang="en", tgt_lang="zh")
        assert (survey.n_rows, survey.samples[0]) == (120, PAIRS[0])
        (corpus,) = load_recipe(str(path)).recipe.data.corpora
        assert (corpus.src_column, corpus.tgt_column) == (en, zh)


def test_unknown_columns_are_refused() -> None:
    how = r"name .* with src_column and tgt_column \(`yiwen new`: --src-column, --tgt-column\)"
    with pytest.raises(DataError, match=f"corpus.jsonl: the first line has no text under 'src', it begins .*; {how}"):
        new_recipe((write("corpus.jsonl", ['{"a": "x", "b": {"c": "y"}}']),), src_lang="en", tgt_lang="zh")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": ["x"], "b": [{"c": "y"}]}), "corpus.parquet")
    with pytest.raises(DataError, match=rf"has the columns a, b\.c and not one named 'src'; {how}"):
        new_recipe((Path("corpus.parquet"),), src_lang="en", tgt_lang="zh")
    with pytest.raises(DataError, match=r"corpus.jsonl: the first line has no text under 'src'"):
        new_recipe((write("corpus.jsonl", ["no JSON"]),), src_lang="en", tgt_lang="zh")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match=r"nowhere\.tsv does not exist"):
        new_recipe((Path("nowhere.tsv"),), src_lang="en", tgt_lang="zh")
    with pytest.raises(DataError, match=r"nowhere does not exist"):
        new_recipe((Path("nowhere"),), src_lang="en", tgt_lang="zh")


def test_an_existing_recipe_is_never_overwritten() -> None:
    Path("corpus.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"corpus\.toml exists already; give another --output, or remove it first"):
        new_recipe((tsv(),), src_lang="en", tgt_lang="zh")
    assert Path("corpus.toml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("recipe.txt", "is not a .toml file; a recipe's name ends in .toml"),
        ("no/such.toml", "the folder no does not exist"),
    ],
)
def test_an_output_that_cannot_be_is_refused(output: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        new_recipe((tsv(),), src_lang="en", tgt_lang="zh", output=Path(output))


@pytest.mark.parametrize(
    ("languages", "message"),
    [(("en", "English"), "--from and --to are both en"), (("English!", "zh"), "use a code such as en, de")],
)
def test_languages_that_cannot_be_are_refused(languages: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        new_recipe((tsv(),), src_lang=languages[0], tgt_lang=languages[1])


def test_a_file_of_another_form_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"'corpus.xlsx' has none of the suffixes .*; convert it, a spreadsheet to CSV"
    ):
        new_recipe((write("corpus.xlsx", ["a"]),), src_lang="en", tgt_lang="zh")


def test_a_json_array_is_refused_with_what_makes_lines_of_it() -> None:
    with pytest.raises(DataError, match=r"it begins .*; make lines of the array: `jq -c '\.\[\]' OLD > NEW`"):
        new_recipe((write("corpus.json", ['[{"en": "A dog.", "zh": "狗。"}]']),), src_lang="en", tgt_lang="zh")


def test_three_files_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 files were given; give one file of pairs, or one of each language"):
        new_recipe((Path("a"), Path("b"), Path("c")), src_lang="en", tgt_lang="zh")


def test_a_stop_signal_is_heard_while_counting() -> None:
    stop = StopFlag()
    stop.signum = signal.SIGINT
    with pytest.raises(Stopped, match="stopped by SIGINT during counting pairs"):
        new_recipe((tsv(),), src_lang="en", tgt_lang="zh", stop=stop)
    assert not Path("corpus.toml").exists()


@pytest.mark.parametrize(
    ("names", "first"), [(("a.tsv", "b.tsv"), "a"), (("a.tsv", "b.txt"), "a"), (("a.txt", "b.tsv"), "b")]
)
def test_a_file_of_pairs_is_no_side_of_two(tmp_path: Path, names: tuple[str, str], first: str) -> None:
    files = tmp_path / names[0], tmp_path / names[1]
    for file in files:
        file.write_text("one\tbat\n" * 600, encoding="utf-8")
    rule = rf"{first}\.tsv holds pairs; give it alone, and others as \[\[data\.corpora\]\] of the recipe"
    with pytest.raises(ConfigError, match=rule):
        new_recipe(files, src_lang="en", tgt_lang="eu", output=tmp_path / "r.toml")


def test_files_that_are_named_for_the_other_language_are_refused(tmp_path: Path) -> None:
    for name in ("y.es", "y.gn"):
        (tmp_path / name).write_text("x\n" * 600, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"y\.es is named for es and comes first; swap the files, or --from and --to"):
        new_recipe((tmp_path / "y.es", tmp_path / "y.gn"), src_lang="gn", tgt_lang="es", output=tmp_path / "r.toml")


def test_a_packed_table_is_found_by_its_plain_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "id\ten\teu\n" + "".join(f"{n}\tthe house {n}\tetxea {n}\n" for n in range(600))
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    monkeypatch.chdir(tmp_path)
    _, survey, _ = new_recipe((Path("c.tsv"),), src_lang="en", tgt_lang="eu", output=Path("r.toml"))
    assert survey.samples[0] == ("the house 0", "etxea 0")
