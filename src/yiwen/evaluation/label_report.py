"""Predicted labels as one HTML page that needs nothing else: scores, confusions as a picture, calibration, mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from yiwen.evaluation.classification import Classification
from yiwen.evaluation.report import page, reliability, section, table

_CELL: Final = 44
"""Side of a square of the picture, in pixels."""
_MOST: Final = 40
"""Labels that a picture has room for."""


def label_report(found: Classification, *, title: str, mistakes: Sequence[tuple[str, str, str]] = ()) -> str:
    """The page.

    Args:
        found: Scores and confusions.
        title: What was measured.
        mistakes: (text, predicted, right) of some.
    """
    intervals = {name: "{:.2f} to {:.2f}".format(*bounds) for name, bounds in found.intervals.items()}
    scores = [(name.replace("_", " "), f"{value:.2f}", intervals.get(name, "")) for name, value in found.scores.items()]
    numbered = enumerate(found.bins)
    bins = [(f"{10 * i} to {10 * i + 10} %", n, 100 * said, 100 * right) for i, (n, said, right) in numbered if n]
    sections = [section("Scores", "得分", table(("score", "%", "95 % interval"), scores))]
    if len(found.labels) <= _MOST:
        note = "A row for each right label, a column for each predicted one."
        sections.append(section("Confusions", "混淆矩阵", confusion_svg(found), note=note))
    if bins:
        parts = table(("probability", "texts", "mean, %", "right, %"), bins), reliability(found.bins)
        note = "How sure the model was, and how often it was right."
        sections.append(section("Calibration", "校准", *parts, note=note))
    if mistakes:
        sections.append(section("Mistakes", "错例", table(("text", "predicted", "right"), mistakes)))
    return page(title, sections)


def confusion_svg(found: Classification) -> str:
    """The table of confusions, each row shaded by its shares."""
    left = 12 + 9 * max(len(label) * (2 if not label.isascii() else 1) for label in found.labels)
    side = left + _CELL * len(found.labels)
    # As wide as it is, whatever the page's width: the section scrolls, and no label is cut off or too small to read.
    shape = f'width="{side}" height="{side}" style="max-width: none" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {shape} role="img" aria-label="Confusions · 混淆矩阵">']
    for i, (label, row) in enumerate(zip(found.labels, found.confusion, strict=True)):
        middle = left + _CELL * i + _CELL // 2
        name = escape(label)
        parts += [f'<text x="{left - 6}" y="{middle + 4}" text-anchor="end">{name}</text>']
        parts += [f'<text transform="translate({middle + 4} {left - 6}) rotate(-90)">{name}</text>']
        for j, count in enumerate(row):
            share = count / max(sum(row), 1)
            x, y = left + _CELL * j, left + _CELL * i
            fill = "rgb({:.0f},{:.0f},{:.0f})".format(*(255 - share * depth for depth in (225, 150, 75)))
            ink = "#fff" if share > 0.5 else "#1a1a1a"
            parts += [f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}" stroke="#fff"/>']
            parts += [f'<text x="{x + _CELL // 2}" y="{y + 26}" text-anchor="middle" fill="{ink}">{count}</text>']
    return "".join([*parts, "</svg>"])
