"""A sweep: every combination once, finished runs left alone, failures named, gains with intervals."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import Commands

from tiny_model import TinyRun, exported
from yiwen.config import to_toml
from yiwen.errors import ConfigError, Stopped, TrainingError
from yiwen.evaluation.metrics import Metric, quick_score
from yiwen.files import is_complete, one_writer
from yiwen.recipe import load_recipe, runs_root
from yiwen.stop import GO_ON, StopFlag
from yiwen.sweep import _T_95, Cell, Result, Row, compared, grid, sweep, table
from yiwen.translator import Translator

SHORT = ["training.max_steps=6", "training.validate_every=6", "training.checkpoint_every=6"]


@pytest.fixture
def recipe(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    shutil.copytree(tiny_run.runs / ".prepared", tmp_path / "runs" / ".prepared")
    return str(tiny_run.recipe)


def test_every_combination_is_one_cell_the_last_setting_changing_fastest(recipe: str) -> None:
    cells = grid(recipe, ["training.max_steps=6", "training.rdrop=0,1.5", "model.dropout=0.1, 0.2"])
    assert [cell.folder.name for cell in cells] == [
        "rdrop=0,dropout=0.1", "rdrop=0,dropout=0.2", "rdrop=1.5,dropout=0.1", "rdrop=1.5,dropout=0.2"
    ]  # fmt: skip
    last = cells[-1].loaded.recipe
    assert (last.training.rdrop, last.model.dropout, last.training.max_steps) == (1.5, 0.2, 6)
    assert cells[0].folder.parent.name == "tiny-sweep"
    assert grid(recipe, ["model.dropout=0.1,0.2"], folder="there")[1].folder == Path("there/dropout=0.2")


def test_values_that_are_toml_as_a_whole_or_no_file_names_are_taken_as_they_are(recipe: str) -> None:
    cells = grid(
        recipe, ["tokenizer.symbols=['<a>', '<b>']", "training.schedule=cosine,constant", "training.init_from=a/b,a_b"]
    )
    assert cells[0].loaded.recipe.tokenizer.symbols == ("<a>", "<b>")
    lists = grid(recipe, ["tokenizer.symbols=['<a>', '<b>'], ['<c>'],[]"])
    assert [cell.loaded.recipe.tokenizer.symbols for cell in lists] == [("<a>", "<b>"), ("<c>",), ()]
    assert [cell.loaded.recipe.training.schedule for cell in cells] == ["cosine"] * 2 + ["constant"] * 2
    assert len({cell.folder for cell in cells}) == 4
    assert [cell.folder.name for cell in grid(recipe, ["tokenizer.model=a/b,c"])] == ["model=a_b", "model=c"]
    assert [cell.folder.name for cell in grid(recipe, ["training.seed=1,1, 2"])] == ["seed=1", "seed=2"]


def test_a_long_name_in_chinese_is_one_that_a_disk_takes(recipe: str, tmp_path: Path) -> None:
    cells = grid(recipe, ["training.init_from=" + ",".join("数" * 90 + end for end in "甲乙")], folder=tmp_path)
    for cell in cells:
        cell.folder.mkdir()
    assert cells[0].folder.name.startswith("init_from=数数数")


def test_each_value_alone_stands_beside_the_first_values_of_the_others(recipe: str) -> None:
    settings = ["training.max_steps=6", "training.rdrop=0,1,5", "model.dropout=0.1,0.2"]
    cells = grid(recipe, settings, each=True)
    found = [(each.folder.name, each.loaded.recipe.training.rdrop, each.loaded.recipe.model.dropout) for each in cells]
    assert found == [("alone", 0, 0.1), ("rdrop=1", 1, 0.1), ("rdrop=5", 5, 0.1), ("dropout=0.2", 0, 0.2)]
    assert {each.loaded.recipe.training.max_steps for each in cells} == {6}
    names = [each.folder.name for each in grid(recipe, ["training.seed=1,2", *settings[2:]], each=True)]
    assert names == ["seed=1", "seed=2", "dropout=0.2,seed=1", "dropout=0.2,seed=2"]
    rows = compared(grid(recipe, settings, each=True), ["not trained"] * 4)
    assert [row.name for row in rows] == ["as it is", "training.rdrop=1", "training.rdrop=5", "model.dropout=0.2"]


def test_a_setting_that_is_given_twice_is_refused(recipe: str) -> None:
    with pytest.raises(ConfigError, match=r"--set training.seed is given twice; write all its values in one"):
        grid(recipe, ["training.seed=1", "training.seed=2,3"])


def test_a_combination_that_is_no_recipe_is_told_before_anything_runs(recipe: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"training\.rdrop is -1\.0; use 0 or more"):
        sweep(recipe, ["training.rdrop=0,-1"])
    with pytest.raises(ConfigError, match="is not KEY=VALUE"):
        sweep(recipe, ["training.rdrop"])
    assert not (tmp_path / "runs" / "tiny-sweep").exists()


def test_finished_runs_are_not_trained_again_and_a_stopped_sweep_goes_on(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yiwen.runs

    trained: list[str] = []
    real = yiwen.runs.train_recipe
    stop, again = StopFlag(), StopFlag()

    def train(loaded: Any, *, run: Path, **options: Any) -> Any:
        trained.append(run.name)
        done = real(loaded, run=run, **options)
        stop.signum = 15 if len(trained) == 1 else None
        return done

    monkeypatch.setattr(yiwen.runs, "train_recipe", train)
    settings = [*SHORT, "model.dropout=0.1,0.4"]
    with pytest.raises(Stopped):
        sweep(recipe, settings, stop=stop)
    folder, rows = sweep(recipe, settings, stop=again)
    assert trained == ["dropout=0.1", "dropout=0.1", "dropout=0.4"]  # the first was stopped before it was scored
    assert sweep(recipe, settings) == (folder, rows)
    assert len(trained) == 3
    sweep(recipe, [*SHORT[1:], "training.max_steps=7", "model.dropout=0.1,0.4"])  # longer: goes on from where it was
    assert len(trained) == 5
    assert json.loads((folder / "sweep.json").read_text("utf-8"))[0]["name"] == "model.dropout=0.1"
    assert (folder / "dropout=0.4" / "best" / "bundle.json").is_file()
    (folder / "dropout=0.4" / "cell.json").unlink()
    (folder / "dropout=0.4" / "init.json").write_text("{", encoding="utf-8")
    (_, row) = sweep(recipe, [*SHORT[1:], "training.max_steps=7", "model.dropout=0.1,0.4"])[1]
    remedy = "remove it, if the run began with the model that is named now"
    assert re.search(rf"^dropout=0\.4: .*init.json cannot be read \(.*\); {remedy}$", row.error)


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        '{"score": "high"}',
        *(pytest.param(text, marks=pytest.mark.slow) for text in ("{}", "null", "\0")),
        pytest.param("[" * 100_000, id="deep", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_result_is_scored_again(recipe: str, damaged: str) -> None:
    settings = [*SHORT, "model.dropout=0.1,0.4"]
    folder, rows = sweep(recipe, settings)
    result = folder / "dropout=0.4" / "cell.json"
    whole = result.read_bytes()
    result.write_text(damaged, encoding="utf-8")
    assert sweep(recipe, settings) == (folder, rows)
    assert result.read_bytes() == whole


def test_a_stopped_run_of_a_sweep_is_gone_on_with_by_the_same_command(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*given: Any, **options: Any) -> Any:
        raise Stopped(f"stopped by SIGINT during training; step 3 is saved, {GO_ON}", signum=2)

    monkeypatch.setattr("yiwen.runs.train_recipe", train)
    with pytest.raises(Stopped, match=r"step 3 is saved, go on with the same command$"):
        sweep(recipe, [*SHORT, "model.dropout=0.1,0.4"])


def test_a_run_that_cannot_go_on_is_told_with_a_remedy_that_a_sweep_has(recipe: str, tmp_path: Path) -> None:
    own = shutil.copytree(Path(recipe).parent, tmp_path / "own", ignore=shutil.ignore_patterns("runs"))
    path = own / Path(recipe).name  # the other is everybody's
    recipe = str(path)
    sweep(recipe, [*SHORT, "model.dropout=0.1,0.2"])
    path.write_text(re.sub("learning_rate = .*", "learning_rate = 0.004", path.read_text("utf-8")), encoding="utf-8")
    _, rows = sweep(recipe, [*SHORT, "model.dropout=0.1,0.2"])
    assert all("undo the changes, or start a new sweep with --folder FOLDER" in row.error for row in rows)
    assert table(rows).count("\n") == 4, "a line for each, and one for its name"


def test_where_no_run_begins_every_reason_is_told(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*given: Any, **options: Any) -> Any:
        raise TrainingError("there is no text")

    monkeypatch.setattr("yiwen.runs.train_recipe", train)
    _, rows = sweep(recipe, [*SHORT, "model.dropout=0.1,0.4"])
    assert [row.error for row in rows] == ["dropout=0.1: there is no text", "dropout=0.4: there is no text"]
    _, rows = sweep(recipe, [*SHORT, "model.dropout=0.1,0.4", "training.rdrop=0,1"], each=True)
    assert [row.name for row in rows] == ["as it is", "model.dropout=0.4", "training.rdrop=1"]


def test_scores_are_by_the_recipes_search_and_do_not_depend_on_whether_a_model_was_calibrated(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[bool, int]] = []
    translate = Translator.translate

    def spied(*given: Any, **options: Any) -> Any:
        asked.append((options["checks"], options["search"].beam_size))
        return translate(*given, **options)

    monkeypatch.setattr(Translator, "translate", spied)
    sweep(recipe, [*SHORT, "search.beam_size=2,3"])
    assert asked == [(False, 2), (False, 3)]


def test_a_mean_of_checkpoints_is_what_a_cell_that_asks_for_one_is_judged_by(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda path, **options: loaded.append(path.name) or load(path, **options))
    sweep(recipe, [*SHORT, "training.average_last=0,1,2"])
    assert loaded == ["best", "final", "final"]


def test_a_failed_cell_is_named_and_the_others_are_compared(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import yiwen.runs

    real = yiwen.runs.train_recipe

    def train(loaded: Any, **options: Any) -> Any:
        if loaded.recipe.model.dropout == 0.2:
            raise TrainingError("it diverged")
        return real(loaded, **options)

    monkeypatch.setattr(yiwen.runs, "train_recipe", train)
    _, (first, failed, last) = sweep(recipe, [*SHORT, "model.dropout=0.1,0.2,0.3"])
    assert (failed.score, failed.error) == (None, "dropout=0.2: it diverged")
    assert first.gain is None
    assert last.score is not None
    assert first.score is not None
    assert last.gain is not None
    mean, low, high = last.gain
    assert mean == pytest.approx(last.score - first.score)
    assert low <= mean <= high
    assert f"{failed.name}\n  failed: dropout=0.2: it diverged\n" in table([first, failed, last])


def cells_of(recipe: str, *settings: dict[str, str]) -> list[Cell]:
    loaded = load_recipe(recipe)
    return [Cell(Path(str(number)), each, loaded) for number, each in enumerate(settings)]


def result_of(
    score: float, *, data: str = "same", metric: Metric = "bleu", minutes: float = 2.0, texts: tuple[str, ...] = ()
) -> Result:
    return Result(score=score, metric=metric, minutes=minutes, data=data, recipe="", init=None, texts=texts)


def test_runs_that_differ_in_their_seed_are_one_row_with_students_interval(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [{"a.x": x, "training.seed": seed} for x in "01" for seed in "123"]
    scores = [30.0, 31.0, 32.0, 31.0, 31.5, 33.5]  # gains 1.0, 0.5, 1.5: mean 1, deviation 0.5
    monkeypatch.setattr("yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=([], [])))
    rows = compared(cells_of(recipe, *settings), [result_of(score) for score in scores])
    assert [(row.name, row.n_runs, row.score) for row in rows] == [("a.x=0", 3, 31.0), ("a.x=1", 3, 32.0)]
    assert rows[1].gain == pytest.approx((1.0, 1 - 4.30 * 0.5 / 3**0.5, 1 + 4.30 * 0.5 / 3**0.5))


def test_more_seeds_than_there_are_quantiles_for_have_the_last_of_them(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [{"a.x": x, "training.seed": str(seed)} for x in "01" for seed in range(13)]
    gains = [1.0, 3.0] * 6 + [2.0]  # 12 of 13 are 1 from the mean: the deviation is 1, of 12 degrees of freedom
    monkeypatch.setattr("yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=([], [])))
    rows = compared(cells_of(recipe, *settings), [result_of(30.0 + gain) for gain in [0.0] * 13 + gains])
    assert rows[1].gain == pytest.approx((2.0, 2 - 2.23 / 13**0.5, 2 + 2.23 / 13**0.5))


def test_one_run_against_one_has_the_interval_of_its_own_lines_over_those_of_the_first(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = tuple(f"the {n} small cats of {n + 1} houses sleep here" for n in range(60))
    wrong = tuple(text.replace("sleep", "eat") if n % 2 else text for n, text in enumerate(right))
    monkeypatch.setattr(
        "yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=SimpleNamespace(tgt=list(right)), tgt_lang="en")
    )
    results = [result_of(80.0, texts=wrong), result_of(100.0, texts=right)]
    gain = compared(cells_of(recipe, {"a.x": "0"}, {"a.x": "1"}), results)[1].gain
    assert gain is not None
    assert 0 < gain[1] < 100 - quick_score(wrong, list(right), tgt_lang="en", metric="bleu") < gain[2]


def test_the_minutes_of_a_row_are_those_of_a_run_of_it(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=([], [])))
    settings = [{"a.x": "0", "training.seed": seed} for seed in "12"]
    (row,) = compared(cells_of(recipe, *settings), [result_of(30.0, minutes=minutes) for minutes in (2.0, 5.0)])
    assert row.minutes == 3.5


@pytest.mark.parametrize("n", range(1, 11))
def test_students_interval_holds_ninety_five_of_a_hundred_means(n: int) -> None:
    x = np.linspace(-_T_95[n - 1], _T_95[n - 1], 20_001)
    density = math.gamma((n + 1) / 2) / math.gamma(n / 2) / (n * math.pi) ** 0.5 * (1 + x**2 / n) ** (-(n + 1) / 2)
    assert density.mean() * (x[-1] - x[0]) == pytest.approx(0.95, abs=1e-3)


def test_without_a_first_row_nothing_is_compared(recipe: str) -> None:
    cells = cells_of(recipe, {"a.x": "0"}, {"a.x": "1"}, {"a.x": "2"})
    rows = compared(cells, ["0: full", result_of(30.0), result_of(31.0)])
    found = [(row.score, row.gain, row.error) for row in rows]
    assert found == [(None, None, "0: full"), (30.0, None, ""), (31.0, None, "")]
    assert "other" not in table(rows)


def test_the_table_draws_gains_around_zero_in_80_columns() -> None:
    name = "model.n_encoder_layers=11, training.learning_rate=0.0007, training.rdrop=5"
    rows = [
        Row(name="as it is", n_runs=1, score=30.0, minutes=1.25),
        Row(name=name, n_runs=1, score=32.0, gain=(2.0, 1.0, 3.0), minutes=2.5),
        Row(name="y", n_runs=1, score=27.0, gain=(-3.0, -3.0, -2.9), minutes=2.5),
    ]
    rows.append(Row(name="z", n_runs=1, score=99.0, minutes=2.5))
    header, *lines = table(rows).split("\n")
    assert lines[::2] == ["as it is", name, "y", "z"]
    first, better, worse, other = lines[1::2]
    assert max(map(len, [header, *lines])) < 80
    assert other == "  99.00      2.5     1  other validation text or metric: not to be compared"
    assert first == "  30.00      1.2     1"
    assert "+2.00  [ +1.00,  +3.00]" in better
    zero = header.index("0")
    assert [line[zero] for line in (better, worse)] == ["│", "│"]
    assert zero < better.index("●") == zero + 9
    assert worse.index("●") == zero - 14


def test_where_no_row_gains_anything_all_stand_on_the_zero() -> None:
    rows = [Row(name="a", n_runs=1, score=30.0), Row(name="b", n_runs=1, score=30.0, gain=(0.0, 0.0, 0.0))]
    header, *_, same = table(rows).split("\n")
    assert same.index("●") == header.index("0")


def test_the_command_prints_the_table_and_its_exit_code_tells_of_failures(run: Commands, recipe: str) -> None:
    settings = [part for setting in SHORT for part in ("--set", setting)]
    done = run("sweep", recipe, *settings, "--set", "model.dropout=0.1,0.2")
    assert done.code == 0, done.err
    assert done.lines[1::2] == ["model.dropout=0.1", "model.dropout=0.2"]
    assert "2 of 2: " in done.err
    failing = run("sweep", recipe, *settings, "--set", "model.dropout=0.1,0.2", "--set", "training.device=cpu,cuda:7")
    assert failing.code == 1
    assert "2 of 4 rows failed, the first with: dropout=0.1,device=cuda_7: device='cuda:7'" in failing.err
    assert "dropout=0.2,device=cuda_7" not in failing.err.partition("rows failed")[2], "the table has them all"
    alone = run("sweep", recipe, *settings, "--each", "--set", "model.dropout=0.1,0.2", "--set", "training.rdrop=0,1")
    names = ["as it is", "model.dropout=0.2", "training.rdrop=1"]
    assert (alone.lines[1::2], alone.code) == (names, 0)
    told = json.loads(run("sweep", recipe, *settings, "--set", "model.dropout=0.1,0.2", "--json").lines[-1])
    assert [row["name"] for row in told["rows"]] == ["model.dropout=0.1", "model.dropout=0.2"]
    assert json.loads((Path(told["folder"]) / "sweep.json").read_text("utf-8")) == told["rows"]


def test_a_cell_that_went_on_from_another_model_is_no_result_of_this_one(
    recipe: str, tiny_run: TinyRun, tmp_path: Path
) -> None:
    """Its recipe and its text are the same: only the weights behind `init_from` are others."""
    first = tmp_path / "first"
    first.symlink_to(tiny_run.best)
    settings = [*SHORT, "training.schedule=constant", f"training.init_from={first}", "model.dropout=0.1,0.2"]
    _, rows = sweep(recipe, settings)
    assert [row.error for row in rows] == ["", ""]
    assert sweep(recipe, settings)[1] == rows
    first.unlink()
    first.symlink_to(tmp_path / "runs" / "tiny-sweep" / "dropout=0.1" / "best", target_is_directory=True)
    _, (row, _) = sweep(recipe, settings)
    told = "dropout=0.1: trained from another init_from model than now; give another --folder, or remove it"
    assert row.error == told


def test_a_second_sweep_of_a_folder_at_the_same_time_is_refused(recipe: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "tiny-sweep"
    with one_writer(folder), pytest.raises(TrainingError, match=r"tiny-sweep is being written by process \d+; wait"):
        sweep(recipe, [*SHORT, "model.dropout=0.1,0.2"])
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_cell_that_was_stopped_goes_on_from_no_other_model(
    recipe: str, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yiwen.runs

    def train(loaded: Any, **options: Any) -> Any:
        real(loaded, **options)
        raise Stopped(f"stopped by SIGINT during training; step 3 is saved, {GO_ON}", signum=2)

    real = yiwen.runs.train_recipe
    first = tmp_path / "first"
    first.symlink_to(tiny_run.best)
    settings = [*SHORT, f"training.init_from={first}", "model.dropout=0.1"]
    with monkeypatch.context() as patch:
        patch.setattr(yiwen.runs, "train_recipe", train)
        with pytest.raises(Stopped):
            sweep(recipe, settings)
    first.unlink()
    first.symlink_to(tiny_run.early)
    told = "alone: trained from another init_from model than now; give another --folder, or remove it"
    assert sweep(recipe, settings)[1][0].error == told
    first.unlink()
    first.symlink_to(tiny_run.best)
    assert sweep(recipe, settings)[1][0].error == ""


def test_a_run_of_another_length_is_no_result_of_this_one(recipe: str) -> None:
    falling = ["training.schedule=polynomial", "model.dropout=0.1", *SHORT]
    sweep(recipe, falling)
    for steps in (5, 7):
        _, (row,) = sweep(recipe, [*falling[:-3], *SHORT[1:], f"training.max_steps={steps}"])
        assert row.error == "alone: trained with max_steps=6 and patience=0; give another --folder, or remove it"


@pytest.mark.parametrize(
    ("before", "now", "goes_on"),
    [
        ("constant", ["training.max_steps=7"], True),
        ("cosine", ["training.max_steps=7"], False),
        ("constant", ["training.max_steps=5"], False),
        ("constant", ["training.max_steps=7", "training.patience=3"], False),
        ("cosine", ["training.max_steps=6"], True),
    ],
)
def test_a_run_goes_on_longer_where_its_learning_rate_has_not_fallen_and_with_the_same_patience(
    before: str, now: list[str], *, goes_on: bool, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*given: Any, **options: Any) -> Any:
        raise TrainingError("here it goes on")

    monkeypatch.setattr("yiwen.runs.train_recipe", train)
    settings = ["training.max_steps=6", f"training.schedule={before}"]
    (cell,) = grid(recipe, settings)
    cell.folder.mkdir(parents=True)
    (cell.folder / "recipe.toml").write_text(to_toml(cell.loaded.recipe), encoding="utf-8")
    _, (row,) = sweep(recipe, [*settings[1:], *now])
    refused = "alone: trained with max_steps=6 and patience=0; give another --folder, or remove it"
    assert row.error == ("alone: here it goes on" if goes_on else refused)


def test_a_recipe_that_is_judged_by_chrf_is_compared_by_it_and_its_time_is_that_of_its_log(recipe: str) -> None:
    folder, (row,) = sweep(recipe, [*SHORT, "training.metric=chrf"])
    result = json.loads((folder / "alone" / "cell.json").read_text("utf-8"))
    valid = (Path(recipe).parent / "valid.de").read_text("utf-8").split("\n")[:-1]
    assert (result["metric"], result["score"]) == ("chrf", row.score)
    assert row.score == quick_score(result["texts"], valid, tgt_lang="de", metric="chrf") > 0
    last = json.loads((folder / "alone" / "timing.jsonl").read_text("utf-8").split("\n")[-2])
    assert row.minutes == last["seconds"] / 60 > 0


def test_text_is_verified_once_however_many_rows_are_compared(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (prepared,) = (folder for folder in (runs_root() / ".prepared").iterdir() if is_complete(folder))
    verified: list[Path] = []
    monkeypatch.setattr("yiwen.data.store.verify_manifest", verified.append)
    texts = (Path(recipe).parent / "valid.de").read_text("utf-8").split("\n")[:-1]
    results = [result_of(30.0 + n, data=prepared.name, texts=tuple(texts)) for n in range(5)]
    rows = compared(cells_of(recipe, *({"a.x": str(n)} for n in range(5))), results)
    assert [row.gain and row.gain[0] for row in rows] == [None, 1.0, 2.0, 3.0, 4.0]
    assert verified == [prepared]


def test_scores_over_other_validation_text_are_not_compared(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=(["a"], [folder.name])))
    results = [result_of(30.0, data="a"), result_of(31.0, data="b")]
    assert compared(cells_of(recipe, {"a.x": "0"}, {"a.x": "1"}), results)[1].gain is None


def test_scores_by_another_metric_are_not_compared(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.sweep._opened", lambda folder: SimpleNamespace(valid=(["a"], ["b"])))
    results = [result_of(30.0, metric="bleu"), result_of(30.0, metric="chrf")]
    assert compared(cells_of(recipe, {"a.x": "0"}, {"a.x": "1"}), results)[1].gain is None


def test_a_finished_run_of_other_text_is_no_result_of_this_one(recipe: str, tmp_path: Path) -> None:
    folder = tmp_path / "text"
    shutil.copytree(Path(recipe).parent, folder, ignore=shutil.ignore_patterns("runs"))
    sweep(str(folder / "tiny.toml"), SHORT)
    lines = (folder / "train.en").read_text(encoding="utf-8").split("\n")
    (folder / "train.en").write_text("\n".join(["Another.", *lines[1:]]), encoding="utf-8")
    _, (row,) = sweep(str(folder / "tiny.toml"), SHORT)
    assert row.score is None
    assert "was trained on the prepared data" in row.error


def test_a_cell_that_cannot_go_on_from_an_exported_model_says_so(
    recipe: str, tiny_run: TinyRun, tmp_path: Path
) -> None:
    bare = exported(tiny_run.best, tmp_path / "bare", has_weights=False)
    _, (row,) = sweep(recipe, [*SHORT, f"training.init_from={bare}"])
    assert "bare holds no model.safetensors: it was exported for machines without torch" in row.error
