"""Beam search over a step function.

The rules, those of the engine that exported models run in, so that both find the same hypotheses:
- each step looks at the 2 W best continuations of a sentence's W hypotheses;
- a continuation that ends counts as found when it is among the first W of them;
- the first W that do not end go on;
- a sentence is done when W hypotheses were found, or at its length limit, where those still going count as cut.

Shapes: B sentences still searched, W beam size, V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor
from yiwen.search.step import State, StepFn, Task


def beam_search(step: StepFn[State], state: State, task: Task, config: SearchConfig) -> list[list[Hypothesis]]:
    """Find up to W hypotheses for each sentence, best first.

    Args:
        step: The step function of the model.
        state: Its state for B = len(task.max_lens) sentences before the first step.
        task: Limits and prefixes of the sentences.
        config: Beam size W, length penalty, shortest length, how many to return.

    Returns:
        For each sentence its n_best hypotheses, best first; fewer where the vocabulary holds no more.
    """
    W = config.beam_size
    alive = list(range(len(task.max_lens)))
    found: list[list[Hypothesis]] = [[] for _ in alive]
    last_ids = torch.full((len(alive) * W,), task.bos_id, device=task.device)
    # All W hypotheses of a sentence start equal: only the first may be continued, or they would stay equal.
    sums_BW = torch.full((len(alive), W), -torch.inf, device=task.device)
    sums_BW[:, 0] = 0.0
    history_BWT = torch.empty((len(alive), W, 0), dtype=torch.int64, device=task.device)
    for t in range(max(task.max_lens, default=-1) + 1):
        log_probs, state = step(last_ids, state)
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        log_probs = task.force_prefix(log_probs, alive, t, W)
        top_sums, from_beam, tokens = _best_continuations(sums_BW, log_probs, 2 * W)
        is_end = tokens == task.eos_id
        _collect_ends(found, alive, (top_sums, from_beam, is_end), history_BWT, config)
        at_limit = [t >= task.max_lens[sentence] for sentence in alive]
        for place in (place for place, is_cut in enumerate(at_limit) if is_cut):
            _collect_cut(found[alive[place]], sums_BW[place], history_BWT[place], config)
        # The first W that do not end: a stable sort puts them in front and keeps their order.
        order_BW = is_end.to(torch.int8).argsort(dim=1, stable=True)[:, :W]
        sums_BW, beams_BW, tokens_BW = (part.gather(1, order_BW) for part in (top_sums, from_beam, tokens))
        staying = [place for place, sentence in enumerate(alive) if len(found[sentence]) < W and not at_limit[place]]
        if not staying:
            break
        keep = torch.tensor(staying, device=task.device)
        rows = (beams_BW + torch.arange(len(alive), device=task.device)[:, None] * W)[keep].flatten()
        state = state.select(rows)
        history_BWT = torch.cat([history_BWT.flatten(0, 1)[rows], tokens_BW[keep].view(-1, 1)], dim=1)
        history_BWT = history_BWT.view(len(staying), W, -1)
        if len(staying) < len(alive):
            state = state.select_sentences(keep)
            alive = [alive[place] for place in staying]
        sums_BW, last_ids = sums_BW[keep], tokens_BW[keep].flatten()
    return [sorted(hypotheses, key=lambda h: -h.score)[: config.n_best] for hypotheses in found]


def _best_continuations(sums_BW: Tensor, log_probs: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The n best of all W x V continuations of each sentence: their sums, beams and tokens, each (B, n), best first."""
    B = sums_BW.size(0)
    V = log_probs.size(1)
    # The n best of a sentence are among the n best of each of its hypotheses: two small sorts, not one over W x V.
    row_best, row_tokens = log_probs.topk(min(n, V), dim=1)
    sums = (sums_BW.view(-1, 1) + row_best).view(B, -1)
    top_sums, places = sums.topk(min(n, sums.size(1)), dim=1)
    return top_sums, places // row_best.size(1), row_tokens.view(B, -1).gather(1, places)


def _collect_ends(
    found: list[list[Hypothesis]],
    alive: list[int],
    continuations: tuple[Tensor, Tensor, Tensor],
    history_BWT: Tensor,
    config: SearchConfig,
) -> None:
    """Add to `found` the hypotheses that end among the first W continuations (sums, beams, is_end)."""
    top_sums, from_beam, is_end = (part[:, : config.beam_size] for part in continuations)
    for place, rank in (is_end & top_sums.isfinite()).nonzero().tolist():
        if len(found[alive[place]]) < config.beam_size:
            ids = tuple(history_BWT[place, from_beam[place, rank]].tolist())
            log_prob = top_sums[place, rank].item()
            found[alive[place]].append(
                Hypothesis(ids, log_prob / length_divisor(len(ids) + 1, config), log_prob, is_finished=True)
            )


def _collect_cut(found: list[Hypothesis], sums_W: Tensor, history_WT: Tensor, config: SearchConfig) -> None:
    """Fill `found` with the hypotheses that the length limit cuts: all that did not just end."""
    ended = {hypothesis.ids for hypothesis in found}
    for log_prob, ids in zip(sums_W.tolist(), map(tuple, history_WT.tolist()), strict=True):
        if len(found) < config.beam_size and log_prob > -math.inf and ids not in ended:
            found.append(Hypothesis(ids, log_prob / length_divisor(len(ids), config), log_prob, is_finished=False))
