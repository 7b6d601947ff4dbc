"""Spans of a text that are not language: addresses, file names, codes, placeholders, tags. They are kept as they are.

A model that has learnt symbols for them (`tokenizer.placeholders`) is given a symbol for each and copies it; the
spans are put back into its translation. It learns that from pairs with the same span on both sides, and with the same
name or number, of which half are given symbols.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

Place = tuple[int, int, str]
"""Where a span begins and ends, and what belongs there."""
MASK: Final = "\ufdd1"
"""Stands for a span; a noncharacter, which no normalised text holds."""
AROUND: Final = r"\s<>\"'`“”‘’«»،؛؟।॥۔։።፣។៕\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef"
"""The inside of a regular expression's brackets: no part of an address; some scripts stand at it without a blank."""
_IRI: Final = rf"[^{AROUND}]*(?<=[/=_])[\u0370-\u07ff][^{AROUND}]*(?<=[A-Za-z\d\u0370-\u07ff])"
"""The rest of an address in Greek, Cyrillic, Hebrew or Arabic letters, which part words by blanks: /wiki/Россия."""
ARGUMENT: Final = r"(?<!(?<![%L])\d)%(?:L?n(?![A-Za-z])|(?:L[1-9]|1|(?P<later>[2-9]))(?![\dA-F$]|[.,]\d))"
"""%1, %L1 and %n of Qt and KDE, but not 50%1 nor %50; %2 only where %1 is, too: Turkish writes a percentage so."""
LINKED: Final = r"(?a:(?<![\w@])@(?:\.\w+)?:(?:\{'[^'\n]{1,60}'\}|\([\w.-]+\)|\w[\w-]*(?:\.[\w-]+)*))"
"""A message that another one of vue-i18n holds: @:key, @.lower:key, @:{'key'}."""
SPAN: Final = re.compile(
    rf"""(?=[!-~⟦{MASK}])(?!\B[^\Wfhw])(?:          # inside of a word only addresses begin: twice as quick to tell
    </?[A-Za-z][^<>\n]{{0,200}}> | <2[\w-]{{1,20}}> | &(?:[A-Za-z]{{2,8}}|\#\d{{1,6}});  # tags, <2zh>; entities
    | `[^`\n]{{1,200}}` | ⟦\d⟧ | {MASK}                                        # code; our own symbols
    | (?:(?:https?|ftp|file)://|www\.)(?:{_IRI}|[^{AROUND}]*[^\W_])/?          # addresses
    | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}})+ | {LINKED}
    | \$?\{{\{{?[\w.:!<>^%,$-]{{0,40}}\}}?\}}                               # {{name}}, ${{name}}, {{}}
    | %\(\w{{1,40}}\)[-\#0+.\d]*[a-zA-Z] | (?<!\d)%(?:\d\$)?[-\#0+.\d]*[sdifrxXeEgGcu](?![A-Za-z]) | {ARGUMENT}
    | (?<![\w/.])(?:~|\.{{1,2}})?/(?:[\w.-]+/){{0,40}}[\w.-]*\w | \b[A-Z]:\\[\w\\.-]+  # paths and files
    | (?<![\w.-])(?=[\d.-]{{0,30}}[A-Za-z_])(?:\w(?=\.\w\w)|[\w-]{{2,60}})(?:\.[\w-]{{1,60}}){{0,8}}
      \.[a-z][a-z0-9]{{0,4}}(?:\(\))?(?!\w|[.-]\w)
    | \b(?:[A-Za-z]\w*_|__?)\w+(?:\(\))? | \b\w+\(\) | (?<![\w-])--[a-z][\w-]*         # names in programs
    | (?<![\w-])(?=[\d-]{{0,20}}[A-Z])(?=[A-Z-]{{0,20}}\d)[A-Z\d]+(?:-[A-Z\d]+)*(?![\w-])               # COVID-19, A4
    | \bv\d+(?:\.\d+)*\b | \b\d+(?:\.\d+){{2,}}\b | \b\d{{4}}-\d\d-\d\d\b | \b0x[\da-fA-F]+\b | \b\d{{7,}}\b)
    """,
    re.ASCII | re.VERBOSE,
)
"""What stays as it is in any language."""
_SAME: Final = rf"{SPAN.pattern}|\b[A-Z][A-Za-z'-]+\b|\b\d[\d.,:]*\d\b"
"""What may stand for such a span in training: names and numbers, too. Compiled there: no other command waits for it."""
_PLAIN: Final = {ord(char): "Aa"[char.islower()] for char in map(chr, range(0xC0, 0x250)) if char.isalpha()}
"""Latin letters with accents, which are letters in a file name as others are, but not in ASCII."""
MOST_SYMBOLS: Final = 10
_HINT: Final = re.compile(r"[<&`@{%/\\_\d⟦]|\S\.[a-z]|--|\(\)|www\.", re.ASCII)
"""What every such span has, and few lines: quicker to look for."""


def masked(text: str, more: Sequence[Place] = ()) -> tuple[str, list[str]]:
    """The text with a mask in place of each span, and what belongs there again.

    Args:
        text: Any text.
        more: Start, end and replacement of further spans; they go before those that are found.

    >>> masked("read a.txt twice", [(0, 4, "lies")])
    ('\ufdd1 \ufdd1 twice', ['lies', 'a.txt'])
    """
    found = [*more]
    if _HINT.search(text) or MASK in text:
        found += apart([(start, end, span.replace(MASK, "")) for start, end, span in places(SPAN, text)], more)
    if not found:
        return text, []
    found.sort()
    between = zip([0, *(end for _, end, _ in found)], [*(start for start, _, _ in found), len(text)], strict=True)
    return MASK.join(text[start:end] for start, end in between), [span for _, _, span in found]


