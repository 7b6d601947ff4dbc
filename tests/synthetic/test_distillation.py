"""Distillation: the teacher's text is made once, survives kills, and becomes an ordinary recipe."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sentencepiece import SentencePieceTrainer
from teachers import Teacher, lines

from tiny_model import TinyRun, signed, tampered
from yiwen.bundle import open_bundle, save_bundle
from yiwen.config import to_toml
from yiwen.data.store import Store
from yiwen.errors import CheckpointError, ConfigError, DataError, Stopped, TrainingError
from yiwen.files import one_writer
from yiwen.preparing import prepare_recipe
from yiwen.recipe import LoadedRecipe, load_recipe
from yiwen.stop import StopFlag
from yiwen.synthetic import distil as module
from yiwen.synthetic import shards
from yiwen.synthetic.backtranslate import back_translate
from yiwen.synthetic.distil import Distilled, distil, translate_corpus
from yiwen.synthetic.teacher import Teachers
from yiwen.text.subword import Subword
from yiwen.translator import Translation, Translator


@pytest.fixture
def loaded(tiny_run: TinyRun) -> LoadedRecipe:
    return load_recipe(str(tiny_run.recipe))


def teachers_of(teacher: Teacher, **how: Any) -> Teachers:
    return Teachers(folder=teacher.bundle.folder, **how)


def distilled_by(teacher: Teacher, loaded: LoadedRecipe, *, stop: StopFlag | None = None, **how: Any) -> Distilled:
    return translate_corpus(teachers_of(teacher, **how), loaded, stop=stop)


def test_a_teacher_that_is_no_translator_is_refused(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, tmp_path: Path
) -> None:
    classifier = tampered(tiny_run.best, tmp_path / "c", task="classify", labels=("a", "b"), tgt_lang="")
    with pytest.raises(CheckpointError, match="has task='classify' and is no translator"):
        translate_corpus(Teachers(folder=classifier), loaded)


def test_pairs_of_one_language_are_refused(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, tmp_path: Path
) -> None:
    """Both sides would be written into one file."""
    teacher.bundle = open_bundle(tampered(tiny_run.best, tmp_path / "t", tgt_lang="en"))
    recipe = dataclasses.replace(loaded.recipe, data=dataclasses.replace(loaded.recipe.data, tgt_lang="en"))
    with pytest.raises(ConfigError, match="translates en into itself; give one of two languages"):
        distilled_by(teacher, dataclasses.replace(loaded, recipe=recipe))
    assert teacher.asked == []


def test_every_source_stands_beside_what_the_teacher_wrote(teacher: Teacher, loaded: LoadedRecipe) -> None:
    distilled = distilled_by(teacher, loaded)
    sources, targets = lines(distilled, "corpus-0.en"), lines(distilled, "corpus-0.de")
    given = (loaded.base / "train.en").read_text(encoding="utf-8").split("\n")
    assert set(sources) <= set(given)
    assert len(sources) == len(targets) == distilled.made.n_pairs == distilled.made.n_translated > 1000
    assert targets == [source[::-1] for source in sources]


def test_the_teacher_searches_as_its_bundle_says_for_one_translation(teacher: Teacher, loaded: LoadedRecipe) -> None:
    distilled_by(teacher, loaded)
    assert teacher.search == teacher.bundle.info.search.changed(n_best=1)
    distilled_by(teacher, loaded, search={"beam_size": 3})
    assert teacher.search == teacher.bundle.info.search.changed(n_best=1, beam_size=3)


def test_one_translation_is_searched_for_whatever_the_bundle_gives_and_samples_are_drawn_as_they_come(
    teacher: Teacher, tiny_run: TinyRun, tmp_path: Path
) -> None:
    search = dataclasses.asdict(teacher.bundle.info.search)
    teacher.bundle = open_bundle(tampered(tiny_run.best, tmp_path / "n", search=search | {"n_best": 5}))
    assert teachers_of(teacher, search={"beam_size": 1}).load().bundle is teacher.bundle
    agreeing = search | {"mbr": 16, "sampling": True}
    teacher.bundle = open_bundle(tampered(tiny_run.best, tmp_path / "mbr", search=agreeing))
    for how, mbr in (({}, 16), ({"sampling": True}, 0)):
        back_translate(teachers_of(teacher, search=how), [tiny_run.recipe.with_name("test.en")])
        assert teacher.search == teacher.bundle.info.search.changed(mbr=mbr)
    with pytest.raises(ConfigError, match=r"search\.beam_size: sampling has no beam"):
        teachers_of(teacher, search={"beam_size": 4}).load()


def test_what_is_translated_is_not_translated_again(teacher: Teacher, loaded: LoadedRecipe) -> None:
    first = distilled_by(teacher, loaded)
    teacher.asked.clear()
    again = distilled_by(teacher, loaded)
    assert (teacher.asked, again.made.n_translated) == ([], 0)
    assert (again.made.folder, again.made.n_pairs, again.data) == (first.made.folder, first.made.n_pairs, first.data)


def test_a_bar_is_shown_only_while_there_is_something_to_translate(teacher: Teacher, loaded: LoadedRecipe) -> None:
    for is_new in (True, False):
        console = Console(file=io.StringIO(), force_terminal=True, width=80)
        translate_corpus(teachers_of(teacher), loaded, console=console)
        assert isinstance(console.file, io.StringIO)
        assert ("translating" in console.file.getvalue()) == is_new


def test_after_a_kill_only_the_missing_shards_are_translated(teacher: Teacher, loaded: LoadedRecipe) -> None:
    teacher.until_killed = 700
    with pytest.raises(KeyboardInterrupt):
        distilled_by(teacher, loaded)
    teacher.until_killed = 10**9
    distilled = distilled_by(teacher, loaded)
    assert distilled.made.n_translated == distilled.made.n_pairs - 600
    assert lines(distilled, "corpus-0.de") == [source[::-1] for source in lines(distilled, "corpus-0.en")]


def test_a_damaged_shard_is_translated_again(teacher: Teacher, loaded: LoadedRecipe) -> None:
    first = distilled_by(teacher, loaded)
    text = first.made.folder.parent / "shard-000000300" / shards.TEXT
    text.write_text("damaged\n", encoding="utf-8")
    assert distilled_by(teacher, loaded).made.n_translated == 300
    assert text.read_text(encoding="utf-8").count("\n") == 300


@pytest.mark.parametrize("is_old", [False, True])
def test_a_shard_in_the_place_of_another_is_translated_again(
    teacher: Teacher, loaded: LoadedRecipe, is_old: bool
) -> None:
    """Shards of earlier versions do not say which rows they hold: those of another length are found."""
    made = distilled_by(teacher, loaded).made
    first, second, *_, last = sorted(made.folder.parent.glob("shard-*"))
    shutil.rmtree(first)
    shutil.copytree(last if is_old else second, first)
    if is_old:
        (first / shards.NOTES).write_text("{}", encoding="utf-8")
        signed(first)
    shutil.rmtree(made.folder)
    again = distilled_by(teacher, loaded)
    assert again.made.n_translated == 300
    assert lines(again, "corpus-0.de") == [source[::-1] for source in lines(again, "corpus-0.en")]


def test_another_search_or_other_weights_start_anew(teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun) -> None:
    folders = {
        distilled_by(teacher, loaded).made.folder.parent,
        distilled_by(teacher, loaded, search={"beam_size": 1}).made.folder.parent,
    }
    teacher.bundle = open_bundle(tiny_run.early)
    folders.add(distilled_by(teacher, loaded).made.folder.parent)
    assert len(folders) == 3


def test_other_weights_start_anew_and_another_card_does_not(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, tmp_path: Path
) -> None:
    first = distilled_by(teacher, loaded).made
    other = Path(shutil.copytree(tiny_run.best, tmp_path / "other"))
    (other / "README.md").write_text("Another card.\n", encoding="utf-8")
    teacher.bundle = open_bundle(signed(other))
    assert distilled_by(teacher, loaded).made.folder == first.folder
    shutil.copy(tiny_run.early / "model.safetensors", other)
    teacher.bundle = open_bundle(signed(other))
    assert distilled_by(teacher, loaded).made.folder != first.folder


def test_another_teacher_beside_the_first_starts_anew(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun
) -> None:
    alone = distilled_by(teacher, loaded).made.folder.parent
    together = distilled_by(teacher, loaded, ensemble=[tiny_run.early]).made.folder.parent
    assert together not in (alone, distilled_by(teacher, loaded, ensemble=[tiny_run.best]).made.folder.parent)
    assert distilled_by(teacher, loaded, ensemble=[tiny_run.early]).made.n_translated == 0


def test_what_teachers_made_together_belongs_to_all_that_were_opened(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training may point the `best` of a second teacher at another model while the text is being prepared."""
    (beside := tmp_path / "beside").symlink_to(tiny_run.early)
    made = distilled_by(teacher, loaded, ensemble=[beside]).made
    load = Translator.load

    def load_and_train_on(folder: Path, **how: Any) -> Translator:
        opened = load(folder, **how)
        beside.unlink()
        beside.symlink_to(tiny_run.best)
        return opened

    monkeypatch.setattr(Translator, "load", load_and_train_on)
    again = distilled_by(teacher, loaded, ensemble=[beside]).made
    assert (again.folder, again.n_translated) == (made.folder, 0)


