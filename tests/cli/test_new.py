"""`yiwen new`: from a file to a recipe, and what to type next."""

from __future__ import annotations

from pathlib import Path

import pytest

from yiwen.cli.main import main
from yiwen.recipe import load_recipe


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("my text.tsv").write_text("".join(f"Line {n}.\t第{n}行。\n" for n in range(200)), encoding="utf-8")
    return "my text.tsv"


def test_a_recipe_is_written_and_the_next_commands_are_named(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", corpus, "--from", "en", "--to", "zh"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("200 pairs, such as\n  Line 0.\n  第0行。\n")
    assert "\n  yiwen train 'my text.toml'\n" in out
    assert load_recipe("my text.toml").name == "my text"


def test_what_is_suggested_works(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", corpus, "--from", "en", "--to", "zh", "--output", "mine.toml"]) == 0
    assert main(["prepare", "./mine.toml"]) == 0
    assert main(["config", "./mine.toml"]) == 0
    assert "read 200 pairs" in capsys.readouterr().out


def test_one_column_alone_is_refused(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", corpus, "--from", "en", "--to", "zh", "--src-column", "1"]) == 2
    assert "give both --src-column and --tgt-column, or neither" in capsys.readouterr().err


def test_columns_are_passed_on(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", corpus, "--from", "zh", "--to", "en", "--src-column", "2", "--tgt-column", "1"]) == 0
    assert "  第0行。\n  Line 0.\n" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "code"), [(["--to", "zh"], 2), (["--from", "zh", "--to", "en"], 3)])
def test_errors_have_their_exit_codes(corpus: str, arguments: list[str], code: int) -> None:
    assert main(["new", corpus, *arguments]) == code
    assert not list(Path().glob("*.toml"))
