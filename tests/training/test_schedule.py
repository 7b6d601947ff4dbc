"""Learning rates, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from yiwen.training.config import TrainingConfig
from yiwen.training.schedule import learning_rate, paper_schedule


def rate(step: int, **settings: Any) -> float:
    """Peak 2.0 after 10 updates of warm-up, 110 updates in all, d_model 512."""
    settings = {"learning_rate": 2.0, "warmup_steps": 10, "max_steps": 110, **settings}
    return learning_rate(step, TrainingConfig(**settings), d_model=512)


def test_the_papers_peak() -> None:
    assert paper_schedule(4000, d_model=512, warmup_steps=4000) == pytest.approx(0.000699, abs=5e-7)
    assert paper_schedule(1, d_model=512, warmup_steps=4000) == pytest.approx(512**-0.5 * 4000**-1.5)
    assert paper_schedule(16000, d_model=512, warmup_steps=4000) == pytest.approx(0.000699 / 2, abs=5e-7)
    assert paper_schedule(0, d_model=512, warmup_steps=4000) == paper_schedule(1, d_model=512, warmup_steps=4000)
    assert max(range(1, 9000), key=lambda s: paper_schedule(s, d_model=512, warmup_steps=4000)) == 4000


def test_the_papers_schedule_takes_the_learning_rate_as_a_factor() -> None:
    assert rate(7, schedule="paper") == 2 * paper_schedule(7, d_model=512, warmup_steps=10)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "polynomial", "cosine", "constant"])
def test_every_schedule_rises_in_a_line_to_its_peak(schedule: str) -> None:
    assert [rate(step, schedule=schedule) for step in (1, 5, 10)] == pytest.approx([0.2, 1.0, 2.0])


@pytest.mark.parametrize(
    ("schedule", "middle", "end"),
    [
        ("inverse_sqrt", 2 * math.sqrt(10 / 60), 2 * math.sqrt(10 / 110)),
        ("polynomial", 1.0, 0.0),
        ("cosine", 1.0, 0.0),
        ("constant", 2.0, 2.0),
    ],
)
def test_every_schedule_falls_as_named(schedule: str, middle: float, end: float) -> None:
    assert rate(60, schedule=schedule) == pytest.approx(middle)
    assert rate(110, schedule=schedule) == pytest.approx(end, abs=1e-12)
    assert rate(120, schedule=schedule) == pytest.approx(rate(110, schedule=schedule), rel=0.05, abs=1e-12)


def test_a_low_power_stays_high_for_long() -> None:
    assert rate(85, schedule="polynomial", decay_power=0.5) == pytest.approx(2 * 0.25**0.5)


def test_no_warm_up_starts_at_the_peak() -> None:
    assert rate(1, schedule="inverse_sqrt", warmup_steps=0) == 2.0
    assert rate(4, schedule="inverse_sqrt", warmup_steps=0) == 1.0
    assert rate(1, schedule="cosine", warmup_steps=0, max_steps=1) == pytest.approx(0.0, abs=1e-12)
    assert rate(1, schedule="paper", warmup_steps=0) == pytest.approx(2 * 512**-0.5)
