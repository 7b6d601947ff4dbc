"""Translation as a job for the training loop: model, batches, loss, validation and bundle put together."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor, nn

from yiwen.analysis.heads import choose_alignment_head
from yiwen.bundle import Bundle, load_model
from yiwen.data.batching import Batch, Rows
from yiwen.data.loader import batch_of_shape, hide_words, lengths_of, load_batch
from yiwen.data.store import Store
from yiwen.hardware import Hardware, apply_to_model, question, release_memory
from yiwen.measured import computing_with, remembered
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag
from yiwen.tasks.guided import guided_loss, lexical_guide
from yiwen.tasks.translate import translation_loss
from yiwen.text.subword import N_BYTES, N_SPECIAL
from yiwen.training.average import with_weights
from yiwen.training.config import TrainingConfig
from yiwen.training.job import Job, Snapshot, save_snapshot
from yiwen.training.microbatch import best_size, sizes_to_try, tokens_per_second
from yiwen.training.state import seed_of
from yiwen.training.validation import Validation, ValidationSet

N_PROJECTED: Final = 2000
"""Target subwords whose embeddings TensorBoard is given: the first, which are the frequent ones."""


def translation_job(
    store: Store,
    model_config: ModelConfig,
    config: TrainingConfig,
    *,
    hardware: Hardware,
    max_tokens: int,
    search: SearchConfig,
    initial: Bundle | None = None,
) -> Job:
    """Build a translation model and all that the loop needs to train it.

    Args:
        store: Prepared data.
        model_config: Shape of the model.
        config: How it is trained.
        hardware: What it is trained on.
        max_tokens: Longest side of a training pair, eos counted.
        search: How the trained model looks for translations unless told otherwise.
        initial: A model of the same shape and vocabulary to take the first weights from; None draws them.

    Raises:
        CheckpointError: If the weights of `initial` are damaged.
        DataError: If there is no validation text, or a line of it is longer than the model has positions for.
    """
    lengths = lengths_of(store)
    torch.manual_seed(seed_of(config.seed))
    model = _build(store, model_config, hardware)
    if initial is not None:
        model.load_state_dict(load_model(initial).state_dict())
    valid = ValidationSet(store, config, max_len=model_config.max_len)
    loss_fn = translation_loss(config.label_smoothing, rdrop=config.rdrop)
    guided = None
    if config.guided_alignment > 0:
        guided = AlignmentHead(layer=AlignmentHead.usual(model_config).layer, head=0)
        loss_fn = guided_loss(loss_fn, model, lexical_guide(store), place=guided, weight=config.guided_alignment)
    longest = int(max(lengths.src.max(), lengths.tgt.max())) + 1

    def load(rows: Rows, seed: int) -> Batch:
        batch = load_batch(store, rows, seed=seed, max_tokens=max_tokens)
        share, first = config.word_dropout, store.source.first_word
        return _laid_out(hide_words(batch, share=share, seed=seed_of(seed, 2), first=first), hardware)

    def validate(candidate: nn.Module, stop: StopFlag) -> Validation:
        with computing_with(hardware.threads):  # no shards here
            return valid.validate(cast(Transformer, candidate), hardware, stop)

    def write_bundle(folder: Path, snapshot: Snapshot) -> None:
        alignment = guided or choose_alignment_head(with_weights(model, snapshot.weights), valid.src_ids, valid.ref_ids)
        said = {"max_src_tokens": max_tokens, "search": search, "alignment": alignment}
        save_snapshot(folder, snapshot, store, model_config, **said)

    def subwords(weights: Mapping[str, Tensor]) -> tuple[np.ndarray, list[str]]:
        rows = range(N_SPECIAL + N_BYTES, store.target.vocab_size)[:N_PROJECTED]
        return weights["tgt_embedding.weight"][rows.start : rows.stop].float().cpu().numpy(), store.target.pieces(rows)

    return Job(
        model=model,
        model_config=model_config,
        lengths=lengths,
        load=load,
        is_sampled=store.tokenizer.sampling > 0,
        largest=lambda: _laid_out(batch_of_shape(max(1, config.micro_batch_tokens // longest), longest), hardware),
        loss_fn=loss_fn,
        validate=validate,
        save_bundle=write_bundle,
        where=store.where,
        subwords=subwords,
    )


def fastest_batch_tokens(
    store: Store, model_config: ModelConfig, config: TrainingConfig, *, hardware: Hardware, stop: StopFlag
) -> int:
    """What `batch_tokens = "auto"` is here: tried with the real model on pairs of median length, or remembered.

    Raises:
        Stopped: After a stop signal.
    """
    lengths = lengths_of(store)
    usual = int(np.median(np.maximum(lengths.src, lengths.tgt))) + 1
    vocab_sizes = store.source.vocab_size, store.target.vocab_size

    def measure() -> int:
        model = _build(store, model_config, hardware).train()

        def rate(size: int) -> float:
            stop.check("the search for the fastest micro-batch")
            batch = batch_of_shape(max(1, size // usual), usual, vocab_size=min(vocab_sizes))
            loss_fn = translation_loss(config.label_smoothing, rdrop=config.rdrop)
            return tokens_per_second(model, _laid_out(batch, hardware), loss_fn=loss_fn, hardware=hardware)

        return best_size(sizes_to_try(config.update_tokens), rate)

    try:
        return remembered(
            {
                "what": "batch_tokens",
                **question(precision=hardware.precision, threads=hardware.threads, device=hardware.device),
                "ways": f"{hardware.attention}, {hardware.products}",
                "model": json.dumps([dataclasses.asdict(model_config), *vocab_sizes, usual]),
                "update_tokens": config.update_tokens,
                **({"rdrop": True} if config.rdrop > 0 else {}),
            },
            is_answer=lambda answer: type(answer) is int and 0 < answer <= config.update_tokens,
            measure=measure,
        )
    finally:
        release_memory()


def _laid_out(batch: Batch, hardware: Hardware) -> Batch:
    """Packed where that was chosen."""
    return batch.packed() if hardware.attention == "packed" else batch


def _build(store: Store, model_config: ModelConfig, hardware: Hardware) -> Transformer:
    """The model, freshly drawn from the default generator, computing as chosen."""
    source, target = store.source.vocab_size, store.target.vocab_size
    with torch.device("cpu"):  # the first weights are the same wherever they are to go
        model = Transformer(model_config, src_vocab_size=source, tgt_vocab_size=target)
    model.to(hardware.device, torch.float32)
    apply_to_model(model, hardware)
    return model
