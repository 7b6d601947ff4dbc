"""Tasks without a decoder as jobs for the training loop: model, batches, loss, validation and bundle put together."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import cast

import torch
from torch import nn

from yiwen.bundle import Bundle
from yiwen.data.loader import lengths_of
from yiwen.data.store import Store
from yiwen.engines.encoders import load_encoder
from yiwen.hardware import Hardware, apply_to_model
from yiwen.measured import computing_with
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.tasks.config import EncoderConfig, Task
from yiwen.tasks.heads import EncoderModel
from yiwen.training.config import TrainingConfig
from yiwen.training.job import Job, Snapshot, save_snapshot
from yiwen.training.learning import embedding, hiding, labelling
from yiwen.training.state import seed_of
from yiwen.training.step import autocast
from yiwen.training.validation import Validation


def encoder_job(
    store: Store,
    model_config: ModelConfig,
    config: TrainingConfig,
    encoder: EncoderConfig,
    *,
    task: Task,
    hardware: Hardware,
    max_tokens: int,
    initial: Bundle | None = None,
) -> Job:
    """Build an encoder and all that the loop needs to train it.

    Args:
        store: Prepared data.
        model_config: Shape of the model; the decoder's settings are not used.
        config: How it is trained.
        encoder: What it learns.
        task: Which of the tasks without a decoder.
        hardware: What it is trained on.
        max_tokens: Longest training text, eos counted.
        initial: The model of any task whose encoder to start from; None: from random weights.

    Raises:
        CheckpointError: If the weights of `initial` are damaged.
        DataError: If the text is none that the task can learn from, or be judged by.
    """
    lengths = lengths_of(store)
    torch.manual_seed(seed_of(config.seed))
    vocab_size, n_labels = store.source.vocab_size, len(store.labels)
    with torch.device("cpu"):  # the first weights are the same wherever they are to go
        model = EncoderModel(
            model_config, vocab_size=vocab_size, n_labels=n_labels, pooling=encoder.pooling, is_frozen=encoder.is_frozen
        )
    if initial is not None:
        model.body.load_state_dict(load_encoder(initial).body.state_dict())
    apply_to_model(model.to(hardware.device, torch.float32), hardware)
    learn = {"mlm": hiding, "embed": embedding}.get(task, labelling)
    lesson = learn(store, config, encoder, max_len=model_config.max_len, max_tokens=max_tokens)
    longest = int(max(lengths.src.max(), lengths.tgt.max())) + 1  # embed reads both sides

    def validate(candidate: nn.Module, stop: StopFlag) -> Validation:
        copied = cast(EncoderModel, copy.deepcopy(candidate)).eval()  # what is trained stays in training
        with computing_with(hardware.threads), torch.inference_mode(), autocast(hardware):
            return lesson.judge(copied, stop)

    def write_bundle(folder: Path, snapshot: Snapshot) -> None:
        said = {"max_src_tokens": max_tokens, "task": task, "labels": store.labels, "pooling": encoder.pooling}
        save_snapshot(folder, snapshot, store, model_config, **said)

    return Job(
        model=model,
        model_config=model_config,
        lengths=lengths,
        load=lesson.load,
        # embed judges a batch as a whole, and what mlm hides is not sorted by rows: neither can be cut.
        is_sampled=task == "classify" and store.tokenizer.sampling > 0,
        largest=lambda: lesson.largest(max(1, config.micro_batch_tokens // longest), longest - 1),
        loss_fn=lesson.loss_fn,
        validate=validate,
        save_bundle=write_bundle,
        where=store.where,
        rate_of=lambda name: rate_of(name, encoder, n_layers=model_config.n_encoder_layers),
    )


def rate_of(name: str, encoder: EncoderConfig, *, n_layers: int) -> float:
    """Learning rate of a parameter relative to that of the head: the lower its layer, the smaller.

    >>> [rate_of(f"body.{name}", EncoderConfig(rate=0.5, layer_decay=0.1), n_layers=2)
    ...  for name in ("encoder.layers.1.x", "encoder.layers.0.x", "src_embedding.weight")]
    [0.5, 0.05, 0.005000000000000001]
    """
    if not name.startswith("body."):
        return 1.0
    _, module, *rest = name.split(".")
    n_below = -1
    if module == "encoder":
        n_below = int(rest[1]) if rest[0] == "layers" else n_layers - 1
    return encoder.rate * encoder.layer_decay ** (n_layers - 1 - n_below)
