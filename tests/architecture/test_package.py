"""What is published is whole: a wheel built from the sdist installs and runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from yiwen import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel built from it, without the network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def in_the_package(pattern: str) -> set[str]:
    return {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "yiwen").rglob(pattern)}


def test_the_wheel_holds_all_modules_all_recipes_and_the_type_marker(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    recipes = in_the_package("recipes/*.toml")
    assert recipes
    page = in_the_package("serve/page/*")
    assert {f"yiwen/serve/page/{name}" for name in ("index.html", "main.js", "style.css", "icon.svg")} <= page <= names
    assert in_the_package("*.py") | recipes | {"yiwen/py.typed"} <= names
    assert f"yiwen-{__version__}.dist-info/licenses/LICENSE" in names
    assert all(name.startswith(("yiwen/", "yiwen-")) for name in names)


def test_the_sdist_holds_what_the_tests_and_the_manual_need(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    wanted = {"pyproject.toml", "Makefile", "constraints.txt", "LICENSE", "README.md", "README.zh-CN.md", "mkdocs.yml"}
    wanted |= {"tests/architecture/test_package.py", "docs/en/index.md", "docs/zh/index.md", "docs/generate.py"}
    assert wanted | {f"src/{name}" for name in in_the_package("*.py")} <= names
    assert not [name for name in names if name.startswith((".venv", "runs/", "site/")) or "__pycache__" in name]


def test_the_wheel_installs_and_its_command_runs(dist: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "--disable-pip-version-check"]
    wheel = next(dist.glob("*.whl"))
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, timeout=60)
    # The dependencies come from the environment of the tests, where yiwen itself is only a link to the sources.
    paths = {**os.environ, "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    for arguments, expected in (
        ([scripts / "yiwen", "--version"], f"yiwen {__version__}\n"),
        ([scripts / "python", "-c", "import yiwen; print(yiwen.__file__)"], str(environment)),
        ([scripts / "python", "-c", "from yiwen.recipe import builtin_names as b; print(b())"], "multi30k-en-de"),
    ):
        result = subprocess.run(arguments, capture_output=True, text=True, env=paths, cwd=tmp_path, timeout=60)
        assert result.returncode == 0, result.stderr
        assert expected in result.stdout
