"""Guided alignment: where the guide says to look, what the loss makes of it, and what a model learns from it."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast
from weakref import WeakSet

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from yiwen.data.batching import Batch, collate
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.model.attention import recorded_attention
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.tasks.guided import guided_loss, lexical_guide
from yiwen.tasks.translate import translation_loss
from yiwen.training.config import TrainingConfig

V = 31
PLACE = AlignmentHead(layer=1, head=2)


class Text(SimpleNamespace):
    def __len__(self) -> int:
        return 300


def reversed_text() -> Store:
    """Stands in for a store: word w becomes w + 10, and the order is reversed; 30 is made from nothing."""
    rng = np.random.default_rng(1)
    sources = [rng.choice(np.arange(5, 15), 4, replace=False) for _ in range(300)]
    targets = [np.append(source[::-1] + 10, 30) for source in sources]
    store = Text(
        source=SimpleNamespace(vocab_size=V),
        target=SimpleNamespace(vocab_size=V),
        tokenizer=SimpleNamespace(sampling=0.0),
        src_lengths=np.full(300, 4),
        tgt_lengths=np.full(300, 5),
        src_ids=lambda rows: [sources[row] for row in rows],
        tgt_ids=lambda rows: [targets[row] for row in rows],
    )
    return cast(Store, store)


def build() -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(d_model=24, n_heads=6, d_ff=13, n_encoder_layers=1, n_decoder_layers=3)
    return Transformer(config, src_vocab_size=V, tgt_vocab_size=V).eval()


def make_batch() -> Batch:
    return collate([[5, 6, 7], [11], [8, 9]], [[17, 16], [21], [19, 30, 18, 20]])


def uniform(batch: Batch) -> Tensor:
    is_pair = (batch.tgt_out != 0)[:, :, None] & (batch.src_ids != 0)[:, None, :]
    return is_pair / is_pair.sum(dim=2, keepdim=True).clamp_min(1)


def test_the_guide_looks_at_the_word_that_is_translated_and_the_end_at_the_end() -> None:
    guide = lexical_guide(reversed_text())(make_batch())
    assert guide.shape == (3, 5, 4)
    assert guide.dtype == torch.float32
    assert guide.argmax(dim=2).tolist() == [[2, 1, 3, 0, 0], [0, 1, 0, 0, 0], [1, 2, 0, 2, 2]]
    assert guide[0, 0, 2] > 0.9
    assert guide[2, [1, 3], 2].min() > 0.5  # 30 is made from nothing, 20 from no word that is there: they look at eos
    sums = guide.sum(dim=2)
    assert sums[make_batch().tgt_out != 0].sub(1).abs().max() < 1e-4
    assert sums[0, 3:].tolist() == [0.0, 0.0]


def test_the_guide_learns_from_words_as_training_cuts_them() -> None:
    """Sampled, source word w is 15 + w: a subword that no stored text has."""
    store: Any = reversed_text()
    store.tokenizer.sampling = 0.5
    store.texts = lambda rows, side: store.src_ids(rows) if side == "src" else store.tgt_ids(rows)
    store.source.encode_sampled = lambda texts, **_: [list(text + 15) for text in texts]
    store.target.encode_sampled = lambda texts, **_: [list(text) for text in texts]
    guide = lexical_guide(store)(collate([[20, 21, 22]], [[17, 16]]))
    assert guide.argmax(dim=2).tolist() == [[2, 1, 3]]
    assert guide[0, 0, 2] > 0.9


def test_the_loss_grows_by_the_cross_entropy_of_that_head() -> None:
    model, batch = build(), make_batch()
    plain, n_tokens = translation_loss(0.1)(model, batch)
    with recorded_attention(model) as maps:
        model(batch.src_ids, batch.tgt_in)
    weights = maps["decoder.layers.1.cross_attention"][:, 2]
    distance = -(uniform(batch) * weights.clamp_min(1e-9).log()).sum()
    loss_fn = guided_loss(translation_loss(0.1), model, uniform, place=PLACE, weight=0.7)
    found, n_found = loss_fn(model, batch)
    assert (n_found, found.item()) == (n_tokens, pytest.approx(plain.item() + 0.7 * distance.item(), rel=1e-6))
    (gradient,) = torch.autograd.grad(found - plain.detach(), [list(model.decoder)[1].cross_attention.q_proj.weight])
    assert gradient.view(6, 4, 24).norm(dim=(1, 2))[2] > 0


def test_two_passes_of_r_drop_are_guided_as_one() -> None:
    model, batch = build(), make_batch()
    once = guided_loss(translation_loss(0.0), model, uniform, place=PLACE, weight=1.0)(model, batch)[0]
    model = build()  # without dropout both passes are the same, and R-Drop adds nothing but the second loss
    twice = guided_loss(translation_loss(0.0, rdrop=3.0), model, uniform, place=PLACE, weight=1.0)(model, batch)[0]
    plain = translation_loss(0.0)(build(), batch)[0]
    r_drop = translation_loss(0.0, rdrop=3.0)(build(), batch)[0]
    assert (twice - r_drop).item() == pytest.approx((once - plain).item(), rel=1e-5)


def test_shards_that_are_computed_side_by_side_do_not_see_each_others_attention() -> None:
    model, batch = build(), make_batch()
    meet = threading.Barrier(2)

    def guide(shard: Batch) -> Tensor:
        meet.wait(60)  # both have passed through the model
        return uniform(shard)

    loss_fn = guided_loss(translation_loss(0.0), model, guide, place=PLACE, weight=1.0)
    with ThreadPoolExecutor(2) as threads:
        parts = list(threads.map(lambda number: loss_fn(model, batch.shard(number, 2))[0].item(), range(2)))
    other = build()
    alone = guided_loss(translation_loss(0.0), other, uniform, place=PLACE, weight=1.0)(other, batch)[0].item()
    assert sum(parts) == pytest.approx(alone, rel=1e-5)


def test_the_weight_of_the_guide_is_not_negative() -> None:
    with pytest.raises(ConfigError, match=r"training\.guided_alignment is -0\.1; use 0 or more"):
        TrainingConfig(guided_alignment=-0.1)


def test_where_layer_dropout_left_the_layer_out_there_is_nothing_to_guide() -> None:
    model, batch = build(), make_batch()
    loss_fn = guided_loss(translation_loss(0.0), model, uniform, place=PLACE, weight=0.7)
    loss_fn(model, batch)  # what the head looked at in an earlier update is not guided again
    list(model.decoder)[PLACE.layer].forward = lambda states, *rest, **named: states  # type: ignore[method-assign]
    assert loss_fn(model, batch)[0].item() == translation_loss(0.0)(model, batch)[0].item()


def test_a_pass_that_memory_was_too_small_for_leaves_nothing_in_the_way_of_a_smaller_one() -> None:
    """What the head looked at holds all that its gradient needs, back to the first layer."""
    saved: WeakSet[Saved] = WeakSet()

    class Saved:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor.detach()  # else an operation would hold its own result, for ever
            saved.add(self)

    def too_large(trained: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        translation_loss(0.0)(trained, batch)
        assert len(saved) > 0
        raise torch.OutOfMemoryError

    model = build()
    loss_fn = guided_loss(too_large, model, uniform, place=PLACE, weight=0.7)
    with saved_tensors_hooks(Saved, lambda each: each.tensor), suppress(torch.OutOfMemoryError):
        loss_fn(model, make_batch())
    gc.collect()
    assert len(saved) == 0
