"""What a model reads of a text, and what is written of its answer: all the rules that a model need not learn.

source -> stays as it is: blank, nothing but numbers, signs and addresses, in the target language already
       -> normalised, Traditional Chinese to Simplified, ALL CAPS and oDD cASE to usual case -> the model
answer -> case as in the source, Chinese set as Chinese is, Traditional where that was asked for -> translation
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yiwen.text.chinese import in_latin, in_script, is_paired, rewritten, typeset
from yiwen.text.glossary import Glossary
from yiwen.text.langid import is_in
from yiwen.text.languages import CHINESE, RUN_ON, UNSPACED, base, canonical
from yiwen.text.normalise import normalise
from yiwen.text.protect import SPAN, Place, apart, masked, named, places, restored, to_keep, unmasked
from yiwen.text.scripts import LETTER, script_of
from yiwen.text.subword import Subword

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FEW_CAPITALS: Final = 8
"""Fewer letters in capitals are abbreviations: USA, UK."""
_LONG_WORD: Final = 4
"""Characters of a Chinese or Japanese word at most."""
_USUAL: Final = re.compile(r"(?<!\w)[^\W\d_A-ZÀ-ÞΑ-ΫЀ-ЯԱ-Ֆ]{5}")
"""The beginning of a long word in small letters, of which text in capitals or in Title Case has none."""
_DOTTED: Final = ("tr", "az")
"""Languages that have an i with a dot and one without."""
_CASED: Final = ("Latin", "Cyrillic", "Greek", "Armenian", None)
"""Scripts with small letters, and None: languages in two, such as Serbian, which have them in both."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A part of a text as the model reads it."""

    text: str
    """Normalised; empty where nothing is for the model."""
    output: str = ""
    """What is written where nothing is for the model."""
    flags: tuple[str, ...] = ()
    """`passed_through`, `already_target` or `recased`."""
    is_capitals: bool = False
    """True where the translation is to be in capitals too."""
    is_paired: bool = True
    """Whether quotes are in pairs, so that they have to be in the translation."""
    is_word: bool = False
    """True for a single word, which has no full stop."""
    begins_large: bool = False
    """Whether it begins with a capital letter."""
    kept: tuple[str, ...] = ()
    """What the symbols in the text stand for."""
    terms: tuple[str, ...] = ()
    """What the translation must hold: the glossary's translations of terms in the text."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The rules for a pair of languages."""

    src_lang: str
    """Language that the model reads."""
    model_lang: str
    """Language that it writes."""
    tgt_lang: str
    """Language that is asked for: that, or its other script."""
    subword: Subword
    """Source subwords, which know how a word is usually written."""
    n_symbols: int = 0
    """Symbols that the model copies; none: spans that are no language are left to it."""
    glossary: Glossary | None = None
    """Terms that must be translated in a certain way."""
    uses_symbols: bool = False
    """A term becomes a symbol, which is put back as its translation; else the search is told of it."""

    def read(self, text: str, *, must: bool = False) -> Reading:
        """What the model is given of a line or a sentence; with `must`, also of one that would be left alone."""
        line = normalise(text)
        if not line:
            return Reading("", text)
        found = self._terms(line)
        prose, spans = masked(line, found)
        is_said = bool(found) and not must and not LETTER.search(prose)  # by the glossary alone
        if not must and not is_said and (left := self._left_alone(text, line, prose)):
            return left
        if found and not self.uses_symbols and not is_said:
            prose, spans = masked(line)
        prose = rewritten(prose, self.src_lang)
        if script_of(self.src_lang) == "Latin" and not prose.isascii():  # "Hello，world！" of a Chinese keyboard
            prose = in_latin(prose)
        usual = recased(prose, self.subword, self.src_lang)
        is_recased = usual != prose
        kept = to_keep(spans, self.n_symbols)
        reading = Reading(
            named(usual, spans, kept),
            flags=("recased",) if is_recased else (),
            is_capitals=is_recased and prose.upper() == prose.replace("ß", "SS"),  # many write GROßE
            is_paired=base(self.tgt_lang) not in CHINESE or is_paired(line),
            is_word=not found and " " not in line and (base(self.src_lang) not in UNSPACED or len(line) <= _LONG_WORD),
            begins_large=not is_said and line[:1] != line[:1].lower(),
            kept=kept,
            terms=tuple(target for _, _, target in found),
        )
        return Reading("", self.write(reading, reading.text)) if is_said else reading

    def _terms(self, line: str) -> list[Place]:
        """Where terms of the glossary stand, and what must stand for them; in either script of Chinese."""
        if self.glossary is None:
            return []
        found = self.glossary.find(line)
        for script in ("zh-Hans", "zh-Hant") if base(self.src_lang) == "zh" else ():
            found += apart(self.glossary.find(rewritten(line, script)), found)
        # An address or a placeholder with a word translated leads nowhere; COVID-19 is a word like others.
        spans = [place for place in places(SPAN, line) if not re.fullmatch(r"[A-Z\d-]+", place[2])]
        edges = [(edge, edge, "") for start, end, _ in found for edge in (start, end)]
        whole = {*apart(spans, edges)}  # inside of a term, or beside all
        return sorted(apart(found, [span for span in spans if span not in whole]))

    def _left_alone(self, text: str, line: str, prose: str) -> Reading | None:
        """What is written of a text that is not for the model; None for one that is."""
        same = text if text.isprintable() else line  # what other programs may take for a line break is no text
        if not LETTER.search(prose):
            return Reading("", same, ("passed_through",))
        if not is_in(prose, self.tgt_lang, rather_than=self.src_lang):
            return None
        if base(self.src_lang) in CHINESE and base(self.tgt_lang) not in RUN_ON:
            plain, spans = masked(rewritten(same, self.src_lang))
            same = unmasked(in_latin(plain), spans)
        return Reading("", rewritten(same, self.tgt_lang), ("already_target",))

    def lacks_term(self, reading: Reading, written: str) -> bool:
        """True where a translation, as the model or as we write it, does not hold what the glossary asks for."""
        texts = (restored(written, reading.kept), *reading.terms) if reading.terms else ("",)
        written_as = (rewritten(in_script(text, self.tgt_lang), self.tgt_lang) for text in texts)
        said, *terms = (text.casefold().replace("’", "'") for text in written_as)
        return any(term not in said for term in terms)

    def to_write(self, text: str) -> str:
        """What a translation must start with or hold, in the script of Chinese that the model writes."""
        write = rewritten if canonical(self.model_lang) == canonical(self.tgt_lang) else in_script
        return write(normalise(text), self.model_lang)

    def write(self, reading: Reading, answer: str) -> str:
        """What is written of the model's answer."""
        answer = (restored(answer, reading.kept) if self.n_symbols else answer).strip(" ")  # some models begin with one
        word = answer.split(" ")[0]  # of a term: that of "iPhone 15" stays as it is, that of "zwei Kerle" does not
        is_begun = word == word.lower() and answer.startswith(reading.terms)
        if is_begun and reading.begins_large and not masked(word)[1]:
            answer = begun(answer, self.tgt_lang)
        if reading.is_word and not re.search(r"[.。!！?？।۔։።｡]\Z", reading.text):
            answer = re.sub(r"(?<!\.\w)(?<=\w)[.。]\Z", "", answer)
        if reading.is_capitals and script_of(self.tgt_lang) != "Georgian":  # which has none
            prose, spans = masked(answer)
            answer = unmasked(capitals(prose, self.tgt_lang), spans)
        if base(self.tgt_lang) in CHINESE:
            answer = typeset(answer, pairs=reading.is_paired, kept=(*reading.terms, *map(self.to_write, reading.terms)))
        return answer if canonical(self.model_lang) == canonical(self.tgt_lang) else in_script(answer, self.tgt_lang)


