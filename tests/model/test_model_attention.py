"""Equation 1 of the paper: worked by hand, fused, masked, grouped and recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from yiwen.model.attention import (
    CrossAttention,
    MultiHeadAttention,
    SelfAttention,
    attention_weights,
    fused_attention,
    merge_heads,
    plain_attention,
    recorded_attention,
    split_heads,
    use_attention,
)
from yiwen.model.config import ModelConfig
from yiwen.model.dropout import drawing_from
from yiwen.model.masks import attention_bias, padding_mask, target_mask
from yiwen.model.positions import RotaryPositions
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
B, H, Q, M, K = 2, 3, 5, 7, 11


def queries_keys_values() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randn(B, H, Q, K, generator=generator),
        torch.randn(B, H, M, K, generator=generator),
        torch.randn(B, H, M, K, generator=generator),
    )


def random_mask() -> Tensor:
    """(B, 1, Q, M) with at least one place allowed in every row."""
    mask = torch.rand(B, 1, Q, M, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 3] = True
    return mask


def test_equation_1_worked_by_hand() -> None:
    # d_k = 4; scores 2 ln 3 and 0, divided by sqrt(4): ln 3 and 0; weights 3/4 and 1/4; values 8 and 4 -> 7.
    q = torch.tensor([2 * math.log(3), 0, 0, 0]).view(1, 1, 1, 4)
    k = torch.tensor([[1.0, 5, 5, 5], [0, 6, 6, 6]]).view(1, 1, 2, 4)
    v = torch.tensor([[8.0, 8, 8, 8], [4, 4, 4, 4]]).view(1, 1, 2, 4)
    assert attention_weights(q, k, None).flatten().tolist() == pytest.approx([0.75, 0.25])
    assert plain_attention(q, k, v).flatten().tolist() == pytest.approx([7.0] * 4)


def test_weights_of_a_query_sum_to_one_and_forbidden_places_are_exactly_zero() -> None:
    q, k, _ = queries_keys_values()
    mask = random_mask()
    weights = attention_weights(100 * q, k, attention_bias(mask, torch.float32))
    assert weights.shape == (B, H, Q, M)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(B, H, Q))
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all()


@pytest.mark.parametrize("has_bias", [False, True])
def test_fused_attention_equals_plain_attention_and_so_do_its_gradients(has_bias: bool) -> None:
    bias = attention_bias(random_mask(), torch.float32) if has_bias else None
    results = []
    for attend in (plain_attention, fused_attention):
        inputs = [tensor.requires_grad_() for tensor in queries_keys_values()]
        out = attend(inputs[0], inputs[1], inputs[2], bias)
        results.append((out, *torch.autograd.grad((out**2).sum(), inputs)))
    for plain, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain, rtol=1e-5, atol=1e-5)


def test_attention_dropout_drops_whole_weights_and_keeps_their_mean() -> None:
    torch.manual_seed(1)
    q, k = torch.zeros(1, 1, 1000, K), torch.zeros(1, 1, M, K)
    one_hot_values = torch.eye(M).view(1, 1, M, M)  # so that the output is the row of weights itself
    weights = plain_attention(q, k, one_hot_values, None, 0.5)
    assert weights.unique().tolist() == pytest.approx([0.0, 2 / M])
    assert weights.sum(dim=-1).mean().item() == pytest.approx(1.0, abs=0.03)


def test_splitting_and_merging_heads_are_inverse_and_put_each_head_together() -> None:
    x = torch.arange(B * Q * H * K).view(B, Q, H * K)
    heads = split_heads(x, K)
    assert heads.shape == (B, H, Q, K)
    assert torch.equal(heads[1, 2, 3], x[1, 3, 2 * K : 3 * K])
    assert torch.equal(merge_heads(heads), x)


def test_grouped_queries_equal_full_heads_with_repeated_weights() -> None:
    torch.manual_seed(1)
    d_model, n_heads, n_kv_heads, K = 24, 6, 2, 4
    grouped = SelfAttention(ModelConfig(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads), None)
    full = SelfAttention(ModelConfig(d_model=d_model, n_heads=n_heads), None)
    d_kv = n_kv_heads * K
    with torch.no_grad():
        full.heads.load_state_dict(grouped.heads.state_dict())
        for ours, theirs in (
            (full.qkv_proj.weight, grouped.qkv_proj.weight),
            (full.qkv_proj.bias, grouped.qkv_proj.bias),
        ):
            q, k, v = theirs.split([d_model, d_kv, d_kv])
            repeated = [part.unflatten(0, (n_kv_heads, K)).repeat_interleave(3, dim=0).flatten(0, 1) for part in (k, v)]
            ours.copy_(torch.cat([q, *repeated]))
    x = torch.randn(B, Q, d_model)
    torch.testing.assert_close(grouped(x, None), full(x, None), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("positions", ["none", "rotary"])
@torch.no_grad()
def test_self_attention_step_by_step_equals_self_attention_over_the_whole(positions: str) -> None:
    torch.manual_seed(1)
    config = ModelConfig(d_model=24, n_heads=6, n_kv_heads=3)
    attention = SelfAttention(config, RotaryPositions(11, 4) if positions == "rotary" else None)
    x = torch.randn(B, 7, 24)
    lower_triangle = torch.ones(7, 7, dtype=torch.bool).tril()[None, None]
    whole = attention(x, attention_bias(lower_triangle, torch.float32))
    past = torch.zeros(7, 2, B, 3 * 4)  # of the few heads only
    room = attention_bias(lower_triangle[0], torch.float32)  # (1, 7, 7): row t forbids what lies behind t
    steps = [attention.step(x[:, t], past, t, room[:, t : t + 1]) for t in range(7)]
    torch.testing.assert_close(torch.stack(steps, dim=1), whole, rtol=1e-5, atol=1e-6)


def test_cross_attention_projects_the_memory_to_its_few_heads() -> None:
    attention = CrossAttention(ModelConfig(d_model=24, n_heads=6, n_kv_heads=2))
    memory = attention.project(torch.randn(B, M, 24))
    assert memory.key.shape == memory.value.shape == (B, 2, M, 4)
    assert attention(torch.randn(B, Q, 24), memory, None).shape == (B, Q, 24)


def test_attention_dropout_is_off_in_evaluation() -> None:
    attention = SelfAttention(ModelConfig(d_model=24, n_heads=6, dropout=0.0, attention_dropout=0.5), None)
    x = torch.randn(B, Q, 24)
    assert not torch.equal(attention(x, None), attention(x, None))
    attention.eval()
    assert torch.equal(attention(x, None), attention(x, None))


@pytest.mark.parametrize("changes", [{}, {"positions": "alibi", "n_kv_heads": 2}])
@torch.no_grad()
def test_recorded_maps_are_the_weights_and_the_attend_functions_come_back(
    make_model: MakeModel, changes: dict[str, object]
) -> None:
    model = make_model(**changes)
    use_attention(model, fused_attention)
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    src_ids, tgt_in = torch.tensor([[5, 6, 7, 8, 9, 3, 0], [4, 3, 0, 0, 0, 0, 0]]), torch.tensor([[2, 5, 6], [2, 7, 0]])
    states = model(src_ids, tgt_in)
    with recorded_attention(model) as maps:
        recorded_states = model(src_ids, tgt_in)
    torch.testing.assert_close(recorded_states, states, rtol=1e-5, atol=1e-5)
    assert all(module.attend is fused_attention for module in attentions)
    encoder = [f"encoder.layers.{n}.self_attention" for n in range(2)]
    decoder = [f"decoder.layers.{n}.{kind}" for n in range(3) for kind in ("self_attention", "cross_attention")]
    assert list(maps) == encoder + decoder
    masks = {
        "encoder": padding_mask(src_ids, 0).expand(2, 6, 7, 7),
        "self_attention": target_mask(tgt_in, 0).expand(2, 6, 3, 3),
        "cross_attention": padding_mask(src_ids, 0).expand(2, 6, 3, 7),
    }
    for name, weights in maps.items():
        mask = masks[name.split(".")[0] if name in encoder else name.split(".")[-1]]
        assert weights.shape == mask.shape
        assert weights.dtype == torch.float32
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(mask.shape[:-1]))
        assert (weights[~mask] == 0).all()
        assert (weights[mask] > 0).all()


def test_what_passes_in_another_thread_is_not_recorded(make_model: MakeModel) -> None:
    model = make_model()
    ids = torch.tensor([[5, 6, 3]])
    with recorded_attention(model) as maps, ThreadPoolExecutor(1) as thread:
        thread.submit(model, ids, ids).result()
        assert not maps
        model(ids, ids)
    assert maps


def test_the_attend_functions_come_back_after_an_error(make_model: MakeModel) -> None:
    model = make_model()
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    with pytest.raises(RuntimeError, match="in the block"), recorded_attention(model):
        raise RuntimeError("in the block")
    assert all(module.attend is plain_attention for module in attentions)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_a_model_with_fused_attention_has_the_same_logits_and_gradients(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions, n_kv_heads=3)
    src_ids, tgt_in = torch.tensor([[5, 6, 7, 8, 3], [4, 3, 0, 0, 0]]), torch.tensor([[2, 5, 6], [2, 7, 0]])
    results = []
    for attend in (plain_attention, fused_attention):
        use_attention(model, attend)
        model.zero_grad()
        logits = model.logits(model(src_ids, tgt_in))[tgt_in != 0]
        (logits**2).sum().backward()
        results.append([logits.detach(), *(parameter.grad for parameter in model.parameters())])
    for plain, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-4)


def test_on_a_cpu_fused_attention_drops_weights_by_our_own_numbers() -> None:
    q, k, v = (torch.randn(B, H, n, K, generator=torch.Generator().manual_seed(n)) for n in (Q, M, M))
    found = []
    for _ in range(2):
        torch.rand(7)  # the numbers that all threads share have moved on
        with drawing_from(torch.Generator().manual_seed(3)):
            found.append(fused_attention(q, k, v, dropout_p=0.5))
    assert torch.equal(*found)
    assert not torch.equal(found[0], fused_attention(q, k, v))


def test_elsewhere_the_fused_kernel_drops_as_many_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    kernel = "torch.nn.functional.scaled_dot_product_attention"
    monkeypatch.setattr(kernel, lambda *_, attn_mask, dropout_p: shares.append(dropout_p))
    fused_attention(*(torch.empty(B, H, n, K, device="meta") for n in (Q, M, M)), None, 0.3)
    assert shares == [0.3]
