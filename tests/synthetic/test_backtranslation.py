"""Back-translation: text becomes pairs, made sources are tagged, what is left out is counted, nothing is done twice."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from rich.console import Console
from teachers import Teacher, lines

from tiny_model import TinyRun, signed
from yiwen.data.report import print_report
from yiwen.data.store import Store
from yiwen.errors import ConfigError, DataError
from yiwen.preparing import prepare_recipe
from yiwen.recipe import load_recipe
from yiwen.stop import StopFlag
from yiwen.synthetic import shards
from yiwen.synthetic.backtranslate import BackTranslated, back_translate
from yiwen.synthetic.teacher import Teachers
from yiwen.text.subword import Subword
from yiwen.translator import Translation, Translator


@pytest.fixture
def text(tiny_run: TinyRun, tmp_path: Path) -> Path:
    """Text in the language that the tiny model translates, with what is no sentence among it."""
    lines = (tiny_run.recipe.parent / "train.en").read_bytes().split(b"\n")[:700]
    path = tmp_path / "mono.en"
    path.write_bytes(b"\n".join([*lines[:100], b"", b"\xff\xfe broken", b"1234 5678", lines[7], *lines[100:], b""]))
    return path


def made_by(teacher: Teacher, *texts: Path, **options: Any) -> BackTranslated:
    return back_translate(Teachers(folder=teacher.bundle.folder), texts, **options)


def test_every_text_stands_beside_a_tagged_source_made_from_it(teacher: Teacher, text: Path) -> None:
    done = made_by(teacher, text)
    sources, targets = lines(done, "corpus-0.de"), lines(done, "corpus-0.en")
    assert targets == teacher.asked
    assert sources == [f"<2bt> {target[::-1]}" for target in targets]
    assert len(sources) == done.made.n_pairs == done.made.n_translated > 600
    given = text.read_bytes().split(b"\n")
    assert {target.encode() for target in targets} <= set(given)


def test_what_is_left_out_is_counted(teacher: Teacher, text: Path) -> None:
    answers = {0: Translation("half", 0.0, flags=("cut",)), 1: Translation(" ", 0.0)}
    order: dict[str, int] = {}

    def answer(text: str) -> Translation:
        number = order.setdefault(text, len(order))
        return Translation(text.upper(), 0.0) if number == 2 else answers.get(number, Translation(text[::-1], 0.0))

    teacher.answer = answer
    done = made_by(teacher, text)
    dropped = {item.reason: item.count for item in done.report.dropped}
    assert (dropped["empty side"], dropped["invalid UTF-8"], dropped["too few letters"]) == (1, 1, 1)
    assert dropped["duplicate pair"] >= 1
    assert done.made.left_out == {"cut": 1, "empty": 1, "copied": 1}
    assert done.report.read == 704 == done.report.kept + sum(dropped.values())
    assert done.made.n_pairs == done.report.kept - 3


def test_forwards_translations_stand_as_targets_beside_the_text(teacher: Teacher, text: Path) -> None:
    back, forward = made_by(teacher, text), made_by(teacher, text, forward=True)
    assert forward.made.n_translated == 0  # the same translations
    assert lines(forward, "corpus-0.en") == lines(back, "corpus-0.en")
    assert lines(forward, "corpus-0.de") == [source[::-1] for source in lines(forward, "corpus-0.en")]
    corpus = tomllib.loads(forward.recipe_lines)["data"]["corpora"][0]
    folder = forward.made.folder
    assert corpus == {"src": f"{folder}/corpus-0.en", "tgt": f"{folder}/corpus-0.de", "train_only": True}


def test_without_a_tag_sources_are_as_the_teacher_wrote_them(teacher: Teacher, text: Path) -> None:
    tagged, plain = made_by(teacher, text), made_by(teacher, text, tag="")
    assert lines(plain, "corpus-0.de") == [source.removeprefix("<2bt> ") for source in lines(tagged, "corpus-0.de")]
    assert plain.made.n_translated == 0
    assert "symbols" not in plain.recipe_lines


def test_the_lines_for_a_recipe_are_toml_whatever_the_folder_is_called(
    teacher: Teacher, text: Path, tmp_path: Path
) -> None:
    folder = tmp_path / 'say "hi" \\ there'
    folder.mkdir()
    done = made_by(teacher, text, tag='a"b', output=folder / "made")
    first, *corpora = done.recipe_lines.split("\n")
    assert tomllib.loads("\n".join(corpora))["data"]["corpora"][0]["tgt"] == str(folder / "made" / "corpus-0.en")
    assert tomllib.loads(first.removeprefix("# [tokenizer] ")) == {"symbols": ['a"b']}


@pytest.mark.parametrize("suffix", [".en.gz", ".tsv", ".jsonl", ".tmx", ".conll"])
def test_text_may_come_in_any_form(teacher: Teacher, text: Path, suffix: str, tmp_path: Path) -> None:
    kept = lines(made_by(teacher, text), "corpus-0.en")
    other = tmp_path / f"other{suffix}"
    match suffix:
        case ".en.gz":
            other.write_bytes(gzip.compress(text.read_bytes()))
        case ".tsv":
            other.write_text("id\ttext\n" + "".join(f"{n}\t{line}\n" for n, line in enumerate(kept)), encoding="utf-8")
        case ".jsonl":
            other.write_text("".join(json.dumps({"text": line}) + "\n" for line in kept), encoding="utf-8")
        case ".tmx":
            units = (f'<tu><tuv xml:lang="en"><seg>{line}</seg></tuv></tu>' for line in kept)
            other.write_text(f'<tmx version="1.4"><body>{"".join(units)}</body></tmx>', encoding="utf-8")
        case ".conll":
            other.write_text("".join(line.replace(" ", " O\n") + " O\n\n" for line in kept), encoding="utf-8")
    again = made_by(teacher, other, column="text" if suffix in (".tsv", ".jsonl") else "src")
    assert lines(again, "corpus-0.en") == kept
    assert again.made.n_translated == 0  # the same text, wherever it lies


def test_after_a_kill_only_the_missing_shards_are_translated(teacher: Teacher, text: Path) -> None:
    teacher.until_killed = 400
    with pytest.raises(KeyboardInterrupt):
        made_by(teacher, text)
    teacher.until_killed = 10**9
    assert (done := made_by(teacher, text)).made.n_translated == done.made.n_pairs - 300


def test_two_texts_stay_apart_so_that_each_can_have_a_weight(teacher: Teacher, text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Deti gedi bapu.\n", encoding="utf-8")
    done = made_by(teacher, text, other)
    assert lines(done, "corpus-1.en") == ["Deti gedi bapu."]
    assert done.recipe_lines.count("[[data.corpora]]") == 2


def test_the_lines_for_a_recipe_prepare_and_keep_the_tag_in_one_piece(
    teacher: Teacher, text: Path, tiny_run: TinyRun, tmp_path: Path
) -> None:
    done = made_by(teacher, text)
    first, *corpora = done.recipe_lines.split("\n")
    assert tomllib.loads(first.removeprefix("# [tokenizer] ")) == {"symbols": ["<2bt>"]}
    assert corpora[-1] == "train_only = true"
    recipe = tmp_path / "new.toml"
    recipe.write_text(
        '[data]\nsrc_lang = "de"\ntgt_lang = "en"\nvalid_pairs = 11\ntest_pairs = 0\n' + "\n".join(corpora)
        + f'\n[[data.corpora]]\nsrc = "{tiny_run.recipe.parent}/valid.de"\ntgt = "{tiny_run.recipe.parent}/valid.en"\n'
        '[tokenizer]\nvocab_size = 340\nsymbols = ["<2bt>"]\n', encoding="utf-8",
    )  # fmt: skip
    prepared = prepare_recipe(load_recipe(str(recipe)), stop=StopFlag())
    assert prepared.report.corpora[0][2] > 0.9 * done.made.n_pairs
    store = Store.open(prepared.folder)
    tag = store.source.encode(["<2bt>"])[0][-1]
    rows = np.flatnonzero(store.corpus == 0)
    assert all(tag in ids.tolist() for ids in store.src_ids(rows))
    assert store.source.pieces([tag]) == ["<2bt>"]
    assert "<2bt>" not in str(prepared.report.notes)


def test_a_tag_that_the_vocabulary_would_cut_is_noted(teacher: Teacher, text: Path, tmp_path: Path) -> None:
    corpora = made_by(teacher, text).recipe_lines.split("\n")[1:]
    recipe = tmp_path / "new.toml"
    recipe.write_text(
        '[data]\nsrc_lang = "de"\ntgt_lang = "en"\nvalid_pairs = 0\ntest_pairs = 0\n'
        + "\n".join([*corpora, "[tokenizer]\nvocab_size = 340\n"]),
        encoding="utf-8",
    )
    notes = prepare_recipe(load_recipe(str(recipe)), stop=StopFlag()).report.notes
    said = 'the tag <2bt> is cut to pieces; learn one with "<2bt>" in tokenizer.symbols'
    assert f"the vocabulary does not fit the text: {said}" in notes


def test_the_report_of_text_in_one_language_has_no_targets(teacher: Teacher, text: Path) -> None:
    report = made_by(teacher, text).report
    assert (report.src_tokens > 0, report.tgt_tokens) == (True, 0)
    out = io.StringIO()
    print_report(report, Console(file=out))
    assert re.findall(r"^(source|target) ", out.getvalue(), re.MULTILINE) == ["source"]


def test_samples_of_a_shard_do_not_depend_on_what_was_there_before(
    tiny_run: TinyRun, text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shards, "SHARD_ROWS", 30)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    text.write_bytes(b"\n".join(text.read_bytes().split(b"\n")[:97]))
    draws = {"sampling": True, "temperature": 2.0, "max_len_extra": 3}
    teachers = Teachers(folder=tiny_run.best, search=draws, threads=1)
    whole = back_translate(teachers, [text])
    sources = lines(whole, "corpus-0.de")
    folder = whole.made.folder
    shutil.rmtree(folder.parent / "shard-000000000")
    shutil.rmtree(folder)
    again = back_translate(teachers, [text])
    assert again.made.n_translated == 30
    assert lines(again, "corpus-0.de") == sources
    assert len(set(sources)) > 0.8 * len(sources)
    beam = back_translate(Teachers(folder=tiny_run.best, threads=1), [text])
    found = Translator.load(tiny_run.best, threads=1).translate(lines(beam, "corpus-0.en")[:7], checks=False)
    assert lines(beam, "corpus-0.de")[:7] == [f"<2bt> {each}" for each in found]


def test_a_link_in_a_folder_that_may_not_be_written_is_refused_before_the_teacher_works(
    teacher: Teacher, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # root may write everywhere
    with pytest.raises(ConfigError, match="made cannot be a link: give a free name in a folder of yours that is there"):
        back_translate(Teachers(folder=tmp_path / "model"), [text], output=tmp_path / "made")
    assert teacher.asked == []


def test_a_link_to_something_else_is_not_replaced(teacher: Teacher, text: Path, tmp_path: Path) -> None:
    (link := tmp_path / "made").symlink_to(text.parent)
    with pytest.raises(ConfigError, match="made cannot be a link: give a free name in a folder of yours that is there"):
        made_by(teacher, text, output=link)
    assert (link.resolve(), teacher.asked) == (text.parent.resolve(), [])


def test_a_tag_with_a_blank_is_refused_before_anything_else(teacher: Teacher, text: Path) -> None:
    with pytest.raises(ConfigError, match="holds '<2 bt>'; a symbol is normalised text without spaces"):
        made_by(teacher, text, tag="<2 bt>")
    with pytest.raises(ConfigError, match="--tag '<BT>' looks like markup, for which `yiwen prepare` drops pairs; use"):
        made_by(teacher, text, tag="<BT>")


def test_text_that_is_not_there_or_of_no_use_is_named(teacher: Teacher, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.en does not exist"):
        made_by(teacher, tmp_path / "none.en")
    (tmp_path / "empty.en").write_text("\n\n", encoding="utf-8")
    with pytest.raises(DataError, match="no pair of 2 is left"):
        made_by(teacher, tmp_path / "empty.en")


def test_another_tag_makes_other_pairs_of_the_same_translations(teacher: Teacher, text: Path) -> None:
    first, second = made_by(teacher, text), made_by(teacher, text, tag="<2syn>")
    assert second.made.n_translated == 0
    assert lines(second, "corpus-0.de")[0] == lines(first, "corpus-0.de")[0].replace("<2bt>", "<2syn>")


def test_translations_belong_to_the_model_that_made_them(teacher: Teacher, text: Path, tmp_path: Path) -> None:
    """Training may point `best` at another model while the text is being prepared."""
    (first := tmp_path / "first").symlink_to(teacher.bundle.folder)
    other = tmp_path / "other"
    shutil.copytree(teacher.bundle.folder, other)
    made_by(teacher, text)
    n_asked = len(teacher.asked)
    teacher.bundle = dataclasses.replace(teacher.bundle, folder=first)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"model.safetensors": "0" * 64}))
    first.unlink()
    first.symlink_to(other)
    made_by(teacher, text)
    assert len(teacher.asked) == n_asked, "what this model made is found again, whatever the link says now"


def test_what_people_wrote_stays_as_it_was_with_a_vocabulary_that_cannot_spell_it(
    teacher: Teacher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written := tmp_path / "mono.en").write_text("Deti gedi bapu.\n" * 50, encoding="utf-8")
    trainer = sentencepiece.SentencePieceTrainer
    trainer.train(
        input=str(written), model_prefix=str(tmp_path / "foreign"), vocab_size=17, hard_vocab_limit=False,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3,
    )  # fmt: skip
    subword = Subword.load(tmp_path / "foreign.model")
    assert not subword.has_bytes
    bundle = tmp_path / "teacher"
    shutil.copytree(teacher.bundle.folder, bundle)
    shutil.copyfile(tmp_path / "foreign.model", bundle / "shared.spm")
    signed(bundle)
    monkeypatch.setattr(teacher, "bundle", dataclasses.replace(teacher.bundle, folder=bundle, source=subword))
    (text := tmp_path / "text.en").write_text("Deti Zürich ①，鹭 gedi.\n", encoding="utf-8")
    done = made_by(teacher, text)
    assert lines(done, "corpus-0.en") == teacher.asked == ["Deti Zürich ①，鹭 gedi."]


def test_a_wrong_search_setting_is_refused_before_the_text_is_prepared(
    teacher: Teacher, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yiwen.synthetic.backtranslate.prepare", lambda *_, **__: pytest.fail("prepared"))
    with pytest.raises(ConfigError, match=r"search\.beam_size is 0"):
        back_translate(Teachers(folder=teacher.bundle.folder, search={"beam_size": 0}), [text])
