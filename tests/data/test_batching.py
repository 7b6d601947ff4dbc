"""Batches: a pure order, a kept budget, little padding, and nothing lost between processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from yiwen.data import batching
from yiwen.data.batching import Batch, Lengths, Rows, Update, collate, epoch_updates, pad

BOS, EOS = 2, 3


def lengths(src: list[int], tgt: list[int], *, corpus: list[int] | None = None, weights: tuple[float, ...] = (1.0,)):
    return Lengths(
        src=np.array(src, dtype=np.int32),
        tgt=np.array(tgt, dtype=np.int32),
        corpus=np.array(corpus or [0] * len(src), dtype=np.uint8),
        weights=weights,
        fingerprint="f",
    )


def random_lengths(n: int, *, seed: int = 1) -> Lengths:
    """Lengths like Multi30k's in 8,000 subwords: 13 and 15 on average, sides that go together."""
    rng = np.random.default_rng(seed)
    src = np.clip(rng.gamma(9.0, 1.5, n), 2, 45).astype(int)
    tgt = np.clip(src * rng.normal(1.1, 0.22, n) + rng.normal(0, 1.0, n), 2, 60).astype(int)
    return lengths(src.tolist(), tgt.tolist())


def flat(updates: list[Update]) -> list[list[int]]:
    return [rows.tolist() for update in updates for rows in update]


def order(given: Lengths, *, seed: int = 1, epoch: int = 0, batch_tokens: int = 97, update_tokens: int = 0):
    return epoch_updates(given, seed=seed, epoch=epoch, batch_tokens=batch_tokens, update_tokens=update_tokens)


def test_the_order_is_a_pure_function() -> None:
    given = random_lengths(211)
    first = flat(order(given))
    np.random.seed(5)
    torch.manual_seed(5)
    assert flat(order(given)) == first


@pytest.mark.parametrize("change", [{"seed": 2}, {"epoch": 1}])
def test_another_seed_or_epoch_is_another_order(change: dict[str, int]) -> None:
    given = random_lengths(211)
    assert flat(order(given, **change)) != flat(order(given))


def test_the_second_epoch_of_a_run_is_not_the_first_of_a_run_with_the_next_seed() -> None:
    given = random_lengths(211)
    assert flat(order(given, seed=1, epoch=1)) != flat(order(given, seed=2, epoch=0))


def test_another_text_is_another_order() -> None:
    given = random_lengths(211)
    other = Lengths(src=given.src, tgt=given.tgt, corpus=given.corpus, weights=given.weights, fingerprint="g")
    assert flat(order(other)) != flat(order(given))


def test_batches_of_equal_rows_are_not_the_same_rows_in_every_epoch() -> None:
    given = lengths([5] * 60, [7] * 60)
    batches = [{frozenset(rows) for rows in flat(order(given, epoch=epoch))} for epoch in (0, 1)]
    assert not batches[0] & batches[1]


@hypothesis.given(
    sides=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=80),
    batch_tokens=st.integers(1, 200),
    update_tokens=st.integers(0, 300),
    window=st.sampled_from([7, batching.WINDOW]),
)
def test_every_row_once_within_the_budget(
    sides: list[tuple[int, int]], batch_tokens: int, update_tokens: int, window: int
) -> None:
    given = lengths([src for src, _ in sides], [tgt for _, tgt in sides])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "WINDOW", window)  # more rows than are sorted together
        updates = order(given, batch_tokens=batch_tokens, update_tokens=update_tokens)
    assert sorted(row for rows in flat(updates) for row in rows) == list(range(len(sides)))
    for rows in flat(updates):
        longest = max(max(sides[row]) + 1 for row in rows)
        assert len(rows) * longest <= batch_tokens or len(rows) == 1
    so_far = np.cumsum([sum(sides[row][1] + 1 for row in rows) for rows in flat(updates)])
    after = np.cumsum([len(update) for update in updates]) - 1  # the micro-batch that each update closes with
    steps = so_far // max(update_tokens, 1)
    assert all(np.diff(steps, prepend=0)[after[:-1]] > 0)  # it passes a multiple of update_tokens, and no other does
    assert all(np.diff(steps, prepend=0)[np.setdiff1d(np.arange(len(so_far)), after)] == 0)


