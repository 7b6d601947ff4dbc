"""What each task without a decoder learns from and is judged by: batches, a loss, and scores of the validation text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from yiwen.data.batching import Batch, Rows, collate_labelled, pad
from yiwen.data.labels import labels_of, numbered
from yiwen.data.loader import batch_of_shape, load_batch, load_labelled, load_texts
from yiwen.data.store import Store
from yiwen.errors import DataError
from yiwen.evaluation.classification import evaluate_labels, spans_of
from yiwen.evaluation.retrieval import retrieval
from yiwen.stop import StopFlag
from yiwen.tasks.classify import balanced_weights, label_logits, label_loss
from yiwen.tasks.config import EncoderConfig
from yiwen.tasks.embed import embed_loss, vectors
from yiwen.tasks.heads import EncoderModel
from yiwen.tasks.loss import LossFn
from yiwen.tasks.mlm import hidden, mlm_loss, n_guessed, word_starts
from yiwen.text.subword import EOS_ID
from yiwen.training.config import TrainingConfig
from yiwen.training.validation import N_SAMPLES, Validation, chunks_of


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What differs between the tasks."""

    load: Callable[[Rows, int], Batch]
    """(rows, seed) -> batch."""
    largest: Callable[[int, int], Batch]
    """(rows, subwords) -> a made-up batch."""
    loss_fn: LossFn
    """(model, batch) -> (loss_sum, count)."""
    judge: Callable[[EncoderModel, StopFlag], Validation]
    """Scores and samples of a model on the validation text; the flag is looked at between batches."""


def labelling(store: Store, config: TrainingConfig, encoder: EncoderConfig, *, max_len: int, max_tokens: int) -> Lesson:
    """Classification and tagging.

    Raises:
        DataError: If spans are to be counted and no tag of the validation text marks one, or as in `chunks_of`.
    """
    for_words = store.targets == "tags"
    weights_K = None
    if encoder.class_weights == "balanced":
        found = np.concatenate(store.tgt_ids(np.arange(len(store))))
        # As often as training meets them: a corpus has a share of its own in an epoch.
        often = np.array(store.corpus_weights)[store.corpus] / np.bincount(store.corpus)[store.corpus]
        counts = np.bincount(found, often.repeat(store.tgt_lengths), len(store.labels) + 1)
        weights_K = balanced_weights(counts[1:])
    texts, targets = store.valid.normalised(store.src_lang)
    gold = [labels_of(target, store.targets) for target in targets]
    if config.metric == "span_f1" and not any(map(spans_of, gold)):
        why = "no tag of the validation text marks a span (B-X, I-X)"
        raise DataError(f"training.metric is 'span_f1', but {why}; use 'accuracy' or 'macro_f1'")
    src_ids, numbers = numbered(store.source, texts, targets, labels=store.labels, targets=store.targets)
    chunks = chunks_of(src_ids, config.micro_batch_tokens, max_len=max_len)

    def load(rows: Rows, seed: int) -> Batch:
        return load_labelled(store, rows, seed=seed, max_tokens=max_tokens)

    def judge(model: EncoderModel, stop: StopFlag) -> Validation:
        loss_sum, n_all = 0.0, 0
        predicted: list[list[str]] = [[] for _ in texts]
        for chunk in chunks:
            stop.check("validation")
            batch = collate_labelled([src_ids[i] for i in chunk], [numbers[i] for i in chunk], for_words=for_words)
            logits_NK, gold_N = label_logits(model, batch.to(model.device))
            loss_sum += float(F.cross_entropy(logits_NK, gold_N, reduction="sum"))
            n_all += batch.n_tokens
            found = iter(logits_NK.argmax(dim=1).tolist())
            for i in chunk:
                predicted[i] = [store.labels[next(found)] for _ in gold[i]]
        scores = evaluate_labels(gold, predicted, labels=store.labels, n_bootstrap=0).scores
        samples = list(zip(texts, map(" ".join, predicted), targets, strict=True))[:N_SAMPLES]
        return Validation({"loss": loss_sum / n_all, **scores}, samples)

    def largest(n_rows: int, length: int) -> Batch:
        labels = [1] * (length if for_words else 1)
        return collate_labelled([[4] * length] * n_rows, [labels] * n_rows, for_words=for_words)

    return Lesson(load=load, largest=largest, loss_fn=label_loss(config.label_smoothing, weights_K), judge=judge)


