"""A trained model under the names that CTranslate2 has for its weights, or a refusal that says what stands in the way.

The layout is that of `ctranslate2.specs`; what the runtime computes from it was found by comparing it with our model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from ctranslate2 import specs
from ctranslate2.specs.common_spec import Activation
from torch import Tensor, nn

from yiwen.engines.exported import COMPUTE_TYPES, vocabulary
from yiwen.errors import ExportError
from yiwen.model.attention import SelfAttention
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.model.layers import FeedForward
from yiwen.model.positions import sinusoids
from yiwen.model.text_encoder import TextEncoder
from yiwen.model.transformer import Transformer
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Subword

SPARE_POSITIONS: Final = 8
"""Rows that the position tables have beyond the model's own: the engine looks one or two subwords past a limit."""


def write_model(
    folder: Path, model: Transformer, *, source: Subword, target: Subword, dtype: str, alignment: AlignmentHead | None
) -> None:
    """Write the files that CTranslate2 reads: model.bin, config.json and the vocabularies.

    Args:
        folder: An existing folder.
        model: The trained model; its weights are copied, because quantising changes them in place.
        source: Its source subwords.
        target: Its target subwords.
        dtype: A key of `COMPUTE_TYPES`.
        alignment: The attention that the exported model shows; None: the usual one.

    Raises:
        ExportError: If the architecture or the vocabulary cannot be expressed.
    """
    spec = build_spec(model, alignment)
    for side, subword, embedding, register in (
        ("source", source, model.src_embedding, spec.register_source_vocabulary),
        ("target", target, model.tgt_embedding, spec.register_target_vocabulary),
    ):
        tokens, n_rows = vocabulary(subword), embedding.num_embeddings
        if len(tokens) != n_rows or len(set(tokens)) != len(tokens):
            found = f"{len(tokens)} subwords, {len(set(tokens))} different ones, for {n_rows} embeddings"
            remedy = "CTranslate2 needs one unique subword a row: train the tokenizer again without duplicates"
            raise ExportError(f"the {side} vocabulary has {found}; {remedy}")
        register(tokens)
    unk, bos, eos = target.pieces([UNK_ID, BOS_ID, EOS_ID])
    spec.config.unk_token = unk
    spec.config.eos_token = eos
    spec.config.bos_token = spec.config.decoder_start_token = bos
    spec.config.add_source_eos = True
    _save(spec, folder, dtype)


def write_encoder(folder: Path, model: TextEncoder, *, subword: Subword, dtype: str) -> None:
    """The same of an encoder alone: model.bin, config.json and the vocabulary.

    Raises:
        ExportError: If the architecture cannot be expressed.
    """
    spec = specs.TransformerEncoderModelSpec(_encoder_spec(model))
    spec.register_vocabulary(vocabulary(subword))
    _save(spec, folder, dtype)


def _save(spec: Any, folder: Path, dtype: str) -> None:
    spec.config.layer_norm_epsilon = 1e-6
    spec.validate()
    spec.optimize(quantization=COMPUTE_TYPES[dtype])
    _leave_room(spec)
    spec.save(str(folder))


def _leave_room(spec: Any) -> None:
    """Round weights of 8 bits to 64 steps each way instead of 127.

    Processors without VNNI add two products in 16 bits before they go on in 32: 2 x 255 x 64 fits there, and what is
    larger is cut off without a word.
    """
    for name, value in spec.variables().items():  # one that equals another is but the other's name
        if name.endswith("weight") and getattr(value, "dtype", "") == "int8":
            value.numpy()[:] = np.rint(value.numpy() * (64 / 127))
        elif name.endswith("weight_scale") and not isinstance(value, str):
            value.numpy()[:] *= 64 / 127


def build_spec(model: Transformer, alignment: AlignmentHead | None = None) -> Any:
    """The model as a `ctranslate2.specs.TransformerSpec` that holds copies of its weights."""
    alignment = alignment or AlignmentHead.usual(model.config)
    config = model.config
    decoder = specs.TransformerDecoderSpec(
        config.n_decoder_layers,
        config.n_heads,
        alignment_layer=alignment.layer,
        alignment_heads=0 if alignment.head is None else 1,  # of all, or of the first
        **_common(config),
    )
    decoder.embeddings.weight = _copy(model.tgt_embedding.weight)
    decoder.projection.weight = _copy(model.output_weight)
    decoder.projection.bias = np.zeros(len(decoder.projection.weight), dtype=np.float32)
    decoder.projection.bias[[PAD_ID, BOS_ID]] = -np.inf  # nobody's translation, and else they take places in the beam
    _around_layers(decoder, model.tgt_positions, model.decoder.final_norm, config)
    for layer_spec, layer in zip(decoder.layer, model.decoder, strict=True):
        _attention(layer_spec.self_attention, layer.self_attention, layer.self_residual.norm)
        _attention(layer_spec.attention, layer.cross_attention, layer.cross_residual.norm)
        _feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_residual.norm)
    if alignment.head is not None:
        _bring_first(decoder.layer[alignment.layer].attention.linear, alignment.head, config)
    return specs.TransformerSpec(_encoder_spec(model), decoder)


