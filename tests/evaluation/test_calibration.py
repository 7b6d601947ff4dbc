"""What is usual is measured on validation text, kept in the bundle, and told from what is odd."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tiny_model import TinyRun, signed, tampered
from yiwen.bundle import open_bundle
from yiwen.data.store import Store, TextPairs
from yiwen.engines.select import open_engine
from yiwen.errors import CheckpointError
from yiwen.evaluation import calibration as module
from yiwen.evaluation.calibration import (
    LEAST_DOUBT,
    MOST_DOUBT,
    Usual,
    Weights,
    calibrate,
    fit_confidence,
    open_calibration,
    usual_lengths,
)
from yiwen.measure import calibrate_once
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.translator import Translator

N_WORDS = 11
WEIGHTS = Weights((1.0,) * N_WORDS, (1.0,) * 30 + (0.5,))
SRC, TGT = list(range(10)), list(range(10, 20))


def pairs(n: int) -> tuple[list[list[int]], list[list[int]]]:
    """Sources of words 0 ... 10; translations of words that are 10 more, and now and then of a light word besides."""
    rng = random.Random(1)
    src = [[rng.randrange(N_WORDS) for _ in range(rng.randint(7, 13))] for _ in range(n)]
    tgt = [[10 + word for word in ids] + [30] * rng.randint(0, 2) for ids in src]
    return src, tgt


@pytest.fixture(scope="module")
def usual() -> Usual:
    lengths = usual_lengths(*pairs(500), WEIGHTS)
    confidence = {"good_at": 50.0, "weights": (2.0, 1.0, 0.0, -1.0), "error": 0.0, "reliability": ()}
    return Usual(module.Calibration(n_pairs=500, **lengths, **confidence), WEIGHTS)


def incomplete(usual: Usual, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[bool]:
    """Of each pair whether something is missing."""
    return ["omission" in usual.faults(a, b) for a, b in zip(src, tgt, strict=True)]


def test_a_dropped_stretch_is_found_and_good_translations_are_not_called_incomplete(usual: Usual) -> None:
    src, tgt = pairs(1000)
    src, tgt = src[500:], tgt[500:]
    assert np.mean(incomplete(usual, src, tgt)) < 0.03
    dropped = [[*b[:2], *b[2 + len(a) // 2 :]] for a, b in zip(src, tgt, strict=True)]
    assert np.mean(incomplete(usual, src, dropped)) > 0.9
    assert not any(incomplete(usual, src, [[*ids, *ids] for ids in tgt]))


def test_references_that_leave_things_out_themselves_do_not_hide_what_a_model_leaves_out() -> None:
    src, tgt = pairs(500)
    loose = [ids[: len(ids) // 3] if i % 20 == 0 else ids for i, ids in enumerate(tgt)]  # one in twenty
    lengths = usual_lengths(src, loose, WEIGHTS)
    assert lengths["incomplete_at"] == MOST_DOUBT
    confidence = {"good_at": 50.0, "weights": (), "error": 0.0, "reliability": ()}
    usual = Usual(module.Calibration(n_pairs=500, **lengths, **confidence), WEIGHTS)
    dropped = [ids[: len(ids) // 3] for ids in tgt]
    assert np.mean(incomplete(usual, src, dropped)) > 0.9
    assert not any(incomplete(usual, src, tgt))


def test_odd_lengths_are_told_either_way(usual: Usual) -> None:
    src = list(range(10))
    assert ["length_ratio" in usual.faults(src, [12] * n) for n in (2, 10, 11, 40)] == [True, False, False, True]
    assert "length_ratio" not in usual.faults(src, [12] * 9 + [30] * 4)  # which weigh half as much


def test_where_all_references_are_alike_others_may_still_be_a_little_longer_or_shorter() -> None:
    lengths = usual_lengths([SRC] * 100, [TGT] * 100, WEIGHTS)
    assert lengths == {"shortness": (0.0, 0.05), "incomplete_at": LEAST_DOUBT, "odd_at": 3.0}


def test_of_the_references_themselves_two_in_a_thousand_are_called_odd_however_loose_they_are() -> None:
    src, tgt = [SRC] * 1000, [[10] * (10 if i < 960 else i - 920) for i in range(1000)]  # forty of 40 to 79 words
    confidence = {"good_at": 50.0, "weights": (), "error": 0.0, "reliability": ()}
    usual = Usual(module.Calibration(n_pairs=1000, **usual_lengths(src, tgt, WEIGHTS), **confidence), WEIGHTS)
    assert [len(ids) for ids in tgt if "length_ratio" in usual.faults(SRC, ids)] == [78, 79]


def test_confidence_is_a_probability_that_rises_with_the_log_probability(usual: Usual) -> None:
    found = [usual.confidence(log_prob, SRC, TGT) for log_prob in (-1e5, -1000.0, -30.0, -3.0, -0.1)]
    assert all(value is not None and 0 <= value <= 1 for value in found)
    assert found == sorted(found)  # type: ignore[type-var]
    assert usual.confidence(math.nan, SRC, TGT) is None


def test_a_calibration_on_disk_goes_on_saying_what_it_said() -> None:
    # 0.5 + 2 x -3/6 (the end is a subword) + log 6 = 1.2918; a source of 15 for a translation of 5: - log 20/10. And
    # the other way round, which is as odd: 0.5 + 2 x -3/16 + log 16 - log 20/10 = 2.2045.
    lengths = {"shortness": (0.0, 1.0), "incomplete_at": 1.0, "odd_at": 3.0}
    confidence = {"good_at": 50.0, "weights": (0.5, 2.0, 1.0, -1.0), "error": 0.0, "reliability": ()}
    usual = Usual(module.Calibration(n_pairs=500, **lengths, **confidence), WEIGHTS)
    assert usual.confidence(-3.0, [1] * 5, TGT[:5]) == pytest.approx(1 / (1 + math.exp(-1.2918)), abs=1e-5)
    assert usual.confidence(-3.0, [1] * 15, TGT[:5]) == pytest.approx(1 / (1 + math.exp(-0.5986)), abs=1e-5)
    assert usual.confidence(-3.0, [1] * 5, [12] * 15) == pytest.approx(1 / (1 + math.exp(-2.2045)), abs=1e-5)


def test_a_fitted_confidence_is_calibrated_on_the_other_half() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(6000), rng.normal(size=(6000, 3))])
    true = 1 / (1 + np.exp(-(0.5 + 1.5 * x[:, 1] - 0.7 * x[:, 2] - 0.4 * x[:, 3])))
    fitted = fit_confidence(x.tolist(), (rng.random(6000) < true).tolist())
    assert fitted["weights"] == pytest.approx((0.5, 1.5, -0.7, -0.4), abs=0.15)
    assert fitted["error"] < 0.03
    assert sum(n for n, _, _ in fitted["reliability"]) == 3000
    assert [mean for _, mean, _ in fitted["reliability"]] == sorted(mean for _, mean, _ in fitted["reliability"])


def test_what_is_less_likely_or_oddly_long_is_never_surer_for_it() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    against = (x[:, 3] - x[:, 1] + rng.normal(size=200) > 0).tolist()
    bias, likely, long, odd = fit_confidence(x.tolist(), against)["weights"]
    assert (likely, odd) == (0.0, 0.0)
    assert math.isfinite(bias)
    assert long != 0
    (_, likely, _, odd) = fit_confidence(x.tolist(), [not each for each in against])["weights"]
    assert likely > 0.5
    assert odd < -0.5


@pytest.mark.parametrize("n_good", [0, 4, 96, 100])
def test_where_nearly_all_are_alike_nothing_is_known(n_good: int, usual: Usual) -> None:
    x = [[1.0, -value / 100, 2.0, value / 50] for value in range(100)]
    fitted = fit_confidence(x, [value < n_good for value in range(100)])
    assert fitted == {"weights": (), "error": 0.0, "reliability": ()}
    nothing = Usual(dataclasses.replace(usual.calibration, **fitted), WEIGHTS)
    assert nothing.confidence(-0.1, SRC, TGT) is None
    assert fit_confidence(x, [value < 95 for value in range(100)])["weights"][1] > 0


def training_text(tiny_run: TinyRun, start: int, end: int) -> tuple[list[str], list[str]]:
    """Lines of both sides; the validation set of the tiny model is too small."""
    src, tgt = ((tiny_run.recipe.parent / f"train.{lang}").read_text("utf-8").split("\n") for lang in ("en", "de"))
    return src[start:end], tgt[start:end]


@pytest.fixture(scope="module")
def calibrated(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tiny model, calibrated on training text."""
    folder = tmp_path_factory.mktemp("calibrated") / "bundle"
    shutil.copytree(tiny_run.best, folder)
    bundle = open_bundle(folder)
    store = Store.open(tiny_run.runs / ".prepared" / bundle.info.data_fingerprint)
    engine = open_engine(bundle, engine="torch", threads=1).engine
    assert calibrate(bundle, engine, store, stop=None) is None
    assert not (folder / "calibration").exists()
    src, tgt = training_text(tiny_run, 0, 150)
    # More than the model has positions for, or nothing: left out.
    store.valid = TextPairs(["Deti.", "deti " * 120, "", "Deti.", *src], ["Reta " * 120, "Reta.", "Reta.", "", *tgt])
    usual = calibrate(bundle, engine, store, stop=None)
    assert usual is not None
    assert usual.calibration.n_pairs == 150
    return folder


