"""`batch_tokens = "auto"`: the fastest size that fits, and of equally fast ones the smallest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from toy_job import CPU, ToyModel, toy_loss

from yiwen.data.loader import batch_of_shape
from yiwen.training.microbatch import best_size, sizes_to_try, tokens_per_second


def tried(rates: dict[int, float]) -> tuple[int, list[int]]:
    """The size chosen where sizes have these rates, and which were asked for; a rate of 0 does not fit."""
    asked = []

    def rate(size: int) -> float:
        asked.append(size)
        if rates[size] == 0:
            raise torch.OutOfMemoryError("full")
        return rates[size]

    return best_size(list(rates), rate), asked


@pytest.mark.parametrize(
    ("update_tokens", "expected"),
    [
        (500, [500]),
        (2048, [1024, 2048]),
        (5000, [1024, 2048, 4096]),
        (10**6, [1024, 2048, 4096, 8192, 16384, 32768]),
    ],
)
def test_sizes_are_powers_of_two_up_to_what_an_update_gathers(update_tokens: int, expected: list[int]) -> None:
    assert sizes_to_try(update_tokens) == expected


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({1: 50.0, 2: 70.0, 4: 90.0}, 4),
        ({1: 50.0, 2: 97.0, 4: 100.0}, 2),  # within 3 %: the smaller, for its memory
        ({1: 50.0, 2: 96.0, 4: 100.0}, 4),
        ({1: 90.0, 2: 80.0, 4: 95.0, 8: 99.0}, 8),  # one bad number is chance
        ({1: 50.0, 2: 60.0, 4: 70.0, 8: 0.0}, 2),  # 4 fits only just
        ({1: 50.0, 2: 60.0, 4: 0.0}, 1),
        ({1: 50.0, 2: 0.0}, 1),
        ({1: 0.0}, 1),  # training itself says what does not fit
    ],
)
def test_the_fastest_size_that_fits_is_taken(rates: dict[int, float], expected: int) -> None:
    assert tried(rates) == (expected, list(rates))


def test_larger_sizes_are_not_tried_once_two_were_no_faster() -> None:
    assert tried({1: 50.0, 2: 60.0, 4: 59.0, 8: 58.0, 16: 99.0}) == (2, [1, 2, 4, 8])
    assert tried(dict.fromkeys((2, 3, 5, 7, 11), 5.0)) == (2, [2, 3, 5])


@pytest.mark.parametrize("is_bf16", [False, True])
def test_the_rate_is_of_forward_and_backward(is_bf16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def timed(ways: list[Any], **_: Any) -> list[float]:
        for way in ways:
            way()
        return [0.5]

    def loss_fn(model: torch.nn.Module, batch: Any) -> tuple[torch.Tensor, int]:
        calls.append(torch.is_autocast_enabled("cpu"))
        return toy_loss(model, batch)

    monkeypatch.setattr("yiwen.training.microbatch.best_seconds", timed)
    model = ToyModel()
    hardware = replace(CPU, precision="bf16" if is_bf16 else "float32")
    batch = batch_of_shape(5, 7, vocab_size=23)
    assert tokens_per_second(model, batch, loss_fn=loss_fn, hardware=hardware) == 35 / 0.5
    assert calls == [is_bf16]
    assert model.inner.weight.grad is not None
