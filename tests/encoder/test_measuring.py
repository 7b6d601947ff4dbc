"""`yiwen evaluate` of encoders: the scores are those of their own answers, and a page shows them."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tiny_model import signed, tampered
from yiwen.cli.main import main
from yiwen.data.store import Store
from yiwen.encoder import Encoder, measuring
from yiwen.errors import ConfigError, Stopped
from yiwen.evaluation.classification import evaluate_labels
from yiwen.evaluation.label_report import confusion_svg, label_report
from yiwen.stop import StopFlag


def evaluate(run: Path, *options: str, capfd: pytest.CaptureFixture[str]) -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YIWEN_RUNS", str(run.parent))
        assert main(["evaluate", str(run), "--json", "--threads", "1", *options]) == 0
    captured = capfd.readouterr()
    assert "written: " in captured.err
    return json.loads(captured.out.split("\n")[-2])


def held_out(run: Path) -> tuple[list[str], list[str]]:
    fingerprint = Encoder.load(run).bundle.info.data_fingerprint
    return Store.open(run.parent / ".prepared" / fingerprint).test


def test_a_classifier_is_scored_on_the_test_set_of_its_recipe(
    tiny_classifier: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = evaluate(tiny_classifier, capfd=capfd)
    texts, labels = held_out(tiny_classifier)
    predictions = Encoder.load(tiny_classifier, threads=1).classify(texts)
    right = [str(p) == label for p, label in zip(predictions, labels, strict=True)]
    assert found["scores"]["accuracy"] == pytest.approx(100 * np.mean(right))  # type: ignore[index]
    assert found["n_texts"] == len(texts) == 19
    assert set(found["scores"]) == {"accuracy", "macro_f1", "calibration_error"}  # type: ignore[call-overload]
    low, high = found["labels"]["intervals"]["accuracy"]  # type: ignore[index]
    assert low <= found["scores"]["accuracy"] <= high  # type: ignore[index]
    assert (tiny_classifier / "evaluations" / "best-test.html").is_file()


def test_a_text_and_its_labels_may_be_given(
    tiny_classifier: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.en").write_text("ba be\nda de <b>\nka\n", encoding="utf-8")
    (tmp_path / "a.labels").write_text("b\nb\nequal\n", encoding="utf-8")
    out = tmp_path / "out.json"
    files = ["--src", str(tmp_path / "a.en"), "--ref", str(tmp_path / "a.labels"), "--output", str(out)]
    found = evaluate(tiny_classifier, *files, capfd=capfd)
    assert found["test_set"] == "a"
    assert found["scores"]["accuracy"] == pytest.approx(200 / 3)  # type: ignore[index]
    assert json.loads(out.read_text("utf-8"))["scores"] == found["scores"]
    page = out.with_suffix(".html").read_text(encoding="utf-8")
    (mistake,) = re.findall(r'da de &lt;b&gt;</td><td dir="auto">(\w+)</td><td dir="auto">(\w+)</td>', page)
    assert mistake[0] != mistake[1] == "b"  # predicted, right
    assert "<h2>Confusions · 混淆矩阵</h2>" in page
    (tmp_path / "a.labels").write_text("b\nb\nsomething\n", encoding="utf-8")
    assert main(["evaluate", str(tiny_classifier), *files]) == 3
    assert "a text 3 has the label 'something', which no training text has" in capfd.readouterr().err


def test_a_tagger_is_scored_by_words_and_spans(tiny_tagger: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = evaluate(tiny_tagger, capfd=capfd)
    assert set(found["scores"]) == {"accuracy", "macro_f1", "span_f1"}  # type: ignore[call-overload]
    texts, tags = held_out(tiny_tagger)
    predicted = Encoder.load(tiny_tagger, threads=1).tag([text.split() for text in texts])
    pairs = [pair for a, b in zip(predicted, tags, strict=True) for pair in zip(a, b.split(), strict=True)]
    assert found["scores"]["accuracy"] == pytest.approx(100 * np.mean([a == b for a, b in pairs]))  # type: ignore[index]


def test_an_embedder_is_scored_by_finding_translations(tiny_embedder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = evaluate(tiny_embedder, capfd=capfd)
    assert found["scores"]["accuracy"] > 60  # type: ignore[index]
    assert "labels" not in found


def test_a_pair_that_comes_again_with_another_blank_is_the_same_pair(
    tiny_embedder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sides = [list(side) for side in held_out(tiny_embedder)]
    scores = []
    for change in (str, lambda line: f"{line} ", lambda line: line.replace(" ", "\u00a0")):
        files = (tmp_path / "a.en", tmp_path / "a.de")
        for path, side in zip(files, sides, strict=True):
            path.write_text("".join(f"{line}\n" for line in (*side, *map(change, side))), encoding="utf-8")
        found = evaluate(tiny_embedder, "--src", str(files[0]), "--ref", str(files[1]), capfd=capfd)
        scores.append(found["scores"])
    assert scores[0] == scores[1] == scores[2]


def test_a_file_that_could_not_be_the_json_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for output in (tmp_path / "scores.html", tmp_path, tmp_path / "file" / "scores.json"):
        with pytest.raises(
            ConfigError, match=r"a page lies beside it; give the path of a \.json file that you may write"
        ):
            measuring.measure_encoder(tmp_path / "nothing", output=output)


def test_scores_replace_neither_the_text_nor_its_labels(tmp_path: Path) -> None:
    for output, ref in (("gold.txt", "gold.txt"), ("scores.json", "scores.html"), ("./gold", "gold")):
        with pytest.raises(ConfigError, match="it, or the page beside it, is what is read; give it a file of its own"):
            measuring.measure_encoder(tmp_path, src=tmp_path / "text", ref=tmp_path / ref, output=tmp_path / output)


@pytest.mark.parametrize("task", ["tiny_classifier", "tiny_tagger", "tiny_embedder"])
def test_a_stop_ends_the_measuring_whatever_the_task(
    task: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Path = request.getfixturevalue(task)
    monkeypatch.setenv("YIWEN_RUNS", str(run.parent))
    stop = StopFlag()
    stop.signum = signal.SIGINT
    with pytest.raises(Stopped):
        measuring.measure_encoder(run, threads=1, stop=stop)


def test_an_encoder_is_scored_by_the_engine_that_is_asked_for_and_by_no_other(tiny_embedder: Path) -> None:
    with pytest.raises(ConfigError, match="engine='ctranslate2' with dtype='auto' is not to be had"):
        measuring.measure_encoder(tiny_embedder, engine="ctranslate2")


def test_scores_are_printed_with_their_intervals_and_a_pair_is_two_texts(capsys: pytest.CaptureFixture[str]) -> None:
    labels = evaluate_labels([["a"], ["b"]] * 9, [["a"], ["a"]] * 9, labels=("a", "b"), n_bootstrap=20)
    low, high = labels.intervals["accuracy"]
    named: Any = {"model": "runs/x", "engine": "torch", "test_set": "news", "n_texts": 3000, "seconds": 8.0}
    told: Any = {**named, "scores": {"accuracy": 50.0, "mean_rank": 2.5}, "written": Path("out.json")}
    of_labels, of_pairs = (measuring.EncoderMeasurement(**told, labels=each) for each in (labels, None))
    assert (of_labels.to_json()["texts_per_s"], of_pairs.to_json()["texts_per_s"]) == (375.0, 750.0)
    measuring.print_encoder_measurement(of_labels, Console(width=200))
    assert capsys.readouterr().out.split("\n") == [
        "news: 3,000 texts by runs/x (torch)",
        f"  accuracy 50.00  (95 %: {low:.2f} to {high:.2f})",
        "  mean rank 2.50",
        "written: out.json",
        "",
    ]


def test_scores_in_a_run_of_somebody_elses_are_shown_and_kept_nowhere(
    tiny_embedder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_embedder.parent))
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)  # root may write everywhere
    before = sorted(tiny_embedder.rglob("*"))
    assert main(["evaluate", str(tiny_embedder), "--threads", "1"]) == 0
    assert "\n  accuracy " in (said := "".join(capfd.readouterr()))
    assert "note: nothing is kept; give --output" in said
    assert sorted(tiny_embedder.rglob("*")) == before


def test_an_mlm_has_nothing_to_be_scored_by(
    tiny_embedder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tampered(tiny_embedder / "best", tmp_path / "mlm", task="mlm")
    assert main(["evaluate", str(signed(folder))]) == 2
    assert "guesses hidden words, which its validation scores say all about" in capfd.readouterr().err


def test_the_picture_has_a_square_for_each_confusion_and_runs_nothing() -> None:
    gold, predicted = [["<a>"], ["好"], ["好"]], [["<a>"], ["<a>"], ["好"]]
    found = evaluate_labels(gold, predicted, labels=("<a>", "好"), confidences=[0.9, 0.6, 0.7], n_bootstrap=5)
    picture = confusion_svg(found)
    squares = re.findall(r'<rect x="(\d+)" y="(\d+)" .*?fill="(.*?)".*?fill="(.*?)">(\d)</text>', picture)
    left = int(squares[0][0])
    assert [(int(x) - left, int(y) - left, int(n)) for x, y, _, _, n in squares] == [
        *((0, 0, 1), (44, 0, 0)),  # of the texts that are <a>
        *((0, 44, 1), (44, 44, 1)),
    ]
    all_of_them, none, *halves = [fill for _, _, fill, _, _ in squares]
    assert (all_of_them, none, halves[0]) == ("rgb(30,105,180)", "rgb(255,255,255)", halves[1])
    assert "<a>" not in picture
    page = label_report(found, title="T<1>", mistakes=[("x<y", "<a>", "好")])
    for text in ("T&lt;1&gt;", "x&lt;y", "Calibration · 校准", "66.67", "<circle", "default-src 'none'"):
        assert text in page
    bins = re.findall(r"(\d+ to \d+ %)</td>" + r'<td class="number">([\d.]+)</td>' * 3, page)
    assert bins == [
        *(("60 to 70 %", "1", "60.00", "0.00"), ("70 to 80 %", "1", "70.00", "100.00")),
        ("90 to 100 %", "1", "90.00", "100.00"),
    ]
    assert re.search(
        "<th>text</th><th>predicted</th><th>right</th>.*>x&lt;y</td>.*>&lt;a&gt;</td>.*>好</td>", page, re.S
    )
    assert "<script" not in page
    assert 'style="max-width: none"' in picture  # 30 labels are wider than the page, which would cut off the last eight
    assert 'role="img" aria-label="Confusions · 混淆矩阵"' in picture
    many = evaluate_labels([["0"]], [["0"]], labels=tuple(map(str, range(50))), n_bootstrap=0)
    assert "<svg" not in label_report(many, title="many")


def test_what_is_for_translations_is_refused_and_each_test_has_its_file(
    tiny_classifier: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["evaluate", str(tiny_classifier), "--lowercase", "--report", "r.html"]) == 2
    assert "--report, --lowercase: for translations; " in capfd.readouterr().err
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_classifier.parent))
    test = measuring.tests_of(Encoder.load(tiny_classifier).bundle, None, None)[0]
    other = measuring.Test(name="other", sources=test.sources, references=test.references)
    monkeypatch.setattr(measuring, "tests_of", lambda *_: [test, other])
    found = measuring.measure_encoder(tiny_classifier, output=tmp_path / "x.json", threads=1)
    assert [each.written.name for each in found if each.written] == ["x.json", "x-other.json"]
    given = tmp_path / "a.en"
    given.write_text("ba be\n", encoding="utf-8")
    texts = [measuring.Test(name="a", sources=[text], references=test.references[:1]) for text in test.sources[:2]]
    monkeypatch.setattr(measuring, "tests_of", lambda *_: texts)
    names = [each.written for each in measuring.measure_encoder(tiny_classifier, src=given, ref=given, threads=1)]
    assert len({*names}) == 2  # of one name, and other text
