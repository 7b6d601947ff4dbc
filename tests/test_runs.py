"""Starting, resuming and refusing runs, through the command as a user meets it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file

from toy_task import outcome, write_task
from varlen import one_by_one
from yiwen import files, hardware
from yiwen.bundle import open_bundle
from yiwen.cli.main import main
from yiwen.data import pipeline
from yiwen.data.batching import Batch
from yiwen.errors import CheckpointError, ConfigError
from yiwen.model.transformer import Transformer
from yiwen.preparing import prepare_recipe
from yiwen.recipe import load_recipe
from yiwen.runs import average_run, check_start, train_recipe
from yiwen.stop import ECHO, StopFlag
from yiwen.tasks.config import METRICS, Task
from yiwen.training import checkpoint, loop, microbatch, translation, validation
from yiwen.training.checkpoint import checkpoints, latest_checkpoint, read_progress

FAST = ["max_steps=9", "validate_every=4", "checkpoint_every=3", "precision='float32'"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe and its text, which is prepared once for the whole file."""
    folder = tmp_path_factory.mktemp("toy")
    write_task(folder, "reverse", n=150)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _environment(text: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YIWEN_RUNS", str(text / "runs"))
        patch.setenv("YIWEN_KEEP_MEMORY", "0")
        yield


@pytest.fixture(scope="module")
def whole(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted. Read it, never write it."""
    run = tmp_path_factory.mktemp("finished") / "whole"
    assert train(text, run) == 0
    return run


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """A copy of it that may be changed and resumed."""
    return Path(shutil.copytree(whole, tmp_path / "run", symlinks=True))


def train(text: Path, run: Path, *options: str, settings: list[str] = FAST) -> int:
    """`yiwen train`; returns the exit code."""
    extra = [part for setting in settings for part in ("--set", f"training.{setting}")]
    return main(["train", str(text / "reverse.toml"), "--run", str(run), *extra, *options])


def test_the_recipe_of_a_run_finds_its_text_wherever_the_run_is(text: Path, tmp_path: Path) -> None:
    assert train(text, tmp_path / "run") == 0
    copied = shutil.copytree(tmp_path / "run", tmp_path / "elsewhere" / "copied", symlinks=True)
    assert load_recipe(str(copied / "recipe.toml")).base == text
    assert main(["train", str(copied / "recipe.toml"), "--run", str(tmp_path / "again")]) == 0
    assert main(["train", str(copied / "recipe.toml"), "--run", str(copied), "--resume"]) == 0
    (copied / "hardware.json").write_text("[1]", encoding="utf-8")
    assert load_recipe(str(copied / "recipe.toml")).base == copied


def test_the_recipe_of_a_run_has_the_name_of_the_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(run.parent))
    recipe = str(run / "recipe.toml")
    assert main(["train", recipe]) == 2
    assert f"{run} exists already; go on by --resume" in capsys.readouterr().err
    assert main(["train", recipe, "--resume", "--set", "training.max_steps=10"]) == 0
    assert (run / "final").resolve().name == "final-00000010"
    assert load_recipe(str(shutil.copy(recipe, run.with_name("recipe.toml")))).name == "recipe"  # no run


def test_a_run_holds_what_the_design_says(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train(text, run, "--json") == 0
    assert {path.name for path in run.iterdir()} == {
        *("recipe.toml", "hardware.json", "lock", "checkpoints", "bundles", "best", "final"),
        *("metrics.jsonl", "timing.jsonl", "tensorboard"),
    }
    assert open_bundle(run / "best").info.weights == "ema"
    assert open_bundle(run / "final").info.step == 9
    chosen = json.loads((run / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert (chosen["device"], chosen["precision"], chosen["threads"]) == ("cpu", "float32", 1)
    shown = capsys.readouterr()
    result = json.loads(shown.out.splitlines()[-1])
    assert (result["step"], result["run"]) == (9, str(run))
    assert "\x1b" not in shown.err  # no bar where nobody watches
    assert f"next: yiwen translate {shlex.quote(str(run / 'best'))} < " in shown.err


def test_a_run_that_exists_is_not_written_over(
    text: Path, run: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(text, run) == 2
    assert "run exists already; go on by --resume, give another --run folder" in capsys.readouterr().err
    assert outcome(run) == outcome(whole)


def test_a_run_that_cannot_be_written_is_refused_before_anything_is_prepared(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "file").touch()
    for run in (tmp_path / "link", tmp_path / "file", tmp_path / "file" / "run"):
        assert train(text, run, settings=[]) == 2
        told = f"{run} is a file, a link to nothing, or may not be written; give another folder with --run"
        assert told in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_recipe_without_validation_text_is_refused_before_anything_is_prepared(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    assert train(text, tmp_path / "run", "--set", "data.valid_pairs=0") == 3
    assert "there is no validation text; set data.valid to a file with text" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_changed_recipe_is_refused_with_the_difference_before_anything_is_prepared(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "run", lambda *_: pytest.fail("prepared"))
    assert train(text, run, "--resume", "--set", "training.seed=5", "--set", "data.max_tokens=21") == 2
    message = capsys.readouterr().err
    assert "was started with another recipe; a resumed run cannot change these" in message
    assert "data.max_tokens: 29 -> 21" in message
    assert "training.seed: 1 -> 5" in message
    assert "undo the changes, or start a new run with --run FOLDER" in message


def test_a_corpus_that_was_changed_or_added_is_named_by_its_number(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, more = 'path="reverse.tsv", weight=2.0', 'path="more.tsv", weight=1.0'
    assert train(text, run, "--resume", "--set", f"data.corpora=[{{{first}}}, {{{more}}}]") == 2
    message = capsys.readouterr().err
    assert "data.corpora.1.weight: 0.0 -> 2.0\n  data.corpora.2.path: None -> 'more.tsv'\n" in message
    assert "data.corpora.1.path" not in message


def test_a_run_that_another_process_made_while_text_was_prepared_keeps_its_recipe(
    text: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def meanwhile(*given: Any, **how: Any) -> Any:
        shutil.copytree(whole, run, symlinks=True)
        return prepare_recipe(*given, **how)

    monkeypatch.setattr("yiwen.runs.prepare_recipe", meanwhile)
    assert train(text, run, "--set", "training.seed=5") == 2
    assert "training.seed: 1 -> 5" in capsys.readouterr().err
    assert (run / "recipe.toml").read_bytes() == (whole / "recipe.toml").read_bytes()


@pytest.mark.parametrize(("written", "changed"), [("seed = 1", "seed = 5"), ("learning_rate = 0", "learning_rate = 1")])
def test_a_change_of_the_recipe_in_the_run_itself_is_refused(
    run: Path, written: str, changed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(run.parent))
    path = run / "recipe.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(rf"^{written}", changed, text, flags=re.M), encoding="utf-8")
    assert main(["train", str(path), "--resume"]) == 2
    assert f"training.{written.split(' ')[0]}: " in capsys.readouterr().err
    path.write_text(text.replace("max_steps = 9", "max_steps = 10"), encoding="utf-8")
    assert main(["train", str(path), "--resume"]) == 0


def test_a_run_that_did_not_keep_the_recipe_of_its_start_is_compared_with_that_in_it(text: Path, run: Path) -> None:
    path = run / "hardware.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    del known["recipe"]
    path.write_text(json.dumps(known), encoding="utf-8")
    assert train(text, run, "--resume", "--set", "training.seed=5") == 2
    assert train(text, run, "--resume", settings=[*FAST, "max_steps=10"]) == 0


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("device=gpu", "device='gpu' is unknown"),
        ("device=cuda:7", "device='cuda:7', but torch"),
        ("attention=packed", "attention='packed' is for CUDA in bf16, and here is cpu in float32; use 'fused'"),
    ],
)
def test_what_is_not_for_this_machine_is_refused_before_anything_is_prepared(
    text: Path,
    tmp_path: Path,
    setting: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("yiwen.runs.prepare_recipe", lambda *_, **__: pytest.fail("prepared"))
    assert train(text, tmp_path / "run", settings=[*FAST, setting]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("task", ["translate", "embed"])
def test_two_vocabularies_are_refused_where_a_model_has_one_table(text: Path, tmp_path: Path, task: str) -> None:
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(b"")
    settings = [f"task={task}", f"training.metric={METRICS[cast(Task, task)][0]}", f"tokenizer.model={tmp_path}"]
    loaded = load_recipe(str(text / "reverse.toml"), settings)
    with pytest.raises(ConfigError, match=r"holds a vocabulary for each language, .* has one table of subwords; name"):
        prepare_recipe(loaded, stop=StopFlag())


def test_length_patience_search_and_evaluation_may_change(text: Path, run: Path) -> None:
    changed = [*FAST, "max_steps=12", "patience=9", "log_every=1", "keep_last=2"]
    others = ("--set", "search.beam_size=2", "--set", "evaluation.n_bootstrap=40")
    assert train(text, run, "--resume", *others, settings=changed) == 0
    assert open_bundle(run / "final").info.step == 12
    assert "max_steps = 12" in (run / "recipe.toml").read_text(encoding="utf-8")


def test_a_run_cannot_become_shorter_than_it_is(text: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "recipe.toml").read_bytes()
    assert train(text, run, "--resume", settings=[*FAST, "max_steps=5"]) == 2
    assert "\n  training.max_steps=5: 9 updates are done; use 9 or more\n" in capsys.readouterr().err
    assert (run / "recipe.toml").read_bytes() == before


def test_changed_text_is_refused_before_it_is_prepared(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, "reverse", n=150, seed=2)
    monkeypatch.setattr("yiwen.runs.prepare_recipe", lambda *_, **__: pytest.fail("prepared"))
    assert train(tmp_path, run, "--resume") == 4
    assert "was trained on the prepared data" in capsys.readouterr().err


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_run_of_a_version_with_other_settings_names_them_and_what_to_do(
    is_kept: bool, text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until 2026-11-25 `hardware.json` did not keep the recipe that a run began with."""
    kept = json.loads((run / "hardware.json").read_text(encoding="utf-8"))
    kept["recipe"] = kept["recipe"].replace("[training]\n", "[training]\ngears = 7\n")
    if not is_kept:
        (run / "recipe.toml").write_text(kept.pop("recipe"), encoding="utf-8")
    (run / "hardware.json").write_text(json.dumps(kept), encoding="utf-8")
    assert train(text, run, "--resume") == 4
    told = capsys.readouterr().err
    assert "training.gears is not a setting" in told
    assert f"go on with the yiwen that began {run}, or start a new run with --run FOLDER" in told


@pytest.mark.parametrize("content", ["[]", "{", '{"chosen": {}}', '{"chosen": 3}'])
def test_a_broken_choice_of_hardware_is_refused(
    text: Path, run: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "hardware.json").write_text(content, encoding="utf-8")
    assert train(text, run, "--resume") == 4
    assert "hardware.json cannot be used" in capsys.readouterr().err


def test_a_run_whose_recipe_is_gone_is_compared_with_that_of_its_start(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "recipe.toml").unlink()
    assert train(text, run, "--resume", "--set", "training.seed=5") == 2
    assert "training.seed: 1 -> 5" in capsys.readouterr().err


def test_a_run_whose_choice_of_hardware_is_gone_is_not_given_another(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "hardware.json").unlink()
    assert train(text, run, "--resume", settings=[*FAST, "max_steps=10"]) == 4
    assert "hardware.json cannot be used" in capsys.readouterr().err


def test_a_run_goes_on_with_the_hardware_it_began_with(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "hardware.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"cpu"', '"cuda:7"', 1), encoding="utf-8")
    assert train(text, run, "--resume") == 4
    assert "'cuda:7', but torch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"attention": "packed"}, "attention='packed' is for CUDA in bf16, and here is cpu in float32; use 'fused'"),
        ({"threads": 0}, "threads is 0; use 1 to 512"),
        ({"threads": 513}, "threads is 513; use 1 to 512"),
        ({"threads": 2, "shards": 3}, "shards is 3; use 1 to threads"),
        ({"shards": 0}, "shards is 0; use 1 to threads"),
    ],
)
def test_a_choice_that_was_edited_into_none_that_can_be_computed_says_so(
    text: Path, run: Path, chosen: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a run of a GPU is to go on on a CPU, and only the device was changed."""
    path = run / "hardware.json"
    table = json.loads(path.read_text("utf-8"))
    table["chosen"] |= chosen
    path.write_text(json.dumps(table), encoding="utf-8")
    assert train(text, run, "--resume") == 4
    assert told in capsys.readouterr().err


def test_a_run_from_before_products_were_chosen_goes_on_with_the_ones_it_had(text: Path, tmp_path: Path) -> None:
    run, ways = tmp_path / "run", ["attention='plain'", "products='torch'"]
    assert train(text, run, settings=[*FAST, *ways]) == 0
    path = run / "hardware.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    del known["chosen"]["products"], known["chosen"]["batch_tokens"], known["recipe"]
    path.write_text(json.dumps(known), encoding="utf-8")
    (run / "recipe.toml").write_text(
        re.sub(r"^(attention|products) = .*\n", "", (run / "recipe.toml").read_text(encoding="utf-8"), flags=re.M),
        encoding="utf-8",
    )
    assert train(text, run, "--resume", settings=[*FAST, "max_steps=12"]) == 0
    assert train(text, tmp_path / "whole", settings=[*FAST, *ways, "max_steps=12"]) == 0
    assert outcome(run)[1:] == outcome(tmp_path / "whole")[1:]


def test_what_was_chosen_is_recorded_and_said(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    settings = [*FAST, "attention='fused'", "products='onednn'"]
    applied: list[hardware.Hardware] = []
    with monkeypatch.context() as patch:
        patch.setattr("yiwen.hardware.apply", applied.append)
        assert train(text, run, settings=settings) == 0
    said = "computing on cpu in float32, 1 thread; fused attention; products by onednn; freed memory is given back"
    assert said in " ".join(capsys.readouterr().err.split())  # it may be wrapped
    chosen = json.loads((run / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert (chosen["attention"], chosen["products"], chosen["batch_tokens"]) == ("fused", "onednn", 0)
    assert chosen == asdict(applied[0])
    choose = hardware.choose

    def never_for_training(**asked: Any) -> hardware.Hardware:
        """Whoever measures the finished model chooses for itself."""
        assert "batch_tokens" not in asked, "chosen anew"
        return choose(**asked)

    monkeypatch.setattr("yiwen.hardware.choose", never_for_training)
    assert train(text, run, "--resume", settings=settings) == 0
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("settings", "batch_tokens", "may_pack"),
    [
        ([], 211, True),
        (["training.batch_tokens='auto'", "training.update_tokens=307"], 307, True),
        (["task='embed'", "training.metric=accuracy"], 0, False),  # whose batch is judged as a whole
        (["tokenizer.sampling=0.1"], 211, False),
        (["model.d_model=1024"], 211, False),
    ],
)
def test_hardware_is_chosen_for_what_the_recipe_computes(
    text: Path,
    tmp_path: Path,
    settings: list[str],
    batch_tokens: int,
    may_pack: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr("yiwen.hardware.choose", lambda **given: asked.update(given))
    check_start(tmp_path / "run", load_recipe(text / "reverse.toml", settings).recipe, resume=False)
    assert (asked["batch_tokens"], asked["may_pack"]) == (batch_tokens, may_pack)


def test_a_run_from_a_machine_with_bf16_tells_where_it_cannot_go_on(
    text: Path, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run / "hardware.json"
    table = json.loads(path.read_text("utf-8"))
    table["chosen"] |= {"precision": "bf16", "products": "onednn"}
    path.write_text(json.dumps(table), encoding="utf-8")
    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: dtype != torch.bfloat16)
    assert train(text, run, "--resume") == 4
    said = " ".join(capsys.readouterr().err.split())
    assert "hardware.json cannot be used (products='onednn', but this torch has none that computes bf16" in said


@pytest.mark.slow
def test_a_run_of_packed_sentences_learns_what_one_of_padded_sentences_learns(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel and the device that it needs are not here: a loop over sentences stands in, on the CPU."""
    settings = [*FAST, "log_every=1"]

    def losses(run: Path) -> list[float]:
        assert train(text, run, "--set", "model.dropout=0.0", settings=settings) == 0
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        return [line["loss"] for line in lines if "loss" in line]

    padded = losses(tmp_path / "padded")
    choose, n_passes = hardware.choose, []
    monkeypatch.setattr("yiwen.hardware.choose", lambda **asked: replace(choose(**asked), attention="packed"))
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", one_by_one)
    forward_packed = Transformer.forward_packed

    def counting(model: Transformer, *given: Any) -> Any:
        assert given[0].shape[0] == 1
        n_passes.append(1)
        return forward_packed(model, *given)

    monkeypatch.setattr(Transformer, "forward_packed", counting)
    packed = losses(tmp_path / "packed")
    assert len(packed) == len(padded) == 9
    assert packed == pytest.approx(padded, rel=1e-4)
    assert len(n_passes) >= 1 + 9  # the largest batch, then one an update or more
    tried = []

    def rate(model: Any, batch: Batch, **_: Any) -> float:
        tried.append(batch.packings is not None)
        return 1.0

    monkeypatch.setattr(translation, "tokens_per_second", rate)
    settings += ["batch_tokens='auto'", "update_tokens=1500"]
    losses(tmp_path / "auto")
    assert set(tried) == {True}


def test_the_fastest_micro_batch_is_found_once_and_kept_by_the_run(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As fast as they are many, the micro-batches: so the largest is taken, all 512 tokens of an update."""
    tried = []

    def rate(model: Any, batch: Any, **_: Any) -> float:
        assert model.training
        tried.append(batch.n_tokens)
        return float(batch.n_tokens)

    monkeypatch.setattr(microbatch, "SMALLEST", 128)
    monkeypatch.setattr(translation, "tokens_per_second", rate)
    auto = [*FAST, "batch_tokens='auto'", "update_tokens=512"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert train(text, tmp_path / "run", settings=auto) == 0
    assert "; micro-batches of 512 positions\n" in capsys.readouterr().err
    assert len(tried) == 3
    chosen = json.loads((tmp_path / "run" / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert chosen["batch_tokens"] == 512
    assert 'batch_tokens = "auto"' in (tmp_path / "run" / "recipe.toml").read_text(encoding="utf-8")

    assert train(text, tmp_path / "again", settings=auto) == 0  # remembered by the machine
    assert train(text, tmp_path / "number", settings=[*FAST, "batch_tokens=512", "update_tokens=512"]) == 0
    assert outcome(tmp_path / "run") == outcome(tmp_path / "again") == outcome(tmp_path / "number")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    assert train(text, tmp_path / "run", "--resume", settings=[*auto, "max_steps=12"]) == 0  # remembered by the run
    assert len(tried) == 3


def test_a_stop_while_micro_batches_are_tried_leaves_nothing_to_undo(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    auto = [*FAST, "batch_tokens='auto'", "update_tokens=300"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(translation, "sizes_to_try", signalling(translation.sizes_to_try, signal.SIGTERM))
        assert train(text, tmp_path / "run", settings=auto) == 143
    assert "stopped by SIGTERM during the search for the fastest micro-batch" in capsys.readouterr().err
    assert train(text, tmp_path / "run", "--resume", settings=auto) == 0
    chosen = json.loads((tmp_path / "run" / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert chosen["batch_tokens"] == 300


def test_resume_without_a_run_starts_one(text: Path, tmp_path: Path) -> None:
    assert train(text, tmp_path / "run", "--resume") == 0
    assert (tmp_path / "run" / "final").exists()


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_model_whose_checkpoints_are_gone_is_not_trained_over(
    resume: list[str], text: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(run / "checkpoints")
    (run / "final").unlink()  # as of one that was still training
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert train(text, run, *resume) == 2
    assert "holds a model and no checkpoint; give another --run folder" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_leftovers_of_a_killed_start_are_removed_and_an_export_into_the_run_goes_on(text: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for folder in (run, run / "checkpoints", run / "bundles", run / "tensorboard"):
        folder.mkdir(exist_ok=True, parents=True)
        (folder / ".tmp-99999999-step-00000003").mkdir()
        (folder / ".tmp-99999999-step-00000003" / "half").write_bytes(b"x")
    (written := run / f".tmp-{os.getppid()}-exported").mkdir()  # of a process that lives
    assert train(text, run) == 0
    assert [*run.rglob(".tmp-*")] == [written]


def signalling(real: Callable[..., Any], signum: int, *, nth: int = 1, is_after: bool = False) -> Callable[..., Any]:
    """The same function, but a signal arrives in its nth call."""
    calls = []

    def call(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == nth and not is_after:
            os.kill(os.getpid(), signum)
        result = real(*args, **options)
        if len(calls) == nth and is_after:
            os.kill(os.getpid(), signum)
        return result

    return call


PHASES: dict[str, tuple[Any, str, int, str]] = {
    "trial": (loop.Trainer, "_try_largest_batch", 1, "the trial of the largest batch; step 0 is saved"),
    "step": (loop.Trainer, "_gradients", 5, "training; step 5 is saved"),
    "validation": (validation.ValidationSet, "_loss", 1, "validation; step 4 is saved"),
    "decoding": (validation.ValidationSet, "validate", 2, "validation; step 8 is saved"),
    "save": (loop, "save_checkpoint", 3, "training; step 6 is saved"),
}


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_is_heard_said_and_leaves_no_trace(
    text: Path,
    whole: Path,
    tmp_path: Path,
    phase: str,
    signum: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    owner, name, nth, message = PHASES[phase]
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, signalling(getattr(owner, name), signum, nth=nth))
        assert train(text, run) == 128 + signum
    assert f"stopped by {signum.name} during {message}, go on with --resume" in capsys.readouterr().err
    latest = latest_checkpoint(run / "checkpoints")
    assert latest is not None
    assert f"step {read_progress(latest).step} is saved" in message
    assert train(text, run, "--resume") == 0
    assert outcome(run) == outcome(whole)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_prepare_leaves_no_run(
    tmp_path: Path, signum: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, "reverse", n=150, seed=3)
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "run", signalling(pipeline.run, signum))
        assert train(tmp_path, tmp_path / "run") == 128 + signum
    assert f"stopped by {signum.name} during " in capsys.readouterr().err
    assert not (tmp_path / "run" / "recipe.toml").exists()
    assert train(tmp_path, tmp_path / "run") == 0


def test_a_second_signal_stops_at_once_and_resume_is_exact(
    text: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"

    def twice(trainer: loop.Trainer, *args: Any, **options: Any) -> Any:
        if trainer.progress.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
            trainer.stop.since -= 2 * ECHO
            os.kill(os.getpid(), signal.SIGTERM)
            raise AssertionError("the second signal was not heard")
        return real(trainer, *args, **options)

    real = loop.Trainer._gradients
    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "_gradients", twice)
        assert train(text, run) == 143
    assert "stopped at once by a second SIGTERM" in capsys.readouterr().err
    assert [path.name for path in checkpoints(run / "checkpoints")] == ["step-00000003"]
    assert train(text, run, "--resume") == 0
    assert outcome(run) == outcome(whole)


def test_a_second_writer_is_refused(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with files.one_writer(tmp_path / "run"):
        assert train(text, tmp_path / "run") == 1
    told = f"run is being written by process {os.getpid()}; wait for it, stop it, or use another folder"
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run" / "recipe.toml").exists()


def test_checkpoints_are_averaged_by_hand(run: Path, tmp_path: Path) -> None:
    assert average_run(str(run), output=str(tmp_path / "mean"), last=2) == 2
    bundle = open_bundle(tmp_path / "mean")
    assert (bundle.info.weights, bundle.info.step, bundle.info.scores) == ("average of 2 checkpoints", 9, {})
    parts = [load_file(path / "model.safetensors") for path in checkpoints(run / "checkpoints")[-2:]]
    for name, weight in load_file(tmp_path / "mean" / "model.safetensors").items():
        expected = (parts[0][name].double() + parts[1][name].double()) / 2
        assert (weight.double() - expected).abs().max() <= expected.abs().max() * 2**-23
    with pytest.raises(ConfigError, match="mean exists already, or may not be written; give another --output"):
        average_run(run, output=tmp_path / "mean", last=2)
    with pytest.raises(ConfigError, match="--last is 0; average 1 checkpoint or more"):
        average_run(run, output=tmp_path / "other", last=0)
    with pytest.raises(CheckpointError, match="has no checkpoint and best model yet; train it first"):
        average_run(tmp_path / "none", output=tmp_path / "other", last=1)


def test_the_mean_of_one_checkpoint_is_the_same_model_in_a_recipe_and_by_the_command(
    text: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert train(text, run, settings=[*FAST, "average_last=1"]) == 0
    average_run(run, output=tmp_path / "mean", last=1)
    weights = [(folder / "model.safetensors").read_bytes() for folder in (run / "final", tmp_path / "mean")]
    assert weights[0] == weights[1]
    assert weights[0] != (run / "best" / "model.safetensors").read_bytes()  # which is of the moving average


def test_a_stopped_average_says_so_and_leaves_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verify(path: Path) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("yiwen.training.average.verify_checkpoint", verify)
    assert main(["average", str(run), "--output", str(tmp_path / "mean" / "model"), "--last", "2"]) == 143
    assert capsys.readouterr().err == "stopped by SIGTERM during averaging\n"
    assert not (tmp_path / "mean").exists()


def test_a_damaged_checkpoint_is_named_and_the_others_are_averaged_without_it(run: Path, tmp_path: Path) -> None:
    damaged = checkpoints(run / "checkpoints")[-2]
    (damaged / "model.safetensors").write_bytes(b"half")
    told = f"{damaged} is damaged: model.safetensors has changed; .*; to do without it, remove {damaged}"
    with pytest.raises(CheckpointError, match=told):
        average_run(run, output=tmp_path / "mean", last=2)
    (damaged / "state.json").write_bytes(b"half")  # is read first, to see which were scheduled
    with pytest.raises(CheckpointError, match=f"state.json cannot be read .*to do without it, remove {damaged}"):
        average_run(run, output=tmp_path / "mean", last=2)
    shutil.rmtree(damaged)
    assert average_run(run, output=tmp_path / "mean", last=2) == 2


def test_of_a_run_that_ended_before_its_first_scheduled_checkpoint_the_last_is_taken(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "read_progress", lambda path: replace(read_progress(path), is_scheduled=False))
    assert average_run(run, output=tmp_path / "mean", last=2) == 1
    assert open_bundle(tmp_path / "mean").info.step == 9


def test_weights_that_were_only_drawn_are_averaged_for_nobody(run: Path, tmp_path: Path) -> None:
    first, *later = checkpoints(run / "checkpoints")  # as it was killed behind a validation, before the first of them
    for path in later:
        shutil.rmtree(path)
    state = first.rename(first.with_name("step-00000000")) / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "step": 0, "is_scheduled": False}))
    with pytest.raises(CheckpointError, match="has no checkpoint and best model yet; train it first"):
        average_run(run, output=tmp_path / "mean", last=1)


def test_a_run_that_never_got_to_a_checkpoint_starts_anew(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert train(text, run, settings=[*FAST, "device='cuda:7'"]) != 0
    run.mkdir()
    cut = run / "memory.jsonl"  # how updates of a try before were cut down, which are no longer those of this run
    cut.write_text('{"step": 1, "plan": [[0]], "left_out": [1]}\n', encoding="utf-8")
    assert train(text, run, settings=[*FAST, "learning_rate=0.002"]) == 0, capsys.readouterr().err
    assert not cut.exists()
    assert train(text, run) == 2
    assert "exists already; go on by --resume" in capsys.readouterr().err


def test_folders_may_be_texts_and_a_recipe_has_to_be_loaded(text: Path, run: Path, whole: Path) -> None:
    loaded = load_recipe(text / "reverse.toml")
    with pytest.raises(ConfigError, match="run exists already"):
        train_recipe(loaded, run=str(run), root=str(run.parent))
    for recipe in ("demo-en-zh", loaded.recipe):
        with pytest.raises(
            ConfigError, match=r"a recipe to train is a (str|Recipe); give what yiwen\.recipe\.load_recipe"
        ):
            train_recipe(recipe, run=run)  # type: ignore[arg-type]
    for argument in ("run", "root", "stop", "console"):
        with pytest.raises(ConfigError, match=rf"^{argument} is a int; give .*, or None, not 7$"):
            train_recipe(loaded, **{argument: 7})  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", [torch.no_grad, torch.inference_mode, partial(torch.device, "meta")])
def test_what_a_caller_has_set_torch_to_changes_no_training(
    setting: Callable[[], Any], text: Path, whole: Path, tmp_path: Path
) -> None:
    with setting():  # the device stands for a GPU that is the default one
        train_recipe(load_recipe(text / "reverse.toml", [f"training.{each}" for each in FAST]), run=tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(whole)


@pytest.mark.parametrize("task", ["translate", "mlm"])
def test_weights_are_float32_whatever_a_caller_makes_torch_begin_with(text: Path, tmp_path: Path, task: Task) -> None:
    settings = [f"task={task}", f"training.metric={METRICS[task][0]}", *(f"training.{each}" for each in FAST)]
    loaded, usual = load_recipe(text / "reverse.toml", settings), torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        train_recipe(loaded, run=tmp_path / "run")
    finally:
        torch.set_default_dtype(usual)
    assert {each.dtype for each in load_file(tmp_path / "run" / "best" / "model.safetensors").values()} == {usual}


def test_a_caller_draws_the_numbers_that_would_come_without_a_training(text: Path, tmp_path: Path) -> None:
    loaded = load_recipe(text / "reverse.toml", [f"training.{setting}" for setting in FAST])
    torch.manual_seed(7)
    drawn = torch.rand(3)
    torch.manual_seed(7)
    train_recipe(loaded, run=tmp_path / "run")
    assert torch.equal(torch.rand(3), drawn)


@pytest.mark.parametrize("package", ["torch", "pyarrow"])
def test_without_what_training_needs_the_pip_line_is_named(package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None\nimport yiwen.runs"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "MissingDependencyError: training needs torch and pyarrow: pip install 'yiwen[train]'" in result.stderr
