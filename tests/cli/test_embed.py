"""`yiwen embed` and `yiwen tag`: a vector, or a line of tags, for each line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tiny_model import TinyRun
from toy_labels import MAX_TOKENS
from yiwen.cli.main import main
from yiwen.encoder import Encoder

LINES = ["ba be", "", "ka \u2028 du"]


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return str(path)


def test_each_line_becomes_a_vector_in_a_file(tiny_run: TinyRun, text: str, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    options = ["--layer", "0", "--pooling", "max", "--normalised", "--threads", "1"]
    assert main(["embed", str(tiny_run.best), "--input", text, "--output", str(out), *options]) == 0
    wanted = Encoder.load(tiny_run.best).features(LINES, layer=0, pooling="max", normalised=True)
    assert np.allclose(np.load(out), wanted, atol=1e-5)


@pytest.mark.parametrize("output", [[], ["--output", "-"]])
def test_without_a_file_vectors_are_lines_of_json(
    tiny_embedder: Path, text: str, output: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", str(tiny_embedder), "--input", text, *output]) == 0
    rows = [json.loads(line)["vector"] for line in capfd.readouterr().out.rstrip("\n").split("\n")]
    assert np.allclose(rows, Encoder.load(tiny_embedder).features(LINES), atol=1e-5)


def test_of_no_lines_a_table_without_rows_is_written(tiny_embedder: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").touch()
    options = ["--input", str(tmp_path / "none.txt"), "--output", str(tmp_path / "out.npy")]
    assert main(["embed", str(tiny_embedder), *options]) == 0
    assert np.load(tmp_path / "out.npy").shape == Encoder.load(tiny_embedder).features([]).shape


@pytest.mark.parametrize(
    ("command", "told"),
    [("classify", "1 empty, 2 segmented"), ("embed", "1 empty, 2 segmented"), ("tag", "1 cut, 2 segmented")],
)
def test_lines_that_are_read_in_pieces_are_counted(
    tiny_classifier: Path,
    tiny_tagger: Path,
    tmp_path: Path,
    command: str,
    told: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    long, word = " ".join(["ba"] * 5 * MAX_TOKENS), "未" * MAX_TOKENS
    (tmp_path / "in.txt").write_text(f"ba be\n{long}\n\n{word} ba\n", encoding="utf-8")
    model = str(tiny_tagger if command == "tag" else tiny_classifier)
    assert main([command, model, "--input", str(tmp_path / "in.txt"), "--threads", "1"]) == 0
    found = capfd.readouterr()
    assert (found.err, found.out.count("\n")) == (f"flagged lines: {told}\n", 4)


@pytest.mark.parametrize("command", ["classify", "tag", "embed"])
def test_what_is_no_utf8_is_told_of_and_no_threads_are_refused(
    tiny_classifier: Path, tiny_tagger: Path, tmp_path: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_bytes(b"ba\n\xff be\n" + "\ufffd\n".encode())
    model = str(tiny_tagger if command == "tag" else tiny_classifier)
    assert main([command, model, "--input", str(tmp_path / "in.txt")]) == 0
    assert capfd.readouterr().err == "flagged lines: 1 invalid_utf8\n"
    assert main([command, model, "--threads", "-1"]) == 2
    assert "threads=-1; use 1 to 512, or 0 for all cores" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "9"], "layer=9: the encoder has the layers 0"),
        (["--pooling", "sum"], "pooling='sum' is not to be had"),
        (["--output", "x.txt"], "--output x.txt has none of the suffixes .npy"),
    ],
)
def test_what_is_not_to_be_had_is_refused_before_anything_is_read(
    tiny_embedder: Path, options: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", str(tiny_embedder), *options]) == 2
    assert message in capfd.readouterr().err


def test_a_line_of_words_gives_a_line_of_tags(tiny_tagger: Path, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["tag", str(tiny_tagger), "--input", text]) == 0
    found = [line.split() for line in capfd.readouterr().out.split("\n")[:-1]]
    assert [len(tags) for tags in found] == [2, 0, 2]
    assert found[0] == ["O", "O"]
    assert main(["tag", str(tiny_tagger.parent / "nothing")]) == 4
