"""Shell lines of the manual that no test can run here (make, pip, docker, conda, benchmarks) name what there is.

Lines of `yiwen` itself are run, by `tests/cli`.
"""

from __future__ import annotations

import itertools
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
OTHERS = {"curl", "cat", "cd", "export", "git", "sudo", "yiwen"}
"""What is run by tests of its own, or is no word of ours."""


def shell_lines() -> Iterator[tuple[str, list[str]]]:
    """Page and words of each line in a block of shell, comments left out, lines that go on joined."""
    for page in PAGES:
        for block in re.findall(r"```(?:bash|sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            for line in block.replace("\\\n", " ").split("\n"):
                try:
                    words = shlex.split(line, comments=True)
                except ValueError:  # a quotation over several lines, of a request's JSON
                    continue
                while words and re.fullmatch(r"\w+=.*", words[0]):
                    del words[0]
                if words:
                    yield f"{page.parent.name}/{page.name}", words


LINES = list(shell_lines())


def words_of(program: str) -> list[tuple[str, list[str]]]:
    found = [(page, words) for page, words in LINES if words[0] == program]
    assert found, f"no page says {program} any more: take its test out"
    return found


def is_extras(text: str, known: set[str]) -> bool:
    asked = re.findall(r"\[([\w,]+)\]", text)
    return all(extra in known for group in asked for extra in group.split(","))


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for page, (_, *words) in words_of("make"):
        assert {word for word in words if "=" not in word} <= targets, page


def test_extras_that_pip_is_asked_for_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = set(project["optional-dependencies"])
    for page, (_, command, *words) in words_of("pip"):
        assert command in ("install", "download"), page
        ours = [word for word in words if word.startswith(("yiwen", ".[", "./"))]
        assert all(is_extras(word, known) for word in ours), page
        for option, value in itertools.pairwise(words):
            assert option != "--constraint" or (ROOT / value).is_file(), page


def test_files_and_services_that_docker_and_conda_are_given_exist() -> None:
    services = set(yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"])
    for page, words in [*words_of("docker"), *words_of("conda")]:
        for option, value in itertools.pairwise(words):
            assert option != "-f" or (ROOT / value).is_file(), page
        if words[1] == "compose":
            rest = words[words.index(next(word for word in words if word in ("run", "up", "exec"))) + 1 :]
            assert {word for word in rest if not word.startswith("-")} <= services, page


@pytest.mark.parametrize("script", sorted({words[1] for _, words in LINES if words[0] == "python"}))
def test_options_that_scripts_are_given_exist(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend((ROOT / script).parent)
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(str(ROOT / script), run_name="__main__")
    known = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.M))  # the description names some too
    for page, words in words_of("python"):
        if words[1] == script:
            assert {word for word in words[2:] if word.startswith("--")} <= known, page


def test_no_other_program_is_named() -> None:
    known = OTHERS | {"make", "pip", "docker", "conda", "python"}
    assert {words[0] for _, words in LINES} <= known


def test_every_page_with_code_has_a_test_that_runs_it() -> None:
    tests = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)
    )
    for page in sorted((ROOT / "docs" / "en").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if re.search(r"^(yiwen |```python\n)", text, re.M) and page.name not in ("paper.md", "benchmarks.md"):
            assert f'"{page.name}"' in tests or f"en/{page.name}" in tests, page.name
