"""Our model against two independent ones with the same weights: `torch.nn` layers, and loops over the papers' formulas.

Everything runs in float64, so that agreement to 1e-9 leaves no room for a wrong constant.
"""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.model.config import ModelConfig
from yiwen.model.decoder import DecoderLayer
from yiwen.model.encoder import EncoderLayer
from yiwen.model.transformer import Transformer

PAD, B, S, T, V_SRC, V_TGT = 0, 3, 7, 5, 29, 31
SRC_LENGTHS, TGT_LENGTHS = (7, 4, 2), (3, 5, 1)


def build(**changes: Any) -> Transformer:
    """A model in which no weight is zero or one, so that a forgotten bias or norm shows."""
    torch.manual_seed(1)
    shape: dict[str, Any] = {"d_model": 24, "n_heads": 6, "d_ff": 13, "n_encoder_layers": 2, "n_decoder_layers": 3}
    config = ModelConfig(**{**shape, "dropout": 0.0, "tied_embeddings": "none", "max_len": 17, **changes})
    model = Transformer(config, src_vocab_size=V_SRC, tgt_vocab_size=V_TGT, pad_id=PAD).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def padded_batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    src_ids = torch.randint(4, V_SRC, (B, S), generator=generator)
    tgt_in = torch.randint(4, V_TGT, (B, T), generator=generator)
    for row in range(B):
        src_ids[row, SRC_LENGTHS[row] :] = PAD
        tgt_in[row, TGT_LENGTHS[row] :] = PAD
    return src_ids, tgt_in


def paper_sinusoids(length: int, d_model: int) -> Tensor:
    """Section 3.5, one number at a time."""
    return torch.tensor(
        [
            [
                math.sin(pos / 10000 ** (j / d_model)) if j % 2 == 0 else math.cos(pos / 10000 ** ((j - 1) / d_model))
                for j in range(d_model)
            ]
            for pos in range(length)
        ],
        dtype=torch.float64,
    )


class TorchTransformer(nn.Module):
    """The paper's model from PyTorch's own layers, which also do the masking in their own way."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        options: dict[str, Any] = {
            "d_model": config.d_model,
            "nhead": config.n_heads,
            "dim_feedforward": config.d_ff,
            "dropout": 0.0,
            "activation": config.activation,
            "layer_norm_eps": 1e-6,
            "batch_first": True,
            "norm_first": config.norm_order == "pre",
            "dtype": torch.float64,
        }
        self.src_embedding = nn.Embedding(V_SRC, config.d_model, dtype=torch.float64)
        self.tgt_embedding = nn.Embedding(V_TGT, config.d_model, dtype=torch.float64)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(**options) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(**options) for _ in range(config.n_decoder_layers))
        is_pre = config.norm_order == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model, 1e-6, dtype=torch.float64) if is_pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model, 1e-6, dtype=torch.float64) if is_pre else nn.Identity()
        self.output = nn.Linear(config.d_model, V_TGT, bias=False, dtype=torch.float64)
        self.scale = config.d_model**0.5

    def forward(self, src_ids: Tensor, tgt_in: Tensor) -> Tensor:
        D = self.src_embedding.embedding_dim
        src_is_pad, tgt_is_pad = src_ids == PAD, tgt_in == PAD
        future = torch.triu(torch.ones(tgt_in.size(1), tgt_in.size(1), dtype=torch.bool), diagonal=1)
        memory = self.src_embedding(src_ids) * self.scale + paper_sinusoids(src_ids.size(1), D)
        for layer in self.encoder:
            memory = layer(memory, src_key_padding_mask=src_is_pad)
        memory = self.encoder_norm(memory)
        x = self.tgt_embedding(tgt_in) * self.scale + paper_sinusoids(tgt_in.size(1), D)
        for layer in self.decoder:
            x = layer(
                x,
                memory,
                tgt_mask=future,
                tgt_key_padding_mask=tgt_is_pad,
                memory_key_padding_mask=src_is_pad,
            )
        return cast(Tensor, self.output(self.decoder_norm(x)))


Pair = tuple[Tensor, Tensor]
"""A parameter of PyTorch's and the rows of ours that belong there."""


