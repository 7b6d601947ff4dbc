"""An encoder with what its task puts on top: pooling, and a linear layer that scores labels.

Shapes: B texts, S subwords, D d_model, K labels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from yiwen.model.config import ModelConfig
from yiwen.model.dropout import Dropout
from yiwen.model.text_encoder import TextEncoder
from yiwen.tasks.config import Pooling


class EncoderModel(nn.Module):
    """`forward` gives the encoder's states; what becomes of them, each task's loss says.

    Parameters beside the encoder's (`body.`): `head.weight` (K, D), `head.bias` (K,) where there are labels,
    `pool_query` (D,) for attention pooling.
    """

    def __init__(
        self, config: ModelConfig, *, vocab_size: int, n_labels: int, pooling: Pooling = "mean", is_frozen: bool = False
    ) -> None:
        super().__init__()
        self.body = TextEncoder(config, vocab_size)
        self.body.requires_grad_(not is_frozen)
        self.pooling = pooling
        self.is_frozen = is_frozen
        self.dropout = Dropout(config.dropout)
        self.pool_query = nn.Parameter(torch.zeros(config.d_model)) if pooling == "attention" else None
        self.head = nn.Linear(config.d_model, n_labels) if n_labels else None

    def forward(self, src_ids: Tensor) -> Tensor:
        """Ids (B, S), closed by eos -> states (B, S, D)."""
        return self.body(src_ids)

    def train(self, mode: bool = True) -> EncoderModel:
        """As for every module; a frozen encoder never drops anything."""
        super().train(mode)
        if self.is_frozen:
            self.body.eval()
        return self

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.body.src_embedding.weight.device

    def pooled(self, src_ids: Tensor) -> Tensor:
        """One vector a text, (B, D), float32."""
        states = self(src_ids).float()
        with torch.autocast(states.device.type, enabled=False):
            return pool(states, src_ids != self.body.pad_id, self.pooling, self.pool_query)

    def logits(self, states: Tensor) -> Tensor:
        """Vectors (..., D) -> unnormalised scores of the labels (..., K)."""
        assert self.head is not None, "this task has no labels"
        return self.head(self.dropout(states))


def pool(states_BSD: Tensor, mask_BS: Tensor, pooling: Pooling, query_D: Tensor | None = None) -> Tensor:
    """States of texts -> one vector each, (B, D).

    Args:
        states_BSD: The encoder's output.
        mask_BS: True at real subwords; eos is one.
        pooling: Which way.
        query_D: For attention pooling: a state's weight is the softmax of its product with this.
    """
    match pooling:
        case "first":
            return states_BSD[:, 0]
        case "max":
            return states_BSD.masked_fill(~mask_BS[..., None], -torch.inf).amax(dim=1)
        case "mean":
            weights_BS = mask_BS / mask_BS.sum(dim=1, keepdim=True)
        case "attention":
            assert query_D is not None
            weights_BS = (states_BSD @ query_D).masked_fill(~mask_BS, -torch.inf).softmax(dim=1)
    return torch.einsum("bs,bsd->bd", weights_BS.to(states_BSD.dtype), states_BSD)
