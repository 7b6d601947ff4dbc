"""A teacher that stands in for the Translator, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

from yiwen.bundle import Bundle, open_bundle
from yiwen.search.config import SearchConfig
from yiwen.stop import StopFlag, poll
from yiwen.synthetic.backtranslate import BackTranslated
from yiwen.synthetic.distil import Distilled
from yiwen.translator import Translation


def lines(done: BackTranslated | Distilled, name: str) -> list[str]:
    """The lines of a file that was made."""
    return (done.made.folder / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")


class Teacher:
    """Stands in for the Translator: writes the source backwards, and remembers what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.bundle = open_bundle(folder)
        self.engine = SimpleNamespace(description="torch in a test")
        self.others: list[Bundle] = []
        self.asked: list[str] = []
        self.search: SearchConfig | None = None
        self.answer: Callable[[str], Translation] = lambda text: Translation(text[::-1], -1.0)
        self.until_killed = 10**9

    def beside(self, ensemble: Iterable[Path]) -> Teacher:
        """The same, with these models beside it."""
        self.others = [open_bundle(folder) for folder in ensemble]
        return self

    def translate_lines(
        self, lines: Iterable[bytes], *, search: SearchConfig, with_scores: bool, checks: bool, stop: StopFlag | None
    ) -> Iterator[Translation]:
        """One translation a line; pretends to be killed after so many."""
        assert not with_scores  # nobody would look at them
        assert not checks  # a student learns from what its teacher writes at once
        self.search = search
        for line in lines:
            poll(stop, "translation")
            if len(self.asked) == self.until_killed:
                raise KeyboardInterrupt
            self.asked.append(line.decode("utf-8"))
            yield self.answer(self.asked[-1])
