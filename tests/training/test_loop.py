"""The loop beside one of a few lines: what each update learns from, at which rate, and what is told of it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from toy_job import SMALL, Screen, toy_job, toy_loss, train, trainer

from yiwen.bundle import load_tensors
from yiwen.data.batching import Batch, Rows, epoch_updates
from yiwen.stop import StopFlag
from yiwen.training.average import with_weights
from yiwen.training.job import Snapshot
from yiwen.training.schedule import learning_rate
from yiwen.training.validation import Validation


def test_a_run_is_what_the_loop_of_a_textbook_computes(tmp_path: Path) -> None:
    """Epoch after epoch in orders of their own, update after update; Adam, clipped, and a moving average."""
    config = replace(SMALL, optimizer="adam", update_tokens=113, clip_norm=0.15, ema_decay=0.95, log_every=4)
    job = toy_job()
    model = job.model
    model.dropout.p = 0.0
    first = {name: weight.clone() for name, weight in model.state_dict().items()}
    train(tmp_path, config, job)
    told = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_bytes().splitlines()]

    model.load_state_dict(first)
    average = {name: weight.clone() for name, weight in first.items()}
    adam = torch.optim.Adam(model.parameters(), betas=(config.beta1, config.beta2), eps=config.epsilon)
    expected: list[dict[str, float]] = []
    step, epoch, loss_sum, n_tokens = 0, 0, 0.0, 0
    while step < config.max_steps:
        settings = {"batch_tokens": config.micro_batch_tokens, "update_tokens": config.update_tokens}
        for plan in epoch_updates(job.lengths, seed=config.seed, epoch=epoch, **settings)[: config.max_steps - step]:
            step += 1
            parts = [toy_loss(model, job.load(rows, 0)) for rows in plan]
            loss, count = sum(loss for loss, _ in parts), sum(count for _, count in parts)
            adam.zero_grad()
            (loss / count).backward()
            norm = float(nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm))
            adam.param_groups[0]["lr"] = rate = learning_rate(step, config, d_model=5)
            adam.step()
            decay = min(config.ema_decay, step / (step + 5))
            average = {name: decay * average[name] + (1 - decay) * w.detach() for name, w in model.named_parameters()}
            loss_sum, n_tokens = loss_sum + loss.item(), n_tokens + count
            if step % config.log_every == 0:
                mean = loss_sum / n_tokens
                line = {"step": step, "epoch": epoch, "loss": mean, "learning_rate": rate, "gradient_norm": norm}
                expected.append(line)
                loss_sum, n_tokens = 0.0, 0
        epoch += 1

    assert epoch > 2
    assert max(line["gradient_norm"] for line in expected) > config.clip_norm
    assert [{key: line[key] for key in expected[0]} for line in told if "loss" in line] == [
        pytest.approx(line, rel=1e-4) for line in expected
    ]
    for name, weight in load_tensors(tmp_path / "final" / "model.safetensors").items():
        assert torch.allclose(weight, average[name], atol=1e-5), name


@pytest.mark.parametrize(
    ("scores", "patience", "n_judged", "best"),
    [((3, 2, 4, 1, 2, 9, 9), 2, 5, 6), ((3, 2, 4, 1, 2, 9, 9), 0, 7, 12), ((1, 2, 2, 3, 0, 9, 9), 1, 3, 4)],
)
def test_patience_counts_validations_since_the_best_one(
    tmp_path: Path, scores: tuple[float, ...], patience: int, n_judged: int, best: int
) -> None:
    job, judged = toy_job(), []

    def told(model: nn.Module, stop: StopFlag) -> Validation:
        judged.append(scores[len(judged)])
        return replace(job.validate(model, stop), scores={"loss": 1.0, "bleu": judged[-1]})

    settings: dict[str, Any] = {"validate_every": 2, "max_steps": 2 * len(scores), "patience": patience}
    progress = train(tmp_path, job=replace(job, validate=told), **settings)
    assert (len(judged), progress.step, progress.best_step) == (n_judged, 2 * n_judged, best)
    assert (tmp_path / "best").resolve().name == f"best-{best:08d}"


def test_speed_is_told_in_target_tokens_by_the_seconds_of_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(step=0.25)  # each update looks twice
    monkeypatch.setattr("yiwen.training.loop.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    job, sizes = toy_job(), []

    def load(rows: Rows, seed: int) -> Batch:
        sizes.append((batch := job.load(rows, seed)).n_tokens)
        return batch

    train(tmp_path, job=replace(job, load=load), max_steps=3, log_every=3)
    _, told, judged, _ = map(json.loads, (tmp_path / "timing.jsonl").read_bytes().splitlines())
    assert told == {"step": 3, "seconds": 0.75, "tgt_tokens_per_s": round(sum(sizes) / 0.75)}
    assert (judged["step"], judged["seconds"]) == (3, 0.75)


def test_a_mean_of_checkpoints_is_validated_told_and_published_with_its_scores(tmp_path: Path) -> None:
    job, screen, published = toy_job(), Screen(), []

    def save_bundle(folder: Path, snapshot: Snapshot) -> None:
        published.append(snapshot)
        job.save_bundle(folder, snapshot)

    config = replace(SMALL, checkpoint_every=4, keep_last=3, average_last=2)
    work = trainer(tmp_path, config, replace(job, save_bundle=save_bundle))
    work.log.say = screen.print  # type: ignore[method-assign]
    work.train()
    mean = published[-1]
    scores = job.validate(with_weights(job.model, mean.weights), StopFlag()).scores
    assert (mean.kind, mean.step, mean.scores) == ("average of 2 checkpoints", SMALL.max_steps, scores)
    assert screen.lines[-1].startswith("average of 2 checkpoints: loss 1.5  perplexity 4.5  bleu ")
    assert [*published[0].scores] == ["loss", "perplexity", "bleu"]


@pytest.mark.parametrize(("warmup_steps", "is_told"), [(4, True), (3, False)])
def test_a_run_that_ends_before_its_learning_rate_falls_is_told_once(
    tmp_path: Path, warmup_steps: int, is_told: bool
) -> None:
    screen = Screen()
    for _ in range(2):  # a new run, and the same one resumed
        work = trainer(tmp_path, replace(SMALL, max_steps=4, warmup_steps=warmup_steps))
        work.log.say = screen.print  # type: ignore[method-assign]
        work.train()
    told = "all updates are warm-up; lower training.warmup_steps, or raise max_steps"
    assert screen.lines.count(told) == is_told
