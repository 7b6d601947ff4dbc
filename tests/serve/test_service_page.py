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
    return re.findall(r"```bash\n(.*?)```", page, re.DOTALL)


LINES = [line for block in blocks("en") for line in block.strip().split("\n")]
CALLS = [line for line in LINES if line.startswith("curl ")]


def test_both_languages_print_the_same_commands() -> None:
    assert blocks("en") == blocks("zh")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("line", CALLS)
def test_a_call_is_answered(line: str, address: str) -> None:
    words = shlex.split(line.replace("http://127.0.0.1:8080", address))
    done = subprocess.run([*words, "--silent", "--fail-with-body"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout


def test_keys_are_made_as_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [shlex.split(line)[1:] for line in LINES if line.startswith("yiwen keys ")]
    assert len(keys) == 2
    for words in keys:
        assert main([*words, "--database", f"sqlite:///{tmp_path}/keys.sqlite"]) == 0
    assert "alice" in capsys.readouterr().out


def test_the_model_is_packed_as_printed(exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = (line for line in LINES if line.startswith("yiwen package "))
    words = [str(exported_bundle) if word.startswith("runs/") else word for word in shlex.split(line)[1:]]
    assert main(words) == 0
    assert Path("en-de.argosmodel").stat().st_size > 1000


def test_the_limits_are_those_of_the_code() -> None:
    page = (DOCS / "en" / "service.md").read_text(encoding="utf-8")
    table = page[page.index("| Setting ") : page.index("Logs are JSON")]
    config = ServeConfig()
    for name in re.findall(r"`(\w+)`", re.sub(r"\|[^|]*\|\n", "|\n", table)):
        assert hasattr(config, name), name
    assert "5,000, 50, 20,000" in table
    assert (config.max_text_chars, config.max_texts, config.max_request_chars) == (5_000, 50, 20_000)
    assert (config.queue_requests, config.queue_tokens, config.requests_per_minute) == (64, 32_768, 120)
    options = {name for option in get_command(app).commands["serve"].params for name in option.opts}  # type: ignore[attr-defined]
    assert {"--require-key", "--insecure", "--set"} <= options
