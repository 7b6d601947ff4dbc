"""Held-out text: read from files of its own, or taken from the pairs that were split off."""

from __future__ import annotations

from typing import Final

from yiwen.data.config import more_tests
from yiwen.data.corpus import ENTITY, CorpusConfig, Targets
from yiwen.data.intake import Intake, Job, Split
from yiwen.data.labels import labels_of
from yiwen.data.report import Findings
from yiwen.data.stages import Vocabulary
from yiwen.data.store import TextPairs
from yiwen.errors import DataError, listed
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword

_TITLES: Final = {"valid": "validation", "test": "test"}


def read_given(job: Job, findings: Findings) -> dict[str, TextPairs]:
    """Held-out text that comes in files of its own: valid, test and more tests, where they are given."""
    named = {"valid": job.data.valid, "test": job.data.test} | more_tests(job.data)
    return {name: _read(job, name, corpus, findings) for name, corpus in named.items() if corpus is not None}


def hold_out(
    intake: Intake, split: Split, given: dict[str, TextPairs], vocabulary: Vocabulary, findings: Findings
) -> dict[str, TextPairs]:
    """All held-out text: files as they were given, and of the pairs that were split off those that can be scored.

    Raises:
        DataError: If a file that was given has labels that no model could learn.
    """

    def only(name: str, pairs: TextPairs, are_kept: list[bool], fault: str) -> TextPairs:
        if n_left_out := are_kept.count(False):
            findings.note(f"{_TITLES[name]}: {n_left_out} {fault} left out")
        return pairs.only(are_kept)

    job, labels = intake.job, vocabulary.labels
    held_out = dict(given)
    if labels:
        for name, pairs in given.items():
            check_held_out(pairs, name=_TITLES.get(name, name), labels=labels, targets=job.targets)
    for name, rows in (("valid", split.valid), ("test", split.test)):
        if name in given:
            continue
        pairs = intake.pairs(rows)
        if labels:
            is_known = [all(label in labels for label in labels_of(tgt, job.targets)) for tgt in pairs.tgt]
            pairs = only(name, pairs, is_known, "with labels that no training text has")
        if name == "valid" or not labels:  # a long text of a test is labelled in pieces; validation reads it whole
            pairs = only(name, pairs, _are_short(pairs, vocabulary, job), f"of over {job.data.max_tokens} subwords")
        held_out[name] = pairs
    return held_out


def check_held_out(pairs: tuple[list[str], list[str]], *, name: str, labels: tuple[str, ...], targets: Targets) -> None:
    """Refuse held-out text on which no model could be measured.

    Raises:
        DataError: If a label is not among those of the training text, or words and tags differ in number.
    """
    known = {*labels}
    for number, (text, target) in enumerate(zip(*pairs, strict=True), 1):
        found = labels_of(normalise(target), targets)
        if unknown := [label for label in found if label not in known]:
            choice = f"there are {listed(labels)}"
            raise DataError(f"{name} text {number} has the label {unknown[0]!r}, which no training text has; {choice}")
        if targets == "tags" and len(found) != len(normalise(text).split(" ")):
            remedy = "give one a word, no word with a blank"
            raise DataError(f"{name} sentence {number} has {len(found)} tags: {text[:60]!r}; {remedy}")


def _read(job: Job, name: str, corpus: CorpusConfig, findings: Findings) -> TextPairs:
    """Read held-out text as it is: only torn rows are left out, broken UTF-8 is replaced, and both are noted."""
    pairs = TextPairs([], [])
    n_broken = n_torn = n_escaped = 0  # lines
    for block in job.blocks(corpus):
        for src, tgt in zip(block.src, block.tgt, strict=True):
            if src is None or tgt is None:
                n_torn += 1
                continue
            for side, raw in zip(pairs, (src, tgt), strict=True):
                text = raw.decode("utf-8", "replace")
                n_broken += text.encode() != raw
                n_escaped += not corpus.unescape and ENTITY.search(raw) is not None
                side.append(text.replace("\n", " "))
    if n_torn:
        findings.note(f"{name}: {n_torn} rows lack a side and were left out")
    if n_broken:
        findings.note(f"{name}: {n_broken} lines are not valid UTF-8; the broken bytes were replaced by U+FFFD")
    if n_escaped and any(each.unescape for each in job.data.corpora):
        findings.note(f"{name}: {n_escaped} lines hold &amp; or the like; unescape = true, as in a corpus, reads them")
    return pairs


def _are_short(pairs: TextPairs, vocabulary: Vocabulary, job: Job) -> list[bool]:
    """Which are no longer than what is trained on."""
    src, tgt = pairs.normalised(job.data.src_lang)
    src_ids = Subword.load(vocabulary.source).encode(src)
    tgt_ids = Subword.load(vocabulary.target).encode(tgt) if job.targets in ("text", "read") else src_ids
    return [max(map(len, ids)) < job.data.max_tokens for ids in zip(src_ids, tgt_ids, strict=True)]
