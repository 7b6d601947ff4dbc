"""How a translation is searched for. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from yiwen.config import check_bounds
from yiwen.errors import ConfigError

WIDEST: Final = 1000
"""Largest beam, far beyond what translating needs."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Greedy search, beam search or sampling, and where they stop."""

    beam_size: int = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    n_best: int = 1
    """Translations returned per sentence, best first; at most beam_size, or any number when sampling."""
    penalty: Literal["average", "gnmt", "none"] = "average"
    """What a log-probability is divided by before hypotheses are compared: length^length_penalty,
    ((5 + length) / 6)^length_penalty (Wu et al. 2016, section 7), or 1. Length counts eos."""
    length_penalty: float = 1.0
    """The exponent of `penalty`; 0 turns it off."""
    max_len_ratio: float = 2.0
    """Longest translation, in target subwords per source subword ..."""
    max_len_extra: int = 20
    """... plus this many. A translation cut there is flagged."""
    min_len: int = 1
    """Fewest target subwords before the end may come, even where the two above allow fewer."""
    mbr: int = 0
    """Of this many candidates (samples, or the best of the beam), take the one that agrees most with the others by
    chrF (minimum Bayes risk, Eikema and Aziz 2020); 0: the likeliest one."""
    sampling: bool = False
    """Draw each token at random instead of searching for the best."""
    temperature: float = 1.0
    """Sampling: scores are divided by it; below 1 is more careful, above 1 bolder."""
    top_k: int = 0
    """Sampling: only the k likeliest tokens may be drawn; 0 is no limit (Fan et al. 2018)."""
    top_p: float = 1.0
    """Sampling: only the likeliest tokens that together have this probability may be drawn (Holtzman et al. 2020)."""
    seed: int = 1
    """Sampling: where its random numbers start."""

    def __post_init__(self) -> None:
        check_bounds(
            "search.",
            self,
            ("beam_size", 1, WIDEST, f"1 for greedy, 2 to {WIDEST} for a beam"),
            ("n_best", 1, math.inf, "1 or more"),
            ("max_len_ratio", -math.inf, 1000, "at most 1000"),
            ("min_len", 0, math.inf, "0 or more"),
            ("temperature", 0.01, 1e6, "0.01 to 1000000, or beam_size = 1"),
            ("length_penalty", -10, 10, "-10 to 10, 1 for the mean"),
            ("top_k", 0, math.inf, "0 for no limit or more"),
            ("seed", 0, 2**62 - 1, "0 or more, less than 2**62"),
            ("top_p", 1e-6, 1, "0.000001 to 1"),
        )
        if self.mbr and not self.n_best <= self.mbr:
            remedy = "use 0 for none, or at least as many candidates as translations, say 16"
            raise ConfigError(f"search.mbr is {self.mbr} with search.n_best={self.n_best}; {remedy}")
        for name, n in (("n_best", self.n_best), ("mbr", self.mbr)):
            if n > self.beam_size and not self.sampling:
                wanted = f"search.{name}={n} asks for more than search.beam_size={self.beam_size} can find"
                raise ConfigError(f"{wanted}; use beam_size={n} or sampling")
        if self.max_len_ratio < 0 or self.max_len_extra < 0 or self.max_len_ratio + self.max_len_extra == 0:
            both = f"search.max_len_ratio={self.max_len_ratio} and max_len_extra={self.max_len_extra}"
            raise ConfigError(f"{both} leave no room for a translation; none may be negative and one must be above 0")

    @lru_cache(maxsize=256)  # noqa: B019  it keeps values, not an object's life
    def changed(self, **settings: Any) -> SearchConfig:
        """A copy with the settings that are not None; what is left out stays.

        Kept: every request to a service asks for the same few, and a new one is checked all over.

        Raises:
            ConfigError: If a setting is wrong, or would do nothing: a beam for samples, an exponent for no penalty.
        """
        changed = replace(self, **{name: value for name, value in settings.items() if value is not None})
        idle = {"beam_size": changed.sampling, "length_penalty": changed.penalty == "none"}
        if given := [f"search.{name}" for name in idle if idle[name] and settings.get(name)]:
            raise ConfigError(f"{', '.join(given)}: sampling has no beam, penalty='none' no exponent; leave this out")
        return changed

    def max_len(self, src_len: int) -> int:
        """Longest translation of a source of src_len subwords, in subwords without eos."""
        return max(1, int(self.max_len_ratio * src_len) + self.max_len_extra)

    def limits(self, sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]], *, room: int) -> list[int]:
        """The same of each source in a model of so much room; a prefix and `min_len` go before."""
        both = zip(sources, prefixes, strict=True)
        return [min(max(self.max_len(len(ids)), self.min_len, len(prefix)), room) for ids, prefix in both]
