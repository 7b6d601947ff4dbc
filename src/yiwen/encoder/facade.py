"""The facade of the encoder: text in, arrays, labels or tags out.

Texts of like length travel together; results stand in the order of the input. A text longer than the model has seen
is encoded in pieces that are pooled as one: nothing is cut off, but for a word to tag that alone is longer than that.

Shapes: B pieces, S subwords, D d_model, K labels.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

import numpy as np

from yiwen.bundle import EXPORTED, WEIGHTS, Bundle, open_bundle
from yiwen.engines.engine import Sentences, longest_first
from yiwen.engines.select import ENGINES, check_means, obstacle_of, settled
from yiwen.errors import CheckpointError, ConfigError, expect, needing
from yiwen.stop import StopFlag, poll
from yiwen.tasks.config import COMMANDS, Pooling
from yiwen.text.chinese import rewritten
from yiwen.text.languages import base
from yiwen.text.normalise import as_texts, normalise
from yiwen.text.subword import encode_words

if TYPE_CHECKING:
    from yiwen.engines.encoders import Array, EncoderEngine

BATCH_TOKENS: Final = 2048
"""Positions that travel together: measured; larger batches leave the processor's cache."""


@dataclass(frozen=True)
class Prediction:
    """The label of a text. `str()` of it is the label."""

    label: str
    probability: float
    """Of this label, as the model sees it: see its calibration before relying on it."""
    probabilities: tuple[float, ...]
    """Of all labels, in the order of the bundle's."""
    flags: tuple[str, ...] = ()
    """`segmented`: longer than the model has seen, so encoded in pieces; `empty`: no text, so nothing to go by."""

    def __str__(self) -> str:
        return self.label