@pytest.mark.parametrize(
    ("tgt_lang", "good_at", "search"),
    [
        ("de", 50.0, {"beam_size": 7, "n_best": 3, "mbr": 5}),
        ("zh-Hans", 25.0, {"beam_size": 1, "sampling": True, "n_best": 3}),
    ],
)
def test_validation_text_is_read_and_searched_and_judged_as_the_text_of_a_user_is(
    tgt_lang: str, good_at: float, search: dict[str, object], tiny_run: TinyRun, tmp_path: Path
) -> None:
    """The model sees no capitals; each fifth answer of this engine is no translation, the others are good."""
    bundle = open_bundle(tampered(tiny_run.best, tmp_path / "model", tgt_lang=tgt_lang, search=search))
    store = Store.open(tiny_run.runs / ".prepared" / bundle.info.data_fingerprint)
    src, tgt = training_text(tiny_run, 0, 150)
    given = [[text if i % 3 else text.upper() for i, text in enumerate(side)] for side in (src, tgt)]
    store.valid = TextPairs(["", *given[0]], ["", *given[1]])
    asked: list[tuple[list[list[int]], SearchConfig]] = []

    def answers(sources: list[list[int]], *, config: SearchConfig, stop: None) -> list[list[Hypothesis]]:
        asked.append((sources, config))
        said = [text if i % 5 else "Reta" for i, text in enumerate(tgt)]
        return [[Hypothesis(tuple(ids), -1.0, -3.0, is_finished=True)] for ids in bundle.target.encode(said)]

    usual = calibrate(bundle, SimpleNamespace(search=answers), store, stop=None)  # type: ignore[arg-type]
    ((sources, config),) = asked
    assert sources == bundle.source.encode(src)
    assert (config.n_best, config.mbr, config.sampling) == (1, 0, False)
    assert usual is not None
    assert usual.calibration.good_at == good_at
    n_right = sum(n * right for n, _, right in usual.calibration.reliability)
    assert n_right == pytest.approx(60)  # of the 75 that nothing was fitted to
    *_, oddness = usual.calibration.weights
    assert oddness < 0


