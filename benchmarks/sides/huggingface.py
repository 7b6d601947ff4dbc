"""Hugging Face's Marian model as a baseline: a model of the shape of ours with random weights.

Adapter for transformers, which yiwen does not depend on: `pip install transformers` to have it in the comparison.
Random weights do not end a translation by themselves, so every one is forced to the same length: that of ours on
average. Tried with transformers 5.23.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yiwen.hardware import choose
from yiwen.text.normalise import normalise
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID

if TYPE_CHECKING:
    from yiwen.bundle import Bundle
    from yiwen.model.config import ModelConfig

BATCH = 64


def marian_model(config: ModelConfig, vocab_size: int, *, dropout: float = 0.0) -> Any:
    """`MarianMTModel` of our shape: post-norm, sinusoidal positions, ReLU, tied embeddings."""
    from transformers import MarianConfig, MarianMTModel

    shape = MarianConfig(
        vocab_size=vocab_size,
        d_model=config.d_model,
        encoder_layers=config.n_encoder_layers,
        decoder_layers=config.n_decoder_layers,
        encoder_attention_heads=config.n_heads,
        decoder_attention_heads=config.n_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        max_position_embeddings=config.max_len,
        activation_function="relu",
        scale_embedding=True,
        dropout=dropout,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        decoder_start_token_id=BOS_ID,
        forced_eos_token_id=None,
    )
    return MarianMTModel(shape)


def marian(bundle: Bundle, beam: int, *, tokens: int, threads: int) -> Any:
    """A function from texts to nothing that does the work of translating them."""
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(threads)
    model = marian_model(bundle.info.model, bundle.info.tgt_vocab_size).eval()

    def translate(texts: Sequence[str]) -> Sequence[str]:
        ids = sorted(bundle.source.encode([normalise(text) for text in texts]), key=len)
        for start in range(0, len(ids), BATCH):
            rows = [torch.tensor([*sentence, EOS_ID]) for sentence in ids[start : start + BATCH]]
            batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD_ID)
            model.generate(
                batch,
                attention_mask=(batch != PAD_ID).long(),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=tokens,
                max_new_tokens=tokens,
            )
        return ()

    return translate


def train_rates(
    folder: Path, config: ModelConfig, updates: int, reports: int, *, batch_tokens: int
) -> list[tuple[float, float]]:
    """Source and target tokens a second of `Seq2SeqTrainer`, padding not counted, for each report of `updates`."""
    import torch
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback

    vocab = {piece: i for i, piece in enumerate(_lines(folder / "vocab.txt"))}
    src, tgt = (
        [[*map(vocab.__getitem__, line.split(" ")), EOS_ID] for line in _lines(folder / f"train.{side}")]
        for side in ("src", "tgt")
    )
    rows = [{"input_ids": a, "labels": b, "length": max(len(a), len(b))} for a, b in zip(src, tgt, strict=True)]
    n_sentences = batch_tokens * len(tgt) // sum(map(len, tgt))
    counts: list[tuple[int, int]] = []
    moments: list[float] = []

    model = marian_model(config, len(vocab), dropout=config.dropout)

    def collate(batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        counts.append((sum(len(row["input_ids"]) for row in batch), sum(len(row["labels"]) for row in batch)))
        ids, labels = (
            torch.nn.utils.rnn.pad_sequence([torch.tensor(row[name]) for row in batch], True, padding)
            for name, padding in (("input_ids", PAD_ID), ("labels", -100))
        )
        tgt_in = model.prepare_decoder_input_ids_from_labels(labels)  # the trainer's smoothing takes the labels away
        is_real = (ids != PAD_ID).long()
        return {"input_ids": ids, "attention_mask": is_real, "decoder_input_ids": tgt_in, "labels": labels}

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            moments.append(time.perf_counter())

    settings = Seq2SeqTrainingArguments(
        output_dir=str(folder / "huggingface"),
        per_device_train_batch_size=n_sentences,
        train_sampling_strategy="group_by_length",
        max_steps=updates * reports,
        learning_rate=1e-4,
        label_smoothing_factor=0.1,
        bf16=choose().is_bf16,
        use_cpu=True,
        remove_unused_columns=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    Seq2SeqTrainer(model=model, args=settings, train_dataset=rows, data_collator=collate, callbacks=[Clock()]).train()
    rates = []
    for report in range(1, reports):  # the first has no moment before it
        steps = range(report * updates, (report + 1) * updates)
        taken = moments[steps[-1]] - moments[steps[0] - 1]
        rates.append((sum(counts[i][0] for i in steps) / taken, sum(counts[i][1] for i in steps) / taken))
    return [rates[0], *rates]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")
