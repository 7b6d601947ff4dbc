"""Write what can be read off: the configuration pages, the file trees of both READMEs, tables of measurements.

`python docs/generate.py` writes them, `--check` fails where one is not current. `docs/figures.py` draws the results of
the benchmarks, `docs/source.py` puts places and sources of functions into the pages of `docs/templates`. Chinese texts
stand in `docs/chinese.toml`: meanings by their English text (so that a changed meaning asks for a new translation),
files by their path.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import sys
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figures
import source

from yiwen.config import attribute_docs, type_name
from yiwen.recipe import Recipe

ROOT = Path(__file__).parents[1]
CHINESE = ROOT / "docs" / "chinese.toml"

INTRODUCTION = {
    "en": """# Configuration

A recipe is a TOML file. `yiwen config RECIPE` prints one with every setting and its meaning;
`--set training.max_steps=100` overrides a setting on the command line. Unknown keys are refused.
All mistakes are reported together. This page is generated from the code.
""",
    "zh": """# 配置

配方是一个 TOML 文件。`yiwen config RECIPE` 会打印出完整的配方和每项设置的含义；\
在命令行中可以用 `--set training.max_steps=100` 覆盖某项设置。未知的键会被拒绝，所有错误一并报告。本页由代码自动生成。
""",
}
HEADER = {
    "en": "| Setting | Type | Default | Meaning |\n|---|---|---|---|",
    "zh": "| 设置 | 类型 | 默认值 | 含义 |\n|---|---|---|---|",
}
PLACE = {"en": "`{}`, line {}", "zh": "`{}` 第 {} 行"}
REQUIRED = {"en": "required", "zh": "必填"}
NOT_SET = {"en": "not set", "zh": "不设"}
FENCE = "```"
TREE_START = f"{FENCE}text\nyiwen/"
README = {"en": "README.md", "zh": "README.zh-CN.md"}
TOP = {
    "Makefile": "`make demo`, `make check`, `make test` and the rest",
    "pyproject.toml": "the package, its extras and the settings of its tools",
    "constraints.txt": "versions that the tests run with",
    "benchmarks": "measurements, and their results by date",
    "notebooks": "lessons that run, in English and Chinese",
    "docker": "images, services and a conda environment",
    "docs": "the manual in English and Chinese, and the log of what did not work",
    "tests": "specifications, in the shape of the package",
}


def main() -> None:
    """Write all generated texts, or with `--check` name those that are not current and exit 1."""
    outdated = [path for path, text in generated().items() if not is_current(path, text)]
    if "--check" in sys.argv[1:]:
        for path in outdated:
            print(f"{path.relative_to(ROOT)} is not current; run `make docs`", file=sys.stderr)
        sys.exit(1 if outdated else 0)
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for missing in sorted(untranslated()):
        print(f"docs/chinese.toml lacks: {missing}", file=sys.stderr)


def is_current(path: Path, text: str) -> bool:
    """True where a file holds just this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


def generated() -> dict[Path, str]:
    """Every generated text by its path."""
    texts = {ROOT / "docs" / language / "configuration.md": configuration(language) for language in ("en", "zh")}
    for language in ("en", "zh"):
        for name, text in figures.pages(ROOT / "benchmarks" / "results", language).items():
            texts[ROOT / "docs" / "figures" / f"{name}.{language}.md"] = text
    for template in sorted((ROOT / "docs" / "templates").glob("*.md")):
        name, language, _ = template.name.split(".")
        text = source.with_code(template.read_text(encoding="utf-8"), ROOT / "src" / "yiwen", PLACE[language])
        texts[ROOT / "docs" / language / f"{name}.md"] = text
    for language, name in README.items():
        texts[ROOT / name] = with_tree((ROOT / name).read_text(encoding="utf-8"), language)
    return texts


def untranslated() -> set[str]:
    """Meanings and files that have no Chinese text."""
    chinese = _chinese()
    missing = {meaning for meaning in meanings() if meaning not in chinese["meanings"]}
    return missing | {path for path, _ in files() if path not in chinese["files"]}


def stale() -> set[str]:
    """Chinese texts that nobody asks for any more."""
    chinese = _chinese()
    return (set(chinese["meanings"]) - set(meanings())) | (set(chinese["files"]) - {path for path, _ in files()})