def test_the_size_of_micro_batches_does_not_change_what_an_update_gathers() -> None:
    given = random_lengths(2000)
    n_tokens = int(given.tgt.sum()) + 2000
    counts = {size: len(order(given, batch_tokens=size, update_tokens=1000)) for size in (100, 300, 1000)}
    assert all(abs(count - n_tokens / 1000) <= 1 for count in counts.values()), counts


def test_a_row_longer_than_the_budget_travels_alone() -> None:
    given = lengths([3, 40, 3, 3], [3, 3, 3, 3])
    assert [1] in flat(order(given, batch_tokens=16))


def test_corpora_get_their_shares() -> None:
    sizes = (60, 30, 10)
    corpus = [number for number, size in enumerate(sizes) for _ in range(size)]
    given = lengths([5] * 100, [5] * 100, corpus=corpus, weights=(0.2, 0.3, 0.5))
    rows = np.concatenate([np.array(rows) for rows in flat(order(given))])
    counts = np.bincount(np.array(corpus)[rows])
    assert counts.tolist() == [20, 30, 50]
    repeats = np.bincount(rows, minlength=100)
    assert set(repeats[:60]) == {0, 1}  # a large corpus is drawn from without repetition
    assert set(repeats[60:90]) == {1}
    assert set(repeats[90:]) == {5}
    other = np.concatenate([np.array(rows) for rows in flat(order(given, epoch=1))])
    assert set(rows[rows < 60]) != set(other[other < 60])


def test_a_corpus_of_hardly_any_weight_is_learnt_from_all_the_same() -> None:
    given = lengths([5] * 110, [5] * 110, corpus=[0] * 100 + [1] * 10, weights=(2500 / 2501, 1 / 2501))
    seen = {row for epoch in range(60) for rows in flat(order(given, epoch=epoch)) for row in rows if row >= 100}
    assert seen == set(range(100, 110))


def test_an_empty_corpus_takes_nothing_from_the_others() -> None:
    given = lengths([5] * 7, [5] * 7, corpus=[1] * 7, weights=(0.0, 1.0))
    assert sorted(row for rows in flat(order(given)) for row in rows) == list(range(7))
    assert order(lengths([], [])) == []


