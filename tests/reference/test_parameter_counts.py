"""Parameter counts against a formula derived by hand and against Table 3 of Vaswani et al. 2017."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from yiwen.model.config import PRESETS, ModelConfig
from yiwen.model.transformer import Transformer

V = 37_000
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "parameters.py"
TABLE_3 = [
    # changes to the base model, ours in millions, the paper's in millions
    ({}, 63.1, 65),
    ({"n_encoder_layers": 2, "n_decoder_layers": 2}, 33.7, 36),
    ({"n_encoder_layers": 4, "n_decoder_layers": 4}, 48.4, 50),
    ({"n_encoder_layers": 8, "n_decoder_layers": 8}, 77.8, 80),
    ({"d_model": 256}, 26.8, 28),
    ({"d_model": 1024}, 163.9, 168),
    ({"d_ff": 1024}, 50.5, 53),
    ({"d_ff": 4096}, 88.3, 90),
    ({"d_model": 1024, "n_heads": 16, "d_ff": 4096}, 214.2, 213),
]


def count(config: ModelConfig, src_vocab_size: int = V, tgt_vocab_size: int = V) -> int:
    with torch.device("meta"):  # shapes without memory
        model = Transformer(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
    return sum(parameter.numel() for parameter in model.parameters())


def by_hand(V: int, D: int, F: int, N: int) -> int:
    """The paper's model: one shared matrix, N encoder and N decoder layers, post-norm, biases everywhere."""
    attention = 4 * (D * D + D)  # query, key, value and output projections
    feed_forward = D * F + F + F * D + D
    norm = 2 * D
    encoder_layer = attention + norm + feed_forward + norm
    decoder_layer = attention + norm + attention + norm + feed_forward + norm
    assert encoder_layer + decoder_layer == 12 * D * D + 4 * D * F + 2 * F + 24 * D
    return V * D + N * (encoder_layer + decoder_layer)


@pytest.mark.parametrize(("changes", "ours", "paper"), TABLE_3)
def test_counts_equal_the_formula_and_stand_beside_table_3(changes: dict[str, Any], ours: float, paper: int) -> None:
    config = ModelConfig(**changes)
    n_parameters = count(config)
    assert n_parameters == by_hand(V, config.d_model, config.d_ff, config.n_encoder_layers)
    assert round(n_parameters / 1e6, 1) == ours
    # The paper says "about 37000" (section 5.1) and rounds: its rows imply 36 to 41 thousand.
    implied_low = V + ((paper - 0.5) * 1e6 - n_parameters) / config.d_model
    implied_high = V + ((paper + 0.5) * 1e6 - n_parameters) / config.d_model
    assert implied_low <= 41_500
    assert implied_high >= 35_500


def test_small_prime_sizes_fit_the_formula_with_every_axis_different() -> None:
    config = ModelConfig(d_model=10, n_heads=5, d_ff=13, n_encoder_layers=2, n_decoder_layers=2, max_len=17)
    assert count(config, 29, 29) == by_hand(29, 10, 13, 2)


@pytest.mark.parametrize("preset", ["base", "big"])
def test_presets_of_the_paper_have_its_counts(preset: str) -> None:
    config = ModelConfig(**PRESETS[preset])
    assert round(count(config) / 1e6, 1) == {"base": 63.1, "big": 214.2}[preset]


def test_each_option_changes_the_count_as_derived_by_hand() -> None:
    D, F, H, G, K, S, T, L = 24, 13, 6, 2, 4, 29, 31, 17  # S and T: the two vocabularies; G: heads of keys and values
    shape: dict[str, Any] = {
        "d_model": D, "n_heads": H, "d_ff": F, "n_encoder_layers": 2, "n_decoder_layers": 3, "max_len": L,
        "tied_embeddings": "target",
    }  # fmt: skip

    def total(**changes: Any) -> int:
        return count(ModelConfig(**{**shape, **changes}), S, T)

    plain = total()
    n_attentions, n_feed_forwards, n_norms = 2 + 3 * 2, 2 + 3, 2 * 2 + 3 * 3
    attention = 4 * (D * D + D)
    feed_forward = 2 * D * F + F + D
    assert plain == S * D + T * D + n_attentions * attention + n_feed_forwards * feed_forward + n_norms * 2 * D
    assert total(tied_embeddings="none") == plain + T * D  # an output matrix of its own
    assert total(norm_order="pre") == plain + 2 * 2 * D  # a last norm after each stack
    assert total(norm="rms") == plain - n_norms * D  # no biases
    assert total(activation="gelu") == plain
    assert total(activation="swiglu") == plain + n_feed_forwards * (D * F + F)  # a gate
    assert total(positions="learned") == plain + 2 * L * D  # source and target
    assert total(positions="rotary") == total(positions="alibi") == plain
    assert total(n_kv_heads=G) == plain - n_attentions * 2 * (H - G) * K * (D + 1)  # narrower keys and values


def test_one_vocabulary_tied_everywhere_is_counted_once() -> None:
    shape: dict[str, Any] = {"d_model": 10, "n_heads": 5, "d_ff": 13, "n_encoder_layers": 1, "n_decoder_layers": 1}
    three, two, one = (count(ModelConfig(**shape, tied_embeddings=tied), 29, 29) for tied in ("none", "target", "all"))
    assert (three - two, two - one) == (29 * 10, 29 * 10)


def test_the_benchmark_prints_the_table_and_ends_with_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["parameters.py"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    result = json.loads(lines[-1])
    assert [(row["ours_millions"], row["paper_millions"]) for row in result["rows"]] == [
        (ours, paper) for _, ours, paper in TABLE_3
    ]
    assert "63.1M" in lines[1]
    assert "65M" in lines[1]
