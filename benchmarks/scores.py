"""Test scores of a run, for the manual's page of results: every test of its recipe, cased and lower-cased.

    python benchmarks/scores.py runs/multi30k-en-de --output    # translates each test once more: not to choose by!
    python benchmarks/scores.py --quick                         # ends within a minute: the demo recipe, shortened

Scores are those of `yiwen evaluate RUN`, so of the best model by validation, searched as the recipe says. Minutes are
those spent on updates, of all starts of the run together. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sides.report import RESULTS, publish, run_main
from time_to_bleu import QUICK, curve, read_jsonl
from yiwen.config import parse, read_toml, settings_of
from yiwen.data.config import more_tests
from yiwen.data.corpus import CorpusConfig
from yiwen.data.demo import write_demo
from yiwen.errors import ConfigError
from yiwen.measure import Measurement, measure
from yiwen.recipe import Recipe, builtin_names, load_recipe
from yiwen.runs import train_recipe


def scores_of(run: Path) -> dict[str, Any]:
    """All test scores of a run, how it was trained, and how long that took."""
    recipe = parse(Recipe, read_toml(run / "recipe.toml"), source=str(run / "recipe.toml"))
    cased, lowered = (measure(run, lowercase=lowercase) for lowercase in (False, True))
    corpora = {"test": recipe.data.test} | more_tests(recipe.data)  # measured in the order of these names
    each = zip((cased, *cased.more), (lowered, *lowered.more), strict=True)
    tests = [one_test(one, other, name=test_name(corpora[one.test_set])) for one, other in each]
    return {
        "run": run.name,
        "command": command_of(run.name, recipe),
        "engine": cased.engine,
        "search": f"beam {recipe.search.beam_size}",
        "minutes": round(read_jsonl(run / "timing.jsonl")[-1]["seconds"] / 60, 1),
        "hardware": curve(run)["hardware"],
        "tests": tests,
    }


def one_test(cased: Measurement, lowered: Measurement, *, name: str) -> dict[str, Any]:
    """Scores of one test set, as plain values."""
    scores = [asdict(score) for found in (cased, lowered) for score in found.evaluation.scores]
    return {
        "test_set": name,
        "n_lines": cased.evaluation.n_lines,
        "scores": scores,
    }


def test_name(corpus: CorpusConfig | None) -> str:
    """What a test is called: the name of its file, and of the folder where that says little."""
    path = Path(corpus.src or corpus.path) if corpus else Path("split off")
    stem = path.name.split(".")[0]
    folder = path.parent.name
    return f"{folder}/{stem}" if stem in ("test", "dev") and folder and not folder.startswith("$") else stem


def command_of(name: str, recipe: Recipe) -> str:
    """What trained it: with what was set otherwise than the built-in recipe of that name says, but for made text."""
    is_student = any("/.distilled/" in corpus.src for corpus in recipe.data.corpora)
    command = f"yiwen distil TEACHER {name}" if is_student else f"yiwen train {name}"
    if name not in builtin_names():
        return command
    usual = settings_of(load_recipe(name).recipe)
    changed = {key: value for key, value in settings_of(recipe).items() if usual.get(key) != value}
    shown = {
        key: value if isinstance(value, str) else json.dumps(value, default=lambda corpus: "...")
        for key, value in changed.items()
        if not (is_student and key.startswith("data."))
    }
    return " ".join([command, *(f"--set {key}={value}" for key, value in shown.items())])


def as_markdown(result: dict[str, Any]) -> str:
    """The scores for a reader."""
    rows = "\n".join(
        f"| {test['test_set']} | {test['n_lines']:,} | {score['name']} | {score['value']:.2f} "
        f"| `{score['signature'].replace('|', chr(92) + '|')}` |"
        for test in result["tests"]
        for score in test["scores"]
    )
    return f"""# Scores: {result["run"]}, {result["date"]}

`{result["command"]}`, {result["minutes"]} minutes of updates; {result["search"]}, {result["engine"]}.

| test set | lines | score | value | signature |
|---|---:|---|---:|---|
{rows}
"""


def main() -> None:
    """Score, show, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", help="folders of runs")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    parser.add_argument("--quick", action="store_true", help="60 updates of the demo recipe")
    options = parser.parse_args()
    if not options.runs and not options.quick:
        raise ConfigError("give the folder of a run, for example runs/multi30k-en-de, or --quick")
    with tempfile.TemporaryDirectory() as name:
        if options.quick:
            os.environ["YIWEN_DEMO"], os.environ["YIWEN_RUNS"] = f"{name}/demo", f"{name}/runs"
            write_demo(Path(name) / "demo", n_train=6_000, n_valid=50, n_test=100)
            options.runs = [train_recipe(load_recipe("demo-en-zh", QUICK))[0]]
        for run in options.runs:
            result = scores_of(run) | {"benchmark": "scores", "date": datetime.date.today().isoformat()}
            publish(result, as_markdown(result), folder=options.output, stem=f"scores-{result['date']}-{result['run']}")


if __name__ == "__main__":
    run_main(main)
