"""Markdown: markdown-it finds blocks and inline marks, and is asked where in the source each of them stands.

Code, formulas, front matter, link targets and tags stay as they are; a paragraph of several lines becomes one line. A
text that cannot be found in the source again is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

from yiwen.documents import web
from yiwen.documents.assembling import running, units_of
from yiwen.documents.markup import string_tokens
from yiwen.documents.unit import Part, Token, Unit, is_cjk

_FRONT: Final = re.compile(r"\A(---|\+\+\+)[ \t\r]*\n.*?\n\1[ \t\r]*(?:\n|\Z)", re.DOTALL)
_TASK: Final = re.compile(r"\[[ xX]\](?=\s)|\[!\w+\](?=\s|$)")
_LITERAL: Final = r"(?:https?://|(?<![A-Za-z\d])www\.)[^\s<>]+|\$?\{\{?[^{}\n]*\}\}?|\[-?@[^][\n]*\]|\[\[[^][\n]+\]\]"
_SPECIAL: Final = re.compile(rf"({_LITERAL})|[\\`*\[\]<]|(?<!\w)_|_(?!\w)|~(?=~)|&(?=#?\w+;)")
_FENCE: Final = re.compile(r"\s*(?::::|\[\[?_?TOC_?\]\]?\s*$|\*\[[^\]]+\]:|\{:[^{}]*\}\s*$)", re.IGNORECASE)
"""A row of a container."""
_ATTRIBUTES: Final = re.compile(r"\{:?\s*(?:[.#][\w-]|[\w-]+=)[^{}\n]*\}")
_LONE: Final = re.compile(r"\s*</?(?:b|i|u|s|em|strong|span|small|su[bp]|mark|del|ins|font)>\s*", re.IGNORECASE)
"""A row that makes a block of HTML of what follows, as long as it is alone."""
_BLOCK_START: Final = re.compile(r"(?:#{1,6}|[-+])(?=\s)|>|[!?]{3}|\$\$|[=~-]+\s*$|\d{1,9}(?=[.)]\s)")
_MARKS: Final = ("backticks", "strikethrough", "emphasis", "link", "image", "autolink", "html_inline")
_RULES: Final = (*_MARKS, "escape", "entity", "newline", "math_inline", "footnote_ref")

Lines = Sequence[tuple[int, int]]
"""Where each line of a text starts: in the text, and in the source."""


def texts(source: str) -> list[Part]:
    """The units of a Markdown document."""
    front = _FRONT.match(source)
    body = front.end() if front else 0
    starts = [body, *(match.end() for match in re.compile(r"\r\n?|\n").finditer(source, body)), len(source)]
    rows = [source[start:end].rstrip("\r\n") for start, end in pairwise(starts)]
    out: list[Part] = []
    at, cursor, kind = 0, 0, ""
    for token in _parser().parse("\n".join("" if _FENCE.match(row) else row for row in rows)):
        is_cell, is_title, kind = kind in ("td_open", "th_open"), kind == "admonition_title_open", token.type
        if token.type == "html_block" and not token.level:
            first, cursor = token.map[0], starts[token.map[1]]
            start = starts[first + bool(_LONE.fullmatch(rows[first]))]
            found = web.texts(source[start:cursor])
        elif is_title and f'"{token.content}"' not in rows[token.map[0]]:
            continue  # its kind, which nobody wrote as a title
        elif token.type == "inline" and (lines := _lines(token, rows, starts, cursor if is_cell else None)):
            start, cursor = lines[0][1], _where(lines, len(token.content))
            escape = partial(_escaped, is_cell=is_cell, is_title=is_title)
            found = running(_tokens(token, lines, source), partial(units_of, escape=escape, is_collapsed=True))
            found = [_with_stars(part) if isinstance(part, Unit) else part for part in found]
        else:
            continue
        if any(isinstance(part, Unit) for part in found):
            out += [source[at:start], *found]
            at = cursor
    return [*out, source[at:]]


def _lines(token: Any, rows: Sequence[str], starts: Sequence[int], cursor: int | None) -> Lines:
    """The lines of a text in the source; none where it is not written there as it reads.

    cursor: Where the cell before ended, for a cell of a table; any other text stands at the end of its lines.
    """
    found: list[tuple[int, int]] = []
    offset = 0
    for number, line in enumerate(token.content.split("\n"), token.map[0]):
        row, start = rows[number], starts[number]
        written = line if cursor is None else line.replace("|", r"\|")
        column = row.rfind(line) if cursor is None else row.find(written, max(0, cursor - start))
        if column < 0:
            return []
        found.append((offset, start + column))
        bars = re.finditer(r"\\\|", written) if cursor is not None else ()
        found += [(offset + bar.end() - n, start + column + bar.end()) for n, bar in enumerate(bars, 1)]
        offset += len(line) + 1
    return found


def _where(lines: Lines, offset: int) -> int:
    """The place in the source of a place in a text."""
    in_text, in_source = lines[bisect_right(lines, offset, key=lambda line: line[0]) - 1]
    return in_source + offset - in_text


def _tokens(token: Any, lines: Lines, source: str) -> Iterator[Token | str]:
    """Tokens of running text; where a line ends for good comes as a string."""
    at = label = 0

    def text_until(end: int) -> Iterator[Token]:
        raw = source[_where(lines, at) : _where(lines, end)] if at < end else ""
        n = len(task[0]) if not at and (task := _TASK.match(raw)) else 0
        if n:
            yield Token("point", raw[:n])
        if raw[n:]:
            yield Token("text", raw[n:], token.content[at + n : end])

    for child in token.children:
        if "at" not in child.meta or child.type == "text":  # text that only looked like a mark
            continue
        start, end = child.meta["at"]
        name, _, side = child.type.rpartition("_")
        if name == "strong":  # its token is the star or line that is nearer to the text
            start, end = (start - 1, end) if side == "open" else (start, end + 1)
        yield from text_until(start)
        if (side == "close" or name in ("image", "code_inline")) and (own := _ATTRIBUTES.match(token.content, end)):
            end = own.end()
        raw = source[_where(lines, start) : _where(lines, end)]
        at = end
        if child.type in ("code_inline", "math_inline") or child.info == "auto":
            yield Token("text", raw, child.content or raw[1:-1], is_kept=True)
        elif child.type == "text_special":
            yield Token("text", raw, child.content)
        elif child.type == "softbreak":
            yield Token("text", raw, "" if is_cjk(source[_where(lines, start) - 1]) else " ")
        elif child.type == "hardbreak" or raw.lower().startswith("<br"):
            yield raw
        elif child.type == "html_inline":
            yield from string_tokens(raw)
        else:
            label = end if name == "link" and side == "open" else label
            words = token.content[label:start] if raw in ("]", "][]") else ""  # they name the target
            again = f"][{' '.join(words.split())}]" if words else ""
            yield Token("open" if side == "open" else "close" if side == "close" else "point", raw, again, key=name)
    yield from text_until(len(token.content))


def _with_stars(unit: Unit) -> Unit:
    """`_` marks nothing inside of a word, which is anywhere in Chinese; `*` does."""
    stars = {"_": "*", "__": "**"}
    marks = (replace(m, before=stars.get(m.before, m.before), after=stars.get(m.after, m.after)) for m in unit.marks)
    return replace(unit, marks=tuple(marks), finish=_as_paragraph)


def _escaped(text: str, *, is_cell: bool, is_title: bool) -> str:
    text = _SPECIAL.sub(lambda found: found[1] or f"\\{found[0]}", re.sub(r"\s+", " ", text))
    return text.replace("|", "\\|") if is_cell else text.replace('"', "'") if is_title else text


def _as_paragraph(text: str) -> str:
    """Text that starts no list and no heading."""
    if match := _BLOCK_START.match(text):
        return f"{match[0]}\\{text[match.end() :]}" if match[0].isdigit() else f"\\{text}"
    return text


def _parser() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join").use(admon_plugin)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False)
    parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    for rule in parser.inline.ruler.__rules__:
        if rule.name in _RULES:
            parser.inline.ruler.at(rule.name, _located(rule.fn, rule.name))
    return parser


def _located(rule: Callable[[Any, bool], bool], name: str) -> Callable[[Any, bool], bool]:
    """An inline rule whose tokens say in `meta` from where to where in the text they stand."""

    def located(state: Any, silent: bool) -> bool:
        start, n_before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        new, end = state.tokens[n_before:], state.pos
        if silent or not new:
            return True
        if name == "link":
            opening = next(token for token in new if token.type == "link_open")
            opening.meta["at"] = (start, start + 1)
            new[-1].meta["at"] = (state.md.helpers.parseLinkLabel(state, start, True), end)
        elif name in ("emphasis", "strikethrough"):  # a token for each star, behind the text that waited
            for token in reversed(new):
                if end > start:
                    token.meta["at"] = (end - len(token.content), end)
                    end -= len(token.content)
        else:
            new[-3 if name == "autolink" else -1].meta["at"] = (start, end)
        return True

    return located
