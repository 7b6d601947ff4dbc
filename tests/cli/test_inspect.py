"""`yiwen inspect` and `yiwen plot` as users type them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun, tampered
from yiwen.bundle import open_bundle


@pytest.fixture
def sentence(tiny_run: TinyRun) -> str:
    return (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[2]


def test_inspect_prints_for_a_terminal(run: Commands, tiny_run: TinyRun, sentence: str) -> None:
    done = run("inspect", tiny_run.folder, sentence, "--beam-size", 3)
    assert (done.code, done.err) == (0, "")
    assert sentence in done.lines
    assert "── Why the first one won " in done.out.decode()


def test_inspect_writes_reports_and_json(run: Commands, tiny_run: TinyRun, sentence: str, tmp_path: Path) -> None:
    files = [tmp_path / "report.html", tmp_path / "report.svg"]
    done = run("inspect", tiny_run.folder, sentence, "--output", files[0], "--output", files[1])
    assert done.lines == [f"wrote {files[0]}, {files[1]}"]
    assert all(path.stat().st_size > 5000 for path in files)
    table = json.loads(run("inspect", tiny_run.folder, sentence, "--target", "Nobu.", "--json").lines[-1])
    assert (table["target"], table["is_given"]) == ("Nobu.", True)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("report.pdf", "ends in '.pdf'; a report is .html, .json, .svg or .png"),
        ("none/report.json", "the folder {folder}/none does not exist; make it first"),
        ("taken.json", "is a folder or may not be written; give the path of a file of yours"),
    ],
)
def test_of_several_reports_none_is_written_where_one_cannot_be(
    run: Commands, tiny_run: TinyRun, sentence: str, tmp_path: Path, second: str, told: str
) -> None:
    (tmp_path / "taken.json").mkdir()
    first = tmp_path / "report.html"
    done = run("inspect", tiny_run.folder, sentence, "--output", first, "--output", tmp_path / second)
    assert done.code == 2
    assert told.format(folder=tmp_path) in done.err
    assert not first.exists()


def test_inspect_measures_alignments(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        '{"src": "Deme beti.", "tgt": "Kifu pofu.", "src_spans": [[0, 4], [5, 9], [9, 10]], '
        '"tgt_spans": [[0, 4], [5, 9], [9, 10]], "alignment": [[0, 0], [1, 1], [2, 2]]}\n',
        encoding="utf-8",
    )
    done = run("inspect", tiny_run.folder, "--gold", gold)
    assert done.out.decode().startswith("alignment error rate ")
    assert done.out.decode().endswith(" on 1 pairs\n")
    table = json.loads(run("inspect", tiny_run.folder, "--gold", gold, "--json").lines[-1])
    assert set(table) == {"aer", "precision", "recall", "n_pairs"}


def test_inspect_wants_one_of_sentence_and_gold(run: Commands, tiny_run: TinyRun, sentence: str) -> None:
    for arguments in ((), (sentence, "--gold", "gold.jsonl")):
        done = run("inspect", tiny_run.folder, *arguments)
        assert done.code == 2
        assert "give a sentence to look into, or gold alignments with --gold; one of the two" in done.err


@pytest.mark.parametrize("rules", [{"mbr": 5}, {"n_best": 5}, {"sampling": True, "n_best": 9}])
def test_inspect_takes_any_beam_where_a_model_chooses_among_candidates(
    rules: dict[str, object], run: Commands, tiny_run: TinyRun, sentence: str, tmp_path: Path
) -> None:
    """`search.mbr` has no say in an inspection, so that it cannot ask for a wider beam either; nor has sampling."""
    search = asdict(open_bundle(tiny_run.best).info.search) | {"beam_size": 5, **rules}
    model = tampered(tiny_run.best, tmp_path / "model", search=search)
    assert run("inspect", model, sentence, "--beam-size", 2).code == 0


def test_inspect_says_what_a_given_translation_has_no_use_for(run: Commands, tiny_run: TinyRun, sentence: str) -> None:
    done = run("inspect", tiny_run.folder, sentence, "--target", "Nobu.", "--beam-size", 3)
    assert done.code == 2
    assert "--beam-size: for a search; --target has none" in done.err


def test_inspect_says_what_gold_alignments_have_no_use_for(run: Commands, tiny_run: TinyRun) -> None:
    done = run("inspect", tiny_run.folder, "--gold", "gold.jsonl", "--output", "a.html", "--beam-size", 3)
    assert done.code == 2
    assert "--output, --beam-size: for a sentence, which --gold has none of; leave one of them out" in done.err


def test_plot_draws_each_kind(run: Commands, trained: TinyRun, tmp_path: Path) -> None:
    of = {
        "positions": [trained.folder],
        "masks": [],
        "schedule": [trained.recipe, "demo-en-zh"],
        "lengths": [trained.recipe],
        "curves": [trained.folder],
    }
    for what, arguments in of.items():
        path = tmp_path / f"{what}.svg"
        done = run("plot", what, *arguments, "--output", path)
        assert (done.code, done.lines) == (0, [f"wrote {path}"]), done.err
        assert path.read_text(encoding="utf-8").startswith("<?xml")


def test_plot_writes_beside_you_where_no_output_is_named(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("plot", "masks").lines == ["wrote masks.svg"]
    assert (tmp_path / "masks.svg").is_file()


def test_plot_says_what_it_needs(run: Commands) -> None:
    for arguments, message in (
        (("weather",), "WHAT='weather' is unknown; use one of positions, masks, schedule, lengths, curves"),
        (("masks", "model"), "`yiwen plot masks` takes 0 of what its help names, not 1"),
        (("curves",), "`yiwen plot curves` takes 1 to 20 of what its help names, not 0"),
        (("positions", "a", "b"), "`yiwen plot positions` takes 0 to 1 of what its help names, not 2"),
    ):
        done = run("plot", *arguments)
        assert done.code == 2
        assert message in done.err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lengths.pdf", "ends in '.pdf'; a figure is .svg or .png"),
        ("nowhere/lengths.svg", "nowhere does not exist; make it first"),
    ],
)
def test_a_figure_that_cannot_be_written_is_refused_before_text_is_prepared(
    name: str, told: str, run: Commands, trained: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yiwen.preparing.prepare_recipe", lambda *_, **__: pytest.fail("prepared"))
    done = run("plot", "lengths", trained.recipe, "--output", tmp_path / name)
    assert (done.code, done.out) == (2, b"")
    assert told in done.err
