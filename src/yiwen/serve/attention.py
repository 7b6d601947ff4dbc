"""Where the model looked: every head of every decoder layer, for one sentence and a translation of it."""

from __future__ import annotations

import threading
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from yiwen.bundle import WEIGHTS, Bundle, check_room, load_model
from yiwen.errors import DataError
from yiwen.serve.errors import ApiError
from yiwen.text.reading import ids_as_read
from yiwen.text.subword import BOS_ID, EOS_ID

MOST_WEIGHTS: Final = 500_000
"""In an answer: six layers of eight heads, and sentences of a hundred subwords."""

_model: Final = lru_cache(maxsize=2)(load_model)
_one_at_a_time = threading.Lock()  # what is recorded is the model's


def attention_of(bundle: Bundle, source_text: str, target_text: str) -> dict[str, Any]:
    """Cross-attention while a translation is forced.

    Raises:
        ApiError: 404 where the trained weights or torch are not there: an exported engine shows no single heads.
        DataError: If a text is longer than the model has positions for, or holds nothing.
    """
    if not (bundle.folder / WEIGHTS).is_file() or find_spec("torch") is None:
        raise ApiError(404, "no_attention", "an exported model shows no single heads; serve the trained one by torch")
    import torch

    from yiwen.model.attention import recorded_attention

    (src,) = ids_as_read([source_text], bundle.info.src_lang, bundle.source)
    (tgt,) = ids_as_read([target_text], bundle.info.tgt_lang, bundle.target)
    if not src or not tgt:
        raise DataError("a text without words has no attention; send one with words")
    check_room(bundle.room, source=[src], target=[tgt])
    shape = bundle.info.model
    n_weights = shape.n_decoder_layers * shape.n_heads * (len(src) + 1) * (len(tgt) + 1)
    if n_weights > MOST_WEIGHTS:
        raise DataError(f"{n_weights:,} attention weights are too many for one answer; send one sentence")
    with _one_at_a_time, torch.inference_mode():
        model = _model(bundle)
        with recorded_attention(model) as maps:
            model(torch.tensor([[*src, EOS_ID]]), torch.tensor([[BOS_ID, *tgt]]))
    layers = [weights for name, weights in maps.items() if name.endswith("cross_attention")]
    return {
        "source_tokens": [*bundle.source.pieces(src), "</s>"],
        "target_tokens": [*bundle.target.pieces(tgt), "</s>"],
        "layers": [{"heads": weights[0].double().round(decimals=4).tolist()} for weights in layers],
    }
