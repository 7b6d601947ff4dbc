"""`yiwen score`: one number a line, the likelier the higher."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Asked, Commands

from tiny_model import TinyRun
from yiwen.stop import StopFlag
from yiwen.translator import Translator


def test_each_pair_gets_its_log_probability_a_subword(run: Commands, tiny_run: TinyRun) -> None:
    src, ref = (tiny_run.recipe.parent / name for name in ("test.en", "test.de"))
    done = run("score", tiny_run.best, src, ref, "--threads", 1)
    assert (done.code, done.err) == (0, "")
    sides = [path.read_text("utf-8").split("\n")[:-1] for path in (src, ref)]
    expected = Translator.load(tiny_run.best, threads=1).score(*sides)
    assert [float(line) for line in done.lines] == pytest.approx([s.per_token for s in expected], abs=1e-5)


def test_sides_of_unequal_length_exit_3_and_name_the_shorter(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    (tmp_path / "short.de").write_text("Reta.\n", encoding="utf-8")
    done = run("score", tiny_run.best, tiny_run.recipe.parent / "test.en", tmp_path / "short.de", "--threads", 1)
    assert done.code == 3
    assert "short.de ends after 1 lines, the other side goes on" in done.err


def test_text_that_is_no_utf_8_exits_3(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("Deti.\n", encoding="utf-8")
    (tmp_path / "a.de").write_bytes(b"sch\xf6n\n")
    done = run("score", tiny_run.best, tmp_path / "a.en", tmp_path / "a.de", "--threads", 1)
    assert done.code == 3
    assert "line 1 is not UTF-8" in done.err


def test_pairs_that_are_too_long_are_named_and_the_others_are_scored(
    run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    sides = ["Deti.", "deti " * 200, "Bapu.", "Deti."], ["Reta.", "Reta.", "Reta.", "reta " * 200]
    for name, texts in zip(("a.en", "a.de"), sides, strict=True):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    done = run("score", tiny_run.best, tmp_path / "a.en", tmp_path / "a.de", "--threads", 1)
    assert done.code == 3
    assert "2 of 4 lines score nan" in done.err
    assert "the 95 that the model has positions for; shorten or drop lines 2, 4\n" in done.err
    assert (done.lines[1], done.lines[3]) == ("nan", "nan")
    expected = Translator.load(tiny_run.best, threads=1).score(["Deti.", "Bapu."], ["Reta.", "Reta."])
    assert [float(line) for line in done.lines[::2]] == pytest.approx([s.per_token for s in expected], abs=1e-5)


@pytest.mark.parametrize(("n", "end"), [(30, "29, 30\n"), (31, "29, 30 and 1 more\n")])
def test_of_very_many_that_are_too_long_the_first_are_named(
    n: int, end: str, run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    (tmp_path / "a.en").write_text(("deti " * 200 + "\n") * n, encoding="utf-8")
    (tmp_path / "a.de").write_text("Reta.\n" * n, encoding="utf-8")
    done = run("score", tiny_run.best, tmp_path / "a.en", tmp_path / "a.de", "--threads", 1)
    assert (done.code, done.err.endswith(end)) == (3, True)


def test_all_that_is_asked_is_handed_on_and_told(
    run: Commands, exported_bundle: Path, asked_of: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_of("yiwen.translator.Translator.score_pairs")
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda *device: {"int8"})
    (tmp_path / "a").write_text("Deti.\n", encoding="utf-8")
    options = "--engine torch --device cpu --dtype bf16 --threads 3"
    done = run("score", exported_bundle, tmp_path / "a", tmp_path / "a", *options.split(" "))
    assert done.err.startswith(f"note: the exported engine of {exported_bundle} computes in float32, which ")
    assert done.err.endswith("\nerror: enough\n")
    how, given = asked
    assert how == {"engine": "torch", "device": "cpu", "dtype": "bf16", "threads": 3}
    assert type(given["stop"]) is StopFlag


def test_missing_text_exits_3_and_a_missing_model_4(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    text = tiny_run.recipe.parent / "test.en"
    assert run("score", tiny_run.best, text, tmp_path / "none").code == 3
    assert run("score", tmp_path / "none", text, text).code == 4
    assert run("score", tiny_run.best, text).code == 2
