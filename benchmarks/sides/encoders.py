"""What encoders are compared with: a bag of words by scikit-learn, and Hugging Face's Marian with the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sides.huggingface import marian_model
from yiwen.tasks.heads import EncoderModel

Array = np.ndarray[Any, Any]
HF_BATCH = 64


def labelled(path: Path) -> tuple[list[str], list[str]]:
    """(texts, labels) of a file of labels and texts with tabs between."""
    rows = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [text for _, text in rows], [label for label, _ in rows]


def bag_of_words(folder: Path, lang: str, *, n_train: int = 0) -> tuple[tuple[str, ...], Array]:
    """TF-IDF and logistic regression, its strength chosen on dev; returns labels, and their probabilities on test.

    Characters up to three in a row where words have no blanks between them, else words up to two; texts that stand in
    dev or test are left out of training, as `yiwen prepare` does.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    dev, test = labelled(folder / "dev.tsv"), labelled(folder / "test.tsv")
    held_out = {*dev[0], *test[0]}
    train = [pair for pair in zip(*labelled(folder / "train.tsv"), strict=True) if pair[0] not in held_out]
    texts, labels = zip(*(train[:n_train] if n_train else train), strict=True)
    grams: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 3)} if lang == "zh" else {"ngram_range": (1, 2)}
    models = [
        make_pipeline(
            TfidfVectorizer(**grams, sublinear_tf=True, min_df=2), LogisticRegression(C=strength, max_iter=2000)
        ).fit(texts, labels)
        for strength in (1, 4, 16)
    ]
    best = max(models, key=lambda model: model.score(*dev))
    return tuple(best.classes_.tolist()), best.predict_proba(test[0])


def marian_encoder(model: EncoderModel) -> Any:
    """Hugging Face's Marian encoder with the weights of ours: post-norm, sinusoidal positions, ReLU."""
    body: Any = model.body
    config = body.config
    assert (config.norm_order, config.positions, config.activation) == ("post", "sinusoidal", "relu")
    encoder = marian_model(config, body.src_embedding.num_embeddings).get_encoder().eval()
    with torch.no_grad():
        encoder.embed_tokens.weight.copy_(body.src_embedding.weight)
        encoder.embed_positions.weight.copy_(body.src_positions.table)  # the same angles, in another order
        for theirs, ours in zip(encoder.layers, body.encoder.layers, strict=True):
            attention = ours.self_attention
            for part, weight, bias in zip(
                (theirs.self_attn.q_proj, theirs.self_attn.k_proj, theirs.self_attn.v_proj),
                attention.qkv_proj.weight.chunk(3),
                attention.qkv_proj.bias.chunk(3),
                strict=True,
            ):
                part.weight.copy_(weight)
                part.bias.copy_(bias)
            pairs = [(theirs.self_attn.out_proj, attention.heads.out_proj), (theirs.fc1, ours.feed_forward.inner)]
            pairs += [(theirs.fc2, ours.feed_forward.outer), (theirs.self_attn_layer_norm, ours.self_residual.norm)]
            for there, here in [*pairs, (theirs.final_layer_norm, ours.feed_residual.norm)]:
                there.weight.copy_(here.weight)
                there.bias.copy_(here.bias)
                if isinstance(there, torch.nn.LayerNorm):
                    there.eps = here.eps
    return encoder


@torch.inference_mode()
def marian_features(encoder: Any, ids: Sequence[Sequence[int]], *, is_sorted: bool) -> Array:
    """Mean-pooled states as its users get them: batches of 64 padded to the longest, in the order given or sorted."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i])) if is_sorted else list(range(len(ids)))
    vectors = np.empty((len(ids), encoder.config.d_model), dtype=np.float32)
    for start in range(0, len(order), HF_BATCH):
        batch = order[start : start + HF_BATCH]
        rows = [torch.tensor([*ids[i], 3]) for i in batch]
        src_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        mask = src_ids != 0
        states = encoder(input_ids=src_ids, attention_mask=mask.long()).last_hidden_state
        pooled = (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        vectors[batch] = pooled.numpy()
    return vectors
