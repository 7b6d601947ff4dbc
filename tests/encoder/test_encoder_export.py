"""The exported encoder computes what the trained one does, whatever its architecture; rounding is bounded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
from rich.console import Console

from random_models import architectures, describe, fake_subword
from yiwen.bundle import open_bundle
from yiwen.cli.main import main
from yiwen.data.store import Store, TextPairs
from yiwen.encoder import Encoder, exporting
from yiwen.encoder.exporting import export_encoder
from yiwen.engines.ct2_encoder import HEAD, CT2Encoder
from yiwen.engines.encoders import TorchEncoder
from yiwen.engines.exported import ExportInfo, write_info
from yiwen.errors import CheckpointError, ConfigError, ExportError
from yiwen.export.ct2_spec import write_encoder
from yiwen.export.ctranslate2 import ExportReport
from yiwen.files import sha256
from yiwen.tasks.heads import EncoderModel
from yiwen.translator import Translator

V = 29
TEXTS = [[5, 6, 7, 8, 9, 10, 11], [12], [], [13, 14, 15]]


@pytest.mark.parametrize("config", [c for c in architectures() if c.positions != "alibi"], ids=describe)
def test_states_of_every_architecture_are_those_of_torch(tmp_path: Path, config: Any) -> None:
    torch.manual_seed(1)
    model = EncoderModel(config, vocab_size=V, n_labels=0).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # norms are born as ones and biases as zeros: a lost one would not be noticed
                parameter.add_(0.3 * torch.randn_like(parameter))
    write_encoder(tmp_path, model.body, subword=fake_subword(V), dtype="float32")
    np.savez(tmp_path / HEAD)
    write_info(tmp_path, ExportInfo(dtype="float32", max_len=37, yiwen_version="", ctranslate2_version="", weights=""))
    n = config.n_encoder_layers
    exported = CT2Encoder(tmp_path, subword=fake_subword(V), n_layers=n, threads=1, is_new=True)
    ours, theirs = (engine.states(TEXTS, layer=n) for engine in (TorchEncoder(model), exported))
    assert exported.head == {}
    for text, a, b in zip(TEXTS, ours, theirs, strict=True):
        assert np.allclose(a[: len(text) + 1], b[: len(text) + 1], atol=1e-4)


def test_states_computed_on_another_device_are_fetched_from_there(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["export", str(copy), "--dtype", "float32"]) == 0
    engine = Encoder.load(copy, threads=1).engine
    assert isinstance(engine, CT2Encoder)
    wanted, forward = engine.states(TEXTS, layer=2), engine._encoder.forward_batch

    def elsewhere(*given: Any) -> Any:
        there = SimpleNamespace(device="cuda")  # numpy cannot read it
        there.to_device = lambda device: {ctranslate2.Device.cpu: forward(*given).last_hidden_state}[device]
        return SimpleNamespace(last_hidden_state=there)

    monkeypatch.setattr(engine, "_encoder", SimpleNamespace(forward_batch=elsewhere))
    assert np.array_equal(engine.states(TEXTS, layer=2), wanted)


@pytest.fixture
def copy(tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_classifier.parent))
    shutil.copytree(tiny_classifier / "best", tmp_path / "bundle")
    return tmp_path / "bundle"


WORDS = ["ba be bi", "da de di ka", "", " ".join(["bo du"] * 40)]


def test_an_exported_classifier_takes_the_place_of_the_trained_one(
    copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(copy), "--dtype", "float32"]) == 0
    assert "  as float32: " in capfd.readouterr().out
    exported, trained = Encoder.load(copy, threads=1), Encoder.load(copy, engine="torch")
    assert exported.engine.description == "CTranslate2 float32 on cpu"
    assert trained.engine.description == "torch float32 on cpu"
    assert np.allclose(exported.features(WORDS), trained.features(WORDS), atol=1e-4)
    assert np.allclose(exported.probabilities(WORDS), trained.probabilities(WORDS), atol=1e-4)
    with pytest.raises(
        ConfigError, match="an exported engine computes layer 2 alone, not 1; use engine='torch', where"
    ):
        exported.features(["a"], layer=1)
    (copy.parent / "in.txt").write_text("ba be\n", encoding="utf-8")
    found = {}
    for layer in ("1", "2", "-1"):  # torch computes the first, the export the last
        assert main(["embed", str(copy), "--input", str(copy.parent / "in.txt"), "--layer", layer]) == 0
        found[layer] = capfd.readouterr().out
    assert found["1"] != found["2"] == found["-1"]
    assert Encoder.load(copy, dtype="float32").engine.description.startswith("torch")
    with pytest.raises(CheckpointError, match="and is no translator; use `yiwen classify`"):
        Translator.load(copy)
    with pytest.raises(CheckpointError, match="in their order; it is another model's"):
        CT2Encoder(copy / "ctranslate2", subword=fake_subword(V), n_layers=2, threads=1)
    (copy / "ctranslate2" / HEAD).write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"head\.npz"):
        Encoder.load(copy)


def test_an_engine_that_was_made_from_another_encoder_is_refused(copy: Path) -> None:
    assert main(["export", str(copy), "--dtype", "float32"]) == 0
    info = copy / "ctranslate2" / "export.json"
    info.write_text(info.read_text("utf-8").replace(sha256(copy / "model.safetensors"), "0" * 64), encoding="utf-8")
    with pytest.raises(CheckpointError, match="made from other weights than"):
        Encoder.load(copy, threads=1)
    assert Encoder.load(copy, engine="torch").labels


def test_a_bundle_without_weights_classifies_as_before(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "LEAST_COSINE", 0.95)  # 32 wide: 0.981 where int8 has no instructions of its own
    assert main(["export", str(copy), "--output", str(tmp_path / "small"), "--json"]) == 0
    assert not (tmp_path / "small" / "model.safetensors").exists()
    found = [str(p) for p in Encoder.load(tmp_path / "small").classify(WORDS)]
    assert found == [str(p) for p in Encoder.load(copy).classify(WORDS)]
    for name, value in (("engine", "torch"), ("device", "x"), ("dtype", "bf16")):
        with pytest.raises(
            CheckpointError, match=rf"without model\.safetensors, .* this \(.*{name}='{value}'.*\); use"
        ):
            Encoder.load(tmp_path / "small", **{name: value})


def test_a_number_type_that_this_processor_cannot_compute_means_torch_where_there_are_weights(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_encoder(open_bundle(copy), dtype="float32", valid=None)
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda *device: {"int8"})
    assert Encoder.load(copy).engine.description == "torch float32 on cpu"
    (copy / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"is exported as float32, which CTranslate2 cannot compute on this cpu"):
        Encoder.load(copy)


def test_an_engine_that_is_not_there_is_refused(copy: Path, tmp_path: Path, exported_bundle: Path) -> None:
    for folder, options in ((copy, {"engine": "ctranslate2"}), (copy, {"engine": "onnx"})):
        with pytest.raises(ConfigError, match="is not to be had; use 'auto' or 'torch'"):
            Encoder.load(folder, **options)
    assert Encoder.load(exported_bundle).engine.description.startswith("torch")  # a translator's export has no states
    small = shutil.copytree(exported_bundle, tmp_path / "small", ignore=lambda *_: ["model.safetensors"])
    with pytest.raises(CheckpointError, match=r"without model\.safetensors, from which torch computes .*; use the bu"):
        Encoder.load(small)


def test_an_export_that_computes_something_else_is_not_published(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = exporting.write_encoder

    def wrong(folder: Path, model: Any, **options: Any) -> None:
        with torch.no_grad():
            model.encoder.layers[0].feed_forward.outer.bias[3] += 0.01
        real(folder, model, **options)

    monkeypatch.setattr(exporting, "write_encoder", wrong)
    with pytest.raises(ExportError, match=r"does not compute what the trained one does: a state differs by 0\.\d+"):
        export_encoder(open_bundle(copy), dtype="int8", valid=None)
    assert not (copy / "ctranslate2").exists()


def test_an_export_writes_only_where_the_next_one_clears_up(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")  # what a killed one left there would stay
    export_encoder(open_bundle(copy), dtype="int8", valid=None)
    assert not [each for each in (copy / "ctranslate2").iterdir() if each.is_dir()]


def test_rounding_that_costs_too_much_is_not_published(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "LEAST_COSINE", 1.1)
    with pytest.raises(ExportError, match=r"rounding changes too much: a cosine is [01]\.\d+; nothing was written"):
        export_encoder(open_bundle(copy), dtype="int8", valid=None)
    assert not (copy / "ctranslate2").exists()


@pytest.mark.parametrize(
    ("fewest", "problem"), [(1000, r"a cosine is -?0\.\d+"), (5, "accuracy falls from 100.00 to ")]
)
def test_a_ruined_classifier_is_not_published_however_few_its_validation_texts(
    copy: Path, tiny_classifier: Path, monkeypatch: pytest.MonkeyPatch, fewest: int, problem: str
) -> None:
    real = exporting.write_encoder

    def wrong(folder: Path, model: Any, **options: Any) -> None:
        if options["dtype"] == "int8":
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                for parameter in model.parameters():
                    parameter.add_(2 * torch.randn_like(parameter) * parameter.abs().mean())
        real(folder, model, **options)

    monkeypatch.setattr(exporting, "write_encoder", wrong)
    monkeypatch.setattr(exporting, "FEWEST_TEXTS", fewest)
    bundle = open_bundle(copy)
    valid = Store.open(tiny_classifier.parent / ".prepared" / bundle.info.data_fingerprint).valid
    with pytest.raises(ExportError, match=f"rounding changes too much: {problem}"):
        export_encoder(bundle, dtype="int8", valid=valid)
    assert not (copy / "ctranslate2").exists()


class Told:
    """An encoder that gives vectors so far apart from [1, 0], and the first labels wrong."""

    def __init__(self, n_wrong: int, *, n_texts: int, cosine: float) -> None:
        self.labels = ["no"] * n_wrong + ["yes"] * (n_texts - n_wrong)
        self.vector = [cosine, (1 - cosine**2) ** 0.5]
        self.bundle = SimpleNamespace(info=SimpleNamespace(task="classify", src_lang="en"))

    def features(self, texts: list[str], **options: Any) -> Any:
        return np.array([self.vector] * len(texts))

    def classify(self, texts: list[str], **options: Any) -> list[str]:
        return self.labels


@pytest.mark.parametrize(
    ("n_texts", "n_wrong", "cosine", "problem"),
    [
        (1000, 3, 0.5, ""),
        (1000, 4, 1.0, r"accuracy falls from 100\.00 to 99\.60"),
        (999, 400, 0.9901, ""),
        (999, 0, 0.9899, r"a cosine is 0\.990"),
    ],
)
def test_rounding_may_cost_three_tenths_of_a_point_or_a_hundredth_of_a_cosine(
    n_texts: int, n_wrong: int, cosine: float, problem: str
) -> None:
    right, rounded = (Told(n, n_texts=n_texts, cosine=c) for n, c in ((0, 1.0), (n_wrong, cosine)))
    valid = TextPairs(["text"] * n_texts, [" yes"] * n_texts)  # as a file of one's own may have it
    with pytest.raises(ExportError, match=problem) if problem else nullcontext():
        found = exporting._compare_rounded(right, rounded, valid, None)  # type: ignore[arg-type]
        assert found["accuracy_exported"] == pytest.approx(100 * (1 - n_wrong / n_texts))
        assert (found["accuracy_trained"], found["agreement"]) == (100, pytest.approx(1 - n_wrong / n_texts))


@pytest.mark.parametrize("is_verified", [True, False])
def test_a_report_says_how_the_export_compares_and_whether_this_machine_could_tell(
    is_verified: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    exact = {"n_texts": 1200, "largest_state_difference": 2e-6}
    verification = {"float32": exact, "bfloat16": {"smallest_cosine": 0.998}, "is_verified": is_verified}
    report = ExportReport(folder=Path("runs/x"), dtype="bfloat16", n_bytes=2_500_000, verification=verification)
    exporting.print_encoder_report(report, Console(width=200))
    lines = [
        "runs/x: bfloat16, 2.5 MB",
        "  as float32: 1,200 texts, states within 2e-06",
        "  as bfloat16: smallest cosine 0.998",
    ]
    lines += [] if is_verified else ["  unverified: CTranslate2 cannot compute bfloat16 on this machine's processor"]
    assert capsys.readouterr().out.split("\n") == [*lines, ""]
