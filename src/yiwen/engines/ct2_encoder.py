"""The exported encoder: CTranslate2 without torch. It computes only the last layer's states.

Shapes: B texts, S subwords, D d_model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import ctranslate2
import numpy as np

from yiwen.engines.ct2_runtime import open_model
from yiwen.engines.engine import Sentences
from yiwen.engines.exported import check_vocabulary, read_info
from yiwen.errors import ConfigError
from yiwen.files import verify_manifest
from yiwen.hardware import default_threads
from yiwen.text.subword import EOS_ID, PAD_ID, Subword

HEAD: Final = "head.npz"


class CT2Encoder:
    """See `EncoderEngine`."""

    def __init__(
        self, folder: Path, *, subword: Subword, n_layers: int, device: str = "cpu", threads: int, is_new: bool = False
    ) -> None:
        """Open the `ctranslate2` folder of a bundle.

        Raises:
            CheckpointError: If it is damaged, belongs to other subwords or cannot be read.
            ConfigError: If this machine cannot compute with its number type or has no such device.
        """
        if not is_new:  # signed when it is whole
            verify_manifest(folder)
        check_vocabulary(folder, source=subword, target=subword)
        dtype, threads = read_info(folder).dtype, threads or default_threads()
        self._encoder = open_model(ctranslate2.Encoder, folder, dtype, device=device, threads=threads, replicas=1)
        self._n_layers = n_layers
        self.description = f"CTranslate2 {dtype} on {device}"
        with np.load(folder / HEAD) as head:
            self.head: dict[str, np.ndarray] = dict(head)

    def states(self, texts: Sentences, *, layer: int) -> np.ndarray:
        """See `EncoderEngine`.

        Raises:
            ConfigError: If another layer than the last is asked for.
        """
        if layer != self._n_layers:
            remedy = "use engine='torch', where the bundle has its weights, or else the one that it was exported from"
            raise ConfigError(f"an exported engine computes layer {self._n_layers} alone, not {layer}; {remedy}")
        lengths = np.array([len(ids) + 1 for ids in texts], dtype=np.int32)
        longest = max(map(len, texts))
        src_ids = np.array([[*ids, EOS_ID, *[PAD_ID] * (longest - len(ids))] for ids in texts], dtype=np.int32)
        as_view = ctranslate2.StorageView.from_array
        states = self._encoder.forward_batch(as_view(src_ids), as_view(lengths)).last_hidden_state
        return np.array(states if states.device == "cpu" else states.to_device(ctranslate2.Device.cpu))
