"""TOML becomes frozen dataclasses; every problem is reported at once, with a way out."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.config import (
    attribute_docs,
    check_bounds,
    json_schema,
    override,
    parse,
    read_toml,
    to_toml,
    type_name,
)
from yiwen.errors import ConfigError
from yiwen.text.subword import TokenizerConfig


@dataclass(frozen=True, kw_only=True)
class Part:
    path: str
    """Where it lies."""
    weight: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Search:
    beam_size: int = 4
    """Hypotheses kept
    per sentence."""
    kind: Literal["beam", "greedy"] = "beam"
    names: tuple[str, ...] = ()
    limit: int | None = None
    """None for no limit."""
    exact: bool = False

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ConfigError(f"search.beam_size is {self.beam_size}; use 1 or more")


@dataclass(frozen=True, kw_only=True)
class Whole:
    name: str = "x"
    search: Search = field(default_factory=Search)
    parts: tuple[Part, ...] = ()
    spare: Part | None = None
    rate: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Limits:
    least: int = 1
    most: int = 9

    def __post_init__(self) -> None:
        check_bounds("limits.", self, ("least most", 0, 99, "0 to 99"))
        if self.least > self.most:
            raise ConfigError(f"limits.least={self.least} is more than limits.most={self.most}; lower it")


@dataclass(frozen=True, kw_only=True)
class Limited:
    limits: Limits = field(default_factory=Limits)
    spare: Part | None = None


@dataclass(frozen=True, kw_only=True)
class Ruled:
    search: Search = field(default_factory=Search)
    limits: Limits = field(default_factory=Limits)
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if len(self.parts) == 1:
            raise ConfigError("1 part is too little; list two")


def test_toml_becomes_dataclasses_with_tuples_and_floats() -> None:
    table = tomllib.loads('rate = 1\n[search]\nnames = ["a"]\n[[parts]]\npath = "p"\nweight = 2\n[spare]\npath = "q"')
    whole = parse(Whole, table, source="r.toml")
    assert whole == Whole(
        rate=1.0, search=Search(names=("a",)), parts=(Part(path="p", weight=2.0),), spare=Part(path="q")
    )
    assert isinstance(whole.rate, float)


def test_all_problems_come_at_once_each_with_file_key_value_rule_and_remedy() -> None:
    table = {
        "nmae": "y",
        "search": {"beam_sze": 5, "kind": "best", "beam_size": "4", "exact": 1},
        "parts": [{"path": "p"}, {"wieght": 1.0}],
        "spare": {"path": 3},
    }
    with pytest.raises(ConfigError) as caught:
        parse(Whole, table, source="r.toml")
    lines = str(caught.value).split("\n")
    assert lines == [
        'r.toml: search.beam_size = "4": input should be a valid integer; it means: Hypotheses kept per sentence.',
        "r.toml: search.kind = \"best\": input should be 'beam' or 'greedy'; see `yiwen config`",
        "r.toml: search.exact = 1: input should be a valid boolean; see `yiwen config`",
        "r.toml: search.beam_sze is not a setting; did you mean 'beam_size'?",
        "r.toml: parts.1.path is missing; it means: Where it lies.",
        "r.toml: parts.1.wieght is not a setting; did you mean 'weight'?",
        "r.toml: spare.path = 3: input should be a valid string; it means: Where it lies.",
        "r.toml: nmae is not a setting; did you mean 'name'?",
    ]


def test_all_rules_that_one_class_breaks_are_told_beside_its_unknown_keys() -> None:
    table = {"limits": {"least": -1, "most": 100, "mots": 3}, "spare": {"path": "p", "wieght": 1.0}}
    with pytest.raises(ConfigError) as caught:
        parse(Limited, table, source="limits.toml")
    assert str(caught.value).split("\n") == [
        "limits.toml: limits.mots is not a setting; did you mean 'most'?",
        "limits.toml: spare.wieght is not a setting; did you mean 'weight'?",
        "limits.toml: limits.least is -1; use 0 to 99",
        "limits.toml: limits.most is 100; use 0 to 99",
    ]
    assert table["limits"] == {"least": -1, "most": 100, "mots": 3}


def test_rules_are_told_beside_values_of_a_wrong_type_and_beside_what_is_wrong_in_a_list() -> None:
    table = {"search": {"kind": "best", "beam_size": 0}, "limits": {"least": -1}, "parts": [{"path": "p", "wieght": 1}]}
    with pytest.raises(ConfigError) as caught:
        parse(Ruled, table, source="r.toml")
    assert str(caught.value).split("\n") == [
        "r.toml: search.kind = \"best\": input should be 'beam' or 'greedy'; see `yiwen config`",
        "r.toml: limits.least is -1; use 0 to 99",
        "r.toml: parts.0.wieght is not a setting; did you mean 'weight'?",
        "r.toml: search.beam_size is 0; use 1 or more",
        "r.toml: 1 part is too little; list two",
    ]


def test_a_setting_is_not_judged_by_the_default_of_another_that_is_wrong() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(Limited, {"limits": {"least": 20, "most": -2}}, source="r.toml")
    assert str(caught.value) == "r.toml: limits.most is -2; use 0 to 99"


def test_an_unknown_key_near_to_none_is_answered_with_all_of_them() -> None:
    with pytest.raises(ConfigError, match=r"spare\.qqqq is not a setting; known keys: path, weight"):
        parse(Whole, {"spare": {"path": "p", "qqqq": 1}}, source="r.toml")


def test_a_rule_of_the_class_speaks_for_itself() -> None:
    with pytest.raises(ConfigError, match=r"^r\.toml: search\.beam_size is 0; use 1 or more$"):
        parse(Whole, {"search": {"beam_size": 0}}, source="r.toml")


def test_a_table_where_a_value_belongs_and_the_reverse_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"r\.toml: rate = \{\"a\": 1\}: input should be a valid number"):
        parse(Whole, {"rate": {"a": 1}}, source="r.toml")
    with pytest.raises(ConfigError, match=r"r\.toml: search = 3: .*; see `yiwen config`"):
        parse(Whole, {"search": 3}, source="r.toml")
    with pytest.raises(ConfigError, match=r'r\.toml: search\.names = "a": input should be a list in \[brackets\]'):
        parse(Whole, {"search": {"names": "a"}}, source="r.toml")


def test_dates_are_not_settings() -> None:
    table = tomllib.loads("name = 2026-01-01")
    with pytest.raises(ConfigError, match="dates and times are not settings; put them in quotes"):
        parse(Whole, table, source="r.toml")
    with pytest.raises(ConfigError, match="dates and times are not settings"):
        parse(Whole, override(table, ["rate=2"]), source="r.toml")


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.toml does not exist; give the path of a recipe"):
        read_toml(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_toml(tmp_path)


def test_broken_files_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match=r"is not UTF-8 at byte 8; save it as UTF-8"):
        read_toml(path)
    path.write_bytes(b"name = y")
    with pytest.raises(ConfigError, match=r"is not valid TOML: .*line 1, column 8.*; text needs quotes"):
        read_toml(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(b"\xef\xbb\xbfname = 'y'")
    assert read_toml(path) == {"name": "y"}


def test_settings_override_and_the_table_given_stays_as_it_was() -> None:
    table: dict[str, Any] = {"search": {"beam_size": 4}}
    settings = ["search.beam_size=5", "name=no", "search.names=['a', 'b']", "rate = 0.5", "spare.path=a=b", "empty="]
    result = override(table, settings)
    assert result == {
        "search": {"beam_size": 5, "names": ["a", "b"]},
        "name": "no",
        "rate": 0.5,
        "spare": {"path": "a=b"},
        "empty": "",
    }
    assert table == {"search": {"beam_size": 4}}


@pytest.mark.parametrize("text", ["2\nlimit = 3", "2 # two\n[spare]\npath = 1"])
def test_of_a_setting_of_several_lines_none_is_lost(text: str) -> None:
    assert override({}, [f"rate={text}"]) == {"rate": text}
    assert override({}, ["names=[\n'a', # one\n'b',\n]"]) == {"names": ["a", "b"]}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rate", "--set 'rate' is not KEY=VALUE; write for example"),
        ("=3", "is not KEY=VALUE"),
        ("rate.x=3", "--set 'rate.x=3': 'rate' holds 0.5, not a table; use its own key"),
    ],
)
def test_a_setting_that_cannot_be_applied_is_refused(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override({"rate": 0.5}, [setting])


text = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    name=text,
    rate=st.floats(allow_nan=False),
    limit=st.none() | st.integers(-(2**62), 2**62),
    names=st.lists(text),
    parts=st.lists(st.builds(Part, path=text, weight=st.floats(allow_nan=False))),
    spare=st.none() | st.builds(Part, path=text),
    exact=st.booleans(),
)
def test_what_is_written_reads_back_equal(
    name: str,
    rate: float,
    limit: int | None,
    names: list[str],
    parts: list[Part],
    spare: Part | None,
    exact: bool,
) -> None:
    search = Search(names=tuple(names), limit=limit, exact=exact)
    whole = Whole(name=name, rate=rate, search=search, parts=tuple(parts), spare=spare)
    for with_meaning in (False, True):
        written = to_toml(whole, with_meaning=with_meaning)
        assert parse(Whole, tomllib.loads(written), source="r.toml") == whole


def test_a_number_that_is_none_reads_back_too() -> None:
    assert math.isnan(parse(Whole, tomllib.loads(to_toml(Whole(rate=math.nan))), source="r.toml").rate)


def test_toml_with_meanings_explains_each_setting_and_shows_what_is_unset() -> None:
    written = to_toml(Whole(parts=(Part(path="译"),)), with_meaning=True)
    assert "[search]\n# Hypotheses kept per sentence.\nbeam_size = 4\n" in written
    assert "# None for no limit.\n# limit =\n" in written
    assert '[[parts]]\n# Where it lies.\npath = "译"\n' in written


def test_types_are_named_as_a_reader_writes_them() -> None:
    hints = get_type_hints(Search)
    named = {name: type_name(hints[name]) for name in ("kind", "names", "limit")}
    assert named == {"kind": '"beam" | "greedy"', "names": "list of str", "limit": "int"}


def test_the_schema_knows_meanings_and_forbids_unknown_keys() -> None:
    schema = json.loads(json.dumps(json_schema(Whole)))
    assert schema["additionalProperties"] is False
    assert "Hypotheses kept" in schema["$defs"]["Search"]["properties"]["beam_size"]["description"]


def test_attribute_docs_leave_out_fields_without_one() -> None:
    assert attribute_docs(Part) == {"path": "Where it lies."}


def test_a_list_made_in_python_becomes_a_tuple_and_a_text_is_none() -> None:
    assert TokenizerConfig(symbols=["<a>"]) == TokenizerConfig(symbols=("<a>",))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"tokenizer\.symbols is '<a>'; its type is list"):
        TokenizerConfig(symbols="<a>")  # type: ignore[arg-type]


def test_numbers_of_another_library_become_pythons_own() -> None:
    made = Limits(least=np.int64(3), most=np.int64(5))  # type: ignore[arg-type]
    assert [type(value) for value in (made.least, made.most)] == [int, int]
    assert to_toml(made) == "least = 3\nmost = 5\n"
