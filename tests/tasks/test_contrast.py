"""The contrastive loss by hand, and what does not count as a wrong partner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from yiwen.data.batching import Batch, collate
from yiwen.data.store import TextPairs
from yiwen.evaluation.retrieval import retrieval
from yiwen.model.config import ModelConfig
from yiwen.stop import StopFlag
from yiwen.tasks.config import EncoderConfig
from yiwen.tasks.embed import embed_loss, vectors
from yiwen.tasks.heads import EncoderModel
from yiwen.training.config import TrainingConfig
from yiwen.training.learning import embedding

T = 0.2


def model() -> EncoderModel:
    torch.manual_seed(1)
    config = ModelConfig(d_model=12, n_heads=3, d_ff=7, n_encoder_layers=1, norm_order="pre")
    return EncoderModel(config, vocab_size=31, n_labels=0).eval()


def by_hand(encoder: EncoderModel, pairs: Batch, left_out: set[tuple[int, int]]) -> float:
    scores = (vectors(encoder, pairs.src_ids) @ vectors(encoder, pairs.tgt_out).t() / T).double()
    n = len(scores)
    loss = 0.0
    for i in range(n):
        row = [scores[i, j].exp() for j in range(n) if (i, j) not in left_out]
        column = [scores[j, i].exp() for j in range(n) if (j, i) not in left_out]
        loss -= (2 * scores[i, i] - torch.stack(row).sum().log() - torch.stack(column).sum().log()).item() / 2
    return loss


def test_each_pair_is_told_from_all_others_both_ways() -> None:
    encoder = model()
    pairs = collate([[5, 6], [7], [8, 9, 10]], [[11], [12, 13], [14]])
    assert torch.allclose(vectors(encoder, pairs.src_ids).norm(dim=1), torch.ones(3))
    assert embed_loss(T)(encoder, pairs)[0].item() == pytest.approx(by_hand(encoder, pairs, set()), rel=1e-5)


def test_a_text_that_stands_twice_is_no_wrong_partner() -> None:
    encoder = model()
    pairs = collate([[5, 6], [7], [5, 6], [9]], [[11], [12], [13], [12]])
    same = {(0, 2), (2, 0), (1, 3), (3, 1)}
    assert embed_loss(T)(encoder, pairs)[0].item() == pytest.approx(by_hand(encoder, pairs, same), rel=1e-5)


@pytest.mark.parametrize("n_rows_at_a_time", [2, 1024])
def test_retrieval_by_hand(n_rows_at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.evaluation.retrieval._BLOCK", n_rows_at_a_time)
    src = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    tgt = np.array([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    found = retrieval(src, tgt, ["a", "b", "c"], ["x", "y", "z"])
    # a finds x (right), b finds z, c finds y; x finds c, y finds c, z finds b
    assert found == {"accuracy": pytest.approx(100 / 6), "accuracy_src": pytest.approx(100 / 3), "accuracy_tgt": 0.0}
    # where b and c are one text, its partners are both right
    again = retrieval(src, tgt, ["a", "b", "b"], ["x", "y", "z"])
    assert (again["accuracy_src"], again["accuracy_tgt"]) == (pytest.approx(100.0), pytest.approx(200 / 3))
    twice = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert retrieval(twice, twice, ["a", "a"], ["x", "x"])["accuracy"] == 100.0
    assert retrieval(np.zeros((0, 2)), np.zeros((0, 2)), [], [])["accuracy"] == 0.0


def test_validation_takes_a_text_that_comes_again_with_another_blank_for_the_same() -> None:
    ids = {"a b": [5, 6], "a  b": [5, 6], "x": [7], "y": [8]}
    source = SimpleNamespace(encode=lambda texts: [ids[text] for text in texts])
    valid = TextPairs(["a  b", "a b"], ["x", "y"])
    lengths = {"src_lengths": np.array([2, 3]), "tgt_lengths": np.array([1, 1])}  # of the training text
    store: Any = SimpleNamespace(valid=valid, src_lang="en", tgt_lang="de", source=source, **lengths)
    learning = embedding(store, TrainingConfig(), EncoderConfig(), max_len=13, max_tokens=13)
    with torch.inference_mode():
        assert learning.judge(model(), StopFlag()).scores["accuracy"] == 100
