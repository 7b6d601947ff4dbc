"""Benchmarks count what they say they count, and each runs on a fresh checkout."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from yiwen.config import parse, to_toml
from yiwen.data.corpus import CorpusConfig
from yiwen.errors import ConfigError
from yiwen.recipe import Recipe, load_recipe

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module as the benchmark scripts do, or as `docs/generate.py` does."""
    for folder in ("docs", "benchmarks"):
        monkeypatch.syspath_prepend(ROOT / folder)
    return importlib.import_module


def write_run(folder: Path, scores: list[tuple[int, float, float]]) -> Path:
    """A run that wrote down (step, seconds, BLEU) and was killed in the middle of a line."""
    folder.mkdir()
    timing = "".join(json.dumps({"step": step, "seconds": seconds}) + "\n" for step, seconds, _ in scores)
    metrics = "".join(
        json.dumps({"step": step, "epoch": 0, "valid_loss": 2.0, "valid_bleu": bleu}) + "\n" for step, _, bleu in scores
    )
    (folder / "timing.jsonl").write_text(timing + '{"step": 9', encoding="utf-8")
    (folder / "metrics.jsonl").write_text(metrics + '{"step": 9, "epo', encoding="utf-8")
    machine = {"processor": "p", "cores": 2, "memory_gib": 1, "system": "s", "torch": "t", "python": "3"}
    chosen = {"device": "cpu", "precision": "bf16", "threads": 2}
    kept = {"machine": machine, "chosen": chosen, "base": str(folder)}
    (folder / "hardware.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


def test_a_goal_counts_from_the_first_validation_that_reached_it(load: Any, tmp_path: Path) -> None:
    module = load("time_to_bleu")
    run = write_run(tmp_path / "run", [(1, 60.0, 30.0), (2, 120.0, 35.0), (3, 180.0, 34.0), (4, 240.0, 38.5)])
    result = {**module.curve(run), "date": "2026-01-01"}
    assert result["minutes_to"] == {"35": 2.0, "38": 4.0, "40": None}
    assert "35: 2.0 min, 38: 4.0 min, 40: not reached" in module.as_markdown(result)
    assert str(run) not in json.dumps(result)  # a folder of this machine says nothing elsewhere


def test_a_step_repeated_after_a_kill_counts_with_its_last_time(load: Any, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [(1, 60.0, 30.0)])
    (run / "timing.jsonl").write_text('{"step": 1, "seconds": 60}\n{"step": 1, "seconds": 90}\n', encoding="utf-8")
    assert load("time_to_bleu").curve(run)["points"][0]["minutes"] == 1.5


def test_a_folder_that_is_no_run_is_named(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["time_to_bleu.py", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"holds no timing\.jsonl: give the folder of a run"):
        load("time_to_bleu").main()


def test_a_published_result_is_two_files_and_a_last_line_and_names_its_command(
    load: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_DATA", "/texts")
    monkeypatch.setattr(sys, "argv", ["/a/clone/benchmarks/speed.py", "--src", "/texts/a.en", "--output"])
    load("sides.report").publish({"ratio": 2.0, "text": "译文"}, "# Report\n", folder=tmp_path / "new", stem="x")
    command = "python benchmarks/speed.py --src $YIWEN_DATA/a.en --output"
    published = {"command": command, "ratio": 2.0, "text": "译文"}
    assert json.loads(capsys.readouterr().out.rstrip("\n").split("\n")[-1]) == published
    assert json.loads((tmp_path / "new" / "x.json").read_text(encoding="utf-8")) == published
    assert (tmp_path / "new" / "x.md").read_text(encoding="utf-8") == "# Report\n"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks" / "results").glob("*-20*.json")), ids=lambda path: path.stem
)
def test_every_result_says_when_and_with_what_it_was_measured(path: Path) -> None:
    result = json.loads(path.read_text(encoding="utf-8"))
    hardware = result.get("hardware") or result.get("machine") or {}
    assert result["date"] in path.name
    assert {"processor", "system", "torch", "python", "yiwen"} <= set(hardware.get("machine", hardware))
    assert path.with_suffix(".md").is_file(), "for people"


def test_lines_that_the_rules_change_or_take_for_another_language_are_counted(load: Any, tmp_path: Path) -> None:
    odd_input = load("odd_input")
    english = "The two men are looking at the dog that runs over the green grass."
    (tmp_path / "a.de").write_text(f"Zwei Hunde laufen durch den Schnee.\n{english}\n", encoding="utf-8")
    (tmp_path / "a.en").write_text(f"{english}\n\n", encoding="utf-8")
    found = odd_input.clean_table([tmp_path / "a.de", tmp_path / "a.en"])
    assert found == {"languages": ["de", "en"], "n_lines": 3, "taken": [["de", "en", english]]}
    (tmp_path / "a.zh").write_text("你好，世界。\n你好,世界。\n", encoding="utf-8")
    assert odd_input.reference_table([tmp_path / "a.zh"]) == {tmp_path.name: [2, 1]}


def test_a_spread_is_median_least_and_greatest(load: Any) -> None:
    report = load("sides.report")
    assert report.spread([3.0, 1.0, 7.0]) == {"median": 3.0, "min": 1.0, "max": 7.0}
    assert report.shown(report.spread([3.0, 1.0, 7.0])) == "3.00 (1.00 to 7.00)"


def test_rates_of_other_toolkits_are_read_from_their_logs(load: Any) -> None:
    rivals = load("sides.rivals")
    log = "Step 10/50; acc: 3.1; bsz: 3061/3186/107; 1961/2046 tok/s; 12 sec;\nStep 20/50; 1975/ 2050 tok/s; 24 sec;\n"
    assert rivals.onmt_rates(log) == [(1961.0, 2046.0), (1975.0, 2050.0)]
    assert rivals.fairseq_rates('{"epoch": 1, "wps": "1390.5", "ups": "0.4"}\nno report\n') == [1390.5]


def test_a_toolkit_that_is_not_installed_is_left_out_with_the_reason(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rivals = load("sides.rivals")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(rivals.MODULES, "huggingface", "no_such_module")
    assert {name: rivals.missing(name) for name in rivals.ADAPTERS} == {
        "eole": "the command eole is not installed",
        "eole-malloc": "the command eole is not installed",
        "huggingface": "no_such_module is not installed",
        "opennmt": "the command onmt_train is not installed",
        "fairseq": "the command fairseq-train is not installed",
    }


def test_a_toolkit_that_fails_shows_its_log(load: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"(?s)ended with exit code 3:.*broken"):
        load("sides.rivals").run([sys.executable, "-c", "print('broken'); raise SystemExit(3)"], tmp_path)


@pytest.mark.slow
def test_preparing_is_measured_stage_by_stage(load: Any, tmp_path: Path) -> None:
    result = load("prepare").measure(tmp_path, 3000, 1)
    assert result["kept"] > 2000
    assert result["tokenising_pairs_per_second"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scaling"], "give --threads 2 or more, and no --rivals"),
        (["--scaling", "--threads", "2", "--rivals", "eole"], "give --threads 2 or more, and no --rivals"),
        (["--attention", "packed"], "--attention compares two of plain, fused and packed, as in plain,fused"),
        (["--attention", "plain,fused", "--rivals", "eole"], "--attention compares two of plain, fused and packed"),
        (["--device", "cuda"], "--device cuda goes with --attention: the loop and the rivals are for the CPU"),
        (["--device", "cuda:77", "--attention", "packed,fused"], "device='cuda:77', but torch"),
        (["--rivals", "eole,tensorflow"], "--rivals tensorflow is unknown; use eole, eole-malloc"),
    ],
)
def test_impossible_training_comparisons_are_refused(
    arguments: list[str], message: str, load: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["training.py", *arguments])
    with pytest.raises(SystemExit):
        load("training").parsed()
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "torch", "--dtype", "int8"], "--dtype int8 is none of torch's; use bf16, float32"),
        (["--rounds", "0"], "argument --rounds: 0 is too few; use 1 or more"),
    ],
)
def test_batches_that_cannot_be_measured_are_refused(
    arguments: list[str], message: str, load: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["batches.py", *arguments])
    with pytest.raises(SystemExit):
        load("batches").main()
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "option"),
    [
        ("checks", "rounds"),
        ("odd_input", "lines"),
        ("precision", "updates"),
        ("prepare", "pairs"),
        ("resume", "kills"),
        ("serving", "beam"),
        ("training", "updates"),
        ("translation", "starts"),
    ],
)
def test_nothing_is_measured_of_nothing(
    script: str, option: str, load: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{script}.py", f"--{option}", "0"])
    with pytest.raises(SystemExit):
        load(script).main()
    assert f"argument --{option}: 0 is too few; use 1 or more" in capsys.readouterr().err


def test_each_size_of_batches_is_compared_with_the_engines_own(load: Any) -> None:
    batches = load("batches")
    sizes: list[int] = []

    def run(size: int, sources: list[list[int]], targets: list[list[int]]) -> None:
        assert [len(source) for source in sources] == [len(target) for target in targets]
        assert sum(len(source) + 1 for source in sources) >= 8 * 1000
        sizes.append(size)

    found = batches.measure(batches.Work("greedy", own=1000, width=1, run=run), SimpleNamespace(rounds=2))
    assert sizes == 3 * [250, 500, 1000, 2000, 4000]
    assert found["times_as_fast"]["1000"] == 1.0
    assert found["ratio"] <= 1.0


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_own_size_of_an_engine_is_what_it_would_use(engine: str, load: Any, tmp_path: Path) -> None:
    options = SimpleNamespace(engine=engine, model="tiny", dtype="float32", threads=1)
    own = {work.name: work.own for work in load("batches").opened(options, tmp_path)}
    expected = {
        "torch": {"greedy": 8192, "beam 5": 8192, "scores": 1024, "attention": 2048},
        "ctranslate2": {"greedy": 512, "beam 5": 512, "scores": 64, "attention": 512},
    }
    assert own == expected[engine]


def test_the_student_is_compared_greedy_with_its_teacher_at_beam_5(load: Any) -> None:
    table: list[dict[str, Any]] = [
        {"engine": "CTranslate2 int8", "beam": 1, "bleu": 38.0},
        {"engine": "CTranslate2 int8", "beam": 5, "bleu": 39.0},
        {"engine": "student, CTranslate2 int8", "beam": 1, "bleu": 38.75},
        {"engine": "student, CTranslate2 int8", "beam": 5, "bleu": 39.5},
    ]
    module = load("translation")
    assert module.bleu_difference(table) == -0.25
    assert module.bleu_difference(table[:2]) is None


@pytest.fixture
def figures(load: Any) -> ModuleType:
    module: ModuleType = load("figures")
    return module


def test_of_one_day_the_result_with_more_columns_is_shown(figures: ModuleType) -> None:
    older = {"date": "2026-01-01", "file": "a", "tokens_per_s": {"ours": 1, "loop": 1, "eole": 1}}
    plain = {"date": "2026-01-02", "file": "c", "tokens_per_s": {"ours": 1, "loop": 1}}
    wider = {"date": "2026-01-02", "file": "b", "tokens_per_s": {"ours": 1, "loop": 1, "eole": 1}}
    assert figures.newest([wider, older, plain], lambda result: ("same",)) == [wider]


_OF_SIDES = ("tokens_per_s", "share_of_peak", "peak_mib")


def test_chinese_tables_have_chinese_punctuation(figures: ModuleType) -> None:
    assert figures.set_in_chinese("int8, 束宽 5: 12 %; 线程: 1; torch 2, 3") == "int8，束宽 5: 12%; 线程：1; torch 2, 3"


def test_pages_say_where_nothing_was_measured_and_keep_charts_in_one_block(figures: ModuleType, tmp_path: Path) -> None:
    assert figures.pages(tmp_path, "en")["translation"] == "Not measured yet.\n"
    assert figures.pages(tmp_path, "zh")["training"] == "尚未测量。\n"
    result = {
        "benchmark": "training", "date": "2026-01-01", "model": "tiny", "threads": 1, "precision": "bf16", "ratio": 4.0,
        "tokens_per_s": {"ours": 8000, "loop": 2000}, "share_of_peak": {"ours": 0.4, "loop": 0.1},
        "peak_mib": {"ours": 900, "loop": 1100}, "hardware": {"processor": "P"},
    }  # fmt: skip
    (tmp_path / "training.json").write_text(json.dumps(result), encoding="utf-8")
    page = figures.pages(tmp_path, "en")["training"]
    assert "| tiny | 1 | loop | 2,000 | 10% bf16 | 1,100 | 4.00 | P | 2026-01-01 |" in page
    chart, _, rest = page.partition("</div>\n")
    assert "\n\n" not in chart  # a blank line would end the block of HTML
    assert rest.startswith("\n| model |")
    ways = {key: dict(zip(("packed", "fused"), result[key].values(), strict=True)) for key in _OF_SIDES}
    result |= {"kind": "attention", **ways, "ratios": {"fused": {"median": 4.0}}}
    (tmp_path / "attention.json").write_text(json.dumps(result), encoding="utf-8")
    page = figures.pages(tmp_path, "en")["training"]
    assert "| tiny | 1 | packed bf16 | 8,000 | 40% bf16 | 900 |  | P | 2026-01-01 |" in page
    assert "| tiny | 1 | fused bf16 | 2,000 | 10% bf16 | 1,100 | 4.00 | P | 2026-01-01 |" in page
    assert "| tiny | 1 | loop | 2,000 |" in page
    (tmp_path / "float32.json").write_text(
        json.dumps(result | {"precision": "float32", "peak_type": "float32"}), encoding="utf-8"
    )
    assert "packed float32 | 8,000 | 40% float32 |" in figures.pages(tmp_path, "en")["training"]


def test_charts_escape_what_is_no_markup(figures: ModuleType) -> None:
    assert "a &lt;b&gt; &amp; c" in figures.bar_chart([("a <b> & c", 1.0, True)], "x")


def test_planted_faults_change_one_thing_and_leave_the_source(load: Any) -> None:
    faults = load("sides.faults")
    rng = random.Random(1)
    pair = ("Two dogs play, and a man looks on.", "Zwei Hunde spielen, und ein Mann schaut zu.")
    for _ in range(30):
        source, rest = faults.omitted_clause(*pair, tgt_lang="de", rng=rng)
        assert (source, rest) in [(pair[0], text) for text in ("Zwei Hunde spielen.", "und ein Mann schaut zu.")]
        _, repeated = faults.repeated_phrase(*pair, tgt_lang="de", rng=rng)
        assert len(repeated) > len(pair[1])
        _, changed = faults.changed_number(*pair, src_lang="en", tgt_lang="de", rng=rng)
        assert changed.endswith(pair[1].removeprefix("Zwei"))
        assert not changed.startswith("Zwei")
        with_it, without = faults.lost_placeholder(*pair, rng=rng)
        assert without == (with_it[0], pair[1])
        assert with_it[1] != pair[1]
    assert faults.omitted_clause("A dog.", "Ein Hund.", tgt_lang="de", rng=rng) is None
    assert faults.changed_number("A dog.", "Ein Hund.", src_lang="en", tgt_lang="de", rng=rng) is None
    assert faults.omitted_clause("x", "两只狗在公园里玩，一个男人在旁边看。", tgt_lang="zh", rng=rng)[1] in (
        *("两只狗在公园里玩。", "一个男人在旁边看。"),
    )


def test_the_page_of_checks_shows_shares_and_the_model(figures: ModuleType, tmp_path: Path) -> None:
    row = {
        "set": "a b-c",
        "model": None,
        "lines": 1000,
        "false_alarms": {"any": 0.0123},
        "found": {"number changed": {"n": 40, "share": 0.95}},
    }
    rows = [row, row | {"model": "m"}]
    result = {"benchmark": "checks", "date": "2026-01-01", "sets": rows, "models": [], "hardware": {"processor": "P"}}
    (tmp_path / "checks.json").write_text(json.dumps(result), encoding="utf-8")
    page = figures.pages(tmp_path, "en")["checks"]
    assert "| development set | weights of | lines | false alarms | number changed |" in page
    assert "| a b-c | its own | 1,000 | 1.2 % | 95 % |\n| a b-c | m | 1,000 | 1.2 % | 95 % |" in page
    beam = {
        "looking": 0.01, "all": 0.05, "flagged_before": 0.04, "flagged_after": 0.01, "repaired": 0.03,
        "bleu": [38.0, 38.1], "chrf": [60.0, 60.2], "changed": 30, "changed_better": 0.7, "changed_chrf": [40.0, 45.0],
    }  # fmt: skip
    model = {
        "name": "m",
        "lines": 1000,
        "beams": {"5": beam},
        "found": row["found"],
        "calibration_error": 0.03,
        "reliability": [[10, 0.5, 0.6]],
    }
    (tmp_path / "checks.json").write_text(json.dumps({**result, "models": [model]}), encoding="utf-8")
    page = figures.pages(tmp_path, "zh")["checks"]
    assert "| m，束宽 5 | 1.0% | 5.0% | 4.0% → 1.0% | 38.00 → 38.10 | 60.00 → 60.20 | 70% / 30 |" in page
    assert "| m | 95% / 40 |" in page
    assert "m：置信度（横）与好译文的比例（纵）；期望校准误差 3.0%" in page
    assert "<circle" in page


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "script",
    [
        "training.py",
        "translation.py",
        "time_to_bleu.py",
        "encoder.py",
        "serving.py",
        "campaign.py",
        "checks.py",
        "odd_input.py",
        "batches.py",
    ],
)
def test_a_quick_benchmark_ends_with_json_on_a_fresh_checkout(script: str, tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("YIWEN_DATA", "YIWEN_RUNS")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--quick", "--output", str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout.rstrip("\n").split("\n")[-1])
    assert result["benchmark"] == script.removesuffix(".py")
    assert script in ("time_to_bleu.py", "campaign.py", "checks.py", "odd_input.py") or result["ratio"] > 0
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md"]


def test_results_stand_beside_what_others_published(figures: ModuleType, tmp_path: Path) -> None:
    score = {"name": "BLEU", "value": 31.126, "signature": "case:mixed|tok:13a", "low": 29.0, "high": 33.25}
    hardware = {"chosen": {"threads": 2, "precision": "bf16"}, "machine": {"processor": "P"}}
    lowered = {**score, "value": 32.0, "signature": "case:lc|tok:13a", "low": None}
    result = {
        "benchmark": "scores",
        "date": "2026-01-01",
        "run": "a-en-de",
        "command": "yiwen train a-en-de",
        "search": "beam 5",
        "minutes": 12.5,
        "hardware": hardware,
        "tests": [{"test_set": "t", "scores": [score, lowered]}],
    }
    row = {"recipe": "a-en-de", "test_set": "t", "bleu": 33.0, "system": "S", "status": "recalled", "where": "memory"}
    published = {"benchmark": "published", "date": "2026-01-01", "rows": [row]}
    for name, content in (("scores", result), ("published", published)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    page = figures.pages(tmp_path, "en")["scores"]
    assert "| `a-en-de` | t | 31.13 [29.0,\u00a033.2] | 32.00 |" in page
    assert "12.5 | P, 2 × bf16 | 2026-01-01 |" in page
    assert "| `a-en-de` | t | 31.13 | S | 33.00 | recalled | memory |" in page
    assert "yiwen train a-en-de" in page
    assert "凭记忆" in figures.pages(tmp_path, "zh")["scores"]


def test_what_others_published_is_told_in_chinese_and_where_it_was_read(figures: ModuleType) -> None:
    rows = json.loads((ROOT / "benchmarks" / "results" / "published.json").read_text(encoding="utf-8"))["rows"]
    told = {row[name] for row in rows for name in ("system", "status", "where")}
    assert told <= figures.CHINESE.keys()
    assert {row["where"].startswith("from memory") for row in rows if row["status"] == "recalled"} == {True}
    assert {row["where"].startswith("from memory") for row in rows if row["status"] == "read"} == {False}


def test_a_run_is_known_by_its_command_and_a_test_by_its_file(load: Any) -> None:
    module = load("scores")
    recipe = load_recipe("tatoeba-en-zh", ["training.max_steps=7"]).recipe
    assert module.test_name(recipe.data.test) == "tatoeba-en-zh/test"
    assert module.command_of("tatoeba-en-zh", recipe) == "yiwen train tatoeba-en-zh --set training.max_steps=7"
    assert module.command_of("no-such-recipe", recipe) == "yiwen train no-such-recipe"
    pairs = CorpusConfig(src="/runs/.distilled/0a/pairs-0b/corpus-0.en", tgt="/runs/.distilled/0a/pairs-0b/corpus-0.zh")
    student = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, corpora=(pairs,)))
    told = "yiwen distil TEACHER tatoeba-en-zh --set training.max_steps=7"
    assert module.command_of("tatoeba-en-zh", student) == told, "the paths of made text are nobody else's"
    own = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, corpora=(CorpusConfig(src="a", tgt="b"),)))
    assert module.command_of("tatoeba-en-zh", own).startswith('yiwen train tatoeba-en-zh --set data.corpora=["..."]')
    data = load_recipe("multi30k-en-de-quality").recipe.data
    assert [module.test_name(each) for each in (data.test, *data.more_tests)] == [
        "test_2016_flickr",
        "test_2017_flickr",
    ]
    data = load_recipe("zh-en").recipe.data
    assert [module.test_name(each) for each in (data.test, data.more_tests[0], None)] == [
        "newstest2017",
        "tatoeba-en-zh/dev",
        "split off",
    ]


