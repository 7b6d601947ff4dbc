"""Configuration at the edge: TOML in, frozen dataclasses out, every problem reported at once.

The dataclasses live beside the code they configure and know nothing of this loader. Past it nobody sees
a dict. An attribute docstring under each field says what it means and in which unit; it feeds the JSON schema,
`yiwen config` and the documentation.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import difflib
import functools
import inspect
import json
import math
import re
import textwrap
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from yiwen.errors import CheckpointError, ConfigError, expect
from yiwen.files import read_json

STRICT: Final[Any] = {"extra": "forbid", "strict": True, "use_attribute_docstrings": True}
"""How every dataclass is read: without it unknown keys would pass."""

ABOVE_0: Final = math.ulp(0.0)
"""The least number above 0."""
BELOW_1: Final = math.nextafter(1.0, 0.0)
"""The greatest number below 1."""

_SCALARS: Final[dict[Any, Any]] = {bool: bool, int: (int, typing.SupportsIndex), float: (float, int, Real), str: str}
"""What may stand for a setting of a type: a number of another library, too."""
_hints: Final = functools.cache(typing.get_type_hints)
"""Settings and their types: to read them anew takes milliseconds."""
_source: Final[Any] = functools.cache(inspect.getsource)
"""That of a class: to find it anew, all of its file is parsed."""

T = TypeVar("T")
Table = dict[str, Any]


def read_toml(path: Path) -> Table:
    """Read a TOML file.

    Raises:
        ConfigError: If it is missing, not UTF-8 or not TOML; the message names file, line and column.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; give the path of a recipe or the name of a built-in one") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}; give a readable TOML file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}; text needs quotes, tables need [brackets]") from error


def parse(cls: type[T], table: Mapping[str, Any], *, source: str) -> T:
    """Turn a table into the dataclass `cls`.

    Args:
        cls: A frozen dataclass whose parts are dataclasses too.
        table: What the TOML file holds.
        source: File name for the messages.

    Raises:
        ConfigError: With one line for every problem: file, key, value, rule and remedy.
    """
    import pydantic

    try:
        # JSON mode: strict about types, yet a TOML array may fill a tuple and an integer a float.
        return cast(T, _adapter(cast(Any, cls)).validate_json(json.dumps(table)))
    except pydantic.ValidationError as error:
        raise ConfigError("\n".join(f"{source}: {problem}" for problem in _problems(cls, table, error))) from None
    except TypeError as error:  # TOML has dates; no setting of ours is one
        raise ConfigError(f"{source}: {error}; dates and times are not settings; put them in quotes") from error


def read_stored(cls: type[T], path: Path, *, remedy: str, version: str = "format_version") -> T:
    """What one of our own JSON files holds; `version` is the field with the number of its format, if it has one.

    Raises:
        CheckpointError: If it cannot be read, is of another format than `cls` has now, or holds something else.
    """
    table = read_json(path, remedy)
    fields = table if isinstance(table, dict) else {}
    here, there = getattr(cls, version, None), fields.get(version)
    writer = f" (that was {fields['yiwen_version']})" if "yiwen_version" in fields else ""
    newer = f"upgrade yiwen where a newer one wrote it{writer}"
    if here != there:
        raise CheckpointError(f"{path} has format {there}, this yiwen reads {here}; {remedy}, or {newer}")
    try:
        return parse(cls, table, source=str(path))
    except ConfigError as error:
        raise CheckpointError(f"{error}; {remedy}, or {newer}") from error


def _problems(cls: type[Any], table: Mapping[str, Any], error: Any) -> list[str]:
    """One line for every problem of a table that pydantic refuses with `error`.

    A class names the first of its rules that is broken, and none beside an unknown key. So what was named is taken out
    and the rest judged again; but no setting by the default of another that was taken out.
    """
    problems = list(dict.fromkeys(_explain(cls, problem) for problem in error.errors()))
    rest = json.loads(json.dumps(table))
    if taken := {_take_out(rest, problem) for problem in problems} - {""}:
        try:
            _adapter(cast(Any, cls)).validate_json(json.dumps(rest))
        except type(error) as further:
            for problem in _problems(cls, rest, further):
                if taken.isdisjoint(re.findall(r"\w+", problem)) and problem not in problems:
                    problems.append(problem)
    return problems


