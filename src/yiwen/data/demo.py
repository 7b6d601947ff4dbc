"""The demo corpus: English-Chinese sentence pairs from a synchronous grammar, each with its gold word alignment.

No sentence is typed in or downloaded: `demo_rules` holds the rules, `demo_lexicon` the words. Every sentence of the
corpus has exactly one translation in either direction, so that a score says what the model has learnt and not what the
corpus leaves open. Validation and test sets hold combinations of words (drink + tea, three + book, the words of two
hundred and thirty-seven) that never occur in training although each word of them does.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

from yiwen.data.demo_grammar import DemoPair, derive, drawn
from yiwen.data.demo_rules import all_rules
from yiwen.errors import ConfigError
from yiwen.files import write_lines

MAX_PAIRS = 200_000
"""More distinct pairs than this are refused; the grammar has some more, but finding them takes ever longer."""
_HELD_OUT_PERCENT = 4  # of all combinations, for valid and for test each
_PATIENCE = 20_000  # derivations in a row without a usable pair


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """A demo corpus in three parts that share no sentence on either side."""

    train: tuple[DemoPair, ...]
    valid: tuple[DemoPair, ...]
    test: tuple[DemoPair, ...]


def split(n_train: int, n_valid: int, n_test: int, *, seed: int = 1) -> DemoCorpus:
    """Generate a corpus whose valid and test sets hold combinations of words never seen in training.

    A combination is held out for valid or for test by a hash of its words and the seed. A training pair has none of
    them, a valid pair at least one of valid's and none of test's, and the other way round. Every word that takes part
    in a combination of valid or test occurs in a combination of the training set.

    Raises:
        ConfigError: If a count is out of range, or the training set is too small to show every word.
    """
    wanted = {"train": n_train, "valid": n_valid, "test": n_test}
    for name, n in wanted.items():
        _check_count(f"n_{name}", n, at_least=1)
    _check_count("n_train + n_valid + n_test", sum(wanted.values()), at_least=3)
    parts: dict[str, list[DemoPair]] = {"train": [], "valid": [], "test": []}
    seen, known = set[str](), set[str]()  # words in combinations of the training set; sources of all parts
    rng, tries = Random(seed), 0
    while any(len(parts[name]) < n for name, n in wanted.items()):
        tries += 1
        if tries > _PATIENCE:
            held_out = f"n_valid={n_valid} and n_test={n_test} pairs of held-out combinations of them"
            raise ConfigError(f"n_train={n_train} shows too few words for {held_out}; raise n_train")
        pair = derive(drawn(rng, all_rules()), rng)
        part = _part_of(pair, seed)
        if part is None or len(parts[part]) == wanted[part] or pair.src in known:
            continue
        if part == "train":
            seen.update(*pair.combinations)
        elif len(parts["train"]) < n_train or not all(map(seen.issuperset, pair.combinations)):
            continue  # the training set comes first: it decides which words are seen
        known.add(pair.src)
        parts[part].append(pair)
        tries = 0
    return DemoCorpus(*map(tuple, parts.values()))


def is_held_out(combination: tuple[str, ...], *, seed: int) -> str:
    """The part that a combination is held out for: "valid", "test", or "" where training may have it."""
    share = zlib.crc32(f"{seed}:{'+'.join(combination)}".encode()) % 100
    if share < _HELD_OUT_PERCENT:
        return "valid"
    return "test" if share < 2 * _HELD_OUT_PERCENT else ""


def write_demo(folder: Path, *, seed: int = 1, n_train: int, n_valid: int, n_test: int) -> DemoCorpus:
    """Write train.en, train.zh, valid.en, ... and test.align.jsonl (the gold alignment of test); returns the corpus.

    A line of test.align.jsonl holds src, tgt, alignment, src_spans, tgt_spans and topic as in `DemoPair`.

    Raises:
        ConfigError: If a count is out of range, or the training set is too small to show every word.
    """
    corpus = split(n_train, n_valid, n_test, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        write_lines(folder / f"{name}.en", (pair.src for pair in pairs))
        write_lines(folder / f"{name}.zh", (pair.tgt for pair in pairs))
    names = ("src", "tgt", "alignment", "src_spans", "tgt_spans", "topic")
    gold = ({name: getattr(pair, name) for name in names} for pair in corpus.test)
    write_lines(folder / "test.align.jsonl", (json.dumps(pair, ensure_ascii=False) for pair in gold))
    return corpus


def _part_of(pair: DemoPair, seed: int) -> str | None:
    """The part that a pair may stand in; None where it has held-out combinations of both valid and test."""
    owners = {is_held_out(combination, seed=seed) for combination in pair.combinations} - {""}
    if len(owners) > 1:
        return None
    return owners.pop() if owners else "train"


def _check_count(name: str, n: int, *, at_least: int) -> None:
    if not at_least <= n <= MAX_PAIRS:
        raise ConfigError(f"{name} is {n}; the demo grammar makes from {at_least} to {MAX_PAIRS} distinct pairs")
