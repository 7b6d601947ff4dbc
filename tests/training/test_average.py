"""A model with other weights is one for inference, and apart from the one that it was copied from."""

from __future__ import annotations

import torch
from torch import nn

from yiwen.training.average import with_weights


def test_a_copy_with_other_weights_drops_nothing_and_the_model_stays_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    weights = {"0.weight": torch.arange(15.0).view(5, 3), "0.bias": torch.ones(5)}
    copied = with_weights(model, weights)
    # 0·1 + 1·2 + 2·3 + 1, and in each further row all three weights are 3 larger: 3·1 + 3·2 + 3·3 more.
    assert copied(torch.tensor([1.0, 2.0, 3.0])).tolist() == [9.0, 27.0, 45.0, 63.0, 81.0]
    assert model.training, "it goes on training"
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
