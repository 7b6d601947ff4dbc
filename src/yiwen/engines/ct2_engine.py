"""The exported engine: CTranslate2 with our search rules. Imports no torch.

Nearly every sentence is searched once, in a batch; where a limit or a rule of ours shows (`ct2_rules.is_settled`),
it is searched again in such a way that everything our search would see is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from yiwen.engines.ct2_rules import Seen, exponent, hypotheses, is_settled, replay
from yiwen.engines.ct2_runtime import batches_of, in_flight, open_translator
from yiwen.engines.engine import Ids
from yiwen.engines.exported import check_vocabulary, read_info, vocabulary
from yiwen.errors import CheckpointError, ConfigError, DataError
from yiwen.files import verify_manifest
from yiwen.hardware import default_threads
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID, Subword

GREEDY: Final = SearchConfig(beam_size=1)
_SPARE: Final = 2
"""Steps past the longest limit of a batch: no hypothesis within its limit meets the end of the call."""


class CT2Engine:
    """Translates and scores sequences of subword ids with an exported model.

    Hypotheses are those of the torch engine in float32, log-probabilities included; a quantised model finds its own.
    """

    def __init__(
        self,
        folder: Path,
        *,
        source: Subword,
        target: Subword,
        device: str = "cpu",
        threads: int = 0,
        replicas: int = 0,
        shortlist: bool = True,
        is_new: bool = False,
    ) -> None:
        """Open an exported model and check that it is whole and computes here what it computed when it was made.

        Args:
            folder: The `ctranslate2` folder of a bundle.
            source: Source subwords of the bundle.
            target: Target subwords.
            device: `cpu`, `cuda` or `cuda:1` ...
            threads: Processor threads in all; 0 for all usable ones (OMP_NUM_THREADS is respected).
            replicas: Batches translated at once, which share the threads; 0 for one a thread.
            shortlist: Consider only likely target subwords where the folder has a `vmap.txt` to say which. Scores
                are then relative to these.
            is_new: Just written and not signed yet: only the export, which verifies it, says so.

        Raises:
            CheckpointError: If the folder is damaged, belongs to other subwords, cannot be read, or gives another
                translation of its golden sentence than it must.
            ConfigError: If this machine cannot compute with its number type or has no such device.
        """
        if not is_new:
            verify_manifest(folder)
        self.info = read_info(folder)
        check_vocabulary(folder, source=source, target=target)
        self._source_tokens, self._target_tokens = vocabulary(source), vocabulary(target)
        self._target_ids = {token: i for i, token in enumerate(self._target_tokens)}
        self._forbidden = [[self._target_tokens[i]] for i in (PAD_ID, BOS_ID)]
        self._eos = self._target_tokens[EOS_ID]
        self._uses_shortlist = shortlist and (folder / "vmap.txt").is_file()
        threads = threads or default_threads()
        replicas = replicas or (threads if device == "cpu" else 1)
        self.replicas = min(replicas, threads) if device == "cpu" else replicas
        self._translator = open_translator(
            folder, self.info.dtype, device, self.replicas, max(1, threads // self.replicas)
        )
        self.description = f"CTranslate2 {self.info.dtype} on {device}{' with shortlist' * self._uses_shortlist}"
        if not is_new:
            self._check_golden(folder)

    def search(
        self,
        sources: Sequence[Ids],
        *,
        config: SearchConfig,
        prefixes: Sequence[Ids] | None = None,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate.

        Args:
            sources: Subword ids without eos; none may be empty.
            config: Search rules.
            prefixes: Subword ids that each translation starts with. With a beam these are searched one by one.
            stop: Polled between batches.

        Returns:
            For each source its hypotheses, best first.

        Raises:
            ConfigError: If the rules ask for sampling.
            DataError: If a source or a prefix is longer than the model has positions for.
        """
        if config.sampling:
            raise ConfigError(
                "search.sampling=true is not for an exported model: CTranslate2 draws from generators that no seed "
                "of a call reaches; use engine='torch' to sample"
            )
        forced: Sequence[Ids] = prefixes or [()] * len(sources)
        self._check_lengths("source", sources)
        self._check_lengths("prefix", forced)
        room = self.info.max_len - 1
        limits = [
            min(max(config.max_len(len(ids)), len(prefix)), room)  # a prefix is given whole, however short its source
            for ids, prefix in zip(sources, forced, strict=True)
        ]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        odd = [i for i, prefix in enumerate(forced) if len(prefix)]
        waiting = {i: -math.inf for i, prefix in enumerate(forced) if not len(prefix)}
        for min_len in (0, 1):
            unsettled = self._search_once(sources, limits, waiting, found, config, min_len=min_len, stop=stop)
            # Where the one rule in the way is that nothing may end at once, CTranslate2 may be told so.
            waiting = {i: end for i, end in unsettled.items() if min_len == 0 and config.min_len == 1 and end < 0.0}
            odd += [i for i in unsettled if i not in waiting]
        for i in odd:
            if stop is not None:
                stop.check("translation")
            again = self._greedy_again if config.beam_size == 1 else self._beam_again
            found[i] = again(sources[i], forced[i], limits[i], config)
        return found

    def _search_once(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        ends: dict[int, float],
        found: list[list[Hypothesis]],
        config: SearchConfig,
        *,
        min_len: int,
        stop: StopFlag | None,
    ) -> dict[int, float]:
        """Search in batches and fill `found` where the result is ours.

        Args:
            sources, limits, found: All sentences: their ids, longest translations and results, filled in here.
            ends: The sentences to search, by place, with the log-probability of ending at once.
            config: Search rules.
            min_len: 1 to forbid an end at once.
            stop: Polled between batches.

        Returns:
            The sentences that are not settled, by place, with the log-probability of ending at once; 0 where unknown.
        """
        unsettled: dict[int, float] = {}

        def submit(batch: list[int]) -> list[Any]:
            longest = max(limits[i] for i in batch)
            return self._submit(
                [sources[i] for i in batch], config, max_decoding_length=longest + _SPARE, min_decoding_length=min_len
            )

        batches = batches_of(ends, sources, config.beam_size)
        for batch, calls in in_flight(batches, submit, self.replicas, stop, "translation"):
            for i, group in zip(batch, self._seen(calls, config), strict=True):
                # What the soft-max gave to the others when the end was taken from it.
                raised = -math.log1p(-math.exp(ends[i])) if min_len else 0.0
                seen = [Seen(h.ids, h.log_prob - raised, h.is_finished) for h in group]
                if is_settled(seen, limit=limits[i], config=config, raised=raised):
                    found[i] = hypotheses(seen, config)[: config.n_best]
                else:
                    unsettled[i] = min((h.log_prob for h in seen if h.is_finished and not h.ids), default=0.0)
        return unsettled

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], *, stop: StopFlag | None = None
    ) -> list[list[float]]:
        """Log-probability of each token of the given translations, eos last; one list a sentence.

        Raises:
            DataError: If a source or a target is longer than the model has positions for.
        """
        self._check_lengths("source", sources)
        self._check_lengths("target", targets)
        rows: list[list[float]] = [[] for _ in sources]
        longer = [max(src, tgt, key=len) for src, tgt in zip(sources, targets, strict=True)]

        def submit(batch: list[int]) -> list[Any]:
            return list(
                self._translator.score_batch(
                    [self._tokens(sources[i]) for i in batch],
                    [[self._target_tokens[id_] for id_ in targets[i]] for i in batch],
                    max_input_length=0,
                    asynchronous=True,
                )
            )

        batches = batches_of(range(len(sources)), longer, 4)
        for batch, calls in in_flight(batches, submit, self.replicas, stop, "scoring"):
            for i, call in zip(batch, calls, strict=True):
                rows[i] = list(call.result().log_probs)
        return rows

    def _greedy_again(self, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
        """Greedy search where a prefix, a limit, the shortest length, pad or bos plays a part.

        What is forbidden before the soft-max instead of after it leaves the likeliest of the rest the same; the
        log-probabilities are those of a second pass.
        """
        call = self._submit(
            [source],
            config,
            prefix=prefix,
            max_decoding_length=limit + 1,
            min_decoding_length=min(config.min_len, limit + 1),
            suppress_sequences=self._forbidden,
        )
        (seen,) = self._seen(call, config)
        return self._scored_again(source, [Seen(seen[0].ids[:limit], 0.0, seen[0].is_finished)], config)

    def _beam_again(self, source: Ids, prefix: Ids, limit: int, config: SearchConfig) -> list[Hypothesis]:
        """Beam search by `replay`: CTranslate2 goes on to the limit and hands out all that it registered."""
        ends, going_on = self._everything(source, prefix, limit, config)
        if all(h.is_possible for h in (*ends, *going_on)):
            return replay(ends, going_on, limit=limit, config=config)
        ends, going_on = self._everything(source, prefix, limit, config, suppress_sequences=self._forbidden)
        found = replay(ends, going_on, limit=limit, config=config)
        return self._scored_again(source, [Seen(h.ids, h.log_prob, h.is_finished) for h in found], config)

    def _everything(
        self, source: Ids, prefix: Ids, limit: int, config: SearchConfig, **options: Any
    ) -> tuple[list[Seen], list[Seen]]:
        """All hypotheses that end within the limit, and those that go on at it."""
        p, width = len(prefix), config.beam_size
        sums = config.changed(length_penalty=0.0)
        shift_at_prefix = shift = 0.0
        ends: list[Seen] = []
        options = {"prefix": prefix, **options}

        def run(steps: int) -> list[Seen]:
            n_all = (steps + 1) * width
            call = self._submit(
                [source],
                sums,
                max_decoding_length=steps,
                min_decoding_length=min(steps, p + 1) if p else 0,
                patience=steps + 1,
                num_hypotheses=n_all,
                **options,
            )
            (seen,) = self._seen(call, sums)
            return [h for h in seen if h.log_prob > -1e9]

        if p:
            # A forced token costs CTranslate2 nothing, and an end right behind the prefix is lost unless it is the
            # likeliest: forbid it there, and look by its log-probability whether it was among the W best.
            (row,) = self.score([source], [prefix])
            shift_at_prefix = math.fsum(row[:-1])
            shift = shift_at_prefix + math.log1p(-math.exp(row[-1]))
            if sum(h.log_prob + shift > shift_at_prefix + row[-1] for h in run(p + 1)) < width:
                ends.append(Seen(tuple(prefix), shift_at_prefix + row[-1], True))
        ends += [Seen(h.ids, h.log_prob + shift, True) for h in run(limit + 1) if h.is_finished]
        shift = shift if limit > p else shift_at_prefix
        going_on = [Seen(h.ids, h.log_prob + shift, False) for h in run(limit) if not h.is_finished]
        return ends, going_on

    def _scored_again(self, source: Ids, seen: Sequence[Seen], config: SearchConfig) -> list[Hypothesis]:
        """The hypotheses with log-probabilities of a forced pass."""
        rows = self.score([source] * len(seen), [h.ids for h in seen])
        return hypotheses(
            (
                Seen(h.ids, math.fsum(row if h.is_finished else row[:-1]), h.is_finished)
                for h, row in zip(seen, rows, strict=True)
            ),
            config,
        )

    def _submit(self, sources: Sequence[Ids], config: SearchConfig, *, prefix: Ids = (), **options: Any) -> list[Any]:
        settings: dict[str, Any] = {
            "beam_size": config.beam_size,
            "num_hypotheses": config.beam_size,
            "length_penalty": exponent(config),
            "min_decoding_length": 0,
            "use_vmap": self._uses_shortlist,
            **options,
        }
        return list(
            self._translator.translate_batch(
                [self._tokens(ids) for ids in sources],
                [[self._target_tokens[id_] for id_ in prefix]] if len(prefix) else None,
                max_input_length=0,
                return_scores=True,
                return_end_token=True,
                asynchronous=True,
                **settings,
            )
        )

    def _seen(self, call: list[Any], config: SearchConfig) -> list[list[Seen]]:
        """What CTranslate2 found for each sentence, its scores turned back into sums."""
        alpha = exponent(config)
        groups = []
        for result in (waiting.result() for waiting in call):
            group = []
            for tokens, score in zip(result.hypotheses, result.scores, strict=True):
                is_finished = bool(tokens) and tokens[-1] == self._eos
                ids = tuple(self._target_ids[token] for token in (tokens[:-1] if is_finished else tokens))
                group.append(Seen(ids, score * max(len(tokens), 1) ** alpha, is_finished))
            groups.append(group)
        return groups

    def _tokens(self, ids: Ids) -> list[str]:
        return [self._source_tokens[id_] for id_ in ids]

    def _check_lengths(self, name: str, sequences: Sequence[Ids]) -> None:
        """CTranslate2 would fail for a whole batch, or cut in silence."""
        room = self.info.max_len - 1
        for number, ids in enumerate(sequences, 1):
            if len(ids) > room:
                raise DataError(
                    f"{name} {number} has {len(ids)} subwords, the exported model has positions for {room}; split it"
                )

    def _check_golden(self, folder: Path) -> None:
        """Translate the golden sentence and compare."""
        golden = self.info.golden
        if golden is None:
            return
        found = self.greedy([golden.source])[0]
        (row,) = self.score([golden.source], [golden.output])
        # Kernels of another processor round in another way; quantised ones by more.
        allowed = 1e-3 if self.info.dtype == "float32" else 0.1
        worst = max((abs(a - b) for a, b in zip(row, golden.log_probs, strict=True)), default=0.0)
        is_sure = min(golden.log_probs) > math.log(0.6)  # else another processor may rightly choose another token
        if (found != golden.output and is_sure) or not worst <= allowed:
            raise CheckpointError(
                f"{folder} translates its golden sentence to {list(found)} where it has to give "
                f"{list(golden.output)}, log-probabilities differ by up to {worst:.2g}; export the model again here"
            )

    def greedy(self, sources: Sequence[Ids]) -> list[tuple[int, ...]]:
        """The greedy translation of each source, without the shortlist's help: what golden sentences are made of."""
        calls = self._submit(sources, GREEDY, max_decoding_length=self.info.max_len - 1, use_vmap=False)
        return [group[0].ids for group in self._seen(calls, GREEDY)]
