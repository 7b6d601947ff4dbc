"""The manual's page on the service: its calls are answered as they are printed, both languages print the same."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from yiwen.cli.main import app, main
from yiwen.serve.config import ServeConfig

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str) -> list[str]:
    page = (DOCS / language / "service.md").read_text(encoding="utf-8")
    return re.findall(r"```\w+\n(.*?)```", page, re.DOTALL)


LINES = [line for block in blocks("en") for line in re.sub(r"\\\n\s*", "", block).strip().split("\n")]
CALLS = [line for line in LINES if line.startswith("curl ")]
READMES = [(DOCS.parent / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md")]
README = [line for text in READMES for line in re.findall("`(curl .*?)`", text)]


def test_both_languages_print_the_same_commands() -> None:
    assert blocks("en") == blocks("zh")
    assert len(README) == 2
    assert README[0] == README[1]


def test_deepls_client_is_answered_as_printed(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = (block for block in blocks("en") if block.startswith("import deepl"))
    exec(program.replace("http://127.0.0.1:8080", address), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("line", [*CALLS, *README[:1]])
def test_a_call_is_answered(line: str, address: str) -> None:
    words = shlex.split(line.replace("http://127.0.0.1:8080", address).replace('"zh"', '"de"'))
    done = subprocess.run([*words, "--fail-with-body"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout


def test_keys_are_made_and_revoked_as_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [shlex.split(line)[1:] for line in LINES if line.startswith("yiwen keys ")]
    assert [words[1] for words in keys] == ["create", "list", "revoke"]
    database = ["--database", f"sqlite:///{tmp_path}/keys.sqlite"]
    for words in keys[:2]:
        assert main([*words, *database]) == 0
    shown = capsys.readouterr().out
    assert "newsroom" in shown
    known = next(word for word in shown.split() if re.fullmatch(r"[0-9a-f]{8}", word))
    assert main(["keys", "revoke", known, *database]) == 0


def test_the_limits_are_those_of_the_code() -> None:
    config = ServeConfig()
    for language in ("en", "zh"):
        page = (DOCS / language / "service.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", page, re.MULTILINE)
        assert len(rows) > 15
        for name, default in rows:
            value = getattr(config, name)
            assert str([] if value == () else value) == default, name
    options = {name for option in get_command(app).commands["serve"].params for name in option.opts}  # type: ignore[attr-defined]
    assert {"--require-key", "--insecure", "--set"} <= options
