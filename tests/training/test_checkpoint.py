"""A checkpoint is whole or absent, whatever fails; what is damaged is named and never half used."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy_job import BROKEN, CPU, FULL, SMALL, Disk, Killed, Screen, ToyModel, results, toy_job, train, trainer

from mutants import mutants
from yiwen.bundle import load_tensors, save_tensors
from yiwen.data.batching import Batch, Rows
from yiwen.errors import CheckpointError
from yiwen.files import remove, remove_leftovers
from yiwen.training.checkpoint import (
    Trained,
    checkpoints,
    latest_checkpoint,
    load_checkpoint,
    read_progress,
    remove_old,
    save_checkpoint,
)
from yiwen.training.optimizer import build_optimizers
from yiwen.training.state import Progress


def save(folder: Path, step: int, *, is_scheduled: bool = True) -> Path:
    """A checkpoint of a fresh model whose weights are all `step`."""
    model = ToyModel()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(step)
    progress = Progress(step=step, is_scheduled=is_scheduled)
    trained = Trained(model, model, build_optimizers(model, SMALL, CPU))
    return save_checkpoint(folder, trained, progress=progress)


def load(path: Path) -> tuple[Progress, float]:
    """A checkpoint's numbers, and the value that all its weights have."""
    model, average = ToyModel(), ToyModel()
    progress = load_checkpoint(path, Trained(model, average, build_optimizers(model, SMALL, CPU)), data="toy")
    values = torch.cat([p.flatten() for m in (model, average) for p in m.parameters()])
    assert values.min() == values.max()
    return progress, values[0].item()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    assert load(save(tmp_path, 3)) == (Progress(step=3), 3.0)
    assert names(tmp_path) == ["step-00000003"]


def n_operations(tmp_path: Path) -> int:
    save(tmp_path / "count", 1)
    with Disk().spinning() as disk:
        save(tmp_path / "count", 2)
    assert disk.n > 15
    return disk.n


@pytest.mark.parametrize("error", [FULL, BROKEN, None])
def test_every_failure_of_a_save_leaves_the_old_checkpoint_or_the_new_one(tmp_path: Path, error: int | None) -> None:
    for k in range(n_operations(tmp_path)):
        folder = tmp_path / f"{k}"
        save(folder, 1)
        with Disk(fail_at=k, error=error).spinning(), suppress(OSError, Killed):
            save(folder, 2)
        latest = latest_checkpoint(folder)
        assert latest is not None
        progress, value = load(latest)
        assert progress.step == value
        assert value in (1, 2)
        remove_leftovers(folder)
        assert set(names(folder)) <= {"step-00000001", "step-00000002"}


@pytest.mark.parametrize("error", [FULL, BROKEN, None])
def test_every_failure_of_a_replacement_leaves_something_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    """A folder can only be replaced by moving the old one aside: between the two moves a kill leaves it there."""
    monkeypatch.setattr("os.getpid", lambda: 99_999_999)  # no process that lives
    for k in range(n_operations(tmp_path) + 2):
        folder = tmp_path / f"{k}"
        save(folder, 1)
        with Disk(fail_at=k, error=error).spinning(), suppress(OSError, Killed):
            save(folder, 1)
        latest = latest_checkpoint(folder)
        assert latest is not None
        assert load(latest) == (Progress(step=1), 1.0)


def test_removing_is_never_seen_half_done(tmp_path: Path) -> None:
    save(tmp_path / "count", 1)
    with Disk().spinning() as disk:
        remove(tmp_path / "count" / "step-00000001")
    assert disk.n > 5
    for k in range(disk.n):
        folder = tmp_path / f"{k}"
        save(folder, 1)
        with Disk(fail_at=k).spinning(), pytest.raises(Killed):
            remove(folder / "step-00000001")
        for path in checkpoints(folder):
            load(path)
        remove_leftovers(folder)
        assert set(names(folder)) <= {"step-00000001"}


def test_a_full_disk_is_an_os_error_whoever_writes(tmp_path: Path) -> None:
    with Disk(fail_at=0, error=FULL).spinning(), pytest.raises(OSError, match="No space left on device") as caught:
        save_tensors({"a": torch.ones(3)}, tmp_path / "a.safetensors")
    assert caught.value.errno == FULL
    assert caught.value.filename == str(tmp_path / "a.safetensors")


@pytest.mark.skipif(os.name == "nt", reason="no such rights there")
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_weights_may_be_read_by_whom_the_umask_lets(tmp_path: Path, umask: int, expected: int) -> None:
    before = os.umask(umask)
    try:
        (tmp_path / "model").mkdir()
        save_tensors({"a": torch.ones(3)}, tmp_path / "model" / "a.safetensors")
    finally:
        os.umask(before)
    assert (tmp_path / "model" / "a.safetensors").stat().st_mode & 0o777 == expected


def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"half")
    with pytest.raises(CheckpointError, match=r"a\.safetensors cannot be read .*restore it from a copy"):
        load_tensors(tmp_path / "a.safetensors")