def test_cut_and_empty_translations_are_counted_named_and_left_out(teacher: Teacher, loaded: LoadedRecipe) -> None:
    answers = {0: Translation("half", -1.0, flags=("cut",)), 1: Translation(" ", -1.0)}
    order: dict[str, int] = {}
    teacher.answer = lambda text: answers.get(order.setdefault(text, len(order)), Translation(text[::-1], -1.0))
    distilled = distilled_by(teacher, loaded)
    first, second = list(order)[:2]
    assert set(distilled.made.left_out) == {"cut", "empty"}
    named = [line.split("\t") for line in lines(distilled, "left_out.tsv")]
    assert {(reason, source) for _, reason, source in named} == {("cut", first), ("empty", second)}
    assert named[0][0].startswith("train.en line ")
    assert not {first, second} & set(lines(distilled, "corpus-0.en"))
    assert distilled.made.n_pairs == distilled.made.n_translated - sum(distilled.made.left_out.values())


def test_a_teacher_that_writes_nothing_is_named(teacher: Teacher, loaded: LoadedRecipe) -> None:
    teacher.answer = lambda text: Translation("", 0.0)
    with pytest.raises(
        DataError, match=r"none of \d+ translations can be used \(\{'empty': \d+\}\); look at the teach"
    ):
        distilled_by(teacher, loaded)


