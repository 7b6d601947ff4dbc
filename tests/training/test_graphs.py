"""Graphs of forward and backward passes, without a GPU: which are kept."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

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