class Encoder:
    """Encodes raw text with a bundle of any task: a classifier, an mlm, or the left half of a translator.

    >>> encoder = Encoder.load("runs/classify-hotel-zh/best")  # doctest: +SKIP
    >>> encoder.features(["房间很干净。"]).shape  # doctest: +SKIP
    (1, 128)
    """

    def __init__(self, bundle: Bundle, engine: EncoderEngine) -> None:
        """Join a bundle and its engine; `load` does it for a folder."""
        self.bundle = bundle
        self.engine = engine
        self.labels: tuple[str, ...] = bundle.info.labels
        self.n_layers: int = bundle.info.model.n_encoder_layers
        self.limit: int = bundle.limit
        """Longest piece, in subwords without eos."""

    def __repr__(self) -> str:
        return f"Encoder({str(self.bundle.folder)!r}: {self.bundle.info.task}, {self.engine.description})"

    @classmethod
    def load(
        cls, folder: str | Path, *, engine: str = "auto", device: str = "auto", dtype: str = "auto", threads: int = 0
    ) -> Encoder:
        """Open and verify a bundle, and make its encoder ready.

        Args:
            folder: The bundle, or a run: then its best model.
            engine: `torch`, `ctranslate2` (the bundle must have been exported; the last layer alone), or `auto`: the
                exported engine where there is one, this processor can compute it and nothing below asks for another,
                else torch.
            device: `auto`, `cpu`, `cuda`.
            dtype: `auto`: as exported, or float32. `float32` (the reference) and `bf16` mean torch.
            threads: Processor threads; 0 for all.

        Raises:
            CheckpointError: If anything is wrong with the bundle.
            ConfigError: If engine, device, dtype or threads is not available.
            MissingDependencyError: If torch is needed and not installed.
        """
        check_means(dtype, threads)
        bundle = open_bundle(folder)
        info, exported = bundle.info, bundle.folder / EXPORTED
        has_export = exported.is_dir() and info.task != "translate"
        if engine not in ENGINES or (engine == "ctranslate2" and (not has_export or dtype != "auto")):
            remedy = "use 'auto' or 'torch', or 'ctranslate2' as it is where an encoder was exported"
            raise ConfigError(f"engine={engine!r} with dtype={dtype!r} is not to be had; {remedy}")
        is_free = engine == dtype == "auto" and has_export and device in ("auto", "cpu")
        if engine == "ctranslate2" or (is_free and not (obstacle_of(bundle) and (bundle.folder / WEIGHTS).is_file())):
            from yiwen.engines.ct2_encoder import CT2Encoder
            from yiwen.engines.exported import check_origin

            check_origin(bundle)
            where, n_layers = "cpu" if device == "auto" else device, info.model.n_encoder_layers
            found = CT2Encoder(exported, subword=bundle.source, n_layers=n_layers, device=where, threads=threads)
            return cls(bundle, found)
        if exported.is_dir() and not (bundle.folder / WEIGHTS).is_file():
            asked = f"engine={engine!r}, device={device!r}, dtype={dtype!r}"
            remedy = f"from which torch computes this ({asked}); use the bundle that it was exported from"
            raise CheckpointError(f"{bundle.folder} was exported without {WEIGHTS}, {remedy}")
        with needing("the torch engine needs torch", extra="train"):
            from yiwen.engines.encoders import TorchEncoder, load_encoder

        place, number_type = settled(device=device, dtype=dtype, threads=threads)
        return cls(bundle, TorchEncoder(load_encoder(bundle), device=place, dtype=number_type))

    def features(
        self,
        texts: Sequence[str],
        *,
        layer: int = -1,
        pooling: str | None = None,
        normalised: bool | None = None,
        flags: Counter[str] | None = None,
        stop: StopFlag | None = None,
    ) -> Array:
        """One vector a text, (N, D), float32.

        Args:
            texts: Raw text.
            layer: Whose states: 0 the embeddings, 1 the first layer, -1 the last.
            pooling: `mean` (over all subwords and the end mark), `max`, `first` or `attention` (where it was learnt);
                the bundle's where not given.
            normalised: Whether vectors get length 1, so that their products are cosines; where not given, only those of
                a bundle of the task embed do.
            flags: Where to count those that texts would have as a `Prediction`.
            stop: Polled between batches.

        Raises:
            ConfigError: If there is no such layer, or no such pooling here.
        """
        counts, pieces = _counts(flags), self._pieces(texts)
        vectors = self._pooled(pieces, layer=layer, pooling=pooling, stop=stop)
        counts.update(itertools.chain.from_iterable(map(_flags, pieces)))
        if normalised or (normalised is None and self.bundle.info.task == "embed"):
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def probabilities(self, texts: Sequence[str], *, stop: StopFlag | None = None) -> Array:
        """Probability of each label for each text, (N, K).

        Raises:
            CheckpointError: If the bundle is not a classifier.
        """
        return self._probabilities(self._pieces(texts), stop)

    def classify(self, texts: Sequence[str], *, stop: StopFlag | None = None) -> list[Prediction]:
        """The likeliest label of each text.

        Raises:
            CheckpointError: If the bundle is not a classifier.
        """
        pieces = self._pieces(texts)
        rows = self._probabilities(pieces, stop)
        return [
            Prediction(label=self.labels[best], probability=row[best], probabilities=tuple(row), flags=_flags(parts))
            for row, best, parts in zip(rows.tolist(), rows.argmax(axis=1).tolist(), pieces, strict=True)
        ]

    def tag(
        self, sentences: Sequence[Sequence[str]], *, flags: Counter[str] | None = None, stop: StopFlag | None = None
    ) -> list[list[str]]:
        """One tag a word.

        Args:
            sentences: The words of each.
            flags: Where to count sentences that are `segmented`, and those of which a word is `cut`.
            stop: Polled between batches.

        Raises:
            CheckpointError: If the bundle is not a tagger.
            ConfigError: If a sentence is not a list of words.
        """
        self.require("tag")
        expect(sentences, Iterable, "sentences", "a list that holds the words of each in a list")
        counts, read = _counts(flags), [self._read(as_texts(words, "each sentence to tag")) for words in sentences]
        words_of = encode_words(self.bundle.source, read)
        runs_of = [[*_fitting(words, self.limit)] for words in words_of]
        runs = [*itertools.chain.from_iterable(runs_of)]
        pieces = [[*itertools.chain.from_iterable(run)] for run in runs]
        found: list[list[str]] = [[] for _ in runs]
        for places, states_BSD in self._batches(pieces, layer=self.n_layers, stop=stop):
            for place, states_SD in zip(places, states_BSD, strict=True):
                first = np.cumsum([0, *map(len, runs[place][:-1])])  # where each word begins
                found[place] = [self.labels[i] for i in self._logits(states_SD[first]).argmax(axis=1).tolist()]
        counts["segmented"] += sum(len(parts) > 1 for parts in runs_of)
        counts["cut"] += sum(any(len(ids) > self.limit for ids in words) for words in words_of)
        left = iter(found)
        return [[*itertools.chain.from_iterable(itertools.islice(left, len(parts)))] for parts in runs_of]

    def require(self, task: str) -> None:
        """Make sure that the bundle is of a task.

        Raises:
            CheckpointError: If it is of another.
        """
        if (own := self.bundle.info.task) != task:
            remedy = f"use `yiwen {COMMANDS[own]}`, or train one of task {task!r}"
            raise CheckpointError(f"{self.bundle.folder} is a model of the task {own!r}; {remedy}")

    def _read(self, words: Sequence[str]) -> list[str]:
        """The words of a sentence, or a text, as the model reads it: Chinese in the script that it knows.

        Only the whole text shows which script it is in, as 乾 and 后 may be of either, and kana show Japanese.
        """
        info, plain = self.bundle.info, [normalise(word) for word in words]
        whole = " ".join(plain)
        sides = (info.src_lang, info.tgt_lang) if info.task == "embed" else (info.src_lang,)  # others read one alone
        is_japanese = "ja" in map(base, sides) and any("ぁ" <= sign <= "ヺ" for sign in whole)
        left = iter(whole if is_japanese else rewritten(whole, min(sides, key=lambda lang: base(lang) != "zh")))
        return ["".join(itertools.islice(left, len(word) + 1))[: len(word)] for word in plain]

    def _pieces(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """Ids of each text in pieces of about equal length, one where it fits."""
        pieces = []
        for ids in self.bundle.source.encode([self._read([text])[0] for text in as_texts(texts, "an encoder")]):
            n_pieces = -(-len(ids) // self.limit)
            size = -(-len(ids) // n_pieces) if ids else 1
            pieces.append([ids[start : start + size] for start in range(0, max(len(ids), 1), size)])
        return pieces

    def _pooled(
        self, pieces: list[list[list[int]]], *, layer: int = -1, pooling: str | None = None, stop: StopFlag | None
    ) -> Array:
        """Texts in pieces -> (N, D)."""
        is_number, last = hasattr(layer, "__index__") and not isinstance(layer, bool), self.n_layers
        number = layer + last + 1 if is_number and layer < 0 else layer
        if not (is_number and 0 <= number <= last):
            raise ConfigError(f"layer={layer!r}: the encoder has the layers 0 (embeddings) to {last}, or -1 ...")
        way, query = pooling or self.bundle.info.pooling, self.engine.head.get("query")
        if way not in get_args(Pooling) or (way == "attention" and query is None):
            remedy = "use 'mean', 'max' or 'first', or 'attention' where it was learnt"
            raise ConfigError(f"pooling={way!r} is not to be had; {remedy}")
        flat = list(itertools.chain.from_iterable(pieces))
        vectors = np.empty((len(flat), self.bundle.info.model.d_model), dtype=np.float32)
        shares = np.zeros(len(flat), dtype=np.float32)
        for places, states_BSD in self._batches(flat, layer=number, stop=stop):
            lengths = np.array([len(flat[place]) + 1 for place in places])
            vectors[places], shares[places] = _pool(states_BSD, lengths, way, query)
        if len(flat) == len(pieces):
            return vectors
        ends = np.cumsum([len(parts) for parts in pieces[:-1]])
        texts = zip(np.split(vectors, ends), np.split(shares, ends), strict=True)
        return np.stack([_joined(*text, way) for text in texts])

    def _batches(self, pieces: Sentences, *, layer: int, stop: StopFlag | None) -> Iterator[tuple[list[int], Array]]:
        """Places of pieces of like length, longest first, and their states."""
        for places in longest_first(list(map(len, pieces)), BATCH_TOKENS):
            poll(stop, "encoding")
            yield places, self.engine.states([pieces[place] for place in places], layer=layer)

    def _logits(self, vectors: Array) -> Array:
        return vectors @ self.engine.head["weight"].T + self.engine.head["bias"]

    def _probabilities(self, pieces: list[list[list[int]]], stop: StopFlag | None) -> Array:
        """Soft-max of a classifier's logits for texts in pieces, (N, K)."""
        self.require("classify")
        logits = self._logits(self._pooled(pieces, stop=stop))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return cast("Array", powers / powers.sum(axis=1, keepdims=True))


def _counts(flags: Counter[str] | None) -> Counter[str]:
    """Where to count what texts are flagged with: in nothing that lasts, if nobody asks."""
    return expect(Counter() if flags is None else flags, Counter, "flags", "a Counter, or None")


def _flags(parts: list[list[int]]) -> tuple[str, ...]:
    """Of a text in pieces."""
    if len(parts) > 1:
        return ("segmented",)
    return () if parts[0] else ("empty",)


def _pool(states_BSD: Array, lengths: np.ndarray, pooling: str, query: Array | None) -> tuple[Array, Array]:
    """As `tasks.heads.pool`; beside each vector the logarithm of the weight it has among the pieces of a text."""
    mask_BS = np.arange(states_BSD.shape[1]) < lengths[:, None]
    none = np.zeros(len(states_BSD), dtype=np.float32)
    if pooling == "first":
        return states_BSD[:, 0], none
    if pooling == "max":
        return np.where(mask_BS[..., None], states_BSD, -np.inf).max(axis=1), none
    scores_BS = np.where(mask_BS, states_BSD @ query if query is not None and pooling == "attention" else 0.0, -np.inf)
    top = scores_BS.max(axis=1, keepdims=True)
    weights_BS = np.exp(scores_BS - top).astype(np.float32)
    total = weights_BS.sum(axis=1, keepdims=True)
    vectors_BD = np.matmul((weights_BS / total)[:, None], states_BSD)[:, 0]
    return vectors_BD, (top + np.log(total))[:, 0].astype(np.float32)


def _joined(vectors: Array, shares: Array, pooling: str) -> Array:
    """The pieces of one text as if they had been pooled together: (P, D) -> (D,)."""
    if pooling in ("first", "max"):
        return cast("Array", vectors[0] if pooling == "first" else vectors.max(axis=0))
    weights = np.exp(shares - shares.max())
    return cast("Array", (weights / weights.sum()) @ vectors)


def _fitting(words: Sequence[list[int]], limit: int) -> Iterator[list[list[int]]]:
    """Words in runs of at most `limit` subwords; of a longer word its beginning."""
    run: list[list[int]] = []
    for word in words:
        if run and sum(map(len, run)) + len(word) > limit:
            yield run
            run = []
        run.append(word[:limit])
    if run:
        yield run
