"""Glossaries: how certain terms must be translated, or that they must not be.

A table with two columns, source term, TAB, target term. An equal or an empty target means: leave it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from yiwen.errors import DataError
from yiwen.text.chinese import HAN
from yiwen.text.normalise import normalise

_WORD = f"[^\\W{HAN}]"
"""Any letter or digit of a script with spaces between words."""


@dataclass(frozen=True)
class Glossary:
    """Terms and what must stand for them."""

    terms: Mapping[str, str]
    """Source term -> target term, normalised; of an untranslated term the same."""

    @classmethod
    def parse(cls, text: str, *, source: str = "the glossary") -> Glossary:
        """Read a table; blank lines do not count.

        Raises:
            DataError: If a line has no source term or more than two columns, or a term has two translations.
        """
        terms: dict[str, str] = {}
        for number, line in enumerate(text.split("\n"), 1):
            term, *rest = map(normalise, line.split("\t"))
            if not term and not any(rest):
                continue
            if not term or len(rest) > 1:
                raise DataError(f"{source}: line {number} is {line!r}; write a source term, TAB, its translation")
            target = (rest and rest[0]) or term
            if terms.setdefault(term, target) != target:
                raise DataError(
                    f"{source}: line {number} translates {term!r} as {target!r}, a line before as {terms[term]!r}; "
                    "keep one of them"
                )
        return cls(terms)

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Where terms stand in a text, and what must stand for them: longest first, whole words, none twice.

        A term in small letters is found in any case, another one as it is written or in capitals.

        >>> Glossary({"dog": "Hund", "hot dog": "Hotdog", "US": "USA"}).find("Dogs us Dog Hot dog US.")
        [(8, 11, 'Hund'), (12, 19, 'Hotdog'), (20, 22, 'USA')]
        """
        found = self._pattern.finditer(text) if self.terms else ()
        return [(*match.span(), self._target(match[0])) for match in found]

    def _target(self, found: str) -> str:
        terms = self._any_case
        term = found if found in self.terms else terms.get(found) or terms[found.casefold()]
        return found if self.terms[term] == term else self.terms[term]

    @cached_property
    def _any_case(self) -> dict[str, str]:
        """How terms may be written -> the term."""
        small = {term.casefold(): term for term in self.terms if term == term.lower()}
        return small | {term.upper(): term for term in self.terms if term != term.lower()}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = []
        for term in sorted(self.terms, key=lambda term: (-len(term), term == term.lower())):
            left, right = (f"(?<!{_WORD})", f"(?!{_WORD})")
            word = re.escape(term)
            word = f"(?i:{word})" if term == term.lower() else f"(?:{word}|{re.escape(term.upper())})"
            parts.append((left if re.match(_WORD, term) else "") + word + (right if re.match(_WORD, term[-1]) else ""))
        return re.compile("|".join(parts))
