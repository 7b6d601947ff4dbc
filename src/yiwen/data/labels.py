"""The labels of labelled text: which there are, and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from yiwen.data.corpus import Targets
from yiwen.errors import DataError, listed
from yiwen.text.subword import Subword, encode_words

MOST_LABELS: Final = 1000


def labels_of(target: str, targets: Targets) -> list[str]:
    """The label of a text, or the tags of its words."""
    return target.split(" ") if targets == "tags" else [target]


def numbered(
    subword: Subword, src: Sequence[str], tgt: Sequence[str], *, labels: Sequence[str], targets: Targets
) -> tuple[list[list[int]], list[list[int]]]:
    """Ids of normalised texts, and numbers from 1: of a label, or of a tag at the first subword of its word, else 0."""
    number = {label: n for n, label in enumerate(labels, 1)}
    numbers = [[number[label] for label in labels_of(target, targets)] for target in tgt]
    if targets == "label":
        return subword.encode(src), numbers
    words_of = encode_words(subword, [text.split(" ") for text in src])
    placed: list[list[int]] = []
    for words, tags in zip(words_of, numbers, strict=True):
        by_word = ([tag] + [0] * (len(word) - 1) for word, tag in zip(words, tags, strict=True))
        placed.append([*chain.from_iterable(by_word)])
    return [[*chain.from_iterable(words)] for words in words_of], placed


def count_labels(texts: Iterable[str], targets: Targets, known: Iterable[str] = ()) -> tuple[tuple[str, ...], str]:
    """All labels of the training text, sorted, those known too, and a line that says how many there are of each.

    Raises:
        DataError: If they are too many to be labels, or one alone.
    """
    counts = Counter(dict.fromkeys(known, 0))
    counts.update(label for text in texts for label in labels_of(text, targets))
    shown = listed([f"{label} {count:,}" for label, count in counts.most_common()])
    n_met = sum(count > 0 for count in counts.values())
    if n_met == 1 or n_met > MOST_LABELS:
        remedy = "is tgt_column their column?"
        raise DataError(f"labels in the training text: {n_met:,} ({shown[:60]}), not 2 to {MOST_LABELS:,}; {remedy}")
    return tuple(sorted(counts)), f"{len(counts)} labels: {shown}"
