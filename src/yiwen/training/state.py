"""Where a run stands: the few numbers that, with weights and optimizer state, make resume exact."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass


@dataclass(kw_only=True)
class Progress:
    """All of a run's state that is no tensor. It is saved as JSON, whose floats come back digit for digit."""

    step: int = 0
    """Updates done."""
    epoch: int = 0
    """Epoch of the next update."""
    update: int = 0
    """Place of the next update in its epoch."""
    validated_step: int = 0
    """Step of the last validation: a stop during validation leaves it to be done again."""
    best_score: float | None = None
    """Best validation score so far."""
    best_loss: float = 0.0
    """Its loss: of equal scores, such as BLEU 0 at the start, the one of less loss is the better."""
    best_step: int = 0
    """Step of the best score."""
    n_worse: int = 0
    """Validations since then."""
    loss_sum: float = 0.0
    """Loss in nats since the last line of metrics.jsonl ..."""
    loss_tokens: int = 0
    """... and the tokens it covers."""
    n_skipped: int = 0
    """Updates left out in all because their loss or gradient was not finite."""
    n_skipped_in_row: int = 0
    """The same without a good update between."""
    metrics_bytes: int = 0
    """Length of metrics.jsonl; resume cuts the file there."""
    is_scheduled: bool = True
    """Whether the checkpoint's step is one of checkpoint_every's; others (the first weights, or where a signal
    stopped) are neither counted nor averaged."""
    data: str = ""
    """Fingerprint of the prepared data."""

    def line(self, *, learning_rate: float, gradient_norm: float) -> dict[str, float]:
        """One line of metrics.jsonl about the updates since the last, one at least; it depends on no clock."""
        loss = self.loss_sum / self.loss_tokens
        so_far = {"step": self.step, "epoch": self.epoch, "loss": loss, "perplexity": math.exp(min(loss, 100.0))}
        return so_far | {"learning_rate": learning_rate, "gradient_norm": gradient_norm}


def seed_of(*numbers: int) -> int:
    """A seed for torch from several numbers, e.g. (run seed, step, micro-batch, rank)."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()[:8], "little") >> 1