def test_a_better_model_that_was_published_meanwhile_is_left_alone(
    calibrated: Path, tiny_run: TinyRun, tmp_path: Path
) -> None:
    (tmp_path / "best").symlink_to(tiny_run.early)
    bundle = open_bundle(tmp_path / "best")
    engine = open_engine(bundle, engine="torch", threads=1).engine
    store = Store.open(tiny_run.runs / ".prepared" / bundle.info.data_fingerprint)
    store.valid = TextPairs(*training_text(tiny_run, 0, 150))
    better = shutil.copytree(tiny_run.best, tmp_path / "better")
    (tmp_path / "best").unlink()
    (tmp_path / "best").symlink_to(better)
    assert calibrate(bundle, engine, store, stop=None) is None
    assert not (better / "calibration").exists()


def test_a_calibrated_bundle_says_how_sure_it_is(calibrated: Path, tiny_run: TinyRun) -> None:
    sources = ["Peku suse.", "Bapu logi kabe.", ""]
    *found, blank = Translator.load(calibrated, threads=1).translate(sources)
    assert all(t.confidence is not None and 0 < t.confidence < 1 for t in found)
    assert blank.confidence is None
    assert all([piece.confidence for piece in t.sentences] == [t.confidence] for t in found)
    assert [t.confidence for t in Translator.load(tiny_run.best, threads=1).translate(sources)] == [None] * 3
    (together,) = Translator.load(calibrated, threads=1).translate(["\n".join(sources)])
    assert together.confidence == pytest.approx(min(t.confidence for t in found), abs=1e-4)  # type: ignore[type-var]


