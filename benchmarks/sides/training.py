"""The two sides of `benchmarks/training.py`: one window of updates of ours or of the loop's, in a process of its own.

Our side is the whole update as `yiwen train` does it: random dropout bytes, gradient norm and clipping, AdamW, moving
average of the weights. The loop's is what a careful PyTorch user writes, and no more than training needs: no clipping,
no average, no output product for padding, causal attention by its flag so that the fused kernel needs no mask.

Shapes: B rows, L length, T target length, N real target tokens, D d_model, V vocabulary.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from memory import peak_mib
from torch import Tensor, nn

from yiwen import hardware
from yiwen.data.batching import Batch, Rows, Update, epoch_updates
from yiwen.data.loader import lengths_of, load_batch
from yiwen.data.store import Store
from yiwen.model.config import PRESETS, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.tasks.translate import translation_loss
from yiwen.text.subword import PAD_ID
from yiwen.training.config import TrainingConfig
from yiwen.training.optimizer import build_optimizers, update_average
from yiwen.training.schedule import learning_rate
from yiwen.training.step import ShardPool, apply_gradients, compute_gradients

VOCAB_SIZE = 8000
SMOOTHING = 0.1

KINDS = {
    "attention": "flash|fmha|attention|cutlass[FB]",
    "products": "nvjet|gemm|splitK|cutlass",
    "norms": "layer_norm|GammaBeta",
    "softmax of the loss": "SoftMax|softmax",
    "optimizer and average": "multi_tensor",
    "sums": "reduce_kernel",
    "copies": "copy|Cat|Memcpy",
}
"""Kinds of kernels, by what their names contain; the first counts."""

TrainOn = Callable[[Update, int], float]
"""(rows, step) -> loss in nats a token, after one whole update."""


def our_side(store: Store, config: ModelConfig, options: argparse.Namespace) -> tuple[nn.Module, TrainOn]:
    """One update as `yiwen.training.loop` makes it."""
    chosen = hardware.choose(
        device=options.device,
        precision=options.precision,
        threads=options.threads,
        attention=options.attention,
        batch_tokens=options.batch_tokens,
    )
    hardware.apply(chosen)
    training = TrainingConfig(optimizer="adamw", label_smoothing=SMOOTHING)
    model = Transformer(config, src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE).to(chosen.device).train()
    hardware.apply_to_model(model, chosen)
    average = copy.deepcopy(model).eval()
    optimizers = build_optimizers(model, training, chosen)
    loss_fn = translation_loss(SMOOTHING)
    pool = ShardPool(chosen)

    def load(rows: Rows, seed: int) -> Batch:
        batch = load_batch(store, rows, seed=seed)
        return batch.packed() if chosen.attention == "packed" else batch

    def train_on(rows: Update, step: int) -> float:
        gradients = compute_gradients(
            model,
            rows,
            load=load,
            loss_fn=loss_fn,
            seeds=(1, step),
            pool=pool,
        )
        rate, clip = learning_rate(step, training, d_model=config.d_model), training.clip_norm
        apply_gradients(model, optimizers, rate=rate, norm=gradients.norm, clip_norm=clip, pool=pool)
        update_average(average, model, step=step, decay=training.ema_decay)
        return gradients.loss_sum / gradients.n_tokens

    return model, train_on


class LoopTransformer(nn.Module):
    """`nn.Transformer` with tied embeddings and sinusoidal positions; gives the logits of real target positions."""

    positions: Tensor
    future: Tensor

    def __init__(self, config: ModelConfig, *, longest: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, config.d_model, padding_idx=PAD_ID)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        # nn.Transformer closes post-norm stacks with one more norm, and drops attention weights and inner
        # activations besides; ours does neither, and neither may cost the loop time.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout = nn.Identity()  # type: ignore[assignment]
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)
        angles = torch.arange(longest)[:, None] * 10_000 ** (-torch.arange(0, config.d_model, 2) / config.d_model)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1))
        self.register_buffer("future", torch.ones(longest, longest, dtype=torch.bool).triu(1))

    def embed(self, ids: Tensor) -> Tensor:
        """(B, L) -> (B, L, D)."""
        embedded: Tensor = self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.size(1)])
        return embedded

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the batch's real target tokens, (N, V)."""
        is_pad = batch.src_ids == PAD_ID
        T = batch.tgt_in.size(1)
        # Padding stands at the end, where the causal mask hides it already: no padding mask for the target.
        states: Tensor = self.transformer(
            self.embed(batch.src_ids),
            self.embed(batch.tgt_in),
            tgt_mask=self.future[:T, :T],
            tgt_is_causal=True,
            src_key_padding_mask=is_pad,
            memory_key_padding_mask=is_pad,
        )
        return states[batch.tgt_out != PAD_ID] @ self.embedding.weight.t()