def test_odd_writing_changes_marks_and_nothing_else(load: Any) -> None:
    chinese, english = map(load("odd_input").odd_ways, ("zh", "en"))
    assert chinese["half-width marks"]("他说：“你好，3.5（三点五）。”") == "他说:“你好,3.5(三点五).”"
    assert chinese["no marks"]("你好，世界3.5。") == "你好 世界3.5"
    assert english["no marks"]("Yes, version 3.5; no.") == "Yes  version 3.5  no"
    assert english["title"]("a dog") == "A Dog"


@pytest.mark.parametrize("chinese", [{}, {"n_lines": 5000, "as_it_stands": 7, "by_rules": 0}])
def test_odd_input_is_reported_for_every_pair_of_languages(load: Any, chinese: dict[str, int]) -> None:
    terms = {"n_lines": 2, "n_held": 2, "bleu_free": 1.0, "bleu_bound": 2.0}
    writing = {"usual": {"as_it_stands": 3.0, "by_rules": 4.0}}
    counted = {"chinese": chinese, "references": {"news": [200, 7]} if chinese else {}}
    counted["clean"] = {"languages": ["de", "en"], "n_lines": 3000 if chinese else 0, "taken": []}
    machine = {"processor": "p", "cores": 2, "memory_gib": 1, "system": "s", "torch": "t", "python": "3", "yiwen": "0"}
    measured = {"date": "2026-01-01", "model": "m", "n_lines": 2, "threads": 1, "hardware": machine}
    text = load("odd_input").report({**measured, "writing": writing, "terms": terms, **counted})
    assert "| usual | 3.0 | 4.0 |" in text
    assert "- machine: p, 1 of 2 cores" in text
    assert ("Of 5,000 translations 7 break" in text) == bool(chinese)
    assert ("news: the rules change 3.5% of 200 references." in text) == bool(chinese)
    assert ("Of 3,000 clean lines (de, en) 0 are taken for another" in text) == bool(chinese)


