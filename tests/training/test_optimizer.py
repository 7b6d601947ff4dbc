"""Optimizers: which parameter goes where, and a state that comes back whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from toy_job import CPU, SMALL, ToyModel

from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.tasks.heads import EncoderModel
from yiwen.training.muon import Muon
from yiwen.training.optimizer import (
    Adam,
    build_optimizers,
    load_optimizer_tensors,
    optimizer_tensors,
    update_average,
)
from yiwen.training.state import seed_of
from yiwen.training.step import ShardPool, apply_gradients

Name = Literal["adam", "adamw", "muon"]


def transformer(**settings: Any) -> Transformer:
    shape: dict[str, Any] = {"d_model": 6, "n_heads": 3, "d_ff": 7, "n_encoder_layers": 1, "n_decoder_layers": 1}
    return Transformer(ModelConfig(**{**shape, **settings}), src_vocab_size=11, tgt_vocab_size=11)


def decayed(model: torch.nn.Module, name: Name) -> set[str]:
    names = {id(parameter): n for n, parameter in model.named_parameters()}
    return {
        names[id(parameter)]
        for optimizer in build_optimizers(model, replace(SMALL, optimizer=name, weight_decay=0.5), CPU)
        for group in optimizer.param_groups
        for parameter in group["params"]
        if {0.0: False, 0.5: True}[group["weight_decay"]]
    }


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_only_matrices_of_the_layers_decay(name: Name) -> None:
    model = transformer(positions="learned")
    found = decayed(model, name)
    assert "encoder.layers.0.feed_forward" in " ".join(found)
    for parameter_name, parameter in model.named_parameters():
        is_matrix = parameter.dim() == 2 and "embedding" not in parameter_name and "positions" not in parameter_name
        assert (parameter_name in found) == is_matrix, parameter_name


def test_adam_of_the_paper_decays_nothing() -> None:
    assert decayed(transformer(), "adam") == set()


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_every_parameter_is_in_one_group_of_one_optimizer(name: Name) -> None:
    model = transformer(tied_embeddings="none")
    groups = [g["params"] for o in build_optimizers(model, replace(SMALL, optimizer=name), CPU) for g in o.param_groups]
    found = sorted(id(parameter) for group in groups for parameter in group)
    assert found == sorted(id(parameter) for parameter in model.parameters())


def test_muon_takes_the_matrices_and_adamw_the_rest() -> None:
    muon, adamw = build_optimizers(transformer(), replace(SMALL, optimizer="muon"), CPU)
    assert isinstance(muon, Muon)
    assert isinstance(adamw, Adam)
    assert all(parameter.dim() == 2 for parameter in muon.param_groups[0]["params"])


def test_the_matrices_are_dealt_out_among_the_shards() -> None:
    model = transformer()
    *muons, adamw = build_optimizers(model, replace(SMALL, optimizer="muon"), replace(CPU, threads=3, shards=3))
    (whole, _) = build_optimizers(model, replace(SMALL, optimizer="muon"), CPU)
    assert [type(optimizer) for optimizer in muons] == [Muon] * 3
    assert isinstance(adamw, Adam)
    dealt = [parameter for muon in muons for parameter in muon.param_groups[0]["params"]]
    assert {id(parameter) for parameter in dealt} == {id(p) for p in whole.param_groups[0]["params"]}
    sizes = [len(muon.param_groups[0]["params"]) for muon in muons]
    assert max(sizes) - min(sizes) <= 1
    *each_alone, _ = build_optimizers(model, replace(SMALL, optimizer="muon"), replace(CPU, threads=97, shards=97))
    assert len(each_alone) == len(dealt)


def test_one_step_of_adam_by_hand() -> None:
    """The first step of Adam moves every weight by the learning rate against the sign of its gradient."""
    model = torch.nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    (optimizer,) = build_optimizers(model, replace(SMALL, optimizer="adam"), CPU)
    model.weight.grad = torch.tensor([[3.0, -0.001]])
    apply_gradients(model, [optimizer], rate=0.25, norm=3.0, clip_norm=0.0, pool=ShardPool(CPU))
    assert torch.allclose(model.weight.detach() - before, torch.tensor([[-0.25, 0.25]]), atol=1e-5)


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_a_parameter_of_a_lower_rate_moves_by_so_much_less(name: Name) -> None:
    def moved(rate_of: Callable[[str], float]) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        model = ToyModel()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        optimizers = build_optimizers(model, replace(SMALL, optimizer=name, weight_decay=0.0), CPU, rate_of=rate_of)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter).cumsum(0)
        apply_gradients(model, optimizers, rate=0.25, norm=1.0, clip_norm=0.0, pool=ShardPool(CPU))
        return {key: value - before[key] for key, value in model.state_dict().items()}

    rates = {"embedding.weight": 0.5, "inner.weight": 0.125, "inner.bias": 0.0}
    whole, found = moved(lambda name: 1.0), moved(lambda name: rates.get(name, 1.0))
    for key in whole:
        assert whole[key].abs().max() > 0.01
        torch.testing.assert_close(found[key], rates.get(key, 1.0) * whole[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_the_state_comes_back_and_goes_on_alike(name: Name) -> None:
    config = replace(SMALL, optimizer=name)
    first, second = ToyModel(), ToyModel()
    optimizers = build_optimizers(first, config, CPU)

    def step(model: torch.nn.Module, its: Any, scale: float) -> None:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, scale).cumsum(0)
        for optimizer in its:
            optimizer.step()

    for scale in (0.5, -0.3, 0.2):
        step(first, optimizers, scale)
    second.load_state_dict(first.state_dict())
    others = build_optimizers(second, config, CPU)
    tensors = optimizer_tensors(first, optimizers)
    load_optimizer_tensors(second, others, {key: value.clone() for key, value in tensors.items()})
    again = optimizer_tensors(second, others)
    assert tensors.keys() == again.keys()
    assert all(torch.equal(tensors[key], again[key]) for key in tensors)
    for scale in (0.1, -0.4):
        step(first, optimizers, scale)
        step(second, others, scale)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_the_average_by_hand() -> None:
    model, average = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(average.weight, 0.0)
    torch.nn.init.constant_(model.weight, 6.0)
    update_average(average, model, step=1, decay=0.9)  # decay 1 / 6: 0 + 5 / 6 x 6
    assert average.weight.item() == pytest.approx(5.0)
    update_average(average, model, step=1000, decay=0.9)  # 5 + 0.1 x 1
    assert average.weight.item() == pytest.approx(5.1)


def test_seeds_differ_in_every_number_and_its_place() -> None:
    seeds = {seed_of(1, 2), seed_of(2, 1), seed_of(12), seed_of(1, 2, 0), seed_of(0, 1, 2), seed_of(1)}
    assert len(seeds) == 6
    assert all(0 <= seed < 1 << 63 for seed in seeds)
    # Half of the first eight bytes, the last one first, that `printf '1 2' | sha256sum` gives: of every version, or a
    # run that goes on with a newer one would draw otherwise.
    assert seed_of(1, 2) == 0x299C3B36FE9819F7 // 2


def test_an_output_matrix_of_its_own_is_no_layer() -> None:
    model = transformer(tied_embeddings="none")
    classifier = EncoderModel(model.config, vocab_size=11, n_labels=5)
    for each, output in ((model, model.output_proj), (classifier, classifier.head)):
        *muons, adamw = build_optimizers(each, replace(SMALL, optimizer="muon"), CPU)
        where = [id(p) for optimizer in muons for group in optimizer.param_groups for p in group["params"]]
        assert id(output.weight) not in where
        assert any(p is output.weight for group in adamw.param_groups for p in group["params"])


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_settings_of_adam_are_those_of_the_config(name: Name) -> None:
    config = replace(SMALL, optimizer=name, beta1=0.7, beta2=0.9, epsilon=1e-3)
    *_, adam = build_optimizers(transformer(), config, CPU)
    assert {(group["betas"], group["eps"]) for group in adam.param_groups} == {((0.7, 0.9), 1e-3)}


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_adam_moves_as_that_of_torch_to_the_bit(name: Name) -> None:
    *_, adam = build_optimizers(transformer(), replace(SMALL, optimizer=name, weight_decay=0.3), CPU)
    kinds = [
        {
            "params": [torch.nn.Parameter(p.detach().clone()) for p in group["params"]],
            "weight_decay": group["weight_decay"],
        }
        for group in adam.param_groups
    ]
    by_torch = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    theirs = by_torch(kinds, lr=SMALL.learning_rate, betas=(SMALL.beta1, SMALL.beta2), eps=SMALL.epsilon, fused=True)
    pairs = [
        pair
        for ours, other in zip(adam.param_groups, theirs.param_groups, strict=True)
        for pair in zip(ours["params"], other["params"], strict=True)
    ]
    for step in range(5):
        for mine, other in pairs[step % 2 :]:  # now and then the first one has no gradient
            mine.grad = torch.randn(mine.shape, generator=torch.Generator().manual_seed(step))
            other.grad = mine.grad.clone()
        adam.step()
        theirs.step()
        pairs[0][0].grad = pairs[0][1].grad = None
    for mine, other in pairs:
        assert torch.equal(mine, other)
        assert adam.state[mine].keys() == theirs.state[other].keys()  # what a checkpoint holds
        assert all(torch.equal(adam.state[mine][key], theirs.state[other][key]) for key in adam.state[mine])


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_no_update_imports_the_compiler_of_torch(name: Name) -> None:
    program = (
        "import sys, torch\n"
        "from yiwen.hardware import Hardware\n"
        "from yiwen.training.config import TrainingConfig\n"
        "from yiwen.training.optimizer import build_optimizers\n"
        "hardware = Hardware(device='cpu', precision='float32', threads=1, attention='plain', keeps_memory=False)\n"
        "model = torch.nn.Linear(2, 3)\n"
        "model(torch.ones(5, 2)).sum().backward()\n"
        f"for optimizer in build_optimizers(model, TrainingConfig(optimizer={name!r}), hardware):\n"
        "    optimizer.step()\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"  # it takes as long to import as all the rest of torch


@pytest.mark.parametrize(("is_bf16", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_muon_computes_in_bf16_where_the_run_does(is_bf16: bool, dtype: torch.dtype) -> None:
    muon, _ = build_optimizers(
        transformer(), replace(SMALL, optimizer="muon"), replace(CPU, precision="bf16" if is_bf16 else "float32")
    )
    assert isinstance(muon, Muon)
    assert muon.dtype == dtype
