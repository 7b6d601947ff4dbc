"""Exporting a bundle: what is written where, what the report says, and that nothing is left behind by a failure."""

from __future__ import annotations

import errno
import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from random_models import fake_subword, random_model
from tiny_model import TinyRun
from yiwen.bundle import load_model, open_bundle
from yiwen.data.store import TextPairs
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.exported import read_info
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import CheckpointError, ConfigError, ExportError
from yiwen.export import ct2_spec, verify
from yiwen.export.ctranslate2 import ExportReport, export_ctranslate2, print_report, publish_export
from yiwen.files import verify_manifest
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.text.subword import Subword


@pytest.fixture
def bundle(tiny_run: TinyRun, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_run.best, tmp_path / "model"))


@pytest.fixture(scope="module")
def valid(tiny_run: TinyRun) -> TextPairs:
    src, tgt = ((tiny_run.recipe.parent / f"valid.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de"))
    return TextPairs([*src, " ", src[0] * 40], [*tgt, "", "too long"])


def engine_of(folder: Path) -> CT2Engine:
    bundle = open_bundle(folder)
    return CT2Engine(folder / "ctranslate2", source=bundle.source, target=bundle.target, threads=1)


def printed(report: ExportReport, capsys: pytest.CaptureFixture[str]) -> str:
    print_report(report, Console())
    return capsys.readouterr().out


def test_a_float32_export_agrees_token_by_token(
    bundle: Path, valid: TextPairs, capsys: pytest.CaptureFixture[str]
) -> None:
    report = export_ctranslate2(open_bundle(bundle), dtype="float32", valid=valid)
    exact = report.verification["float32"]
    assert exact["n_sentences"] == 30 + len(verify.fixed_sources(340, limit=23))
    assert exact["largest_log_prob_difference"] <= 1e-4
    info = read_info(bundle / "ctranslate2")
    assert (info.verification, info.max_len) == (report.verification, 96)
    assert info.golden is not None, "each machine that loads it translates a sentence"
    verify_manifest(bundle / "ctranslate2")
    assert engine_of(bundle).description == "CTranslate2 float32 on cpu"
    assert "float32" in printed(report, capsys)
    assert json.loads(json.dumps(report.to_json()))["folder"] == str(bundle)


def test_a_rounded_export_reports_agreement_and_says_what_was_not_checked(
    bundle: Path, valid: TextPairs, capsys: pytest.CaptureFixture[str]
) -> None:
    report = export_ctranslate2(open_bundle(bundle), dtype="int8", valid=valid)
    rounded = report.verification["int8"]
    assert (rounded["n_sentences"], rounded["n_lines"], rounded["is_bleu_checked"]) == (30, 30, False)
    assert 0.5 < rounded["agreement"] <= 1
    assert 0 < rounded["mean_log_prob_difference"] < rounded["largest_log_prob_difference"] < 1
    assert report.n_bytes < 200_000
    engine_of(bundle)
    text = printed(report, capsys)
    assert "BLEU" in text
    assert "shortlist" not in text
    assert report.verification.keys() == {"float32", "int8", "is_verified"}
    assert "note: the bound on BLEU was not checked, it needs 1,000 validation lines" in text


def test_without_validation_text_the_made_up_sentences_are_compared(bundle: Path) -> None:
    report = export_ctranslate2(open_bundle(bundle), dtype="int8", valid=None)
    assert report.verification["int8"]["n_sentences"] == len(verify.fixed_sources(340, limit=23))
    assert "bleu_exported" not in report.verification["int8"]


