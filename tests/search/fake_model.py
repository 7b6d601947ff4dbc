"""A model made of a table: the next token depends on the sentence and on every token before it."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.step import Task

BOS, EOS, V = 0, 1, 5
Ids = tuple[int, ...]


@dataclass(frozen=True)
class FakeState:
    """What a real cache remembers, as plain lists; every reordering of it can be checked."""

    sentences: tuple[int, ...]
    """Sentence at each place."""
    rows: tuple[tuple[int, Ids], ...] = ()
    """(sentence, tokens so far with bos) of each row; empty before the first step."""

    def select(self, rows: Tensor) -> FakeState:
        return FakeState(self.sentences, tuple(self.rows[row] for row in rows.tolist()))

    def select_sentences(self, sentences: Tensor) -> FakeState:
        return FakeState(tuple(self.sentences[place] for place in sentences.tolist()), self.rows)


class FakeModel:
    """A step function, and the same numbers for searches written in another way."""

    def __init__(self, table: Callable[[int, Ids], Tensor] | None = None) -> None:
        self.table = table or random_table
        self.n_steps = 0
        self.n_rows = 0

    def start(self, sentences: Sequence[int]) -> FakeState:
        return FakeState(tuple(sentences))

    def step(self, last_ids: Tensor, state: FakeState) -> tuple[Tensor, FakeState]:
        n_each, rest = divmod(len(last_ids), len(state.sentences))
        assert rest == 0
        owners = [sentence for sentence in state.sentences for _ in range(n_each)]
        before = state.rows or tuple((owner, ()) for owner in owners)
        assert [sentence for sentence, _ in before] == owners, "a row was joined to the source of another sentence"
        rows = tuple((sentence, (*ids, last)) for (sentence, ids), last in zip(before, last_ids.tolist(), strict=True))
        self.n_steps += 1
        self.n_rows += len(rows)
        return torch.stack([self.table(sentence, ids[1:]) for sentence, ids in rows]), FakeState(state.sentences, rows)

    def log_probs(self, sentence: int, ids: Ids, t: int, prefix: Ids, config: SearchConfig) -> list[float]:
        """Log-probabilities after `ids`, with what the rules forbid at -inf."""
        values: list[float] = self.table(sentence, ids).tolist()
        if t < config.min_len:
            values[EOS] = -torch.inf
        if t < len(prefix):
            values = [value if token == prefix[t] else -torch.inf for token, value in enumerate(values)]
        return values


def random_table(sentence: int, ids: Ids) -> Tensor:
    """Some distribution over V tokens, another one for every history, the same in every run."""
    seed = zlib.crc32(repr((sentence, ids)).encode())
    logits = 1.5 * torch.randn(V, generator=torch.Generator().manual_seed(seed))
    return logits.log_softmax(dim=0)


def all_sequences(n_tokens: int) -> list[Ids]:
    """Every sequence of n_tokens that holds no eos."""
    return list(itertools.product([token for token in range(V) if token != EOS], repeat=n_tokens))


def make_task(max_lens: Sequence[int], prefixes: Sequence[Ids] | None = None) -> Task:
    return Task(bos_id=BOS, eos_id=EOS, max_lens=max_lens, prefixes=prefixes or [()] * len(max_lens))
