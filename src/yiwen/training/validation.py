"""Validation of a translator: teacher-forced loss, and the score of a greedy decoding of the whole set."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from yiwen.analysis.attention import attention_picture, word_weights
from yiwen.data.batching import collate
from yiwen.data.store import Store
from yiwen.engines.engine import Sentences, longest_first
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import DataError
from yiwen.evaluation.metrics import Metric, quick_score
from yiwen.hardware import Hardware
from yiwen.model.attention import recorded_attention
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.tasks.translate import translation_loss
from yiwen.text.protect import named_alike, restored
from yiwen.text.subword import EOS_ID
from yiwen.training.config import TrainingConfig

N_SAMPLES = 5


@dataclass(frozen=True)
class Validation:
    """What a validation found."""

    scores: dict[str, float]
    """By name: `loss` and `perplexity` of the references, `bleu` or `chrf` of the decoding."""
    samples: list[tuple[str, str, str]]
    """(source, translation, reference) of a few lines."""
    picture: npt.NDArray[np.float32] | None = None
    """Cross-attention of the last layer for the first sample, mean over heads: (T, S), 0 to 1."""
    drawing: str = ""
    """The same word by word, as plain text."""


class ValidationSet:
    """The validation lines, encoded once and used at every validation."""

    def __init__(self, store: Store, config: TrainingConfig, *, max_len: int) -> None:
        """Encode the lines of store.valid.

        Raises:
            DataError: As in `chunks_of`.
        """
        self.src, self.ref = store.valid
        self.store = store
        self.metric: Metric = "chrf" if config.metric == "chrf" else "bleu"
        self.n_symbols = min(store.source.n_placeholders, store.target.n_placeholders)
        pairs = zip(*store.valid.normalised(store.src_lang), strict=True)
        read = [named_alike(src, ref, self.n_symbols) for src, ref in pairs]
        self.kept = [kept for _, _, kept in read]
        self.src_ids = store.source.encode([src for src, _, _ in read])
        self.ref_ids = store.target.encode([ref for _, ref, _ in read])
        require_texts(self.src_ids)
        self.decoded = [i for i, ids in enumerate(self.src_ids) if ids]
        longer = [max(pair, key=len) for pair in zip(self.src_ids, self.ref_ids, strict=True)]
        self.loss_batches = chunks_of(longer, config.micro_batch_tokens, max_len=max_len, only=self.decoded)

    def validate(self, model: Transformer, hardware: Hardware, stop: StopFlag) -> Validation:
        """Score the model; its weights are not changed."""
        device, dtype = hardware.device, torch.bfloat16 if hardware.is_bf16 else torch.float32
        engine = TorchEngine(copy.deepcopy(model), device=device, dtype=dtype)
        loss = self._loss(engine.model, device, stop)
        found = engine.search([self.src_ids[i] for i in self.decoded], config=SearchConfig(beam_size=1), stop=stop)
        decoded = self.store.target.decode([hypotheses[0].ids for hypotheses in found])
        by_line = dict(zip(self.decoded, decoded, strict=True))
        translations = [by_line.get(i, "") for i in range(len(self.src))]
        if self.n_symbols:
            translations = [*map(restored, translations, self.kept)]
        score = quick_score(translations, self.ref, tgt_lang=self.store.tgt_lang, metric=self.metric)
        picture, drawing = self._picture(engine.model, device, found[0][0].ids)
        scores = {"loss": loss, "perplexity": float(np.exp(min(loss, 100.0))), self.metric: score}
        samples = list(zip(self.src, translations, self.ref, strict=True))[:N_SAMPLES]
        return Validation(scores, samples, picture, drawing)

    @torch.inference_mode()
    def _loss(self, model: Transformer, device: str, stop: StopFlag) -> float:
        """Cross-entropy of the references in nats a token, without smoothing."""
        loss_fn = translation_loss(smoothing=0.0)
        loss_sum, n_tokens = 0.0, 0
        for batch in self.loss_batches:
            stop.check("validation")
            tensors = collate([self.src_ids[i] for i in batch], [self.ref_ids[i] for i in batch])
            loss, count = loss_fn(model, tensors.to(device))
            loss_sum += loss.item()
            n_tokens += count
        return loss_sum / n_tokens

    @torch.inference_mode()
    def _picture(self, model: Transformer, device: str, ids: tuple[int, ...]) -> tuple[npt.NDArray[np.float32], str]:
        src_ids = self.src_ids[self.decoded[0]]
        batch = collate([src_ids], [list(ids)]).to(device)
        last = f"decoder.layers.{model.config.n_decoder_layers - 1}.cross_attention"
        with recorded_attention(model, only=last) as maps:
            model(batch.src_ids, batch.tgt_in)
        weights_TS = maps[last][0].mean(dim=0).cpu().numpy()
        src, tgt = self.store.source.pieces([*src_ids, EOS_ID]), self.store.target.pieces([*ids, EOS_ID])
        # TensorBoard shows one pixel a number: make each a block of 12 (less in a large picture), and dark mean much.
        side = max(1, min(12, 1200 // max(weights_TS.shape)))
        blocks = np.kron(1 - weights_TS, np.ones((side, side), dtype=np.float32)).astype(np.float32)
        return blocks, attention_picture(*word_weights(weights_TS, src, tgt))


def require_texts(texts: Sequence[Any]) -> None:
    """Without validation text nothing is trained: nobody would know which model is the best.

    Raises:
        DataError: If there is none.
    """
    if not any(texts):  # a line without a subword is none
        when = "where a tenth of the corpora is a pair or more; longer ones than data.max_tokens are left out"
        remedy = f"set data.valid to a file with text, or data.valid_pairs above 0, which is split off {when}"
        raise DataError(f"there is no validation text; {remedy}")


def chunks_of(texts: Sentences, batch_tokens: int, *, max_len: int, only: list[int] | None = None) -> list[list[int]]:
    """Places of validation texts of like length, at most batch_tokens positions at a time.

    Raises:
        DataError: If there are none, or some are longer than the model has positions for; they are named.
    """
    require_texts(texts)
    if too_long := [i + 1 for i, ids in enumerate(texts) if len(ids) >= max_len]:
        which = f"validation lines {', '.join(map(str, too_long[:5]))} (rows that lack a side do not count)"
        remedy = "the model has positions for fewer; shorten them or raise model.max_len"
        raise DataError(f"{which} have {max_len} subwords or more, {remedy}")
    return list(longest_first(list(map(len, texts)), batch_tokens, only))
