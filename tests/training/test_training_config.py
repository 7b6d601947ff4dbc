"""Every rule of the training settings has a message that names value, rule and remedy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from yiwen.errors import ConfigError
from yiwen.training.config import MAY_CHANGE, TrainingConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_steps": 0}, "training.max_steps is 0; use 1 or more"),
        ({"batch_tokens": -3}, "training.batch_tokens is -3; use 1 or more, or 'auto'"),
        ({"batch_tokens": "Auto"}, "training.batch_tokens is 'Auto'; its type is int | \"auto\", use one of that"),
        ({"batch_tokens": None}, 'training.batch_tokens is None; its type is int | "auto", use one of that'),
        ({"batch_tokens": 1.5}, 'training.batch_tokens is 1.5; its type is int | "auto", use one of that'),
        ({"batch_tokens": "auto"}, "training.batch_tokens='auto' needs training.update_tokens: auto decides how much"),
        ({"batch_tokens": "auto"}, "set update_tokens, for example to 4096, or give batch_tokens a number"),
        ({"keep_last": 0}, "training.keep_last is 0; use 1 or more"),
        ({"patience": -1}, "training.patience is -1; use 0 or more"),
        ({"beta2": 1.0}, "training.beta2 is 1.0; use 0 or more and less than 1"),
        ({"ema_decay": -0.1}, "training.ema_decay is -0.1; use 0 or more and less than 1"),
        ({"rdrop": -1.0}, "training.rdrop is -1.0; use 0 or more"),
        ({"word_dropout": 1.0}, "training.word_dropout is 1.0; use 0 or more and less than 1"),
        ({"learning_rate": 0.0}, "training.learning_rate is 0.0; use more than 0"),
        ({"threads": 1000}, "training.threads is 1000; use 1 to 512, or 0 for all"),
        ({"max_bad_updates": 0}, "training.max_bad_updates is 0; use more than 0"),
        ({"schedule": "paper"}, "training.learning_rate=0.001 multiplies schedule='paper'; use about 1"),
        ({"average_last": 4, "keep_last": 3}, "training.average_last=4 needs as many checkpoints"),
    ],
)
def test_settings_that_break_a_rule_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(**settings)
    assert message in str(caught.value)


def test_only_settings_of_length_and_logging_may_change() -> None:
    assert {"max_steps", "patience", "log_every", "keep_last"} == MAY_CHANGE


def test_a_size_to_be_found_is_a_number_before_anything_computes_with_it() -> None:
    config = TrainingConfig(batch_tokens="auto", update_tokens=500)
    with pytest.raises(AssertionError):
        assert config.micro_batch_tokens
    assert replace(config, batch_tokens=7).micro_batch_tokens == 7


@pytest.mark.parametrize("name", ["learning_rate", "clip_norm", "rdrop"])
def test_what_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"training\.{name} is nan; use a finite number"):
        TrainingConfig(**{name: math.nan})
