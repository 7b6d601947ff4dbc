"""Greedy search: take the likeliest token, again and again."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.continuations import best_continuations
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import scored
from yiwen.search.sampling import Pick
from yiwen.search.step import State, StepFn, Task, places_kept


@dataclass(slots=True)
class _Sentence:
    """One sentence of the batch and its only hypothesis."""

    number: int
    """Its place in the task."""
    max_len: int
    ids: list[int] = field(default_factory=list)
    """The tokens so far ..."""
    log_prob: float = 0.0
    """... and their log-probability."""
    found: Hypothesis | None = None
    """What came of it, once it is done."""


def greedy_search(step: StepFn[State], state: State, task: Task, config: SearchConfig) -> list[list[Hypothesis]]:
    """One hypothesis a sentence, the same that a beam of one finds. See `extend` for the arguments."""
    return [[found] for found in extend(step, state, task, config, pick=likeliest)]


def extend(step: StepFn[State], state: State, task: Task, config: SearchConfig, *, pick: Pick) -> list[Hypothesis]:
    """Extend one hypothesis a sentence, token by token; finished sentences leave the batch.

    Args:
        step: The step function of the model.
        state: Its state for B = len(task.max_lens) sentences, one row each.
        task: Limits and prefixes of the sentences.
        config: Length penalty and shortest length.
        pick: Chooses a token for each row: log_probs (B, V) -> ids (B,).

    Returns:
        The hypothesis of each sentence.
    """
    sentences = [_Sentence(number, max_len) for number, max_len in enumerate(task.max_lens)]
    batch = sentences  # the sentence at each place; done ones may stay a while
    last_ids = torch.full((len(batch),), task.bos_id, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        task.force_prefix(log_probs, [sentence.number for sentence in batch], t, 1)
        last_ids = pick(log_probs)
        gained = log_probs.gather(1, last_ids[:, None])[:, 0]
        for sentence, token, gain in zip(batch, last_ids.tolist(), gained.tolist(), strict=True):
            if sentence.found is not None:
                continue
            if token == task.eos_id:
                sentence.found = scored(tuple(sentence.ids), sentence.log_prob + gain, config)
            elif t >= sentence.max_len:  # the last position is for eos alone
                sentence.found = scored(tuple(sentence.ids), sentence.log_prob, config, is_finished=False)
            else:
                sentence.ids.append(token)
                sentence.log_prob += gain
        is_done = [sentence.found is not None for sentence in batch]
        if all(is_done):
            break
        kept = places_kept(is_done)
        if len(kept) < len(batch):
            places = torch.tensor(kept, device=task.device)
            state, last_ids = state.select(places).select_sentences(places), last_ids[places]
            batch = [batch[place] for place in kept]
    return [sentence.found for sentence in sentences if sentence.found is not None]


def likeliest(log_probs: Tensor) -> Tensor:
    """The likeliest token of each row, (R, V) -> (R,)."""
    return best_continuations(log_probs.new_zeros(log_probs.size(0), 1), log_probs, 1).tokens[:, 0]
