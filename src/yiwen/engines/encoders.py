"""Encoders that compute states: subword ids in, arrays out.

Shapes: B texts, S subwords, D d_model, K labels.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from yiwen.bundle import Bundle, load_weights, weights_path
from yiwen.data.batching import pad
from yiwen.engines.engine import Sentences
from yiwen.engines.packed import ready
from yiwen.model.attention import fused_attention, plain_attention, use_attention
from yiwen.tasks.heads import EncoderModel
from yiwen.text.subword import EOS_ID

Array = npt.NDArray[np.float32]


class EncoderEngine(Protocol):
    """What the facade needs."""

    description: str
    """For people: what computes."""
    head: dict[str, Array]
    """`weight` (K, D) and `bias` (K,) where there are labels, `query` (D,) where attention pools."""

    def states(self, texts: Sentences, *, layer: int) -> Array:
        """States of texts given without eos, padded: (B, S, D), eos the last of each text.

        Layer 0 is the embeddings; the last one is normalised where the model has a last norm.
        """


class TorchEncoder:
    """The reference: the model itself."""

    def __init__(self, model: EncoderModel, *, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        """Take over a model: it is moved, converted and set to inference."""
        self.device = device
        self.description = f"torch {str(dtype).removeprefix('torch.')} on {device}"
        own = {name.removeprefix("head.").removeprefix("pool_"): p for name, p in model.named_parameters()}
        self.head = {name: p.detach().float().cpu().numpy() for name, p in own.items() if not name.startswith("body.")}
        self.body = ready(model.body, device=device, dtype=dtype)
        use_attention(self.body, plain_attention if device == "cpu" and dtype != torch.float32 else fused_attention)

    @torch.inference_mode()
    def states(self, texts: Sentences, *, layer: int) -> Array:
        """See `EncoderEngine`."""
        src_ids = torch.from_numpy(pad(texts, closing=EOS_ID)).to(self.device)
        is_last = layer == self.body.config.n_encoder_layers
        states_BSD: Array = (self.body(src_ids) if is_last else self.body.states(src_ids, layer)).float().cpu().numpy()
        return states_BSD


def load_encoder(bundle: Bundle) -> EncoderModel:
    """The encoder of a bundle of any task, with the head where it has one; of a translator its left half.

    Raises:
        CheckpointError: If the weights are not there or have changed, or one is missing or of another shape.
    """
    path, info, n_labels = weights_path(bundle), bundle.info, len(bundle.info.labels)
    with torch.random.fork_rng(devices=[]):  # the first values drawn are overwritten; the caller's state stays
        model = EncoderModel(info.model, vocab_size=info.src_vocab_size, n_labels=n_labels, pooling=info.pooling)
    parameters = dict(model.float().named_parameters())
    if info.task == "translate":
        # A tied matrix is stored under its first name.
        stored = "tgt_embedding" if info.model.tied_embeddings == "all" else "src_embedding"
        parameters = {name.replace("src_embedding", stored): p for name, p in model.body.named_parameters()}
    load_weights(parameters, path, has_more=info.task == "translate")
    return model.eval()
