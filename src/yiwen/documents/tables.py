"""Plain text, tables and JSON: the texts in them, and everything else as it is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from rich.cells import cell_len

from yiwen.documents.assembling import SAID, of_program, replaced, running, string_unit, texts_in, units_of
from yiwen.documents.markup import string_tokens
from yiwen.documents.unit import SENTENCE_END, Part, Token, is_cjk
from yiwen.errors import DataError

_STRING: Final = re.compile(r'(?P<string>"(?>(?:[^"\\]|\\.)*)")(?P<colon>\s*:\s*)?')
_CODE: Final = re.compile(
    r"(?=\S*[\d_/\\@.:-])(?![A-Za-z]+[.:]+\Z)[\w/\\@.:+#-]+={0,2}|[a-z]+[A-Z]\w*|data:\S+|(?:sep)?=.*"
    r"|(?!\S*:)\S*[/\\]\S*\.[A-Za-z]\w{1,3}|#[\da-fA-F]{3,8}|(?:rgb|hsl)a?\([^()]*\)",
    re.ASCII | re.DOTALL,
)
"""A cell or a value of one word that is a number, a date, an address, a colour, a name in a program or a path with
names in any script; a formula; the line by which Excel knows the separator."""
_VARIANT: Final = re.compile(rf"(?=[^|]* )\s*(?:\{{\d+\}}|\[\d+,(?:\d+|\*)\])?{SAID}")
_VARIANTS: Final = re.compile(rf"{_VARIANT.pattern}(?:\|{_VARIANT.pattern})+")
"""`no car | a car | {n} cars` of vue-i18n and `{0} No car|[1,*] Many cars` of Laravel, and one of these."""
_LOCALE: Final = re.compile(r'("@@locale"\s*:\s*)"[^"\\]*"')
_FORMULA: Final = ("=", "+", "-", "@")
_ROW: Final = re.compile(r"(\s*(?:(?:[-*•·#>|]+|\d+[.)])\s+)?)(.*)", re.DOTALL)
"""Indentation and bullet of a line, and its text."""
_WIDTHS: Final = range(40, 121)
"""Columns that people wrap text at; a Chinese character takes two."""


def lines(source: str) -> list[Part]:
    """Plain text: a line is a unit; lines that were wrapped at one width are one text and are wrapped again."""
    out: list[Part] = []
    rows: list[tuple[str, str]] = [_ROW.findall(row)[0] for row in source.split("\n")]
    starts = [n for n, (head, text) in enumerate(rows) if not n or head.strip() or not text or not rows[n - 1][1]]
    for start, end in pairwise([*starts, len(rows)]):
        item = rows[start:end]
        if not any("\t" in head + text for head, text in item) and _is_wrapped(item):
            tokens = [t for head, text in item for t in (Token("break", f"\n{head}"), Token("text", text, text))]
            out += [item[0][0], *units_of(tokens[1:]), "\n"]
            continue
        for head, text in item:
            parts = (cell if cell == "\t" else Token("text", cell, cell) for cell in re.split("(\t)", text))
            out += [head, *running(parts, units_of), "\n"]
    return out[:-1]


def _is_wrapped(rows: Sequence[tuple[str, str]]) -> bool:
    """True where each line ends because the next word had no room, and not each because a sentence does.

    The lines below the first are indented alike: as far as it or less, and under a bullet at least a little.
    """
    (head, _), *later = rows
    widths = [cell_len(indent + text) for indent, text in rows]
    indents = {len(indent) for indent, _ in later}
    least = 1 if head.strip() else 0  # a bullet
    if len(indents) != 1 or not least <= min(indents) <= len(head) or max(widths) not in _WIDTHS:
        return False
    next_words = [cell_len(text[0] if is_cjk(text) else f"{text.split()[0]} ") for _, text in later]
    is_full = all(width + word > max(widths) for width, word in zip(widths, next_words, strict=False))
    *end_sentences, ends_last = (bool(SENTENCE_END.search(text)) for _, text in rows)
    # Any two lines of Chinese fit so far: those of one indentation that end as no sentence does are titles and names.
    are_titles = not ends_last and head == later[0][0] and any(is_cjk(text) for _, text in rows)
    return is_full and not all(end_sentences) and not are_titles


def cells(source: str, *, is_tsv: bool) -> list[Part]:
    """A table: cells are units. What separates them, quotes and what is no prose stay as they are."""
    first = re.sub(r'"[^"]*"', "", source.partition("\n")[0])
    delimiter = "\t" if is_tsv else max(",;\t|", key=lambda sign: (_n_columns(source, sign) > 1, first.count(sign)))
    inner = r"[^\"\t\n]" if is_tsv and not _n_columns(source, "\t") else '[^"]'  # in TSV a quote may be just a quote
    between = re.escape(delimiter)
    pattern = re.compile(rf'("(?>(?:{inner}|"")*)"(?=[{between}\r\n]|$)|[^{between}\r\n]*+)(?:\r?\n|[{between}\r]|$)')
    return replaced(source, pattern, partial(_cell, delimiter=delimiter))


def _cell(cell: str, *, delimiter: str) -> list[Part]:
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    text = cell[1:-1].replace('""', '"') if is_quoted else cell
    finish = partial(_written, is_quoted=is_quoted, delimiter=delimiter, is_formula=text.startswith(_FORMULA))
    return [_string(text, finish, raw=cell, is_joined=False)]


def _n_columns(source: str, delimiter: str) -> int:
    """How many cells each row has if quotes are those of a spreadsheet; 0 where not all have as many."""
    rows = csv.reader(io.StringIO(source, newline=""), delimiter=delimiter, strict=True)
    try:
        lengths = {len(row) for row in rows if row}
    except csv.Error:
        return 0
    return lengths.pop() if len(lengths) == 1 else 0


def _written(text: str, *, is_quoted: bool, delimiter: str, is_formula: bool) -> str:
    if text.startswith(_FORMULA) and not is_formula:
        text = f"'{text}"  # a spreadsheet would compute it
    if delimiter == "\t" and not is_quoted:
        return re.sub(r"\s+", " ", text)
    if is_quoted or re.search(rf'["\r\n{re.escape(delimiter)}]', text):
        return '"{}"'.format(text.replace('"', '""'))
    return text


def values(source: str, *, tgt_lang: str = "") -> list[Part]:
    """JSON: the strings that are values, never keys, nor what a key that begins with @ tells programs (ARB, JSON-LD).

    But for the language of an ARB file, which becomes that of the translation: Flutter reads no other.

    Raises:
        DataError: If it is no JSON.
    """
    try:
        json.loads(source)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}; correct it first") from error
    if tgt_lang:
        source = _LOCALE.sub(rf'\1"{tgt_lang.replace("-", "_")}"', source)
    out, at, until = list[Part](), 0, 0  # before `until` all belongs to such a key
    for match in _STRING.finditer(source):  # in JSON that is well-formed a quote stands nowhere else
        text = json.loads(raw := match["string"])
        if match["colon"] and match.start() >= until and text.startswith("@") and text not in ("@graph", "@value"):
            until = json.JSONDecoder().raw_decode(source, match.end())[1]
        if not match["colon"] and match.start() >= until:
            inner, value = raw[1:-1], partial(_value, is_ascii=raw.isascii() and not text.isascii())
            found = _VARIANT if _VARIANTS.fullmatch(inner) else texts_in(inner)
            out += [source[at : match.start() + 1], *replaced(inner, found, value)]
            at = match.end("string") - 1
    return [*out, source[at:]]


def _value(raw: str, *, is_ascii: bool) -> list[Part]:
    finish = partial(_escaped, raw=raw, is_ascii=is_ascii)
    return [of_program(_string(json.loads(f'"{raw}"'), finish, raw=raw, is_joined=True))]


def _escaped(text: str, *, raw: str, is_ascii: bool) -> str:
    """A translation as JSON has it; its apostrophe before a brace (l'{name}) would quote this in a message of ICU."""
    return json.dumps(text if "'{" in raw else text.replace("'{", "’{"), ensure_ascii=is_ascii)[1:-1]


def is_code(text: str) -> bool:
    """True where a cell or a value is a number, a name in a program, or the like: nothing that has a translation."""
    return _CODE.fullmatch(text.strip()) is not None


def _string(text: str, finish: Callable[[str], str], *, raw: str, is_joined: bool) -> Part:
    # Half a character, as "\ud83d" in JSON, is nothing that anybody can translate.
    tokens = () if is_code(text) or re.search("[\ud800-\udfff]", text) else string_tokens(text, is_joined=is_joined)
    return string_unit(tokens, finish, raw=raw)
