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
from dataclasses import dataclass, field

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.continuations import Continuations, best_continuations
from yiwen.search.hypothesis import Hypothesis, best_first
from yiwen.search.penalties import scored
from yiwen.search.step import State, StepFn, Task, places_kept

Watch = Callable[[Tensor, Tensor, Tensor], None]
"""(sums, hypotheses, tokens), each (B, at most 2 W): the best continuations of a step, best first."""


@dataclass(slots=True)
class _Sentence:
    """One sentence of the batch and what the search has found for it."""

    number: int
    """Its place in the task."""
    max_len: int
    found: list[Hypothesis] = field(default_factory=list)
    n_barred: int = 0
    """1 where an end at once takes a place, though `min_len` forbids it."""
    n_first: int | None = None
    """How many were found when W places were taken; None as long as some are free."""
    is_done: bool = False


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
    sentences = [_Sentence(number, max_len) for number, max_len in enumerate(task.max_lens)]
    batch = sentences  # the sentence at each place; done ones may stay a while
    last_ids = torch.full((len(batch),), task.bos_id, device=task.device)
    # One hypothesis a sentence, which becomes W.
    sums_BW = torch.zeros((len(batch), 1), dtype=torch.float32, device=task.device)
    history_BWT = torch.empty((len(batch), 1, 0), dtype=torch.int64, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        if 0 < t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        n_going = sums_BW.size(1)
        task.force_prefix(log_probs, [sentence.number for sentence in batch], t, n_going)
        best = best_continuations(sums_BW, log_probs, min(2 * W, n_going * log_probs.size(1)))
        is_end = best.tokens == task.eos_id
        if t == 0 and config.min_len > 0:
            _bar_ends(batch, best, is_end, W)
        if watch is not None:
            watch(*best)
        _collect_ends(batch, best, is_end, history_BWT, config)
        for place, sentence in enumerate(batch):
            if not sentence.is_done:
                _settle(sentence, t, sums_BW[place], history_BWT[place], config)
        is_done = [sentence.is_done for sentence in batch]
        if all(is_done):
            break
        sums_BW, beams_BW, tokens_BW = _going_on(best, is_end, W)
        rows_BW = beams_BW + torch.arange(len(batch), device=task.device)[:, None] * n_going
        kept = places_kept(is_done)
        if len(kept) < len(batch):
            places = torch.tensor(kept, device=task.device)
            sums_BW, rows_BW, tokens_BW = sums_BW[places], rows_BW[places], tokens_BW[places]
            batch = [batch[place] for place in kept]
            state = state.select_sentences(places)
        state = state.select(rows_BW.flatten())
        history_BWT = torch.cat([history_BWT.flatten(0, 1)[rows_BW], tokens_BW[:, :, None]], dim=2)
        last_ids = tokens_BW.flatten()
    return [best_first(sentence.found, sentence.n_first)[: config.n_best] for sentence in sentences]


def _bar_ends(batch: list[_Sentence], best: Continuations, is_end: Tensor, W: int) -> None:
    """Make the ends among the first continuations impossible; those among the W best have taken a place."""
    n_barred = (is_end & best.sums.isfinite())[:, :W].sum(dim=1).tolist()
    for sentence, n in zip(batch, n_barred, strict=True):
        sentence.n_barred = n
    best.sums.masked_fill_(is_end, -torch.inf)


def _collect_ends(
    batch: list[_Sentence], best: Continuations, is_end: Tensor, history_BWT: Tensor, config: SearchConfig
) -> None:
    """Give the hypotheses that end among the first W continuations to their sentences."""
    places, ranks = (is_end & best.sums.isfinite())[:, : config.beam_size].nonzero().unbind(1)
    ids_of_ends = history_BWT[places, best.beams[places, ranks]].tolist()
    for place, ids, log_prob in zip(places.tolist(), ids_of_ends, best.sums[places, ranks].tolist(), strict=True):
        if not batch[place].is_done:
            batch[place].found.append(scored(tuple(ids), log_prob, config))


def _settle(sentence: _Sentence, t: int, sums_W: Tensor, history_WT: Tensor, config: SearchConfig) -> None:
    """See whether step t was the last that this sentence needs; the hypotheses are those that the step began with."""
    if sentence.n_first is None and len(sentence.found) + sentence.n_barred >= config.beam_size:
        sentence.n_first = len(sentence.found)
    if t >= sentence.max_len:
        _collect_cut(sentence.found, sums_W, history_WT, config)
        sentence.is_done = True
    elif sentence.n_first is not None:
        sentence.is_done = len(sentence.found) >= config.n_best


def _collect_cut(found: list[Hypothesis], sums_W: Tensor, history_WT: Tensor, config: SearchConfig) -> None:
    """Fill `found` with the hypotheses that the length limit cuts: all that did not just end."""
    ended = {hypothesis.ids for hypothesis in found}
    for log_prob, ids in zip(sums_W.tolist(), map(tuple, history_WT.tolist()), strict=True):
        if len(found) < config.beam_size and log_prob > -math.inf and ids not in ended:
            found.append(scored(ids, log_prob, config, is_finished=False))


def _going_on(best: Continuations, is_end: Tensor, W: int) -> Continuations:
    """The first W continuations that do not end, (B, W): a stable sort puts them in front and keeps their order.

    A tiny vocabulary may have fewer; what ended then goes on with a probability of zero.
    """
    order_BW = is_end.to(torch.int8).argsort(dim=1, stable=True)[:, :W]
    sums = best.sums.masked_fill(is_end, -torch.inf)
    return Continuations(*(part.gather(1, order_BW) for part in (sums, best.beams, best.tokens)))
