"""Greedy search: take the likeliest token, again and again."""

from __future__ import annotations

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.continuations import best_continuations
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import scored
from yiwen.search.sampling import Pick
from yiwen.search.step import State, StepFn, Task, places_kept


def greedy_search(step: StepFn[State], state: State, task: Task, config: SearchConfig) -> list[list[Hypothesis]]:
    """One hypothesis a sentence, the same that a beam of one finds. See `extend` for the arguments."""
    return extend(step, state, task, config, pick=likeliest)


def extend(
    step: StepFn[State], state: State, task: Task, config: SearchConfig, *, pick: Pick
) -> list[list[Hypothesis]]:
    """Extend one hypothesis a sentence, token by token; finished sentences leave the batch.

    Args:
        step: The step function of the model.
        state: Its state for B = len(task.max_lens) sentences, one row each.
        task: Limits and prefixes of the sentences.
        config: Length penalty and shortest length.
        pick: Chooses a token for each row: log_probs (B, V) -> ids (B,).

    Returns:
        For each sentence a list of one hypothesis.
    """
    n_sentences = len(task.max_lens)
    found: list[Hypothesis | None] = [None] * n_sentences
    ids: list[list[int]] = [[] for _ in range(n_sentences)]
    sums = [0.0] * n_sentences
    batch = list(range(n_sentences))  # sentence at each place; done ones may stay a while
    last_ids = torch.full((n_sentences,), task.bos_id, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        log_probs = task.force_prefix(log_probs, batch, t, 1)
        last_ids = pick(log_probs)
        gained = log_probs.gather(1, last_ids[:, None])[:, 0]
        for sentence, token, gain in zip(batch, last_ids.tolist(), gained.tolist(), strict=True):
            if found[sentence] is not None:
                continue
            # The last position is for eos alone: a hypothesis that reached its limit ends there, finished or not.
            is_finished = token == task.eos_id
            if is_finished or t >= task.max_lens[sentence]:
                total = sums[sentence] + (gain if is_finished else 0.0)
                found[sentence] = scored(tuple(ids[sentence]), total, config, is_finished=is_finished)
            else:
                ids[sentence].append(token)
                sums[sentence] += gain
        is_done = [found[sentence] is not None for sentence in batch]
        if all(is_done):
            break
        kept = places_kept(is_done)
        if len(kept) < len(batch):
            places = torch.tensor(kept, device=task.device)
            state, last_ids = state.select(places).select_sentences(places), last_ids[places]
            batch = [batch[place] for place in kept]
    return [[hypothesis] for hypothesis in found if hypothesis is not None]


def likeliest(log_probs: Tensor) -> Tensor:
    """The likeliest token of each row, (R, V) -> (R,)."""
    return best_continuations(log_probs.new_zeros(log_probs.size(0), 1), log_probs, 1)[2][:, 0]
