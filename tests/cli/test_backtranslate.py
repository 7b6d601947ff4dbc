"""`yiwen backtranslate`: the lines for a recipe on stdout, what became of the text on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun


@pytest.fixture
def text(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    path = tmp_path / "mono.en"
    path.write_bytes((tiny_run.recipe.parent / "test.en").read_bytes())
    return path


def test_text_becomes_a_corpus_that_a_recipe_names(run: Commands, tiny_run: TinyRun, text: Path) -> None:
    done = run("backtranslate", tiny_run.folder, text, "--beam-size", 2, "--threads", 1)
    assert done.code == 0, done.err
    assert done.lines[0] == '# [tokenizer] symbols = ["<2bt>"]'
    made = Path(done.lines[2].removeprefix('src = "').removesuffix('"'))
    assert made.read_text(encoding="utf-8").startswith("<2bt> ")
    assert "read 40 pairs" in done.err
    assert "made: 40 pairs in " in done.err
    again = run("backtranslate", tiny_run.folder, text, "--beam-size", 2, "--threads", 1, "--json")
    assert "0 sources translated now" in again.err
    result = json.loads(again.lines[-1])
    assert (result["folder"], result["pairs"]) == (str(made.parent), 40)


def test_forwards_what_is_made_are_targets(run: Commands, tiny_run: TinyRun, text: Path) -> None:
    done = run("backtranslate", tiny_run.folder, text, "--forward", "--threads", 1)
    assert done.code == 0, done.err
    made = Path(done.lines[2].removeprefix('tgt = "').removesuffix('"'))
    assert done.lines == [
        "[[data.corpora]]", f'src = "{made.with_suffix(".en")}"', f'tgt = "{made}"', "train_only = true",
    ]  # fmt: skip
    assert made.with_suffix(".en").read_text(encoding="utf-8") == text.read_text(encoding="utf-8")


def test_several_teachers_translate_together(run: Commands, tiny_run: TinyRun, text: Path) -> None:
    settings = ["--forward", "--beam-size", 2, "--threads", 1, "--json"]
    teachers = [[tiny_run.best], [tiny_run.early], [tiny_run.best, "--ensemble", tiny_run.early]]
    made = []
    for teacher in teachers:
        done = run("backtranslate", *teacher, text, *settings)
        assert done.code == 0, done.err
        made.append((Path(json.loads(done.lines[-1])["folder"]) / "corpus-0.de").read_bytes())
    assert len(set(made)) == 3
    assert "2 models together" in done.err


def test_a_link_with_a_name_of_ones_own_leads_to_the_pairs(
    run: Commands, tiny_run: TinyRun, text: Path, tmp_path: Path
) -> None:
    link = tmp_path / "made"
    for beam_size in (1, 2):  # the second puts the link straight
        done = run("backtranslate", tiny_run.folder, text, "--beam-size", beam_size, "--output", link, "--threads", 1)
        assert done.code == 0, done.err
        assert done.lines[2] == f'src = "{link}/corpus-0.de"'
        assert (link / "corpus-0.de").read_text(encoding="utf-8").startswith("<2bt> ")
        assert str(link.resolve()) in done.err


def test_samples_differ_by_their_seed(run: Commands, tiny_run: TinyRun, text: Path) -> None:
    folders = set()
    for seed in (1, 2):
        options = ("--sampling", "--top-k", 20, "--seed", seed, "--tag", "", "--threads", 1, "--json")
        folders.add(json.loads(run("backtranslate", tiny_run.best, text, *options).lines[-1])["folder"])
    assert len(folders) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "Deti."}\n', "the first line has no text under 'src', it begins"),
        ("a.tsv", "id\ttext\n1\tDeti.\n", "no column 'line' in the first line 'id\\ttext'"),
    ],
)
def test_a_table_without_the_column_is_told_the_option_of_this_command(
    name: str, content: str, message: str, run: Commands, tiny_run: TinyRun, text: Path
) -> None:
    table = text.with_name(name)
    table.write_text(content, encoding="utf-8")
    column = ["--column", "line"] if name == "a.tsv" else []
    done = run("backtranslate", tiny_run.best, table, *column, "--threads", 1)
    assert (done.code, done.out) == (3, b"")
    assert message in done.err
    assert "; name the column with src_column (`yiwen backtranslate`: --column)" in done.err
    assert run("backtranslate", tiny_run.best, table, "--column", "text", "--threads", 1).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing", "TEXT"], 4, "nothing is not a folder; give a bundle"),
        (["MODEL", "nowhere.en"], 3, "nowhere.en does not exist"),
        (["MODEL", "TEXT", "--beam-size", "0"], 2, "search.beam_size is 0"),
        (["MODEL", "TEXT", "--forward", "--tag", "<2bt>"], 2, "--tag '<2bt>' marks made sources, and --forward makes"),
        (["MODEL", "TEXT", "--top-k", "5"], 2, "--top-k: for --sampling alone; add it, or leave this out"),
        (["MODEL", "TEXT", "--seed", "5"], 2, "--seed: for --sampling alone; add it, or leave this out"),
        (["MODEL", "TEXT", "--sampling", "--beam-size", "4"], 2, "search.beam_size: sampling has no beam"),
        (["MODEL", "TEXT", "--output", "TEXT"], 2, "cannot be a link: give a free name in a folder of yours"),
        (["MODEL", "TEXT", "--output", "nowhere/made"], 2, "nowhere/made cannot be a link"),
    ],
)
def test_wrong_use_exits_with_its_code(
    arguments: list[str], code: int, message: str, run: Commands, tiny_run: TinyRun, text: Path
) -> None:
    places = {"MODEL": str(tiny_run.best), "TEXT": str(text)}
    done = run("backtranslate", *(places.get(argument, argument) for argument in arguments))
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
