"""The exported engine: CTranslate2 with our search rules. Imports no torch.

Nearly every sentence is searched once, in a batch; where a limit or a rule of ours shows (`ct2_rules`), it is
searched again in such a way that everything our search would see is seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ctranslate2 import Translator

from yiwen.bundle import check_room
from yiwen.engines.ct2_again import beam_again, greedy_again
from yiwen.engines.ct2_rules import settled_beam, settled_greedy
from yiwen.engines.ct2_runtime import LARGE, Runtime, open_model
from yiwen.engines.engine import Sentences, longest_first
from yiwen.engines.exported import Golden, check_vocabulary, read_info
from yiwen.errors import CheckpointError, ConfigError
from yiwen.files import verify_manifest
from yiwen.hardware import default_threads
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.search.penalties import scored
from yiwen.stop import StopFlag, poll
from yiwen.text.subword import Subword

if TYPE_CHECKING:
    import numpy as np

GREEDY: Final = SearchConfig(beam_size=1)
_SPARE: Final = 2
"""Steps past the longest limit of a batch: no hypothesis within its limit meets the end of the call."""


class CT2Engine:
    """Translates and scores sequences of subword ids with an exported model.

    Hypotheses are those of the torch engine in float32, log-probabilities included; a quantised model finds its own.
    """

    def __init__(
        self, folder: Path, *, source: Subword, target: Subword, device: str = "cpu", threads: int, is_new: bool = False
    ) -> None:
        """Open an exported model and check that it is whole and computes here what it computed when it was made.

        Only likely target subwords are considered where the folder has a `vmap.txt` to say which and there is no
        prefix. Scores are then relative to these, but to all where a limit or the shortest length changes what greedy
        search finds, or a beam holds what could only end too early.

        Args:
            folder: The `ctranslate2` folder of a bundle.
            source: Source subwords of the bundle.
            target: Target subwords.
            device: `cpu`, `cuda` or `cuda:1` ...
            threads: Processor threads in all; 0 for all usable ones (OMP_NUM_THREADS is respected).
            is_new: Just written and not signed yet: only the export, which verifies it, says so.

        Raises:
            CheckpointError: If the folder is damaged, belongs to other subwords, cannot be read, or gives another
                translation of its golden sentence than it must.
            ConfigError: If this machine cannot compute with its number type or has no such device.
        """
        listed = ("vmap.txt",) if is_new else verify_manifest(folder)
        self.info = read_info(folder)
        self._room = self.info.max_len - 1
        check_vocabulary(folder, source=source, target=target)
        uses_shortlist = "vmap.txt" in listed and (folder / "vmap.txt").is_file()
        threads = threads or default_threads()
        self.replicas = threads if device == "cpu" else 1
        """Batches computed at once, which share the threads; a service keeps as many under way."""
        dtype = self.info.dtype
        translator = open_model(Translator, folder, dtype, device=device, threads=threads, replicas=self.replicas)
        self._runtime = Runtime(translator, source=source, target=target, uses_shortlist=uses_shortlist)
        if device == "cpu" and (folder / "model.bin").stat().st_size > LARGE:
            self._runtime.batch_tokens *= 2
        self.description = f"CTranslate2 {dtype} on {device}{' with shortlist' if uses_shortlist else ''}"
        if self.info.golden is not None:
            self._check_golden(self.info.golden, folder)

    def search(
        self,
        sources: Sentences,
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate.

        Args:
            sources: Subword ids without eos; none may be empty.
            config: Search rules.
            prefixes: Subword ids that each translation starts with. These are searched one by one.
            with_scores: False may leave scores undefined, for greedy search, which is 8 % faster without.
            stop: Polled between batches.

        Returns:
            For each source its hypotheses, best first.

        Raises:
            ConfigError: If the rules ask for sampling.
            DataError: If a source or a prefix is longer than the model has positions for.
        """
        if config.sampling:
            remedy = "CTranslate2 draws from generators that no seed of a call reaches; use engine='torch' to sample"
            raise ConfigError(f"search.sampling=true is not for an exported model: {remedy}")
        forced: Sentences = prefixes or [()] * len(sources)
        check_room(self._room, source=sources, prefix=forced)  # CTranslate2 would fail for a batch, or cut in silence
        limits = config.limits(sources, forced, room=self._room)
        free = {i: limits[i] for i, prefix in enumerate(forced) if not len(prefix)}
        found = dict(self.search_once(sources, limits=free, config=config, scores=with_scores, stop=stop))
        cut = [i for i, group in found.items() if with_scores and not group[0].is_finished]  # by greedy search alone
        rows = self._runtime.score([sources[i] for i in cut], [found[i][0].ids for i in cut], stop=stop)
        for i, row in zip(cut, rows, strict=True):
            found[i] = [scored(found[i][0].ids, math.fsum(row[:-1]), config, is_finished=False)]
        again = greedy_again if config.beam_size == 1 else beam_again
        for i in set(range(len(sources))) - found.keys():
            poll(stop, "translation")
            found[i] = again(self._runtime, sources[i], forced[i], limits[i], config)
        return [found[i] for i in range(len(sources))]

    def search_once(
        self, sources: Sentences, *, limits: dict[int, int], config: SearchConfig, scores: bool, stop: StopFlag | None
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Search the sentences at the places that have limits; gives those that this settles and what was found."""
        settled = settled_beam if config.beam_size > 1 else settled_greedy
        scores = scores or config.beam_size > 1
        # What may not end yet: before the softmax instead of after it, the likeliest of the rest stay the same.
        least = 0 if scores else config.min_len

        def submit(batch: list[int]) -> list[Any]:
            longest = max(limits[i] for i in batch) + _SPARE
            lengths: dict[str, Any] = {"max_decoding_length": longest, "min_decoding_length": min(least, longest)}
            return self._runtime.submit([sources[i] for i in batch], config, return_scores=scores, **lengths)

        batches = longest_first(list(map(len, sources)), self._runtime.batch_tokens // config.beam_size, only=limits)
        for batch, calls in self._runtime.in_flight(batches, submit, stop, "translation"):
            for i, seen in zip(batch, self._runtime.seen(calls, config), strict=True):
                if (found := settled(seen, limit=limits[i], config=config)) is not None:
                    yield i, found

    def score(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[list[float]]:
        """Log-probability of each token of the given translations, eos last; one list a sentence.

        Raises:
            DataError: If a source or a target is longer than the model has positions for.
        """
        check_room(self._room, source=sources, target=targets)
        return self._runtime.score(sources, targets, stop=stop)

    def attend(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[np.ndarray]:
        """Cross-attention of the alignment head for given translations: (T + 1, S + 1) a sentence, eos last.

        Raises:
            DataError: If a source or a target is longer than the model has positions for.
        """
        check_room(self._room, source=sources, target=targets)
        return self._runtime.attend(sources, targets, stop=stop)

    def _check_golden(self, golden: Golden, folder: Path) -> None:
        """Translate the golden sentence and compare."""
        try:
            found = self.greedy([golden.source])[0]
            (row,) = self.score([golden.source], [golden.output])
            differences = [abs(a - b) for a, b in zip(row, golden.log_probs, strict=True)]
        except (IndexError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder} has no golden sentence ({error}); export the model again") from error
        # Kernels of another processor round in another way; quantised ones by more.
        allowed = 1e-3 if self.info.dtype == "float32" else 0.1
        worst = max(differences, key=lambda difference: (math.isnan(difference), difference))
        is_sure = min(golden.log_probs) > math.log(0.6)  # else another processor may rightly choose another token
        if (found != golden.output and is_sure) or not worst <= allowed:
            outputs = f"{list(found)} where it has to give {list(golden.output)}"
            remedy = f"log-probabilities differ by up to {worst:.2g}; export the model again here"
            raise CheckpointError(f"{folder} translates its golden sentence to {outputs}, {remedy}")

    def greedy(self, sources: Sentences) -> list[tuple[int, ...]]:
        """The greedy translation of each source, without the shortlist's help: what golden sentences are made of."""
        calls = self._runtime.submit(sources, GREEDY, max_decoding_length=self._room, use_vmap=False)
        return [group[0].ids for group in self._runtime.seen(calls, GREEDY)]
