"""Parameter counts of our model beside those of Table 3 in Vaswani et al. 2017.

Run: python benchmarks/parameters.py [--vocab-size 37000]. The last line of output is one JSON object.

The paper names "about 37000" shared subwords for English-German; its rounded counts imply vocabularies between 36 and
42 thousand from row to row, so exact equality with every row is not possible. The column `vocabulary` shows which one
each row implies.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import torch

from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer

TABLE_3: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("base", {}, 65),
    ("N = 2", {"n_encoder_layers": 2, "n_decoder_layers": 2}, 36),
    ("N = 4", {"n_encoder_layers": 4, "n_decoder_layers": 4}, 50),
    ("N = 8", {"n_encoder_layers": 8, "n_decoder_layers": 8}, 80),
    ("d_model = 256", {"d_model": 256, "n_heads": 8}, 28),
    ("d_model = 1024", {"d_model": 1024, "n_heads": 8}, 168),
    ("d_ff = 1024", {"d_ff": 1024}, 53),
    ("d_ff = 4096", {"d_ff": 4096}, 90),
    ("big", {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3}, 213),
)
"""Row, how it differs from the base model, and the paper's count in millions."""


def count_parameters(config: ModelConfig, vocab_size: int) -> int:
    """Numbers that training changes, tied weights counted once; the model is built without memory."""
    with torch.device("meta"):
        model = Transformer(config, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size)
    return sum(parameter.numel() for parameter in model.parameters())


def table(vocab_size: int) -> list[dict[str, Any]]:
    """One entry a row of Table 3, counts in millions; `vocabulary` is the size that would give the paper's count."""
    rows = []
    for name, changes, paper_millions in TABLE_3:
        config = ModelConfig(**changes)
        count = count_parameters(config, vocab_size)
        rows.append(
            {
                "row": name,
                "ours_millions": round(count / 1e6, 1),
                "paper_millions": paper_millions,
                "vocabulary": round(vocab_size + (paper_millions * 1e6 - count) / config.d_model),
            }
        )
    return rows


def main() -> None:
    """Print the table, then the same as JSON."""
    parser = argparse.ArgumentParser(description="Parameter counts beside the paper's Table 3")
    parser.add_argument("--vocab-size", type=int, default=37_000, help="shared subwords (default: 37000)")
    parser.add_argument("--quick", action="store_true", help="as every benchmark has it; this one takes no time")
    vocab_size = parser.parse_args().vocab_size
    rows = table(vocab_size)
    print(f"{'Table 3 row':<16}{'ours':>10}{'paper':>10}{'vocabulary that gives the paper’s count':>44}")
    for row in rows:
        print(f"{row['row']:<16}{row['ours_millions']:>9.1f}M{row['paper_millions']:>9.0f}M{row['vocabulary']:>44,}")
    print(json.dumps({"benchmark": "parameters", "vocab_size": vocab_size, "rows": rows}))


if __name__ == "__main__":
    main()