def test_a_hundred_mutants_of_a_checkpoint_are_all_refused_by_name(tmp_path: Path) -> None:
    whole = save(tmp_path, 3)
    for folder, victim in mutants(whole, 100, seed=5):
        with pytest.raises(CheckpointError, match="mutant") as caught:
            load(folder)
        assert str(caught.value).endswith(f"; to do without it, remove {folder}")
        if victim != "manifest.json":
            assert victim in str(caught.value)


def test_numbers_of_another_version_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path, 3)
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    (path / "state.json").write_text(json.dumps({**state, "mood": 3}), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"mood(.|\n)*to do without it, remove .*, or upgrade yiwen where"):
        read_progress(path)
    (path / "state.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"state\.json cannot be read .*to do without it, remove "):
        read_progress(path)


def test_optimizer_state_of_another_model_is_refused() -> None:
    from yiwen.training.optimizer import load_optimizer_tensors

    model = ToyModel()
    with pytest.raises(CheckpointError, match=r"'other\.weight/exp_avg', no parameter of this model; restore the file"):
        load_optimizer_tensors(model, build_optimizers(model, SMALL, CPU), {"other.weight/exp_avg": torch.ones(3)})


def test_training_on_other_data_is_refused(tmp_path: Path) -> None:
    train(tmp_path, max_steps=5)
    job = toy_job()
    other = replace(job, lengths=replace(job.lengths, fingerprint="changed"))
    with pytest.raises(CheckpointError, match="trained on the prepared data toy, now it is changed"):
        train(tmp_path, job=other)


def test_no_step_at_all_means_a_fresh_start(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "absent") is None


def test_steps_without_a_whole_one_are_no_fresh_start(tmp_path: Path) -> None:
    save(tmp_path, 1)
    path = save(tmp_path, 2)
    (path / "manifest.json").unlink()
    assert latest_checkpoint(tmp_path) == tmp_path / "step-00000001"
    (tmp_path / "step-00000001" / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="holds checkpoints but none is complete"):
        latest_checkpoint(tmp_path)


def test_only_scheduled_checkpoints_count(tmp_path: Path) -> None:
    for step in (0, 10, 13, 20, 24, 30, 35):
        save(tmp_path, step, is_scheduled=step > 0 and step % 10 == 0)
    remove_old(tmp_path, keep_last=2)
    assert names(tmp_path) == ["step-00000020", "step-00000030", "step-00000035"]
    remove_old(tmp_path, keep_last=1)
    assert names(tmp_path) == ["step-00000030", "step-00000035"]


def test_a_run_never_holds_more_checkpoints_than_it_keeps(tmp_path: Path) -> None:
    job, held = toy_job(), []

    def load(rows: Rows, seed: int) -> Batch:
        held.append(len(checkpoints(tmp_path / "checkpoints")))
        return job.load(rows, seed)

    train(tmp_path, job=replace(job, load=load), checkpoint_every=2, keep_last=3)
    assert max(held) == 3


def test_a_copy_by_another_name_is_no_checkpoint_and_stays(tmp_path: Path) -> None:
    for step in (10, 20):
        save(tmp_path, step, is_scheduled=True)
    shutil.copytree(tmp_path / "step-00000020", tmp_path / "step-00000020.bak")
    remove_old(tmp_path, keep_last=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000010", "step-00000020"]
    remove_old(tmp_path, keep_last=1)
    assert names(tmp_path) == ["step-00000020", "step-00000020.bak"]


@pytest.mark.parametrize("error", [FULL, errno.EDQUOT], ids=["a full disk", "a quota"])
def test_a_full_disk_costs_one_checkpoint_and_not_the_run(tmp_path: Path, error: int) -> None:
    whole, full = tmp_path / "whole", tmp_path / "full"
    train(whole)
    work = trainer(full)
    screen = Screen()
    work.log.say = screen.print  # type: ignore[method-assign]
    disk = Disk(error=error)
    at_step_10 = work._save

    def save_on_a_full_disk() -> None:
        if work.progress.step == 10:
            disk.fail_at = disk.n + 6
        at_step_10()

    work._save = save_on_a_full_disk  # type: ignore[method-assign]
    with disk.spinning():
        work.train()
    assert f"step 10: no room for a checkpoint ([Errno {error}] {os.strerror(error)}" in str(screen)
    assert "the last one is kept" in str(screen)
    assert results(full) == results(whole)
    assert names(full / "checkpoints") == ["step-00000020", "step-00000023"]


def test_a_disk_that_has_no_room_for_the_first_checkpoint_stops_the_run_before_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Path:
        raise OSError(FULL, os.strerror(FULL))

    monkeypatch.setattr("yiwen.training.loop.save_checkpoint", full)
    job = replace(toy_job(), loss_fn=lambda *_: pytest.fail("a loss was computed"))
    with pytest.raises(OSError, match="No space left on device"):
        train(tmp_path, job=job)


def test_a_broken_disk_does_stop_the_run(tmp_path: Path) -> None:
    with Disk(fail_at=51, error=BROKEN).spinning(), pytest.raises(OSError, match="Input/output error"):
        train(tmp_path)
    whole = tmp_path / "whole"
    train(whole)
    train(tmp_path)
    assert results(tmp_path) == results(whole)