def matching_weights(theirs: TorchTransformer, ours: Transformer, *, gradients: bool = False) -> list[Pair]:
    """Each of PyTorch's parameters (or its gradient) with what it corresponds to in our model."""

    def value(parameter: Tensor) -> Tensor:
        if gradients:
            assert parameter.grad is not None
            return parameter.grad
        return parameter.detach()

    pairs: list[Pair] = []

    def add(their: Tensor | None, *our: Tensor) -> None:
        assert their is not None
        pairs.append((value(their), torch.cat([value(part) for part in our])))

    def add_module(their: nn.Module, our: nn.Module) -> None:
        for (name, their_parameter), (our_name, our_parameter) in zip(
            their.named_parameters(), our.named_parameters(), strict=True
        ):
            assert name == our_name
            add(their_parameter, our_parameter)

    def add_self_attention(their: nn.MultiheadAttention, our: Any) -> None:
        add(their.in_proj_weight, our.qkv_proj.weight)
        add(their.in_proj_bias, our.qkv_proj.bias)
        add_module(their.out_proj, our.heads.out_proj)

    def add_cross_attention(their: nn.MultiheadAttention, our: Any) -> None:
        add(their.in_proj_weight, our.q_proj.weight, our.kv_proj.weight)
        add(their.in_proj_bias, our.q_proj.bias, our.kv_proj.bias)
        add_module(their.out_proj, our.heads.out_proj)

    def add_feed_forward(their: Any, our: Any) -> None:
        add_module(their.linear1, our.feed_forward.inner)
        add_module(their.linear2, our.feed_forward.outer)

    add(theirs.src_embedding.weight, ours.src_embedding.weight)
    add(theirs.tgt_embedding.weight, ours.tgt_embedding.weight)
    add(theirs.output.weight, ours.output_weight)
    for their, our in zip(theirs.encoder, ours.encoder.layers, strict=True):
        assert isinstance(their, nn.TransformerEncoderLayer)
        assert isinstance(our, EncoderLayer)
        add_self_attention(their.self_attn, our.self_attention)
        add_feed_forward(their, our)
        add_module(their.norm1, our.self_residual.norm)
        add_module(their.norm2, our.feed_residual.norm)
    for their, our in zip(theirs.decoder, ours.decoder.layers, strict=True):
        assert isinstance(their, nn.TransformerDecoderLayer)
        assert isinstance(our, DecoderLayer)
        add_self_attention(their.self_attn, our.self_attention)
        add_cross_attention(their.multihead_attn, our.cross_attention)
        add_feed_forward(their, our)
        add_module(their.norm1, our.self_residual.norm)
        add_module(their.norm2, our.cross_residual.norm)
        add_module(their.norm3, our.feed_residual.norm)
    add_module(theirs.encoder_norm, ours.encoder.final_norm)
    add_module(theirs.decoder_norm, ours.decoder.final_norm)
    assert len(pairs) == len(list(theirs.parameters()))
    assert sum(our.numel() for _, our in pairs) == sum(p.numel() for p in ours.parameters())
    return pairs


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_order", ["post", "pre"])
def test_logits_and_gradients_equal_those_of_torch_nn_layers(norm_order: str, activation: str) -> None:
    ours = build(norm_order=norm_order, activation=activation)
    theirs = TorchTransformer(ours.config)
    for their, our in matching_weights(theirs, ours):
        their.copy_(our)
    src_ids, tgt_in = padded_batch()
    is_real = tgt_in != PAD
    our_logits = ours.logits(ours(src_ids, tgt_in))[is_real]
    their_logits = theirs(src_ids, tgt_in)[is_real]
    assert our_logits.shape == (sum(TGT_LENGTHS), V_TGT)
    torch.testing.assert_close(our_logits, their_logits, rtol=1e-6, atol=1e-6)  # our sinusoid table is float32
    gold = torch.arange(len(our_logits)) + 4
    F.cross_entropy(our_logits, gold).backward()
    F.cross_entropy(their_logits, gold).backward()
    for their, our in matching_weights(theirs, ours, gradients=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-6)


