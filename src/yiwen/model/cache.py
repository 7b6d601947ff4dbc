"""What the decoder remembers between two steps of a search: a value that is passed in and handed back.

Shapes: B sentences, W hypotheses each, R = B x W, sentence by sentence; E = kv heads x d_head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from yiwen.model.attention import KeyValue

FIRST_ROOM = 16
"""Positions that a cache has room for at first; the room doubles whenever it is full."""


@dataclass(frozen=True)
class DecoderCache:
    """Keys and values of the source and of the target so far.

    A step writes its position behind the others, into room that is already there: an older value still reads what it
    always read, but only the newest one may be stepped on. Positions come first and rows last, so that a reordering
    copies what is filled, in one piece, and a new position is one piece too.
    """

    length: int
    """Target positions decoded so far."""
    past: Tensor
    """Keys and values of the target, (room >= length, layers, 2, R, E); R is 0 before the first step."""
    memories: tuple[KeyValue, ...]
    """Per layer: keys and values of the source, (B, kv heads, S, K)."""
    cross_bias: Tensor
    """Source padding as an additive bias, (B, 1, 1, S)."""

    @classmethod
    def empty(cls, memories: tuple[KeyValue, ...], cross_bias: Tensor) -> DecoderCache:
        """Before the first step.

        Args:
            memories: Keys and values of the source, one pair a layer.
            cross_bias: Source padding.
        """
        _, kv_heads, _, d_head = memories[0].key.shape
        return cls(
            length=0,
            past=memories[0].key.new_empty(0, len(memories), 2, 0, kv_heads * d_head),
            # In one piece each: products at every step would copy them first.
            memories=tuple(KeyValue(kv.key.contiguous(), kv.value.contiguous()) for kv in memories),
            cross_bias=cross_bias.to(memories[0].key.dtype),
        )

    def longer(self, n_rows: int) -> DecoderCache:
        """Room for one more position of each of the R rows, which the layers have to fill."""
        past = self.past
        room, n_layers, _, _, width = past.shape
        if self.length == room:
            past = past.new_empty(max(2 * room, FIRST_ROOM), n_layers, 2, n_rows, width)
            if self.length > 0:
                past[: self.length] = self.past
        return replace(self, length=self.length + 1, past=past)

    def layers(self) -> Iterator[Tensor]:
        """Keys and values of the target, layer by layer, (length, 2, R, E)."""
        return iter(self.past[: self.length].unbind(1))

    def select(self, rows: Tensor) -> DecoderCache:
        """Keep, repeat or reorder hypotheses; nothing is recomputed.

        Args:
            rows: Old row of each new row, (R',), int64. New rows stand sentence by sentence with an equal number
                each, so a sentence leaves the batch when none of its rows is named.
        """
        room, n_layers, _, n_rows, width = self.past.shape
        if self.length == 0:
            return self
        if rows.device.type == "cpu" and torch.equal(rows, torch.arange(n_rows)):
            return self  # elsewhere asking would wait for the device
        past = self.past.new_empty(room, n_layers, 2, rows.size(0), width)
        torch.index_select(self.past[: self.length], 3, rows, out=past[: self.length])
        return replace(self, past=past)

    def select_sentences(self, sentences: Tensor) -> DecoderCache:
        """Keep, repeat or reorder the sources: `sentences` holds the old sentence of each new one, (B',), int64."""
        memories = tuple(
            KeyValue(kv.key.index_select(0, sentences), kv.value.index_select(0, sentences)) for kv in self.memories
        )
        return replace(self, memories=memories, cross_bias=self.cross_bias.index_select(0, sentences))