def test_given_held_out_text_stays_and_split_off_text_is_written_down(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun
) -> None:
    data = distilled_by(teacher, loaded).data
    assert data.valid is not None
    assert data.valid.src == str(loaded.base / "valid.en")
    own = tiny_run.recipe.with_name("split.toml")
    own.write_text(
        tiny_run.recipe.read_text("utf-8").replace('valid = { src = "valid.en", tgt = "valid.de" }', "valid_pairs = 7")
        .replace('test = { src = "test.en", tgt = "test.de" }', "test_pairs = 0"),
        encoding="utf-8",
    )  # fmt: skip
    distilled = distilled_by(teacher, load_recipe(str(own)))
    assert distilled.data.valid is not None
    assert (distilled.data.test, distilled.data.test_pairs) == (None, 0)
    sources, references = lines(distilled, "valid.en"), lines(distilled, "valid.de")
    assert len(sources) == len(references) == 7
    assert not set(sources) & set(lines(distilled, "corpus-0.en"))
    assert references != [source[::-1] for source in sources]  # written by people, not by the teacher


def test_corpora_stay_apart_so_that_their_weights_hold(teacher: Teacher, tiny_run: TinyRun, tmp_path: Path) -> None:
    text = tiny_run.recipe.read_text(encoding="utf-8")
    three = """corpora = [
      { src = "train.en", tgt = "train.de", weight = 2.0 }, { path = "none.tsv", weight = 3.0 },
      { path = "more.tsv", weight = 1.0 }]"""
    recipe = tiny_run.recipe.with_name("three.toml")
    recipe.write_text(text.replace('corpora = [{ src = "train.en", tgt = "train.de" }]', three), encoding="utf-8")
    recipe.with_name("more.tsv").write_text("src\ttgt\nAnother one here.\tNoch ein Satz hier.\n", encoding="utf-8")
    recipe.with_name("none.tsv").write_text("src\ttgt\n!?!\t!?!\n", encoding="utf-8")  # of which nothing is kept
    distilled = distilled_by(teacher, load_recipe(str(recipe)))
    found = [(Path(corpus.src).name, corpus.weight) for corpus in distilled.data.corpora]
    assert found == [("corpus-0.en", 2.0), ("corpus-2.en", 1.0)]
    assert lines(distilled, "corpus-2.en") == ["Another one here."]
    assert lines(distilled, "corpus-2.de") == [".ereh eno rehtonA"]


