"""Translation as a job for the training loop: model, batches, loss, validation and bundle put together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from yiwen.bundle import BundleInfo, save_bundle
from yiwen.data.loader import batch_of_shape, lengths_of, load_batch
from yiwen.data.store import Store
from yiwen.errors import DataError
from yiwen.hardware import Hardware
from yiwen.model.attention import fused_attention, plain_attention, use_attention
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.tasks.translate import translation_loss
from yiwen.training.config import TrainingConfig
from yiwen.training.loop import Job
from yiwen.training.state import seed_of
from yiwen.training.validation import Validation, ValidationSet


def translation_job(
    store: Store,
    model_config: ModelConfig,
    config: TrainingConfig,
    *,
    hardware: Hardware,
    max_tokens: int,
    search: SearchConfig,
) -> Job:
    """Build a translation model and all that the loop needs to train it.

    Args:
        store: Prepared data.
        model_config: Shape of the model.
        config: How it is trained.
        hardware: What it is trained on.
        max_tokens: Longest side of a training pair, eos counted.
        search: How the trained model looks for translations unless told otherwise.

    Raises:
        DataError: If there is nothing to train on.
    """
    lengths = lengths_of(store)
    if len(lengths.src) == 0:
        raise DataError(f"{store.folder} holds no training pair; see its report for what was dropped and why")
    torch.manual_seed(seed_of(config.seed))
    model = Transformer(
        model_config, src_vocab_size=store.source.vocab_size, tgt_vocab_size=store.target.vocab_size
    ).to(hardware.device)
    use_attention(model, plain_attention if hardware.attention == "plain" else fused_attention)
    valid = ValidationSet(store, metric=config.metric, max_len=model_config.max_len, batch_tokens=config.batch_tokens)
    longest = int(max(lengths.src.max(), lengths.tgt.max())) + 1

    def validate(candidate: nn.Module, stop: StopFlag) -> Validation:
        is_bf16 = hardware.precision == "bf16"
        return valid.validate(cast(Transformer, candidate), device=hardware.device, is_bf16=is_bf16, stop=stop)

    def write_bundle(
        folder: Path, weights: Mapping[str, Tensor], step: int, kind: str, scores: Mapping[str, float]
    ) -> None:
        info = BundleInfo(
            src_lang=store.src_lang,
            tgt_lang=store.tgt_lang,
            model=model_config,
            src_vocab_size=store.source.vocab_size,
            tgt_vocab_size=store.target.vocab_size,
            max_src_tokens=max_tokens,
            search=search,
            data_fingerprint=store.fingerprint,
            step=step,
            weights=kind,
            scores=dict(scores),
        )
        save_bundle(folder, info=info, weights=weights, src_model=store.source_model, tgt_model=store.target_model)

    return Job(
        model=model,
        d_model=model_config.d_model,
        lengths=lengths,
        load=lambda rows, seed: load_batch(store, rows, seed=seed, max_tokens=max_tokens),
        largest=lambda: batch_of_shape(max(1, config.batch_tokens // longest), longest),
        loss_fn=translation_loss(config.label_smoothing),
        validate=validate,
        save_bundle=write_bundle,
        where=store.where,
    )
