"""The shape of the house: who may import whom, what is public, what must never appear, how large it may grow."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from yiwen.encoder import Encoder
from yiwen.errors import Stopped
from yiwen.stop import StopFlag
from yiwen.translator import Translator

SRC = Path(__file__).parents[2] / "src" / "yiwen"
MODULES = sorted(SRC.rglob("*.py"))
PACKAGES = sorted(path for path in SRC.rglob("__init__.py"))

ORDER = [
    {"errors"},
    {"stop"},
    {"files", "once"},
    {"config"},
    {"text"},
    {"data"},
    {"model"},
    {"search"},
    {"tasks"},
    {"bundle"},
    {"measured"},
    {"hardware"},
    {"engines"},
    {"analysis", "evaluation"},
    {"training"},
    {"export"},
    {"recipe"},
    {"plan", "preparing"},
    {"asking", "translation"},
    {"runs", "translator"},
    {"evaluations"},
    {"measure"},
    {"encoder"},
    {"synthetic"},
    {"documents"},
    {"newrecipe", "sweep", "tour"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
"""A module may import what stands before it; of those on one line neither imports the other."""

EXTRAS = ["torch", "safetensors", "pyarrow", "sacrebleu", "tensorboard", "lxml", "starlette", "uvicorn"]
"""What the extras `train` and `serve` bring."""

CORE = [
    "yiwen",
    "yiwen.errors",
    "yiwen.stop",
    "yiwen.files",
    "yiwen.config",
    "yiwen.text.normalise",
    "yiwen.text.clean",
    "yiwen.text.languages",
    "yiwen.text.subword",
    "yiwen.data.corpus",
    "yiwen.model",
    "yiwen.model.config",
    "yiwen.search.config",
    "yiwen.search.hypothesis",
    "yiwen.search.mbr",
    "yiwen.search.penalties",
    "yiwen.engines.engine",
    "yiwen.bundle",
    "yiwen.analysis.attention",
    "yiwen.evaluation",
    "yiwen.recipe",
    "yiwen.translator",
    "yiwen.documents",
    "yiwen.documents.child",
    "yiwen.cli.main",
]
"""What has to be importable where only the core dependencies are installed."""


def name_of(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def level_of(part: str) -> int:
    found = [level for level, parts in enumerate(ORDER) if part in parts]
    assert found, f"yiwen.{part} has no place in the import order; give it one in DESIGN and in ORDER"
    return found[0]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, inside functions too; `from yiwen.a import b` may name a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: relative import; write it in full"
            assert node.module is not None
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def own_part(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def wrong_imports(path: Path) -> Iterator[str]:
    own = own_part(path)
    for line, name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "yiwen" or parts[1:2] in ([], ["__version__"], [own]):
            continue
        if level_of(parts[1]) >= level_of(own):
            yield f"{name_of(path)}:{line}: {own} must not import {name}"


@pytest.mark.parametrize("path", [path for path in MODULES if path != SRC / "__init__.py"], ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    assert list(wrong_imports(path)) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_manual_shows_the_order_that_holds(language: str) -> None:
    page = (SRC.parents[1] / "docs" / language / "architecture.md").read_text(encoding="utf-8")
    shown = page.split("```text\n")[1].split("```")[0]
    assert [set(names.split(", ")) for names in " ".join(shown.split()).split(" <- ")] == ORDER[:-1]  # __main__ is last


def test_an_import_that_points_the_wrong_way_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SRC", tmp_path)
    (tmp_path / "search").mkdir()
    wrong = tmp_path / "search" / "beam.py"
    wrong.write_text("from yiwen.model import cache\ndef f():\n    from yiwen import training\n", encoding="utf-8")
    assert list(wrong_imports(wrong)) == ["search/beam.py:3: search must not import yiwen.training"]


def test_search_knows_no_model_and_the_core_no_command() -> None:
    for path in MODULES:
        for line, name in imports_of(path):
            if own_part(path) == "search":
                assert not name.startswith("yiwen.model"), f"{name_of(path)}:{line}"
            if own_part(path) not in ("cli", "config", "serve"):
                assert name.split(".")[0] not in ("typer", "pydantic"), f"{name_of(path)}:{line}"


def public_names(path: Path) -> tuple[list[str], set[str], set[str]]:
    """`__all__`, the names imported from yiwen, and those defined, in a package's `__init__`."""
    listed: list[str] = []
    imported: set[str] = set()
    defined: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("yiwen"):
            imported |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined.add(node.targets[0].id)
            if node.targets[0].id == "__all__":
                listed = ast.literal_eval(node.value)
    return listed, imported, defined


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_all_is_sorted_and_agrees_with_the_package(path: Path) -> None:
    listed, imported, defined = public_names(path)
    # Constants, classes, functions: the order that ruff keeps too.
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert {name for name in imported if not name.startswith("_")} == set(listed) - defined
    module = import_module(".".join(["yiwen", *path.relative_to(SRC).parts[:-1]]))
    for name in listed:
        assert getattr(module, name) is not None, f"{module.__name__}.{name}"