def loop_side(store: Store, config: ModelConfig, threads: int) -> tuple[nn.Module, TrainOn]:
    """One update of a plain float32 training loop."""
    torch.set_num_threads(threads)
    model = LoopTransformer(config, longest=config.max_len).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def train_on(rows: Update, step: int) -> float:
        loss_sum = 0.0
        batches = [load_batch(store, batch_rows, seed=0) for batch_rows in rows]
        n_tokens = sum(batch.n_tokens for batch in batches)
        optimizer.zero_grad(set_to_none=True)
        for batch in batches:
            targets = batch.tgt_out[batch.tgt_out != PAD_ID]
            loss = F.cross_entropy(model(batch), targets, label_smoothing=SMOOTHING, reduction="sum") / n_tokens
            loss.backward()  # type: ignore[no-untyped-call]
            loss_sum += loss.item()
        optimizer.step()
        return loss_sum

    return model, train_on


def window(options: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then time updates of one side; runs in a process of its own."""
    torch.manual_seed(1)
    store = Store.open(options.store)
    config = ModelConfig(**PRESETS[options.model])
    if options.side == "ours":
        model, train_on = our_side(store, config, options)
    else:
        model, train_on = loop_side(store, config, options.threads)
    plan = epoch_updates(
        lengths_of(store), seed=1, epoch=0, batch_tokens=options.batch_tokens, update_tokens=options.update_tokens
    )
    first = options.round * options.updates
    n_src = n_tgt = n = 0
    began = processor_began = 0.0
    loss = math.nan
    while n < options.warm_up + options.updates:
        if n == options.warm_up:
            began, processor_began = time.perf_counter(), time.process_time()
        if n > options.warm_up and time.perf_counter() - began > options.seconds:
            break
        # The same batches as warm-up and on the clock: in all epochs but the first their shapes are known.
        rows = plan[(first + n % options.updates) % len(plan)]
        n += 1
        loss = train_on(rows, n)
        if n > options.warm_up:
            flat = np.concatenate(rows)
            n_src += int(store.src_lengths[flat].sum()) + len(flat)
            n_tgt += int(store.tgt_lengths[flat].sum()) + len(flat)
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - processor_began
    again = plan[first : first + 3] if options.device.startswith("cuda") else []
    return {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "updates": n - options.warm_up,
        "src_tokens": n_src,
        "tgt_tokens": n_tgt,
        "loss": loss,
        "peak_mib": torch.cuda.max_memory_allocated() / 2**20 if options.device.startswith("cuda") else peak_mib(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "milliseconds_by_kind": by_kind(train_on, again, n) if again else {},
    }


def by_kind(train_on: TrainOn, updates: list[Update], step: int) -> dict[str, float]:
    """Milliseconds an update that a GPU spends on each kind of kernel, and all that the update took, from outside."""
    from torch.profiler import ProfilerActivity, profile

    began = time.perf_counter()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for number, rows in enumerate(updates, step + 1):
            train_on(rows, number)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    found = dict.fromkeys([*KINDS, "other"], 0.0)
    for event in profiled.key_averages():
        if event.device_type.name == "CUDA" and "#" not in event.key:  # Optimizer.step#Adam.step
            kind = next((kind for kind, pattern in KINDS.items() if re.search(pattern, event.key)), "other")
            found[kind] += event.self_device_time_total / 1000
    found["all with the processor"] = 1000 * seconds
    return {kind: round(spent / len(updates), 2) for kind, spent in found.items()}


def peak_product(threads: int, device: str) -> dict[str, Any]:
    """FLOP/s of the product 4096 x 256 x 1024, best of five, and its type; on a GPU of 8192 x 8192 x 8192.

    In bf16 on a GPU; on a processor in float32 or, where that is faster, in bf16 (which some only imitate).
    """
    torch.set_num_threads(threads)
    if device != "cpu":
        return {"flops": _product_rate(torch.bfloat16, device), "type": "bf16"}
    float32 = _product_rate(torch.float32, device)
    bf16 = _product_rate(torch.bfloat16, device) if hardware.has_native_bf16() else 0.0
    return {"flops": max(float32, bf16), "type": "bf16" if bf16 > float32 else "float32"}


def _product_rate(dtype: torch.dtype, device: str) -> float:
    n, m, k = (4096, 256, 1024) if device == "cpu" else (8192, 8192, 8192)
    x, weight = (torch.randn(*shape, device=device, dtype=dtype) for shape in ((n, m), (k, m)))
    best = math.inf
    for _ in range(6):  # the first only warms up
        began = time.perf_counter()
        for _ in range(10):
            y = F.linear(x, weight)
        y[0, 0].item()  # a GPU has done them all when it gives a number away
        best = min(best, time.perf_counter() - began)
    return 10 * 2 * n * m * k / best


def main() -> None:
    """Print the result of one window, or the peak, as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=["ours", "loop", "peak"])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--model", choices=PRESETS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--attention", default="auto")
    parser.add_argument("--round", type=int, default=0)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--warm-up", type=int)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--update-tokens", type=int)
    options = parser.parse_args()
    is_peak = options.side == "peak"
    print(json.dumps(peak_product(options.threads, options.device) if is_peak else window(options)))


if __name__ == "__main__":
    main()
