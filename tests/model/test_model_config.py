"""The shape of a model and the messages about shapes that cannot be."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from yiwen.config import attribute_docs, parse
from yiwen.errors import ConfigError
from yiwen.model.config import PRESETS, ModelConfig


def test_defaults_are_the_base_model_of_the_paper() -> None:
    config = ModelConfig()
    assert (config.d_model, config.n_heads, config.d_ff) == (512, 8, 2048)
    assert (config.n_encoder_layers, config.n_decoder_layers) == (6, 6)
    assert (config.dropout, config.norm_order, config.norm) == (0.1, "post", "layer")
    assert (config.activation, config.positions, config.tied_embeddings) == ("relu", "sinusoidal", "all")
    assert (config.d_head, config.kv_heads) == (64, 8)


@pytest.mark.parametrize(("n_kv_heads", "kv_heads"), [(0, 6), (1, 1), (2, 2), (3, 3), (6, 6)])
def test_zero_key_heads_mean_as_many_as_query_heads(n_kv_heads: int, kv_heads: int) -> None:
    assert ModelConfig(d_model=24, n_heads=6, n_kv_heads=n_kv_heads).kv_heads == kv_heads


@pytest.mark.parametrize("name", ["d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_len"])
@pytest.mark.parametrize("value", [0, -7, 2**20 + 1, 10**13])
def test_counts_out_of_range_are_refused_with_the_rule(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"model.{name} is {value}; use 1 to 1048576")):
        ModelConfig(**{name: value})


@pytest.mark.parametrize(
    ("d_model", "n_heads", "nearest"), [(512, 7, 8), (30, 7, 6), (512, 1000, 512), (7, 2, 1), (30, 4, 3)]
)
def test_heads_that_do_not_divide_the_width_are_refused_with_the_nearest_that_do(
    d_model: int, n_heads: int, nearest: int
) -> None:
    message = f"model.d_model={d_model} is not divisible by model.n_heads={n_heads}; try n_heads={nearest}"
    with pytest.raises(ConfigError, match=re.escape(message)):
        ModelConfig(d_model=d_model, n_heads=n_heads)
    assert d_model % nearest == 0


@pytest.mark.parametrize("n_kv_heads", [-1, -8, 3, 5, 16])
def test_key_heads_that_do_not_divide_the_query_heads_are_refused(n_kv_heads: int) -> None:
    message = f"model.n_heads=8 is not divisible by model.n_kv_heads={n_kv_heads}; use a divisor of n_heads, or 0"
    with pytest.raises(ConfigError, match=re.escape(message)):
        ModelConfig(n_kv_heads=n_kv_heads)


@pytest.mark.parametrize("name", ["dropout", "attention_dropout", "layer_dropout"])
@pytest.mark.parametrize("value", [-0.1, 1.0, 1.5])
def test_dropout_outside_its_range_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"model.{name} is {value}; use 0 or more and less than 1")):
        ModelConfig(**{name: value})


@pytest.mark.parametrize("name", ["dropout", "attention_dropout", "layer_dropout"])
def test_dropout_that_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.{name} is nan; use a finite number"):
        ModelConfig(**{name: float("nan")})


@pytest.mark.parametrize(
    "changes",
    [
        {"d_model": 15, "n_heads": 3, "positions": "sinusoidal"},
        {"d_model": 30, "n_heads": 6, "positions": "rotary"},
    ],
)
def test_pairs_of_sines_or_turns_need_an_even_width(changes: dict[str, Any]) -> None:
    message = (
        f"model.positions={changes['positions']!r} needs an even width, but d_model={changes['d_model']} and d_head=5"
    )
    with pytest.raises(ConfigError, match=re.escape(message)):
        ModelConfig(**changes)


@pytest.mark.parametrize("positions", ["learned", "alibi"])
def test_other_positions_take_an_odd_width(positions: Any) -> None:
    assert ModelConfig(d_model=15, n_heads=3, positions=positions).d_head == 5


def test_sinusoids_take_odd_heads_as_long_as_the_model_is_even() -> None:
    assert ModelConfig(d_model=30, n_heads=6, positions="sinusoidal").d_head == 5


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_is_a_sound_shape(name: str) -> None:
    config = ModelConfig(**PRESETS[name])
    assert config.d_model == config.n_heads * config.d_head


def test_presets_grow_and_the_larger_two_are_rows_of_table_3() -> None:
    assert list(PRESETS) == ["tiny", "small", "base", "big", "tiny-fast", "base-fast"]
    widths = [ModelConfig(**PRESETS[name]).d_model for name in ("tiny", "small", "base", "big")]
    assert widths == sorted(set(widths))
    assert ModelConfig(**PRESETS["base"]) == ModelConfig()
    big = ModelConfig(**PRESETS["big"])
    assert (big.d_model, big.d_ff, big.n_heads, big.dropout) == (1024, 4096, 16, 0.3)


@pytest.mark.parametrize("name", ["tiny", "base"])
def test_fast_presets_are_as_wide_as_their_namesakes_with_a_deep_encoder_and_one_decoder_layer(name: str) -> None:
    plain, fast = ModelConfig(**PRESETS[name]), ModelConfig(**PRESETS[f"{name}-fast"])
    assert (fast.d_model, fast.n_heads, fast.d_ff) == (plain.d_model, plain.n_heads, plain.d_ff)
    assert fast.n_encoder_layers > plain.n_encoder_layers
    assert fast.n_decoder_layers == 1


def test_every_setting_says_what_it_means() -> None:
    assert {field.name for field in fields(ModelConfig)} == set(attribute_docs(ModelConfig))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"d_modle": 256}, "d_modle is not a setting; did you mean 'd_model'?"),
        ({"d_model": 256.5}, "d_model = 256.5: "),
        ({"positions": "absolute"}, 'positions = "absolute": input should be'),
        ({"n_heads": 7}, "try n_heads=8"),
    ],
)
def test_the_strict_loader_refuses_what_the_types_and_rules_forbid(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse(ModelConfig, table, source="recipe.toml")


def test_the_config_is_frozen_so_that_it_cannot_drift_from_the_weights() -> None:
    with pytest.raises(AttributeError, match="cannot assign to field"):
        ModelConfig().d_model = 7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": "x"}, "model.d_model is 'x'; its type is int, use one of that"),
        ({"n_encoder_layers": 1.5}, "model.n_encoder_layers is 1.5; its type is int, use one of that"),
        ({"dropout": None}, "model.dropout is None; its type is float, use one of that"),
        ({"positions": "x"}, 'model.positions is \'x\'; its type is "sinusoidal" | "learned" | "rotary" | "alibi"'),
    ],
)
def test_a_setting_of_a_wrong_type_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        ModelConfig(**settings)
