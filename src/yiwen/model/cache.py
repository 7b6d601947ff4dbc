"""What the decoder remembers between two steps of a search: a value that is passed in and handed back."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from yiwen.model.attention import KeyValue


@dataclass(frozen=True)
class DecoderCache:
    """Keys and values of B sentences with W hypotheses each, R = B x W rows, sentence by sentence."""

    length: int
    """Target positions decoded so far."""
    past: tuple[KeyValue | None, ...]
    """Per layer: keys and values of the target so far, (R, kv heads, length, K); None before the first step."""
    memories: tuple[KeyValue, ...]
    """Per layer: keys and values of the source, (B, kv heads, S, K)."""
    cross_bias: Tensor
    """Source padding as an additive bias, (B, 1, 1, S)."""

    def select(self, rows: Tensor) -> DecoderCache:
        """Keep, repeat or reorder hypotheses; nothing is recomputed.

        Args:
            rows: Old row of each new row, (R',), int64. New rows stand sentence by sentence with an equal number
                each, so a sentence leaves the batch when none of its rows is named.
        """
        past = tuple(
            None if kv is None else KeyValue(kv.key.index_select(0, rows), kv.value.index_select(0, rows))
            for kv in self.past
        )
        return DecoderCache(length=self.length, past=past, memories=self.memories, cross_bias=self.cross_bias)

    def select_sentences(self, sentences: Tensor) -> DecoderCache:
        """Keep, repeat or reorder the sources: `sentences` holds the old sentence of each new one, (B',), int64."""
        memories = tuple(
            KeyValue(kv.key.index_select(0, sentences), kv.value.index_select(0, sentences)) for kv in self.memories
        )
        return DecoderCache(
            length=self.length,
            past=self.past,
            memories=memories,
            cross_bias=self.cross_bias.index_select(0, sentences),
        )
