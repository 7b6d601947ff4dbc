"""Packed sentences: the loss, its gradients and the states are those of the same sentences padded.

PyTorch's kernel for them is for CUDA. Here a loop over the sentences stands in its place; that the kernel
takes what it is given is tested with PyTorch's description of it, which computes shapes alone.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from varlen import one_by_one
from yiwen.data.batching import Batch, Packing, collate
from yiwen.model import attention
from yiwen.model.attention import Packed, packed_attention, use_attention
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.tasks.translate import translation_loss

V, LENGTHS = 31, [(5, 2), (2, 7), (1, 0), (11, 3)]


def build(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    shape: dict[str, Any] = {"d_model": 24, "n_heads": 6, "d_ff": 13, "n_encoder_layers": 2, "n_decoder_layers": 2}
    return Transformer(ModelConfig(**{**shape, **changes}), src_vocab_size=V, tgt_vocab_size=V).double().eval()


def sentences() -> Batch:
    rng = np.random.default_rng(3)
    src, tgt = ([rng.integers(4, V, size=pair[side]) for pair in LENGTHS] for side in (0, 1))
    return collate(src, tgt)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize(
    "changes", [{}, {"n_kv_heads": 2, "norm_order": "pre"}], ids=["post-norm", "pre-norm, grouped"]
)
@pytest.mark.parametrize("rdrop", [0.0, 3.0])
def test_loss_and_gradients_are_those_of_padded_sentences(
    monkeypatch: pytest.MonkeyPatch, positions: str, changes: dict[str, Any], rdrop: float
) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", one_by_one)
    model, batch = build(positions=positions, **changes), sentences()
    loss_fn, parameters = translation_loss(0.1, rdrop=rdrop), list(model.parameters())
    loss, n_tokens = loss_fn(model, batch)
    gradients = torch.autograd.grad(loss, parameters)
    packed_loss, n_packed = loss_fn(model, batch.packed())
    assert n_packed == n_tokens == 3 + 8 + 1 + 4
    assert packed_loss.item() == pytest.approx(loss.item(), rel=1e-6)  # the loss itself is summed in float32
    for packed, padded in zip(torch.autograd.grad(packed_loss, parameters), gradients, strict=True):
        torch.testing.assert_close(packed, padded, rtol=1e-5, atol=1e-6)


def test_no_sentence_sees_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", one_by_one)
    model, batch = build(), sentences().packed()
    assert batch.packings is not None
    states = model.forward_packed(batch.src_ids, batch.tgt_in, *batch.packings)
    batch.src_ids[0, 6:] = 17  # all but the first sentence: five subwords and eos
    batch.tgt_in[0, 3:] = 19
    changed = model.forward_packed(batch.src_ids, batch.tgt_in, *batch.packings)
    torch.testing.assert_close(changed[:, :3], states[:, :3], rtol=0, atol=0)
    assert not torch.isclose(changed[:, 3:], states[:, 3:]).all(dim=2).any()


def test_the_kernel_is_told_the_longest_of_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", one_by_one)  # refuses one that is longer
    for n_queries, n_keys in ((3, 131), (131, 3)):
        both = [Packing.of(torch.ones(1, n, dtype=torch.bool)) for n in (n_queries, n_keys)]
        q, k, v = (torch.ones(1, 2, len(each.places), 5) for each in (*both, both[1]))
        assert packed_attention(q, k, v, Packed(*both)).shape == q.shape


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("rdrop", [0.0, 3.0])
def test_no_pass_asks_a_device_for_a_value(monkeypatch: pytest.MonkeyPatch, is_packed: bool, rdrop: float) -> None:
    """Tensors of the device "meta" have shapes and no values: whatever would wait for a GPU fails there."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)  # neither knows "meta"
    monkeypatch.setattr(torch, "autocast", lambda device, **_: nullcontext())
    model, batch = build(dropout=0.1).float().train().to("meta"), sentences()
    loss, n_tokens = translation_loss(0.1, rdrop=rdrop)(model, (batch.packed() if is_packed else batch).to("meta"))
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    assert {gradient.device.type for gradient in gradients} == {"meta"}
    assert n_tokens == batch.n_tokens
    with pytest.raises(RuntimeError, match="meta"):
        loss.item()


@pytest.mark.parametrize("way", ["plain", "fused"])
def test_padded_sentences_go_on_as_before_in_the_same_model(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", None)  # not to be called
    model, batch = build(), sentences()
    use_attention(model, getattr(attention, f"{way}_attention"))
    assert torch.isfinite(translation_loss(0.1)(model, batch)[0])


def test_the_kernel_takes_what_it_is_given() -> None:
    packings = sentences().packed().packings
    assert packings is not None
    with FakeTensorMode() as mode:
        src, tgt = (
            Packing(mode.from_tensor(each.starts), mode.from_tensor(each.places), each.longest) for each in packings
        )
        n_src, n_tgt = 6 + 3 + 2 + 12, 3 + 8 + 1 + 4
        q = torch.empty(1, 6, n_tgt, 8, dtype=torch.bfloat16, requires_grad=True)
        k, v = (torch.empty(1, 6, n_src, 8, dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
        for keys, values, packed in ((k, v, Packed(tgt, src)), (q, q, Packed(tgt, tgt, is_causal=True))):
            out = packed_attention(q, keys, values, packed)
            assert (out.shape, out.dtype) == ((1, 6, n_tgt, 8), torch.bfloat16)
            assert [grad.shape for grad in torch.autograd.grad(out.sum(), (q, keys))] == [q.shape, keys.shape]