# What follows computes a whole model with loops over sentences, heads, queries and keys. Nothing in it is padded: each
# sentence is cut to its length first, so the padding of the real model is checked as well.


def naive_norm(x: Tensor, norm: Any, kind: str) -> Tensor:
    """Ba et al. 2016, equation 4; Zhang and Sennrich 2019, equation 4; one position at a time."""
    rows = []
    for row in x:
        if kind == "layer":
            mean = sum(row) / len(row)
            variance = sum((row - mean) ** 2) / len(row)
            rows.append((row - mean) / (variance + 1e-6) ** 0.5 * norm.weight + norm.bias)
        else:
            rows.append(row / (sum(row**2) / len(row) + 1e-6) ** 0.5 * norm.weight)
    return torch.stack(rows)


def naive_feed_forward(x: Tensor, part: Any, activation: str) -> Tensor:
    """Equation 2 of the paper; Hendrycks and Gimpel 2016; Shazeer 2020, equation 6 (beta 1)."""
    if activation == "swiglu":
        d_ff = part.outer.weight.size(1)
        gate = x @ part.gate_inner.weight[:d_ff].T + part.gate_inner.bias[:d_ff]
        value = x @ part.gate_inner.weight[d_ff:].T + part.gate_inner.bias[d_ff:]
        hidden = gate / (1 + torch.exp(-gate)) * value
    else:
        inner = x @ part.inner.weight.T + part.inner.bias
        if activation == "relu":
            hidden = inner * (inner > 0)
        else:
            hidden = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
    return hidden @ part.outer.weight.T + part.outer.bias


