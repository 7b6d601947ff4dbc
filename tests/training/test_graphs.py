"""Graphs of forward and backward passes, without a GPU: which are kept, and where they are recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from yiwen.data.batching import Batch, collate
from yiwen.training.graphs import Graph, StepGraphs


def packed(n: int) -> Batch:
    return collate([[7] * 9] * n, [[8] * 9] * n).packed()


def test_graphs_that_leave_no_memory_for_another_make_room_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their memory is not free while they are kept: pairs would be left out that fit by themselves."""
    limit = 2

    def recorded(self: StepGraphs, batch: Batch, loss_of: Callable[[Batch], Tensor]) -> Graph:
        if len(self._graphs) >= limit:
            raise torch.OutOfMemoryError
        graph: Any = SimpleNamespace(replay=lambda: None)
        return Graph(graph, batch, torch.ones(()), loss_of(batch))

    monkeypatch.setattr(StepGraphs, "_recorded", recorded)
    graphs = StepGraphs()
    kept = []
    for n in (10, 70, 300, 70):
        loss = graphs.add(packed(n), lambda batch: torch.tensor(float(batch.n_tokens)), seed=1, n_tokens=5)
        kept.append((len(graphs._graphs), loss.item()))
    assert kept == [(1, 100), (2, 700), (1, 3000), (2, 700)]
    limit = 0  # it fits by itself neither
    with pytest.raises(torch.OutOfMemoryError):
        graphs.add(packed(1000), lambda batch: torch.zeros(()), seed=1, n_tokens=5)


def test_a_graph_is_recorded_on_the_device_that_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which need not be the first: with `training.device = "cuda:1"` a stream of `cuda:0` would record nothing."""
    devices: list[torch.device | None] = []

    def stream_of(device: torch.device | None = None) -> Any:
        devices.append(device)
        return SimpleNamespace(wait_stream=lambda other: None)

    monkeypatch.setattr(torch.cuda, "Stream", stream_of)
    monkeypatch.setattr(torch.cuda, "current_stream", stream_of)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, **options: nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: None))
    model, graphs, batch = nn.Linear(3, 1, bias=False), StepGraphs(), packed(2)
    graphs.clear(model)
    graphs.add(batch, lambda batch: model.weight.sum(), seed=1, n_tokens=5)
    assert devices == [batch.src_ids.device] * 3
