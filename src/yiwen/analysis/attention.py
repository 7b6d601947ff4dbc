"""Attention weights as a picture in a terminal: which source tokens a target token was made from.

Rows are target tokens, columns source tokens, as in figure 3 of Bahdanau et al. 2015. The picture is plain text with
five shades and no colour, so that it looks the same in a pipe, a log and under NO_COLOR. Chinese characters are two
cells wide in a terminal; all arithmetic of widths is in cells.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise, zip_longest

import numpy as np
from rich.cells import cell_len, set_cell_size, split_graphemes

from yiwen.errors import ConfigError
from yiwen.text.chinese import shortened
from yiwen.text.scripts import VOWELS_BEFORE, is_unspaced

SHADES = " ░▒▓█"
THRESHOLDS = (0.05, 0.2, 0.4, 0.7)
"""Weight from which each shade but the blank one is used; an even spread over 20 tokens is still visible."""

_NARROWEST = 30
_HIGHEST_HEAD = 12  # rows of a vertical column head; longer tokens are numbered instead
_WORD_START = "▁"  # SentencePiece's mark (U+2581)

Weights = Sequence[Sequence[float]] | np.ndarray
Tokens = Sequence[str]


def attention_picture(weights: Weights, src_tokens: Tokens, tgt_tokens: Tokens, *, width: int = 80) -> str:
    """Draw attention weights with shade blocks.

    Source tokens stand vertically over their columns; where one is too long or too wide for that, columns are numbered
    and a legend follows. Sentences too long for one picture are continued below.

    Args:
        weights: Attention of each target token over the source tokens, (T, S), 0 to 1.
        src_tokens: S source tokens, the column heads.
        tgt_tokens: T target tokens, one a row.
        width: Cells that a line may take, 30 or more.

    Returns:
        Lines of at most `width` cells, each ended by a newline but the last.

    Raises:
        ConfigError: If the shape is not (T, S), or `width` is too small.
    """
    weights_TS = _checked(weights, src_tokens, tgt_tokens)
    if width < _NARROWEST:
        raise ConfigError(f"width is {width}; a picture needs {_NARROWEST} cells or more")
    labels = [shortened(_printable(token), width // 4) for token in tgt_tokens]
    label_width = max(cell_len(label) for label in labels)
    n_cells = width - label_width - 3  # a space and two borders
    column_width = 2 if 2 * len(src_tokens) <= n_cells else 1
    # Characters with the combining marks that belong to them.
    heads = [[token[a:b] for a, b, _ in split_graphemes(token)[0]] for token in map(_printable, src_tokens)]
    is_numbered = any(len(head) > _HIGHEST_HEAD or max(map(cell_len, head)) > column_width for head in heads)
    if is_numbered:
        heads = [list(str(number)) for number in range(1, len(src_tokens) + 1)]
    lines: list[str] = []
    for first in range(0, len(src_tokens), n_cells // column_width):
        columns = slice(first, first + n_cells // column_width)
        if lines:
            lines.append("")
        lines += _panel(weights_TS[:, columns], heads[columns], labels, column_width)
    if is_numbered:
        lines += ["", *_legend([_printable(token) for token in src_tokens], width)]
    key = "  ".join(f"{shade} {bound:.0%}" for shade, bound in zip(SHADES[1:], THRESHOLDS, strict=True))
    lines.append(f"{' ' * (label_width + 2)}{key}" if label_width + 2 + cell_len(key) <= width else key)
    return "\n".join(line.rstrip() for line in lines)


def word_weights(weights: Weights, src_pieces: Tokens, tgt_pieces: Tokens) -> tuple[np.ndarray, list[str], list[str]]:
    """Merge the pieces of words: attention to a word is the sum over its pieces, attention from one the mean.

    A word starts at SentencePiece's ▁. Chinese and Japanese pieces, punctuation marks and special pieces such as
    `</s>` stay words of their own, because nothing marks where words end there.

    Args:
        weights: Attention of target over source pieces, (T, S); rows that sum to one still do afterwards.
        src_pieces: S source pieces.
        tgt_pieces: T target pieces.

    Returns:
        Weights (target words, source words), float64, and the words of source and target without ▁.

    Raises:
        ConfigError: If the shape is not (T, S).
    """
    weights_TS = _checked(weights, src_pieces, tgt_pieces)
    src_starts, tgt_starts = _word_starts(src_pieces), _word_starts(tgt_pieces)
    merged = between_words(weights_TS, src_starts, tgt_starts)
    return merged, _joined(src_pieces, src_starts), _joined(tgt_pieces, tgt_starts)


def between_words(weights_TS: np.ndarray, src_starts: list[int], tgt_starts: list[int]) -> np.ndarray:
    """From subwords to words, (J, I): the sum over a source word's subwords, the mean over a target word's.

    Args:
        weights_TS: Between subwords, eos left out or a word of its own.
        src_starts: The first subword of each source word.
        tgt_starts: The first subword of each target word.
    """
    n_pieces = np.diff([*tgt_starts, len(weights_TS)])
    by_word_TI = np.add.reduceat(weights_TS, src_starts, axis=1)
    by_word_JI: np.ndarray = np.add.reduceat(by_word_TI, tgt_starts, axis=0) / n_pieces[:, None]
    return by_word_JI


def _checked(weights: Weights, src_tokens: Tokens, tgt_tokens: Tokens) -> np.ndarray:
    weights_TS = np.asarray(weights, dtype=np.float64)
    expected = (len(tgt_tokens), len(src_tokens))
    if weights_TS.shape != expected or 0 in expected:
        tokens = f"{len(tgt_tokens)} target and {len(src_tokens)} source tokens"
        remedy = "give one row a target token and one column a source token, at least one of each"
        raise ConfigError(f"weights have the shape {weights_TS.shape} for {tokens}; {remedy}")
    return weights_TS


def _panel(weights_TS: np.ndarray, heads: list[list[str]], labels: list[str], column_width: int) -> list[str]:
    """Column heads, then a line for each target token, inside a frame."""
    label_width = max(cell_len(label) for label in labels)
    margin = " " * (label_width + 2)
    frame = "─" * (column_width * len(heads))
    bottom_up = [*zip_longest(*map(reversed, heads), fillvalue="")]  # heads rest on the frame
    lines = [margin + "".join(set_cell_size(char, column_width) for char in row) for row in reversed(bottom_up)]
    lines.append(f"{margin[:-1]}┌{frame}┐")
    levels_TS = np.searchsorted(THRESHOLDS, np.nan_to_num(weights_TS), side="right")
    for label, levels in zip(labels, levels_TS, strict=True):
        cells = "".join(SHADES[level] * column_width for level in levels)
        lines.append(f"{' ' * (label_width - cell_len(label))}{label} │{cells}│")
    return [*lines, f"{margin[:-1]}└{frame}┘"]


def _legend(tokens: list[str], width: int) -> list[str]:
    """`1 The  2 cat  ...`, wrapped to the width."""
    lines = [""]
    for index, token in enumerate(tokens, 1):
        entry = shortened(f"{index} {token}", width)
        if lines[-1] and cell_len(lines[-1]) + 2 + cell_len(entry) > width:
            lines.append("")
        lines[-1] += f"  {entry}" if lines[-1] else entry
    return lines


def _printable(token: str) -> str:
    """A token without what would move the cursor; a middle dot stands in its place, and for an empty token."""
    return "".join(char if char.isprintable() and char != " " else "·" for char in token) or "·"


def _word_starts(pieces: Tokens) -> list[int]:
    """Index of the first piece of each word."""
    starts = [0]
    for index, (before, piece) in enumerate(pairwise(pieces), 1):
        # A ▁ alone belongs to what follows.
        if piece.startswith(_WORD_START) or not (before == _WORD_START or goes_on(before, piece)):
            starts.append(index)
    return starts


def goes_on(before: str, piece: str) -> bool:
    """True for a piece, not empty, that is of one word with the piece before it."""
    is_torn = unicodedata.category(piece[0])[0] == "M" or before[-1] in VOWELS_BEFORE
    is_torn |= "\u200d" in (before[-1], piece[0]) or "🏻" <= piece[0] <= "🏿"  # of one emoji
    return is_torn or not (stands_alone(before) or stands_alone(piece))


def stands_alone(piece: str) -> bool:
    """True for text of scripts without blanks, for punctuation that ends or brackets words, and for special pieces."""
    text = piece.removeprefix(_WORD_START)
    is_special = text.startswith("<") and text.endswith(">")
    is_mark = all(unicodedata.category(char) in ("Po", "Ps", "Pe", "Pi") and char != "'" for char in text)
    is_run_on = all(unicodedata.east_asian_width(char) in "WF" or is_unspaced(char) for char in text)
    return bool(text) and (is_special or is_mark or is_run_on)


def _joined(pieces: Tokens, starts: list[int]) -> list[str]:
    return ["".join(pieces[start:end]).replace(_WORD_START, "") for start, end in pairwise([*starts, len(pieces)])]
