"""Impossible settings are refused, all at once."""

from __future__ import annotations

import tomllib

import pytest

from yiwen.config import parse, to_toml
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.errors import ConfigError
from yiwen.recipe import Recipe

LIGHT, HEAVY = CorpusConfig(path="a.tsv", weight=0.0), CorpusConfig(path="b.tsv", weight=3.0)
MADE = CorpusConfig(path="c.tsv", train_only=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"src_lang": "english language"}, "data.src_lang is 'english language'; use a language code"),
        ({"tgt_lang": "?"}, "data.tgt_lang is '?'"),
        ({"corpora": ()}, "data.corpora has 0 entries; give 1 to 255"),
        ({"corpora": (LIGHT, HEAVY)}, r"have the weights \[0.0, 3.0\]; give every corpus a positive weight, or none"),
        ({"corpora": (HEAVY,), "temperature": 2.0}, r"data.temperature is 2.0 beside explicit weights \[3.0\]"),
        ({"temperature": 0.0}, "data.temperature is 0.0; use 0.1 or more"),
        ({"temperature": 0.005}, "data.temperature is 0.005; use 0.1 or more, 1 for shares by size"),
        ({"valid_pairs": -1}, "data.valid_pairs is -1; use 0"),
        ({"test_pairs": -2}, "data.test_pairs is -2; use 0"),
        ({"max_tokens": 1}, "data.max_tokens is 1; use at least 2"),
        ({"valid": MADE}, "data.valid has train_only=true; leave it out: nothing here is trained on"),
        ({"test": MADE}, "data.test has train_only=true"),
        ({"more_tests": (MADE,)}, "data.more_tests has train_only=true"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    right = {"src_lang": "en", "tgt_lang": "zh-Hans", "corpora": (LIGHT,)}
    DataConfig(**right)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        DataConfig(**right | wrong)  # type: ignore[arg-type]


def test_all_problems_are_told_at_once() -> None:
    table = {"src_lang": "1", "tgt_lang": "2", "corpora": [{"path": "a.tsv"}], "max_tokens": 0}
    with pytest.raises(ConfigError) as caught:
        parse(Recipe, {"data": table}, source="r.toml")
    assert str(caught.value) == (
        "r.toml: data.max_tokens is 0; use at least 2 (a subword and eos), say 256\n"
        "r.toml: data.src_lang is '1'; use a language code such as en, de or zh-Hans; "
        "data.tgt_lang is '2'; use a language code such as en, de or zh-Hans"
    )


def test_the_config_survives_toml() -> None:
    config = DataConfig(src_lang="en", tgt_lang="zh", corpora=(HEAVY, HEAVY), valid=LIGHT)
    assert parse(DataConfig, tomllib.loads(to_toml(config, with_meaning=True)), source="x") == config
