"""How a model is trained. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from yiwen.config import ABOVE_0, BELOW_1, check_bounds
from yiwen.errors import ConfigError
from yiwen.hardware import MAX_THREADS


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Length, optimizer, schedule, checkpoints and early stopping of a run. A step is one optimizer update."""

    max_steps: int = 20_000
    """Updates in all."""
    batch_tokens: int | Literal["auto"] = 4096
    """Positions in a micro-batch on its longer side, padding included: what memory is spent on; auto: the fastest
    size on this machine, which needs update_tokens."""
    update_tokens: int = 0
    """Target tokens, without padding, that an update gathers over micro-batches (classify: texts; tag and mlm:
    subwords); 0: one micro-batch per update. The paper: 25,000."""
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    """adam (Kingma and Ba 2015, in the paper); adamw (Loshchilov and Hutter 2019); muon for the matrices of the layers
    with adamw for the rest (Jordan et al. 2024)."""
    learning_rate: float = 1e-3
    """Highest learning rate; with schedule = "paper" a factor, 1.0 in the paper."""
    schedule: Literal["paper", "inverse_sqrt", "polynomial", "cosine", "constant"] = "inverse_sqrt"
    """How the learning rate moves after the warm-up; paper: equation 3 of section 5.3. polynomial and cosine reach 0
    with the last update."""
    warmup_steps: int = 1000
    """Updates over which the learning rate rises from 0."""
    decay_power: float = 1.0
    """Exponent of the polynomial schedule: (1 - progress)^decay_power; 1 is linear, 0.5 stays high for long."""
    beta1: float = 0.9
    """Decay of the mean of gradients in Adam and AdamW; the momentum of Muon, beside it, is always 0.95."""
    beta2: float = 0.98
    """Decay of the mean of squared gradients."""
    epsilon: float = 1e-9
    """Added to the root of the mean square."""
    weight_decay: float = 0.01
    """Decay of the layers' matrices per update, times the learning rate (not of embeddings, outputs, norms and biases;
    none with adam)."""
    label_smoothing: float = 0.1
    """Probability mass spread over the vocabulary (section 5.4) or, by classify and tag, the labels; embed
    spreads none."""
    rdrop: float = 0.0
    """R-Drop (Liang et al. 2021): how much two passes with different dropout must agree, alpha of the paper (5 there);
    an update then takes 2.2 to 2.5 times the time and twice the memory. 0: one pass."""
    word_dropout: float = 0.0
    """Share of source subwords hidden behind `<unk>`, different ones at each update, so that the model relies on
    context; symbols and placeholders are never hidden."""
    guided_alignment: float = 0.0
    """How much one head of the cross-attention is taught to look at the word being translated (Garg et al. 2019):
    weight of that part of the loss, 0.05 there, so that word alignments can be relied on. 0: not at all."""
    clip_norm: float = 1.0
    """Greatest norm of the gradient; a longer one is scaled down to it. 0: no limit."""
    ema_decay: float = 0.998
    """Decay of the exponential moving average of the weights, which is what gets validated and kept; 0: none."""
    average_last: int = 0
    """The final bundle holds the mean of the weights in the last N scheduled checkpoints (section 6.1), as `yiwen
    average` makes it; 0: their moving average (`ema_decay`) at the end."""
    validate_every: int = 500
    """Updates between validations."""
    checkpoint_every: int = 500
    """Updates between checkpoints: what a power cut can cost."""
    keep_last: int = 3
    """Scheduled checkpoints kept."""
    metric: Literal["bleu", "chrf", "accuracy", "macro_f1", "span_f1"] = "bleu"
    """Validation score that decides which model is best: of the greedy decoding (bleu, chrf) or, for tasks without a
    decoder, accuracy, macro_f1 (all labels alike) or span_f1 (of BIO tags). If a recipe names none: bleu for
    translate, else accuracy."""
    patience: int = 0
    """Stop after this many validations without a better score; 0: never."""
    log_every: int = 20
    """Updates between two lines of metrics.jsonl."""
    max_bad_updates: int = 5
    """Updates in a row with an infinite or undefined loss or gradient, after which training stops."""
    init_from: str = ""
    """A model folder or run to start from: its weights and its vocabulary are used instead of new ones; of
    [tokenizer] only `sampling` still counts. Relative to the recipe, else to the current folder."""
    seed: int = 1
    """Where all randomness starts: first weights, order, dropout."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """Number type of matrix products; auto: bf16 where that is faster. Weights and losses stay float32."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1 ..."""
    threads: int = 0
    """Processor threads; 0: OMP_NUM_THREADS, or all; with a GPU, one."""
    attention: Literal["auto", "plain", "fused", "packed"] = "auto"
    """How attention is computed: as matrix products, or by PyTorch's fused kernel; auto: the faster here.
    packed (for translation on CUDA in bf16; what auto is there below a d_model of 1,024): the fused kernel on
    sentences that follow one another without padding, each kind of batch recorded as a CUDA graph."""
    products: Literal["auto", "torch", "onednn"] = "auto"
    """Who computes the products of linear layers: PyTorch, or oneDNN called directly; auto: the faster here."""

    def __post_init__(self) -> None:
        check_bounds(
            "training.",
            self,
            ("max_steps validate_every checkpoint_every keep_last log_every", 1, math.inf, "1 or more"),
            ("update_tokens warmup_steps average_last patience threads weight_decay", 0, math.inf, "0 or more"),
            ("rdrop guided_alignment clip_norm", 0, math.inf, "0 or more"),
            ("threads", 0, MAX_THREADS, f"1 to {MAX_THREADS}, or 0 for all"),
            ("beta1 beta2 label_smoothing word_dropout ema_decay", 0, BELOW_1, "0 or more and less than 1"),
            ("learning_rate epsilon decay_power max_bad_updates", ABOVE_0, math.inf, "more than 0"),
        )
        if self.batch_tokens == "auto" and self.update_tokens == 0:
            why = "auto decides how much is computed at a time, never what an update learns from"
            remedy = "set update_tokens, for example to 4096, or give batch_tokens a number"
            raise ConfigError(f"training.batch_tokens='auto' needs training.update_tokens: {why}; {remedy}")
        if self.batch_tokens != "auto" and self.batch_tokens < 1:
            raise ConfigError(f"training.batch_tokens is {self.batch_tokens}; use 1 or more, or 'auto'")
        if self.schedule == "paper" and self.learning_rate < 0.01:
            raise ConfigError(f"training.learning_rate={self.learning_rate} multiplies schedule='paper'; use about 1")
        if self.average_last > self.keep_last:
            why = f"needs as many checkpoints, but training.keep_last={self.keep_last}"
            raise ConfigError(f"training.average_last={self.average_last} {why}; raise keep_last")

    @property
    def micro_batch_tokens(self) -> int:
        """batch_tokens once it is settled: a run puts the number found in the place of "auto" before training."""
        assert self.batch_tokens != "auto"
        return self.batch_tokens


MAY_CHANGE: Final = frozenset({"max_steps", "patience", "log_every", "keep_last"})
"""Settings that a resumed run may have otherwise than its first start: they change how long, and with it the rates of a
schedule that ends at max_steps (polynomial, cosine)."""