def test_sampled_subwords_keep_the_source_as_it_was(teacher: Teacher, tiny_run: TinyRun) -> None:
    plain = distilled_by(teacher, load_recipe(str(tiny_run.recipe)))
    sampled = distilled_by(teacher, load_recipe(str(tiny_run.recipe), ["tokenizer.sampling=0.1"]))
    assert lines(sampled, "corpus-0.en") == lines(plain, "corpus-0.en")
    assert (sampled.made.folder.parent, sampled.made.n_translated) == (plain.made.folder.parent, 0)


def recipe_with(tiny_run: TinyRun, name: str, ending: str) -> Path:
    """A recipe of 400 pairs of the tiny one, whose sides end in something else each."""
    text = tiny_run.recipe.read_text(encoding="utf-8").replace("train.", f"{name}.")
    recipe = tiny_run.recipe.with_name(f"{name}.toml")
    recipe.write_text(text.replace("max_tokens = 24", "max_tokens = 60"), encoding="utf-8")
    for language in ("en", "de"):
        corpus = (tiny_run.recipe.parent / f"train.{language}").read_text(encoding="utf-8").split("\n")[:400]
        ended = [f"{line} {ending.format(number)}\n" for number, line in enumerate(corpus)]
        recipe.with_name(f"{name}.{language}").write_text("".join(ended), encoding="utf-8")
    return recipe


@pytest.mark.parametrize("vocabulary", ["its own", "a model's", "the first model's"])
def test_symbols_for_codes_are_for_the_student_and_the_teacher_reads_the_codes(
    teacher: Teacher, tiny_run: TinyRun, tmp_path: Path, vocabulary: str
) -> None:
    recipe = recipe_with(tiny_run, "codes", "A{}")
    settings = ["tokenizer.placeholders=10", "tokenizer.vocab_size=400"]
    if vocabulary != "its own":
        folder = prepare_recipe(load_recipe(str(recipe), settings), stop=StopFlag()).folder
        settings = [f"tokenizer.model={folder}", "tokenizer.vocab_size=350"]
    if vocabulary == "the first model's":
        store = Store.open(folder)
        source, info = folder / "shared.spm", teacher.bundle.info
        info = dataclasses.replace(info, src_vocab_size=(n := store.source.vocab_size), tgt_vocab_size=n)
        save_bundle(tmp_path / "first", info=info, weights={}, models=(source, source))
        settings = [f"training.init_from={tmp_path / 'first'}"]
    distilled = distilled_by(teacher, load_recipe(str(recipe), settings))
    sources = lines(distilled, "corpus-0.en")
    assert len(sources) > 300
    assert set(sources) <= set(recipe.with_name("codes.en").read_text(encoding="utf-8").split("\n"))