@pytest.mark.parametrize("dtype", ["bf16", "float16"])
def test_what_this_machine_cannot_compute_is_exported_and_marked(
    bundle: Path, dtype: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = export_ctranslate2(open_bundle(bundle), dtype=dtype, valid=None)
    assert report.verification["is_verified"] is False
    assert f"unverified: CTranslate2 cannot compute {dtype}" in printed(report, capsys)
    with pytest.raises(ConfigError, match=f"is exported as {dtype}"):
        engine_of(bundle)


def test_a_new_bundle_holds_the_exported_model_and_no_weights(bundle: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "model"
    (bundle / "README.md").unlink()  # a new one is written
    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None, output=output)
    assert sorted(path.name for path in output.iterdir()) == [
        "README.md", "bundle.json", "ctranslate2", "manifest.json", "shared.spm",
    ]  # fmt: skip
    assert [path.name for path in output.parent.iterdir()] == ["model"]
    assert engine_of(output).search([[300]], config=verify.GREEDY)
    with pytest.raises(ConfigError, match="exists already, or may not be written; give another --output"):
        publish_export(open_bundle(bundle), pytest.fail, output=output)  # before any work
    with pytest.raises(CheckpointError, match=r"holds no model\.safetensors"):
        export_ctranslate2(open_bundle(output), valid=None, output=tmp_path / "again")


def test_a_bundle_that_was_made_without_weights_has_none_whatever_became_of_its_engine(
    bundle: Path, tmp_path: Path
) -> None:
    output = tmp_path / "lean"
    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None, output=output)
    shutil.rmtree(output / "ctranslate2")
    message = "exported for machines without torch; use the bundle that it was exported from"
    with pytest.raises(CheckpointError, match=message):
        load_model(open_bundle(output))
    shutil.copy(bundle / "model.safetensors", output)  # no manifest tells whether it is the same model's
    with pytest.raises(CheckpointError, match=message):
        load_model(open_bundle(output))


def test_a_bundle_that_cannot_be_written_asks_for_an_output(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != bundle)  # root may write everywhere
    with pytest.raises(ConfigError, match=f"{re.escape(str(bundle))} cannot be written; give a new folder by --output"):
        export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None)
    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None, output=tmp_path / "new")


def test_a_mismatch_fails_the_export_and_leaves_nothing_behind(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(spec: object, norm: object) -> None:
        real(spec, norm)
        spec.gamma *= 1.01  # type: ignore[attr-defined]

    real = ct2_spec._norm
    monkeypatch.setattr(ct2_spec, "_norm", wrong)
    message = r"does not compute what the trained one does: \d+ differences in \d+ sentences; sentence 1 \(1 subwords\)"
    for output in (None, tmp_path / "new"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ExportError, match=message):
            export_ctranslate2(open_bundle(bundle), dtype="int8", valid=None, output=output)
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("dtype", "margin"), [("float32", 1e-4), ("int8", 0.05)])
def test_the_exported_model_shows_the_attention_of_the_bundles_head(bundle: Path, dtype: str, margin: float) -> None:
    opened, pairs = open_bundle(bundle), ([[300, 301, 302]], [[310, 311]])
    for head in (0, 1):
        shown = replace(opened, info=replace(opened.info, alignment=AlignmentHead(layer=0, head=head)))
        export_ctranslate2(shown, dtype=dtype, valid=None)
        (expected,) = TorchEngine(load_model(opened), alignment=shown.info.alignment).attend(*pairs)
        assert engine_of(bundle).attend(*pairs)[0] == pytest.approx(expected, abs=margin)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_the_weights_are_compared_as_they_lie_where_a_head_was_brought_first(
    bundle: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(linear: Any, head: int, config: ModelConfig) -> None:
        real(linear, head, config)
        linear[0].weight = linear[0].weight[::-1].copy()

    real, opened = ct2_spec._bring_first, open_bundle(bundle)
    shown = replace(opened, info=replace(opened.info, alignment=AlignmentHead(layer=0, head=1)))
    export_ctranslate2(shown, dtype=dtype, valid=None)
    monkeypatch.setattr(ct2_spec, "_bring_first", wrong)
    with pytest.raises(ExportError, match="does not compute what the trained one does"):
        export_ctranslate2(shown, dtype=dtype, valid=None)


def test_an_export_writes_only_where_the_next_one_clears_up(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")  # what a killed one left there would stay
    export_ctranslate2(open_bundle(bundle), dtype="int8", valid=None)
    verify_manifest(bundle / "ctranslate2")
    assert not [each for each in (bundle / "ctranslate2").iterdir() if each.is_dir()]


def test_a_loss_of_bleu_fails_the_export(bundle: Path, valid: TextPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "BLEU_LINES", 30)
    monkeypatch.setattr(verify, "BLEU_TOLERANCE", -101.0)  # whatever the score, it loses too much
    with pytest.raises(ExportError, match=r"the exported model has BLEU .* on 30 lines, the trained one"):
        export_ctranslate2(open_bundle(bundle), dtype="int8", valid=valid)
    assert not (bundle / "ctranslate2").exists()


def test_weights_that_are_no_numbers_fail_the_export(bundle: Path) -> None:
    class Broken:
        def __init__(self, engine: CT2Engine) -> None:
            self.search = engine.search

        def score(self, sources: list[list[int]], targets: list[tuple[int, ...]], stop: None) -> list[list[float]]:
            return [[float("nan")] * (len(ids) + 1) for ids in targets]

    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None)
    engine = engine_of(bundle)
    test_set = verify.TestSet([[300, 301]], readings=[], references=[])
    with pytest.raises(ExportError, match="log-probabilities that are not numbers"):
        verify.compare_quality(engine, Broken(engine), test_set, bundle=open_bundle(bundle), remedy="")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="a log-probability differs by nan"):
        verify.compare_exactly(engine, Broken(engine), [[300, 301]], stop=None)  # type: ignore[arg-type]


