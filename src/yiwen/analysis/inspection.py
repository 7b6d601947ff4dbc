"""One sentence and everything that can be seen of how a model translates it. Needs the weights, hence torch.

Shapes: S source length and T target length, both with eos, L layers, H heads.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import numpy as np
import torch

from yiwen.analysis.alignment import Alignment, Cut, align_words, cut, uncut
from yiwen.analysis.beam_tree import BeamTree, Node, verdict
from yiwen.analysis.saliency import attentions, erasure, gradient_times_input, head_importance
from yiwen.bundle import Bundle, check_room, load_model
from yiwen.data.batching import collate
from yiwen.engines.engine import Ids
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import ConfigError
from yiwen.model.attention import recorded_attention
from yiwen.model.config import AlignmentHead
from yiwen.model.transformer import Transformer
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.tasks.translate import log_probs_of
from yiwen.text.normalise import normalise
from yiwen.text.subword import BOS_ID, EOS_ID

MAX_SALIENCY: Final = 128
"""Longest side, in subwords, whose saliency is computed: it takes a pass through the model for every subword."""
N_ALTERNATIVES: Final = 5


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A result of the search."""

    text: str
    score: float
    log_prob: float
    is_finished: bool


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Everything that can be seen. Attention of row t is that of the step that writes target subword t."""

    languages: tuple[str, str]
    source: str
    target: str
    is_given: bool
    """True where the translation was not looked for but given."""
    src_tokens: list[str]
    """S."""
    tgt_tokens: list[str]
    """T: what each step writes; `<cut>` last where the length limit came before the end."""
    tgt_inputs: list[str]
    """T: what each step reads last."""
    attention: dict[str, np.ndarray]
    """`encoder` (L, H, S, S), `decoder` (L, H, T, T) and `cross` (L, H, T, S), float32."""
    importance: dict[str, np.ndarray]
    """By the same names (L, H)."""
    place: AlignmentHead
    """Whose attention the alignment comes from."""
    alignment: Alignment
    cuts: tuple[Cut, Cut]
    """How the words of both sides are made of subwords."""
    log_probs: list[float]
    """Of each target subword."""
    alternatives: list[list[tuple[str, float]]]
    """The likeliest subwords of each step with their probabilities."""
    gradient: np.ndarray | None
    """(T, S), see `saliency.gradient_times_input`; None where a side is longer than MAX_SALIENCY."""
    erasure: np.ndarray | None
    """(T, S), see `saliency.erasure`."""
    candidates: list[Candidate]
    """Results of the search, best first; none where the translation was given."""
    tree: list[Node]
    node_tokens: list[str]
    """The subword of each node."""
    winner: list[int]
    """Its nodes."""
    verdict: str

    @property
    def aligning(self) -> np.ndarray:
        """Attention of the alignment head, (T, S)."""
        return _attention_at(self.place, self.attention["cross"])

    @property
    def entropy(self) -> dict[str, np.ndarray]:
        """Mean entropy of each head's attention in bits, by the same names (L, H): 0 is one subword only."""
        of_each = {name: -weights * np.log2(np.maximum(weights, 1e-30)) for name, weights in self.attention.items()}
        return {name: terms.sum(axis=-1).mean(axis=-1) for name, terms in of_each.items()}

    def to_json(self, *, with_maps: bool = True) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`; weights have four digits, and may be left out."""
        left_out = {"cuts"} if with_maps else {"cuts", "attention", "gradient", "erasure"}
        table = {name: _plain(value) for name, value in vars(self).items() if name not in left_out}
        return {**table, "entropy": _plain(self.entropy)}


def inspect_sentence(
    bundle: Bundle, text: str, *, target: str | None = None, search: SearchConfig | None = None
) -> Inspection:
    """Translate one text and look at everything on the way.

    Args:
        bundle: With weights.
        text: Raw text; it is one segment, whatever its length, and addresses in it stay.
        target: A translation to look at instead of the model's own.
        search: Search rules but `mbr` and `sampling`; those of the bundle where not given.

    Raises:
        CheckpointError: If the bundle has no weights.
        ConfigError: If the text or the translation is blank.
        DataError: If one is longer than the model has positions for.
    """
    info = bundle.info
    config = _search_rules(bundle, text, search or info.search)
    src = cut(text, bundle.source, info.src_lang)
    if not src.ids or (target is not None and not normalise(target)):
        raise ConfigError(f"there is nothing to look at in {text if not src.ids else target!r}; give a sentence")
    check_room(bundle.room, source=[src.ids])
    model = load_model(bundle)
    tree = BeamTree(config)
    hypotheses: list[Hypothesis] = []
    if target is None:
        (hypotheses,) = TorchEngine(deepcopy(model)).search([src.ids], config=config, watch=tree.watch)
        target_text, tgt = uncut(hypotheses[0].ids, bundle.target)
    else:
        target_text, tgt = target, cut(target, bundle.target, info.tgt_lang)
        check_room(bundle.room, target=[tgt.ids])
    place = info.alignment or AlignmentHead.usual(info.model)
    is_short = max(len(src.ids), len(tgt.ids)) < MAX_SALIENCY
    forced = _forced_pass(model, bundle, src.ids, tgt.ids)
    forced["tgt_tokens"][-1] = "</s>" if all(h.is_finished for h in hypotheses[:1]) else "<cut>"
    found = bundle.target.decode([h.ids for h in hypotheses])
    return Inspection(
        languages=(info.src_lang, info.tgt_lang),
        source=text,
        target=target_text,
        is_given=target is not None,
        place=place,
        alignment=align_words(_attention_at(place, forced["attention"]["cross"]), src, tgt, is_late=place.is_late),
        cuts=(src, tgt),
        gradient=gradient_times_input(model, src.ids, tgt.ids) if is_short else None,
        erasure=erasure(model, src.ids, tgt.ids) if is_short else None,
        importance=head_importance(model, src.ids, tgt.ids),
        candidates=[
            Candidate(text=words, score=h.score, log_prob=h.log_prob, is_finished=h.is_finished)
            for words, h in zip(found, hypotheses, strict=True)
        ],
        tree=tree.nodes,
        node_tokens=bundle.target.pieces([node.token for node in tree.nodes]),
        winner=tree.path(tgt.ids),
        verdict=verdict(hypotheses, config, lambda ids: bundle.target.decode([ids])[0]) if hypotheses else "",
        **forced,
    )


def _search_rules(bundle: Bundle, text: str, search: SearchConfig) -> SearchConfig:
    """Rules by which a search finds what a translator finds, and hands out all its hypotheses."""
    is_word = search.beam_size > 1 and bundle.reader.read(text, must=True).is_word  # as `asking.ask` searches for them
    return search.changed(n_best=search.beam_size, mbr=0, sampling=False, penalty="none" if is_word else None)


def _attention_at(place: AlignmentHead, cross: np.ndarray) -> np.ndarray:
    """One head of the cross-attention, or the mean of a layer's: (L, H, T, S) -> (T, S)."""
    heads_HTS = cross[place.layer]
    return cast("np.ndarray", heads_HTS.mean(axis=0) if place.head is None else heads_HTS[place.head])


@torch.inference_mode()
def _forced_pass(model: Transformer, bundle: Bundle, src_ids: Ids, tgt_ids: Ids) -> dict[str, Any]:
    """The fields of an `Inspection` that one pass shows, each step of which is forced to write the translation."""
    batch = collate([src_ids], [tgt_ids])
    names = {module: name for name, module in model.named_modules()}
    with recorded_attention(model) as maps:
        states_TD = model(batch.src_ids, batch.tgt_in)[0]
    log_probs_TV = log_probs_of(model.logits(states_TD))
    top = log_probs_TV.exp().topk(N_ALTERNATIVES, dim=1)
    pieces = [bundle.target.pieces(row) for row in top.indices.tolist()]
    return {
        "src_tokens": bundle.source.pieces([*src_ids, EOS_ID]),
        "tgt_tokens": bundle.target.pieces([*tgt_ids, EOS_ID]),
        "tgt_inputs": bundle.target.pieces([BOS_ID, *tgt_ids]),
        "attention": {
            kind: np.stack([maps[names[module]][0].numpy() for module in modules])
            for kind, modules in attentions(model).items()
        },
        "log_probs": log_probs_TV.gather(1, batch.tgt_out[0][:, None])[:, 0].tolist(),
        "alternatives": [list(zip(row, p, strict=True)) for row, p in zip(pieces, top.values.tolist(), strict=True)],
    }


def _plain(value: Any) -> Any:
    """Arrays and floats with four digits behind the point; a sum of log-probabilities keeps them too."""
    match value:
        case np.ndarray():
            return np.round(value.astype(np.float64), 4).tolist()
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case float():
            return round(value, 4)
        case None | str() | int():
            return value
        case _:  # one of our dataclasses
            return _plain(asdict(value))