def as_read(text: str, lang: str, subword: Subword) -> str:
    """Normalised text as the model reads it where each character keeps its place: Chinese script, unusual case."""
    text = rewritten(text, lang)
    prose, spans = masked(text)
    usual = unmasked(recased(prose, subword, lang), spans)
    return usual if len(usual) == len(text) else text


def ids_as_read(texts: Sequence[str], lang: str, subword: Subword) -> list[list[int]]:
    """Subwords of raw texts as the model reads them."""
    return subword.encode([as_read(normalise(text), lang, subword) for text in texts])


def capitals(text: str, lang: str) -> str:
    """A text in capitals: the i of Turkish keeps its dot, the vowels of Greek lose their accents.

    >>> capitals("istanbul", "tr"), capitals("Καλημέρα", "el")
    ('İSTANBUL', 'ΚΑΛΗΜΕΡΑ')
    """
    text = (text.replace("i", "İ") if base(lang) in _DOTTED else text).upper()
    unaccented = unicodedata.normalize("NFD", text).replace("\u0301", "")
    return unicodedata.normalize("NFC", unaccented) if base(lang) == "el" else text


def small(text: str, lang: str) -> str:
    """A text in small letters."""
    return (text.replace("İ", "i").replace("I", "ı") if base(lang) in _DOTTED else text).lower()


def begun(text: str, lang: str) -> str:
    """A text with its first letter in the case that sentences begin with."""
    return ("İ" if text[:1] == "i" and base(lang) in _DOTTED else text[:1].title()) + text[1:]


def recased(line: str, subword: Subword, lang: str) -> str:
    """The line with each word in the case that takes the fewest subwords, where most are in an unusual one.

    Capitals and mixed case are always unusual; that Each Word Begins With One only where the vocabulary says so.
    """
    n_usual = len(_USUAL.findall(line))
    if n_usual > 1 or not lang or script_of(lang) not in _CASED:  # nearly every line there is
        return line
    words = _WORD.findall(line)
    odd = [word for word in words[1:] if word != word.lower()]
    is_mixed = sum(word[1:] != word[1:].lower() for word in words) * 2 > len(words)
    is_capitals = is_mixed and line == line.upper()  # else one or two odd words are names: iPhone, New York
    is_few = sum(map(len, words)) < _FEW_CAPITALS if is_capitals else (2 * len(odd) < len(words) or len(odd) < 2)
    if is_few:
        return line
    if not is_mixed:
        in_small = subword.encode([small(word, lang) for word in odd])
        gains = [len(ids) - len(other) for ids, other in zip(subword.encode(odd), in_small, strict=True)]
        n_better, n_worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        if not (n_usual == 0 and len(odd) > 2 and 3 * n_better > len(odd) > 8 * n_worse):  # no title
            return line
    return in_usual_case(line, subword, lang)


def in_usual_case(line: str, subword: Subword, lang: str) -> str:
    """The line with each word in the case that takes the fewest subwords, the first as sentences begin."""
    forms = {word: (small(word, lang), begun(small(word, lang), lang), word) for word in set(_WORD.findall(line))}
    every = list({form for three in forms.values() for form in three})
    n_subwords = dict(zip(every, map(len, subword.encode(every)), strict=True))
    usual = _WORD.sub(lambda found: min(forms[found[0]], key=n_subwords.__getitem__), line)
    return _WORD.sub(lambda found: begun(found[0], lang), usual, count=1)
