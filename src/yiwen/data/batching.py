"""Batches: which rows travel together, and in which order, as a pure function of (seed, epoch, store, weights).

An epoch is a list of updates, an update a list of micro-batches, a micro-batch an array of store rows. So a position in
training is two integers, (epoch, update), and exact resume needs nothing else from here.

Shapes: B rows, S source length, T target length, both with eos.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID

N_FILLERS = 32
"""Sequences of padding that fill up a packed row, as equal in length as they can be."""

WINDOW = 1 << 18
"""Rows that are sorted by length together: enough for full batches of every length, few enough to sort quickly."""

BATCH_COST = 800
"""What one more batch costs, in positions, on a CPU: fewer with a d_model of 256, more with 128."""

Rows = npt.NDArray[np.int64]
Update = list[Rows]
Ids = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Packing:
    """Where B sequences stand that follow one another in a single row of N tokens."""

    starts: Tensor
    """(B + 1,), int32: 0, then where each ends and the next one begins."""
    places: Tensor
    """(N,), int64: the place of each token in its own sequence, from 0."""
    longest: int
    """Tokens of the longest, rounded up to a multiple of 128: what a GPU's kernel takes at a time."""

    @classmethod
    def of(cls, is_real: Tensor) -> Packing:
        """Of sequences that were padded at their ends, (B, L); sequences of padding and empty ones fill it up.

        Few batches differ in N, B and `longest` then, and a GPU can go through all of a kind by one recipe.
        """
        lengths = is_real.sum(dim=1)
        n_real = int(lengths.sum())
        room = _rounded(n_real + N_FILLERS, 3) - n_real
        n_empty = _rounded(len(lengths) + N_FILLERS, 1) - len(lengths) - N_FILLERS
        fillers = room // N_FILLERS + (torch.arange(N_FILLERS, device=lengths.device) < room % N_FILLERS)
        lengths = F.pad(torch.cat([lengths, fillers]), (0, n_empty))
        starts = F.pad(lengths.cumsum(dim=0, dtype=torch.int32), (1, 0))
        # A filler may be longer than what a model has positions for: it counts anew behind the longest sentence.
        in_row = torch.arange(int(starts[-1]), device=lengths.device)
        places = (in_row - starts[:-1].repeat_interleave(lengths)) % is_real.size(1)
        return cls(starts, places, longest=-(-int(lengths.max()) // 128) * 128)


@dataclass(frozen=True)
class Batch:
    """Parallel sentences as tensors, padded with `PAD_ID`, or packed: all in one row, B = 1, without padding."""

    src_ids: Tensor
    """(B, S), int64, closed by eos."""
    tgt_in: Tensor
    """(B, T), int64: bos, then the target."""
    tgt_out: Tensor
    """(B, T), int64: the target, then eos. Row by row the token that follows each of tgt_in."""
    n_tokens: int
    """Real tokens of tgt_out, eos counted."""
    packings: tuple[Packing, Packing] | None = None
    """Of source and target, where they are packed."""
    real: Tensor | None = None
    """Where the real tokens of tgt_out are among all B x T, (n_tokens,); None until it is needed."""

    def packed(self) -> Batch:
        """The same sentences one after the other in one row, and at its end little padding."""
        is_src, is_tgt = self.src_ids != PAD_ID, self.tgt_out != PAD_ID
        src, tgt = Packing.of(is_src), Packing.of(is_tgt)

        def in_a_row(ids: Tensor, is_real: Tensor, packing: Packing) -> Tensor:
            row = ids[is_real]
            return F.pad(row, (0, len(packing.places) - len(row)), value=PAD_ID)[None]

        tgt_in, tgt_out = (in_a_row(ids, is_tgt, tgt) for ids in (self.tgt_in, self.tgt_out))
        return Batch(in_a_row(self.src_ids, is_src, src), tgt_in, tgt_out, self.n_tokens, (src, tgt))

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on a device; a GPU copies it while it computes what was asked for before."""
        if torch.device(device).type == "cpu":
            return self

        def copied(ids: Tensor) -> Tensor:
            # Only from pinned memory does a copy not wait.
            pinned = ids.pin_memory() if torch.device(device).type == "cuda" else ids
            return pinned.to(device, non_blocking=True)

        ids = copied(self.src_ids), copied(self.tgt_in), copied(self.tgt_out)
        if self.packings is None:
            return Batch(*ids, self.n_tokens, real=copied(self.real_tokens()))
        src, tgt = (Packing(copied(each.starts), copied(each.places), each.longest) for each in self.packings)
        return Batch(*ids, self.n_tokens, (src, tgt))

    def tensors(self) -> list[Tensor]:
        """All of a packed batch."""
        packings = (tensor for packing in self.packings or () for tensor in (packing.starts, packing.places))
        return [self.src_ids, self.tgt_in, self.tgt_out, *packings]

    def kind(self) -> tuple[int, ...]:
        """What two packed batches have in common that a GPU can go through in the same way."""
        return (*(ids.size(-1) for ids in self.tensors()), *(packing.longest for packing in self.packings or ()))

    def real_tokens(self) -> Tensor:
        """`real`, looked up where it is not known: a GPU would have to be waited for."""
        return (self.tgt_out != PAD_ID).flatten().nonzero()[:, 0] if self.real is None else self.real

    def shard(self, number: int, n_shards: int) -> Batch:
        """Every n_shards-th row, from row `number` on: rows are sorted, so that all shards are alike."""
        src_ids, tgt_in, tgt_out = (ids[number::n_shards] for ids in (self.src_ids, self.tgt_in, self.tgt_out))
        return Batch(src_ids, tgt_in, tgt_out, n_tokens=int((tgt_out != PAD_ID).sum()))

    def cut(self, batch_tokens: int) -> list[Batch]:
        """The rows by like length in batches of at most batch_tokens positions a side, padding counted.

        For words that were cut anew when the rows had been put together by other lengths.
        """
        src, tgt = ((ids != PAD_ID).sum(dim=1).numpy() for ids in (self.src_ids, self.tgt_out))
        batches = []
        for rows in _batched(src, tgt, batch_tokens):
            src_len, tgt_len = src[rows].max(), tgt[rows].max()
            ids = self.src_ids[rows, :src_len], self.tgt_in[rows, :tgt_len], self.tgt_out[rows, :tgt_len]
            batches.append(Batch(*ids, n_tokens=int(tgt[rows].sum())))
        return batches


@dataclass(frozen=True)
class Lengths:
    """What the epoch order depends on: the lengths of every row, and where it came from."""

    src: npt.NDArray[np.int32]
    """(N,), subwords without eos."""
    tgt: npt.NDArray[np.int32]
    """(N,), subwords without eos."""
    corpus: npt.NDArray[np.uint8]
    """(N,), index of the row's corpus."""
    weights: tuple[float, ...]
    """Share of each corpus in an epoch; they sum to 1."""
    fingerprint: str
    """Of the store: another text gives another order."""


def epoch_updates(lengths: Lengths, *, seed: int, epoch: int, batch_tokens: int, update_tokens: int) -> list[Update]:
    """The whole order of one epoch.

    Args:
        lengths: Of every row in the store.
        seed: Of the run.
        epoch: From 0.
        batch_tokens: A micro-batch holds at most this many positions on its longer side, padding counted: B x
            max(S, T). A single row that is longer travels alone.
        update_tokens: Real target tokens an update gathers on average, whatever batch_tokens is: updates close with
            the micro-batches that fill the first, the second ... of these numbers; 0: one micro-batch each.

    Returns:
        Updates in order; every row appears as often as its corpus's weight asks for.
    """
    digest = hashlib.sha256(f"{lengths.fingerprint} {seed} {epoch}".encode()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    rows = _sampled_rows(lengths, rng)
    batches: Update = []
    for start in range(0, len(rows), WINDOW):
        window = rows[start : start + WINDOW]
        places = _batched(lengths.src[window] + 1, lengths.tgt[window] + 1, batch_tokens)
        batches += [window[inside] for inside in places]
    return _gather([batches[i] for i in rng.permutation(len(batches))], lengths, update_tokens)


def collate(src: Sequence[Ids], tgt: Sequence[Ids]) -> Batch:
    """Pad sentences given as subword ids without bos and eos.

    A source [5, 6] and a target [7] become src_ids [5, 6, eos], tgt_in [bos, 7], tgt_out [7, eos].
    """
    tgt_out = pad(tgt, closing=EOS_ID)
    tgt_in = np.full_like(tgt_out, BOS_ID)
    tgt_in[:, 1:] = pad(tgt)
    src_ids = torch.from_numpy(pad(src, closing=EOS_ID))
    return Batch(src_ids, torch.from_numpy(tgt_in), torch.from_numpy(tgt_out), n_tokens=sum(map(len, tgt)) + len(tgt))


def collate_labelled(src: Sequence[Ids], labels: Sequence[Ids], *, for_words: bool) -> Batch:
    """Pad texts given as subword ids without eos, with their labels' numbers from 1; `tgt_in` is not used.

    Args:
        src: Texts. [5, 6] becomes [5, 6, eos].
        labels: One label a text; or for words a number a subword, 0 where there is nothing to be said.
        for_words: Which of the two: then tgt_out is (B, S), else (B, 1).
    """
    tgt_out = torch.from_numpy(pad(labels, closing=PAD_ID if for_words else None))
    n_labels = int((tgt_out != PAD_ID).sum())
    return Batch(torch.from_numpy(pad(src, closing=EOS_ID)), tgt_in=tgt_out, tgt_out=tgt_out, n_tokens=n_labels)


def pad(sequences: Sequence[Ids], *, closing: int | None = None) -> npt.NDArray[np.int64]:
    """Sequences of unequal length -> one array (B, longest), filled up with `PAD_ID`.

    Args:
        sequences: Ids of each.
        closing: An id to put after the last of each, which makes all longer by one.
    """
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    padded = np.full((len(sequences), int(lengths.max()) + (closing is not None)), PAD_ID, dtype=np.int64)
    # All sequences at once: a loop over rows took five times as long.
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(sequences)
    if closing is not None:
        padded[np.arange(len(padded)), lengths] = closing
    return padded


def _rounded(n: int, n_digits: int) -> int:
    """Up to a number of so many binary digits and zeros: with three of them some 8 % on average."""
    step = 1 << max(0, n.bit_length() - n_digits)
    return -(-n // step) * step


def _sampled_rows(lengths: Lengths, rng: np.random.Generator) -> Rows:
    """Rows of one epoch, shuffled. A corpus whose share is larger than its size repeats; one whose share is smaller
    is drawn from without repetition, anew in each epoch."""
    n = len(lengths.src)
    drawn = [np.empty(0, dtype=np.int64)]
    for corpus, weight in enumerate(lengths.weights):
        rows = np.flatnonzero(lengths.corpus == corpus)
        if len(rows) and weight > 0:
            n_whole, n_rest = divmod(max(round(n * weight), 1), len(rows))
            drawn += [rows] * n_whole
            if n_rest:
                drawn.append(rng.permutation(rows)[:n_rest])
    return rng.permutation(np.concatenate(drawn))


def _batched(src: npt.NDArray[Any], tgt: npt.NDArray[Any], batch_tokens: int) -> Update:
    """Places of rows in batches of at most batch_tokens positions a side, sorted by both lengths (with eos)."""
    longest, lean = np.maximum(src, tgt), src - tgt
    # The longer side rises; among equals, the other side falls and rises in turn, so that neighbours stay alike
    # on both sides also where one length gives way to the next.
    order = np.lexsort((np.where(longest % 2 == 0, lean, -lean), longest))
    bounds = _cheapest_bounds(np.stack([src, tgt])[:, order].astype(np.int64), batch_tokens)
    return [order[first:last] for first, last in itertools.pairwise(bounds)]


def _cheapest_bounds(lengths: npt.NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Where batches begin and end: 0, ..., the number of rows, whose lengths (2, N) are sorted by the longer side.

    Of all ways to cut, the one that computes least: padded positions of both sides, and BATCH_COST for each batch
    (the shortest path from the first row to the last, found from left to right).
    """
    longest = lengths.max(axis=0)
    n = len(longest)
    cost = np.full(n + 1, np.inf)  # of the cheapest way to cut the first i rows
    cut = np.zeros(n + 1, dtype=np.int64)  # where its last batch starts
    cost[0] = 0
    start = 0
    while start < n:
        most = min(max(1, batch_tokens // int(longest[start])), n - start)
        fits = int(np.count_nonzero(longest[start : start + most] * np.arange(1, most + 1) <= batch_tokens))
        ends = _cuts(start, max(1, fits), n=n)
        sizes = ends - start
        widths = np.maximum.accumulate(lengths[:, start : ends[-1]], axis=1).sum(axis=0)
        total = cost[start] + widths[sizes - 1] * sizes + BATCH_COST
        is_better = total < cost[ends]
        cost[ends[is_better]], cut[ends[is_better]] = total[is_better], start
        # On to the next row that a batch may begin with.
        start += 1 + int(np.isfinite(cost[start + 1 : start + 1 + most]).argmax())
    bounds = [n]
    while bounds[-1] > 0:
        bounds.append(int(cut[bounds[-1]]))
    return bounds[::-1]


def _cuts(start: int, most: int, *, n: int) -> npt.NDArray[np.int64]:
    """Where a batch of at most `most` rows from `start` may end: with at least half of them, or with the last row.

    Cuts fall on a grid of one in some sixteen rows of a batch, or there would be as many beginnings as rows.
    """
    grid = 1 << max(0, (most // 16).bit_length() - 1)
    last = start + most
    ends = np.arange((start + most // 2) // grid * grid + grid, last + 1, grid)
    return np.append(ends, last) if last == n or len(ends) == 0 else ends


def _gather(batches: Update, lengths: Lengths, update_tokens: int) -> list[Update]:
    if update_tokens == 0:
        return [[rows] for rows in batches]
    n_tokens = np.array([lengths.tgt[rows].sum() + len(rows) for rows in batches], dtype=np.int64)
    # By those before it in the whole epoch: what one update has too much, the next has less.
    firsts = np.unique((n_tokens.cumsum() - n_tokens) // update_tokens, return_index=True)[1].tolist()
    return [batches[first:last] for first, last in itertools.pairwise([*firsts, len(batches)])]
