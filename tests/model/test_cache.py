"""Cached decoding equals full decoding, and a reordered cache equals a recomputed one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from yiwen.model.attention import fused_attention, use_attention
from yiwen.model.cache import DecoderCache
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]
SRC_IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 3], [11, 12, 13, 3, 0, 0, 0], [14, 3, 0, 0, 0, 0, 0]])
T = 5


def started(model: Transformer, src_ids: Tensor) -> DecoderCache:
    return model.start(model.encode(src_ids), padding_mask(src_ids, 0))


def stepped(model: Transformer, tgt_in: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
    """Logits (R, T, V) of all positions, one step at a time, and the cache after them."""
    logits = []
    for t in range(tgt_in.size(1)):
        step_logits, cache = model.step(tgt_in[:, t], cache)
        logits.append(step_logits)
    return torch.stack(logits, dim=1), cache


def test_who_searches_by_hand_needs_no_torch_no_grad(make_model: MakeModel) -> None:
    model = make_model()
    tgt_in = random_target(3)
    cached, _ = stepped(model, tgt_in, started(model, SRC_IDS))
    torch.testing.assert_close(cached, model.logits(model(SRC_IDS, tgt_in)).detach(), rtol=0, atol=1e-5)
    assert not cached.requires_grad


def random_target(n_rows: int, length: int = T, seed: int = 1) -> Tensor:
    return torch.randint(4, 31, (n_rows, length), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
@pytest.mark.parametrize("n_kv_heads", [0, 1, 3])
@pytest.mark.parametrize(("positions", "norm_order"), list(itertools.product(POSITIONS, ["post", "pre"])))
@torch.no_grad()
def test_cached_decoding_equals_full_decoding(
    make_model: MakeModel, positions: str, norm_order: str, n_kv_heads: int, activation: str
) -> None:
    model = make_model(positions=positions, norm_order=norm_order, n_kv_heads=n_kv_heads, activation=activation)
    tgt_in = random_target(3)
    full = model.logits(model(SRC_IDS, tgt_in))
    cached, cache = stepped(model, tgt_in, started(model, SRC_IDS))
    assert full.shape == cached.shape == (3, T, 31)
    torch.testing.assert_close(cached, full, rtol=0, atol=1e-5)
    assert cache.length == T


@pytest.mark.parametrize("changes", [{"norm": "rms"}, {"tied_embeddings": "none"}, {"tied_embeddings": "target"}])
@torch.no_grad()
def test_cached_decoding_equals_full_decoding_for_the_other_parts(
    make_model: MakeModel, changes: dict[str, str]
) -> None:
    model = make_model(**changes)
    tgt_in = random_target(3)
    cached, _ = stepped(model, tgt_in, started(model, SRC_IDS))
    torch.testing.assert_close(cached, model.logits(model(SRC_IDS, tgt_in)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_fused_attention_decodes_the_same_with_a_cache(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions, n_kv_heads=2)
    tgt_in = random_target(3)
    full = model.logits(model(SRC_IDS, tgt_in))
    use_attention(model, fused_attention)
    cached, _ = stepped(model, tgt_in, started(model, SRC_IDS))
    torch.testing.assert_close(cached, full, rtol=0, atol=1e-5)


def with_hypotheses(model: Transformer, src_ids: Tensor, tgt_in: Tensor) -> Tensor:
    """Logits of R = B x W targets by full decoding: each source is repeated for its hypotheses."""
    n_each = tgt_in.size(0) // src_ids.size(0)
    return model.logits(model(src_ids.repeat_interleave(n_each, dim=0), tgt_in))


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_several_hypotheses_share_the_memory_of_their_sentence(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions, n_kv_heads=3)
    tgt_in = random_target(3 * 2)
    cached, cache = stepped(model, tgt_in, started(model, SRC_IDS))
    torch.testing.assert_close(cached, with_hypotheses(model, SRC_IDS, tgt_in), rtol=0, atol=1e-5)
    assert all(memory.key.size(0) == 3 for memory in cache.memories)  # never copied


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_a_reordered_cache_equals_a_recomputed_one(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions, n_kv_heads=2)
    tgt_in = random_target(3 * 2)
    _, cache = stepped(model, tgt_in, started(model, SRC_IDS))
    rows = torch.tensor([1, 0, 2, 2, 5, 4])  # swapped, doubled, swapped: always inside the sentence
    ahead = random_target(3 * 2, length=2, seed=7)
    cached, _ = stepped(model, ahead, cache.select(rows))
    full = with_hypotheses(model, SRC_IDS, torch.cat([tgt_in[rows], ahead], dim=1))
    torch.testing.assert_close(cached, full[:, T:], rtol=0, atol=1e-5)


@torch.no_grad()
def test_selecting_may_change_the_number_of_hypotheses(make_model: MakeModel) -> None:
    model = make_model()
    tgt_in = random_target(3)
    _, cache = stepped(model, tgt_in, started(model, SRC_IDS))
    rows = torch.tensor([0, 0, 1, 1, 2, 2])  # from one hypothesis a sentence to two
    ahead = random_target(6, length=2, seed=7)
    cached, _ = stepped(model, ahead, cache.select(rows))
    full = with_hypotheses(model, SRC_IDS, torch.cat([tgt_in[rows], ahead], dim=1))
    torch.testing.assert_close(cached, full[:, T:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("sentences", [[0, 2], [1], [2, 0, 1], [1, 1]])
@torch.no_grad()
def test_sentences_may_leave_return_and_change_places(make_model: MakeModel, sentences: list[int]) -> None:
    model = make_model(n_kv_heads=2)
    tgt_in = random_target(3 * 2)
    _, cache = stepped(model, tgt_in, started(model, SRC_IDS))
    keep = torch.tensor(sentences)
    rows = (keep[:, None] * 2 + torch.tensor([1, 0])).flatten()  # its two hypotheses, swapped
    ahead = random_target(len(rows), length=2, seed=7)
    cached, _ = stepped(model, ahead, cache.select(rows).select_sentences(keep))
    full = with_hypotheses(model, SRC_IDS[keep], torch.cat([tgt_in[rows], ahead], dim=1))
    torch.testing.assert_close(cached, full[:, T:], rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_cache_before_its_first_step_can_be_reordered_too(make_model: MakeModel) -> None:
    model = make_model()
    keep = torch.tensor([2, 0])
    cache = started(model, SRC_IDS).select(keep).select_sentences(keep)
    tgt_in = random_target(2)
    cached, _ = stepped(model, tgt_in, cache)
    torch.testing.assert_close(cached, with_hypotheses(model, SRC_IDS[keep], tgt_in), rtol=0, atol=1e-5)


@torch.no_grad()
def test_two_rooms_take_turns_when_hypotheses_are_reordered(make_model: MakeModel) -> None:
    model = make_model()
    _, cache = stepped(model, random_target(3 * 2), started(model, SRC_IDS))
    swap = torch.tensor([1, 0, 2, 3, 5, 4])
    before = cache.past[:T].clone()
    once = cache.select(swap)
    assert torch.equal(cache.past[:T], before)
    twice = once.select(swap)
    assert twice.past.data_ptr() == cache.past.data_ptr() != once.past.data_ptr()
    assert torch.equal(twice.past[:T], before)


@torch.no_grad()
def test_room_that_nobody_has_written_is_finite_and_forbidden(make_model: MakeModel) -> None:
    model = make_model(positions="alibi")
    _, cache = stepped(model, random_target(3 * 2), started(model, SRC_IDS))
    for later in (cache, cache.select(torch.arange(5, -1, -1)), cache.select(torch.tensor([0, 1]))):
        assert all(past.size(0) == 16 and (past[T:] == 0).all() for past in later.layers())
        for distances in (None, model.distances):
            assert (later.self_bias(distances)[..., T:] < -1e37).all()
            assert (later.self_bias(distances)[..., :T] > -1e3).all()
    assert all(memory.key.size(3) == memory.value.size(2) == 16 for memory in cache.memories)
    assert (cache.cross_bias[..., SRC_IDS.size(1) :] < -1e37).all()


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_the_room_grows_when_it_is_full_and_decoding_stays_the_same(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions, max_len=37, n_kv_heads=2)
    tgt_in = random_target(3, length=37)
    rooms = []
    cache = started(model, SRC_IDS)
    logits = []
    for t in range(37):
        step_logits, cache = model.step(tgt_in[:, t], cache)
        if t % 5 == 4:  # a reordering in between keeps the room
            cache = cache.select(torch.tensor([2, 0, 1])).select(torch.tensor([1, 2, 0]))
        logits.append(step_logits)
        rooms.append(cache.past.size(0))
    torch.testing.assert_close(torch.stack(logits, dim=1), model.logits(model(SRC_IDS, tgt_in)), rtol=0, atol=1e-5)
    assert (rooms[0], rooms[15], rooms[16], rooms[31], rooms[36]) == (16, 16, 32, 32, 64)


@torch.no_grad()
def test_an_order_that_changes_nothing_copies_nothing(make_model: MakeModel) -> None:
    model = make_model()
    _, cache = stepped(model, random_target(3 * 2), started(model, SRC_IDS))
    assert cache.select(torch.arange(6)).past is cache.past
    swapped = torch.tensor([1, 0, 2, 3, 4, 5])
    fewer = torch.tensor([0, 1, 2, 3])
    for rows in (swapped, fewer):
        selected = cache.select(rows)
        assert selected.past is not cache.past
        for ours, theirs in zip(selected.layers(), cache.layers(), strict=True):
            assert torch.equal(ours, theirs[:, :, rows])
