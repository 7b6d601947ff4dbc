"""Search over the real model in float32: what a sentence gets does not depend on the batch it travels in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from yiwen.model.cache import DecoderCache
from yiwen.model.config import ModelConfig
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer
from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.greedy import greedy_search
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.step import Task

PAD, BOS, EOS, V = 0, 2, 3, 31
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]


def build(**changes: Any) -> Transformer:
    torch.manual_seed(11)
    shape: dict[str, Any] = {"d_model": 24, "n_heads": 6, "d_ff": 13, "n_encoder_layers": 2, "n_decoder_layers": 2}
    model = Transformer(ModelConfig(**{**shape, "max_len": 41, **changes}), src_vocab_size=V, tgt_vocab_size=V)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)  # a fresh model is nearly indifferent; margins of a trained one are wider
        model.tgt_embedding.weight[EOS] *= 2.5  # so that some sentences end before their limit
    return model.eval()


def sources(n: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(6)
    return [[*torch.randint(4, V, (1 + i % 7,), generator=generator).tolist(), EOS] for i in range(n)]


@torch.no_grad()
def search(model: Transformer, batch: Sequence[list[int]], config: SearchConfig) -> list[list[Hypothesis]]:
    longest = max(map(len, batch))
    src_ids = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in batch])

    def step(last_ids: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        logits, cache = model.step(last_ids, cache)
        log_probs = logits.log_softmax(dim=-1)
        log_probs[:, PAD] = -torch.inf  # a step would see it, a pass over the whole target would mask it
        return log_probs, cache

    cache = model.start(model.encode(src_ids), padding_mask(src_ids, PAD))
    max_lens = [config.max_len(len(ids)) for ids in batch]
    task = Task(bos_id=BOS, eos_id=EOS, max_lens=max_lens, prefixes=[()] * len(batch))
    return (greedy_search if config.beam_size == 1 else beam_search)(step, cache, task, config)


@torch.no_grad()
def forced(model: Transformer, src: list[int], hypothesis: Hypothesis) -> float:
    """The log-probability of the whole hypothesis from one pass without a cache."""
    tgt_out = [*hypothesis.ids, EOS] if hypothesis.is_finished else list(hypothesis.ids)
    tgt_in = [BOS, *tgt_out[:-1]]
    logits = model.logits(model(torch.tensor([src]), torch.tensor([tgt_in])))[0]
    return -F.cross_entropy(logits, torch.tensor(tgt_out), reduction="sum").item()


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("positions", POSITIONS)
def test_tokens_do_not_depend_on_the_batch_and_scores_agree(positions: str, beam_size: int) -> None:
    model = build(positions=positions)
    config = SearchConfig(beam_size=beam_size, n_best=beam_size, max_len_ratio=1.0, max_len_extra=3)
    batch = sources(13)
    together = search(model, batch, config)
    backwards = search(model, batch[::-1], config)[::-1]
    halves = search(model, batch[:5], config) + search(model, batch[5:], config)
    alone = [search(model, [ids], config)[0] for ids in batch]
    for i in range(13):
        for other in (backwards[i], halves[i], alone[i]):
            scores = [hypothesis.score for hypothesis in together[i]]
            assert [hypothesis.score for hypothesis in other] == pytest.approx(scores, abs=1e-5)
            margins = [better - worse for better, worse in pairwise(scores)]
            if min(margins, default=1.0) > 1e-4:
                assert [hypothesis.ids for hypothesis in other] == [hypothesis.ids for hypothesis in together[i]]


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("positions", POSITIONS)
def test_scores_of_a_search_equal_forced_scoring_without_a_cache(positions: str, beam_size: int) -> None:
    model = build(positions=positions, n_kv_heads=2).double()
    config = SearchConfig(beam_size=beam_size, n_best=beam_size, max_len_ratio=1.0, max_len_extra=3)
    batch = sources(13)
    is_finished = set()
    for src, found in zip(batch, search(model, batch, config), strict=True):
        for hypothesis in found:
            n_tokens = len(hypothesis.ids) + hypothesis.is_finished
            assert hypothesis.score == pytest.approx(forced(model, src, hypothesis) / n_tokens, abs=5e-6)
            is_finished.add(hypothesis.is_finished)
    assert True in is_finished  # so the price of the end is checked too