@functools.cache
def _adapter(cls: type[Any]) -> Any:
    """Building one takes 10 to 30 ms: as long as opening a model."""
    import pydantic

    _make_strict(cls)
    return pydantic.TypeAdapter(cls)


def _make_strict(cls: Any) -> None:
    """Tell pydantic how to read a dataclass and those inside."""
    cls.__pydantic_config__ = STRICT
    for inner in filter(None, map(_inner_dataclass, _hints(cls).values())):
        _make_strict(inner)


def check_bounds(prefix: str, config: Any, *bounds: tuple[str, float, float, str]) -> None:
    """Make sure that the settings of a config are what they have to be, its numbers finite and where they may be.

    TOML was checked before; this is for who makes a config in Python. A number of another library becomes Python's own,
    and a list a tuple, which TOML makes of it.

    Args:
        prefix: What the messages put before a name: the table that it is read from, and a dot.
        config: The config.
        bounds: Names of settings, the least and the greatest value of each, and what to use instead of others.

    Raises:
        ConfigError: With the first that is not.
    """
    hints = _hints(config.__class__)
    for field in dataclasses.fields(config):
        value, hint = getattr(config, field.name), hints[field.name]
        if isinstance(value, list) or hasattr(value, "item"):
            value = tuple(value) if isinstance(value, list) else value.item()
            object.__setattr__(config, field.name, value)
        if not _fits(value, hint):
            raise ConfigError(f"{prefix}{field.name} is {value!r}; its type is {type_name(hint)}, use one of that")
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{prefix}{field.name} is {value}; use a finite number")
    for names, least, greatest, remedy in bounds:
        for name in names.split():
            if not least <= (value := getattr(config, name)) <= greatest:
                raise ConfigError(f"{prefix}{name} is {value}; use {remedy}")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type of a setting; of a tuple every one of its values."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, inner[0]) for each in value)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    return isinstance(value, _SCALARS.get(hint, hint))


def override(table: Table, settings: Sequence[str]) -> Table:
    """Return a copy of `table` with `key.path=value` settings applied; values are TOML, bare words are text.

    >>> override({"training": {"max_steps": 9}}, ["training.max_steps=100", "data.src_lang=en"])
    {'training': {'max_steps': 100}, 'data': {'src_lang': 'en'}}
    """
    result: Table = copy.deepcopy(table)
    for setting in expect(settings, Sequence, "settings", "a list of KEY=VALUE"):
        key, separator, text = expect(setting, str, "a setting", "KEY=VALUE as one text").partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"--set {setting!r} is not KEY=VALUE; write for example --set training.max_steps=100")
        *parents, name = key.strip().split(".")
        place = result
        for parent in parents:
            inner = place.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"--set {setting!r}: {parent!r} holds {inner!r}, not a table; use its own key")
            place = inner
        place[name] = _toml_value(text.strip())
    return result


def settings_of(config: Any, prefix: str = "") -> dict[str, Any]:
    """Every setting of a config and of its parts by its dotted key, e.g. `training.max_steps`."""
    found: dict[str, Any] = {}
    for name, value in vars(config).items():
        is_part = dataclasses.is_dataclass(value)
        found |= settings_of(value, f"{prefix}{name}.") if is_part else {f"{prefix}{name}": value}
    return found


def to_toml(config: Any, *, with_meaning: bool = False) -> str:
    """Write a config object as TOML that `parse` turns back into an equal object.

    Settings that are None are left out, or shown as a comment where meanings are asked for.
    """
    return "\n".join(_toml_lines(config, "", with_meaning)).strip() + "\n"


