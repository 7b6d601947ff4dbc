"""The demo: the whole way in a few steps, told in 80 columns, and careful with what it finds."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.cells import cell_len

from yiwen.cli.main import main
from yiwen.errors import ConfigError, Stopped
from yiwen.files import one_writer
from yiwen.recipe import LoadedRecipe, load_recipe
from yiwen.stop import GO_ON
from yiwen.translator import Translator

TINY = [
    "--pairs=1500",
    "--set=training.max_steps=60",
    "--set=training.batch_tokens=400",
    "--set=training.warmup_steps=5",
    "--set=training.threads=1",
    "--set=model.d_model=16",
    "--set=model.n_heads=2",
    "--set=model.d_ff=16",
    "--set=model.n_encoder_layers=1",
    "--set=model.n_decoder_layers=1",
    "--set=tokenizer.vocab_size=900",
]


@dataclass(frozen=True)
class Shown:
    """What a demo left behind: its folder, what it told and its JSON."""

    folder: Path
    told: str
    result: dict[str, object]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """One tiny demo, as a user starts it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("YIWEN_RUNS", raising=False)
        patch.setenv("YIWEN_DEMO", "to be replaced, and put back by monkeypatch")
        patch.setenv("OMP_NUM_THREADS", "1")
        yield run_demo(folder, *TINY, "--text", "Peter sees a quokka.", "--text", "\u200b ", "--json")


def run_demo(folder: Path, *arguments: str) -> Shown:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["demo", *arguments])
    assert code == 0, err.getvalue()
    return Shown(folder, err.getvalue(), json.loads(out.getvalue().rstrip("\n").split("\n")[-1]))


def test_every_stage_is_told_with_its_time(tour: Shown) -> None:
    headings = [line for line in tour.told.split("\n") if line.startswith("── ")]
    assert [line.split()[1] for line in headings] == ["1/6", "2/6", "3/6", "4/6", "5/6", "6/6"]
    times = [float(line.removesuffix(" s").split()[-1]) for line in headings]
    assert times == sorted(times)


def test_no_line_is_wider_than_80_columns(tour: Shown) -> None:
    assert max(cell_len(line) for line in tour.told.split("\n")) <= 80


def test_the_json_says_bleu_and_seconds_and_agrees_with_what_was_told(tour: Shown) -> None:
    assert sorted(tour.result) == ["bleu", "run", "seconds", "signature", "translations"]
    assert f"BLEU {tour.result['bleu']:.2f}, chrF2" in tour.told
    assert "tok:zh" in str(tour.result["signature"])
    assert str(tour.result["signature"]) in tour.told
    assert isinstance(tour.result["seconds"], float)


def test_the_model_shown_is_the_model_kept(tour: Shown) -> None:
    translations = tour.result["translations"]
    assert isinstance(translations, list)
    assert len(translations) == 5  # four held-out sentences and the user's; a blank one is left out
    assert translations[4]["text"] == "Peter sees a quokka."
    translator = Translator.load(tour.folder / "runs" / "demo-en-zh" / "best")
    found = translator.translate([pair["text"] for pair in translations])
    assert [str(translation) for translation in found] == [pair["translation"] for pair in translations]


def test_words_it_has_never_seen_are_named(tour: Shown) -> None:
    assert "(a guess: the training text has no sees, quokka)" in tour.told


def test_the_attention_of_the_users_sentence_is_drawn(tour: Shown) -> None:
    picture = tour.told.partition("── 6/6")[2]
    assert "┌" in picture
    assert "░ 5%  ▒ 20%  ▓ 40%  █ 70%" in picture
    heads = zip(*(line.ljust(80) for line in picture.partition("┌")[0].split("\n")[1:]), strict=True)
    assert "quokka" in ["".join(column).strip() for column in heads]