def _encoder_spec(model: Transformer | TextEncoder) -> Any:
    config = model.config
    encoder = specs.TransformerEncoderSpec(config.n_encoder_layers, config.n_heads, **_common(config))
    encoder.embeddings[0].weight = _copy(model.src_embedding.weight)
    _around_layers(encoder, model.src_positions, model.encoder.final_norm, config)
    for layer_spec, layer in zip(encoder.layer, model.encoder.layers, strict=True):
        _attention(layer_spec.self_attention, layer.self_attention, layer.self_residual.norm)
        _feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_residual.norm)
    return encoder


def _common(config: ModelConfig) -> dict[str, Any]:
    """What both halves are told alike; what CTranslate2 cannot compute is refused."""
    if config.positions == "alibi":
        why = "CTranslate2 has ALiBi in its decoder only, not in the encoder"
        remedy = "train with positions 'sinusoidal', 'learned' or 'rotary', or use the torch engine"
        raise ExportError(f"model.positions='alibi' cannot be exported: {why}; {remedy}")
    activations = {"relu": Activation.RELU, "gelu": Activation.GELU, "swiglu": Activation.SWISH}
    return {
        "pre_norm": config.norm_order == "pre",
        "activation": activations[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rms",
        "num_heads_kv": config.kv_heads if config.kv_heads != config.n_heads else None,
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0: the whole head, in pairs of neighbours
    }


def _around_layers(spec: Any, positions: Any, final_norm: Any, config: ModelConfig) -> None:
    """What stands before the first layer and behind the last, where the model has it.

    The table of positions is the model's own, a little longer: the runtime fails for a whole batch where a position has
    no row. Without a table it would use sinusoids of its own, from position 1 and of another time scale.
    """
    if config.positions == "sinusoidal":
        spec.position_encodings.encodings = _copy(sinusoids(config.max_len + SPARE_POSITIONS, config.d_model))
    elif config.positions == "learned":
        spec.position_encodings.encodings = np.pad(_copy(positions.weight), ((0, SPARE_POSITIONS), (0, 0)))
    if config.norm_order == "pre":
        _norm(spec.layer_norm, final_norm)


def _bring_first(linear: Any, head: int, config: ModelConfig) -> None:
    """Number the heads of a cross-attention anew, so that `head` is the first: the result of the layer is the same.

    Heads that share keys and values stay neighbours.
    """
    n_shared = config.n_heads // config.kv_heads
    kv_order = sorted(range(config.kv_heads), key=lambda group: group != head // n_shared)
    order = sorted(range(config.n_heads), key=lambda i: (i // n_shared != head // n_shared, i != head))

    def moved(rows: np.ndarray, heads: list[int]) -> np.ndarray:
        """Rows of one projection or several, each of all heads, with the heads in another order."""
        by_head = rows.reshape(-1, len(heads), config.d_head, *rows.shape[1:])
        return np.ascontiguousarray(by_head[:, heads].reshape(rows.shape))

    query, key_value, out = linear
    query.weight, query.bias = moved(query.weight, order), moved(query.bias, order)
    key_value.weight, key_value.bias = moved(key_value.weight, kv_order), moved(key_value.bias, kv_order)
    out.weight = np.ascontiguousarray(moved(out.weight.T, order).T)


def _attention(spec: Any, attention: Any, norm: Any) -> None:
    _norm(spec.layer_norm, norm)
    into = [attention.qkv_proj] if isinstance(attention, SelfAttention) else [attention.q_proj, attention.kv_proj]
    for projection_spec, projection in zip(spec.linear, [*into, attention.heads.out_proj], strict=True):
        _linear(projection_spec, projection)


def _feed_forward(spec: Any, network: Any, norm: Any) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear_1, network.outer)
    if isinstance(network, FeedForward):
        _linear(spec.linear_0, network.inner)
        return
    gate_inner = network.gate_inner  # its first half is the gate, which the activation is applied to
    spec.linear_0.weight, spec.linear_0_noact.weight = map(_copy, gate_inner.weight.chunk(2))
    spec.linear_0.bias, spec.linear_0_noact.bias = map(_copy, gate_inner.bias.chunk(2))


def _linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight, spec.bias = _copy(linear.weight), _copy(linear.bias)


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma = _copy(norm.weight)
    if getattr(norm, "bias", None) is not None:
        spec.beta = _copy(norm.bias)


def _copy(tensor: Tensor) -> np.ndarray:
    return np.array(tensor.detach().float().cpu().numpy(), dtype=np.float32, copy=True, order="C")
