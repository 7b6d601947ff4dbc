"""The decoder by itself: it never sees the future, and its padding never matters."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from yiwen.model.attention import fused_attention, use_attention
from yiwen.model.cache import DecoderCache
from yiwen.model.masks import attention_bias, padding_mask, target_mask
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]
T = 5


def influence(model: Transformer, src_ids: Tensor, tgt_in: Tensor) -> Tensor:
    """|d state_t / d embedding_u|, the largest over all numbers of both and over the batch: (T, T)."""
    embedded: list[Tensor] = []

    def keep(module: object, inputs: object, out: Tensor) -> Tensor:
        embedded.append(out.detach().requires_grad_())
        return embedded[-1]

    handle = model.tgt_embedding.register_forward_hook(keep)
    states = model.decode(tgt_in, model.encode(src_ids).detach(), padding_mask(src_ids, 0))
    handle.remove()
    rows = []
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(3))
    for t in range(tgt_in.size(1)):
        # The encoder embeds with the same matrix: the last output kept is the decoder's.
        (gradient,) = torch.autograd.grad((states * weights)[:, t].sum(), embedded[-1], retain_graph=True)
        rows.append(gradient.abs().amax(dim=(0, 2)))
    return torch.stack(rows)


@pytest.mark.parametrize("attend", ["plain", "fused"])
@pytest.mark.parametrize(("positions", "norm_order"), list(itertools.product(POSITIONS, ["post", "pre"])))
def test_no_position_sees_the_future(make_model: MakeModel, positions: str, norm_order: str, attend: str) -> None:
    model = make_model(positions=positions, norm_order=norm_order, n_kv_heads=3)
    if attend == "fused":
        use_attention(model, fused_attention)
    seen = influence(model, torch.randint(4, 31, (2, 7)), torch.randint(4, 31, (2, T)))
    future = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
    assert (seen[future] == 0).all()
    assert (seen[~future] > 1e-7).all()  # and every position does see all of its past


@torch.no_grad()
def test_later_tokens_never_change_earlier_states(make_model: MakeModel) -> None:
    model = make_model()
    src_ids, tgt_in = torch.randint(4, 31, (2, 7)), torch.randint(4, 31, (2, 11))
    states = model(src_ids, tgt_in)
    for t in range(1, 11):
        changed = tgt_in.clone()
        changed[:, t:] = torch.randint(4, 31, (2, 11 - t))
        assert torch.equal(model(src_ids, changed)[:, :t], states[:, :t])


@torch.no_grad()
def test_the_decoder_reads_the_memory_at_every_position(make_model: MakeModel) -> None:
    model = make_model()
    tgt_in = torch.randint(4, 31, (1, T))
    states = model(torch.tensor([[5, 6, 7, 3]]), tgt_in)
    difference = (model(torch.tensor([[5, 6, 8, 3]]), tgt_in) - states).abs().amax(dim=2)
    assert (difference > 1e-5).all()


@torch.no_grad()
def test_memory_behind_the_mask_never_reaches_the_decoder(make_model: MakeModel) -> None:
    model = make_model()
    tgt_in = torch.randint(4, 31, (1, T))
    mask = padding_mask(torch.tensor([[5, 6, 3, 0, 0]]), 0)
    memory = torch.randn(1, 5, 24)
    wild = memory.clone()
    wild[:, 3:] = 1e4 * torch.randn(1, 2, 24)
    assert torch.equal(model.decode(tgt_in, memory, mask), model.decode(tgt_in, wild, mask))


@torch.no_grad()
def test_a_layer_step_equals_the_last_row_of_the_whole_layer(make_model: MakeModel) -> None:
    model = make_model(n_kv_heads=2)
    layer = next(iter(model.decoder))
    src_ids, tgt_in = torch.tensor([[5, 6, 7, 3, 0]]), torch.randint(4, 31, (1, T))
    memory = layer.cross_attention.project(torch.randn(1, 5, 24))
    cross_bias = attention_bias(padding_mask(src_ids, 0), torch.float32)
    x = torch.randn(1, T, 24)
    whole = layer(x, memory, attention_bias(target_mask(tgt_in, 0), torch.float32), cross_bias)
    cache = DecoderCache.empty((memory,), cross_bias)
    for t in range(T):
        cache = cache.longer(1)
        (past,) = cache.layers()
        out = layer.step(x[:, t], past, t, cache.memories[0], cache.self_bias(None), cache.cross_bias)
        torch.testing.assert_close(out, whole[:, t], rtol=0, atol=1e-5)