def test_what_to_type_next_exists(tour: Shown) -> None:
    assert "yiwen translate runs/demo-en-zh/best" in tour.told
    assert "yiwen evaluate runs/demo-en-zh/best" in tour.told
    assert "yiwen inspect runs/demo-en-zh/best 'Is Paris colder than London?'" in tour.told
    assert main(["translate", "runs/demo-en-zh/best", "--input", "runs/demo/valid.en", "--output", "out.zh"]) == 0
    assert Path("out.zh").read_bytes().count(b"\n") == 75


@pytest.mark.slow
def test_a_second_demo_replaces_the_first_and_keeps_the_text(tour: Shown) -> None:
    train = tour.folder / "runs" / "demo" / "train.en"
    before = train.stat().st_mtime_ns
    marker = tour.folder / "runs" / "demo-en-zh" / "marker"
    marker.touch()
    again = run_demo(tour.folder, *TINY, "--json")
    assert "the earlier demo in runs/demo-en-zh is replaced" in again.told
    assert again.result["bleu"] == tour.result["bleu"]
    assert not marker.exists()
    assert train.stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["recipe.toml", "thesis.txt"])
def test_what_is_no_demo_is_never_replaced_nor_joined_by_what_the_next_demo_removes(
    name: str, tour: Shown, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text('[data]\nsrc_lang = "en"\n', encoding="utf-8")
    for run in (tmp_path, tmp_path / name):
        assert main(["demo", *TINY, "--run", str(run)]) == 2
        said = f"{run} holds something else than a demo and would be removed; give another --run FOLDER"
        assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_demo_whose_training_never_began_is_no_hindrance(
    tour: Shown, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tour.folder)
    arguments = ["demo", *TINY, "--run", "begun"]

    def refused(run: Path, loaded: LoadedRecipe) -> None:
        raise ConfigError("not on this machine")

    with monkeypatch.context() as patched:
        patched.setattr("yiwen.runs._settle", refused)
        assert main(arguments) == 2
    assert [path.name for path in (tour.folder / "begun").iterdir() if path.is_file()] == ["lock"]
    assert main(arguments) == 0


def test_a_stopped_demo_says_that_it_starts_anew(
    tour: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(*given: object, **options: object) -> None:
        raise Stopped(f"stopped by SIGINT during training; step 3 is saved, {GO_ON}", signum=2)

    monkeypatch.chdir(tour.folder)
    monkeypatch.setattr("yiwen.tour.train_recipe", train)
    assert main(["demo", *TINY, "--run", str(tmp_path / "run")]) == 130
    assert "step 3 is saved, the next demo starts anew\n" in capsys.readouterr().err


def test_a_demo_that_is_still_running_is_left_alone(tour: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    with one_writer(tour.folder / "runs" / "demo-en-zh"):
        assert main(["demo", *TINY]) == 1
    assert f"is being written by process {os.getpid()}" in capsys.readouterr().err
    assert (tour.folder / "runs" / "demo-en-zh" / "best").is_dir()


def test_a_folder_named_demo_with_something_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "recipe.toml").touch()
    assert main(["demo", *TINY]) == 2
    assert "is needed for the demo's text and holds something else; rename it" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["recipe.toml"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("training.max_stepz=3", "did you mean 'max_steps'?"),
        ('evaluation.metrics=["bleu"]', "evaluation.metrics lacks bleu or chrf, which the demo shows; name both"),
        ('evaluation.metrics=["chrf"]', "evaluation.metrics lacks bleu or chrf"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_is_written(
    setting: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    assert main(["demo", "--set", setting]) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["runs/demo", "runs", "."])
def test_the_run_cannot_lie_where_the_text_does_nor_hold_all_runs(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    assert main(["demo", *TINY, "--run", str(tmp_path / place)]) == 2
    assert "is where the demo's text lies; give another folder" in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_too_few_pairs_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path))
    assert main(["demo", "--pairs", "10"]) == 2
    assert "--pairs 10; use 20 or more" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_recipe_has_a_model_of_the_size_it_says() -> None:
    model = load_recipe("demo-en-zh").recipe.model
    assert (model.d_model, model.n_encoder_layers, model.n_decoder_layers) == (128, 3, 3)
