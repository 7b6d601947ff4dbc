"""Models with random weights, every norm and bias included, whose translations nevertheless end."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.exported import ExportInfo, write_info
from yiwen.export.ct2_spec import write_model
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.text.subword import BOS_ID, EOS_ID, N_SPECIAL, Subword

N_SRC, N_TGT = 23, 29


class FakeSubword:
    """The two things that an engine asks of a vocabulary."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [("<pad>", "<unk>", "<s>", "</s>", *(f"piece-{i}" for i in range(99)))[i] for i in ids]


def fake_subword(vocab_size: int) -> Subword:
    return cast(Subword, FakeSubword(vocab_size))


def architectures() -> Iterator[ModelConfig]:
    """Every order, norm, activation and kind of positions, each with two of the other choices."""
    rng = random.Random(1)
    for _ in range(2):
        for norm_order in ("post", "pre"):
            for norm in ("layer", "rms"):
                for activation in ("relu", "gelu", "swiglu"):
                    for positions in ("sinusoidal", "learned", "rotary", "alibi"):
                        n_heads = rng.choice([1, 2, 3, 4])
                        d_head = {1: 22, 2: 14, 3: 10, 4: 6}[n_heads] + (positions == "learned")
                        yield ModelConfig(
                            d_model=n_heads * d_head,
                            n_heads=n_heads,
                            n_kv_heads=rng.choice([n for n in range(1, n_heads + 1) if n_heads % n == 0]),
                            d_ff=rng.choice([7, 13]),
                            n_encoder_layers=rng.choice([1, 2, 3]),
                            n_decoder_layers=rng.choice([1, 2]),
                            norm_order=cast(Any, norm_order),
                            norm=cast(Any, norm),
                            activation=cast(Any, activation),
                            positions=cast(Any, positions),
                            tied_embeddings=cast(Any, rng.choice(["all", "target", "none"])),
                            max_len=37,
                        )


def describe(config: ModelConfig) -> str:
    names = ("norm_order", "norm", "activation", "positions", "tied_embeddings", "d_model", "n_heads", "kv_heads")
    return " ".join(str(getattr(config, name)) for name in names)


@torch.no_grad()
def random_model(config: ModelConfig, *, seed: int = 1, eos: float = 1.5) -> Transformer:
    """Draw a model whose end token has `eos` more of a logit than others; pad and bos are as likely as any."""
    torch.manual_seed(seed)
    n_src = N_TGT if config.tied_embeddings == "all" else N_SRC
    model = Transformer(config, src_vocab_size=n_src, tgt_vocab_size=N_TGT).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # norms are born as ones and biases as zeros: a lost one would not be noticed
            parameter.add_(0.3 * torch.randn_like(parameter))
    # A part that all states share: it is what makes one token likely and another unlikely everywhere.
    shared = list(model.decoder)[-1].feed_forward.outer.bias
    shared.add_(1.5 * torch.randn_like(shared).sign())
    src, tgt = torch.randint(N_SPECIAL, n_src, (32, 7)), torch.randint(N_SPECIAL, N_TGT, (32, 11))
    tgt[:, 0] = BOS_ID
    # In float64: in float32 the last digits depend on where in memory the numbers lie, and least squares enlarge that.
    states = copy.deepcopy(model).double()(src, tgt).flatten(0, 1)
    ones = torch.ones(len(states), 1, dtype=torch.float64)
    # What a state's product with is about 1, by least squares; what float32 cannot tell from zero counts as zero.
    rcond = len(states) * torch.finfo(torch.float32).eps
    direction = torch.linalg.lstsq(states, ones, rcond=rcond).solution[:, 0]
    model.output_weight[EOS_ID] += (eos * direction).float()
    return model


def vocabularies(model: Transformer) -> tuple[Subword, Subword]:
    return fake_subword(model.src_embedding.num_embeddings), fake_subword(model.tgt_embedding.num_embeddings)


def exported(
    folder: Path,
    model: Transformer,
    *,
    dtype: str = "float32",
    alignment: AlignmentHead | None = None,
    **options: Any,
) -> CT2Engine:
    """Export a model, without any comparison, and open it."""
    source, target = vocabularies(model)
    folder.mkdir()
    write_model(folder, model, source=source, target=target, dtype=dtype, alignment=alignment)
    max_len = model.config.max_len
    info = ExportInfo(dtype=dtype, max_len=max_len, yiwen_version="0", ctranslate2_version="0", weights="")
    write_info(folder, info)
    return CT2Engine(folder, source=source, target=target, threads=1, is_new=True, **options)


def sources_for(model: Transformer, lengths: Sequence[int] = (5, 1, 11, 3), *, seed: int = 1) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(N_SPECIAL, model.src_embedding.num_embeddings) for _ in range(n)] for n in lengths]
