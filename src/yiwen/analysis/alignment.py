"""Word alignment from attention: which source words each target word was made from (Bahdanau et al. 2015, 5.2.1).

Words are character spans of the texts as they were given: between spaces in most languages, a subword in Chinese and
Japanese, where nothing marks where words end. Shapes: S source and T target subwords, I source and J target words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from yiwen.analysis.attention import between_words, goes_on
from yiwen.bundle import Bundle, check_room
from yiwen.engines.engine import Engine
from yiwen.errors import ConfigError
from yiwen.stop import StopFlag
from yiwen.text.normalise import as_texts, normalise, normalise_with_spans
from yiwen.text.protect import masked, named_in_place, to_keep
from yiwen.text.reading import as_read
from yiwen.text.subword import Subword

Span = tuple[int, int]
"""Characters [start, end) of a text."""

SHARE = 0.5
"""A source word is linked to a target word where it gets this share of what the strongest gets."""


@dataclass(frozen=True)
class Alignment:
    """The words of two texts and the links between them."""

    src: tuple[Span, ...]
    """Words of the source text as given, spaces left out."""
    tgt: tuple[Span, ...]
    """Words of the target text."""
    links: tuple[tuple[int, int, float], ...]
    """(index into src, index into tgt, attention of the target word to the source word), sorted."""


@dataclass(frozen=True)
class Cut:
    """A text cut into subwords, which are grouped to words."""

    ids: list[int]
    words: tuple[Span, ...]
    first: list[int]
    """Index of the first subword of each word."""


def align(
    bundle: Bundle, engine: Engine, sources: Sequence[str], targets: Sequence[str], *, stop: StopFlag | None = None
) -> list[Alignment]:
    """`Translator.align` for a bundle and its engine.

    Raises:
        ConfigError: If there are not as many targets as sources.
        DataError: If a text is longer than the model has positions for.
    """
    sources, targets = as_texts(sources, "align"), as_texts(targets, "align")
    if len(sources) != len(targets):
        raise ConfigError(f"{len(sources)} sources but {len(targets)} targets; give one target a source")
    kept = [to_keep(masked(normalise(text))[1], bundle.reader.n_symbols) for text in sources]
    src = [cut(text, bundle.source, bundle.info.src_lang, each) for text, each in zip(sources, kept, strict=True)]
    tgt = [cut(text, bundle.target, bundle.info.tgt_lang, each) for text, each in zip(targets, kept, strict=True)]
    check_room(bundle.room, source=[side.ids for side in src], target=[side.ids for side in tgt])
    both = [i for i in range(len(sources)) if src[i].ids and tgt[i].ids]
    found = engine.attend([src[i].ids for i in both], [tgt[i].ids for i in both], stop=stop)
    weights = dict(zip(both, found, strict=True))
    is_late = bundle.info.alignment is not None and bundle.info.alignment.is_late
    same = [_same(*sides) for sides in zip(sources, src, targets, tgt, kept, strict=True)]
    return [align_words(weights.get(i), src[i], tgt[i], is_late=is_late, same=pairs) for i, pairs in enumerate(same)]


def _same(source: str, src: Cut, target: str, tgt: Cut, kept: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of a source and a target word that are the same span, one that is kept."""
    src_words = {source[start:end]: i for i, (start, end) in enumerate(src.words)}
    tgt_words = [target[start:end] for start, end in tgt.words]
    return [(src_words[word], j) for j, word in enumerate(tgt_words) if word in kept and word in src_words]


def cut(text: str, subword: Subword, language: str = "", kept: Sequence[str] = ()) -> Cut:
    """Cut raw text into subwords and find its words; read as a translator reads it, in whatever script and case.

    Args:
        text: Raw text.
        subword: Of its side.
        language: Of the text.
        kept: Spans that the model is given symbols for.
    """
    clean, origin = normalise_with_spans(text)
    clean, stood = named_in_place(as_read(clean, language, subword), kept)
    ids, pieces = subword.encode_with_spans(clean)
    found = _grouped(clean, ids, pieces)
    return replace(found, words=tuple((origin[stood[a]][0], origin[stood[b] - 1][1]) for a, b in found.words))


def uncut(ids: Sequence[int], subword: Subword) -> tuple[str, Cut]:
    """The text of subwords that a model wrote, and its words."""
    text, pieces = subword.decode_with_spans(ids)
    return text, _grouped(text, list(ids), pieces)


def _grouped(clean: str, ids: list[int], pieces: Sequence[Span]) -> Cut:
    """Words of a text from the characters that each subword stands for."""
    first, words = list[int](), list[Span]()
    waiting: int | None = None  # the first of the pieces that stand for nothing, and belong to what follows
    before = ""
    for number, (start, end) in enumerate(pieces):
        surface = clean[start:end]
        start += len(surface) - len(surface.lstrip(" "))
        word = surface.strip(" ")
        if waiting is None:
            waiting = number
        if not word:
            continue
        if words and words[-1][1] == start and goes_on(before, word):
            words[-1] = (words[-1][0], start + len(word))
        else:
            words.append((start, start + len(word)))
            first.append(waiting)
        waiting, before = None, word
    return Cut(ids, tuple(words), first)


def align_words(
    weights: np.ndarray | None, src: Cut, tgt: Cut, *, is_late: bool = False, same: Sequence[tuple[int, int]] = ()
) -> Alignment:
    """Links between words from attention between subwords.

    Args:
        weights: Attention of each step over the source, (T + 1, S + 1), eos last; None: no links.
        src: The source.
        tgt: The target.
        is_late: A target subword's attention is that of the step after it.
        same: Words that are one on both sides, source and target: linked to each other alone, wherever a model looks.
    """
    if weights is None or not src.words or not tgt.words:
        return Alignment(src.words, tgt.words, ())
    found_JI = between_words(weights[1:] if is_late else weights[:-1], [*src.first, len(src.ids)], tgt.first)
    by_word_JI, nothing_J = found_JI[:, :-1], found_JI[:, -1]  # attention to eos: made from no word
    for i, j in same:
        found_JI[j] = by_word_JI[:, i] = 0.0
        by_word_JI[j, i] = 1.0
    strongest_J = by_word_JI.max(axis=1)
    is_link_JI = (by_word_JI >= SHARE * strongest_J[:, None]) & (strongest_J > nothing_J)[:, None]
    links = [(int(i), int(j), float(by_word_JI[j, i])) for i, j in np.argwhere(is_link_JI.T)]
    return Alignment(src.words, tgt.words, tuple(links))
