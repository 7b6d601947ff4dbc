"""What comes back from a translator: a translated text and what there is to know about it, or how likely one is."""

from __future__ import annotations

from dataclasses import dataclass

from yiwen.plan import Piece


@dataclass(frozen=True)
class Alternative:
    """One more translation of the same text."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A translated text and what there is to know about it. `str()` of it is the text."""

    text: str
    """The translation, as many lines as the source."""
    score: float
    """Log-probability a subword (by the search's length penalty), the mean over its segments; 0 where nothing had
    to be translated, NaN where it was neither asked for nor free."""
    alternatives: tuple[Alternative, ...] = ()
    """All n-best translations, best first, where more than one was asked for and the text is one segment."""
    flags: tuple[str, ...] = ()
    """What a careful reader should know: `segmented` (longer than the model has seen, so translated in pieces),
    `invalid_utf8` (bytes that are no text were replaced), the faults of `evaluation.checks` (`cut`, `loop`,
    `length_ratio`, `numbers`, `omission`, `placeholders`), and `repaired` (a second search found one with fewer)."""
    sentences: tuple[Piece, ...] = ()
    """Where each part that was translated by itself stands in the source and in the translation."""
    confidence: float | None = None
    """Probability that it is good, of the least sure of its parts; None where the bundle is not calibrated or no
    log-probability is known."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score:
    """How likely the model finds a given translation."""

    log_prob: float
    """Natural logarithm of its probability, end included."""
    n_tokens: int
    """Subwords, end included."""

    @property
    def per_token(self) -> float:
        """Log-probability a subword: comparable between texts of different length."""
        return self.log_prob / self.n_tokens
