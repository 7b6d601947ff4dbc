"""A run that is killed, stopped or fails anywhere and is resumed ends with the same digits as one never stopped."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from toy_job import FULL, SMALL, Disk, Killed, Screen, results, toy_job, train, trainer

from yiwen.bundle import load_tensors
from yiwen.errors import CheckpointError, Stopped, TrainingError
from yiwen.files import is_complete, remove
from yiwen.stop import StopFlag
from yiwen.training.checkpoint import Trained, checkpoints, last_scheduled, read_progress, remove_old, save_checkpoint
from yiwen.training.config import TrainingConfig
from yiwen.training.state import Progress
from yiwen.training.validation import Validation

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"ema_decay": 0.0, "optimizer": "adam"},
    "ema": {"optimizer": "adamw"},
    "muon": {"optimizer": "muon", "update_tokens": 113},
    "averaged": {"average_last": 2, "clip_norm": 0.5, "max_steps": 21},
    "patient": {"patience": 2, "validate_every": 3, "checkpoint_every": 4, "average_last": 2, "max_steps": 90},
}


def dangling(run: Path) -> bool:
    """Whether `best` or `final` is a link to nothing, or to a bundle that is not whole."""
    return any((run / link).is_symlink() and not is_complete(run / link) for link in ("best", "final"))


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_operation_and_resumed_gives_the_same_digits(tmp_path: Path, kind: str) -> None:
    config = replace(SMALL, **KINDS[kind])
    whole, run = tmp_path / "whole", tmp_path / "run"
    with Disk().spinning() as disk:
        train(whole, config)
    rng = random.Random(kind)
    kills = 0
    while True:
        try:
            with Disk(fail_at=rng.randrange(disk.n // 2)).spinning():
                train(run, config)
            break
        except Killed:
            kills += 1
            assert not dangling(run) or kills > 200
    assert kills >= 3
    assert results(run) == results(whole)
    assert [p.name for p in checkpoints(run / "checkpoints")] == [p.name for p in checkpoints(whole / "checkpoints")]
    assert sorted(p.name for p in (run / "bundles").iterdir()) == sorted(p.name for p in (whole / "bundles").iterdir())


def test_killed_behind_the_last_checkpoint_a_run_keeps_no_more_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, checkpoint_every=4, keep_last=2)
    whole, run = tmp_path / "whole", tmp_path / "run"
    train(whole, config)

    def killed(folder: Path, *, keep_last: int) -> None:
        if int(checkpoints(folder)[-1].name[-8:]) >= config.max_steps:
            raise Killed
        remove_old(folder, keep_last=keep_last)

    with monkeypatch.context() as patch:
        patch.setattr("yiwen.training.loop.remove_old", killed)
        with pytest.raises(Killed):
            train(run, config)
    train(run, config)
    names = [[path.name for path in checkpoints(each / "checkpoints")] for each in (whole, run)]
    assert names[0] == names[1]
    assert len(names[0]) == 2


def start(run: Path, config: TrainingConfig, *, signum: int, is_time: Callable[[str, int], bool]) -> Stopped | None:
    """Start or resume a run; a signal arrives where `is_time(phase, step)` says. Returns how it was stopped, if so."""
    stop = StopFlag()
    job = toy_job()

    def load(rows: Any, seed: int) -> Any:
        if is_time("step", work.progress.step):
            stop.signum = signum
        return job.load(rows, seed)

    def validate(model: Any, flag: StopFlag) -> Any:
        if is_time("validation", work.progress.step):
            flag.signum = signum
        return job.validate(model, flag)

    work = trainer(run, config, replace(job, load=load, validate=validate), stop=stop)
    try:
        work.train()
    except Stopped as stopped:
        return stopped
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_at_any_step_and_resumed_gives_the_same_digits(tmp_path: Path, kind: str) -> None:
    config = replace(SMALL, **KINDS[kind])
    train(tmp_path / "whole", config)
    run = tmp_path / "run"
    for at in (0, 1, 4, 6, 8):
        stopped = start(run, config, signum=signal.SIGTERM, is_time=lambda phase, step, at=at: step >= at)  # type: ignore[misc]
        assert stopped is not None
        assert stopped.exit_code == 143
        step = read_progress(checkpoints(run / "checkpoints")[-1]).step
        assert step > at or "validation" in str(stopped)
        assert str(stopped).endswith(f"; step {step} is saved, go on with --resume")
    train(run, config)
    assert results(run) == results(tmp_path / "whole")


@pytest.mark.parametrize("kind", ["averaged", "patient"])
def test_every_validation_stopped_once_gives_the_same_digits(tmp_path: Path, kind: str) -> None:
    """Also where the step is one whose checkpoint counts, and where that validation ends the run."""
    config = replace(SMALL, **KINDS[kind])
    train(tmp_path / "whole", config)
    run = tmp_path / "run"
    seen: set[int] = set()

    def is_time(phase: str, step: int) -> bool:
        is_new = phase == "validation" and step not in seen
        seen.update({step} if is_new else {})
        return is_new

    while stopped := start(run, config, signum=signal.SIGINT, is_time=is_time):
        assert stopped.exit_code == 130
        assert "SIGINT during validation" in str(stopped)
    assert len(seen) >= 3
    assert results(run) == results(tmp_path / "whole")
    ends = [
        (
            read_progress(checkpoints(each / "checkpoints")[-1]),
            sorted(path.name for path in (each / "bundles").iterdir()),
        )
        for each in (run, tmp_path / "whole")
    ]
    assert ends[0] == ends[1], "the last checkpoint knows of the validation, and of the best model"


def test_best_never_dangles_when_a_killed_run_is_stopped_before_its_old_place(tmp_path: Path) -> None:
    config = replace(SMALL, validate_every=1, checkpoint_every=20)
    job = toy_job()
    scores = iter(range(100))

    def rising(model: Any, stop: StopFlag) -> Any:
        validation = job.validate(model, stop)
        return replace(validation, scores={**validation.scores, "bleu": float(next(scores))})

    work = trainer(tmp_path, config, replace(job, validate=rising))
    work._save_if_due = lambda: (_ for _ in ()).throw(Killed) if work.progress.step == 9 else None  # type: ignore
    with pytest.raises(Killed):
        work.train()
    assert (tmp_path / "best").resolve().name == "best-00000009"
    stop = StopFlag()
    stop.signum = signal.SIGTERM
    with pytest.raises(Stopped):
        trainer(tmp_path, config, stop=stop).train()
    assert not dangling(tmp_path)
    assert not (tmp_path / "best").is_symlink()  # at step 0 there is no best model yet


def test_a_best_model_that_no_checkpoint_knows_of_is_made_anew(tmp_path: Path) -> None:
    """A start that was killed left it, and the run goes on to another end, towards which its learning rate falls."""

    def start(run: Path, *, max_steps: int, killed_at: int = -1) -> None:
        def ninth(model: Any, stop: StopFlag) -> Validation:
            return replace(job.validate(model, stop), scores={"bleu": float(work.progress.step == 9)})

        def load(rows: Any, seed: int) -> Any:
            if work.progress.step == killed_at:
                raise Killed
            return job.load(rows, seed)

        job = toy_job()
        config = replace(SMALL, schedule="cosine", validate_every=3, checkpoint_every=20, max_steps=max_steps)
        work = trainer(run, config, replace(job, validate=ninth, load=load))
        work.train()

    with pytest.raises(Killed):
        start(tmp_path / "run", max_steps=23, killed_at=10)
    assert (tmp_path / "run" / "best").resolve().name == "best-00000009"
    for name in ("run", "whole"):
        start(tmp_path / name, max_steps=30)
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_the_first_random_weights_are_never_averaged(tmp_path: Path) -> None:
    train(tmp_path, max_steps=8, checkpoint_every=4, keep_last=5, average_last=5)
    assert (tmp_path / "final" / "kind").read_text(encoding="utf-8") == "average of 2 checkpoints"
    assert not (tmp_path / "checkpoints" / "step-00000000").exists()


def test_early_stopping_before_the_first_checkpoint_still_has_something_to_average(tmp_path: Path) -> None:
    job = toy_job()
    flat = replace(job, validate=lambda model, stop: replace(job.validate(model, stop), scores={"bleu": 1.0}))
    progress = train(tmp_path, job=flat, validate_every=2, patience=1, checkpoint_every=20, average_last=2)
    assert progress.step == 4
    assert (tmp_path / "final" / "kind").read_text(encoding="utf-8") == "average of 1 checkpoints"


@pytest.mark.parametrize("average_last", [0, 2])
def test_a_stop_on_a_full_disk_promises_no_more_than_is_saved(tmp_path: Path, average_last: int) -> None:
    stop, config = StopFlag(), replace(SMALL, average_last=average_last)
    work = trainer(tmp_path, config, stop=stop)
    disk = Disk(error=28)
    real = work._validate_if_due

    def validate_if_due() -> None:
        real()
        if work.progress.step == 13:
            stop.signum = signal.SIGTERM
            disk.fail_at = disk.n + 6

    work._validate_if_due = validate_if_due  # type: ignore[method-assign]
    with disk.spinning(), pytest.raises(Stopped, match="step 10 is saved, go on with --resume"):
        work.train()
    train(tmp_path, config)
    train(tmp_path / "whole", config)
    assert results(tmp_path) == results(tmp_path / "whole")


@pytest.mark.parametrize("missing", [20, SMALL.max_steps])
def test_a_mean_of_checkpoints_that_lacks_one_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    def full(folder: Path, trained: Trained, *, progress: Progress) -> None:
        if progress.step == missing:
            raise OSError(FULL, "No space left on device")
        save_checkpoint(folder, trained, progress=progress)

    with monkeypatch.context() as patch:
        patch.setattr("yiwen.training.loop.save_checkpoint", full)
        with pytest.raises(OSError, match="No space left on device"):
            train(tmp_path, average_last=2)
    assert not (tmp_path / "final").exists()
    train(tmp_path, average_last=2)
    train(tmp_path / "whole", average_last=2)
    assert results(tmp_path) == results(tmp_path / "whole")


def test_a_stop_that_costs_the_last_checkpoint_on_a_full_disk_comes_before_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, config = StopFlag(), replace(SMALL, average_last=2)

    def full(folder: Path, trained: Trained, *, progress: Progress) -> None:
        if progress.step == SMALL.max_steps:
            stop.signum = signal.SIGTERM
            raise OSError(FULL, "No space left on device")
        save_checkpoint(folder, trained, progress=progress)

    with monkeypatch.context() as patch:
        patch.setattr("yiwen.training.loop.save_checkpoint", full)
        with pytest.raises(Stopped, match="during the last checkpoint"):
            trainer(tmp_path, config, stop=stop).train()
    assert not (tmp_path / "final").exists()
    train(tmp_path, config)
    train(tmp_path / "whole", config)
    assert results(tmp_path) == results(tmp_path / "whole")


def test_a_stop_before_the_last_checkpoints_are_read_comes_before_their_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, config = StopFlag(), replace(SMALL, average_last=2)

    def chosen(folder: Path, n: int) -> list[Path]:
        stop.signum = signal.SIGTERM
        return last_scheduled(folder, n)

    with monkeypatch.context() as patch:
        patch.setattr("yiwen.training.loop.last_scheduled", chosen)
        with pytest.raises(Stopped, match="SIGTERM during averaging; step 23 is saved, go on with --resume"):
            trainer(tmp_path, config, stop=stop).train()
    assert not (tmp_path / "final").exists()
    train(tmp_path, config)
    train(tmp_path / "whole", config)
    assert results(tmp_path) == results(tmp_path / "whole")


@pytest.mark.parametrize("is_new", [True, False], ids=["another in its place", "nothing there"])
def test_a_run_that_is_moved_away_while_it_trains_ends_and_writes_nothing_where_it_was(
    tmp_path: Path, is_new: bool
) -> None:
    run, moved, job = tmp_path / "run", tmp_path / "moved", toy_job()

    def load(rows: Any, seed: int) -> Any:
        if work.progress.step == 8 and not moved.exists():
            run.rename(moved)
            if is_new:
                train(run, max_steps=1)
                before.extend(sorted(run.rglob("*")))
        return job.load(rows, seed)

    before: list[Path] = []
    work = trainer(run, SMALL, replace(job, load=load))
    with pytest.raises(TrainingError, match=r"metrics.jsonl was removed or moved during training; go on with --resume"):
        work.train()
    assert sorted(run.rglob("*")) == before
    train(moved)
    train(tmp_path / "whole")
    assert results(moved) == results(tmp_path / "whole")


@pytest.mark.parametrize(("losses", "best", "n_worse"), [((3.0, 2.0, 1.0), 21, 0), ((1.0, 2.0, 3.0), 7, 2)])
def test_of_equal_scores_the_one_of_less_loss_is_the_best(
    tmp_path: Path, losses: tuple[float, ...], best: int, n_worse: int
) -> None:
    job, told = toy_job(), iter(losses)

    def flat(model: nn.Module, stop: StopFlag) -> Validation:
        return replace(job.validate(model, stop), scores={"loss": next(told), "bleu": 0.0})

    progress = train(tmp_path, job=replace(job, validate=flat), max_steps=21)
    assert (progress.best_step, progress.n_worse) == (best, n_worse)


@pytest.mark.parametrize(("ema_decay", "kind"), [(0.0, "last"), (0.9, "ema")])
def test_the_weights_that_were_judged_are_those_that_are_published(tmp_path: Path, ema_decay: float, kind: str) -> None:
    job, judged = toy_job(), []

    def flat(model: nn.Module, stop: StopFlag) -> Validation:
        judged.append({name: parameter.detach().clone() for name, parameter in model.named_parameters()})
        return replace(job.validate(model, stop), scores={"loss": 1.0, "bleu": 0.0})  # the first stays the best

    train(tmp_path, job=replace(job, validate=flat), ema_decay=ema_decay)
    best = load_tensors(tmp_path / "best" / "model.safetensors")
    assert best.keys() == judged[0].keys()
    assert all(torch.equal(weight, judged[0][name]) for name, weight in best.items())
    assert (tmp_path / "best" / "kind").read_text(encoding="utf-8") == kind


def test_a_second_signal_stops_at_once_without_saving(tmp_path: Path) -> None:
    job = toy_job()

    def load(rows: Any, seed: int) -> Any:
        if work.progress.step == 3:
            raise Stopped("stopped at once by a second SIGTERM", signum=signal.SIGTERM, is_immediate=True)
        return job.load(rows, seed)

    work = trainer(tmp_path, job=replace(job, load=load))
    with pytest.raises(Stopped, match="at once"):
        work.train()
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")] == ["step-00000000"]


def test_a_stop_in_the_trial_of_the_largest_batch_leaves_step_0(tmp_path: Path) -> None:
    stop = StopFlag()
    stop.signum = signal.SIGINT
    with pytest.raises(
        Stopped, match="SIGINT during the trial of the largest batch; step 0 is saved, go on with --resume"
    ):
        trainer(tmp_path, stop=stop).train()


def test_a_finished_run_resumed_computes_nothing_and_stays_as_it_is(tmp_path: Path) -> None:
    train(tmp_path)
    before = results(tmp_path)
    (tmp_path / "final" / "ctranslate2").mkdir()  # an export, made since
    idle = replace(
        toy_job(), largest=lambda: pytest.fail("a batch was tried"), loss_fn=lambda *_: pytest.fail("a loss")
    )
    assert train(tmp_path, job=idle).step == SMALL.max_steps
    assert results(tmp_path) == before
    assert (tmp_path / "final" / "ctranslate2").is_dir()


@pytest.mark.parametrize("early", [{}, {"patience": 1, "validate_every": 3, "checkpoint_every": 4, "max_steps": 90}])
def test_where_the_best_model_was_removed_the_next_validation_makes_another(
    early: dict[str, Any], tmp_path: Path
) -> None:
    run, screen, config = tmp_path, Screen(), replace(SMALL, **early)
    last = train(run, config).step
    assert (last < config.max_steps) == bool(early)
    (best,) = (run / "bundles").glob("best-*")
    remove(best)
    for _ in range(2):  # the second time nothing is missing
        work = trainer(run, config)
        work.log.say = screen.print  # type: ignore[method-assign]
        assert work.train().step == last, "what stopped early stays stopped"
        assert (run / "best").resolve().name == f"best-{last:08d}"
    said = f"the best model, of step {int(best.name[-8:])}, is gone; the next validation makes another"
    assert screen.lines.count(said) == 1
    assert read_progress(run / "checkpoints" / f"step-{last:08d}").best_step == last
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_bytes().split(b"\n")[:-1]]
    assert [line["step"] for line in lines if "valid_bleu" in line].count(last) == 2  # it was validated twice


def test_a_best_model_that_a_copy_made_a_folder_is_not_removed(tmp_path: Path) -> None:
    train(tmp_path)
    (tmp_path / "best").unlink()
    (best,) = (tmp_path / "bundles").glob("best-*")
    best.rename(tmp_path / "best")
    before = {path: path.read_bytes() for path in (tmp_path / "best").rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match="best is a folder where a link belongs: a copy that followed it; move"):
        train(tmp_path)
    assert before == {path: path.read_bytes() for path in (tmp_path / "best").rglob("*") if path.is_file()}


def test_a_final_model_that_a_copy_made_a_folder_is_refused_before_training_not_at_its_end(tmp_path: Path) -> None:
    train(tmp_path)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "final").unlink()
    (tmp_path / "final").mkdir()
    with pytest.raises(CheckpointError, match="final is a folder where a link belongs: a copy that followed it; move"):
        train(tmp_path, replace(SMALL, max_steps=SMALL.max_steps + 9))
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_run_whose_last_checkpoints_were_removed_ends_with_the_same_digits(tmp_path: Path) -> None:
    run = tmp_path

    def start() -> None:
        def rising(model: Any, stop: StopFlag) -> Validation:
            return replace(job.validate(model, stop), scores={"bleu": float(work.progress.step)})

        job = toy_job()
        work = trainer(run, replace(SMALL, validate_every=5, keep_last=3), replace(job, validate=rising))
        work.train()

    start()
    whole = results(run)
    assert (run / "best").resolve().name == "best-00000023"
    for step in (20, 23):
        remove(run / "checkpoints" / f"step-{step:08d}")
    assert not (run / "bundles" / "best-00000015").exists()  # which the checkpoint of step 15 knows of
    start()
    assert results(run) == whole


def test_a_finished_run_can_be_made_longer_or_more_patient(tmp_path: Path) -> None:
    train(tmp_path / "whole", max_steps=30, schedule="constant")
    train(tmp_path / "run", max_steps=20, schedule="constant")
    assert train(tmp_path / "run", max_steps=30, schedule="constant").step == 30
    assert [path.name for path in (tmp_path / "run" / "bundles").glob("final-*")] == ["final-00000030"]
    steps = [json.loads(line)["step"] for line in (tmp_path / "run" / "metrics.jsonl").read_bytes().splitlines()]
    assert steps == sorted(steps)
    assert steps[-1] == 30
    weights = [(tmp_path / name / "final" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("end", [13, 20])
def test_what_is_averaged_knows_no_end_but_the_last(tmp_path: Path, end: int) -> None:
    """Run until step 13, then on to 20; or for 20, stopped at 13, which becomes the end."""
    config = replace(SMALL, schedule="constant", checkpoint_every=5, validate_every=13, keep_last=3, average_last=3)
    train(tmp_path / "whole", config, max_steps=end)
    if end == 20:
        train(tmp_path / "run", config, max_steps=13)
    else:
        stop = StopFlag()
        work = trainer(tmp_path / "run", replace(config, max_steps=20), stop=stop)
        save_if_due = work._save_if_due

        def save_and_stop() -> None:
            save_if_due()
            stop.signum = signal.SIGTERM if work.progress.step == 13 else None

        work._save_if_due = save_and_stop  # type: ignore[method-assign]
        with pytest.raises(Stopped):
            work.train()
    train(tmp_path / "run", config, max_steps=end)
    weights = [(tmp_path / name / "final" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


def test_a_shortened_record_is_refused(tmp_path: Path) -> None:
    train(tmp_path)
    record = tmp_path / "metrics.jsonl"
    record.write_bytes(record.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl has \d+ bytes, the checkpoint \d+; restore it"):
        train(tmp_path)


def test_resume_does_not_depend_on_what_the_process_drew_before(tmp_path: Path) -> None:
    train(tmp_path / "a")
    torch.manual_seed(77)
    torch.rand(13)
    job = toy_job()
    torch.manual_seed(78)
    train(tmp_path / "b", job=job)
    assert results(tmp_path / "a") == results(tmp_path / "b")


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    train(tmp_path / "a")
    train(tmp_path / "b", seed=2)
    assert results(tmp_path / "a")[0] != results(tmp_path / "b")[0]
