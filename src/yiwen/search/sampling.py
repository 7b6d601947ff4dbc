"""Sampling: draw each token from the model's distribution, cut to its likely part and sharpened or flattened."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from yiwen.search.config import SearchConfig

Pick = Callable[[Tensor], Tensor]
"""log_probs (R, V) -> chosen ids (R,)."""


def truncated_probs(log_probs: Tensor, config: SearchConfig) -> Tensor:
    """The distribution that sampling draws from, (R, V): temperature, then top-k, then top-p, then normalised.

    Top-p keeps the smallest set of likeliest tokens whose probabilities reach p (Holtzman et al. 2020, section 3.1).
    """
    scores = log_probs / config.temperature
    if 0 < config.top_k < scores.size(-1):
        kth_best = scores.topk(config.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < kth_best, -torch.inf)
    probs = scores.softmax(dim=-1)
    if config.top_p < 1:
        ordered, ids = probs.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered  # what the likelier tokens already hold
        probs = probs.scatter(-1, ids, ordered.masked_fill(before >= config.top_p, 0.0))
    return probs / probs.sum(dim=-1, keepdim=True)


def sampler(config: SearchConfig, generator: torch.Generator) -> Pick:
    """A pick for `extend` that draws from `truncated_probs` with its own generator."""
    return lambda log_probs: torch.multinomial(truncated_probs(log_probs, config), 1, generator=generator)[:, 0]