def meanings() -> list[str]:
    """Every English meaning on the configuration page."""
    found = []
    for _, introduction, cls in sections(Recipe):
        found += [introduction, *(meaning for _, _, _, meaning in settings(cls))]
    return [meaning for meaning in dict.fromkeys(found) if meaning]


def configuration(language: str) -> str:
    """The configuration page."""
    translate = _translator(language)
    parts = [INTRODUCTION[language]]
    for heading, introduction, cls in sections(Recipe):
        rows = []
        for name, kind, default, meaning in settings(cls):
            shown = {"<required>": REQUIRED[language], "null": NOT_SET[language]}.get(default, f"`{default}`")
            cells = (f"`{name}`", f"`{kind}`", shown, translate(meaning))
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        if rows:
            parts.append(f"## {heading}\n\n{translate(introduction)}".rstrip() + "\n")
            parts.append("\n".join([HEADER[language], *rows]) + "\n")
    return "\n".join(parts)


def sections(cls: type[Any], prefix: str = "", introduction: str = "") -> Iterator[tuple[str, str, type[Any]]]:
    """Heading, meaning and class of every table of a recipe, outermost first."""
    yield (prefix or "recipe", introduction, cls)
    docs = attribute_docs(cls)
    seen = set()
    for name, hint in typing.get_type_hints(cls).items():
        inner = _dataclass_in(hint)
        if inner and inner not in seen:  # valid and test are corpora too
            seen.add(inner)
            yield from sections(inner, f"{prefix}.{name}".lstrip("."), docs.get(name, ""))


def settings(cls: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, default as JSON (or `<required>`) and meaning of every setting of a class but its tables."""
    required = {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    hints, meanings = typing.get_type_hints(cls), attribute_docs(cls)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        inner = _dataclass_in(hint)
        if inner is not hint:  # a table of its own has a section of its own
            default = "<required>" if field.name in required else json.dumps(_default(field), ensure_ascii=False)
            yield (
                field.name,
                "table, as data.corpora" if inner else type_name(hint),
                default,
                meanings.get(field.name, ""),
            )


def files() -> list[tuple[str, str]]:
    """Path and English line of every file in the tree."""
    found = [(path, line) for path, line in TOP.items() if (ROOT / path).exists()]
    package = ROOT / "src" / "yiwen"
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.toml")], key=_folders_last):
        if path.read_text(encoding="utf-8").strip():
            found.append((path.relative_to(ROOT).as_posix(), _first_line(path)))
    return found


def with_tree(readme: str, language: str) -> str:
    """The README with its tree drawn anew."""
    start = readme.index(TREE_START)
    end = readme.index(f"\n{FENCE}", start + len(FENCE)) + 1
    chinese = _chinese()["files"] if language == "zh" else {}
    lines = [TREE_START]
    current = ""
    for path, line in files():
        folder, _, name = path.rpartition("/")
        if folder != current:
            current = folder
            lines.append("  " + ("  " + folder.removeprefix("src/yiwen/") if folder != "src/yiwen" else folder) + "/")
        depth = (folder != "") + (folder not in ("", "src/yiwen"))
        lines.append("  " * (depth + 1) + f"{name:<19} {chinese.get(path, line)}".rstrip())
    return readme[:start] + "\n".join(lines) + "\n" + readme[end:]


def _folders_last(path: Path) -> tuple[str, str]:
    folder = path.parent.as_posix()
    return folder, path.name


def _first_line(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return text.split("\n")[0].lstrip("# ").rstrip(".")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0].rstrip(".")


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING
    return None if _dataclass_in(field.default_factory) else field.default_factory()


def _dataclass_in(hint: Any) -> type[Any] | None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    return next((found for inner in typing.get_args(hint) if (found := _dataclass_in(inner))), None)


def _chinese() -> dict[str, dict[str, str]]:
    return tomllib.loads(CHINESE.read_text(encoding="utf-8"))


def _translator(language: str) -> Any:
    known = _chinese()["meanings"] if language == "zh" else {}
    return lambda text: known.get(text, text)


if __name__ == "__main__":
    main()
