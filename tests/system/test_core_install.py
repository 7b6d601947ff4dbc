"""The core install: no torch, small, and enough to translate with an exported bundle."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_model import TinyRun, exported
from yiwen.translator import Translator

ROOT = Path(__file__).parents[2]
LARGEST_MB = 400
LINES = ["Deti gedi bapu.", "", "Kabe robu."]

SCRIPT = """
import sys
from importlib.util import find_spec
from yiwen import Translator
assert not [name for name in ("torch", "safetensors", "pyarrow", "sacrebleu") if find_spec(name)]
for translation in Translator.load(sys.argv[1], threads=1).translate(sys.argv[2:]):
    print(translation)
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with yiwen and its core dependencies, nothing else."""
    environment = tmp_path_factory.mktemp("core") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--retries", "1"]
    command = [*pip, "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if done.returncode and re.search("No matching distribution|Failed to establish|timed out", done.stderr):
        pytest.skip(f"pip reaches no package index here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return environment


def run(environment: Path, *arguments: str | Path, stdin: str = "") -> str:
    """stdout of a program of the environment, which sees nothing of this one."""
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "YIWEN"))}
    command = [str(folder / arguments[0]), *map(str, arguments[1:])]
    done = subprocess.run(
        command, input=stdin, capture_output=True, encoding="utf-8", env=plain, cwd=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert not re.sub("^flagged lines: .*\n", "", done.stderr), done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_core_install_is_small_and_translates_without_torch(core: Path, tiny_run: TinyRun, tmp_path: Path) -> None:
    bundle = exported(tiny_run.best, tmp_path / "bundle", dtype="int8", has_weights=False)
    expected = [str(translation) for translation in Translator.load(bundle, threads=1).translate(LINES)]
    assert run(core, "python", "-c", SCRIPT, bundle, *LINES).split("\n")[:-1] == expected
    text = "".join(f"{line}\n" for line in LINES)
    assert run(core, "yiwen", "translate", bundle, "--threads", "1", stdin=text).split("\n")[:-1] == expected
    size_mb = sum(path.lstat().st_size for path in core.rglob("*")) / 1e6
    print(f"core install: {size_mb:.0f} MB")
    assert size_mb < LARGEST_MB
