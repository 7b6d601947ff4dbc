"""Beam search for translations that hold given terms, by dynamic beam allocation (Post and Vilar 2018).

The beam is shared out among hypotheses by how many subwords of their terms they hold, so that those which have begun
a term are not driven out by likelier ones that have not; none may end before it holds all. Without terms it is beam
search with the rules of `beam`, but that a forbidden end at once takes no place.

Shapes: W hypotheses, V vocabulary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import scored
from yiwen.search.step import State, StepFn, Task
from yiwen.stop import StopFlag, poll

Ids = tuple[int, ...]
_WIDEST: Final = 100
"""Hypotheses up to which each bank has two; beyond that they share these, or have one each."""


class _Progress(NamedTuple):
    """How far a hypothesis is with the terms, by their numbers."""

    whole: tuple[int, ...]
    """How often it holds each, none over another of its kind."""
    begun: Mapping[int, int]
    """Subwords of the terms that it ends with the beginning of."""
    n_met: int
    """Subwords of the whole ones, and of the one that is farthest begun and still lacking."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A hypothesis with its newest token, or with its end."""

    total: float
    """Log-probability."""
    row: int
    """Which hypothesis of the step before it continues."""
    ids: Ids
    """Without eos."""
    progress: _Progress
    is_end: bool = False

    def hypothesis(self, config: SearchConfig) -> Hypothesis:
        """What the search hands out, of one that has ended or is cut."""
        return scored(self.ids, self.total, config, is_finished=self.is_end)


def constrained_search(
    step: StepFn[State],
    state: State,
    task: Task,
    config: SearchConfig,
    terms: Sequence[Sequence[int]],
    *,
    room: int,
    stop: StopFlag | None = None,
) -> list[Hypothesis]:
    """Find up to n_best hypotheses for one sentence that hold all terms, best first.

    Args:
        step: The step function of the model.
        state: Its state for one sentence before the first step.
        task: Limit and prefix of one sentence.
        config: Beam size, length penalty, shortest length, how many to return.
        terms: Subwords that must follow one another in the translation; a term that is given twice, twice.
        room: Subwords without eos that the model has positions for: terms that need more are not all met.
        stop: Polled at each step, of which terms make long ones.
    """
    wanted = _Terms(terms)
    n_needed = wanted.n_needed
    width = max(config.beam_size, config.n_best)  # samples may be more than a beam holds
    W = max(width, min(2 * (n_needed + 1), _WIDEST)) if terms else width
    (prefix,) = task.prefixes
    limit = max(task.max_lens[0], min(len(prefix) + n_needed, room))
    going = [_Candidate(0.0, 0, (), wanted.start)]
    done: list[_Candidate] = []
    last_ids = torch.full((1,), task.bos_id, device=task.device)
    for t in range(limit + 1):
        poll(stop, "translation")
        log_probs, state = step(last_ids, state)
        if t < config.min_len:
            log_probs[:, task.eos_id] = -torch.inf
        task.force_prefix(log_probs, [0], t, len(going))
        candidates = _continued(going, log_probs, wanted, n_likeliest=2 * width, eos_id=task.eos_id)
        # Who still lacks more than there is room for can never hold all (terms may overlap, which is not counted on).
        able = [c for c in candidates if c.progress.n_met == n_needed or n_needed - c.progress.n_met < limit - t]
        kept = _allocated(able or candidates, W)
        done += [c for c in kept if c.is_end]
        if t >= limit:  # what did not just end is cut
            ended = {c.ids for c in done}
            done += [c for c in going if c.ids not in ended][: max(0, width - len(done))]
            break
        going = [c for c in kept if not c.is_end]
        if not going or (len(done) >= width and not (terms and _is_hope(going, done, config))):
            break
        state = state.select(torch.tensor([c.row for c in going], device=task.device))
        last_ids = torch.tensor([c.ids[-1] for c in going], device=task.device)
    done.sort(key=lambda c: (-c.progress.n_met, -c.hypothesis(config).score))
    return [c.hypothesis(config) for c in done[: config.n_best]]


