"""The reference engine: the model itself and our own search, in batches sorted by length.

Shapes: B sentences, W hypotheses each, S source length, V vocabulary.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yiwen.data.batching import collate, pad
from yiwen.engines.engine import Ids, Sentences, longest_first
from yiwen.engines.packed import ready
from yiwen.hardware import release_memory
from yiwen.model.attention import fused_attention, plain_attention, recorded_attention, use_attention
from yiwen.model.cache import DecoderCache
from yiwen.model.config import AlignmentHead
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer
from yiwen.search.beam import Watch, beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.constraints import constrained_search
from yiwen.search.ensemble import MemberStates, mean_of, together
from yiwen.search.greedy import extend, greedy_search
from yiwen.search.hypothesis import Hypothesis, best_first
from yiwen.search.sampling import Pick, sampler
from yiwen.search.step import StepFn, Task
from yiwen.stop import StopFlag, poll
from yiwen.tasks.translate import forced_log_probs
from yiwen.text.subword import BOS_ID, EOS_ID, PAD_ID

BATCH_TOKENS = 8192
"""Source positions times hypotheses that are searched together."""

CACHED_BYTES = 32 << 20
"""Most that their keys and values take in a greedy search on a CPU, twice that with a beam. Every step reads them
all, and a wide model waits for memory where they are more than the processor keeps at hand."""

GIVEN_TOKENS = 2048
"""Positions of given translations that are looked at together: more are no longer at hand in the next layer."""


class TorchEngine:
    """Translates and scores sequences of subword ids.

    Results come back in the order of the input. In float32 they do not depend on what else is in the call, but for
    ties closer than the rounding of a sum, and for what is drawn at random: one generator serves a call.
    """

    def __init__(
        self,
        model: Transformer,
        *,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        alignment: AlignmentHead | None = None,
        others: Sequence[Transformer] = (),
    ) -> None:
        """Take over a model: it is moved, converted and set to inference; hand in a copy to keep yours as it is.

        Args:
            model: Trained weights.
            device: Where to compute.
            dtype: float32 or bfloat16. bfloat16 is faster where the hardware has it, and rounds.
            alignment: What `attend` reads; the usual place where not given.
            others: Models of the same vocabularies that decide together with it on each token.
        """
        self._recording = threading.Lock()  # the model remembers for one thread at a time
        self.alignment = alignment or AlignmentHead.usual(model.config)
        self.device = device
        self.description = f"torch {str(dtype).removeprefix('torch.')} on {device}"
        if others:
            self.description += f", {len(others) + 1} models together"
        self.model = model
        self.models = [ready(each, device=device, dtype=dtype) for each in (model, *others)]
        configs = [each.config for each in self.models]
        self._room = min(config.max_len for config in configs) - 1
        n_bytes = sum(2 * 4 * config.n_decoder_layers * config.kv_heads * config.d_head for config in configs)
        self._cached_tokens = CACHED_BYTES // n_bytes if device == "cpu" else BATCH_TOKENS
        for each in self.models:
            # For one query a hypothesis, and in bf16 for any number, the fused kernel of a CPU loses to plain products.
            use_attention(each, plain_attention if device == "cpu" else fused_attention)

    @torch.inference_mode()
    def search(
        self,
        sources: Sentences,
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        with_scores: bool = True,
        stop: StopFlag | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate.

        Args:
            sources: Subword ids without eos; none may be empty.
            config: Search rules.
            prefixes: Subword ids that each translation starts with.
            with_scores: Changes nothing: they cost no time here.
            stop: Polled between batches.
            watch: Is shown every step of a beam search; a beam of one counts as one then.

        Returns:
            For each source its hypotheses, best first.
        """
        found: dict[int, list[Hypothesis]] = {}
        pick = sampler(config, torch.Generator(self.device).manual_seed(config.seed))  # for the whole call
        width = config.n_best if config.sampling else config.beam_size
        most = min(BATCH_TOKENS, self._cached_tokens if width == 1 else 2 * self._cached_tokens)
        for batch in longest_first([len(ids) for ids in sources], most // width):
            poll(stop, "translation")
            chosen = [prefixes[i] if prefixes else () for i in batch]
            results = self._search_batch([sources[i] for i in batch], chosen, config, pick, watch)
            found |= zip(batch, results, strict=True)
        if len(sources) >= 2000:  # the kernels of new shapes leave gaps in what the C library keeps: some 300 MB
            release_memory()
        return [found[i] for i in range(len(sources))]

    @torch.inference_mode()
    def search_terms(
        self,
        sources: Sentences,
        terms: Sequence[Sequence[Ids]],
        *,
        config: SearchConfig,
        prefixes: Sentences | None = None,
        stop: StopFlag | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate, one by one, with all terms of a source in its translation; see `search`."""
        found = []
        for i, (ids, wanted) in enumerate(zip(sources, terms, strict=True)):
            poll(stop, "translation")
            task = self._task([ids], [prefixes[i] if prefixes else ()], config)
            found.append(constrained_search(*self._start([ids]), task, config, wanted, room=self._room, stop=stop))
        return found

    @torch.inference_mode()
    def score(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[list[float]]:
        """Log-probability of each token of the given translations, eos last; one list a sentence."""
        scores: list[list[float]] = [[] for _ in sources]
        longest = [max(len(src), len(tgt)) for src, tgt in zip(sources, targets, strict=True)]
        for batch in longest_first(longest, GIVEN_TOKENS // 2):  # whole logits are held here: fewer at a time
            poll(stop, "scoring")
            tensors = collate([sources[i] for i in batch], [targets[i] for i in batch]).to(self.device)
            rows = mean_of([forced_log_probs(model, tensors) for model in self.models]).tolist()
            for i, row in zip(batch, rows, strict=True):
                scores[i] = row[: len(targets[i]) + 1]
        return scores

    @torch.inference_mode()
    def attend(self, sources: Sentences, targets: Sentences, *, stop: StopFlag | None = None) -> list[np.ndarray]:
        """Cross-attention of the alignment head for given translations: (T + 1, S + 1) a sentence, eos last."""
        found: list[np.ndarray] = [np.empty(0)] * len(sources)
        name = f"decoder.layers.{self.alignment.layer}.cross_attention"
        heads = slice(None) if self.alignment.head is None else slice(self.alignment.head, self.alignment.head + 1)
        longest = [max(len(src), len(tgt)) for src, tgt in zip(sources, targets, strict=True)]
        for batch in longest_first(longest, GIVEN_TOKENS):
            poll(stop, "alignment")
            tensors = collate([sources[i] for i in batch], [targets[i] for i in batch]).to(self.device)
            with self._recording, recorded_attention(self.model, only=name) as maps:
                self.model(tensors.src_ids, tensors.tgt_in)
            weights_BTS = maps[name][:, heads].mean(dim=1).cpu().numpy()
            for i, weights_TS in zip(batch, weights_BTS, strict=True):
                found[i] = weights_TS[: len(targets[i]) + 1, : len(sources[i]) + 1].copy()
        return found

    def _search_batch(
        self, sources: Sentences, prefixes: Sentences, config: SearchConfig, pick: Pick, watch: Watch | None
    ) -> list[list[Hypothesis]]:
        copies = config.n_best if config.sampling else 1
        sources = [ids for ids in sources for _ in range(copies)]
        prefixes = [ids for ids in prefixes for _ in range(copies)]
        step, state = self._start(sources)
        task = self._task(sources, prefixes, config)
        if config.sampling:
            flat = extend(step, state, task, config, pick=pick)
            return [best_first(flat[i : i + copies]) for i in range(0, len(flat), copies)]
        if config.beam_size == 1 and watch is None:
            return greedy_search(step, state, task, config)
        return beam_search(step, state, task, config, watch=watch)

    def _task(self, sources: Sentences, prefixes: Sentences, config: SearchConfig) -> Task:
        lengths = config.limits(sources, prefixes, room=self._room)
        return Task(bos_id=BOS_ID, eos_id=EOS_ID, max_lens=lengths, prefixes=prefixes, device=self.device)

    def _start(self, sources: Sentences) -> tuple[StepFn[Any], Any]:
        """The step function and its state before the first step."""
        src_ids = torch.from_numpy(pad(sources, closing=EOS_ID)).to(self.device)
        mask = padding_mask(src_ids, PAD_ID)
        steps = [partial(self._step, model) for model in self.models]
        states = tuple(model.start(model.encode(src_ids), mask) for model in self.models)
        return (together(steps), MemberStates(states)) if len(states) > 1 else (steps[0], states[0])

    def _step(self, model: Transformer, last_ids: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        logits, cache = model.step(last_ids, cache)
        log_probs = logits.float()
        # Training never asks for these, and a generated pad would be masked as padding. Before the softmax, as an
        # exported model's bias does it: these take a place in no beam, and the others' scores are alike.
        log_probs[:, [PAD_ID, BOS_ID]] = -torch.inf
        torch.log_softmax(log_probs, dim=-1, out=log_probs)
        return log_probs, cache
