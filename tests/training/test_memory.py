"""Out of memory: cut in two, then without the longest, written down and repeated."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy_job import Screen, results, toy_job, toy_lengths, toy_loss, train, trainer

from yiwen.data.batching import Batch, Lengths, Update
from yiwen.errors import CheckpointError, TrainingError
from yiwen.training.memory import fit_in_memory, note_plan, read_plans
from yiwen.training.step import Gradients

LENGTHS = toy_lengths()
BY_LENGTH = np.argsort(LENGTHS.src + LENGTHS.tgt, kind="stable")


def limited(n_positions: int) -> Any:
    """A device with room for so many positions a micro-batch."""

    def loss_fn(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        if batch.src_ids.numel() + batch.tgt_in.numel() > n_positions:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return toy_loss(model, batch)

    return loss_fn


def fake_compute(n_rows: int) -> Any:
    def compute(plan: Update) -> Gradients:
        if any(len(rows) > n_rows for rows in plan):
            raise torch.OutOfMemoryError
        return Gradients(loss_sum=1.0, n_tokens=1, norm=1.0)

    return compute


def test_what_fits_is_left_as_it_is() -> None:
    plan = [np.arange(4)]
    _, fitted, left_out = fit_in_memory(plan, LENGTHS, fake_compute(4))
    assert fitted is plan
    assert left_out == []


def test_a_batch_is_cut_in_two_first() -> None:
    _, fitted, left_out = fit_in_memory([np.arange(2), np.arange(2, 9)], LENGTHS, fake_compute(4))
    assert [rows.tolist() for rows in fitted] == [[0, 1], [2, 4, 6, 8], [3, 5, 7]]
    assert left_out == []


def test_then_the_longest_pairs_go_one_by_one() -> None:
    rows = BY_LENGTH[-8:]
    _, fitted, left_out = fit_in_memory([rows], LENGTHS, fake_compute(3))
    assert sorted(map(len, fitted)) == [3, 3]
    assert set(left_out) == set(rows[-2:].tolist())


def device_of(n_positions: int, src: list[int], tgt: list[int]) -> tuple[Lengths, Any]:
    """Lengths worked by hand, and what computes where a micro-batch may have so many padded positions."""

    def compute(plan: Update) -> Gradients:
        for rows in plan:  # each side's longest with its eos, for every row
            if len(rows) * (max(src[row] + 1 for row in rows) + max(tgt[row] + 1 for row in rows)) > n_positions:
                raise torch.OutOfMemoryError
        return Gradients(loss_sum=1.0, n_tokens=1, norm=1.0)

    return replace(LENGTHS, src=np.array(src), tgt=np.array(tgt)), compute


def test_of_several_batches_only_that_which_is_too_large_is_cut() -> None:
    # 2 x (10 + 10) = 40 positions, 5 x (4 + 5) = 45, 9 x (2 + 2) = 36: the second has neither the longest pair nor
    # the most pairs.
    lengths, compute = device_of(44, [9, 9, 3, 1, 1, 1, 1] + 9 * [1], [9, 9, 1, 4, 1, 1, 1] + 9 * [1])
    _, fitted, left_out = fit_in_memory([np.arange(2), np.arange(2, 7), np.arange(7, 16)], lengths, compute)
    assert [rows.tolist() for rows in fitted] == [[0, 1], [2, 4, 6], [3, 5], [*range(7, 16)]]
    assert left_out == []


def test_no_pair_is_left_out_but_that_which_is_too_long_by_itself() -> None:
    lengths, compute = device_of(20, [30, 9, 9], [30, 9, 9])
    _, fitted, left_out = fit_in_memory([np.array([0]), np.array([1, 2])], lengths, compute)
    assert [rows.tolist() for rows in fitted] == [[1], [2]]
    assert left_out == [0]


def test_where_nothing_fits_training_ends_with_a_message() -> None:
    with pytest.raises(TrainingError, match="out of memory: of the 3 pairs of an update not even one fits"):
        fit_in_memory([np.arange(3)], LENGTHS, fake_compute(0))


def test_short_memory_is_named_recorded_and_repeated_digit_for_digit(tmp_path: Path) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    short = replace(toy_job(), loss_fn=limited(50))
    work = trainer(whole, job=short)
    screen = Screen()
    work.log.say = screen.print  # type: ignore[method-assign]
    work.train()
    assert "the largest batch does not fit into memory: such batches will be cut in two as they come" in str(screen)
    assert "out of memory, the update was cut into 2 micro-batches" in str(screen)
    assert "; left out: toy.tsv line " in str(screen)
    lines = [json.loads(line) for line in (whole / "memory.jsonl").read_bytes().splitlines()]
    assert lines
    assert all(line["step"] <= 23 for line in lines)

    train(run, job=replace(toy_job(), loss_fn=limited(50)), max_steps=23)
    assert results(run) == results(whole)
    # Killed, and resumed from the beginning where memory is plentiful.
    shutil.rmtree(run / "checkpoints")
    (run / "metrics.jsonl").unlink()
    train(run)
    assert results(run) == results(whole)


def test_a_recorded_plan_that_no_longer_fits_is_cut_further(tmp_path: Path) -> None:
    train(tmp_path, job=replace(toy_job(), loss_fn=limited(60)), max_steps=4)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "metrics.jsonl").unlink()
    before = len((tmp_path / "memory.jsonl").read_bytes().splitlines())
    train(tmp_path, job=replace(toy_job(), loss_fn=limited(30)), max_steps=4)
    assert len((tmp_path / "memory.jsonl").read_bytes().splitlines()) > before


def test_a_line_cut_by_a_kill_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    note_plan(path, 3, [np.array([1, 2])], [])
    path.write_bytes(path.read_bytes() + b'{"step": 5, "pl')
    assert read_plans(path).keys() == {3}
    note_plan(path, 7, [np.array([4])], [9])
    again = read_plans(path)
    assert again.keys() == {3, 7}
    assert again[7][0].tolist() == [4]


def test_a_plan_is_on_the_disk_before_its_update_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    note_plan(tmp_path / "memory.jsonl", 3, [np.array([1, 2])], [])
    assert synced == [(tmp_path / "memory.jsonl").stat().st_size]


@pytest.mark.parametrize("line", ["{}", "{", "3"])
def test_a_broken_record_is_refused_by_name(tmp_path: Path, line: str) -> None:
    (tmp_path / "memory.jsonl").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"memory\.jsonl cannot be read"):
        read_plans(tmp_path / "memory.jsonl")
