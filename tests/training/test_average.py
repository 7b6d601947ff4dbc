"""The mean of checkpoints by hand; a model with other weights is one for inference, and apart from its original."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from toy_job import CPU, SMALL, ToyModel

from yiwen.errors import CheckpointError
from yiwen.training.average import average_weights, with_weights
from yiwen.training.checkpoint import Trained, save_checkpoint
from yiwen.training.optimizer import build_optimizers
from yiwen.training.state import Progress


def saved(folder: Path, step: int, value: float) -> Path:
    """A checkpoint whose weights are all `value`, and their moving average -7."""
    model, average = ToyModel(), ToyModel()
    for each, its in ((model, value), (average, -7.0)):
        nn.utils.vector_to_parameters(torch.full((sum(p.numel() for p in each.parameters()),), its), each.parameters())
    trained = Trained(model, average, build_optimizers(model, SMALL, CPU))
    return save_checkpoint(folder, trained, progress=Progress(step=step))


def test_the_mean_is_that_of_the_trained_weights_summed_in_float64(tmp_path: Path) -> None:
    # In float32 2^24 + 1 is 2^24 again, and the mean half too small.
    paths = [saved(tmp_path, step, value) for step, value in ((2, 2.0**24), (3, 1.0), (5, 1.0))]
    mean = average_weights(paths)
    assert mean.keys() == dict(ToyModel().named_parameters()).keys()
    assert {weight.dtype for weight in mean.values()} == {torch.float32}
    assert {value for weight in mean.values() for value in weight.flatten().tolist()} == {5592406.0}  # (2^24 + 2) / 3


def test_a_damaged_checkpoint_is_in_no_mean(tmp_path: Path) -> None:
    good, bad = saved(tmp_path, 2, 3.0), saved(tmp_path, 3, 5.0)
    content = bytearray((bad / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (bad / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=f"to do without it, remove {bad}"):
        average_weights([good, bad])


def test_a_copy_with_other_weights_drops_nothing_and_the_model_stays_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    weights = {"0.weight": torch.arange(15.0).view(5, 3), "0.bias": torch.ones(5)}
    copied = with_weights(model, weights)
    # 0·1 + 1·2 + 2·3 + 1, and in each further row all three weights are 3 larger: 3·1 + 3·2 + 3·3 more.
    assert copied(torch.tensor([1.0, 2.0, 3.0])).tolist() == [9.0, 27.0, 45.0, 63.0, 81.0]
    assert model.training, "it goes on training"
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