def places(pattern: re.Pattern[str], text: str) -> list[Place]:
    """Where a pattern matches, and what; letters with accents count as those without.

    >>> places(SPAN, "/tmp/Größe.txt")
    [(0, 14, '/tmp/Größe.txt')]
    """
    has_first = re.search(r"%1(?!\d|[.,]\d)", text) is not None
    found = [match for match in pattern.finditer(text.translate(_PLAIN)) if has_first or not match["later"]]
    return [(*match.span(), text[slice(*match.span())]) for match in found]


def apart(spans: Sequence[Place], others: Sequence[Place]) -> list[Place]:
    """Those of the spans that meet none of the others.

    >>> apart([(0, 2, "a"), (4, 6, "b")], [(1, 3, "c")])
    [(4, 6, 'b')]
    """
    starts, ends = sorted(start for start, _, _ in others), sorted(end for _, end, _ in others)
    # Of the others as many have begun before its end as have ended by its beginning.
    return [one for one in spans if bisect_left(starts, one[1]) == bisect_right(ends, one[0])]


def unmasked(text: str, spans: Sequence[str]) -> str:
    """A masked text with its spans.

    >>> text, spans = masked("read a.txt")
    >>> unmasked(text.upper(), spans)
    'READ a.txt'
    """
    following = iter(spans)
    return re.sub(MASK, lambda mask: next(following, mask[0]), text)


def symbols(n: int) -> tuple[str, ...]:
    """The first n symbols.

    >>> symbols(2)
    ('⟦0⟧', '⟦1⟧')
    """
    return tuple(f"⟦{number}⟧" for number in range(n))


def to_keep(spans: Sequence[str], n: int) -> tuple[str, ...]:
    """Those of a text's spans that n symbols can stand for, each once; a tag that tells the model something is none.

    >>> to_keep(["<2bt>", "a.txt", "b.txt", "a.txt"], 10)
    ('a.txt', 'b.txt')
    """
    return tuple(dict.fromkeys(span for span in spans if not span.startswith("<2")))[:n]


def named(prose: str, spans: Sequence[str], kept: Sequence[str]) -> str:
    """A masked text with its spans, those that are kept as symbols.

    >>> named(*masked("read a.txt and b.txt"), ["b.txt"])
    'read a.txt and ⟦0⟧'
    """
    names = dict(zip(kept, symbols(len(kept)), strict=True))
    return unmasked(prose, [names.get(span, span) for span in spans])


def named_in_place(text: str, kept: Sequence[str]) -> tuple[str, list[int]]:
    """A text with its spans that are kept as symbols, and where in the text each of its characters and its end stood.

    >>> named_in_place("a.txt!", ["a.txt"])
    ('⟦0⟧!', [0, 0, 0, 5, 6])
    """
    return _renamed(text, places(SPAN, text), dict(zip(kept, symbols(len(kept)), strict=True)))


def named_alike(src: str, tgt: str, n: int) -> tuple[str, str, tuple[str, ...]]:
    """A pair as a model with n symbols reads users' text, named alike on both sides, and what the symbols stand for.

    >>> named_alike("read a.txt", "lies a.txt", 1)
    ('read ⟦0⟧', 'lies ⟦0⟧', ('a.txt',))
    """
    kept = to_keep(masked(src)[1], n)
    return named_in_place(src, kept)[0], named_in_place(tgt, kept)[0], kept


def restored(text: str, spans: Sequence[str]) -> str:
    """A translation with spans in the place of symbols; a symbol that stands for none is an invention and goes.

    >>> restored("⟦1⟧ und ⟦0⟧⟦7⟧", ["a.txt", "b.txt"])
    'b.txt und a.txt'
    """
    return re.sub(r"⟦(\d)⟧", lambda found: spans[int(found[1])] if int(found[1]) < len(spans) else "", text)


def protected_pair(src: str, tgt: str, n: int) -> tuple[str, str]:
    """A training pair; in every second one symbols stand for what both sides say alike. Its text decides in which."""
    lot = zlib.crc32(f"{src}\t{tgt}".encode())
    if lot % 2:
        return src, tgt
    found = [places(re.compile(_SAME, SPAN.flags), side) for side in (src, tgt)]
    counts = [Counter(span for _, _, span in side) for side in found]
    same = [span for span, count in counts[0].items() if counts[1][span] == count][:n]
    # Numbered from anywhere, so that the model learns the last symbol as well as the first.
    names = {span: f"⟦{(lot // 2 + number) % n}⟧" for number, span in enumerate(same)}
    return _renamed(src, found[0], names)[0], _renamed(tgt, found[1], names)[0]


def _renamed(text: str, spans: Sequence[Place], names: Mapping[str, str]) -> tuple[str, list[int]]:
    """A text with names in place of some of its spans, and where in it each character and the end stood."""
    told, stood, done = "", list[int](), 0
    for start, end, span in spans:
        if name := names.get(span):
            told += text[done:start] + name
            stood += [*range(done, start), *[start] * len(name)]
            done = end
    return told + text[done:], [*stood, *range(done, len(text) + 1)]