def hiding(store: Store, config: TrainingConfig, encoder: EncoderConfig, *, max_len: int, max_tokens: int) -> Lesson:
    """Masked-language modelling; the validation text is hidden in the same way at every validation.

    Raises:
        DataError: As in `chunks_of`.
    """
    hide = partial(hidden, share=encoder.mask_share, masking=encoder.masking, starts=word_starts(store.source))
    src_ids = store.source.encode(store.valid.normalised(store.src_lang).src)
    chunks = chunks_of(src_ids, config.micro_batch_tokens, max_len=max_len)
    batches = [hide([src_ids[i] for i in chunk], seed=place) for place, chunk in enumerate(chunks)]
    loss_fn = mlm_loss(0.0)

    def load(rows: Rows, seed: int) -> Batch:
        return hide(load_texts(store, rows, seed=seed, max_tokens=max_tokens), seed=seed)

    def judge(model: EncoderModel, stop: StopFlag) -> Validation:
        loss_sum, n_right, n_all = 0.0, 0, 0
        for batch in batches:
            stop.check("validation")
            here = batch.to(model.device)
            loss_sum += float(loss_fn(model, here)[0])
            n_right += n_guessed(model, here)
            n_all += batch.n_tokens
        loss, accuracy = loss_sum / n_all, 100 * n_right / n_all
        return Validation({"loss": loss, "perplexity": math.exp(min(loss, 100.0)), "accuracy": accuracy}, [])

    def largest(n_rows: int, length: int) -> Batch:
        return hide([[4] * length] * n_rows, seed=0)

    return Lesson(load=load, largest=largest, loss_fn=mlm_loss(config.label_smoothing), judge=judge)


def embedding(store: Store, config: TrainingConfig, encoder: EncoderConfig, *, max_len: int, max_tokens: int) -> Lesson:
    """Texts and their translations as like vectors; judged by finding each other among all of the validation text.

    Raises:
        DataError: If every pair is alone in its batch: there is nothing to tell it from; or as in `chunks_of`.
    """
    n_in_batch = config.micro_batch_tokens // (np.maximum(store.src_lengths, store.tgt_lengths) + 1)
    if np.count_nonzero(n_in_batch > 1) < 2:
        raise DataError(f"no two pairs share a batch of {config.batch_tokens}; raise training.batch_tokens or add more")
    texts = store.valid.normalised(store.src_lang, store.tgt_lang)
    sides = list(map(store.source.encode, texts))
    chunks = [chunks_of(ids, config.micro_batch_tokens, max_len=max_len) for ids in sides]

    def load(rows: Rows, seed: int) -> Batch:
        # What counts is pairs, not subwords.
        return replace(load_batch(store, rows, seed=seed, max_tokens=max_tokens), n_tokens=len(rows))

    def judge(model: EncoderModel, stop: StopFlag) -> Validation:
        found = [torch.empty(len(ids), model.body.config.d_model, device="cpu") for ids in sides]
        for ids, places, out in zip(sides, chunks, found, strict=True):
            for chunk in places:
                stop.check("validation")
                src_ids = torch.from_numpy(pad([ids[i] for i in chunk], closing=EOS_ID)).to(model.device)
                out[chunk] = vectors(model, src_ids).cpu()
        return Validation(retrieval(found[0].numpy(), found[1].numpy(), *texts), [])

    def largest(n_rows: int, length: int) -> Batch:
        return replace(batch_of_shape(n_rows, length + 1), n_tokens=n_rows)

    return Lesson(load=load, largest=largest, loss_fn=embed_loss(encoder.temperature), judge=judge)