def naive_rotate(vector: Tensor, position: int) -> Tensor:
    """Su et al. 2021, equation 15: the block-diagonal rotation matrix, written out."""
    K = len(vector)
    rotation = torch.zeros(K, K, dtype=torch.float64)
    for i in range(K // 2):
        angle = position * 10000 ** (-2 * i / K)
        rotation[2 * i, 2 * i] = rotation[2 * i + 1, 2 * i + 1] = math.cos(angle)
        rotation[2 * i, 2 * i + 1] = -math.sin(angle)
        rotation[2 * i + 1, 2 * i] = math.sin(angle)
    return rotation @ vector


def naive_slope(head: int, n_heads: int) -> float:
    """Press et al. 2022, section 3, for a power of two; 6 heads: four from the 4-head series, then 2^-1 and 2^-3."""
    if n_heads == 6:
        return [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3][head]
    return float(2 ** (-8 * (head + 1) / n_heads))


def naive_attention(q: Tensor, k: Tensor, v: Tensor, config: ModelConfig, *, is_self: bool, is_causal: bool) -> Tensor:
    """Equation 1, one head, query and key at a time: q (Q, D), k and v (M, kv heads x K) -> (Q, D)."""
    K, group = config.d_head, config.n_heads // config.kv_heads
    out = torch.zeros_like(q)
    for head in range(config.n_heads):
        own, shared = slice(head * K, head * K + K), slice(head // group * K, head // group * K + K)
        for i in range(len(q)):
            n_visible = i + 1 if is_causal else len(k)
            scores = []
            for j in range(n_visible):
                query, key = q[i, own], k[j, shared]
                if is_self and config.positions == "rotary":
                    query, key = naive_rotate(query, i), naive_rotate(key, j)
                score = sum(query * key) / math.sqrt(K)
                if is_self and config.positions == "alibi":
                    score = score - naive_slope(head, config.n_heads) * abs(i - j)
                scores.append(math.exp(score))
            for j in range(n_visible):
                out[i, own] += scores[j] / sum(scores) * v[j, shared]
    return out


def naive_self_attention(x: Tensor, part: Any, config: ModelConfig, *, is_causal: bool) -> Tensor:
    D, d_kv = config.d_model, config.kv_heads * config.d_head
    weight, bias = part.qkv_proj.weight, part.qkv_proj.bias
    q = x @ weight[:D].T + bias[:D]
    k = x @ weight[D : D + d_kv].T + bias[D : D + d_kv]
    v = x @ weight[D + d_kv :].T + bias[D + d_kv :]
    out = naive_attention(q, k, v, config, is_self=True, is_causal=is_causal)
    return out @ part.heads.out_proj.weight.T + part.heads.out_proj.bias


def naive_cross_attention(x: Tensor, memory: Tensor, part: Any, config: ModelConfig) -> Tensor:
    d_kv = config.kv_heads * config.d_head
    q = x @ part.q_proj.weight.T + part.q_proj.bias
    k = memory @ part.kv_proj.weight[:d_kv].T + part.kv_proj.bias[:d_kv]
    v = memory @ part.kv_proj.weight[d_kv:].T + part.kv_proj.bias[d_kv:]
    out = naive_attention(q, k, v, config, is_self=False, is_causal=False)
    return out @ part.heads.out_proj.weight.T + part.heads.out_proj.bias


def naive_states(model: Any, src: Tensor, tgt: Tensor) -> Tensor:
    """The whole model for one unpadded sentence pair: (S,), (T,) -> (T, D)."""
    config: ModelConfig = model.config

    def residual(x: Tensor, part: Any, sublayer: Any) -> Tensor:
        if config.norm_order == "post":
            return naive_norm(x + sublayer(x), part.norm, config.norm)
        return x + sublayer(naive_norm(x, part.norm, config.norm))

    def embed(ids: Tensor, weight: Tensor, positions: Any) -> Tensor:
        x = weight[ids] * math.sqrt(config.d_model)
        if config.positions == "sinusoidal":
            x = x + paper_sinusoids(len(ids), config.d_model)
        if config.positions == "learned":
            x = x + positions.weight[: len(ids)]
        return x

    memory = embed(src, model.src_embedding.weight, model.src_positions)
    for layer in model.encoder.layers:
        attention, network = layer.self_attention, layer.feed_forward
        memory = residual(
            memory, layer.self_residual, lambda y, a=attention: naive_self_attention(y, a, config, is_causal=False)
        )
        memory = residual(memory, layer.feed_residual, lambda y, f=network: naive_feed_forward(y, f, config.activation))
    x = embed(tgt, model.tgt_embedding.weight, model.tgt_positions)
    if config.norm_order == "pre":
        memory = naive_norm(memory, model.encoder.final_norm, config.norm)
    for layer in model.decoder.layers:
        attention, cross, network = layer.self_attention, layer.cross_attention, layer.feed_forward
        x = residual(x, layer.self_residual, lambda y, a=attention: naive_self_attention(y, a, config, is_causal=True))
        x = residual(x, layer.cross_residual, lambda y, c=cross: naive_cross_attention(y, memory, c, config))
        x = residual(x, layer.feed_residual, lambda y, f=network: naive_feed_forward(y, f, config.activation))
    return naive_norm(x, model.decoder.final_norm, config.norm) if config.norm_order == "pre" else x


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_order": "pre"},
        {"positions": "learned", "activation": "gelu"},
        {"positions": "rotary"},
        {"positions": "alibi"},
        {"positions": "alibi", "n_heads": 4},
        {"norm": "rms"},
        {"activation": "swiglu"},
        {"n_kv_heads": 2},
        {"n_kv_heads": 1, "positions": "rotary"},
        {"n_kv_heads": 3, "positions": "alibi", "norm": "rms", "activation": "swiglu", "norm_order": "pre"},
        {"n_kv_heads": 2, "positions": "rotary", "norm": "rms", "activation": "gelu", "norm_order": "pre"},
    ],
    ids=lambda changes: "-".join(str(value) for value in changes.values()) or "paper",
)
@torch.no_grad()
def test_states_equal_loops_over_the_papers_formulas(changes: dict[str, Any]) -> None:
    model = build(n_encoder_layers=1, n_decoder_layers=2, **changes)
    src_ids, tgt_in = padded_batch()
    states = model(src_ids, tgt_in)
    for row in range(B):
        n_src, n_tgt = SRC_LENGTHS[row], TGT_LENGTHS[row]
        expected = naive_states(model, src_ids[row, :n_src], tgt_in[row, :n_tgt])
        torch.testing.assert_close(states[row, :n_tgt], expected, rtol=1e-6, atol=1e-6)