def test_an_unknown_number_type_is_refused(bundle: Path) -> None:
    with pytest.raises(ConfigError, match="dtype='int4' is unknown to CTranslate2; use one of float32, int8"):
        export_ctranslate2(open_bundle(bundle), dtype="int4", valid=None)


def test_duplicate_subwords_are_refused(tmp_path: Path) -> None:
    class Doubled:
        vocab_size = 29

        def pieces(self, ids: object) -> list[str]:
            return ["same"] * 29

    model = random_model(ModelConfig(d_model=22, n_heads=2, d_ff=13, n_encoder_layers=1, n_decoder_layers=1))
    doubled: Subword = Doubled()  # type: ignore[assignment]
    with pytest.raises(ExportError, match="the source vocabulary has 29 subwords, 1 different ones, for 29 embeddings"):
        ct2_spec.write_model(tmp_path, model, source=doubled, target=doubled, dtype="int8", alignment=None)
    few = fake_subword(28)
    with pytest.raises(
        ExportError, match="the source vocabulary has 28 subwords, 28 different ones, for 29 embeddings"
    ):
        ct2_spec.write_model(tmp_path, model, source=few, target=few, dtype="int8", alignment=None)


def test_a_greedy_token_that_differs_with_a_margin_is_named_and_a_tie_is_not(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None)
    engine = engine_of(bundle)
    sources = verify.fixed_sources(340, limit=9)

    class Other:
        score = engine.score

        def search(self, *arguments: object, **options: object) -> object:
            groups = engine.search(*arguments, **options)  # type: ignore[arg-type]
            return [[type(group[0])((5, *group[0].ids[1:]), 0.0, 0.0, True)] for group in groups]

    with pytest.raises(ExportError, match="greedy token 1 differs where the margin is"):
        verify.compare_exactly(engine, Other(), sources, stop=None)  # type: ignore[arg-type]
    monkeypatch.setattr(verify, "MARGIN", 1e9)
    assert verify.compare_exactly(engine, Other(), sources, stop=None)["n_ties"] == len(sources)  # type: ignore[arg-type]


def test_export_leaves_torchs_generator_alone(bundle: Path) -> None:
    before = torch.get_rng_state()
    export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None)
    assert torch.equal(before, torch.get_rng_state())


def test_a_copy_that_fails_half_way_leaves_no_folder(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> Any:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="no space left"):
        export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None, output=tmp_path / "new")
    assert [*tmp_path.iterdir()] == [bundle]


def test_of_two_exports_to_one_folder_at_once_the_first_stays(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, real = tmp_path / "new", verify.choose_golden

    def another_is_quicker(*given: Any) -> Any:
        shutil.copytree(bundle, output)
        return real(*given)

    monkeypatch.setattr(verify, "choose_golden", another_is_quicker)
    with pytest.raises(ConfigError, match="new exists already, or may not be written; give another --output"):
        export_ctranslate2(open_bundle(bundle), dtype="float32", valid=None, output=output)
    assert (output / "model.safetensors").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "new"]
