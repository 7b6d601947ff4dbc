"""The page's JavaScript holds the types that its comments state."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[2]
TYPESCRIPT = "typescript@7.0.2"


def type_check(config: Path) -> subprocess.CompletedProcess[str]:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: the type check needs one to fetch TypeScript")
    command = [npm, "exec", "--yes", "--package", TYPESCRIPT, "--", "tsc", "-p", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=config.parent, timeout=200)
    if result.returncode and "error TS" not in result.stdout:
        pytest.skip(f"npm has no {TYPESCRIPT} here: {result.stderr[-200:]}")
    return result


def test_every_type_holds() -> None:
    result = type_check(ROOT / "tests" / "web" / "tsconfig.json")
    assert result.returncode == 0, result.stdout


def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "yiwen" / "serve" / "page", tmp_path / "src" / "yiwen" / "serve" / "page")
    config = tmp_path / "tests" / "web" / "tsconfig.json"
    config.parent.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "web" / "tsconfig.json", config)
    wrong = tmp_path / "src" / "yiwen" / "serve" / "page" / "wrong.js"
    wrong.write_text('import { cut } from "./pieces.js";\ncut("text", []);\n', encoding="utf-8")
    result = type_check(config)
    assert result.returncode != 0
    assert "wrong.js(2," in result.stdout
