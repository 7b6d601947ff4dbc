"""What `prepare` did: every pair read is either kept or dropped for a counted reason, with examples."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any, Final

from rich.console import Console

from yiwen.config import parse
from yiwen.text.chinese import shortened

N_EXAMPLES: Final = 3
_WIDTH: Final = 80
MAX_PLACES: Final = 10_000
"""Over-long pairs named by place; their number is exact beyond that too."""
INVALID_UTF_8: Final = "invalid UTF-8"
"""Why a pair of broken text is dropped."""
ILL_FITTING: Final = "the vocabulary does not fit the text"
"""How a note begins that who trains should see, too."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A dropped pair."""

    where: str
    """File and line."""
    src: str
    """Its source, 2,000 bytes at most; what is not UTF-8 is replaced by U+FFFD."""
    tgt: str
    """Its target."""


def shown(raw: bytes | None) -> str:
    """A side of an example; nothing where there is none."""
    return "" if raw is None else raw[:2000].decode("utf-8", "replace")


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """Pairs dropped for one reason."""

    reason: str
    """Name of the fault."""
    count: int
    """Pairs dropped for it."""
    examples: tuple[Example, ...]
    """The first three."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Figures of one preparation; `read == kept + valid_split + test_split + sum of dropped`."""

    read: int
    """Pairs in the corpora."""
    kept: int
    """Pairs to train on."""
    dropped: tuple[Dropped, ...]
    """What was dropped and why, in the order in which the reasons were met."""
    overlong: tuple[str, ...]
    """Places of the pairs with more than max_tokens subwords on a side (the first 10,000)."""
    corpora: tuple[tuple[str, int, int], ...]
    """(name, pairs read, pairs kept) of each corpus."""
    valid_split: int
    """Pairs split off for validation; 0 where a file was given."""
    test_split: int
    """Pairs split off for the test; 0 where a file was given."""
    valid_pairs: int
    """Pairs of the validation text, split off or given."""
    test_pairs: int
    """Pairs of the test text."""
    src_tokens: int
    """Subwords of all sources kept."""
    tgt_tokens: int
    """Subwords of all targets kept; 0 where there are none."""
    src_bytes_share: float
    """Share of the source subwords that are single bytes or unknown: characters outside the vocabulary."""
    tgt_bytes_share: float
    """The same of the targets."""
    src_vocab_size: int
    """Pieces of the source vocabulary."""
    tgt_vocab_size: int
    """Pieces of the target vocabulary."""
    notes: tuple[str, ...]
    """What else a reader should know."""
    seconds: float = 0.0
    """Wall time of this call; 0 where the store was there already, and in its report, which holds no clock values."""

    @property
    def pairs_per_second(self) -> float:
        """Pairs read a second; 0 where nothing was timed."""
        return self.read / self.seconds if self.seconds else 0.0

    def to_json(self) -> str:
        """The report as one JSON object on one line."""
        return json.dumps(asdict(self) | {"pairs_per_second": self.pairs_per_second}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that `to_json` wrote."""
        stored: dict[str, Any] = json.loads(text)
        known = {each.name: stored[each.name] for each in fields(cls) if each.name in stored}
        return parse(cls, known, source="the report")


@dataclass
class Findings:
    """What goes into the report as it is found: dropped pairs by reason, with the first examples of each, and notes."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Example]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, count: int, examples: list[Example]) -> None:
        """Count dropped pairs, if there are any; keep their examples while there are fewer than three."""
        if count:
            self.counts[reason] += count
            known = self.examples.setdefault(reason, [])
            known += examples[: N_EXAMPLES - len(known)]

    def note(self, text: str) -> None:
        """What else a reader should know."""
        self.notes.append(text)

    def dropped(self) -> tuple[Dropped, ...]:
        """All reasons, in the order in which they were met."""
        return tuple(Dropped(reason=r, count=n, examples=tuple(self.examples[r])) for r, n in self.counts.items())


def print_report(report: Report, console: Console) -> None:
    """Show the report in at most 80 columns: figures, then each reason with its examples."""
    # Neither marks of rich nor names of emoji: a text is shown as it is.
    show = partial(console.print, width=_WIDTH, highlight=False, markup=False, emoji=False)
    line = partial(show, overflow="ellipsis", no_wrap=True)
    timing = f" in {report.seconds:.1f} s, {report.pairs_per_second:,.0f} pairs/s" if report.seconds else ""
    line(f"read {report.read:,} pairs{timing}; kept {report.kept:,} ({report.kept / max(report.read, 1):.1%})")
    if len(report.corpora) > 1:
        for name, read, kept in report.corpora:
            line(f"  {name}: {kept:,} of {read:,}")
    line(f"{'tokens':>20}{'per sentence':>14}{'vocabulary':>12}{'spelt in bytes':>16}")
    for name, tokens, size, share in (
        ("source", report.src_tokens, report.src_vocab_size, report.src_bytes_share),
        ("target", report.tgt_tokens, report.tgt_vocab_size, report.tgt_bytes_share),
    ):
        if tokens:
            line(f"{name:6}{tokens:>14,}{tokens / max(report.kept, 1):>14.1f}{size:>12,}{share:>16.2%}")
    line(f"valid: {report.valid_pairs:,} pairs{' split off' if report.valid_split else ''}")
    line(f"test: {report.test_pairs:,} pairs{' split off' if report.test_split else ''}")
    for item in report.dropped:
        line(f"dropped {item.count:,}: {item.reason}")
        for example in item.examples:
            line(f"  {example.where}: {_cut(example.src, 26)} | {_cut(example.tgt, 26)}")
    for note in report.notes:
        show(f"note: {note}")


def _cut(text: str, width: int) -> str:
    """The beginning of a text, control characters made visible."""
    return shortened("".join(character if character.isprintable() else "\ufffd" for character in text), width)
