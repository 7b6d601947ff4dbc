"""Beam search for translations that hold given terms, by dynamic beam allocation (Post and Vilar 2018).

The beam is shared out among hypotheses by how many subwords of their terms they hold, so that those which have begun
a term are not driven out by likelier ones that have not; none may end before it holds all. Without terms it is beam
search with the rules of `beam`, but that a forbidden end at once takes no place.

Shapes: W hypotheses, V vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import length_divisor, scored
from yiwen.search.step import State, StepFn, Task

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    total: float
    row: int
    """The hypothesis that it continues."""
    ids: Ids
    """With the new token, eos too."""
    n_met: int
    """Subwords of terms that it holds."""


def constrained_search(
    step: StepFn[State], state: State, task: Task, config: SearchConfig, terms: Sequence[Sequence[int]], *, room: int
) -> list[Hypothesis]:
    """Find up to n_best hypotheses for one sentence that hold all terms, best first.

    Args:
        step: The step function of the model.
        state: Its state for one sentence before the first step.
        task: Limit and prefix of one sentence.
        config: Beam size, length penalty, shortest length, how many to return.
        terms: Subwords that must follow one another in the translation; a term that is given twice, twice.
        room: Subwords without eos that the model has positions for: terms that need more are not all met.
    """
    needed = Counter(tuple(term) for term in terms)
    n_needed = sum(map(len, needed.elements()))
    in_terms = {token for term in needed for token in term}
    W = max(config.beam_size, 2 * (n_needed + 1)) if needed else config.beam_size  # two hypotheses a bank
    (prefix,) = task.prefixes
    limit = max(task.max_lens[0], min(len(prefix) + n_needed, room))
    going: list[tuple[float, Ids]] = [(0.0, ())]
    found: list[Hypothesis] = []
    last_ids = torch.full((1,), task.bos_id, device=task.device)
    for t in range(limit + 1):
        log_probs, state = step(last_ids, state)
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        log_probs = task.force_prefix(log_probs, [0], t, len(going))
        best = log_probs.topk(min(2 * config.beam_size, log_probs.size(1)), dim=1).indices.tolist()
        candidates = []
        for row, (total, ids) in enumerate(going):
            n_met, n_whole, wanted = _progress(ids, needed)
            tokens = [*dict.fromkeys([*best[row], *sorted(wanted)])]
            for token, gain in zip(tokens, log_probs[row, tokens].tolist(), strict=True):
                if gain > -torch.inf and (token != task.eos_id or n_met == n_needed):
                    longer = (*ids, token)
                    met = _progress(longer, needed)[0] if token in in_terms else n_whole
                    candidates.append(_Candidate(total + gain, row, longer, met))
        # Who still lacks more than there is room for can never hold all (terms may overlap, which is not counted on).
        able = [c for c in candidates if c.n_met == n_needed or n_needed - c.n_met < limit - t]
        kept = _allocated(able or candidates, W, task.eos_id)
        found += [scored(c.ids[:-1], c.total, config) for c in kept if c.ids[-1] == task.eos_id]
        if t >= limit:  # what did not just end is cut
            ended = {hypothesis.ids for hypothesis in found}
            cut = [scored(ids, total, config, is_finished=False) for total, ids in going if ids not in ended]
            found += cut[: max(0, config.beam_size - len(found))]
        goes_on = [c for c in kept if c.ids[-1] != task.eos_id]
        # A bank of its own lets worse ones end first, so they have to be better than what goes on.
        hope = max((c.total / length_divisor(len(c.ids) + 1, config) for c in goes_on if needed), default=-torch.inf)
        is_enough = len(found) >= config.beam_size and max(h.score for h in found) >= hope
        if t >= limit or is_enough or not goes_on:
            break
        going = [(c.total, c.ids) for c in goes_on]
        state = state.select(torch.tensor([c.row for c in goes_on], device=task.device))
        last_ids = torch.tensor([c.ids[-1] for c in goes_on], device=task.device)
    return sorted(found, key=lambda h: (-_progress(h.ids, needed)[0], -h.score))[: config.n_best]


def _allocated(candidates: list[_Candidate], W: int, eos_id: int) -> list[_Candidate]:
    """Those that stay: of each bank its share of the beam, room that a bank does not fill to the others.

    Of a bank with room for n, whatever ends among its n best, and the n best that do not.
    """
    banks: dict[int, list[_Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: -c.total):
        banks.setdefault(candidate.n_met, []).append(candidate)
    room = dict.fromkeys(banks, 0)
    free = max(W, len(banks))
    while free and any(room[bank] < len(inside) for bank, inside in banks.items()):
        for bank in sorted(banks, reverse=True):  # the fullest first
            if free and room[bank] < len(banks[bank]):
                room[bank] += 1
                free -= 1
    kept = []
    for bank, inside in banks.items():
        kept += [c for c in inside[: room[bank]] if c.ids[-1] == eos_id]
        kept += [c for c in inside if c.ids[-1] != eos_id][: room[bank]]
    return kept


def _progress(ids: Ids, needed: Counter[Ids]) -> tuple[int, int, set[int]]:
    """How many subwords of the terms a hypothesis holds, how many of them in whole terms, which tokens add one."""
    n_whole = longest = 0
    wanted: set[int] = set()
    for term, n in needed.items():
        there = _occurrences(ids, term)
        n_whole += min(there, n) * len(term)
        if there < n:
            begun = next(k for k in range(len(term) - 1, -1, -1) if k == 0 or ids[-k:] == term[:k])
            wanted.add(term[begun])
            longest = max(longest, begun)
    return n_whole + longest, n_whole, wanted


def _occurrences(ids: Ids, term: Ids) -> int:
    n, place = 0, 0
    while place <= len(ids) - len(term):
        if ids[place : place + len(term)] == term:
            n += 1
            place += len(term)
        else:
            place += 1
    return n
