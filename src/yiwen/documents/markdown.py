"""Markdown: markdown-it finds blocks and inline marks, and is asked where in the source each of them stands.

Code, formulas, front matter, link targets and tags stay as they are; a paragraph of several lines becomes one line. A
text that cannot be found in the source again is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

from yiwen.documents import web
from yiwen.documents.assembling import running, units_of
from yiwen.documents.markup import CODE, string_tokens
from yiwen.documents.unit import Mark, Part, Token, Unit, ends_cjk

_LINE_END: Final = re.compile(r"\r\n?|\n")
_FRONT: Final = re.compile(r"\A(---|\+\+\+)[ \t\r]*\n.*?\n\1[ \t\r]*(?:\n|\Z)", re.DOTALL)
_TASK: Final = re.compile(r"\[[ xX]\](?=\s)|\[!\w+\](?=\s|$)")
_LITERAL: Final = r"(?:https?://|(?<![A-Za-z\d])www\.)[^\s<>]+|\{[^{}]*\}|\[(?:-?@[^][]*|\[[^][]+\]|[^][]+(?=\]\{))\]"
_SPECIAL: Final = re.compile(rf"({_LITERAL})|[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|&(?=#?\w+;)")
_FENCE: Final = re.compile(
    r"\s*(?::::|(?i:\[\[?_?TOC_?\]\]?)\s*$|\*\[[^\]]+\]:|\{:[^{}]*\}\s*$)"
    r"""|import\s(?:[A-Z{*][^'"]*\sfrom\s*|(?:[^'"]*\sfrom)?\s*(?=\S+[./;]))['"][^'"\s]+['"];?\s*$"""
    r"""|export\s+(?:(?:default\s+)?(?:const|let|function)\s+\w+\s*[=(:]|[{*][^'"]*\sfrom\s*['"]\S+['"];?\s*$)"""
)
"""A row of a container, or of MDX, which begins at the margin."""
_ATTRIBUTES: Final = re.compile(r"\{:?\s*(?:[.#][\w-]|[\w-]+=)[^{}\n]*\}")
_TAB: Final = re.compile(r'^(\s*)===[!+]?(?=\s+"[^"]+"\s*$)')
"""A tab of MkDocs, which is to the parser what an admonition is."""
_LONE: Final = re.compile(r"\s*</?(?:b|i|u|s|em|strong|span|small|su[bp]|mark|del|ins|font)>\s*", re.IGNORECASE)
"""A row that makes a block of HTML of what follows, as long as it is alone."""
_HEAD: Final = re.compile(r"[\s\d.*)+-]*(?=<)")
"""What stands before HTML in lists; in a quotation a > does, which no text may hold."""
_BARS: Final = re.compile(r"\n[ \t|:]*-[ \t|:-]*(?=\n|\Z)")
"""A row that makes a table of the one before it, where both have as many cells."""
_CELLS: Final = r"(?![ \t>]*(?:```|~~~|<|$)).*+\n?"
_DRAWN: Final = re.compile(rf"^(?:{_CELLS})?[ \t]*--+(?:[ \t]+--+)+[ \t]*\n(?:{_CELLS})*", re.MULTILINE)
"""A simple table of Pandoc: a head, dashes under each column, and rows up to an empty one, or one that ends code."""
_BLOCK_START: Final = re.compile(r"\A(?:(?:#{1,6}|[-+])(?=\s)|>|[!?=]{3}|\$\$|[=~-]+\s*$|\d{1,9}(?=[.)]\s))")
_FOOTNOTE: Final = re.compile(r"\[\^[^ \n\]]{1,999}\]")
"""Asked before the rule, which would look as far as the end for each `[^`."""


@dataclass(frozen=True)
class _Located:
    """A text as markdown-it reads it, and where it stands in the source."""

    text: str
    source: str
    starts: Sequence[tuple[int, int]]
    """Where each stretch that both have alike starts: in the text, and in the source."""

    def place(self, at: int) -> int:
        """The place in the source of a place in the text."""
        in_text, in_source = self.starts[bisect_right(self.starts, at, key=lambda start: start[0]) - 1]
        return in_source + at - in_text

    def raw(self, start: int, end: int) -> str:
        """The source of a part of the text."""
        return self.source[self.place(start) : self.place(end)]


def texts(source: str) -> list[Part]:
    """The units of a Markdown document."""
    front = _FRONT.match(source)
    body = front.end() if front else 0
    starts = [body, *(match.end() for match in _LINE_END.finditer(source, body)), len(source)]
    rows = [source[start:end].rstrip("\r\n") for start, end in pairwise(starts)]
    plain = _DRAWN.sub(lambda table: re.sub(r"[^\r\n]", "", table[0]), source[body:])
    read = ["" if _FENCE.match(row) else _TAB.sub(r"\1!!! tab", row) for row in _LINE_END.split(plain)]
    out, done, before = list[Part](), 0, ""  # `done` is the end of the source in `out`, `before` the kind of a token
    cell_end = 0  # of a table's cell, behind which the next one is looked for
    for token in _parser().parse("\n".join(read)):
        is_cell, is_title = before in ("td_open", "th_open"), before == "admonition_title_open"
        before = token.type
        if token.type == "html_block" and (head := _HEAD.match(rows[token.map[0]])):
            first, end = token.map[0], starts[token.map[1]]
            start = starts[first + 1] if _LONE.fullmatch(rows[first], head.end()) else starts[first] + head.end()
            found = web.texts(source[start:end])
        elif (is_title and f'"{token.content}"' not in rows[token.map[0]]) or _keeps_bars(token):
            continue  # its kind, which nobody wrote as a title; or text that could turn into a table
        elif token.type == "inline" and (lines := _lines(token, rows, starts, cell_end if is_cell else None)):
            located = _Located(token.content, source, lines)
            start, end = located.place(0), located.place(len(token.content))
            escape = partial(_escaped, is_cell=is_cell, is_title=is_title)
            found = running(_tokens(token.children, located), partial(units_of, escape=escape, is_collapsed=True))
            found = [_with_stars(part) if isinstance(part, Unit) else part for part in found]
        else:
            continue
        cell_end = end
        if any(isinstance(part, Unit) for part in found):
            out += [source[done:start], *found]
            done = end
    return [*out, source[done:]]


def _keeps_bars(token: Any) -> bool:
    """True where a row of bars stays a row, as in code or behind a hard break: the one before may become its head.

    So it does in a table that Pandoc draws with + and - around its cells.
    """
    soft = {token.content.index("\n", each.meta["at"][0]) for each in token.children or () if each.type == "softbreak"}
    return token.content.startswith("+-") or any(bars.start() not in soft for bars in _BARS.finditer(token.content))


def _lines(token: Any, rows: Sequence[str], starts: Sequence[int], cell_end: int | None) -> list[tuple[int, int]]:
    """Where the lines of a text start, in it and in the source; none where it is not written there as it reads.

    cell_end: Where the cell before ended, for a cell of a table; any other text stands at the end of its lines.
    """
    found, offset = list[tuple[int, int]](), 0
    for number, line in enumerate(token.content.split("\n"), token.map[0]):
        row, start = rows[number], starts[number]
        written = line.replace("|", r"\|")  # in a cell
        column = row.rfind(line) if cell_end is None else row.find(written, max(0, cell_end - start))
        if column < 0:
            return []
        found.append((offset, start + column))
        if cell_end is not None:
            bars = (bar.end() for bar in re.finditer(r"\\\|", written))  # the text has them without a backslash
            found += [(offset + bar - n, start + column + bar) for n, bar in enumerate(bars, 1)]
        offset += len(line) + 1
    return found


def _tokens(children: Sequence[Any], located: _Located) -> Iterator[Token | str]:
    """Tokens of running text; where a line ends for good comes as a string."""
    text = located.text
    at = label = 0
    for child in children:
        if "at" not in child.meta or child.type == "text" or child.meta["at"][0] < at:
            continue  # text that only looked like a mark, or a mark inside of attributes
        start, end = child.meta["at"]
        name, _, side = child.type.rpartition("_")
        if name == "strong":  # its token is the star or line that is nearer to the text
            start, end = (start - 1, end) if side == "open" else (start, end + 1)
        yield from _text_tokens(located, at, start)
        if (side == "close" or child.type in ("image", "code_inline")) and (own := _ATTRIBUTES.match(text, end)):
            end = own.end()
        raw = located.raw(start, end)
        at = end
        if child.type in ("code_inline", "math_inline") or child.info == "auto":
            yield Token("text", raw, child.content or raw[1:-1], is_kept=True)
        elif child.type == "text_special":
            yield Token("text", raw, child.content)
        elif child.type == "softbreak":
            yield Token("text", raw, "" if ends_cjk(located.source[located.place(start) - 1]) else " ")
        elif child.type == "hardbreak" or raw.lower().startswith("<br"):
            yield raw
        elif child.type == "html_inline":
            at = code.end() if (code := CODE.match(text, start)) else end
            yield from string_tokens(located.raw(start, at))
        elif side == "open":
            label = end if name == "link" else label
            yield Token("open", raw, key=name)
        elif side == "close":
            # In [words][] and [words] these name the target, so that it has to be named where they change.
            again = f"][{' '.join(text[label:start].split())}]" if raw in ("]", "][]") and text[label:start] else ""
            yield Token("close", raw, again, key=name)
        else:
            yield Token("point", raw)
    # Attributes of a heading stand behind a blank, whatever the translation.
    end = next((own.start() for own in _ATTRIBUTES.finditer(text, at) if own.end() == len(text)), len(text))
    yield from _text_tokens(located, at, end)
    yield Token("point", located.raw(end, len(text)))


def _text_tokens(located: _Located, start: int, end: int) -> Iterator[Token]:
    """A part of a text without marks; the box of a task at its beginning is none of it."""
    raw = located.raw(start, end)
    n = len(box[0]) if start == 0 and (box := _TASK.match(raw)) else 0
    if n:
        yield Token("point", raw[:n])
    if raw[n:]:
        yield Token("text", raw[n:], located.text[start + n : end])


def _with_stars(unit: Unit) -> Unit:
    """`_` marks nothing inside of a word, which is anywhere in Chinese; `*` does, but two of them are no `**`."""

    def starred(mark: Mark) -> Mark:
        sign = mark.before.strip()
        if sign not in ("*", "_", "__"):
            return mark
        outer = unit.marks[mark.parent] if mark.parent >= 0 else Mark(0, 0)
        is_twice = outer.before.strip() in ("*", "_") and (outer.start, outer.end) == (mark.start, mark.end)
        new = "_" if is_twice and len(sign) == 1 else "*" * len(sign)
        return replace(mark, before=mark.before.replace(sign, new), after=mark.after.replace(sign, new, 1))

    return replace(unit, marks=tuple(map(starred, unit.marks)), finish=_as_paragraph)


def _escaped(text: str, *, is_cell: bool, is_title: bool) -> str:
    text = _SPECIAL.sub(lambda found: found[1] or f"\\{found[0]}", re.sub(r"\s+", " ", text))
    if is_cell:
        return text.replace("|", "\\|")
    return text.replace('"', "'") if is_title else text


def _as_paragraph(text: str) -> str:
    """Text that starts no list and no heading."""
    return _BLOCK_START.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", text)


def _parser() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins import admon, deflist, dollarmath, footnote

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join").use(admon.admon_plugin)
    parser.use(deflist.deflist_plugin).use(dollarmath.dollarmath_plugin, allow_space=False, allow_digits=False)
    parser.use(footnote.footnote_plugin, move_to_end=False, always_match_refs=True)
    for rule in parser.inline.ruler.__rules__:
        if rule.name != "text":  # which makes no tokens
            parser.inline.ruler.at(rule.name, partial(_applied, rule.fn, rule.name))
    return parser


def _applied(rule: Callable[[Any, bool], bool], name: str, state: Any, silent: bool) -> bool:
    """Apply an inline rule, and note in the `meta` of its tokens from where to where in the text they stand."""
    start, n_before = state.pos, len(state.tokens)
    if (name == "footnote_ref" and not _FOOTNOTE.match(state.src, start)) or not rule(state, silent):
        return False
    new, end = state.tokens[n_before:], state.pos  # none where it is only asked whether there is a mark
    if new and name == "link":
        next(token for token in new if token.type == "link_open").meta["at"] = (start, start + 1)
        new[-1].meta["at"] = (state.md.helpers.parseLinkLabel(state, start, True), end)
    elif name in ("emphasis", "strikethrough"):  # a token for each star, behind the text that waited
        for token in reversed(new):
            token.meta["at"] = (end - len(token.content), end)
            end -= len(token.content)
    elif new:
        new[-3 if name == "autolink" else -1].meta["at"] = (start, end)
    return True
