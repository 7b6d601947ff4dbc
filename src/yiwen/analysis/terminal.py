"""An inspection in a terminal of 80 columns: plain text and tables, readable without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from yiwen.analysis.attention import attention_picture, word_weights
from yiwen.analysis.inspection import Inspection

WIDTH: Final = 80
MAX_HEADS: Final = 8
"""Heads of a layer that there is room for."""
MAX_PICTURED: Final = 64
"""Longest side, in subwords, that pictures are drawn for; the page shows longer ones."""


def show(inspection: Inspection, console: Console) -> None:
    """Print all parts."""
    for heading, part in _parts(inspection):
        line = f"── {heading} "
        console.print(Text(f"\n{line:─<{WIDTH}}", style="bold"), soft_wrap=True)
        console.print(part, soft_wrap=isinstance(part, Text), highlight=False)


def _parts(seen: Inspection) -> Iterator[tuple[str, RenderableType]]:
    src_lang, tgt_lang = seen.languages
    yield f"{src_lang}: {len(seen.src_tokens)} subwords", _wrapped([seen.source, " ".join(seen.src_tokens)])
    yield f"{tgt_lang}: {len(seen.tgt_tokens)} subwords", _wrapped([seen.target, " ".join(seen.tgt_tokens)])
    if seen.candidates:
        yield "Results of the search, best first", _candidates(seen)
        yield "Why the first one won", _wrapped([seen.verdict])
        yield "The tree: where hypotheses that ended part ways", _tree(seen)
    yield "Word alignment", _alignment(seen)
    where = "mean of its heads" if seen.place.head is None else f"head {seen.place.head + 1}"
    where += ", read a row below" if seen.place.is_late else ""
    yield f"Attention of the alignment head: layer {seen.place.layer + 1}, {where}", picture(seen, seen.aligning)
    if seen.erasure is not None:
        yield "Erasure: without which source word a target word would be less likely", picture(seen, seen.erasure)
    if seen.gradient is not None:
        yield "Gradient x input: which source word a target word hangs on", picture(seen, seen.gradient)
    n_heads = seen.attention["cross"].shape[1]
    more = f"; first {MAX_HEADS} of {n_heads}" if n_heads > MAX_HEADS else ""
    yield f"Heads: entropy in bits (0: one subword), importance (0 to 1){more}", _heads(seen)
    yield "What else could have come next", _alternatives(seen)


def _wrapped(lines: Sequence[str]) -> Text:
    console = Console(width=WIDTH)
    return Text("\n").join(part for line in lines for part in Text(line).wrap(console, WIDTH))


def _candidates(seen: Inspection) -> Table:
    table = Table("score", "log-probability", "translation", box=box.SIMPLE, width=WIDTH)
    for candidate in seen.candidates:
        cut = "" if candidate.is_finished else " (cut by the length limit)"
        table.add_row(f"{candidate.score:.3f}", f"{candidate.log_prob:.2f}", Text(candidate.text + cut))
    return table


def _tree(seen: Inspection) -> Tree:
    """Nodes that lead to a result; what follows without a fork stands on one line."""
    children: dict[int, list[int]] = {}  # of each node, those that lead to a result
    for number, node in reversed([*enumerate(seen.tree)]):
        if node.fate == "ended" or number in children or number in seen.winner:  # which the limit may have cut
            children.setdefault(node.parent, []).insert(0, number)
    root = Tree("<s>")

    def grow(branch: Tree, number: int) -> None:
        words = [seen.node_tokens[number]]
        while len(onward := children.get(number, [])) == 1:
            number = onward[0]
            words.append(seen.node_tokens[number])
        score, label = seen.tree[number].score, Text(" ".join(words))
        label.append("" if score is None else f"  {score:.3f}", style="bold")
        label.append(" ◀ won" if number in seen.winner[-1:] else "", style="bold")
        grown = branch.add(label)
        for child in onward:
            grow(grown, child)

    for number in children.get(-1, []):
        grow(root, number)
    return root


def _alignment(seen: Inspection) -> Text:
    """Target words with the source words that they were made from."""
    found = seen.alignment
    parts = []
    for j, (start, end) in enumerate(found.tgt):
        words = [seen.source[slice(*found.src[i])] for i, k, _ in found.links if k == j]
        parts.append(f"{seen.target[start:end]} ← {' + '.join(words) or 'nothing'}")
    linked = {i for i, _, _ in found.links}
    left = [seen.source[start:end] for i, (start, end) in enumerate(found.src) if i not in linked]
    return _wrapped(["   ".join(parts), *([f"not linked: {' '.join(left)}"] if left else [])])


def picture(seen: Inspection, weights_TS: np.ndarray) -> Text:
    """Rows of target words and columns of source words; each row is scaled to sum to 1, what is negative left out."""
    if max(weights_TS.shape) > MAX_PICTURED:
        return Text(f"longer than {MAX_PICTURED} subwords: look at it with --output report.html")
    positive = np.maximum(weights_TS, 0)
    scaled = positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-9)
    return Text(attention_picture(*word_weights(scaled, seen.src_tokens, seen.tgt_tokens), width=WIDTH))


def _heads(seen: Inspection) -> Table:
    shown = range(min(MAX_HEADS, seen.attention["cross"].shape[1]))
    table = Table("", *(f"head {i + 1}" for i in shown), box=box.SIMPLE, padding=(0, 0), width=WIDTH)
    for kind in seen.attention:
        for layer, (entropy, importance) in enumerate(zip(seen.entropy[kind], seen.importance[kind], strict=True), 1):
            table.add_row(f"{kind} {layer}", *(f"{entropy[i]:.1f} {importance[i]:.2f}" for i in shown))
    return table


def _alternatives(seen: Inspection) -> Table:
    table = Table("written", "p", "others", box=box.SIMPLE, padding=(0, 0), width=WIDTH)
    for token, log_prob, others in zip(seen.tgt_tokens, seen.log_probs, seen.alternatives, strict=True):
        rest = "  ".join(f"{piece} {p:.1%}" for piece, p in others if piece != token and p >= 0.001)
        table.add_row(Text(token), f"{np.exp(log_prob):.1%}", Text(rest))
    return table