def test_breaches_are_counted_before_and_after_the_rules(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("odd_input")

    class Model:
        def translate(self, texts: list[str], **how: Any) -> list[str]:
            return ["你好，世界。", "“好"]

    monkeypatch.setattr(module, "as_it_stands", lambda *given: ["你好,世界.", "“好"])
    assert module.chinese_table(Model(), ["Hello, world.", "“Good"]) == {
        "n_lines": 2,
        "as_it_stands": 1,
        "by_rules": 0,
    }


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        ("precision", ["--seeds", "1"], "--seeds 1: a standard error needs 2 or more"),
        ("encoder", ["--part", "retrieval"], "--part retrieval needs --model, such as runs/embed-zh-en"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    load: Any, monkeypatch: pytest.MonkeyPatch, script: str, options: list[str], message: str
) -> None:
    monkeypatch.setattr("sys.argv", [script, *options])
    with pytest.raises((SystemExit, ConfigError), match=message):
        load(script).main()


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        ("checks", ["--model", "missing"], "error: missing is not a folder; give a bundle, for example runs/NAME/best"),
        ("translation", ["--model", "missing"], "error: missing is not a folder; give a bundle"),
        ("serving", ["--model", "missing"], "error: missing is not a folder; give a bundle"),
        ("encoder", ["--part", "retrieval", "--model", "missing"], "error: missing is not a folder; give a bundle"),
        ("odd_input", ["--model", ".", "--src", "missing.en", "--ref", "missing.zh"], "error: .*'missing.en'"),
        ("scores", ["missing"], "error: missing/recipe.toml does not exist"),
        ("scores", [], "error: give the folder of a run, for example runs/multi30k-en-de, or --quick"),
    ],
)
def test_what_is_not_there_is_told_in_a_line(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [script, *options])
    with pytest.raises(SystemExit, match=message):
        load("sides.report").run_main(load(script).main)


def test_further_tests_are_named_by_their_files_whatever_their_order(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = load("scores")
    paths = [tmp_path / name / "dev.en" for name in ("z", "a")]
    table = {"src_lang": "en", "tgt_lang": "de", "corpora": [{"src": "t.en", "tgt": "t.de"}]}
    table["more_tests"] = [{"src": str(path), "tgt": str(path.with_suffix(".de"))} for path in paths]  # type: ignore[assignment]
    recipe = parse(Recipe, {"data": table}, source="here")
    (tmp_path / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")
    found = [SimpleNamespace(test_set=f"test-{name}-dev", more=(), engine="e") for name in ("a", "z")]
    found[0].more = (found[1],)
    monkeypatch.setattr(scores, "measure", lambda *_, **__: found[0])
    monkeypatch.setattr(scores, "one_test", lambda cased, lowered, name: (cased.test_set, name))
    monkeypatch.setattr(scores, "read_jsonl", lambda path: [{"seconds": 60}])
    monkeypatch.setattr(scores, "curve", lambda run: {"hardware": {}})
    assert scores.scores_of(tmp_path)["tests"] == [("test-a-dev", "a/dev"), ("test-z-dev", "z/dev")]
