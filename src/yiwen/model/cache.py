"""What the decoder remembers between two steps of a search: a value that is passed in and handed back.

Shapes: B sentences, W hypotheses each, R = B x W, sentence by sentence; N kv heads, E = N x d_head; G = H / N query
heads a key head; M positions with room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from yiwen.model.attention import KeyValue

LEAST_ROOM = 16
"""Positions that target and source have room for at least, because attention to fewer is slower (`attend_step`).
The target's room doubles whenever it is full."""


@dataclass(frozen=True)
class DecoderCache:
    """Keys and values of the source and of the target so far. A step or a selection uses a value up.

    A step writes its position behind the others, into room that is already there; a selection copies what is filled
    into a second room, which is the first one of the next selection. Positions come first and rows last, so that both
    touch whole pieces.
    """

    length: int
    """Target positions decoded so far."""
    past: Tensor
    """Keys and values of the target, (room >= length, layers, 2, R, E); R is 0 before the first step."""
    spare: Tensor
    """The second room; of another shape where it cannot serve."""
    memories: tuple[KeyValue, ...]
    """Per layer: keys of the source, turned, (B, N, d_head, S), and values (B, N, S, d_head)."""
    cross_bias: Tensor
    """Source padding as an additive bias, (B, N, 1, S)."""

    @classmethod
    def empty(cls, memories: tuple[KeyValue, ...], cross_bias: Tensor) -> DecoderCache:
        """Before the first step.

        Args:
            memories: Keys and values of the source, one pair a layer, each (B, N, S, d_head).
            cross_bias: Source padding, (B, 1, 1, S).
        """
        key = memories[0].key
        _, n_heads, src_len, d_head = key.shape
        dtype = torch.float32 if key.device.type == "cpu" else key.dtype  # small products in bf16 are slow there
        n_more = max(0, LEAST_ROOM - src_len)
        past = key.new_empty(0, len(memories), 2, 0, n_heads * d_head, dtype=dtype)
        keys = (F.pad(kv.key.to(dtype).transpose(2, 3), (0, n_more)) for kv in memories)
        values = (F.pad(kv.value.to(dtype), (0, 0, 0, n_more)) for kv in memories)
        # In one piece each: products at every step would copy them first.
        turned = tuple(KeyValue(key.contiguous(), value.contiguous()) for key, value in zip(keys, values, strict=True))
        bias = _forbidding(cross_bias.to(dtype), n_more).expand(-1, n_heads, -1, -1).contiguous()
        return cls(length=0, past=past, spare=past, memories=turned, cross_bias=bias)

    def longer(self, n_rows: int) -> DecoderCache:
        """Room for one more position of each of the R rows, which the layers have to fill."""
        past = self.past
        room = past.size(0)
        if self.length == room:
            past = self._room(max(2 * room, LEAST_ROOM), n_rows)
            if self.length > 0:
                past[: self.length] = self.past
        return replace(self, length=self.length + 1, past=past)

    def layers(self) -> Iterator[Tensor]:
        """Keys and values of the target, layer by layer, (M, 2, R, E); M is the length, but not below LEAST_ROOM."""
        return iter(self.past[: max(self.length, LEAST_ROOM)].unbind(1))

    def self_bias(self, distances: Tensor | None) -> Tensor:
        """What is added to the newest position's scores: it forbids the room behind the length.

        Args:
            distances: ALiBi's penalties, (1, H, 1, at least the length), of which the last belong to the keys.

        Returns:
            (1, 1, M), or with distances (R x N, G, M).
        """
        if distances is None:
            bias = self.past.new_zeros(1, 1, self.length)
        else:
            bias_NGM = distances[..., -self.length :].to(self.past.dtype).view(self.cross_bias.size(1), -1, self.length)
            bias = bias_NGM.repeat(self.past.size(3), 1, 1)
        return _forbidding(bias, max(0, LEAST_ROOM - self.length))

    def select(self, rows: Tensor) -> DecoderCache:
        """Keep, repeat or reorder hypotheses; nothing is recomputed.

        Args:
            rows: Old row of each new row, (R',), int64. New rows stand sentence by sentence with an equal number
                each. A sentence leaves the batch when none of its rows is named, and `select_sentences` leaves it out.
        """
        room, _, _, n_rows, _ = self.past.shape
        # Elsewhere asking whether they are the same rows would wait for the device.
        if self.length == 0 or (rows.device.type == "cpu" and torch.equal(rows, torch.arange(n_rows, device="cpu"))):
            return self
        fits = self.spare.size(0) == room and self.spare.size(3) == rows.size(0)
        past = self.spare if fits else self._room(room, rows.size(0))
        torch.index_select(self.past[: self.length], 3, rows, out=past[: self.length])
        return replace(self, past=past, spare=self.past)

    def select_sentences(self, sentences: Tensor) -> DecoderCache:
        """Keep, repeat or reorder the sources: `sentences` holds the old sentence of each new one, (B',), int64."""
        memories = tuple(KeyValue(*(part.index_select(0, sentences) for part in kv)) for kv in self.memories)
        return replace(self, memories=memories, cross_bias=self.cross_bias.index_select(0, sentences))

    def _room(self, room: int, n_rows: int) -> Tensor:
        """Room for `room` positions; attention multiplies what is not yet written by zero, so it must be finite."""
        _, n_layers, _, _, width = self.past.shape
        past = self.past.new_empty(room, n_layers, 2, n_rows, width)
        past[self.length : LEAST_ROOM] = 0.0
        return past


def _forbidding(bias: Tensor, n_more: int) -> Tensor:
    """The bias with n_more keys behind the others that nobody may attend to."""
    return F.pad(bias, (0, n_more), value=torch.finfo(bias.dtype).min / 2)
