"""Glossaries: how certain terms must be translated, or that they must not be.

A table with two columns, source term, TAB, target term. An equal or an empty target means: leave it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from yiwen.errors import DataError, expect
from yiwen.text.normalise import normalise
from yiwen.text.protect import Place
from yiwen.text.scripts import SPACED_MARKS, UNSPACED_LETTERS

_WORD = f"(?:[^\\W{UNSPACED_LETTERS}]|[{SPACED_MARKS}])"
"""Any letter or digit of a script with spaces between words, or a part of one."""
_PARTICLES = f"(?<=[가-힣])(?:[은는이가을를의에도만와과나로]|까지|들|라고|부터|보다|서|에게|으로|처럼)+(?!{_WORD})"
"""What Korean writes behind a noun without a blank."""
_BEGINNING: Final = re.compile(f"(?<!{_WORD}|[\u200c\u200d])|(?!{_WORD})")
"""A term that begins with a letter has none before it, nor a joiner, as Persian has behind its prefixes ..."""
_END: Final = re.compile(f"(?!{_WORD})|(?<!{_WORD})|(?={_PARTICLES})")
"""... and one that ends with a letter none behind it."""
_ALIKE: Final = str.maketrans("İıΣς’", "iiσσ'")
_FOREIGN: Final = re.compile(
    r"""[\s\ufeff]*(<\?xml\b|<tbx\b|<martif\b|\{\s*"[^"\n]*"\s*:|\[\s*(?:\{\s*"|\[\s*")|"""
    r"""(?:"[^\t\n]*"\t"[^\t\n]*"\r?(?:\n|$))+\s*$|(?i:source|src)\b[^\t\n]*\t *(?i:target|tgt)\b|原文\t *译文|"""
    r"""(?i:english|英[文语語])\t *(?i:chinese|中文)\s|(?i:chinese|中文)\t *(?i:english|英[文语語])\s)"""
)
"""Glossaries in other forms than a table of terms."""
_OTHER_TABLE: Final = re.compile(r"[^,;][,;][^,;]|\S(?: *[，；：→\u3000]|  ) *\S")
"""What each line of a table with something else for TAB has."""


@dataclass(frozen=True)
class Glossary:
    """Terms and what must stand for them."""

    terms: Mapping[str, str]
    """Source term -> target term, normalised here; of an untranslated term the same."""

    def __post_init__(self) -> None:
        terms = expect(self.terms, Mapping, "the terms of a glossary", "a dict, or a table to Glossary.parse")
        pairs = [[normalise(expect(text, str, "a term", "its text")) for text in pair] for pair in terms.items()]
        object.__setattr__(self, "terms", {term: target or term for term, target in pairs if term})

    @classmethod
    def parse(cls, text: str, *, source: str = "the glossary") -> Glossary:
        """Read a table; blank lines do not count.

        Raises:
            DataError: If a line has no source term or more than two columns, or a term has two translations.
            ConfigError: If it is not text.
        """
        # Of these each line would be a term that is kept, and nobody would know.
        if found := _FOREIGN.match(expect(text, str, source, "its text")):
            forms = {"<": "XML, as TBX is", '"': "a table with quotes", "{": "JSON", "[": "JSON"}
            what = forms.get(found[1][0], "a table with a header")
            raise DataError(f"{source} is {what}; write a line a term: a source term, TAB, its translation, no quotes")
        lines = {number: line for number, line in enumerate(text.split("\n"), 1) if normalise(line)}
        if lines and "\t" not in text and all(map(_OTHER_TABLE.search, lines.values())):
            raise DataError(f"{source}: each line has a comma or the like, no TAB; write a term, TAB, its translation")
        terms: dict[str, str] = {}
        for number, line in lines.items():
            term, *rest = map(normalise, line.split("\t"))
            if not term or len(rest) > 1:
                raise DataError(f"{source}: line {number} is {line!r}; write a source term, TAB, its translation")
            target = rest[0] if rest and rest[0] else term
            if terms.setdefault(term, target) != target:
                both = f"{term!r} as {target!r}, a line before as {terms[term]!r}"
                raise DataError(f"{source}: line {number} translates {both}; keep one of them")
        return cls(terms)

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Where terms stand in a text, and what must stand for them: longest first, whole words, none twice.

        A term in small letters is found in any case, another one as it is written or in capitals.

        >>> Glossary({"dog": "Hund", "hot dog": "Hotdog", "US": "USA"}).find("Dogs us Dog Hot dog US.")
        [(8, 11, 'Hund'), (12, 19, 'Hotdog'), (20, 22, 'USA')]
        """
        written = expect(text, str, "text", "one text to look in").replace("’", "'")
        found, small = list[Place](), _small(written)
        for place in _BEGINNING.finditer(text):
            if not found or found[-1][1] <= place.start():
                found += self._longest(text, place.start(), written, small)
        return found

    def _longest(self, text: str, start: int, written: str, small: str) -> list[Place]:
        """The longest term that begins at a place of a text, if any does: one look for each length that terms have."""
        for end in (start + length for length in self._lengths if start + length <= len(text)):
            term = self._written.get(written[start:end]) or self._written.get(small[start:end])
            if term and _END.match(text, end):
                return [(start, end, text[start:end] if self.terms[term] == term else self.terms[term])]
        return []

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({*map(len, self._written)}, reverse=True)

    @cached_property
    def _written(self) -> dict[str, str]:
        """How terms may be written -> the term: in small letters for any case, and in capitals, in which ß is SS."""
        any_case = {_small(form): term for term in self.terms if term == term.lower() for form in (term.upper(), term)}
        capitals = {term.upper().replace("’", "'"): term for term in self.terms if term != term.lower()}
        return any_case | capitals | {term.replace("’", "'"): term for term in self.terms}


def inside_terms(glossary: Glossary | None, text: str) -> frozenset[int]:
    """Offsets inside of the terms that stand in a text: no places to cut it at.

    >>> inside_terms(Glossary({"hi! you": "du"}), "Hi! You.")
    frozenset({1, 2, 3, 4, 5, 6})
    """
    found = glossary.find(text) if glossary else ()
    return frozenset(place for start, end, _ in found for place in range(start + 1, end))


def _small(text: str) -> str:
    """A text in small letters, as many as before; of letters with two small ones in one of these."""
    return text.translate(_ALIKE).lower()
