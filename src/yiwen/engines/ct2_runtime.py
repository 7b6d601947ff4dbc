"""CTranslate2 itself: opening a model, and handing it batches so that no replica of it waits. Imports no torch."""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ctranslate2

from yiwen.engines.ct2_rules import Seen, exponent
from yiwen.engines.engine import Ids, Sentences, longest_first
from yiwen.engines.exported import COMPUTE_TYPES, vocabulary
from yiwen.errors import CheckpointError, ConfigError
from yiwen.hardware import usable
from yiwen.once import in_thread
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag, poll
from yiwen.text.subword import EOS_ID, Subword

if TYPE_CHECKING:
    import numpy as np

BATCH_TOKENS: Final = 512
"""Source positions times hypotheses that travel together on a CPU, in whose cache they stay; elsewhere four times."""
LARGE: Final = 32 << 20
"""Bytes of weights that stay in no cache: twice as many positions share what it takes to read them at every step."""
_AHEAD: Final = 4
"""Batches handed over ahead of time for each replica: enough to keep it busy, few enough to stop soon."""


class Runtime:
    """A loaded model: calls go in as ids, what it found comes out as ids."""

    def __init__(self, model: Any, *, source: Subword, target: Subword, uses_shortlist: bool) -> None:
        self.uses_shortlist = uses_shortlist
        self.target_tokens = vocabulary(target)
        self.target_ids = {token: i for i, token in enumerate(self.target_tokens)}
        self.batch_tokens = BATCH_TOKENS if model.device == "cpu" else 4 * BATCH_TOKENS
        self._translator = model
        self._source_tokens = vocabulary(source)

    def submit(self, sources: Sentences, config: SearchConfig, *, prefix: Ids = (), **options: Any) -> list[Any]:
        """Hand over a batch; options are those of CTranslate2, ours where not given."""
        settings: dict[str, Any] = {
            "beam_size": config.beam_size,
            "num_hypotheses": config.beam_size,
            "length_penalty": exponent(config),
            "min_decoding_length": 0,
            # CTranslate2 4.8 finds a prefix in the shortlist of an earlier call: another token, or an IndexError.
            "use_vmap": self.uses_shortlist and not len(prefix),
            "return_scores": True,
            "return_end_token": True,
            "max_input_length": 0,
            "asynchronous": True,
            **options,
        }
        starts = [[self.target_tokens[id_] for id_ in prefix]] if len(prefix) else None
        tokens = [[self._source_tokens[id_] for id_ in ids] for ids in sources]
        return list(self._translator.translate_batch(tokens, starts, **settings))

    def seen(self, call: list[Any], config: SearchConfig) -> list[list[Seen]]:
        """What CTranslate2 found for each sentence, its scores turned back into sums; NaN where none were asked for."""
        alpha = exponent(config)

        def read(tokens: list[str], score: float) -> Seen:
            is_finished = bool(tokens) and tokens[-1] == self.target_tokens[EOS_ID]
            ids = tuple(self.target_ids[token] for token in (tokens[:-1] if is_finished else tokens))
            return Seen(ids, score * max(len(tokens), 1) ** alpha, is_finished)

        results = (waiting.result() for waiting in call)
        return [[*map(read, each.hypotheses, each.scores or [math.nan] * len(each.hypotheses))] for each in results]

    def score(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[list[float]]:
        """Log-probability of each token of the given translations, eos last; one list a sentence."""
        # Few at a time: each token has scores for a whole vocabulary, and large memory costs half as much again to get.
        found = self._forced(self._translator.score_batch, self.batch_tokens // 8, sources, targets, "scoring", stop)
        return [list(result.log_probs) for _, result in sorted(found, key=lambda each: each[0])]

    def attend(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[np.ndarray]:
        """Cross-attention of the alignment head for given translations, (T + 1, S + 1) a sentence, eos last.

        Greedy search with the whole target as its prefix: one step a token, because scoring shows no attention. With
        a beam CTranslate2 4.8 gives the first row of another sentence. What it shows has no column for eos, which is
        what the others leave of 1.
        """
        import numpy as np  # translating needs none

        def search(sources: list[Any], targets: list[Any], **options: Any) -> list[Any]:
            options |= {"beam_size": 1, "return_attention": True, "return_end_token": True, "min_decoding_length": 0}
            longest = max(map(len, targets)) + 1
            return list(self._translator.translate_batch(sources, targets, max_decoding_length=longest, **options))

        found: list[np.ndarray] = [np.empty(0)] * len(sources)
        for i, result in self._forced(search, self.batch_tokens, sources, targets, "alignment", stop):
            rows = np.asarray(result.attention[0][: len(targets[i]) + 1], dtype=np.float32)
            found[i] = np.append(rows, np.maximum(1 - rows.sum(axis=1, keepdims=True), 0), axis=1)
        return found

    def _forced(
        self, call: Any, size: int, sources: Sentences, targets: Sentences, doing: str, stop: StopFlag | None
    ) -> Iterator[tuple[int, Any]]:
        """Places, and what a call of CTranslate2's finds for the sources there with given translations.

        `size` is that of a batch, in tokens.
        """
        longest = [max(len(src), len(tgt)) for src, tgt in zip(sources, targets, strict=True)]

        def submit(batch: list[int]) -> list[Any]:
            read = [[self._source_tokens[id_] for id_ in sources[i]] for i in batch]
            written = [[self.target_tokens[id_] for id_ in targets[i]] for i in batch]
            return list(call(read, written, max_input_length=0, asynchronous=True))

        for batch, calls in self.in_flight(longest_first(longest, size), submit, stop, doing):
            yield from zip(batch, (waiting.result() for waiting in calls), strict=True)

    def in_flight(
        self, batches: Iterator[list[int]], submit: Callable[[list[int]], list[Any]], stop: StopFlag | None, doing: str
    ) -> Iterator[tuple[list[int], list[Any]]]:
        """Submit batches, a few for each replica ahead of time, and yield each with its calls in the same order."""
        waiting: deque[tuple[list[int], list[Any]]] = deque()
        for batch in batches:
            poll(stop, doing)
            waiting.append((batch, submit(batch)))
            if len(waiting) >= _AHEAD * self._translator.num_translators:
                yield waiting.popleft()
        while waiting:
            poll(stop, doing)
            yield waiting.popleft()


class _OfItsProcess:
    """A model of CTranslate2. In a forked child, where its threads are not, a call would wait for them for ever."""

    # Kept here: when a program ends, the names of a module may be gone before a model is.
    _process, _keep, _object = staticmethod(os.getpid), ctypes.pythonapi.Py_IncRef, ctypes.py_object

    def __init__(self, model: Any) -> None:
        self._model, self._pid = model, os.getpid()

    def __getattr__(self, name: str) -> Any:
        if os.getpid() != self._pid:
            why = "the model was loaded before this process was forked, and its threads did not come along"
            raise ConfigError(f"{why}; load it in each process, or use the start method 'spawn'")
        return getattr(self._model, name)

    def __del__(self) -> None:
        if self._process() != self._pid:  # to free it waits for them, too
            self._keep(self._object(self._model))


def open_model(runs: Callable[..., Any], folder: Path, dtype: str, *, device: str, threads: int, replicas: int) -> Any:
    """Load a model.

    Args:
        runs: What of CTranslate2 runs it: `Translator` or `Encoder`.
        folder: The exported model.
        dtype: A key of `COMPUTE_TYPES`: computed in that or not at all, never in what happens to be possible.
        device: `cpu`, `cuda` or `cuda:1` ...
        threads: Processor threads in all.
        replicas: Batches computed at once, which share the threads.

    Raises:
        CheckpointError: If it cannot be loaded.
        ConfigError: If the device is unknown or cannot compute with this number type.
    """
    if not re.fullmatch(r"cpu:?|cuda(:\d*)?", str(device)):
        raise ConfigError(f"device={device!r} is unknown to CTranslate2; use 'cpu', 'cuda' or 'cuda:1' ...")
    kind, _, index = str(device).partition(":")
    number = int(index or 0)
    n_devices = ctranslate2.get_cuda_device_count() if kind == "cuda" else 1
    if number >= n_devices:
        raise ConfigError(f"device={device!r}, but CTranslate2 sees {n_devices or 'no'} CUDA devices; use 'cpu'")
    compute_type = COMPUTE_TYPES[dtype]
    possible = ctranslate2.get_supported_compute_types(kind, number)
    if compute_type not in possible:
        names = [name for name, value in COMPUTE_TYPES.items() if value in possible]
        remedy = f"export again with --dtype {' or '.join(names)}"
        raise ConfigError(f"{folder} is exported as {dtype}, which CTranslate2 cannot compute on this {kind}; {remedy}")
    options = {"device": kind, "device_index": number, "compute_type": compute_type, "max_queued_batches": -1}
    options |= {"inter_threads": replicas, "intra_threads": usable(max(1, threads // replicas))}
    try:
        # The thread that loads a model has as many threads as a replica from then on, for torch as well.
        # A name that is not UTF-8 has no text that CTranslate2 would take.
        model = in_thread(partial(runs, os.fsencode(folder), **options)).result()
    except (RuntimeError, ValueError) as error:
        raise CheckpointError(f"CTranslate2 cannot load {folder} ({error}); free memory, or export again") from error
    return _OfItsProcess(model)
