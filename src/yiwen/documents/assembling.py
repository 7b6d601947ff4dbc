"""From tokens, running text as a format sees it, to units.

Addresses, placeholders, formulas and messages that programs read come out of a translation as they went in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, chain, groupby
from typing import Any, Final

from yiwen.documents.markup import OPTION, Piece, source_of
from yiwen.documents.unit import Escape, Mark, Parser, Part, Span, Token, Unit, Wrap, ends_cjk
from yiwen.text.protect import ARGUMENT, AROUND, LINKED, apart, places

DEEPEST: Final = 64
"""Formatting inside formatting; what lies deeper keeps its order and no longer its words."""
BLANK: Final = " \t\r\n\f"
_BLANKS: Final = re.compile(f"[{BLANK}]+")
_KEEP: Final = re.compile(
    r"""(?:(?:https?|ftp)://|(?<![A-Za-z\d])www\.)[^{AROUND}]*[^{AROUND}.,;:!?)]
    | (?a:(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+) | \$?\{?\{\{[^{}]*\}\}\}? | [$%\#]\{[^{}]*\}
    | \{:?\s*(?:[.\#][\w-]|[\w-]+=["'\w])[^{}\n]*\}         # {: .note #id key="v"} of Markdown
    | \[\[[^\[\]\n]+\]\] | \[-?@\w[^\[\]\n]*\] | (?<![\w:])(?a::(?:[a-z+][\w+-]*:|[A-Za-z]\w+)(?![\w:]))
    | \\\([^\n]{0,500}?\\\) | \\\[[^\n]{0,500}?\\\] | &(?:\w+|\#\d+|\#x[0-9a-fA-F]+);  # \(x\) and \[x\] of MathJax
    | \$[A-Z][A-Z\d_]*\$ | \$t\([^()\n]*\) | %(?:\d+\$)?\#@\w+@ | (?<![\w&\#])\#(?=\s|\Z|[\u3040-\u9fff])
    | (?a:(?<![\w$])\$[A-Za-z_]\w*|(?<![\w@.])@[A-Za-z]\w+ | (?<![\w%])%(?:[A-Za-z][\w.-]*|%[A-Za-z][\w.-]*%)%(?![\w%])
    | (?<![\w%])(?<!\d\s)%(?!l{0,2}[dfsu]|ll?[ix])[a-z_]{3,}\w*) | \{%[^{}\n]*?%\} | \{[^{}\s,]*\}
    | \{[\w.]*(?:,-?\d+)?(?::(?:%[^{}\n]*|[^{}\s]*))?\}     # {price:,.2f}, {0,10:N2}, {when:%d %m}
    | \{\w+,\s*(?:number|date|time|plural|select|selectordinal)  # ICU
      (?:,(?>(?:[^{}]|\{(?>(?:[^{}]|\{[^{}]*\})*)\})*))?\}
    | %(?:\(\w+\)|<\w+>|\d+\$)?[-+0\#']*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?
      (?:[diouxXeEfFgGcsp@](?!(?a:\w))|(?<!\d%)(?<!\d\s%)(?<!%[1-9]\d)[dfsu]) | %%  # %dms, but neither 5 %of nor %20d
    | (?<![A-Za-z\d`])(``?)[^`'\n]{1,80}\1(?![A-Za-z\d`])""".replace("{AROUND}", AROUND)
    + rf" | {ARGUMENT} | {LINKED}",
    re.VERBOSE,
)
"""Addresses, placeholders, entities of another language, what a dialect of Markdown knows and ours does not, code.

Of Laravel `:name`, of Chrome `$NAME$`, of i18next `$t(key)`, of PHP and Dart `$name`, of Drupal `@name` and `%name`, of
Symfony `%name%`, of Xcode `%#@name@` and `%arg`, in a plural of ICU `#`; `[[link]]`, `[@note]`, `:smile:`.
"""
_SPACE: Final = r"(?>(?:\s|&nbsp;)*)"
_BAR: Final = rf"{_SPACE}(?>(?:(?:[|•·\u200c]|&(?:bull|middot|zwnj);){_SPACE})+)"
SIGNS: Final = re.compile(rf"((?:\A|(?<![\s;|•·\u200c])(?=[\s&]))(?:(?<!\b\w){_BAR}|{_BAR}(?!\w\b))(?:\Z|(?<=[\s;])))")
"""What stands between the texts of a menu or a title: Home | About us · Help; not in a formula, P(A | B).

With zwnj, which mails put behind their first words for nobody to see.
"""
_MESSAGE: Final = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
"""How a message of ICU begins."""
SAID: Final = r"((?>(?:[^{}|<>']|'(?![{}])|\{[^{}|]*\}|</?\w[^<>]*>)+))"
"""A text with placeholders and tags in it."""
_GAP: Final = r"(?:\s|\\[nrt])*"
"""Blanks and line breaks in a string of JSON."""
_BRANCH: Final = re.compile(rf"(?:=\d+|\w+){_GAP}\{{{SAID}\}}{_GAP}")
_COUNTED: Final = re.compile(rf"\{{\s*[\w.]+,{_GAP}(?:plural|select(?:ordinal)?),{_GAP}(?:{_BRANCH.pattern})+\}}")
"""A message of ICU, not in another one, and one of its branches."""
_ROWS: Final = re.compile(rf"((?>[^\n]+|\n(?!{OPTION}))+)")
"""A text up to where the next row is that of an option: all but help texts have one."""
_MNEMONIC: Final = re.compile(
    r"(?<!\S)(?:[A-Z][a-z]*(?=[_&]+[a-z]+\b)|[a-z]{2,}(?=&+[a-z]))?(_|&&?)([^\W\d_])(?![^\W_]*(?:[_;]|\(\)|\.\w))"
)
"""`_File`, `E_xit`, `log &out`, `&&File` of Visual Studio Code; neither `R&D` nor `log_file`, `_name()`, `&amp;`."""
_KEYLESS: Final = r"[\u0900-\u0dff\u0f00-\u0fff\u3040-\u9fff\uac00-\ud7a3]"
"""A letter that no key has: Indic, Tibetan, Japanese, Chinese, Korean."""
_LONGEST_LABEL: Final = 80
_OF_PROGRAMS: Final = rf"{_KEEP.pattern} | (?<![\w$])\$[1-9](?![.,]?\d)"
"""With $1 of MediaWiki and of extensions of browsers, and $2 beside it; alone, or in other texts, these are prices.

This and _KEYLESS are compiled where they are needed: few documents do, and both processes of each would wait for them.
"""


def running(tokens: Iterable[Token | Part], units: Callable[[list[Token]], list[Part]]) -> list[Part]:
    """The parts that `units` makes of each running text and, between them, what comes as a part already."""
    out: list[Part] = []
    parted = chain.from_iterable(map(_parted, tokens))
    for is_text, group in groupby(parted, key=lambda token: isinstance(token, Token)):
        found: list[Any] = [*group]
        out += units(found) if is_text else found
    return out


def _parted(token: Token | Part) -> Sequence[Token | Part]:
    """A text, cut at the signs of a menu, which come as they are written."""
    if isinstance(token, Token) and token.kind == "text" and not (token.is_kept or token.wrap[0]):
        raws, texts = SIGNS.split(token.raw), SIGNS.split(token.text)
        if len(raws) == len(texts):
            both = zip(raws, texts, strict=True)
            return [raw if SIGNS.fullmatch(raw) else Token("text", raw, text) for raw, text in both]
    return [token]


def kept_token(pieces: Sequence[Piece]) -> Token:
    """An element that stays as it is, and whole: its words have an order of their own."""
    text = "".join(piece.text for piece in pieces)
    return Token("text" if text.strip() else "point", source_of(pieces), text, is_kept=True)


def string_unit(tokens: Iterable[Token], finish: Escape, *, raw: str) -> Part:
    """A whole string of a file as one unit, which `finish` quotes; its source where there is nothing to translate."""
    match units_of(tokens):
        case [str(before), Unit() as unit, str(after)]:
            return replace(unit, raw=raw, finish=lambda text: finish(f"{before}{text}{after}"))
    return raw


def texts_in(string: str) -> re.Pattern[str]:
    """How the texts of a string of a program are found: that of each branch of a message, or of each option, or all."""
    return _BRANCH if _COUNTED.fullmatch(string) else _ROWS


def replaced(source: str, text: re.Pattern[str], parse: Parser, *, escape: Escape = str) -> list[Part]:
    """The source, as `escape` writes it, with the parts of each text, the group of a pattern, in its place."""
    out, at = list[Part](), 0
    for match in text.finditer(source):
        out += [escape(source[at : match.start(1)]), *parse(match[1])]
        at = match.end(1)
    return [*out, escape(source[at:])]


def of_program(unit: Part) -> Part:
    """A string of a program, of which $1 is kept, without the sign of a mnemonic; written, it has one again.

    A mnemonic is the letter that a menu underlines.
    """
    if isinstance(unit, str):
        return unit
    if "$1" in unit.text:
        unit = replace(unit, keep=_kept(unit.text, unit.marks, re.compile(_OF_PROGRAMS, _KEEP.flags)))
    is_label = len(unit.text) <= _LONGEST_LABEL and unit.text.count("_") <= 1 and not unit.marks
    signs = [*_MNEMONIC.finditer(unit.text)] if is_label else []
    if len(signs) != 1 or any(a <= signs[0].start(1) < b for a, b in unit.keep):
        return unit
    start, end = signs[0].span(1)
    sign, letter = unit.escape(signs[0][1]), signs[0][2].lower()
    text = unit.text[:start] + unit.text[end:]
    keep = tuple((a, b) if b <= start else (a + start - end, b + start - end) for a, b in unit.keep)
    return replace(unit, text=text, keep=keep, finish=lambda said: unit.finish(_signed(said, sign=sign, letter=letter)))


def _signed(said: str, *, sign: str, letter: str) -> str:
    """A translation with a mnemonic as translators write it; one without letters as it is.

    Behind the text in scripts that no key has; else the same one where a word begins with it, or the first.

    >>> _signed("打开 %s…", sign="_", letter="o"), _signed("%s neu öffnen", sign="&", letter="n")
    ('打开 %s(_O)…', '%s &neu öffnen')
    """
    if re.search(_KEYLESS, said):
        return re.sub(r"[\s.…:：。!！?？]*\Z", rf"({sign}{letter.upper()})\g<0>", said, count=1)
    kept = {place for start, end in _kept(said, ()) for place in range(start, end)}
    starts = [word.start() for word in re.finditer(r"(?<![^\W\d_])[^\W\d_]", said) if word.start() not in kept]
    at = next((start for start in starts if said[start].lower() == letter), starts[0] if starts else None)
    return said if at is None else f"{said[:at]}{sign}{said[at:]}"


def units_of(
    tokens: Iterable[Token], *, escape: Escape = str, is_collapsed: bool = False, wrap: Wrap = ("", "")
) -> list[Part]:
    """Running text as at most one unit, and what stands before and after it.

    Formatting around the whole, blanks and codes at the edges stay outside, so that most units have no marks at all.

    Args:
        tokens: The running text.
        escape: Makes text safe in the format.
        is_collapsed: Blanks in a row count as one, as in HTML.
        wrap: Goes around each piece of text outside of marks.
    """
    tokens = _apart(tokens)
    partner = pairs(tokens)
    first, end = _core(tokens, partner)
    source, start = source_of(tokens), len(source_of(tokens[:first]))
    for number, strip in ((first, str.lstrip), (end - 1, str.rstrip)):
        if first < end and (token := tokens[number]).kind == "text":
            tokens[number] = token._replace(raw=strip(token.raw, BLANK), text=strip(token.text, BLANK))
    raw = source_of(tokens[first:end])
    start = source.index(raw, start)
    text, marks = _assembled(tokens, range(first, end), partner, is_collapsed=is_collapsed)
    keep = _kept(text, marks)
    if not _is_prose(text, keep):
        return [source]
    return [source[:start], Unit(text, marks, keep, raw=raw, escape=escape, wrap=wrap), source[start + len(raw) :]]


def _apart(tokens: Iterable[Token]) -> list[Token]:
    """Tokens with a break between sentences that only tags set apart: a model would read of tea.He.

    Breaks in a row are one, or a word of the next line would come between them.
    """
    # The tokens, the last character of their texts so far, and the place behind the last text or end tag.
    out, end, place = list[Token](), "", 0
    for token in tokens:
        if out and out[-1].kind == "break" and (token.kind == "break" or token.text.isspace()):
            last = out.pop()
            token = Token("break", last.raw + token.raw, last.text + token.text)
        if end and end in ".!?:;" and token.kind == "text" and out[-1].kind != "text" and token.text[:1].isupper():
            out.insert(place, Token("break", ""))
        if token.kind in ("text", "break"):
            end = token.text[-1:]
        out.append(token)
        if token.kind in ("text", "close"):
            place = len(out)
    return out


def pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """The partner of each token that opens or closes something, in both directions; none for a tag without one."""
    partner, stack = dict[int, int](), list[int]()
    crossed: dict[str, int] = {}  # key of an open tag -> the `close` of another tag that came first
    for number, token in enumerate(tokens):
        if token.kind == "open" and len(stack) < DEEPEST:
            stack.append(number)
        elif token.kind == "close" and token.key in (tokens[opening].key for opening in stack):
            while (key := tokens[stack[-1]].key) != token.key:  # never closed, or later
                crossed[key] = number
                stack.pop()
            partner[number] = stack[-1]
            partner[stack.pop()] = number
        elif token.kind == "close" and token.key in crossed:  # <b>a<i>b</b>c</i>: none is a pair, all keep their order
            opening = partner.pop(crossed.pop(token.key), None)
            if opening is not None:
                del partner[opening]
    return partner


def _core(tokens: Sequence[Token], partner: dict[int, int]) -> tuple[int, int]:
    """First token of the text and the one behind its last: what stands around has no words, or is around all of it."""
    is_said = (token.kind == "text" and bool(token.text.strip(BLANK)) for token in tokens)
    n_said = [0, *accumulate(is_said)]  # texts before each token

    def says_nothing(number: int) -> bool:
        return n_said[number] == n_said[partner.get(number, number + 1)]

    first, last = 0, len(tokens) - 1
    while first <= last:
        if says_nothing(first):
            first += 1
        elif says_nothing(last):
            last -= 1
        elif partner.get(first) == last and not tokens[last].text:
            first, last = first + 1, last - 1
        else:
            break
    return first, last + 1


def _assembled(
    tokens: Sequence[Token], numbers: range, partner: dict[int, int], *, is_collapsed: bool
) -> tuple[str, tuple[Mark, ...]]:
    """The text of these tokens, and its marks."""
    text, marks, opened = "", list[Mark](), list[int]()  # these are the numbers of the marks that are open
    for number in numbers:
        token = tokens[number]
        parent = opened[-1] if opened else -1
        length, end, piece = len(text), text[-1:] or " ", ""
        if token.kind == "text":
            piece = _BLANKS.sub(" ", token.text) if is_collapsed else token.text
            if end == " " and piece.startswith(" "):  # a translation would not know of two
                rest = piece[1:] if piece.strip() else ""
                blank = " " if rest or (is_collapsed and token.raw.isspace()) else token.raw
                point = _point_before(length, marks, parent)
                if point > parent:  # between blanks it takes one with it
                    marks[point] = replace(marks[point], after=marks[point].after + blank)
                elif point >= 0 and not is_collapsed:  # it is open
                    marks[point] = replace(marks[point], before=marks[point].before + blank)
                if point >= 0 or is_collapsed:
                    piece = rest
            if token.is_kept and piece.strip():
                marks.append(Mark(length, length + len(piece), parent, is_code=True, before=token.raw.strip(BLANK)))
        elif token.kind == "break":
            piece = "" if ends_cjk(end) else " "
            marks.append(Mark(length, length + len(piece), parent, is_break=True, before=token.raw, after=token.text))
        elif token.kind == "open" and number in partner:
            closing = tokens[partner[number]]
            opened.append(len(marks))
            after = closing.text or closing.raw
            marks.append(Mark(length, length, parent, before=token.raw, after=after, wrap=token.wrap))
        elif token.kind == "close" and number in partner:
            marks[opened.pop()] = replace(marks[parent], end=length)
        else:
            marks.append(Mark(length, length, parent, before=token.raw))
        text += piece
    return text, _without_blanks(marks, text)


def _point_before(place: int, marks: Sequence[Mark], parent: int) -> int:
    """The mark, open or not, that stands right before a place and holds nothing; -1: none.

    Of several inside each other it is the outermost, as long as that is inside of `parent`.
    """
    point = len(marks) - 1
    while point >= 0 and marks[point].parent > parent and marks[marks[point].parent].start == place:
        point = marks[point].parent
    holds_nothing = point >= 0 and marks[point].start == marks[point].end == place
    return point if holds_nothing and not marks[point].is_break else -1


def _without_blanks(marks: Sequence[Mark], text: str) -> tuple[Mark, ...]:
    """Marks that start and end at words; around blanks alone they are points, which no word belongs to.

    A point that stood behind the blank which its parent ended with takes one along, and a break at the edge of a mark
    stands outside of it.
    """
    found: list[Mark] = []
    for mark in marks:
        if mark.is_break:
            while mark.parent >= 0 and not found[mark.parent].start <= mark.start <= mark.end <= found[mark.parent].end:
                mark = replace(mark, parent=found[mark.parent].parent)
        else:
            inner = text[mark.start : mark.end]
            start = mark.start + len(inner) - len(inner.lstrip(BLANK))
            mark = replace(mark, start=start, end=start + len(inner.strip(BLANK)))
            if mark.parent >= 0 and max(found[mark.parent].end, found[-1].end) < mark.start == mark.end:
                mark = replace(mark, before=" ".join(found[mark.parent].wrap) + mark.before)
        found.append(mark)
    return tuple(found)


def _is_prose(text: str, keep: Sequence[Span]) -> bool:
    """True where there is a letter outside of what is kept, and no message of ICU, which must be kept whole.

    One with a tag inside is not, and such a text cannot be translated at all.
    """
    inside = {place for span in keep for place in range(*span)}
    is_whole = all(found.start() in inside for found in _MESSAGE.finditer(text))
    return is_whole and any(sign.isalpha() and place not in inside for place, sign in enumerate(text))


def _kept(text: str, marks: Sequence[Mark], pattern: re.Pattern[str] = _KEEP) -> tuple[Span, ...]:
    """Where code stands, and outside of it what the pattern finds, unless a mark begins or ends inside."""
    code = [(mark.start, mark.end, "") for mark in marks if mark.is_code]
    edges = [(edge, edge, "") for mark in marks for edge in (mark.start, mark.end)]
    found = apart(places(pattern, text), [*code, *edges])
    return tuple(sorted((start, end) for start, end, _ in [*code, *found]))