@pytest.fixture(scope="module")
def held_out(calibrated: Path, tiny_run: TinyRun) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Sources that nothing was measured on, their translations, and the first half of those, as subwords."""
    src, tgt = training_text(tiny_run, 200, 300)
    bundle = open_bundle(calibrated)
    half = [" ".join(line.split()[: len(line.split()) // 2]) for line in tgt]
    return bundle.source.encode(src), bundle.target.encode(tgt), bundle.target.encode(half)


def test_what_a_translation_leaves_out_is_found_with_the_stored_weights(
    calibrated: Path, held_out: tuple[list[list[int]], ...]
) -> None:
    usual = open_calibration(open_bundle(calibrated))
    assert usual is not None
    src_ids, whole, half = held_out
    assert np.mean(incomplete(usual, src_ids, whole)) <= 0.05
    assert np.mean(incomplete(usual, src_ids, half)) >= 0.95


@pytest.mark.parametrize("former", [{"format_version": 1, "coverage": [1.0]}, {"format_version": 2, "doubtful_at": 1}])
def test_a_calibration_of_an_earlier_form_is_measured_anew(
    former: dict[str, object], calibrated: Path, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(calibrated, tmp_path / "old")
    path = tmp_path / "old" / "calibration" / "calibration.json"
    table = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(table | former), encoding="utf-8")
    (path.parent / "weights.json").unlink()
    signed(path.parent)
    translator = Translator.load(tmp_path / "old", threads=1)
    assert translator.usual is None
    assert translator.note.endswith(
        f"an earlier version measured what they need; measure it again: yiwen evaluate {path.parents[1]}"
    )
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_run.runs))
    monkeypatch.setattr(module, "MIN_PAIRS", 10)
    calibrate_once(translator)
    assert translator.note == ""
    assert json.loads(path.read_text("utf-8"))["format_version"] == 3
    assert Translator.load(tmp_path / "old", threads=1).usual == translator.usual is not None


def test_a_damaged_calibration_is_refused(calibrated: Path, tmp_path: Path) -> None:
    def with_change(name: str, file: str, **changes: object) -> Path:
        shutil.copytree(calibrated, tmp_path / name)
        path = tmp_path / name / "calibration" / file
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), encoding="utf-8")
        return tmp_path / name

    def refusal(folder: Path) -> str:
        with pytest.raises(CheckpointError) as error:
            open_calibration(open_bundle(folder))
        return str(error.value)

    changed = refusal(with_change("changed", "calibration.json", n_pairs=7))
    assert "calibration.json has changed" in changed
    assert "or remove" in changed
    for name, change in (("newer", {"format_version": 99}), ("typo", {"nonsense": 1})):
        folder = with_change(name, "calibration.json", **change)
        signed(folder / "calibration")
        message = f"{next(iter(change))}.*; upgrade yiwen, or remove .* and evaluate the model again"
        assert re.search(message, refusal(folder), re.DOTALL)
    for number, (file, content) in enumerate(
        [
            *(("calibration.json", "[]"), ("calibration.json", "{"), ("calibration.json", "[" * 99_999)),
            *(("weights.json", '{"src": [], "tgt": [], "more": 1}'), ("weights.json", '{"src": [], "tgt": []}')),
            ("weights.json", json.dumps({"src": [1.0] * open_bundle(calibrated).source.vocab_size, "tgt": []})),
        ]
    ):
        folder = with_change(str(number), file)
        (folder / "calibration" / file).write_text(content, encoding="utf-8")
        signed(folder / "calibration")
        assert "; upgrade yiwen, or remove" in refusal(folder)