@pytest.mark.parametrize("package", ["yiwen", "yiwen.model"])
def test_unknown_public_names_are_attribute_errors(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        import_module(package).nonsense  # noqa: B018


def mypy(folder: Path, *modules: str) -> str:
    """What it says of the program in a folder that uses the names of `yiwen` and of these modules."""
    pytest.importorskip("mypy")
    options = ("--config-file=", "--follow-imports=skip", f"--cache-dir={folder}")
    sources = [str(SRC / name) for name in ("__init__.py", *modules)]
    command = [sys.executable, "-m", "mypy", *options, *sources, "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120).stdout


def test_type_checkers_are_told_of_a_misspelt_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from yiwen import Translater, Translator\n", encoding="utf-8")
    assert re.findall('Module "yiwen" has no attribute "[^"]*"', mypy(tmp_path)) == [
        'Module "yiwen" has no attribute "Translater"'
    ]


def untyped_attributes(cls: type) -> list[str]:
    """Public ones that `__init__` computes and gives no type: what a checker guesses may be another one."""
    (init,) = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__))).body  # type: ignore[misc]
    return [
        node.targets[0].attr
        for node in ast.walk(init)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
        if not isinstance(node.value, ast.Name) and not node.targets[0].attr.startswith("_")
    ]


@pytest.mark.parametrize("cls", [Translator, Encoder, StopFlag, Stopped])
def test_type_checkers_are_told_what_a_public_object_holds(cls: type) -> None:
    assert untyped_attributes(cls) == []


def test_what_is_expected_of_an_argument_keeps_its_type(tmp_path: Path) -> None:
    program = "from yiwen.errors import expect\nreveal_type(expect(3, int, 'n', 'a number'))\n"
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    assert 'Revealed type is "int"' in mypy(tmp_path, "errors.py")


BLOCK = """
import sys
from importlib import import_module

asked = []

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {extras}:
            asked.append(name)
            raise ModuleNotFoundError(f"blocked: {{name}}", name=name)

sys.meta_path.insert(0, Block())
for name in {modules}:
    import_module(name)
    assert not asked, f"{{name}} does without {{asked}}, and loads it where it is there"
"""


def test_the_core_is_importable_without_extras() -> None:
    program = BLOCK.format(extras=EXTRAS, modules=CORE)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr


def dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def dangers(tree: ast.AST) -> Iterator[str]:
    """What could run code from a file, or split text where no line ends."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found = {name.split(".")[0] for name in names} & {"pickle", "marshal", "shelve", "dill", "joblib", "yaml"}
            yield from (f"line {node.lineno}: imports {name}" for name in found)
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in ("eval", "exec", "torch.load", "torch.save"):
                yield f"line {node.lineno}: calls {name}"
            if isinstance(node.func, ast.Attribute) and node.func.attr == "splitlines":
                yield f"line {node.lineno}: calls splitlines, which splits at U+2028 and ten others too"
            if any(keyword.arg in ("allow_pickle", "shell") for keyword in node.keywords):
                yield f"line {node.lineno}: allow_pickle or shell"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_that_is_loaded_can_run_code_and_lines_end_at_newlines_only(path: Path) -> None:
    assert list(dangers(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_dangers_are_found() -> None:
    code = (
        "import pickle\nfrom yaml import load\ntorch.load(f)\n'a'.splitlines()\neval('1')\nnp.load(f, allow_pickle=1)"
    )
    assert len(list(dangers(ast.parse(code)))) == 6
    assert list(dangers(ast.parse("model.eval()\nimport json\njson.load(f)"))) == []


def test_no_page_writes_inner_html() -> None:
    for path in SRC.rglob("*"):
        if path.suffix in (".js", ".html", ".py"):
            assert "innerHTML" not in path.read_text(encoding="utf-8"), name_of(path)


def test_no_repeated_group_is_possessive() -> None:
    """Python 3.11.0 to 3.11.2, which Debian 12 has, go on inside of what such a group began in vain (gh-101955)."""
    found = [name_of(path) for path in MODULES if re.search(r"\)([*+?]|\{[\d,{}]+\})\+", path.read_text("utf-8"))]
    assert found == []  # write (?>(?:...)*)


def code_lines(path: Path) -> int:
    """Lines that hold code: no blanks, comments or docstrings (those under fields included)."""
    text = path.read_text(encoding="utf-8")
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = text.split("\n")
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in skipped
        for number, line in enumerate(lines, start=1)
    )


def test_the_house_stays_small() -> None:
    sizes = {path: code_lines(path) for path in MODULES}
    heart = sum(size for path, size in sizes.items() if own_part(path) in ("model", "search", "training", "tasks"))
    assert heart <= 3_500
    assert sum(sizes.values()) <= 18_790


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_one_concept_of_at_most_350_lines_and_says_which(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 350
    assert ast.get_docstring(ast.parse(text)) or not text.strip(), "say in the first docstring what this file is for"


def test_every_test_file_has_a_name_of_its_own() -> None:
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted(names) == sorted(set(names)), "pytest imports test files by their bare names"