def toml_text(value: Any) -> str:
    """A value of a setting as TOML writes it."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case tuple() | list():
            return f"[{', '.join(toml_text(item) for item in value)}]"
        case _:  # JSON writes them as TOML does; a JSON string is a TOML basic string once DEL is escaped
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def json_schema(cls: type[Any]) -> Table:
    """JSON schema of a config class, for editors that complete TOML."""
    return cast(Table, _adapter(cast(Any, cls)).json_schema())


def attribute_docs(cls: type[Any]) -> dict[str, str]:
    """The docstrings under a dataclass's fields, each on one line."""
    tree = ast.parse(textwrap.dedent(_source(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=text)):
                docs[name] = " ".join(str(text).split())
    return docs


def _take_out(table: Any, problem: str) -> str:
    """Take the setting that a problem begins with out of a table: its name, empty where the table does not hold it."""
    *parents, name = re.split("[ =]", problem)[0].split(".")
    for parent in parents:
        inner = {str(n): item for n, item in enumerate(table)} if isinstance(table, list) else table
        table = inner.get(parent) if isinstance(inner, dict) else None
    return name if isinstance(table, dict) and table.pop(name, None) is not None else ""


def _explain(cls: type[Any], problem: Any) -> str:
    """One line for one pydantic error."""
    path = [str(part) for part in problem["loc"]]
    owner = _class_at(cls, path[:-1]) or cls
    known = [field.name for field in dataclasses.fields(owner)]
    key = ".".join(path) or "the file"
    if problem["type"] == "value_error":  # raised by a __post_init__ of ours, which names value, rule and remedy
        return str(problem["ctx"]["error"])
    if problem["type"] == "unexpected_keyword_argument":
        nearest = difflib.get_close_matches(path[-1], known, n=1)
        remedy = f"did you mean {nearest[0]!r}?" if nearest else f"known keys: {', '.join(known)}"
        return f"{key} is not a setting; {remedy}"
    if len(path) > 1 and not path[-1].isdigit() and path[-1] not in known:
        return _explain(cls, {**problem, "loc": path[:-1]})  # pydantic names the type it tried, where there are several
    doc = attribute_docs(owner).get(path[-1]) if path else None
    meaning = f"it means: {doc}" if doc else "see `yiwen config`"
    if problem["type"] == "missing":
        return f"{key} is missing; {meaning}"
    rule = problem["msg"][0].lower() + problem["msg"][1:].replace("a valid array", "a list in [brackets]")
    return f"{key} = {json.dumps(problem['input'], ensure_ascii=False)}: {rule}; {meaning}"


def _class_at(cls: type[Any], path: Sequence[str]) -> type[Any] | None:
    """The dataclass that a path of keys leads to, looking through tuples and `| None`."""
    current: type[Any] | None = cls
    for part in path:
        if current is not None and not part.isdigit():  # an item of a tuple: its class was found already
            current = _inner_dataclass(typing.get_type_hints(current).get(part))
    return current


def _inner_dataclass(hint: Any) -> type[Any] | None:
    if dataclasses.is_dataclass(hint):
        return hint if isinstance(hint, type) else None
    return next((found for inner in typing.get_args(hint) if (found := _inner_dataclass(inner))), None)


def type_name(hint: Any) -> str:
    """A type as a reader writes it, e.g. `int` or `"post" | "pre"`."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(json.dumps(value) for value in inner)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(part) for part in inner if part is not type(None))
    return f"list of {type_name(inner[0])}" if origin is tuple else str(getattr(hint, "__name__", hint))


def _toml_value(text: str) -> Any:
    try:
        (value,) = tomllib.loads(f"value = {text}").values()
    except ValueError:  # no TOML, or more lines that would be lost
        return text
    return value


def _toml_lines(config: Any, prefix: str, with_meaning: bool) -> Iterator[str]:
    """Plain values first, then sub-tables, then arrays of tables: the order TOML demands."""
    tables: list[tuple[str, Any]] = []
    meanings = attribute_docs(type(config)) if with_meaning else {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value) or (isinstance(value, tuple) and any(map(dataclasses.is_dataclass, value))):
            tables.append((field.name, value))
            continue
        if field.name in meanings:
            yield from textwrap.wrap(meanings[field.name], 110, initial_indent="# ", subsequent_indent="# ")
        if value is not None:
            yield f"{field.name} = {toml_text(value)}"
        elif with_meaning:
            yield f"# {field.name} ="
    for name, value in tables:
        for item in value if isinstance(value, tuple) else (value,):
            yield from ("", f"[[{prefix}{name}]]" if isinstance(value, tuple) else f"[{prefix}{name}]")
            yield from _toml_lines(item, f"{prefix}{name}.", with_meaning)