def test_batches_are_cut_where_padding_and_their_number_cost_least() -> None:
    given = random_lengths(19)
    batches = [rows for update in order(given, batch_tokens=97) for rows in update]

    def cost(parts: Sequence[Sequence[int]]) -> int:
        return sum(
            len(rows) * int(given.src[rows].max() + given.tgt[rows].max() + 2) + batching.BATCH_COST
            for rows in map(list, parts)
        )

    longest = np.maximum(given.src, given.tgt) + 1
    lean = given.src - given.tgt
    rows = np.lexsort((np.where(longest % 2 == 0, lean, -lean), longest)).tolist()

    @cache
    def cheapest(start: int) -> float:
        """Over every way to cut the rest, as long as a batch holds more than half of what fits."""
        if start == len(rows):
            return 0.0
        fits = max(
            n
            for n in range(1, len(rows) - start + 1)
            if n == 1 or n * max(longest[row] for row in rows[start : start + n]) <= 97
        )
        sizes = range(fits // 2 + 1, fits + 1)
        return min(cost([rows[start : start + n]]) + cheapest(start + n) for n in sizes)

    assert cost([batch.tolist() for batch in batches]) == cheapest(0)


def padding_share(batches: Sequence[Rows], given: Lengths) -> float:
    """1 - real tokens / (B x S + B x T) over all batches, eos counted on both sides."""
    real = padded = 0
    for rows in batches:
        src, tgt = given.src[rows] + 1, given.tgt[rows] + 1
        real += int(src.sum() + tgt.sum())
        padded += len(rows) * int(src.max() + tgt.max())
    return 1 - real / padded


def test_padding_stays_under_three_percent() -> None:
    given = random_lengths(29_000)
    batches = [rows for update in order(given, batch_tokens=4096) for rows in update]
    padding = padding_share(batches, given)
    assert padding < 0.03, f"{padding:.2%}"


@pytest.mark.slow
def test_padding_of_multi30k_stays_under_three_percent(tmp_path: Path) -> None:
    from yiwen.data.corpus import CorpusConfig
    from yiwen.data.loader import lengths_of
    from yiwen.data.prepare import DataConfig, prepare
    from yiwen.data.store import Store
    from yiwen.text.subword import TokenizerConfig

    if "YIWEN_DATA" not in os.environ:
        pytest.skip("needs Multi30k: set YIWEN_DATA to the folder that holds multi30k/")
    folder = "${YIWEN_DATA}/multi30k"
    data = DataConfig(
        src_lang="en",
        tgt_lang="de",
        corpora=(CorpusConfig(src=f"{folder}/train.en", tgt=f"{folder}/train.de"),),
        valid_pairs=0,
        test_pairs=0,
    )
    prepared = prepare(data, TokenizerConfig(kind="bpe", vocab_size=8000), root=tmp_path, base=tmp_path)
    given = lengths_of(Store.open(prepared.folder))
    padding = padding_share([rows for update in order(given, batch_tokens=4096) for rows in update], given)
    print(f"padding of Multi30k at 4,096: {padding:.2%}")
    assert padding < 0.03


def test_a_batch_worked_by_hand() -> None:
    batch = collate([[5, 6], [7]], [[8], [9, 10, 11]])
    assert batch.src_ids.tolist() == [[5, 6, EOS], [7, EOS, 0]]
    assert batch.tgt_in.tolist() == [[BOS, 8, 0, 0], [BOS, 9, 10, 11]]
    assert batch.tgt_out.tolist() == [[8, EOS, 0, 0], [9, 10, 11, EOS]]
    assert batch.n_tokens == 6
    assert batch.real_tokens().tolist() == [0, 1, 4, 5, 6, 7]
    assert batch.to("cpu").src_ids.dtype == torch.int64
    packed = batch.packed()
    # 5 and 6 tokens, at least one for each of 32 fillers, and from 32 tokens on a multiple of 8.
    assert packed.src_ids.tolist() == [[5, 6, EOS, 7, EOS] + 35 * [0]]
    assert packed.tgt_in.tolist() == [[BOS, 8, BOS, 9, 10, 11] + 34 * [0]]
    assert packed.tgt_out.tolist() == [[8, EOS, 9, 10, 11, EOS] + 34 * [0]]
    assert packed.packings is not None
    for packing, starts, places, n_two in zip(
        packed.packings, ([0, 3, 5], [0, 2, 6]), ([0, 1, 2, 0, 1], [0, 1, 0, 1, 2, 3]), (3, 2), strict=True
    ):
        fillers = [2] * n_two + [1] * (32 - n_two)
        ends = [starts[-1] + sum(fillers[: i + 1]) for i in range(32)]
        assert packing.starts.tolist() == starts + ends + 30 * [40]  # 34 sequences, empty ones up to 64
        assert packing.starts.dtype == torch.int32
        assert packing.places.tolist() == places + [0, 1] * n_two + [0] * (32 - n_two)
        assert packing.longest == 128
    assert packed.n_tokens == 6
    assert packed.to("cpu") is packed
    with torch.device("meta"):  # in the place of a GPU that a caller has made the default
        again = batch.packed()
    assert all(map(torch.equal, again.tensors(), packed.tensors()))


def test_packed_batches_are_of_few_kinds() -> None:
    """A GPU goes through all of a kind by one recording: they are alike in everything but their numbers."""

    def packed(n: int, length: int) -> Batch:
        return collate([[7] * length] * n, [[8] * (length + 1)] * n).packed()

    assert packed(70, 9).kind() == (768, 896, 896, 129, 768, 129, 896, 128, 128)
    assert packed(70, 9).kind() == packed(78, 8).kind() == packed(64, 10).kind() != packed(140, 4).kind()
    assert [len(tensor.flatten()) for tensor in packed(78, 8).tensors()] == list(packed(78, 8).kind()[:7])
    assert packed(3, 127).kind()[-2:] == (128, 256)  # 128 and 129 tokens, in blocks of 128
    for packing in packed(420, 98).packings or ():  # a filler of 256 tokens: as many places as a sentence has
        assert packing.starts.diff().max() > 200
        assert packing.places.max() < 100


@hypothesis.given(st.lists(st.integers(0, 300), min_size=1, max_size=300))
def test_little_is_computed_for_nothing_in_a_packed_row(lengths: list[int]) -> None:
    packings = collate([[7] * length for length in lengths], [[]] * len(lengths)).packed().packings
    assert packings is not None
    for packing, n_real in zip(packings, (sum(lengths) + len(lengths), len(lengths)), strict=True):
        sizes = packing.starts.diff()
        assert packing.starts[-1] == len(packing.places) <= 1.25 * (n_real + 32)
        assert sizes[len(lengths) : len(lengths) + 32].min() >= 1
        assert sizes.max() <= packing.longest


@pytest.mark.parametrize("is_packed", [False, True])
def test_all_of_a_batch_goes_to_the_device(is_packed: bool) -> None:
    batch = collate([[5, 6], [7]], [[8], [9, 10, 11]])
    there = (batch.packed() if is_packed else batch).to("meta")
    tensors = [there.src_ids, there.tgt_in, there.tgt_out]
    tensors += [tensor for packing in there.packings or () for tensor in (packing.starts, packing.places)]
    tensors += [] if there.real is None else [there.real]
    assert len(tensors) == (7 if is_packed else 4)
    assert {tensor.device.type for tensor in tensors} == {"meta"}


def test_an_empty_side_is_an_eos() -> None:
    batch = collate([[]], [[]])
    assert (batch.src_ids.tolist(), batch.tgt_in.tolist(), batch.tgt_out.tolist()) == ([[EOS]], [[BOS]], [[EOS]])


@hypothesis.given(st.lists(st.lists(st.integers(4, 99), max_size=7), min_size=1, max_size=5))
def test_the_input_is_the_output_moved_by_one(targets: list[list[int]]) -> None:
    batch = collate(targets, targets)
    for row, ids in enumerate(targets):
        n = len(ids) + 1
        assert batch.tgt_in[row, :n].tolist() == [BOS, *ids]
        assert batch.tgt_out[row, :n].tolist() == [*ids, EOS]
        assert not batch.tgt_in[row, n:].any()
        assert not batch.tgt_out[row, n:].any()


def test_padding_fills_up_to_the_longest() -> None:
    assert pad([[1], [2, 3, 4]]).tolist() == [[1, 0, 0], [2, 3, 4]]


@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40), st.integers(1, 200)
)
def test_a_batch_that_is_cut_again_keeps_every_row_within_the_budget(
    sides: list[tuple[int, int]], batch_tokens: int
) -> None:
    """Words cut anew make other lengths than rows were put together by."""
    src, tgt = ([[4 + row] * n for row, n in enumerate(side)] for side in zip(*sides, strict=True))
    batch = collate(src, tgt)
    parts = batch.cut(batch_tokens)
    assert sum(part.n_tokens for part in parts) == batch.n_tokens
    found = []
    for part in parts:
        assert part.n_tokens == int((part.tgt_out != 0).sum())
        assert len(part.src_ids) == 1 or max(part.src_ids.numel(), part.tgt_out.numel()) <= batch_tokens
        assert (part.src_ids[:, -1].any(), part.tgt_out[:, -1].any()) == (True, True), "no column is all padding"
        found += [
            tuple(tuple(ids[ids != 0].tolist()) for ids in row)
            for row in zip(part.src_ids, part.tgt_in, part.tgt_out, strict=True)
        ]
    assert sorted(found) == sorted(
        ((*a, EOS), (BOS, *b), (*b, EOS)) for a, b in zip(map(tuple, src), map(tuple, tgt), strict=True)
    )


def test_rows_of_unlike_length_are_parted_where_that_saves_more_than_another_batch_costs() -> None:
    short, long = [[5] * 3] * 96, [[6] * 60] * 16
    parts = collate(short + long, short + long).cut(9000)
    assert sorted(tuple(part.src_ids.shape) for part in parts) == [(16, 61), (96, 4)]
    assert len(collate(short, short).cut(9000)) == len(collate(short, short).cut(96 * 4)) == 1  # as full as may be


def test_shards_hold_every_row_once_and_lengths_alike() -> None:
    batch = collate([[5], [5, 6], [5, 6, 7], [8], [9]], [[7], [8, 9], [4], [5, 6, 7], [8]])
    shards = [batch.shard(number, 3) for number in range(3)]
    assert [len(shard.src_ids) for shard in shards] == [2, 2, 1]
    assert torch.equal(shards[1].tgt_out, batch.tgt_out[1::3])
    assert torch.equal(shards[1].tgt_in, batch.tgt_in[1::3])
    assert torch.equal(shards[1].src_ids, batch.src_ids[1::3])
    assert [shard.n_tokens for shard in shards] == [2 + 4, 3 + 2, 2]
    assert batch.shard(5, 7).n_tokens == 0
