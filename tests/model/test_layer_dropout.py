"""LayerDrop: whole layers are left out in training, as often as asked for, by the same draws in every run."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from yiwen.model.dropout import drawing_from, is_left_out
from yiwen.model.text_encoder import embed
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
SRC, TGT = (torch.randint(4, 31, (3, n), generator=torch.Generator().manual_seed(n)) for n in (7, 11))


def states(model: Transformer, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return model(SRC, TGT)


def test_a_layer_is_left_out_as_often_as_asked_for() -> None:
    torch.manual_seed(1)
    n = 2003
    share = sum(is_left_out(0.2) for _ in range(n)) / n
    assert share == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / n))


def test_whether_a_layer_is_left_out_depends_on_no_default_device() -> None:
    def drawn() -> list[bool]:
        with drawing_from(torch.Generator().manual_seed(7)):
            return [is_left_out(0.5) for _ in range(31)]

    with torch.device("meta"):  # in the place of a GPU
        there = drawn()
    assert there == drawn()


def test_nothing_is_drawn_where_it_is_off() -> None:
    before = torch.get_rng_state()
    assert not is_left_out(0.0)
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_draw_from_their_own_generator() -> None:
    before = torch.get_rng_state()
    with drawing_from(torch.Generator().manual_seed(7)):
        first = [is_left_out(0.5) for _ in range(31)]
    with drawing_from(torch.Generator().manual_seed(7)):
        assert [is_left_out(0.5) for _ in range(31)] == first
    assert 0 < sum(first) < 31
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("norm_order", ["pre", "post"])
def test_a_model_without_its_layers_is_embeddings_and_last_norm(make_model: MakeModel, norm_order: str) -> None:
    model = make_model(norm_order=norm_order, layer_dropout=1 - 1e-9, dropout=0.0).train()
    embedded = embed(model, TGT, model.tgt_embedding, model.tgt_positions)
    expected = model.decoder.final_norm(embedded)
    torch.testing.assert_close(states(model, 1), expected)


def test_every_layer_is_there_when_translating(make_model: MakeModel) -> None:
    model, whole = make_model(layer_dropout=0.9).eval(), make_model().eval()
    whole.load_state_dict(model.state_dict())
    assert torch.equal(states(model, 1), states(whole, 2))


def test_a_layer_left_out_has_no_gradient_and_the_others_have(make_model: MakeModel) -> None:
    model = make_model(n_encoder_layers=5, n_decoder_layers=3, layer_dropout=0.5).train()
    states(model, 3).square().sum().backward()

    trained = []
    for layer in (*model.encoder.layers, *model.decoder):
        (has_gradient,) = {parameter.grad is not None for parameter in layer.parameters()}  # all or nothing
        trained.append(has_gradient)
    assert 0 < sum(trained) < 8
    assert model.tgt_embedding.weight.grad is not None
