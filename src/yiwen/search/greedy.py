"""Greedy search: take the likeliest token, again and again."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor
from yiwen.search.sampling import Pick
from yiwen.search.step import State, StepFn, Task


def greedy_search(step: StepFn[State], state: State, task: Task, config: SearchConfig) -> list[list[Hypothesis]]:
    """One hypothesis a sentence, the same that a beam of one finds. See `extend` for the arguments."""
    return extend(step, state, task, config, pick=lambda log_probs: log_probs.argmax(dim=-1))


def extend(
    step: StepFn[State], state: State, task: Task, config: SearchConfig, *, pick: Pick
) -> list[list[Hypothesis]]:
    """Extend one hypothesis a sentence, token by token; a finished sentence leaves the batch.

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
    alive: Sequence[int] = range(n_sentences)
    last_ids = torch.full((n_sentences,), task.bos_id, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        # The last position is for eos alone: a hypothesis that reached its limit ends there, finished or not.
        at_limit = [t >= task.max_lens[sentence] for sentence in alive]
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        log_probs = task.force_prefix(log_probs, alive, t, 1)
        chosen = pick(log_probs)
        gained = log_probs.gather(1, chosen[:, None])[:, 0]
        staying: list[int] = []
        for place, (sentence, token, gain) in enumerate(zip(alive, chosen.tolist(), gained.tolist(), strict=True)):
            is_finished = token == task.eos_id
            if is_finished or at_limit[place]:
                total = sums[sentence] + (gain if is_finished else 0.0)
                length = len(ids[sentence]) + is_finished
                found[sentence] = Hypothesis(
                    tuple(ids[sentence]), total / length_divisor(length, config), total, is_finished
                )
            else:
                ids[sentence].append(token)
                sums[sentence] += gain
                staying.append(place)
        if not staying:
            break
        if len(staying) < len(alive):
            rows = torch.tensor(staying, device=task.device)
            state, chosen = state.select(rows).select_sentences(rows), chosen[rows]
            alive = [alive[place] for place in staying]
        last_ids = chosen
    return [[hypothesis] for hypothesis in found if hypothesis is not None]
