"""The tree of a beam search: what it saw, in a search small enough to write down, and as a record of any search."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from random_models import random_model, sources_for
from yiwen.analysis.beam_tree import BeamTree, Node, verdict
from yiwen.engines.torch_engine import TorchEngine
from yiwen.model.config import ModelConfig
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis

EOS, A, B = 3, 4, 5


def show(tree: BeamTree, *rows: tuple[float, int, int]) -> None:
    sums, beams, tokens = (torch.tensor([[row[part] for row in rows]]) for part in range(3))
    tree.watch(sums, beams, tokens)


def test_each_step_hangs_its_continuations_on_the_hypotheses_they_continue() -> None:
    tree = BeamTree(SearchConfig(beam_size=2))
    show(tree, (-0.5, 0, A), (-1.0, 0, B), (-2.0, 0, EOS), (-math.inf, 0, 0))
    show(tree, (-0.7, 0, EOS), (-1.2, 1, A), (-1.4, 0, B), (-1.5, 1, EOS))
    assert [(node.parent, node.step, node.token, node.fate) for node in tree.nodes] == [
        (-1, 0, A, "kept"),
        (-1, 0, B, "kept"),
        (-1, 0, EOS, "dropped"),  # third best, and only the first two may end
        (0, 1, EOS, "ended"),
        (1, 1, A, "kept"),
        (0, 1, B, "kept"),
        (1, 1, EOS, "dropped"),
    ]
    assert tree.nodes[3].score == pytest.approx(-0.35)  # two subwords, the end counted
    assert [node.score for node in tree.nodes if node.fate != "ended"] == [None] * 6
    assert tree.path([A]) == [0, 3]
    assert tree.path([B, A]) == [1, 4]  # nobody looked whether it ends there
    assert tree.path([EOS + 9]) == []


def test_what_the_limit_cuts_has_no_end_among_its_nodes() -> None:
    tree = BeamTree(SearchConfig(beam_size=2))
    show(tree, (-0.5, 0, A), (-1.0, 0, B), (-2.0, 0, EOS))
    show(tree, (-0.7, 0, A), (-1.2, 1, A), (-1.4, 0, EOS))
    assert tree.path([A]) == [0]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_watching_changes_nothing_and_every_result_is_in_the_tree(beam_size: int) -> None:
    model = random_model(ModelConfig(d_model=20, n_heads=2, d_ff=13, n_encoder_layers=1, n_decoder_layers=2))
    engine = TorchEngine(model)
    config = SearchConfig(beam_size=beam_size, n_best=beam_size)
    for source in sources_for(model, (5, 2, 7)):
        tree = BeamTree(config)
        (found,) = engine.search([source], config=config, watch=tree.watch)
        (alone,) = engine.search([source], config=config)
        assert [h.ids for h in found] == [h.ids for h in alone]
        for hypothesis in found:
            path = [tree.nodes[number] for number in tree.path(hypothesis.ids)]
            assert path[-1].log_prob == pytest.approx(hypothesis.log_prob, abs=1e-5)
            if hypothesis.is_finished:
                assert path[-1].score == pytest.approx(hypothesis.score, abs=1e-5)
                assert [node.token for node in path[:-1]] == list(hypothesis.ids)
        kept = [sum(node.fate == "kept" for node in nodes) for nodes in by_step(tree)]
        assert max(kept) <= beam_size


def by_step(tree: BeamTree) -> list[list[Node]]:
    return [[node for node in tree.nodes if node.step == step] for step in range(tree.nodes[-1].step + 1)]


def spelt(ids: tuple[int, ...] | Tensor) -> str:
    return "".join("abcdefgh"[i] for i in ids)


def test_the_verdict_says_whether_likelihood_or_length_decided() -> None:
    config = SearchConfig(beam_size=2, n_best=2)
    likelier = [Hypothesis((0, 1), -0.2, -0.6, True), Hypothesis((0, 2), -0.5, -1.5, True)]
    assert verdict(likelier, config, spelt) == (
        "It beats “ac” by 0.300 points of score (-0.200 against -0.500): it is the likelier one, e^0.90 times."
    )
    longer = [Hypothesis((0, 1, 2), -0.25, -1.0, True), Hypothesis((0,), -0.45, -0.9, True)]
    assert verdict(longer, config, spelt).endswith(
        "although it is the less likely one (log-probability -1.00 against -0.90): the length penalty divides by 4.0 "
        "for its 4 subwords and by 2.0 for the other's 2."
    )
    assert verdict(longer[::-1], config, spelt) == (
        "“abc” has a better score (-0.250 against -0.450), but it was found later, when the search for one translation "
        "would have ended."
    )
    assert verdict(longer[:1], config, spelt) == "It was the only one that was found, with a beam of 2."