@pytest.mark.parametrize("is_known", [False, True])
def test_a_tag_is_for_the_student_and_for_a_teacher_that_has_learnt_it(
    teacher: Teacher, tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    monkeypatch.setattr(Subword, "has_piece", lambda subword, piece: is_known)
    recipe = recipe_with(tiny_run, "tagged", "")
    untagged = recipe.with_name("tagged.en").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    recipe.with_name("tagged.en").write_text("".join(f"<2bt> {line}\n" for line in untagged), encoding="utf-8")
    distilled = distilled_by(teacher, load_recipe(str(recipe), ["tokenizer.vocab_size=400"]))
    sources = lines(distilled, "corpus-0.en")
    assert len(sources) > 300
    assert all(source.startswith("<2bt> ") for source in sources)
    assert teacher.asked == [source if is_known else source.removeprefix("<2bt> ") for source in sources]


@pytest.mark.parametrize(("has_bytes", "rule"), [(False, "identity"), (True, "nmt_nfkc")])
def test_a_vocabulary_that_loses_text_is_for_the_student_and_the_teacher_reads_the_text(
    teacher: Teacher, tiny_run: TinyRun, tmp_path: Path, has_bytes: bool, rule: str
) -> None:
    SentencePieceTrainer.train(
        input=tiny_run.recipe.parent / "train.en", model_prefix=tmp_path / "ready", vocab_size=320, model_type="bpe",
        byte_fallback=has_bytes, normalization_rule_name=rule, hard_vocab_limit=False, minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3,
    )  # fmt: skip
    recipe = recipe_with(tiny_run, "signs", "\u2460\u8bd1{}\uff0c")
    distilled = distilled_by(teacher, load_recipe(str(recipe), [f"tokenizer.model={tmp_path / 'ready.model'}"]))
    sources = lines(distilled, "corpus-0.en")
    assert len(sources) > 300
    assert set(sources) <= set(recipe.with_name("signs.en").read_text(encoding="utf-8").split("\n"))


def test_a_vocabulary_may_be_that_of_a_model(
    teacher: Teacher, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    students: list[LoadedRecipe] = []
    monkeypatch.setattr(module, "train_recipe", lambda student, **_: students.append(student))
    (tmp_path / "model").symlink_to(tiny_run.best, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    settings = [f"tokenizer.model={os.path.relpath(tmp_path / 'model', tiny_run.recipe.parent)}"]
    distil(teachers_of(teacher), load_recipe(str(tiny_run.recipe), settings))
    assert students[0].recipe.tokenizer.model == str(tmp_path / "model")


def test_other_languages_are_refused_before_anything_is_prepared(
    teacher: Teacher, tiny_run: TinyRun, tmp_path: Path
) -> None:
    n_prepared = len(list((tmp_path / "runs" / ".prepared").iterdir()))
    loaded = load_recipe(str(tiny_run.recipe), ["data.tgt_lang=nl"])
    with pytest.raises(ConfigError, match="translates en -> de, the recipe tiny is for en -> nl; give a teacher and a"):
        distilled_by(teacher, loaded)
    assert len(list((tmp_path / "runs" / ".prepared").iterdir())) == n_prepared


def test_a_missing_teacher_is_named(loaded: LoadedRecipe, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing is not a folder; give a bundle"):
        translate_corpus(Teachers(folder=tmp_path / "nothing"), loaded)


def test_a_stop_signal_ends_the_work_and_whole_shards_stay(teacher: Teacher, loaded: LoadedRecipe) -> None:
    stop = StopFlag()

    def last(text: str) -> Translation:
        stop.signum = 15 if len(teacher.asked) == 450 else None
        return Translation(text, 0.0)

    teacher.answer = last
    with pytest.raises(Stopped, match="SIGTERM during translation"):
        distilled_by(teacher, loaded, stop=stop)
    assert len(teacher.asked) == 450
    distilled = distilled_by(teacher, loaded)
    assert distilled.made.n_translated == distilled.made.n_pairs - 300


def test_two_processes_do_not_translate_the_same(teacher: Teacher, loaded: LoadedRecipe) -> None:
    folder = distilled_by(teacher, loaded).made.folder.parent
    with one_writer(folder), pytest.raises(TrainingError, match="is being written by process"):
        distilled_by(teacher, loaded)


def test_what_made_the_text_is_written_beside_it(teacher: Teacher, loaded: LoadedRecipe) -> None:
    folder = distilled_by(teacher, loaded).made.folder.parent
    told = json.loads((folder / "teacher.json").read_text(encoding="utf-8"))
    assert told["teacher"] == str(teacher.bundle.folder)
    assert (told["engine"], told["search"]["beam_size"]) == ("torch in a test", 5)


def test_training_gets_its_room_for_kernels_whatever_the_teacher_asks_for(
    loaded: LoadedRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oneDNN reads the number once a process, and an engine of torch asks for a larger one."""
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setenv(name, "")
    monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")

    def load(teachers: Teachers) -> Any:
        assert os.environ[name] == "128"
        raise ConfigError("here")

    monkeypatch.setattr(Teachers, "load", load)
    monkeypatch.setattr(module, "_require_same_languages", lambda folder, loaded: None)
    with pytest.raises(ConfigError, match="here"):
        distil(Teachers(folder=Path("teacher")), loaded)


def test_an_existing_run_is_refused_before_the_teacher_works(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, tmp_path: Path
) -> None:
    shutil.copytree(tiny_run.best.parent / "checkpoints", tmp_path / "runs" / "tiny-student" / "checkpoints")
    with pytest.raises(ConfigError, match=r"tiny-student exists already; go on by --resume"):
        distil(teachers_of(teacher), loaded)
    assert teacher.asked == []


def test_a_first_model_of_another_kind_is_refused_before_the_teacher_works(teacher: Teacher, tiny_run: TinyRun) -> None:
    settings = [f"training.init_from={tiny_run.best}", "tokenizer.placeholders=4"]
    with pytest.raises(ConfigError, match=r"is not of this recipe's kind:\n  tokenizer.placeholders: 0 there, 4 here"):
        distil(teachers_of(teacher), load_recipe(str(tiny_run.recipe), settings))
    assert teacher.asked == []


def test_a_student_without_validation_text_is_refused_before_the_teacher_works(
    teacher: Teacher, tiny_run: TinyRun
) -> None:
    loaded = load_recipe(str(tiny_run.recipe), ["data.valid_pairs=0"])
    loaded = dataclasses.replace(
        loaded, recipe=dataclasses.replace(loaded.recipe, data=dataclasses.replace(loaded.recipe.data, valid=None))
    )
    with pytest.raises(DataError, match=r"there is no validation text; set data.valid to a file with text"):
        distil(teachers_of(teacher), loaded)
    assert teacher.asked == []
    assert distilled_by(teacher, loaded).made.n_pairs == len(teacher.asked)  # its text alone can be had


def test_what_a_resumed_student_cannot_change_is_refused_before_the_teacher_works(
    teacher: Teacher, loaded: LoadedRecipe, tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    students: list[LoadedRecipe] = []
    monkeypatch.setattr(module, "train_recipe", lambda student, **_: students.append(student))
    distil(teachers_of(teacher), loaded)
    run = tmp_path / "runs" / "tiny-student"
    shutil.copytree(tiny_run.best.parent / "checkpoints", run / "checkpoints")
    (run / "recipe.toml").write_text(to_toml(students[0].recipe), encoding="utf-8")
    teacher.asked.clear()
    with pytest.raises(ConfigError, match=r"a resumed run cannot change these:\n .*data.corpora") as refused:
        distil(teachers_of(teacher, search={"beam_size": 3}), loaded, resume=True)
    assert "data.valid" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"data.max_tokens: 24 -> 20"):
        distil(teachers_of(teacher), load_recipe(str(tiny_run.recipe), ["data.max_tokens=20"]), resume=True)
    assert teacher.asked == []
    shutil.rmtree(tmp_path / "runs" / ".distilled")  # the same text made again is no other
    distil(teachers_of(teacher), loaded, resume=True)
    assert students[1] == students[0]
