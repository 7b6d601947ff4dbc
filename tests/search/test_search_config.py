"""The rules of a search and the messages about rules that cannot be."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from yiwen.config import attribute_docs
from yiwen.errors import ConfigError
from yiwen.search.config import SearchConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, "search.beam_size is 0; use 1 for greedy, 2 to 1000 for a beam"),
        ({"beam_size": 1001}, "search.beam_size is 1001; use 1 for greedy, 2 to 1000 for a beam"),
        ({"n_best": 0}, "search.n_best is 0; use 1 or more"),
        (
            {"beam_size": 3, "n_best": 5},
            "search.n_best=5 asks for more than search.beam_size=3 can find; use beam_size=5 or sampling",
        ),
        (
            {"max_len_ratio": 0.0, "max_len_extra": 0},
            "search.max_len_ratio=0.0 and max_len_extra=0 leave no room for a translation; "
            "none may be negative and one must be above 0",
        ),
        ({"mbr": 7}, "search.mbr=7 asks for more than search.beam_size=5 can find; use beam_size=7 or sampling"),
        ({"mbr": 3, "n_best": 4}, "search.mbr is 3 with search.n_best=4; use 0 for none, or at least as many candid"),
        ({"mbr": -1}, "search.mbr is -1 with search.n_best=1; use 0 for none"),
        ({"max_len_ratio": -1.0}, "search.max_len_ratio=-1.0 and max_len_extra=20 leave no room"),
        ({"max_len_extra": -1}, "search.max_len_ratio=2.0 and max_len_extra=-1 leave no room"),
        ({"min_len": -1}, "search.min_len is -1; use 0 or more"),
        ({"temperature": 0.0}, "search.temperature is 0.0; use 0.01 to 1000000, or beam_size = 1"),
        ({"temperature": 1e-40}, "search.temperature is 1e-40; use 0.01 to 1000000, or beam_size = 1"),
        ({"temperature": 1e39}, "search.temperature is 1e+39; use 0.01 to 1000000"),
        ({"length_penalty": 1000.0}, "search.length_penalty is 1000.0; use -10 to 10, 1 for the mean"),
        ({"length_penalty": -20.0}, "search.length_penalty is -20.0; use -10 to 10, 1 for the mean"),
        ({"max_len_ratio": 1e308}, "search.max_len_ratio is 1e+308; use at most 1000"),
        ({"seed": -1}, "search.seed is -1; use 0 or more, less than 2**62"),
        ({"seed": 2**62}, "search.seed is 4611686018427387904; use 0 or more, less than 2**62"),
        ({"top_k": -1}, "search.top_k is -1; use 0 for no limit or more"),
        ({"top_p": 0.0}, "search.top_p is 0.0; use 0.000001 to 1"),
        ({"top_p": 1.1}, "search.top_p is 1.1; use 0.000001 to 1"),
    ],
)
def test_rules_that_cannot_be_are_refused_with_a_remedy(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        SearchConfig(**changes)


def test_sampling_may_return_more_than_the_beam_holds() -> None:
    assert SearchConfig(sampling=True, beam_size=1, n_best=7).n_best == 7


@pytest.mark.parametrize(
    ("ratio", "extra", "src_len", "max_len"),
    [(2.0, 20, 7, 34), (1.5, 0, 7, 10), (0.0, 3, 7, 3), (0.1, 0, 5, 1), (2.0, 20, 0, 20)],
)
def test_the_length_limit_grows_with_the_source_and_leaves_room_for_a_word(
    ratio: float, extra: int, src_len: int, max_len: int
) -> None:
    assert SearchConfig(max_len_ratio=ratio, max_len_extra=extra).max_len(src_len) == max_len


def test_every_search_setting_says_what_it_means() -> None:
    assert {field.name for field in fields(SearchConfig)} == set(attribute_docs(SearchConfig))


def test_what_is_not_given_stays_as_it_is() -> None:
    config = SearchConfig(beam_size=7, n_best=3)
    assert config.changed(beam_size=5, n_best=None) == SearchConfig(beam_size=5, n_best=3)


@pytest.mark.parametrize(
    ("config", "changes", "idle"),
    [
        (SearchConfig(sampling=True), {"beam_size": 3, "length_penalty": 0.5}, "search.beam_size"),
        (SearchConfig(), {"beam_size": 3, "sampling": True}, "search.beam_size"),
        (SearchConfig(penalty="none"), {"beam_size": 3, "length_penalty": 0.5}, "search.length_penalty"),
        (
            SearchConfig(penalty="none", sampling=True),
            {"beam_size": 3, "length_penalty": 0.5},
            "search.beam_size, search.length_penalty",
        ),
    ],
)
def test_a_change_that_would_do_nothing_is_refused(config: SearchConfig, changes: dict[str, Any], idle: str) -> None:
    message = f"{idle}: sampling has no beam, penalty='none' no exponent; leave this out"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        config.changed(**changes)
    assert config.changed(**dict.fromkeys(changes), seed=7) == replace(config, seed=7)


def test_zero_and_no_are_given_too() -> None:
    config = SearchConfig(sampling=True, length_penalty=0.5)
    changed = config.changed(length_penalty=0.0, min_len=0, sampling=False)
    assert changed == SearchConfig(length_penalty=0.0, min_len=0, sampling=False)


@pytest.mark.parametrize(
    ("prefix", "min_len", "room", "limit"),
    [([], 0, 99, 4), ([5] * 3, 7, 99, 7), ([5] * 7, 3, 99, 7), ([5] * 2, 3, 99, 4), ([5] * 7, 7, 5, 5)],
)
def test_a_prefix_and_the_least_length_go_before_the_limit_and_room_before_all(
    prefix: list[int], min_len: int, room: int, limit: int
) -> None:
    config = SearchConfig(max_len_ratio=0.3, max_len_extra=1, min_len=min_len)
    assert config.limits([[7] * 13], [prefix], room=room) == [limit]  # 0.3 x 13 = 3.9: three, and one


def test_all_candidates_may_be_asked_for() -> None:
    assert SearchConfig(mbr=5, n_best=5).n_best == 5


def test_no_exponent_is_what_no_penalty_has() -> None:
    assert SearchConfig(penalty="none").changed(length_penalty=0.0).penalty == "none"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": "5"}, "search.beam_size is '5'; its type is int, use one of that"),
        ({"beam_size": 2.0}, "search.beam_size is 2.0; its type is int, use one of that"),
        ({"temperature": "1"}, "search.temperature is '1'; its type is float, use one of that"),
        ({"penalty": "x"}, 'search.penalty is \'x\'; its type is "average" | "gnmt" | "none", use one of that'),
    ],
)
def test_rules_of_a_wrong_type_are_refused(changes: dict[str, Any], message: str) -> None:
    for make in (SearchConfig, SearchConfig().changed):
        with pytest.raises(ConfigError, match=re.escape(message)):
            make(**changes)


def test_a_wrong_number_leaves_no_trace_where_the_right_one_is_asked_for_later() -> None:
    config = SearchConfig(seed=7919)
    with pytest.raises(ConfigError):
        config.changed(beam_size=3.0)
    assert type(config.changed(beam_size=3).beam_size) is int


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert SearchConfig(beam_size=np.int64(2), temperature=np.float32(0.5), top_p=1) == SearchConfig(  # type: ignore
        beam_size=2, temperature=0.5
    )
