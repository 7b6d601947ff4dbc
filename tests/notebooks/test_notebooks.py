"""The notebooks: two languages, one code; they run, and they show the project's source instead of copying it."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jupytext") is None, reason="needs yiwen[notebooks]")
ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.py"))


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_notebooks", ROOT / "notebooks" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lessons_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:2]) for path in LESSONS] == list(range(1, len(LESSONS) + 1))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_both_languages_have_the_same_code_and_a_text_for_each_text(path: Path, build: ModuleType) -> None:
    lesson = build.read(path)
    english, chinese = (build.in_language(lesson, language) for language in build.LANGUAGES)
    code = [cell.source for cell in english.cells if cell.cell_type == "code"]
    assert code == [cell.source for cell in chinese.cells if cell.cell_type == "code"]
    assert [cell.cell_type for cell in english.cells] == [cell.cell_type for cell in chinese.cells]
    assert len(code) >= 4
    for en, zh in zip(english.cells, chinese.cells, strict=True):
        if en.cell_type == "markdown":
            assert any("\u4e00" <= character <= "\u9fff" for character in zh.source), zh.source
            assert not any("\u4e00" <= character <= "\u9fff" for character in en.source), en.source
            headings = [text.source.count("# ") for text in (en, zh)]
            assert headings[0] == headings[1], en.source


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_imports_what_it_teaches(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert any(module.startswith("yiwen") for module in imported)
    known = {"softmax", "attention", "plain_attention", "sinusoids", "beam_search", "causal_mask", "split_heads"}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert not defined & known, "show yiwen's own source instead"


def test_a_text_without_language_is_refused(tmp_path: Path, build: ModuleType) -> None:
    path = tmp_path / "01_x.py"
    path.write_text("# %% [markdown]\n# Hello\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r'01_x\.py, cell 1: text needs lang="en" or lang="zh", code needs none'):
        build.read(path)


def test_the_manual_lists_every_lesson() -> None:
    for language in ("en", "zh"):
        page = (ROOT / "docs" / language / "notebooks.md").read_text(encoding="utf-8")
        for path in LESSONS:
            assert f"`{path.name}`" in page, path.name


def test_a_built_lesson_finds_what_it_imports_in_its_own_folder(
    tmp_path: Path, build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["build.py", "01", "--output", str(tmp_path)])
    assert build.main() == 0
    for language in build.LANGUAGES:
        code = "import lesson; print(lesson.BUILT, callable(lesson.show))"
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / language, capture_output=True, text=True)
        assert ran.stdout.strip() == f"{tmp_path} True", ran.stderr


def test_what_a_reader_wrote_into_a_notebook_is_kept(
    tmp_path: Path, build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["build.py", "01", "--output", str(tmp_path)])
    assert build.main() == 0
    target = tmp_path / "zh" / "01_positions.ipynb"
    built = target.read_text(encoding="utf-8")
    for answer in ("my answer", "my second answer"):
        target.write_text(answer, encoding="utf-8")
        assert build.main() == 0
        assert target.read_text(encoding="utf-8") == answer
        os.utime(target, (0, 0))  # as if the script had been changed since
        assert build.main() == 0
        assert target.read_text(encoding="utf-8") == built
    assert target.with_name("01_positions.old.ipynb").read_text(encoding="utf-8") == "my answer"
    assert target.with_name("01_positions.2.old.ipynb").read_text(encoding="utf-8") == "my second answer"


@pytest.mark.notebooks
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, build: ModuleType) -> None:
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    lesson = build.read(path)
    build.run(lesson)
    build.write(path, lesson, tmp_path)
    for language in build.LANGUAGES:
        assert (tmp_path / language / f"{path.stem}.ipynb").stat().st_size > 1000
