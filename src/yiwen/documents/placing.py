"""Where marks go in a translation: formatting on the words that were made from the words it stood on.

A mark around words takes the contiguous target words whose links lead into it more than out of it: the window with the
greatest sum of (share of links inside - share outside), found in one pass (Kadane; Bentley 1984, section "Column 8").
A point stands before the translation of the word after it, or behind that of the word before it where it touches only
that. Breaks are laid by length, at the nearest end of a word. Without links, words belong together by their place.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from yiwen.documents.unit import CJK, Mark, Span, is_cjk
from yiwen.plan import Piece
from yiwen.text.scripts import MARKS, UNSPACED_LETTERS, VOWELS_BEFORE, is_unspaced

SURE: Final = 0.5
"""Attention from which a word is taken to stand for a number."""
FAR: Final = 40
"""Words, or places for a break, that are looked at on each side of where something should stand."""
_JOINED: Final = rf"[{MARKS}ะาำๅๆฯະາຳຽໆ]|(?<=[\u1039\u17d2])[{UNSPACED_LETTERS}]|[\u1000-\u1021](?=[\u1037\u103a])"
"""What belongs to the letter before it: signs, vowels of Thai and Lao, letters below and last ones of Burmese."""
_LETTER: Final = rf"[{VOWELS_BEFORE}]?[{UNSPACED_LETTERS}](?:{_JOINED})*"
_WORD: Final = re.compile(rf"{_LETTER}|[^\W{UNSPACED_LETTERS}]+(?:[{MARKS}]+[^\W{UNSPACED_LETTERS}]*)*|[^\w\s]")
_joins: Final = re.compile(r"(?<={0})(?=&{0})|(?<={0}&)(?={0})".format(rf"[^\W{UNSPACED_LETTERS}]")).match
"""Asked for the places beside the sign of R&D, where a mark ends only if it does so in the text."""
_START, _END = itemgetter(0), itemgetter(1)
_CLOSING: Final = set("，。！？；：、）】」』”’,.!?;:)]}%…،؛؟۔।॥")
_OPENING: Final = set("（【「『“‘([{")
_PHRASE_END: Final = re.compile(r"[。！？；.!?;…，,：:،؛؟۔।॥]|[\u0e00-\u109f\u1780-\u17ff](?=\s)")
"""A sign behind a sentence or a part of one, and what stands before a blank in scripts that have few."""


Words = tuple[list[Span], list[Span], list[tuple[int, int, float]]]
"""Words of a text and of its translation, and links: two numbers of words and a weight."""


class Linked(NamedTuple):
    """A text, its translation, and which words belong together."""

    text: str
    target: str
    src: tuple[Span, ...]
    tgt: tuple[Span, ...]
    by_src: dict[int, list[tuple[int, float]]]
    """Source word -> target words with weights."""
    mass: tuple[float, ...]
    """Weights of each target word, summed."""
    kept: tuple[Span, ...] = ()
    """What stands in the translation as it stood in the text, in order: no mark begins or ends inside."""

    def keeps(self, start: int, end: int) -> bool:
        """True for a part of something kept."""
        before = bisect_right(self.kept, start, key=_START)
        return before > 0 and end <= self.kept[before - 1][1]


def _reached(words: Sequence[Span], start: int, end: int) -> range:
    """Numbers of the words that reach into [start, end)."""
    return range(bisect_right(words, start, key=_END), bisect_left(words, end, key=_START))


def _within(words: Sequence[Span], start: int, end: int) -> range:
    """Numbers of the words that lie inside of [start, end)."""
    return range(bisect_left(words, start, key=_START), bisect_right(words, end, key=_END))


def linked(text: str, target: str, pieces: Sequence[tuple[Piece, Any]], same: Sequence[tuple[Span, Span]]) -> Linked:
    """Join what is known of each piece: its `Alignment`, or None, where words are linked by their place.

    Args:
        text: The whole text.
        target: The whole translation.
        pieces: Pieces in order, each with its alignment (offsets from the start of the piece).
        same: What was kept: where it stands in the text and in the translation. Its words belong to each other alone.
    """
    aligned = []
    for piece, known in pieces:
        sides = text[piece.src_start : piece.src_end], target[piece.tgt_start : piece.tgt_end]
        aligned.append((piece, (known.src, known.tgt, known.links) if known else by_place(*sides)))
    src, tgt, links = joined(aligned)
    by_src: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for i, j, weight in links:
        by_src[i].append((j, weight))
    own = {j for _, span in same for j in _reached(tgt, *span)}
    by_src = {i: [link for link in found if link[0] not in own] for i, found in by_src.items()}
    for source, span in same:
        by_src |= {i: [(j, 1.0) for j in _reached(tgt, *span)] for i in _reached(src, *source)}
    mass = [0.0] * len(tgt)
    for j, weight in chain.from_iterable(by_src.values()):
        mass[j] += weight
    return Linked(text, target, tuple(src), tuple(tgt), by_src, tuple(mass), tuple(sorted(span for _, span in same)))


def joined(pieces: Iterable[tuple[Any, Words]]) -> Words:
    """The words of pieces, whose places count from the start of each, as those of the whole texts."""
    src, tgt, links = list[Span](), list[Span](), list[tuple[int, int, float]]()
    for piece, (words, others, found) in pieces:
        links += [(len(src) + i, len(tgt) + j, weight) for i, j, weight in found]
        src += [(piece.src_start + start, piece.src_start + end) for start, end in words]
        tgt += [(piece.tgt_start + start, piece.tgt_start + end) for start, end in others]
    return src, tgt, links


def by_place(text: str, target: str) -> Words:
    """The rule where nothing is known: words in the middle of both texts belong together."""
    src, tgt = ([match.span() for match in _WORD.finditer(side)] for side in (text, target))
    if len(src) == len(tgt):
        return src, tgt, [(i, i, SURE / 2) for i in range(len(src))]
    middles = [(start + end) / 2 / len(target) * len(text) for start, end in (tgt if src else ())]
    nearest = [min(bisect_left(src, middle, key=_END), len(src) - 1) for middle in middles]
    return src, tgt, [(i, j, SURE / 2) for j, i in enumerate(nearest)]


def place(marks: Sequence[Mark], known: Linked, pieces: Sequence[Piece]) -> list[Span]:
    """Where each mark goes in the translation; what was nested stays nested.

    Args:
        marks: The marks of the text, parents before their children.
        known: The words and their links.
        pieces: What is known to belong together, in order; breaks at their edges stay there.
    """
    breaks = {number: mark for number, mark in enumerate(marks) if mark.is_break}
    spans = dict(zip(breaks, _breaks([*breaks.values()], known, pieces), strict=True))
    laid = [(mark, spans[number]) for number, mark in breaks.items()]
    inside: dict[int, list[int]] = defaultdict(list)
    for number, mark in enumerate(marks):
        if not mark.is_break:
            inside[mark.parent].append(number)
    todo: list[tuple[int, Span]] = [(-1, (0, len(known.target)))]
    while todo:
        parent, room = todo.pop()
        outer = marks[parent] if parent >= 0 else Mark(0, len(known.text))
        around = [number for number in inside[parent] if marks[number].start < marks[number].end]
        around.sort(key=lambda number: not marks[number].is_number)  # a digit is the number's, whatever stands around
        found = dict(zip(around, _around_words([marks[n] for n in around], known, room, laid), strict=True))
        at = 0
        for number in inside[parent]:
            if number not in found:  # a point: behind those before it, and inside of nothing beside it
                at = max(at, _point(marks[number].start, outer, known, _between_breaks(marks[number], room, laid)))
                at = _outside(at, (found[other] for other in around))  # points have no inside
                found[number] = (at, at)
        spans |= found
        todo += found.items()
    return [(_outside(start, known.kept), _outside(end, known.kept)) for _, (start, end) in sorted(spans.items())]


def _between_breaks(mark: Mark, room: Span, breaks: Sequence[tuple[Mark, Span]]) -> Span:
    """The part of the room that lies behind all breaks before a mark and before all that are behind it."""
    first = min(room[1], max([room[0], *(end for other, (_, end) in breaks if other.end <= mark.start)]))
    last = min([room[1], *(start for other, (start, _) in breaks if other.start >= mark.end)])
    return first, max(first, last)


def _around_words(marks: Sequence[Mark], known: Linked, room: Span, breaks: Sequence[tuple[Mark, Span]]) -> list[Span]:
    """Places of marks side by side that are around words."""
    found, taken = list[Span](), set[int]()  # places and words
    for mark in marks:
        start, end = _window(mark, known, room if mark.is_number else _between_breaks(mark, room, breaks), taken)
        for first, last in found:
            if first < end and start < last:  # on parts of one word
                start, end = (last, max(last, end)) if first <= start else (start, first)
        if held := [span for other, span in breaks if mark.start <= other.start and other.end <= mark.end]:
            start = max([min(start, held[0][0]), *(last for _, last in found if last <= held[0][0])])
            end = max(end, held[-1][1])
        elif start == end:
            start = end = _outside(start, found)
        found.append((start, end))
        taken.update(_within(known.tgt, start, end))
    return found


def _outside(at: int, spans: Iterable[Span]) -> int:
    return next((end for start, end in spans if start < at < end), at)


def _window(mark: Mark, known: Linked, room: Span, taken: set[int]) -> Span:
    """The target words that a mark belongs on: the contiguous ones that are most its own."""
    weights: dict[int, float] = defaultdict(float)  # target word -> links that lead into it from inside of the mark
    for i in _reached(known.src, mark.start, mark.end):
        for j, weight in known.by_src.get(i, ()):
            weights[j] += weight
    allowed = _within(known.tgt, *room)
    has_signs = any(not sign.isalnum() and not sign.isspace() for sign in known.text[mark.start : mark.end])

    def is_free(j: int) -> bool:  # a word without signs takes no bare comma
        is_there = j in allowed and j not in taken
        return is_there and (has_signs or any(map(str.isalnum, known.target[slice(*known.tgt[j])])))

    own = {j: weights[j] for j in sorted(weights) if is_free(j)}
    if mark.is_number and own:  # it takes the place of another number or of a word that was surely made from it
        j = max(own, key=own.__getitem__)
        return _part(mark, known, known.tgt[j], is_sure=own[j] >= SURE)
    if own:
        first, last = _heaviest(weights, own, known.mass, taken)
        held = [first, last, *(j for j in own if known.keeps(*known.tgt[j]))]
        if taken.isdisjoint(range(min(held), max(held))):  # code stays inside, or it would be there twice
            first, last = min(held), max(held)
        while is_free(last + 1) and _joins(known.target, known.tgt[last][1]) and not _joins(known.text, mark.end):
            last += 1
        while is_free(first - 1) and _joins(known.target, known.tgt[first][0]) and not _joins(known.text, mark.start):
            first -= 1
        span = known.tgt[first][0], known.tgt[last][1]
    elif kept := [j for j in weights if known.keeps(*known.tgt[j])]:  # it stands outside, and takes no other word
        at = room[1] if known.tgt[kept[0]][0] >= room[1] else room[0]
        return at, at
    else:  # no word at all: the free one at the same part of the text
        where = (mark.start + mark.end) / 2 / len(known.text) * len(known.target)
        near = bisect_left(known.tgt, where, key=_START)
        others = [j for j in range(near - FAR, near + FAR) if is_free(j) and not known.keeps(*known.tgt[j])]
        if not others:  # nor is there any inside of a mark that is on a part of a word
            return _part(mark, known, room) if mark.parent >= 0 and not allowed else (room[0], room[0])
        span = known.tgt[min(others, key=lambda j: abs(sum(known.tgt[j]) / 2 - where))]
    return _part(mark, known, _without_punctuation(mark, known, span))


def _heaviest(weights: dict[int, float], own: dict[int, float], mass: Sequence[float], taken: set[int]) -> Span:
    """First and last of the neighbours whose links lead into a mark more than out of it."""
    best, best_sum, start, total = None, 0.0, 0, 0.0
    for j in range(min(own), max(own) + 1):
        if total <= 0:
            start, total = j, 0.0
        gain = 2 * weights.get(j, 0.0) / mass[j] - 1 if mass[j] else 0.0
        total += float("-inf") if j in taken else gain
        if total > best_sum:
            best, best_sum = (start, j), total
    most = max(own, key=lambda j: own[j] / mass[j])
    return best or (most, most)  # where no word is mostly its own, that which is most so


def _part(mark: Mark, known: Linked, span: Span, *, is_sure: bool = False) -> Span:
    """Which part of a word a mark stands on.

    All of it, unless the mark is on a part in the text, too (`m<sup>2</sup>`, `{n}px`). A number takes the place of the
    word's digits, all of them, as models say 88 or 98 for 8, and that of the whole word only where that is sure.
    """
    start, end = span
    part = known.text[mark.start : mark.end]
    before, after = known.text[mark.start - 1 : mark.start], known.text[mark.end : mark.end + 1]
    is_behind, goes_on = before.isalnum(), after.isalnum()
    found = known.target.find(part, start, end) if goes_on else known.target.rfind(part, start, end)
    others = {known.text[a:b] for a, b in known.src if b <= mark.start or mark.end <= a} if mark.is_number else ()
    if known.target[start:end] in others:  # a number of the text itself, or a term that is kept
        return (end, end) if is_behind else (start, start)
    digits = [run.span() for run in re.compile(r"\d+").finditer(known.target, start, end) if found < run.end()]
    if found >= 0 and (mark.is_number or is_behind or goes_on):
        is_whole = mark.is_number and not (before.isdigit() or after.isdigit())
        return digits[0] if is_whole else (found, found + len(part))
    if not mark.is_number or (is_sure and not is_behind and not goes_on):
        return span
    return next(iter(digits), (end, end) if is_behind else (start, start))


def _without_punctuation(mark: Mark, known: Linked, span: Span) -> Span:
    """No punctuation at the edges of a mark that had none there, nor where a letter follows: in Markdown `**` could
    not end between the two."""
    (start, end), target = span, known.target
    is_free = known.text[mark.end - 1] not in _CLOSING or target[end : end + 1].isalnum()
    while end - start > 1 and target[end - 1] in _CLOSING and is_free and not known.keeps(end - 1, end):
        end -= 1
    is_free = known.text[mark.start] not in _OPENING or target[:start][-1:].isalnum()
    while end - start > 1 and target[start] in _OPENING and is_free and not known.keeps(start, start + 1):
        start += 1
    return start, end


def _point(at: int, parent: Mark, known: Linked, room: Span) -> int:
    """Where something without text goes: before the word after it, or behind the one that it clings to."""
    if not parent.start < at < parent.end:
        return room[0] if at <= parent.start else room[1]
    clings = not known.text[at - 1].isspace() and (known.text[at].isspace() or known.text[at] in _CLOSING)
    allowed = _within(known.tgt, *room)
    words = _reached(known.src, parent.start, at)[::-1] if clings else _reached(known.src, at, parent.end)
    for i in words:
        links = [(weight, j) for j, weight in known.by_src.get(i, ()) if j in allowed]
        if links:  # of equal ones the first, where it stands before
            return known.tgt[max(links)[1]][1] if clings else known.tgt[max(links, key=_START)[1]][0]
    return room[0] if clings else room[1]


def _breaks(breaks: Sequence[Mark], known: Linked, pieces: Sequence[Piece]) -> list[Span]:
    """A place for each break: where the same share of the translation has been said, at the end of a word."""
    starts, ends = ((p.src_start, p.tgt_start) for p in pieces), ((p.src_end, p.tgt_end) for p in pieces)
    anchors = sorted({(0, 0), *starts, *ends})
    spots = [spot for spot in _spots(known.target, known.tgt) if not known.keeps(*spot)] if breaks else []
    slack = len(known.target) / (len(breaks) + 1) / 4  # which the end of a sentence is worth
    worth = [slack if _PHRASE_END.match(known.target, start - 1) else 0.0 for start, _ in spots]
    out, first = list[Span](), 0
    for n_left, mark in zip(reversed(range(len(breaks))), breaks, strict=True):
        last = max(first + 1, len(spots) - n_left)  # each break that follows wants a place too
        if first == len(spots) or not known.text[mark.end :].strip():
            out.append((len(known.target), len(known.target)))
            continue
        ideal = _same_share(mark.start, anchors)
        near = bisect_left(spots, ideal, key=_START)
        around = range(max(first, min(near - FAR, last - 1)), max(first + 1, min(near + FAR, last)))
        _, best = min((abs(spots[k][0] - ideal) - worth[k], k) for k in around)
        out.append(spots[best])
        first = best + 1
    return out


def _same_share(place: int, anchors: Sequence[tuple[int, int]]) -> float:
    """The place in a translation that is as far between two anchors as a place in its text."""
    after = bisect_right(anchors, place, key=_START)  # one at least: the first anchor is (0, 0)
    (s0, t0), (s1, t1) = anchors[after - 1], anchors[min(after, len(anchors) - 1)]
    return t0 + (t1 - t0) * (place - s0) / (s1 - s0) if s1 > s0 else t0


def _spots(target: str, words: Sequence[Span]) -> list[Span]:
    """Where a line may end: blanks, and in scripts that have none between characters, or known words."""
    places = rf"(?<=\S)\s+(?=\S)|(?<=[{CJK}，。！？；：、）】」』”])(?=[{CJK}（【「『“])"
    found = {match.span() for match in re.finditer(places, target)}
    touching = [start for (_, end), (start, _) in pairwise(words) if start == end and not is_cjk(target[start])]
    found |= {(at, at) for at in touching if is_unspaced(target[at - 1]) and is_unspaced(target[at])}
    return sorted(found)
