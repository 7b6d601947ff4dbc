"""Learning rates by update, never by time: a run on a slower machine is the same run."""

from __future__ import annotations

import math

from yiwen.training.config import TrainingConfig


def paper_schedule(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Learning rate of Vaswani et al. 2017, section 5.3, equation 3.

    With d_model 512 and 4,000 warm-up steps it peaks at step 4,000 with 0.000699.
    """
    step = max(step, 1)
    return float(d_model**-0.5 * min(step**-0.5, step * max(warmup_steps, 1) ** -1.5))


def learning_rate(step: int, config: TrainingConfig, *, d_model: int) -> float:
    """Learning rate of update `step`, counted from 1."""
    if config.schedule == "paper":
        return config.learning_rate * paper_schedule(step, d_model=d_model, warmup_steps=config.warmup_steps)
    rising = min(1.0, step / max(config.warmup_steps, 1))
    progress = min(max(step - config.warmup_steps, 0) / max(config.max_steps - config.warmup_steps, 1), 1.0)
    match config.schedule:
        case "inverse_sqrt":
            falling = math.sqrt(max(config.warmup_steps, 1) / max(step, config.warmup_steps, 1))
        case "polynomial":
            falling = (1 - progress) ** config.decay_power
        case "cosine":
            falling = 0.5 * (1 + math.cos(math.pi * progress))
        case "constant":
            falling = 1.0
    return config.learning_rate * rising * falling
