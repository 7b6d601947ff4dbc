"""Forward and backward passes of packed sentences as CUDA graphs.

An update of a small model is a thousand kernels, each of which a GPU is through with sooner than a processor can ask
for the next. A graph is recorded once for each kind of batch, and asked for as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch

MOST: Final = 128
"""Graphs kept: the oldest goes, and is recorded anew when it is needed."""


class Graph(NamedTuple):
    """The passes of one kind of batch."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    """What they read: other batches of the kind are copied here."""
    share: Tensor
    """1 / tokens of the update, ()."""
    loss_sum: Tensor
    """What they write besides gradients, ()."""


class StepGraphs:
    """The graphs of one model, and the gradients that they add to."""

    def __init__(self) -> None:
        self._graphs: dict[tuple[int, ...], Graph] = {}
        self._gradients: dict[nn.Parameter, Tensor] = {}
        self._stream: torch.cuda.Stream | None = None

    def clear(self, model: nn.Module) -> None:
        """Give the model's parameters gradients of zeros, always the same tensors."""
        if not self._gradients:
            self._gradients = {p: torch.zeros_like(p) for p in model.parameters() if p.requires_grad}
        torch._foreach_zero_(list(self._gradients.values()))
        for parameter, gradient in self._gradients.items():
            parameter.grad = gradient

    def add(self, batch: Batch, loss_of: Callable[[Batch], Tensor], *, seed: int, n_tokens: int) -> Tensor:
        """Add the gradients of a batch's loss / n_tokens to the model's.

        Args:
            batch: Packed, on the device.
            loss_of: The summed loss of a batch, (), from the model's parameters; the same at every call.
            seed: What dropout starts from.
            n_tokens: Of the whole update.

        Returns:
            The summed loss, (), until the next call.
        """
        kind = batch.kind()
        if kind not in self._graphs:
            if len(self._graphs) >= MOST:
                self._graphs.pop(next(iter(self._graphs)))
            with suppress(torch.OutOfMemoryError):
                self._graphs[kind] = self._recorded(batch, loss_of)
        if kind not in self._graphs:
            self._graphs.clear()  # their memory is theirs, and nobody else's, as long as they are kept
            self._graphs[kind] = self._recorded(batch, loss_of)
        graph, given, share, loss_sum = self._graphs[kind]
        for mine, new in zip(given.tensors(), batch.tensors(), strict=True):
            mine.copy_(new)
        share.fill_(1 / n_tokens)
        torch.manual_seed(seed)
        graph.replay()
        return loss_sum

    def _recorded(self, batch: Batch, loss_of: Callable[[Batch], Tensor]) -> Graph:
        share = torch.ones((), dtype=torch.float32, device=batch.src_ids.device)

        def passes() -> tuple[Tensor, tuple[Tensor, ...]]:
            loss = loss_of(batch)
            return loss.detach(), torch.autograd.grad(loss * share, list(self._gradients))

        # Of the batch's device: on another's stream nothing would be recorded, and a graph of nothing replayed.
        self._stream = self._stream or torch.cuda.Stream(share.device)  # type: ignore[no-untyped-call]
        self._stream.wait_stream(torch.cuda.current_stream(share.device))
        with torch.cuda.stream(self._stream):
            passes()  # makes what must not be made while recording; what does not fit into memory is known here
        torch.cuda.current_stream(share.device).wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        pool = next(iter(self._graphs.values())).graph.pool() if self._graphs else None  # one memory for all
        with torch.cuda.graph(graph, pool=pool, stream=self._stream):
            loss_sum, gradients = passes()
            torch._foreach_add_(list(self._gradients.values()), gradients)
        return Graph(graph, batch, share, loss_sum)
