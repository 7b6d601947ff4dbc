"""An HTML page about a model, made of sections: scores, where it is good and bad, what is odd, how sure it may be.

One file that needs nothing else: no script, no font, no picture from elsewhere; charts are SVG. All text is escaped,
for test sets and models may write anything. Headings are in English and Chinese. A section is a function of plain
values, and a report of another task puts those together that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from yiwen import __version__
from yiwen.errors import listed
from yiwen.evaluation.lines import Details, Line
from yiwen.evaluation.metrics import Bins, Evaluation
from yiwen.evaluation.significance import Comparison

Cell = str | int | float
COLOURS: Final = ("#00796b", "#ef6c00")
"""Of a model, and of the one that it is compared with."""


def page(title: str, sections: Iterable[str]) -> str:
    """The whole page."""
    template = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), sections="".join(sections), version=__version__)


def section(english: str, chinese: str, *parts: str, note: str = "") -> str:
    """A heading in both languages and what stands below it, which is HTML already; the note is text."""
    said = f'<p class="note">{escape(note)}</p>\n' if note else ""
    return f"<section>\n<h2>{escape(english)} · {escape(chinese)}</h2>\n{said}{''.join(parts)}</section>\n"


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table; numbers stand to the right below their heading, with two decimals where they have any."""

    def cell(value: Cell) -> str:
        if isinstance(value, str):
            return f'<td dir="auto">{escape(value)}</td>'
        shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
        return f'<td class="number">{shown}</td>'

    numbers = {i for row in rows for i, value in enumerate(row) if not isinstance(value, str)}
    kinds = [' class="number"' if i in numbers else "" for i in range(len(header))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, header, strict=True))
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def bars(title: str, labels: Sequence[str], series: Sequence[Sequence[float | None]]) -> str:
    """Bars from 0 to 100, a group for each label, a colour for each series."""
    step, width = 640 / max(len(labels), 1), 480 / max(len(labels) * len(series), 1)
    parts = [_text(34, 194 - 1.6 * tick, str(tick), "end") for tick in (0, 50, 100)]
    for i, label in enumerate(labels):
        parts.append(_text(40 + step * (i + 0.5), 212, label))
        for j, values in enumerate(series):
            if (value := values[i]) is not None:
                x = 40 + step * (i + 0.5) + width * (j - len(series) / 2)
                height = 1.6 * value
                size = f'width="{width * 0.9:.1f}" height="{height:.1f}"'
                parts.append(f'<rect x="{x:.1f}" y="{190 - height:.1f}" {size} fill="{COLOURS[j]}"/>')
                parts.append(_text(x + width * 0.45, 186 - height, f"{value:.0f}"))
    return _svg(title, parts, width=690, height=220)


def reliability(bins: Bins) -> str:
    """How often what was believed so much was right: points of (number, mean confidence, share right).

    On the line, confidence is exactly as good as its word; below it, it promises too much.
    """
    parts = ['<line x1="40" y1="300" x2="320" y2="20" stroke="#999" stroke-dasharray="4"/>']
    parts += ['<path d="M40 20V300H320" fill="none" stroke="#999"/>']
    for tick in (0, 50, 100):
        parts += [_text(40 + 2.8 * tick, 316, f"{tick} %"), _text(34, 304 - 2.8 * tick, f"{tick} %", "end")]
    for n, mean, share in bins:
        if n:
            x, y = 40 + 280 * mean, 300 - 280 * share
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[0]}"/>')
    parts.append(_text(180, 334, "confidence (across) · 置信度（横）"))
    return _svg("share that was right (up) · 正确比例（纵）", parts, width=360, height=342)


def translation_sections(
    evaluation: Evaluation, comparison: Comparison | None, details: Details, *, note: str
) -> Iterator[str]:
    """All that there is to say about one test set.

    Args:
        evaluation: Scores.
        comparison: The same beside those of another model.
        details: What became of the lines.
        note: What was translated by what.
    """
    rows = []
    for score in evaluation.scores:
        interval = "" if score.low is None else f"{score.low:.2f} – {score.high:.2f}"
        rows.append((score.name, score.value, interval, score.signature))
    yield section("Scores", "得分", table(("", "value · 分数", "95 %", "signature · 签名"), rows), note=note)
    if comparison is not None:
        yield section("Compared", "对比", _differences(comparison))
    if details.buckets:
        edges, counts, *series = zip(*details.buckets, strict=True)
        labels = [f"{edge}+ ({n})" for edge, n in zip(edges, counts, strict=True)]
        chart = bars("chrF2", labels, [values for values in series if values[0] is not None])
        said = "chrF2 by words or Chinese characters (lines)" + ("; orange: the other model" if comparison else "")
        yield section("By length of the source", "按原文长度", chart, note=said)
    flags = [(flag, len(numbers), listed(numbers)) for flag, numbers in details.flagged.items()]
    yield section("Flags", "标记", table(("flag · 标记", "lines · 行数", "which · 行号"), flags))
    if details.calibration_error is not None:
        note = f"Expected calibration error {100 * details.calibration_error:.1f} %: chance of a good translation."
        yield section("Confidence", "置信度", reliability(details.reliability), note=note)
    for english, chinese, lines in (
        ("Lowest scores", "得分最低的句子", details.worst),
        ("Gains against the other model", "比对照模型好的句子", details.better),
        ("Losses against the other model", "比对照模型差的句子", details.worse),
    ):
        if lines:
            yield section(english, chinese, line_table(lines))


def line_table(lines: Sequence[Line]) -> str:
    """Lines with their source, reference and translations."""
    header = ["line", "chrF2", "source · 原文", "reference · 参考", "translation · 译文", "flags · 标记"]
    if any(line.other is not None for line in lines):
        header += ["other model · 对照", "chrF2"]
    return table(header, [_cells(line) for line in lines])


def _cells(line: Line) -> list[Cell]:
    cells: list[Cell] = [line.number, line.chrf, line.source, line.reference, line.translation, ", ".join(line.flags)]
    return cells if line.other is None else [*cells, line.other, line.other_chrf]


def _differences(comparison: Comparison) -> str:
    header = ("", "this model · 本模型", "other · 对照", "difference, 95 % · 差值", "p", "more than chance · 显著")
    rows: list[tuple[Cell, ...]] = []
    for each in comparison.differences:
        gain = "{:+.2f} to {:+.2f}".format(*each.interval)
        is_real = "yes · 是" if each.is_significant else "no · 否"
        rows.append((each.name, each.system, each.baseline, gain, f"{each.p_value:.4f}", is_real))
    return table(header, rows)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, parts: Iterable[str], *, width: int, height: int) -> str:
    size = f'viewBox="-8 -4 {width + 8} {height + 4}" width="{width + 8}" role="img" font-size="12" fill="#222"'
    return f'<svg {size} aria-label="{escape(title)}">\n{_text(width / 2, 8, title)}\n{"".join(parts)}\n</svg>\n'
