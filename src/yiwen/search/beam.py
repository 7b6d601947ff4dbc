"""Beam search over a step function.

The rules, those of the engine that exported models run in, so that both find the same hypotheses:
- each step looks at the 2 W best continuations of a sentence's W hypotheses;
- a continuation that ends counts as found when it is among the first W of them;
- the first W that do not end go on;
- a sentence is done after the step at which W hypotheses are found (all that end at this step count: the score,
  not the order, decides among them), or at its length limit, where those still going count as cut;
- an end at once takes a place among the W even where `min_len` forbids it; what is then missing to n_best is found
  in further steps or cut by the limit, and comes behind the others: the best does not depend on how many are asked for.

Shapes: B sentences in the batch, W beam size, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.continuations import best_continuations
from yiwen.search.hypothesis import Hypothesis, best_first
from yiwen.search.penalties import scored
from yiwen.search.step import State, StepFn, Task, places_kept

Watch = Callable[[Tensor, Tensor, Tensor], None]
"""(sums, hypotheses, tokens), each (B, at most 2 W): the best continuations of a step, best first."""


def beam_search(
    step: StepFn[State], state: State, task: Task, config: SearchConfig, *, watch: Watch | None = None
) -> list[list[Hypothesis]]:
    """Find up to W hypotheses for each sentence, best first.

    Args:
        step: The step function of the model.
        state: Its state for B = len(task.max_lens) sentences before the first step.
        task: Limits and prefixes of the sentences.
        config: Beam size W, length penalty, shortest length, how many to return.
        watch: Is shown the continuations of every step, for those who want to look on.

    Returns:
        For each sentence its n_best hypotheses, best first; fewer where the vocabulary holds no more.
    """
    W = config.beam_size
    batch = list(range(len(task.max_lens)))  # sentence at each place
    is_done = [False] * len(batch)  # place by place; done ones may stay a while
    found: list[list[Hypothesis]] = [[] for _ in batch]
    n_empty = [0] * len(batch)  # sentence by sentence: 1 where an end at once takes a place
    n_first: list[int | None] = [None] * len(batch)  # how many were found when W places were taken
    last_ids = torch.full((len(batch),), task.bos_id, device=task.device)
    sums_BW = torch.zeros((len(batch), 1), device=task.device)  # one hypothesis a sentence, which becomes W
    history_BWT = torch.empty((len(batch), 1, 0), dtype=torch.int64, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        if 0 < t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        n_going = sums_BW.size(1)
        log_probs = task.force_prefix(log_probs, batch, t, n_going)
        top_sums, from_beam, tokens = best_continuations(sums_BW, log_probs, min(2 * W, n_going * log_probs.size(1)))
        is_end = tokens == task.eos_id
        if t == 0 < config.min_len:
            n_empty = (is_end & top_sums.isfinite())[:, :W].sum(dim=1).tolist()
            top_sums.masked_fill_(is_end, -torch.inf)
        if watch is not None:
            watch(top_sums, from_beam, tokens)
        open_found = [None if done else found[sentence] for sentence, done in zip(batch, is_done, strict=True)]
        _collect_ends(open_found, (top_sums, from_beam, is_end), history_BWT, config)
        for place, sentence in enumerate(batch):
            if n_first[sentence] is None and len(found[sentence]) + n_empty[sentence] >= W:
                n_first[sentence] = len(found[sentence])
            if not is_done[place] and t >= task.max_lens[sentence]:
                _collect_cut(found[sentence], sums_BW[place], history_BWT[place], config)
                is_done[place] = True
            is_done[place] |= n_first[sentence] is not None and len(found[sentence]) >= config.n_best
        if all(is_done):
            break
        # The first W that do not end: a stable sort puts them in front and keeps their order. (A tiny vocabulary may
        # have fewer; what ended then goes on with a probability of zero.)
        order_BW = is_end.to(torch.int8).argsort(dim=1, stable=True)[:, :W]
        top_sums.masked_fill_(is_end, -torch.inf)
        sums_BW, beams_BW, tokens_BW = (part.gather(1, order_BW) for part in (top_sums, from_beam, tokens))
        rows_BW = beams_BW + torch.arange(len(batch), device=task.device)[:, None] * n_going
        kept = places_kept(is_done)
        if len(kept) < len(batch):
            places = torch.tensor(kept, device=task.device)
            sums_BW, rows_BW, tokens_BW = sums_BW[places], rows_BW[places], tokens_BW[places]
            batch, is_done = [batch[place] for place in kept], [is_done[place] for place in kept]
            state = state.select(rows_BW.flatten()).select_sentences(places)
        else:
            state = state.select(rows_BW.flatten())
        history_BWT = torch.cat([history_BWT.flatten(0, 1)[rows_BW], tokens_BW[:, :, None]], dim=2)
        last_ids = tokens_BW.flatten()
    return [best_first(group, n)[: config.n_best] for group, n in zip(found, n_first, strict=True)]


def _collect_ends(
    found: list[list[Hypothesis] | None],
    continuations: tuple[Tensor, Tensor, Tensor],
    history_BWT: Tensor,
    config: SearchConfig,
) -> None:
    """Add the hypotheses that end among the first W continuations (sums, beams, is_end) to those of their sentence.

    `found` has the hypotheses of the sentence at each place, None where it is done.
    """
    top_sums, from_beam, is_end = (part[:, : config.beam_size] for part in continuations)
    places, ranks = (is_end & top_sums.isfinite()).nonzero().unbind(1)
    if len(places) == 0:
        return
    sentences_ids = history_BWT[places, from_beam[places, ranks]].tolist()
    for place, ids, log_prob in zip(places.tolist(), sentences_ids, top_sums[places, ranks].tolist(), strict=True):
        hypotheses = found[place]
        if hypotheses is not None:
            hypotheses.append(scored(tuple(ids), log_prob, config))


def _collect_cut(found: list[Hypothesis], sums_W: Tensor, history_WT: Tensor, config: SearchConfig) -> None:
    """Fill `found` with the hypotheses that the length limit cuts: all that did not just end."""
    ended = {hypothesis.ids for hypothesis in found}
    for log_prob, ids in zip(sums_W.tolist(), map(tuple, history_WT.tolist()), strict=True):
        if len(found) < config.beam_size and log_prob > -math.inf and ids not in ended:
            found.append(scored(ids, log_prob, config, is_finished=False))
