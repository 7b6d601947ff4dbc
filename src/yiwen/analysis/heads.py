"""Which head of the cross-attention tells best what a word was made from, found without any gold alignment.

Where a head looks at the words that are being translated, what it looks at says much about what is written. So each
head's links (target subword, source subword looked at most) are counted on one half of some text, and judged by how
much likelier they make the target subwords of the other half: pointwise mutual information, held out.

Shapes: B batch, T target length, S source length, H heads.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

from yiwen.data.batching import collate
from yiwen.engines.engine import Sentences, longest_first
from yiwen.model.attention import recorded_attention
from yiwen.model.config import AlignmentHead
from yiwen.model.transformer import Transformer
from yiwen.text.subword import EOS_ID

MAX_PAIRS: Final = 500
"""Pairs that are looked at: more do not change the choice."""
_SMOOTHING: Final = 2.0
BATCH_TOKENS: Final = 1024
"""Positions of a side that are looked at together: every head's weights are held, as many as the square of a length."""


@torch.inference_mode()
def choose_alignment_head(model: Transformer, sources: Sentences, targets: Sentences) -> AlignmentHead:
    """The layer, the head or the mean of its heads, and the step whose attention says most about each word.

    Args:
        model: Ready for inference.
        sources: Subword ids of some text, without eos.
        targets: Its translations.
    """
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(map(len, pair))][:MAX_PAIRS]
    links: dict[AlignmentHead, list[np.ndarray]] = {}
    pair_of: list[int] = []  # of each link
    for places in longest_first([max(map(len, pair)) for pair in pairs], BATCH_TOKENS):
        src, tgt = zip(*(pairs[i] for i in places), strict=True)
        batch = collate(src, tgt).to(model.output_weight.device)
        with recorded_attention(model) as maps:
            model(batch.src_ids, batch.tgt_in)
        written = batch.tgt_out > EOS_ID
        pair_of += np.repeat(places, written.sum(dim=1).tolist()).tolist()
        for layer in range(model.config.n_decoder_layers):
            weights_BHTS = maps[f"decoder.layers.{layer}.cross_attention"]
            for head in (None, *range(weights_BHTS.size(1))):
                weights_BTS = weights_BHTS.mean(dim=1) if head is None else weights_BHTS[:, head]
                looked_at_BT = batch.src_ids.gather(1, weights_BTS.argmax(dim=2))
                for is_late in (False, True):
                    seen = looked_at_BT.roll(-1, dims=1) if is_late else looked_at_BT
                    place = AlignmentHead(layer=layer, head=head, is_late=is_late)
                    found = torch.stack([seen[written], batch.tgt_out[written]], dim=1)
                    links.setdefault(place, []).append(found.cpu().numpy())
    order = np.argsort(pair_of, kind="stable")  # as the text stands: two halves of it are alike, long and short are not
    usual = AlignmentHead.usual(model.config)  # where there is no text
    return max(links, key=lambda place: information(np.concatenate(links[place])[order]), default=usual)


def information(links: np.ndarray) -> float:
    """How much likelier, in nats, source subwords make the target subwords linked to them: (N, 2) source, target."""
    half = len(links) // 2
    return _gain(links[:half], links[half:]) + _gain(links[half:], links[:half])


def _gain(seen: np.ndarray, new: np.ndarray) -> float:
    both = np.concatenate([seen, new])
    size = int(both.max(initial=0)) + 1
    src, tgt = (np.bincount(seen[:, side], minlength=size) for side in (0, 1))
    pairs = np.unique(both @ (size, 1), return_inverse=True)[1]  # one number for all links between two subwords
    met = np.bincount(pairs[: len(seen)], minlength=len(pairs))[pairs[len(seen) :]]
    alone = (tgt[new[:, 1]] + 1) / (len(seen) + size)
    together = (met + _SMOOTHING * alone) / (src[new[:, 0]] + _SMOOTHING)
    return float(np.log(together / alone).sum())