def _continued(
    going: Sequence[_Candidate], log_probs: Tensor, wanted: _Terms, *, n_likeliest: int, eos_id: int
) -> list[_Candidate]:
    """Every hypothesis with each of its likeliest tokens, and with those that its terms are waiting for."""
    likeliest = log_probs.topk(min(n_likeliest, log_probs.size(1)), dim=1).indices.tolist()
    candidates = []
    for row, before in enumerate(going):
        tokens = list(dict.fromkeys([*likeliest[row], *sorted(wanted.next_tokens(before.progress))]))
        for token, gain in zip(tokens, log_probs[row, tokens].tolist(), strict=True):
            if gain == -torch.inf:
                continue
            total = before.total + gain
            if token != eos_id:
                ids = (*before.ids, token)
                candidates.append(_Candidate(total, row, ids, wanted.after(before.progress, ids)))
            elif before.progress.n_met == wanted.n_needed:
                candidates.append(_Candidate(total, row, before.ids, before.progress, is_end=True))
    return candidates


def _is_hope(going: Sequence[_Candidate], done: Sequence[_Candidate], config: SearchConfig) -> bool:
    """Whether one that goes on, were it to end now, would be better than all that are done.

    A bank of its own lets worse ones end first: that enough have ended says nothing yet.
    """
    best = max(c.hypothesis(config).score for c in done)
    return any(scored(c.ids, c.total, config).score > best for c in going)


class _Terms:
    """Terms to look for. What a hypothesis holds is carried from token to token, never counted again."""

    def __init__(self, terms: Sequence[Sequence[int]]) -> None:
        self.n_needed = sum(map(len, terms))
        self._needed = list(Counter(map(tuple, terms)).items())
        self.start = _Progress((0,) * len(self._needed), {}, 0)
        self._with: dict[int, list[int]] = defaultdict(list)  # the terms that hold a token
        for number, (term, _) in enumerate(self._needed):
            for token in dict.fromkeys(term):
                self._with[token].append(number)

    def after(self, progress: _Progress, ids: Ids) -> _Progress:
        """The progress of a hypothesis that its last token has been added to."""
        if ids[-1] not in self._with and not progress.begun:  # as most are
            return progress
        whole, begun = list(progress.whole), {}
        for i in self._with.get(ids[-1], ()):
            term = self._needed[i][0]
            longest = progress.begun.get(i, 0) + 1
            n = next((n for n in range(longest, 0, -1) if ids[-n:] == term[:n]), 0)
            whole[i] += n == len(term)
            begun[i] = n % len(term)
        held = zip(self._needed, whole, strict=True)
        n_met = sum(min(n_whole, n_times) * len(term) for (term, n_times), n_whole in held)
        n_met += max((n for i, n in begun.items() if whole[i] < self._needed[i][1]), default=0)
        return _Progress(tuple(whole), begun, n_met)

    def next_tokens(self, progress: _Progress) -> set[int]:
        """The tokens that add to a term that is lacking."""
        missing = [i for i, (_, n_times) in enumerate(self._needed) if progress.whole[i] < n_times]
        return {self._needed[i][0][progress.begun.get(i, 0)] for i in missing}


def _allocated(candidates: list[_Candidate], W: int) -> list[_Candidate]:
    """Those that stay: of each bank its share of the beam, room that a bank does not fill to the others.

    Of a bank with room for n, whatever ends among its n best, and the n best that do not.
    """
    banks: dict[int, list[_Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: -c.total):
        banks.setdefault(candidate.progress.n_met, []).append(candidate)
    turns = sorted((turn, -bank) for bank, inside in banks.items() for turn in range(len(inside)))  # the fullest first
    room = Counter(-bank for _, bank in turns[: max(W, len(banks))])
    kept = []
    for bank, inside in sorted(banks.items(), reverse=True):  # if the limit cuts, it cuts those first
        kept += [c for c in inside[: room[bank]] if c.is_end]
        kept += [c for c in inside if not c.is_end][: room[bank]]
    return kept
