"""On a CUDA device: the same losses, gradients, translations and resumed runs as elsewhere. `make test-gpu`."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tiny_model import TinyRun
from toy_labels import write_labelled
from toy_task import write_task
from yiwen import Translator
from yiwen.cli.main import main
from yiwen.data.batching import Batch, collate
from yiwen.hardware import apply_to_model, choose
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.tasks.loss import LossFn
from yiwen.tasks.translate import translation_loss
from yiwen.text.glossary import Glossary
from yiwen.training import graphs
from yiwen.training.step import ShardPool, autocast, compute_gradients

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
V = 311
SHAPE: dict[str, Any] = {"d_model": 64, "n_heads": 4, "d_ff": 97, "n_encoder_layers": 2, "n_decoder_layers": 2}


def build(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    return Transformer(ModelConfig(**{**SHAPE, **changes}), src_vocab_size=V, tgt_vocab_size=V)


def sentences(n: int = 300, *, seed: int = 3) -> Batch:
    rng = np.random.default_rng(seed)
    src, tgt = ([rng.integers(4, V, size=length) for length in rng.integers(1, 40, size=n)] for _ in range(2))
    return collate(src, tgt)


def gradients(model: Transformer, batch: Batch, *, loss_fn: LossFn, **asked: Any) -> tuple[float, Tensor]:
    """Loss and the whole gradient, in one row, of a copy of the model with what is asked of the hardware."""
    model, hardware = copy.deepcopy(model), choose(**asked)
    apply_to_model(model.to(hardware.device), hardware)
    laid_out = batch.packed() if hardware.attention == "packed" else batch
    with autocast(hardware):
        loss, n_tokens = loss_fn(model, laid_out.to(hardware.device))
    found = torch.autograd.grad(loss / n_tokens, list(model.parameters()))
    return loss.item() / n_tokens, torch.cat([grad.flatten().cpu() for grad in found])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi"])
@pytest.mark.parametrize("rdrop", [0.0, 3.0])
def test_float32_gives_the_gradients_of_a_processor(positions: str, rdrop: float) -> None:
    # Without ReLU, whose gradient has a jump that rounding can lead over, of all sentences at once.
    model, batch = build(positions=positions, dropout=0.0, activation="gelu"), sentences()
    loss_fn = translation_loss(0.1, rdrop=rdrop)
    loss, gradient = gradients(model, batch, loss_fn=loss_fn, device="cpu", precision="float32")
    for way in ("plain", "fused"):
        there = gradients(model, batch, loss_fn=loss_fn, device="cuda", precision="float32", attention=way)
        assert there[0] == pytest.approx(loss, rel=1e-6)
        assert (there[1] - gradient).norm() < 1e-5 * gradient.norm()


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 2, "norm_order": "pre"}, {"positions": "rotary"}])
@pytest.mark.parametrize("way", ["plain", "fused", "packed"])
@pytest.mark.parametrize("rdrop", [0.0, 3.0])
def test_bf16_is_as_near_to_them_as_a_processor_s(changes: dict[str, Any], way: str, rdrop: float) -> None:
    model, batch, loss_fn = build(dropout=0.0, **changes), sentences(), translation_loss(0.1, rdrop=rdrop)
    loss, gradient = gradients(model, batch, loss_fn=loss_fn, device="cpu", precision="float32")
    here = gradients(model, batch, loss_fn=loss_fn, device="cpu", precision="bf16", attention="plain")
    there = gradients(model, batch, loss_fn=loss_fn, device="cuda", precision="bf16", attention=way)
    assert there[0] == pytest.approx(loss, rel=2e-3)
    assert (there[1] - gradient).norm() < 1.5 * (here[1] - gradient).norm()


@pytest.mark.parametrize("way", ["plain", "fused", "packed"])
@pytest.mark.parametrize("rdrop", [0.0, 3.0])
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_forward_and_backward_wait_for_nothing(way: str, rdrop: float) -> None:
    model, hardware = build(dropout=0.1).to("cuda"), choose(device="cuda", precision="bf16", attention=way)
    apply_to_model(model, hardware)
    batch = (sentences().packed() if way == "packed" else sentences()).to("cuda")
    loss_fn = translation_loss(0.1, rdrop=rdrop)
    for mode in ("default", "error"):  # the first pass makes handles and kernels
        torch.cuda.set_sync_debug_mode(mode)
        try:
            with autocast(hardware):
                loss, n_tokens = loss_fn(model, batch)
            (loss / n_tokens).backward()  # type: ignore[no-untyped-call]
        finally:
            torch.cuda.set_sync_debug_mode("default")


def test_a_graph_gives_the_gradients_of_the_passes_that_it_records() -> None:
    """Two kinds of batches, three of each, in one update: recorded, replayed, and computed without graphs."""
    model, loss_fn = build(dropout=0.0).to("cuda"), translation_loss(0.1)
    plan = [np.array([kind, number]) for number in range(3) for kind in range(2)]
    found = []
    for way in ("packed", "fused"):
        hardware = choose(device="cuda", precision="bf16", attention=way)
        apply_to_model(model, hardware)

        def load(rows: np.ndarray, seed: int) -> Batch:
            batch = sentences(200 if rows[0] else 90, seed=int(rows[1]))
            return batch.packed() if way == "packed" else batch  # noqa: B023

        with ShardPool(hardware) as pool:
            for _ in range(2):  # what the first update left is gone in the second
                made = compute_gradients(model, plan, load=load, loss_fn=loss_fn, seeds=(1, 2), pool=pool)
            kinds = {load(rows, 0).kind() for rows in plan}
            assert len(pool.graphs._graphs) == (len(kinds) if way == "packed" else 0)
        gradient = torch.cat([p.grad.flatten().clone() for p in model.parameters() if p.grad is not None])
        found.append((made.loss_sum / made.n_tokens, made.norm, gradient))
    (loss, norm, packed), (padded_loss, padded_norm, padded) = found
    assert (loss, norm) == (pytest.approx(padded_loss, rel=1e-3), pytest.approx(padded_norm, rel=0.02))
    assert (packed - padded).norm() < 0.1 * padded.norm()


def test_graphs_that_are_forgotten_and_recorded_anew_change_nothing(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(text, tmp_path / "many", "attention='packed'", "max_steps=30", "precision='bf16'", "log_every=1") == 0
    monkeypatch.setattr(graphs, "MOST", 2)
    assert train(text, tmp_path / "few", "attention='packed'", "max_steps=30", "precision='bf16'", "log_every=1") == 0
    many, few = ((tmp_path / name / "metrics.jsonl").read_bytes() for name in ("many", "few"))
    assert many == few


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    write_task(tmp_path, "reverse")
    return tmp_path


def train(text: Path, run: Path, *settings: str, resume: bool = False) -> int:
    extra = [part for setting in ("device='cuda'", *settings) for part in ("--set", f"training.{setting}")]
    return main(["train", str(text / "reverse.toml"), "--run", str(run), *extra, *["--resume"] * resume])


@pytest.mark.parametrize("way", ["fused", "packed", "plain"])
def test_a_run_is_repeated_and_resumed_to_the_last_bit(text: Path, tmp_path: Path, way: str) -> None:
    settings = (f"attention='{way}'", "max_steps=60", "precision='bf16'", "optimizer='muon'", "log_every=1")
    whole, again, resumed = (tmp_path / name for name in ("whole", "again", "resumed"))
    assert train(text, whole, *settings) == train(text, again, *settings) == 0
    shutil.copytree(whole, resumed, symlinks=True)
    for later in ("checkpoints/step-00000060", "checkpoints/step-00000050", "final"):
        path = resumed / later
        path.unlink() if path.is_symlink() else shutil.rmtree(path)
    assert train(text, resumed, *settings, resume=True) == 0
    for other in (again, resumed):
        assert (other / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
        for name, weight in load_file(whole / "final" / "model.safetensors").items():
            assert torch.equal(load_file(other / "final" / "model.safetensors")[name], weight)
    chosen = json.loads((whole / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert (chosen["device"], chosen["attention"]) == ("cuda", way)


def test_the_toy_is_learnt_as_on_a_processor(text: Path, tmp_path: Path) -> None:
    assert train(text, tmp_path / "run", "max_steps=600", "validate_every=600", "batch_tokens=1024") == 0
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert last["valid_bleu"] > 60


def test_a_batch_too_large_for_the_memory_is_cut(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.cuda.empty_cache()
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 200 * 2**20) / total)
    try:
        assert train(text, tmp_path / "run", "max_steps=4", "batch_tokens=100000", "attention='plain'") == 0
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "the largest batch does not fit into memory" in capsys.readouterr().err


def test_a_micro_batch_is_found(text: Path, tmp_path: Path) -> None:
    assert train(text, tmp_path / "run", "max_steps=2", "batch_tokens='auto'", "update_tokens=2048") == 0
    chosen = json.loads((tmp_path / "run" / "hardware.json").read_text(encoding="utf-8"))["chosen"]
    assert chosen["batch_tokens"] in (1024, 2048)


@pytest.mark.parametrize("task", ["classify", "tag", "mlm", "embed"])
def test_encoders_learn_there(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    recipe = write_labelled(tmp_path, task, max_steps=20)
    assert main(["train", str(recipe), "--set", "training.device='cuda'", "--set", "training.precision='bf16'"]) == 0


def test_translations_are_those_of_a_processor(tiny_run: TinyRun) -> None:
    here, there = (Translator.load(tiny_run.best, engine="torch", device=d, dtype="float32") for d in ("cpu", "cuda"))
    lines = (tiny_run.recipe.with_name("test.en")).read_text(encoding="utf-8").splitlines()
    for search in (SearchConfig(beam_size=1), SearchConfig(beam_size=5, n_best=3), SearchConfig(mbr=5, sampling=True)):
        ours, theirs = (engine.translate(lines, search=search) for engine in (here, there))
        if not search.sampling:
            assert [str(each) for each in theirs] == [str(each) for each in ours]
    word = lines[0].split()[0].lower()
    assert "xyz" in str(there.translate(lines[:1], glossary=Glossary({word: "xyz"}))[0])
    bf16 = Translator.load(tiny_run.best, engine="torch", device="cuda", dtype="bf16")
    assert "bfloat16 on cuda" in bf16.engine.description
    same = sum(str(a) == str(b) for a, b in zip(bf16.translate(lines), here.translate(lines), strict=True))
    assert same > 0.8 * len(lines)
