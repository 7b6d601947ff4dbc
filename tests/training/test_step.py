"""One update: sums divided once, clipped, left out where undefined."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy_job import CPU, SMALL, Screen, ToyModel, V, toy_job, toy_loss, toy_sentences, train, trainer

from torch_default import DEFAULTS, torch_making
from yiwen.data.batching import Batch, Rows, collate
from yiwen.errors import TrainingError
from yiwen.model.config import ModelConfig
from yiwen.model.dropout import drawing_from, dropout
from yiwen.model.transformer import Transformer
from yiwen.tasks.translate import translation_loss
from yiwen.training.optimizer import build_optimizers
from yiwen.training.state import seed_of
from yiwen.training.step import Gradients, ShardPool, apply_gradients, compute_gradients

SRC, TGT = toy_sentences()


def load(rows: Rows, seed: int) -> Batch:
    return collate([SRC[row] for row in rows], [TGT[row] for row in rows])


def per_row_loss(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
    """A loss whose rows do not meet, so that it does not matter which travel together."""
    logits = model.out(model.inner(model.embedding(batch.tgt_in)).relu())  # type: ignore[operator, union-attr]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, reduction="sum"
    )
    return losses, batch.n_tokens


def tiny_transformer() -> Transformer:
    config = ModelConfig(d_model=14, n_heads=2, d_ff=19, n_encoder_layers=1, n_decoder_layers=1, dropout=0.3)
    return Transformer(config, src_vocab_size=V, tgt_vocab_size=V)


def gradients(model: torch.nn.Module, plan: list[list[int]], loss_fn: Any = per_row_loss, **options: Any) -> Gradients:
    options = {"seeds": (1, 2), "pool": ShardPool(CPU), **options}
    return compute_gradients(model, [np.array(rows) for rows in plan], load=load, loss_fn=loss_fn, **options)


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def test_accumulated_gradients_equal_one_large_batch() -> None:
    torch.manual_seed(1)
    model = ToyModel().double()
    one = gradients(model, [[0, 1, 2, 3, 4, 5, 6]])
    expected = flat(model).clone()
    parts = gradients(model, [[6], [0, 3, 2], [1, 5, 4]])
    assert torch.allclose(flat(model), expected, rtol=1e-12, atol=0)
    assert one.n_tokens == parts.n_tokens == sum(len(TGT[row]) + 1 for row in range(7))
    assert one.loss_sum == pytest.approx(parts.loss_sum, rel=1e-6)
    assert parts.norm == pytest.approx(expected.norm().item(), rel=1e-6)


def test_a_batch_that_is_cut_again_gives_the_same_gradients() -> None:
    torch.manual_seed(1)
    model = ToyModel().double()
    one = gradients(model, [[0, 1, 2, 3, 4], [6, 5]])
    expected = flat(model).clone()
    parts = gradients(model, [[0, 1, 2, 3, 4], [6, 5]], batch_tokens=11)
    assert torch.allclose(flat(model), expected, rtol=1e-12, atol=0)
    assert (parts.n_tokens, parts.loss_sum) == (one.n_tokens, pytest.approx(one.loss_sum, rel=1e-6))


@pytest.mark.parametrize("is_sampled", [True, False])
def test_batches_whose_words_were_cut_anew_keep_to_the_budget(tmp_path: Path, is_sampled: bool) -> None:
    sizes: list[int] = []

    def finer(rows: Rows, seed: int) -> Batch:
        return collate([np.repeat(SRC[row], 2) for row in rows], [np.repeat(TGT[row], 2) for row in rows])

    def loss_fn(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        sizes.append(max(batch.src_ids.numel(), batch.tgt_out.numel()))
        return toy_loss(model, batch)

    train(tmp_path / "run", job=replace(toy_job(), load=finer, loss_fn=loss_fn, is_sampled=is_sampled))
    assert (max(sizes[1:]) <= SMALL.micro_batch_tokens) == is_sampled, "the first is the trial of the largest"


@pytest.mark.parametrize("n_shards", [2, 3])
def test_shards_of_a_batch_give_its_gradients(n_shards: int) -> None:
    torch.manual_seed(1)
    model = ToyModel().double()
    whole = gradients(model, [[0, 1, 2, 3, 4, 5, 6], [7, 8]])
    expected = flat(model).clone()
    with ShardPool(replace(CPU, threads=n_shards, shards=n_shards)) as pool:
        found = gradients(model, [[0, 1, 2, 3, 4, 5, 6], [7, 8]], pool=pool)
    assert torch.allclose(flat(model), expected, rtol=1e-12, atol=0)
    assert found.n_tokens == whole.n_tokens
    assert found.loss_sum == pytest.approx(whole.loss_sum, rel=1e-6)


def test_shards_draw_dropout_of_their_own_and_always_the_same() -> None:
    torch.manual_seed(1)
    model = tiny_transformer()
    found = []
    for _ in range(3):
        torch.rand(5)  # what the process drew before does not matter
        with ShardPool(replace(CPU, threads=3, shards=3)) as pool:
            gradients(model, [[0, 1, 2, 3, 4, 5, 6]], loss_fn=translation_loss(0.1), pool=pool)
        found.append(flat(model).clone())
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    with ShardPool(replace(CPU, threads=3, shards=3)) as pool:
        gradients(model, [[0, 1, 2, 3, 4, 5, 6]], loss_fn=translation_loss(0.1), pool=pool, seeds=(1, 3))
    assert not torch.equal(found[0], flat(model))


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize(("n_shards", "rdrop"), [(1, 0.0), (2, 0.0), (1, 5.0), (11, 5.0)])
def test_what_torch_makes_tensors_of_by_default_changes_no_loss(
    default: torch.device | torch.dtype, n_shards: int, rdrop: float
) -> None:
    """Of 11 shards some have no row."""
    model = tiny_transformer().train()
    with ShardPool(replace(CPU, threads=n_shards, shards=n_shards)) as pool:
        usual = gradients(model, [[0, 1, 2], [3, 4, 5, 6]], translation_loss(0.1, rdrop=rdrop), pool=pool)
        with torch_making(default):
            there = gradients(model, [[0, 1, 2], [3, 4, 5, 6]], translation_loss(0.1, rdrop=rdrop), pool=pool)
    assert there == usual


def test_a_parameter_that_no_shard_needs_has_no_gradient() -> None:
    """Where layer dropout leaves a layer out, say."""
    model = ToyModel()
    with ShardPool(replace(CPU, threads=2, shards=2)) as pool:
        gradients(model, [[0, 1, 2]], lambda m, batch: (m.inner(m.embedding(batch.tgt_in)).sum(), 1), pool=pool)
    assert (model.inner.weight.grad is None, model.out.weight.grad is None) == (False, True)


def test_an_error_in_a_shard_arrives_when_all_threads_have_stopped() -> None:
    failing, ended = threading.Event(), []

    def work(number: int) -> int:
        if number == 1:
            failing.set()
            raise ValueError("shard 1")
        if number == 2:
            failing.wait(60)
            time.sleep(0.05)  # still at work when the other has failed
        ended.append(number)
        return number

    with ShardPool(replace(CPU, threads=3, shards=3)) as pool:
        with pytest.raises(ValueError, match="shard 1"):
            pool.run(work)
        assert sorted(ended) == [0, 2]
        assert pool.run(lambda number: number) == [0, 1, 2]


def test_the_sum_is_divided_once_by_all_tokens() -> None:
    model = ToyModel()
    found = gradients(model, [[0, 1], [2]])
    accumulated = flat(model).clone()
    model.zero_grad()
    loss, _ = per_row_loss(model, load(np.array([0, 1, 2]), 0))
    loss.backward()
    assert torch.allclose(accumulated * found.n_tokens, flat(model), rtol=1e-4, atol=1e-5)


def test_old_gradients_are_forgotten() -> None:
    model = ToyModel()
    gradients(model, [[0, 1]])
    first = flat(model).clone()
    gradients(model, [[0, 1]])
    assert torch.equal(flat(model), first)


def test_dropout_depends_on_run_step_and_place_alone() -> None:
    model = ToyModel().train()

    def found(seeds: tuple[int, int], plan: list[list[int]]) -> torch.Tensor:
        gradients(model, plan, toy_loss, seeds=seeds)
        return flat(model).clone()

    first = found((1, 2), [[0, 1], [2]])
    torch.rand(7)
    assert torch.equal(found((1, 2), [[0, 1], [2]]), first)
    assert not torch.equal(found((1, 3), [[0, 1], [2]]), first)
    assert not torch.equal(found((2, 2), [[0, 1], [2]]), first)
    assert not torch.equal(found((1, 2), [[2], [0, 1]]), first)


@pytest.mark.parametrize(
    ("n_shards", "places"), [(1, [(0, 1), (1, 1)]), (2, [(0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)])]
)
def test_each_micro_batch_and_shard_draws_from_a_seed_of_its_own(n_shards: int, places: list[tuple[int, ...]]) -> None:
    """The same in every version, or a run that goes on with a newer one would draw otherwise."""
    drawn = []

    def loss_fn(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        drawn.append(dropout(torch.ones(64), 0.5).tolist())
        return per_row_loss(model, batch)

    with ShardPool(replace(CPU, threads=n_shards, shards=n_shards)) as pool:
        gradients(ToyModel(), [[0, 1], [2, 3]], loss_fn, seeds=(5, 7), pool=pool)
    expected = []
    for place in places:
        with drawing_from(torch.Generator().manual_seed(seed_of(5, 7, *place))):
            expected.append(dropout(torch.ones(64), 0.5).tolist())
    assert sorted(drawn) == sorted(expected)


def test_dropout_is_the_same_beside_a_thread_that_sets_torchs_random_numbers_back() -> None:
    usual = translation_loss(0.1)

    def disturbed(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        torch.manual_seed(0)
        return usual(model, batch)

    model = tiny_transformer()
    found = []
    for loss in (usual, disturbed):
        gradients(model, [[0, 1, 2]], loss_fn=loss)
        found.append(flat(model).clone())
    assert torch.equal(*found)


def test_bf16_rounds_products_and_keeps_weights_and_gradients_float32() -> None:
    model = ToyModel().eval()
    exact = gradients(model, [[0, 1]])
    rounded = gradients(model, [[0, 1]], pool=ShardPool(replace(CPU, precision="bf16")))
    assert exact.loss_sum != rounded.loss_sum
    assert exact.loss_sum == pytest.approx(rounded.loss_sum, rel=0.02)
    assert all(
        p.dtype == torch.float32 and p.grad is not None and p.grad.dtype == torch.float32
        for p in (model.inner.weight, model.embedding.weight)
    )


@pytest.mark.parametrize(("norm", "clip", "expected"), [(5.0, 1.0, 0.2), (5.0, 0.0, 1.0), (5.0, 7.0, 1.0)])
def test_long_gradients_are_cut_to_size(norm: float, clip: float, expected: float) -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    model.weight.grad = torch.tensor([[3.0, 4.0]])
    optimizer = torch.optim.SGD([{"params": model.parameters(), "scale": 0.5}], lr=1.0)
    apply_gradients(model, [optimizer], rate=2.0, norm=norm, clip_norm=clip, pool=ShardPool(CPU))
    assert torch.allclose(before - model.weight.detach(), expected * torch.tensor([[3.0, 4.0]]))


def test_optimizers_step_side_by_side_as_they_do_in_turn() -> None:
    def stepped(n_threads: int) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = ToyModel()
        optimizers = build_optimizers(model, replace(SMALL, optimizer="muon"), replace(CPU, threads=2, shards=2))
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.3).cumsum(0)
        with ShardPool(replace(CPU, threads=n_threads, shards=n_threads)) as pool:
            apply_gradients(model, optimizers, rate=0.25, norm=5.0, clip_norm=1.0, pool=pool)
        return [parameter.detach() for parameter in model.parameters()]

    assert all(torch.equal(a, b) for a, b in zip(stepped(1), stepped(2), strict=True))


@pytest.mark.parametrize("numbers", [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan"))])
def test_undefined_numbers_are_seen(numbers: tuple[float, float]) -> None:
    assert not Gradients(loss_sum=numbers[0], n_tokens=1, norm=numbers[1]).is_finite
    assert Gradients(loss_sum=1.0, n_tokens=1, norm=1.0).is_finite


def poisoned(steps: set[int], how: str, clock: list[int]) -> Any:
    """A loss that is undefined in some updates: in itself, or in its gradient alone."""

    def loss_fn(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        loss, n = toy_loss(model, batch)
        clock[0] += 1
        if clock[0] - 1 in steps:  # call 0 is the trial of the largest batch
            weight = next(iter(model.parameters()))
            loss = loss * float(how) if how != "gradient" else loss + (weight[0, 0] - weight[0, 0].detach()).sqrt()
        return loss, n

    return loss_fn


@pytest.mark.parametrize("how", ["nan", "inf", "gradient"])
def test_an_undefined_update_is_left_out_and_changes_nothing(tmp_path: Path, how: str) -> None:
    job = replace(toy_job(), loss_fn=poisoned({4}, how, [0]))
    work = trainer(tmp_path, replace(SMALL, log_every=1), job)
    screen = Screen()
    work.log.say = screen.print  # type: ignore[method-assign]
    seen = []
    real = work._update

    def update() -> None:
        before = [p.detach().clone() for m in (work.model, work.average) for p in m.parameters()]  # type: ignore
        real()
        after = [p.detach() for m in (work.model, work.average) for p in m.parameters()]  # type: ignore
        seen.append(all(torch.equal(a, b) for a, b in zip(before, after, strict=True)))

    work._update = update  # type: ignore[method-assign]
    progress = work.train()
    assert [step for step, is_same in enumerate(seen, 1) if is_same] == [4]
    assert (progress.n_skipped, progress.n_skipped_in_row) == (1, 0)
    assert "step 4 left out: loss" in str(screen)
    assert "epoch 0, update 3: toy.tsv line" in str(screen)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_bytes().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [*range(1, 4), *range(5, 24)]


def test_the_norm_of_an_update_that_was_left_out_is_null_in_the_record(tmp_path: Path) -> None:
    train(tmp_path, job=replace(toy_job(), loss_fn=poisoned({4}, "nan", [0])), log_every=2)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_bytes().splitlines()]
    norms = {line["step"]: line["gradient_norm"] for line in lines if "loss" in line}
    assert norms.pop(4) is None
    assert min(norms.values()) > 0


def test_too_many_undefined_updates_in_a_row_end_the_run(tmp_path: Path) -> None:
    job = replace(toy_job(), loss_fn=poisoned({3, 5, 6, 7}, "nan", [0]))
    with pytest.raises(TrainingError) as caught:
        train(tmp_path, job=job, max_bad_updates=3)
    message = str(caught.value)
    assert message.startswith("3 updates in a row had an undefined loss or gradient (last: step 7, loss nan")
    assert "epoch 0, update 6: toy.tsv line" in message
    assert "lower training.learning_rate" in message


def test_infinite_weights_are_never_published(tmp_path: Path) -> None:
    work = trainer(tmp_path)
    with torch.no_grad():
        work.average.out.bias[0] = float("inf")  # type: ignore[union-attr, index, operator]
    with pytest.raises(
        TrainingError, match=r"^weights at step 7 are not finite; lower training\.learning_rate, start a new run"
    ):
        work.train()
    assert not (tmp_path / "best").exists()


def test_a_seed_is_drawn_from_all_numbers_each_by_itself() -> None:
    seeds = {seed_of(*numbers) for numbers in ((1, 23), (12, 3), (123,), (3, 12), (1, 23, 0))}
    assert len(seeds) == 5
    assert len({seed_of(1, step) for step in range(1000)}) == 1000


def test_every_update_draws_anew_and_so_does_every_run_of_another_seed(tmp_path: Path) -> None:
    job, seeds = toy_job(), []

    def load(rows: Rows, seed: int) -> Batch:
        seeds.append(seed)
        return job.load(rows, seed)

    for seed in (1, 2):
        train(tmp_path / f"{seed}", job=replace(job, load=load), seed=seed)
    assert len(set(seeds)) == len(seeds) >= 2 * SMALL.max_steps
