"""The manual says what is true: its commands exist, both languages agree, its generated parts are current."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import pytest
import typer

from yiwen.cli.main import app
from yiwen.recipe import Recipe

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs"))  # as for a script there
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands_in(path: Path) -> Iterator[list[str]]:
    """Every `yiwen ...` of a page, in code blocks and between backquotes, up to a comment or a redirection."""
    blocks, prose = [], []
    for number, part in enumerate(path.read_text(encoding="utf-8").split("```")):
        (blocks if number % 2 else prose).append(part)
    lines = re.findall(r"^(yiwen .*)$", "\n".join(blocks), re.MULTILINE)
    for line in lines + re.findall(r"`(yiwen [^`\n]+)`", "\n".join(prose)):
        yield shlex.split(re.split(r"\s[#<>|]", line)[0].replace("...", ""))


def test_every_command_shown_exists_with_its_options() -> None:
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = [(name_of(path), words) for path in PAGES for words in commands_in(path)]
    assert len(shown) > 50
    wrong = []
    for page, (_, *words) in shown:
        options = [word.split("=")[0] for word in words if word.startswith("--")]
        if words[0].startswith("--"):
            assert options <= ["--help", "--version"], page
        elif words[0] not in known:
            wrong.append(f"{page}: yiwen {words[0]} does not exist")
        else:
            opts = {"--help"} | {
                name for param in known[words[0]].params for name in (*param.opts, *param.secondary_opts)
            }
            wrong += [f"{page}: yiwen {words[0]} has no {option}" for option in options if option not in opts]
    assert wrong == []


def test_every_command_stands_in_the_manual() -> None:
    for language in ("en", "zh"):
        page = (ROOT / "docs" / language / "commands.md").read_text(encoding="utf-8")
        for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
            assert f"| `yiwen {name}` |" in page, f"{language}: {name}"


def test_every_setting_named_exists() -> None:
    """`training.max_steps`, alone or with a value or on a command line; the log also names settings of the past."""
    tables = {
        name: {key.name for key in dataclasses.fields(kind)}
        for name, hint in get_type_hints(Recipe).items()
        for kind in (hint, *get_args(hint))
        if dataclasses.is_dataclass(kind)
    }
    setting = re.compile(rf"(?<![\w./-])({'|'.join(tables)})\.(?!py\b|safetensors\b)(\w+)(?![\w(/])")
    named = [
        (name_of(path), table, key)
        for path in PAGES
        if path.name not in ("log.md", "CHANGELOG.md")
        for span in re.findall(r"`([^`\n]+)`", path.read_text(encoding="utf-8"))
        for table, key in setting.findall(span)
    ]
    assert len(named) > 200
    assert [found for found in named if found[2] not in tables[found[1]]] == []


def test_every_make_target_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in [*PAGES, ROOT / ".ci" / "run"]:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert target in targets, f"{name_of(path)}: make {target}"


def test_both_languages_have_the_same_pages_with_the_same_sections() -> None:
    names = {language: {path.name for path in (ROOT / "docs" / language).glob("*.md")} for language in ("en", "zh")}
    assert names["en"] == names["zh"] >= {"index.md", "architecture.md", "configuration.md", "commands.md", "log.md"}
    for name in sorted(names["en"]):
        english, chinese = ((ROOT / "docs" / language / name).read_text(encoding="utf-8") for language in ("en", "zh"))
        for pattern in (r"^#+ ", r"^```", r"^\| ", r"^\*\*"):
            found = [len(re.findall(pattern, text, re.MULTILINE)) for text in (english, chinese)]
            assert found[0] == found[1], f"{name}: {pattern}"


def test_both_languages_show_the_same_code() -> None:
    blocks = {
        language: {
            path.name: re.findall(r"^```(\w+)\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
            for path in (ROOT / "docs" / language).glob("*.md")
        }
        for language in ("en", "zh")
    }
    assert sum(map(len, blocks["en"].values())) > 50
    assert blocks["en"] == blocks["zh"]


def test_both_navigations_list_every_page() -> None:
    for language, config in (("en", "mkdocs.yml"), ("zh", "mkdocs.zh.yml")):
        listed = re.findall(r"^  - .+: (\w+\.md)$", (ROOT / config).read_text(encoding="utf-8"), re.MULTILINE)
        assert sorted(listed) == sorted(path.name for path in (ROOT / "docs" / language).glob("*.md"))


def test_chinese_pages_are_in_chinese() -> None:
    for path in [ROOT / "README.zh-CN.md", *(ROOT / "docs" / "zh").glob("*.md")]:
        prose = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        n_chinese = len(re.findall(r"[\u4e00-\u9fff]", prose))
        assert n_chinese > len(re.findall(r"[A-Za-z]+", prose)), name_of(path)


def test_chinese_paragraphs_are_one_line_each() -> None:
    """A browser shows the end of a line as a space, which Chinese text has none of."""
    broken = re.compile(
        r"^(?![#|`<$]|--8<--|\s*$).*[\u3000-\u9fff\uff00-\uffef]\n *(?![-*|#<$]|```|\d+\. )\S.*", re.MULTILINE
    )
    for path in [ROOT / "README.zh-CN.md", *(ROOT / "docs" / "zh").glob("*.md")]:
        prose = re.sub(r"^```.*?^```", "```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        assert broken.findall(prose) == [], name_of(path)


def test_every_link_between_files_leads_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{name_of(path)}: {target}"


def test_the_five_files_to_read_first_exist() -> None:
    for name in ("README.md", "README.zh-CN.md"):
        found = re.findall(r"^\d\. `(.+?)`", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert len(found) == 5
        assert all((ROOT / path).is_file() for path in found)


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_scores_of_the_readme_are_those_of_the_result_files(page: str) -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.*) \|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 7
    for name, cells in rows:
        path = sorted((ROOT / "benchmarks" / "results").glob(f"scores-*-{name}.json"))[-1]
        result = json.loads(path.read_text(encoding="utf-8"))
        scores = {score["name"]: score for score in reversed(result["tests"][0]["scores"])}  # the cased ones come first
        bleu = scores["BLEU"]
        expected = [bleu["value"], bleu["low"], bleu["high"], scores["chrF2"]["value"], scores["TER"]["value"]]
        *shown, minutes = map(float, re.findall(r"\d+(?:\.\d+)?", cells)[:6])
        assert shown == pytest.approx(expected, abs=0.0501), name
        assert minutes == pytest.approx(result["minutes"], abs=0.5), name
        assert cells.endswith(result["date"]), name


def test_generated_pages_and_trees_are_current(generator: ModuleType) -> None:
    for path, text in generator.generated().items():
        assert generator.is_current(path, text), f"{name_of(path)} is not current; run `make docs`"


def test_every_setting_and_file_has_its_chinese_line(generator: ModuleType) -> None:
    assert generator.untranslated() == set(), "add these to docs/chinese.toml"
    assert generator.stale() == set(), "remove these from docs/chinese.toml"


@pytest.mark.parametrize("config", ["mkdocs.yml", "mkdocs.zh.yml"])
def test_the_manual_builds_and_fetches_nothing_from_elsewhere(config: str, tmp_path: Path) -> None:
    assert "--quiet" not in (ROOT / "Makefile").read_text(encoding="utf-8")  # with it --strict lets everything pass
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        timeout=120,
    )
    pages = list(tmp_path.rglob("index.html"))
    assert len(pages) == len(list((ROOT / "docs" / "en").glob("*.md")))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(?:https?:)?//[^\s>]+", text) == []
        assert re.findall(r"<link[^>]+rel=\"?(?:stylesheet|preconnect)\"?[^>]+href=\"?(?:https?:)?//[^>]+", text) == []


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "src").rglob("*.py")) if re.search(r">>> (?!.*\+SKIP)", path.read_text("utf-8"))],
    ids=name_of,
)
def test_examples_in_docstrings_give_what_they_show(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    assert doctest.testmod(module).failed == 0
