"""What a model can learn to do, and the settings of the tasks that need no decoder. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from yiwen.config import ABOVE_0, check_bounds

if TYPE_CHECKING:  # it imports numpy, which translating does without
    from yiwen.data.corpus import Targets

Task = Literal["translate", "classify", "tag", "mlm", "embed"]
Pooling = Literal["mean", "max", "first", "attention"]

TARGETS: dict[Task, Targets] = {"translate": "text", "classify": "label", "tag": "tags", "mlm": "none", "embed": "read"}
"""What the target side of the text is for each task."""

COMMANDS: Final = {task: "embed" if task == "mlm" else task for task in TARGETS}
"""The command that uses a model of each task."""

METRICS: Final[dict[Task, tuple[str, ...]]] = {
    "translate": ("bleu", "chrf"),
    "classify": ("accuracy", "macro_f1"),
    "tag": ("accuracy", "macro_f1", "span_f1"),
    "mlm": ("accuracy",),
    "embed": ("accuracy",),
}
"""Scores that can decide which model of a run is the best."""


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """An encoder without a decoder, for the tasks classify, tag, mlm and embed."""

    pooling: Pooling = "mean"
    """How a text's states become one vector: their mean, maximum, the first, or a mean with learned weights."""
    is_frozen: bool = False
    """Train the head alone and leave the encoder as training.init_from gave it."""
    rate: float = 1.0
    """Learning rate of the encoder's last layer, relative to that of the head."""
    layer_decay: float = 1.0
    """What the learning rate is multiplied by from each layer to the one below, embeddings last; 1: all alike."""
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: rare labels count for more in the loss, each label as much as any other (classify, tag)."""
    masking: Literal["subword", "word", "span"] = "word"
    """What mlm hides together: single subwords, words (Chinese: characters), or spans of words (Joshi et al. 2020)."""
    mask_share: float = 0.15
    """Share of the subwords that mlm has to guess."""
    temperature: float = 0.05
    """embed: what cosines are divided by before the softmax over the batch."""

    def __post_init__(self) -> None:
        shares = "rate layer_decay mask_share temperature"
        check_bounds("encoder.", self, (shares, ABOVE_0, 1, "more than 0 and at most 1"))
